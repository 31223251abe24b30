"""Who may do what: tokens, grants, and that nothing of another's is seen, in answers and in errors alike."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jwt
import pytest
from click.testing import CliRunner
from store_world import World
from test_store_server import Peer, put

from quiesce.address import Scope
from quiesce.cli import changed_limits, duration_ms, serve, token
from quiesce.clock import ManualClock, wall_ms
from quiesce.commits import (
    Commit,
    DeleteDocument,
    DocumentAbsent,
    DocumentIs,
    Outcome,
    PatchDocument,
    Put,
    Read,
    SetDocument,
)
from quiesce.protocol import Have, Problem, Resume, Watch, WatchSet, Window, encode
from quiesce.server.access import AccessDenied, Grant, TokenAuthenticator, load_keys, make_token
from quiesce.server.limits import Limits
from quiesce.server.serve import Misconfigured, Settings, authenticator_for, database_path, is_loopback
from quiesce.storage.client import Client, Phase
from quiesce.values import value_hash

KEY, OLD_KEY, FOREIGN_KEY = b"k" * 32, b"o" * 32, b"f" * 32
SPACE_ONLY = frozenset({Scope.SPACE})
HOUR = 3600_000.0


def made(principal: str = "ann", key: bytes = KEY, *, grants: dict[str, Grant] | None = None, **more: Any) -> str:
    return make_token(key, principal, grants or {"board": Grant()}, now_ms=1_000_000, lifetime_ms=HOUR, **more)


@pytest.fixture
def guarded() -> World:
    world = World()
    world.hub._authenticator = TokenAuthenticator([KEY, OLD_KEY], world.clock)
    return world


def refusal(world: World, token: str, space: str = "board") -> Problem:
    (problem,) = Peer(world, token, space).take()
    assert isinstance(problem, Problem)
    assert problem.fatal
    return problem


def test_tokens_of_present_and_retiring_keys_are_accepted(guarded: World) -> None:
    assert Peer(guarded, made()).welcome().principal == "ann"
    assert Peer(guarded, made(key=OLD_KEY)).welcome().principal == "ann"


def unsigned() -> str:
    head, claims = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
        for part in ({"alg": "none", "typ": "JWT"}, {"sub": "ann", "aud": "quiesce", "exp": 9e9, "spaces": {"*": {}}})
    )
    return f"{head}.{claims}."


@pytest.mark.parametrize(
    "token",
    [
        "",
        "ann",
        "a.b.c",
        "é" * 10,
        made(key=FOREIGN_KEY),
        made()[:-3] + "AAA",
        unsigned(),
        jwt.encode({"sub": "ann", "aud": "quiesce"}, KEY, "HS256"),
        jwt.encode({"sub": "ann", "exp": 9e9}, KEY, "HS256"),
        jwt.encode({"sub": "ann", "aud": "other", "exp": 9e9}, KEY, "HS256"),
        jwt.encode({"sub": "", "aud": "quiesce", "exp": 9e9}, KEY, "HS256"),
        jwt.encode({"sub": "ann", "aud": "quiesce", "exp": 9e9, "spaces": ["board"]}, KEY, "HS256"),
        jwt.encode({"sub": "ann", "aud": "quiesce", "exp": 9e9, "spaces": {"board": {"read": ["all"]}}}, KEY, "HS256"),
        jwt.encode({"sub": "ann", "aud": "quiesce", "exp": 9e9}, KEY * 2, "HS512"),
    ],
)
def test_wrong_tokens_are_refused(guarded: World, token: str) -> None:
    assert refusal(guarded, token).code in ("unauthenticated", "forbidden")
    assert guarded.hub.spaces == {}, "no database is opened for a stranger"


def test_a_token_expires_before_and_during_a_connection(guarded: World) -> None:
    ann = Peer(guarded, made())
    ann.welcome()
    guarded.clock.advance(HOUR)
    (problem,) = ann.ask(put(1, "a", 1))
    assert problem.code == "token-expired"
    assert refusal(guarded, made()).code == "token-expired"
    idle = Peer(guarded, make_token(KEY, "ann", {"board": Grant()}, now_ms=guarded.clock(), lifetime_ms=HOUR))
    idle.welcome()
    guarded.clock.advance(HOUR + 1)
    guarded.hub.tick()
    assert idle.connection.closing is not None
    assert idle.connection.closing.code == "token-expired"


def test_a_client_renews_its_token_and_otherwise_stops(guarded: World) -> None:
    tokens = [made(), make_token(KEY, "ann", {"board": Grant()}, now_ms=9e6, lifetime_ms=HOUR)]
    client = Client("board", lambda: tokens[0], guarded.counts)
    link = guarded.loop.link(client)
    link.connect()
    guarded.settle()
    session = client.replica.identity.session
    guarded.clock.advance(HOUR + 1)
    guarded.hub.tick()
    guarded.settle()
    assert not link.connected
    del tokens[0]
    link.connect()
    guarded.settle()
    assert client.phase is Phase.LIVE
    assert client.replica.identity.session == session, "the same session, with a newer token"
    guarded.clock.advance(9e6)
    guarded.hub.tick()
    guarded.settle()
    link.connect()
    guarded.settle()
    assert client.phase is Phase.ENDED
    assert client.problem is not None
    assert client.problem.code == "token-expired"


def test_a_space_that_is_not_granted_is_refused_whether_or_not_it_exists(guarded: World) -> None:
    Peer(guarded, made(grants={"secret": Grant()}), "secret").welcome()
    existing = refusal(guarded, made(), "secret")
    missing = refusal(guarded, made(), "no-such-space")
    assert existing == missing
    assert "no-such-space" not in guarded.hub.spaces
    assert Peer(guarded, made(grants={"*": Grant()}), "anything").welcome()


def test_a_reader_cannot_write_and_is_told(guarded: World) -> None:
    reader = Peer(guarded, made(grants={"board": Grant(write=frozenset())}))
    reader.welcome()
    reader.watch()
    verdict = reader.ask(put(1, "a", 1))[0]
    assert (verdict.outcome, verdict.code) == (Outcome.TERMINAL, "forbidden")
    assert verdict.message == "this session may not write scope space"
    assert guarded.hub.spaces["board"].seq == 0


def test_a_writer_that_may_not_read_sees_nothing_of_what_is_there(guarded: World) -> None:
    owner = Peer(guarded, made())
    owner.welcome()
    owner.watch()
    owner.ask(put(1, "a", {"secret": "value"}))
    blind = Peer(guarded, made("ben", grants={"board": Grant(read=frozenset(), write=SPACE_ONLY)}))
    blind.welcome()
    (problem,) = blind.ask(WatchSet(1, (Watch("a"),)))
    assert (problem.code, problem.request) == ("forbidden", 1)
    (problem,) = blind.ask(WatchSet(2, (), (Have("a", 0),)))
    assert problem.code == "forbidden"
    assert isinstance(blind.ask(WatchSet(3, ()))[0], Window)
    said: list[Any] = []
    for local, commit in enumerate(
        [
            {"reads": (Read("a"),)},
            {"preconditions": (DocumentAbsent("a"),)},
            {"preconditions": (DocumentIs("a", value_hash({"secret": "value"})),)},
            {"operations": (PatchDocument("a", (Put(("secret", "deeper"), 1),)),)},
            {"operations": (PatchDocument("a", (Put(("more",), 1),)),)},
            {"operations": (SetDocument("a", 1, Scope.USER),)},
        ],
        1,
    ):
        said += blind.ask(Commit(local, **commit))  # type: ignore[arg-type]
    text = b"".join(encode(message) for message in said)
    assert b"value" not in text.replace(b'"value"', b"")
    assert b"deeper" not in text
    assert b"string" not in text, "not even of which type it is"
    outcomes = [message.code for message in said if not isinstance(message, Window)]
    assert outcomes == ["forbidden", "forbidden", "forbidden", "edit-does-not-apply", "", "forbidden"]
    assert all(message.upserts == () for message in said if isinstance(message, Window))


def test_one_principal_never_gets_anothers_user_or_session_documents(guarded: World) -> None:
    ann, ben = Peer(guarded, made()), Peer(guarded, made("ben"))
    other_tab = Peer(guarded, made())
    for peer in (ann, ben, other_tab):
        peer.welcome()
        peer.watch(*(Watch("", scope, prefix=True) for scope in Scope))
    ann.ask(Commit(1, operations=(SetDocument("d", "mine", Scope.USER), SetDocument("d", "tab", Scope.SESSION))))
    assert ben.take() == []
    (window,) = other_tab.take()
    assert [(u.scope, u.value) for u in window.upserts] == [(Scope.USER, "mine")]
    # ben's own instance is empty: no conflict, and deleting it touches nothing of ann's
    verdict, _ = ben.ask(
        Commit(
            1,
            (Read("d", Scope.USER), Read("d", Scope.SESSION)),
            operations=(DeleteDocument("d", Scope.USER), DeleteDocument("d", Scope.SESSION)),
            preconditions=(DocumentAbsent("d", Scope.USER),),
        )
    )
    assert verdict.outcome is Outcome.ACCEPTED
    assert ann.take() == []


def test_names_cannot_be_made_to_meet_in_one_instance(guarded: World) -> None:
    odd, plain = Peer(guarded, made("ann:x/%")), Peer(guarded, made("ann"))
    for peer in (odd, plain):
        peer.welcome()
        peer.watch(Watch("", Scope.USER, prefix=True))
    odd.ask(Commit(1, operations=(SetDocument("d", "odd", Scope.USER),)))
    assert plain.take() == []


def test_a_session_keeps_its_principal(guarded: World) -> None:
    ann = Peer(guarded, made())
    welcome = ann.welcome()
    (problem,) = Peer(guarded, made("ben"), resume=Resume(welcome.session, welcome.key)).take()
    assert problem.code == "session-unknown"


def test_a_spaces_file_is_always_one_plain_file(tmp_path: Path) -> None:
    for name in ("../escape", "a/b", ".", "..", "c:\\x", "é", "a%2Fb", "x" * 100):
        path = database_path(tmp_path, name)
        assert path.parent == tmp_path
        assert path.name not in (".sqlite", "..sqlite")
    assert database_path(tmp_path, "a/b") != database_path(tmp_path, "a%2Fb")


# -- keys, commands


def test_a_token_is_made_with_the_servers_own_key(tmp_path: Path) -> None:
    arguments = ["--db", str(tmp_path), "--principal", "ann", "--space", "board", "--expires", "90s", "--observe"]
    result = CliRunner().invoke(token, arguments)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o600
    authenticator = authenticator_for(Settings(tmp_path))
    claims = authenticator.claims(result.output.strip())
    assert (claims.principal, claims.observe) == ("ann", True)
    assert claims.grant("board") == Grant()
    assert claims.expires_ms is not None
    assert 80_000 < claims.expires_ms - wall_ms() < 91_000
    with pytest.raises(AccessDenied, match="grants nothing in that space"):
        claims.grant("other")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--principal", "ann", "--space", "x"], "name the server's --db directory, or its --key-file"),
        (["--db", "{dir}", "--principal", "ann"], "a token without --space opens nothing"),
        (["--db", "{dir}", "--principal", "ann", "--space", "x", "--expires", "soon"], "'soon' is no duration"),
        (["--db", "{dir}", "--principal", "", "--space", "x"], "the principal is a string of 1 to 200 characters"),
        (["--key-file", "{dir}/none", "--principal", "ann", "--space", "x"], "No such file"),
    ],
)
def test_token_says_what_is_wrong(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(token, [part.format(dir=tmp_path) for part in arguments])
    assert result.exit_code != 0
    assert message in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no key in this file"),
        ("zz\n", "1: not a hexadecimal key"),
        ("# old\nabcd\n", "2: a key of 2 bytes is too short"),
    ],
)
def test_a_bad_key_file_is_named(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(content)
    with pytest.raises(Misconfigured, match=message):
        authenticator_for(Settings(tmp_path))
    with pytest.raises(ValueError, match=message):
        load_keys(tmp_path / "keys")


def test_development_mode_is_for_this_machine_only(tmp_path: Path) -> None:
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert is_loopback("127.5.5.5")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("example.com")
    result = CliRunner().invoke(serve, ["--db", str(tmp_path), "--dev", "--host", "0.0.0.0"])
    assert result.exit_code == 1
    assert "development mode believes every client and so listens on loopback only, not on 0.0.0.0" in result.output


def test_serve_says_when_its_place_is_taken(tmp_path: Path) -> None:
    result = CliRunner().invoke(serve, ["--db", str(tmp_path / "file" / "x"), "--port", "1", "--host", "192.0.2.1"])
    assert result.exit_code == 1
    assert "cannot listen on 192.0.2.1:1" in result.output
    (tmp_path / "plain").write_text("")
    result = CliRunner().invoke(serve, ["--db", str(tmp_path / "plain" / "x")])
    assert result.exit_code == 1
    assert "cannot use" in result.output


def test_limits_are_changed_by_name(tmp_path: Path) -> None:
    assert changed_limits(("watches=3", "hello_ms=1.5")) == replace(Limits(), watches=3, hello_ms=1.5)
    for change, message in [
        ("wheels=3", "there is no limit 'wheels': there are message_bytes"),
        ("watches=x", "not 'x'"),
    ]:
        result = CliRunner().invoke(serve, ["--db", str(tmp_path), "--limit", change])
        assert result.exit_code == 2
        assert message in result.output


def test_durations() -> None:
    assert [duration_ms(text) for text in ("90s", "1.5m", "12h", "30d")] == [90e3, 90e3, 43_200e3, 2_592_000e3]


def test_a_manual_clock_goes_forward_only() -> None:
    with pytest.raises(ValueError, match="cannot go back by 1 ms"):
        ManualClock().advance(-1)
