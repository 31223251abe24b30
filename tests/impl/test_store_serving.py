"""Serving, as the server sees it: the lease, demand, seats, and that nobody else acts for anybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from store_world import World
from test_store_access import HOUR, KEY, made
from test_store_server import Peer

from quiesce.address import Scope
from quiesce.cli import token
from quiesce.clock import wall_ms
from quiesce.commits import Commit, CommitClass, Outcome, Read, SetDocument, Verdict
from quiesce.protocol import (
    Acting,
    Bye,
    Demanded,
    DemandSet,
    Hello,
    Lease,
    Moved,
    Problem,
    Resume,
    Serve,
    Served,
    ServeEnd,
    SessionReport,
    Watch,
    WatchSet,
    Welcome,
    Window,
)
from quiesce.server.access import Grant, TokenAuthenticator, load_keys, make_token
from quiesce.server.engine import Key
from quiesce.server.health import stats

SERVING = ("servingV1",)


class Speaker(Peer):
    """A peer that knows of serving, and may act for others."""

    def __init__(self, world: World, token: str, acting: Acting | None = None, resume: Resume | None = None) -> None:
        self.world = world
        self.connection = world.hub.connect()
        self.send(Hello("board", token, resume=resume, capabilities=SERVING, acting=acting))

    def only(self, kind: type[Any]) -> list[Any]:
        return [message for message in self.take() if isinstance(message, kind)]

    def hold(self, *actions: str) -> Lease:
        """Ask for the lease; the answer, whatever it is."""
        self.send(Serve(actions))
        return self.only(Lease)[-1]


def greeted(world: World, token: str, acting: Acting | None = None) -> tuple[Speaker, Welcome]:
    speaker = Speaker(world, token, acting)
    return speaker, speaker.welcome()


def test_one_runtime_holds_the_lease_and_everybody_is_told_what_it_serves(world: World) -> None:
    ann, welcome = greeted(world, "ann")
    assert welcome.served == ()
    first, _ = greeted(world, "server")
    second, _ = greeted(world, "server")
    lease = first.hold("derived/a")
    assert lease.holder
    assert lease.key
    assert second.hold("derived/b") == Lease()
    assert ann.only(Served) == [Served(("derived/a",))]
    assert greeted(world, "bob")[1].served == ("derived/a",)
    serving = stats(world.hub)["spaces"]["board"]["serving"]
    assert (serving["holder"], serving["waiting"]) == (lease.holder, 1)


@pytest.mark.parametrize("how", ["given up", "goodbye", "not renewed"])
def test_a_lease_that_ends_passes_to_who_waits_and_then_to_nobody(world: World, how: str) -> None:
    ann, _ = greeted(world, "ann")
    first, _ = greeted(world, "server")
    second, _ = greeted(world, "server")
    old = first.hold("derived/a")
    second.hold("derived/a")
    ann.take()
    ann.ask(DemandSet(("derived/a",)))
    if how == "given up":
        first.send(ServeEnd())
    elif how == "goodbye":
        first.send(Bye())
        world.hub.step()
    else:
        world.clock.advance(world.surroundings.limits.lease_ms + 1)
        world.hub.tick()
    messages = second.take()
    (lease,) = [message for message in messages if isinstance(message, Lease)]
    assert lease.holder not in ("", old.holder)
    assert [message.actions for message in messages if isinstance(message, Demanded)] == [("derived/a",)]
    assert ann.only(Served) == [], "what is served is the same, and no gap is told"
    second.send(ServeEnd())
    assert ann.only(Served) == [Served(())]


def test_a_lease_passes_over_who_waited_and_is_not_connected(world: World) -> None:
    first, gone, third = (greeted(world, "server")[0] for _ in range(3))
    old = first.hold("derived/a")
    assert gone.hold("derived/a") == third.hold("derived/a") == Lease()
    world.hub.disconnect(gone.connection)
    first.send(ServeEnd())
    (lease,) = third.only(Lease)
    assert lease.holder not in ("", old.holder)


def test_a_renewed_lease_goes_on(world: World) -> None:
    server, _ = greeted(world, "server")
    lease = server.hold("derived/a")
    for _ in range(3):
        world.clock.advance(world.surroundings.limits.lease_ms - 1)
        world.hub.tick()
        assert server.hold("derived/a") == lease


def test_a_dead_runtime_keeps_its_lease_until_it_ends_and_may_come_back(world: World) -> None:
    ann, _ = greeted(world, "ann")
    ann.send(DemandSet(("derived/a",)))
    server, welcome = greeted(world, "server")
    lease = server.hold("derived/a")
    world.hub.disconnect(server.connection)
    again = Speaker(world, "server", resume=Resume(welcome.session, welcome.key))
    again.take()
    again.send(Serve(("derived/a",)))
    messages = again.take()
    assert [message for message in messages if isinstance(message, Lease)] == [lease]
    assert [message for message in messages if isinstance(message, Demanded)], "told of all demand anew"
    world.hub.disconnect(again.connection)
    world.clock.advance(world.surroundings.limits.lease_ms + 1)
    world.hub.tick()
    assert ann.only(Served)[-1] == Served(())


def test_demand_is_told_changed_and_withdrawn(world: World) -> None:
    ann, welcome = greeted(world, "ann")
    ann.send(DemandSet(("derived/a",)))
    server, _ = greeted(world, "server")
    server.send(Serve(("derived/a", "derived/b")))
    assert server.only(Demanded) == [Demanded("ann", welcome.session, ("derived/a",))]
    ann.send(DemandSet(("derived/a", "derived/b")))
    ann.send(DemandSet(("derived/a", "derived/b")))
    assert [told.actions for told in server.only(Demanded)] == [("derived/a", "derived/b")], (
        "what is the same is not told"
    )
    world.hub.disconnect(ann.connection)
    assert server.only(Demanded) == [], "it may come back"
    world.clock.advance(world.surroundings.limits.detached_ms - 1)
    server.hold("derived/a")
    world.clock.advance(2)
    world.hub.tick()
    assert server.only(Demanded) == [Demanded("ann", welcome.session, ())]


def test_a_seat_sees_and_writes_what_the_demanding_instance_does(world: World) -> None:
    ann, welcome = greeted(world, "ann")
    ann.ask(Commit(1, operations=(SetDocument("mine", "secret", Scope.SESSION),)))
    ann.send(DemandSet(("derived/a",)))
    server, _ = greeted(world, "server")
    lease = server.hold("derived/a")
    seat, seated = greeted(world, "server", Acting(lease.key, "ann", welcome.session))
    assert seated.holder.startswith(f"{lease.holder}/")
    (window,) = seat.ask(WatchSet(1, (Watch("", Scope.SESSION, prefix=True),)))
    assert [upsert.value for upsert in window.upserts] == ["secret"]
    operations = (SetDocument("out", "SECRET", Scope.SESSION),)
    read = (Read("mine", Scope.SESSION, (), 1),)
    answers = seat.ask(Commit(1, read, operations=operations, commit_class=CommitClass.DERIVED))
    assert [answer.outcome for answer in answers if isinstance(answer, Verdict)] == [Outcome.ACCEPTED]
    head = world.engines["board"].head(Key(f"session:ann:{welcome.session}", "out"))
    assert (head.value, head.commit_class, head.holder) == ("SECRET", CommitClass.DERIVED, seated.holder)


def test_a_seat_of_a_user_or_of_the_space_sees_nothing_narrower(world: World) -> None:
    ann, _ = greeted(world, "ann")
    ann.send(DemandSet(("derived/a",)))
    server, _ = greeted(world, "server")
    lease = server.hold("derived/a")
    for acting, allowed in ((Acting(lease.key), [Scope.SPACE]), (Acting(lease.key, "ann"), [Scope.SPACE, Scope.USER])):
        seat, _ = greeted(world, "server", acting)
        for number, scope in enumerate(Scope, 1):
            (answer,) = seat.ask(WatchSet(number, (Watch("", scope, prefix=True),)))
            assert isinstance(answer, Window if scope in allowed else Problem)
            verdict = seat.ask(Commit(number, operations=(SetDocument(f"d{number}", 1, scope),)))[0]
            assert verdict.outcome is (Outcome.ACCEPTED if scope in allowed else Outcome.TERMINAL)


def test_goodbye_of_a_seat_leaves_the_documents_of_whom_it_acted_for(world: World) -> None:
    ann, welcome = greeted(world, "ann")
    ann.ask(Commit(1, operations=(SetDocument("mine", 1, Scope.SESSION),)))
    ann.send(DemandSet(("derived/a",)))
    server, _ = greeted(world, "server")
    lease = server.hold("derived/a")
    seat, _ = greeted(world, "server", Acting(lease.key, "ann", welcome.session))
    seat.ask(Bye())
    assert world.engines["board"].head(Key(f"session:ann:{welcome.session}", "mine")).value == 1


def test_nobody_acts_without_the_lease_or_for_whom_nothing_is_demanded(world: World) -> None:
    ann, welcome = greeted(world, "ann")
    server, _ = greeted(world, "server")
    codes: list[str] = []

    def tried(acting: Acting) -> None:
        (problem,) = Speaker(world, "server", acting).take()
        assert isinstance(problem, Problem)
        assert problem.fatal
        codes.append(problem.code)

    tried(Acting("no key"))
    lease = server.hold("derived/a")
    tried(Acting("é"))
    tried(Acting(lease.key, "ann", welcome.session))
    ann.send(DemandSet(("derived/a",)))
    tried(Acting(lease.key, "ann", "another"))
    tried(Acting(lease.key, None, welcome.session))
    tried(Acting(lease.key, "bob"))
    server.send(ServeEnd())
    tried(Acting(lease.key, "ann", welcome.session))
    assert codes == ["lease-ended", "lease-ended", "not-demanded", *["not-demanded"] * 3, "lease-ended"]


def test_seats_end_with_the_lease_and_what_they_send_then_is_refused(world: World) -> None:
    server, _ = greeted(world, "server")
    lease = server.hold("derived/a")
    seat, _ = greeted(world, "server", Acting(lease.key))
    world.clock.advance(world.surroundings.limits.lease_ms + 1)
    (problem,) = seat.ask(Commit(1, operations=(SetDocument("out", 1),)))
    assert (problem.code, problem.fatal) == ("lease-ended", True)
    assert world.hub.spaces["board"].seq == 0


def test_a_seat_ends_when_nobody_demands_anything_for_its_instance(world: World) -> None:
    ann, welcome = greeted(world, "ann")
    also, _ = greeted(world, "ann")
    for session in (ann, also):
        session.send(DemandSet(("derived/a",)))
    server, _ = greeted(world, "server")
    lease = server.hold("derived/a")
    of_session, _ = greeted(world, "server", Acting(lease.key, "ann", welcome.session))
    of_user, _ = greeted(world, "server", Acting(lease.key, "ann"))
    of_space, _ = greeted(world, "server", Acting(lease.key))
    ann.send(DemandSet(()))
    assert [problem.code for problem in of_session.only(Problem)] == ["not-demanded"]
    assert of_user.only(Problem) == []
    also.ask(Bye())
    assert [problem.code for problem in of_user.only(Problem)] == ["not-demanded"]
    assert of_space.only(Problem) == []


def test_a_server_is_told_of_spaces_that_nobody_serves_and_of_those_that_nobody_uses(world: World) -> None:
    unserved: list[str] = []
    unused: list[str] = []
    world.hub.on_unserved, world.hub.on_unused = unserved.append, unused.append
    ann, _ = greeted(world, "ann")
    assert unserved == ["board"]
    server, _ = greeted(world, "server")
    lease = server.hold("derived/a")
    greeted(world, "server", Acting(lease.key))
    unserved.clear()
    world.hub.tick()
    assert (unserved, unused) == ([], [])
    ann.ask(Bye())
    for _ in range(7):
        world.clock.advance(10_000)
        server.hold("derived/a")
        world.hub.tick()
    assert (unserved, unused[:1]) == ([], ["board"])
    server.send(ServeEnd())
    world.hub.tick()
    assert unserved == ["board"], "as long as anybody is here"


def test_a_token_says_whether_it_may_serve(tmp_path: Path) -> None:
    arguments = ["--db", str(tmp_path), "--principal", "server", "--space", "board"]
    plain, serving = (CliRunner().invoke(token, [*arguments, *more]).output.strip() for more in ((), ("--serve",)))
    authenticator = TokenAuthenticator(load_keys(tmp_path / "keys"), wall_ms)
    assert not authenticator.claims(plain).grant("board").serve
    assert authenticator.claims(serving).grant("board").serve


def test_a_seat_neither_serves_nor_demands(world: World) -> None:
    server, _ = greeted(world, "server")
    lease = server.hold("derived/a")
    seat, _ = greeted(world, "server", Acting(lease.key))
    assert [problem.code for problem in (*seat.ask(Serve(("x",))), *seat.ask(DemandSet(("x",))))] == ["forbidden"] * 2


def test_a_seat_is_told_of_every_step_of_the_space(world: World) -> None:
    server, _ = greeted(world, "server")
    lease = server.hold("derived/a")
    seat, _ = greeted(world, "server", Acting(lease.key))
    seat.ask(WatchSet(1, (Watch("one"),)))
    bob, _ = greeted(world, "bob")
    bob.ask(Commit(1, operations=(SetDocument("other", 1),)))
    (window,) = seat.only(Window)
    assert (window.from_seq, window.to_seq, window.upserts) == (0, 1, ())


def test_a_holder_that_rests_is_told_once_that_the_space_moved(world: World) -> None:
    server, _ = greeted(world, "server")
    server.hold("derived/a")
    server.send(Serve(("derived/a",), resting=0))
    assert server.only(Moved) == []
    bob, _ = greeted(world, "bob")
    for number in (1, 2):
        bob.ask(Commit(number, operations=(SetDocument("d", number),)))
    assert server.only(Moved) == [Moved(1)]
    server.send(Serve(("derived/a",), resting=1))
    assert server.only(Moved) == [Moved(2)], "it had moved before the rest began"


def test_reports_of_seats_are_filed_apart(world: World) -> None:
    """Two instances of one derivation that fight over one document (seed §3)."""
    server, _ = greeted(world, "server")
    lease = server.hold("derived/a")
    for name in ("ann", "bob"):
        person, welcome = greeted(world, name)
        person.send(DemandSet(("derived/a",)))
        person.take()
        seat, _ = greeted(world, "server", Acting(lease.key, name, welcome.session))
        seat.ask(SessionReport("trip", "a", Watch("derived/a")))  # type: ignore[arg-type]
    reports = stats(world.hub)["spaces"]["board"]["sessionReports"]
    assert sorted(report["actsFor"].split(":")[:2] for report in reports) == [["session", "ann"], ["session", "bob"]]
    assert {report["instance"] for report in reports} == {"space"}


def test_a_token_has_to_allow_it() -> None:
    world = World()
    world.hub._authenticator = TokenAuthenticator([KEY], world.clock)
    plain, _ = greeted(world, made("server"))
    (problem,) = plain.ask(Serve(("derived/a",)))
    assert problem.code == "forbidden"
    assert "--serve" in problem.message
    allowed = make_token(KEY, "server", {"board": Grant(serve=True)}, now_ms=world.clock(), lifetime_ms=HOUR)
    server, _ = greeted(world, allowed)
    lease = server.hold("derived/a")
    assert lease.holder
    (problem,) = Speaker(world, made("mallory"), Acting(lease.key)).take()
    assert problem.code == "forbidden"
    assert "--serve" in problem.message


def test_too_much_is_refused_in_words() -> None:
    world = World(demands=2)
    ann, _ = greeted(world, "ann")
    (problem,) = ann.ask(DemandSet(("a", "b", "c")))
    assert problem.code == "too-many-derivations"
    (problem,) = ann.ask(DemandSet(("a" * 501,)))
    assert problem.code == "too-many-derivations"


def test_an_older_client_hears_nothing_of_it(world: World) -> None:
    old = Peer(world, "ann")
    old.welcome()
    server, _ = greeted(world, "server")
    server.hold("derived/a")
    assert old.take() == []
