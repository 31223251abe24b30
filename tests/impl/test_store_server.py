"""The hub and its spaces: windows, verdicts, sessions, limits, and what is told about them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from store_world import World

import quiesce.server.decide
from quiesce.address import Scope
from quiesce.commits import Commit, Document, Outcome, Put, Read, SetDocument, Verdict
from quiesce.commits import PatchDocument as Patch
from quiesce.protocol import (
    Hello,
    Problem,
    Resume,
    SessionReport,
    Watch,
    WatchAdd,
    WatchSet,
    Welcome,
    Window,
    decode_server,
    encode,
)
from quiesce.server.batch import ForgetJob
from quiesce.server.health import stats
from quiesce.server.metrics import register
from quiesce.server.session import Connection
from quiesce.storage.client import Client, Phase

EVERYTHING = (Watch("", prefix=True),)


class Peer:
    """A client by hand: sends any message, and shows every answer."""

    def __init__(self, world: World, token: str, space: str = "board", resume: Resume | None = None) -> None:
        self.world = world
        self.connection: Connection = world.hub.connect()
        self.send(Hello(space, token, resume=resume, capabilities=("unheard-of",)))

    def send(self, message: Any) -> None:
        self.world.hub.receive(self.connection, encode(message))

    def take(self) -> list[Any]:
        """Let the server work, and take everything that it says."""
        while self.world.hub.step():
            pass
        messages: list[Any] = []
        while (data := self.connection.take()) is not None:
            messages.append(decode_server(data))
        return messages

    def ask(self, message: Any) -> list[Any]:
        self.send(message)
        return self.take()

    def welcome(self) -> Welcome:
        (welcome,) = self.take()
        assert isinstance(welcome, Welcome), welcome
        return welcome

    def watch(self, *watches: Watch) -> Window:
        (window,) = self.ask(WatchSet(1, watches or EVERYTHING))
        assert isinstance(window, Window), window
        return window


def put(local: int, id: str, value: Any, **more: Any) -> Commit:
    return Commit(local, operations=(SetDocument(id, value),), **more)


def ready(world: World, token: str = "ann", **more: Any) -> Peer:
    peer = Peer(world, token, **more)
    peer.welcome()
    peer.watch()
    return peer


def test_windows_tile_the_sequence_and_carry_snapshots_with_their_own_sequence(world: World) -> None:
    ann, ben = ready(world), ready(world, "ben")
    ann.ask(put(1, "a", 1))
    (first,) = ben.take()
    ann.send(put(2, "a", 2))
    ann.send(put(3, "b", 3))
    ann.take()
    (second,) = ben.take()
    assert (first.from_seq, first.to_seq) == (0, 1)
    assert (second.from_seq, second.to_seq) == (1, 3)
    assert [(u.id, u.seq, u.value) for u in second.upserts] == [("a", 2, 2), ("b", 3, 3)]


def test_a_verdict_comes_before_the_window_that_covers_it_and_own_writes_are_left_out(world: World) -> None:
    ann = ready(world)
    verdict, window = ann.ask(put(1, "a", {"n": 1}))
    assert verdict == Verdict(1, Outcome.ACCEPTED, 1)
    assert window.upserts == ()
    assert window.caught_up == 1
    verdict, window = ann.ask(Commit(2, (Read("a", seq=1),), operations=(Patch("a", (Put(("n",), 2),)),)))
    assert window.upserts == (), "an own patch of what the client has is left out too"


def test_an_own_patch_mixed_with_what_others_wrote_is_sent(world: World) -> None:
    ann, ben = ready(world), ready(world, "ben")
    ann.ask(put(1, "a", {"n": 1, "m": 1}))
    ben.send(Commit(1, operations=(Patch("a", (Put(("m",), 2),)),)))
    ann.send(Commit(2, operations=(Patch("a", (Put(("n",), 2),)),)))
    _, window = ann.take()
    assert [u.value for u in window.upserts] == [{"n": 2, "m": 2}]


def test_a_conflict_brings_the_documents_that_caused_it(world: World) -> None:
    ann, ben = ready(world), Peer(world, "ben")
    ben.welcome()
    ben.watch(Watch("unrelated"))
    ann.ask(put(1, "a", 1))
    verdict, window = ben.ask(put(1, "b", 1, reads=(Read("a", seq=0),)))
    assert (verdict.outcome, verdict.code, verdict.documents) == (Outcome.CONFLICT, "stale-read", (Document("a"),))
    assert verdict.message == (
        "a: its read at / (as of 0) was overwritten at 1; take the window that covers this verdict and run again"
    )
    assert [(u.id, u.value) for u in window.upserts] == [("a", 1)]


def test_a_replay_gets_its_verdict_again_and_another_payload_an_error(world: World) -> None:
    ann = ready(world)
    first, _ = ann.ask(put(1, "a", 1))
    again, _ = ann.ask(put(1, "a", 1))
    assert first == again
    assert world.hub.spaces["board"].seq == 1
    (problem,) = ann.ask(put(1, "a", 2))
    assert (problem.code, problem.fatal) == ("replay-differs", True)


def test_a_refused_commit_stays_refused_when_it_is_replayed(world: World) -> None:
    ann, ben = ready(world), ready(world, "ben")
    ben.ask(put(1, "a", 1))
    doomed = put(1, "b", 1, reads=(Read("a", seq=0),))
    refused = [m for m in ann.ask(doomed) if isinstance(m, Verdict)]
    again = [m for m in ann.ask(doomed) if isinstance(m, Verdict)]
    assert refused == again


def test_a_commit_that_nothing_foresaw_is_refused_and_harms_nobody(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, ben = ready(world), ready(world, "ben")

    def fail(*_: Any) -> None:
        raise RecursionError("planted")

    with monkeypatch.context() as patched:
        patched.setattr(quiesce.server.decide, "_plan", fail)
        verdict = ann.ask(put(1, "a", 1))[0]
    assert (verdict.outcome, verdict.code) == (Outcome.TERMINAL, "undecidable")
    assert ann.ask(put(1, "a", 1))[0] == verdict, "and so it stays"
    assert ben.ask(put(1, "a", 2))[0].outcome is Outcome.ACCEPTED


def test_out_of_order_commits_are_terminal(world: World) -> None:
    ann = ready(world)
    ann.ask(put(5, "a", 1))
    verdict = ann.ask(put(3, "a", 2))[0]
    assert (verdict.outcome, verdict.code) == (Outcome.TERMINAL, "replay-forgotten")
    verdict = ann.ask(put(0, "a", 2))[0]
    assert (verdict.outcome, verdict.code) == (Outcome.TERMINAL, "bad-local-sequence")
    verdict = ann.ask(put(2**70, "a", 2))[0]
    assert verdict.code == "bad-local-sequence"
    verdict = ann.ask(put(6, "a", 2, reads=(Read("a", seq=2**60),)))[0]
    assert (verdict.outcome, verdict.code) == (Outcome.TERMINAL, "read-not-from-here")


def test_resuming_rotates_the_key_and_revokes_the_earlier_connection(world: World) -> None:
    first = Peer(world, "ann")
    welcome = first.welcome()
    first.ask(put(1, "a", 1))
    second = Peer(world, "ann", resume=Resume(welcome.session, welcome.key))
    resumed = second.welcome()
    assert (resumed.session, resumed.resumed, resumed.decided) == (welcome.session, True, 1)
    assert resumed.key != welcome.key
    (problem,) = first.take()
    assert (problem.code, problem.fatal) == ("session-revoked", True)
    second.watch()
    stale = Peer(world, "ann", resume=Resume(welcome.session, welcome.key))
    (problem,) = stale.take()
    assert problem.code == "session-revoked", "the key before is worthless once the newer was used"


def test_a_welcome_lost_in_a_dying_socket_costs_nothing(world: World) -> None:
    first = Peer(world, "ann")
    welcome = first.welcome()
    lost = Peer(world, "ann", resume=Resume(welcome.session, welcome.key))
    lost.take()
    world.hub.disconnect(lost.connection)
    again = Peer(world, "ann", resume=Resume(welcome.session, welcome.key))
    assert again.welcome().resumed


def test_another_principal_cannot_resume_a_session_nor_learn_of_it(world: World) -> None:
    welcome = Peer(world, "ann").welcome()
    (thief,) = Peer(world, "ben", resume=Resume(welcome.session, welcome.key)).take()
    (guess,) = Peer(world, "ben", resume=Resume("no-such-session", "x")).take()
    assert thief == guess
    assert thief.code == "session-unknown"


def test_detached_sessions_expire_and_their_replays_are_still_known(world: World) -> None:
    ann = Peer(world, "ann")
    welcome = ann.welcome()
    ann.watch()
    ann.ask(put(1, "a", 1))
    world.hub.disconnect(ann.connection)
    world.clock.advance(29_000)
    world.hub.tick()
    assert welcome.session in world.hub.spaces["board"].sessions
    world.clock.advance(2_000)
    world.hub.tick()
    assert welcome.session not in world.hub.spaces["board"].sessions
    back = Peer(world, "ann", resume=Resume(welcome.session, welcome.key))
    assert back.welcome().resumed
    assert back.ask(put(1, "a", 1)) == [Verdict(1, Outcome.ACCEPTED, 1)], "no windows before the watch set"


def test_a_forgotten_session_takes_its_session_documents_along(world: World) -> None:
    ann = Peer(world, "ann")
    welcome = ann.welcome()
    ann.ask(Commit(1, operations=(SetDocument("tab", 1, Scope.SESSION), SetDocument("kept", 1))))
    world.hub.disconnect(ann.connection)
    world.hub.step()
    world.clock.advance(25 * 3600_000)
    world.hub.tick()
    world.clock.advance(1_000_000)
    world.hub.tick()
    ben = ready(world, "ben")
    world.hub.spaces["board"].add(ForgetJob(unseen_since_ms=world.clock() - 24 * 3600_000))
    ben.take()
    (problem,) = Peer(world, "ann", resume=Resume(welcome.session, welcome.key)).take()
    assert problem.code == "session-unknown"
    engine = world.engines["board"]
    instance = f"session:ann:{welcome.session}"
    assert engine.find(instance, "", 10) == []
    assert len(engine.find("space", "", 10)) == 1


def test_goodbye_forgets_a_session_at_once(world: World) -> None:
    client, link = world.client("ann")
    session = client.replica.identity.session
    client.close()
    world.settle()
    assert client.phase is Phase.ENDED
    assert session not in world.hub.spaces["board"].sessions
    assert world.engines["board"].session(session) is None
    assert not link.connected


def test_catch_up_is_from_what_the_client_has(world: World) -> None:
    ann, link = world.client("ann")
    ben, _ = world.client("ben")
    for id in ("a", "b", "c"):
        transaction = ben.replica.begin()
        transaction.write(Document(id), (), 1)
        transaction.commit()
    world.settle()
    link.cut()
    transaction = ben.replica.begin()
    transaction.write(Document("b"), (), 2)
    transaction.delete(Document("c"))
    transaction.commit()
    world.settle()
    before = ann.replica.synced
    link.connect()
    windows: list[Window] = []
    while True:
        while link.up():
            pass
        world.loop.decide()
        if not link.waiting_down():
            break
        message = decode_server(link._down[0])
        if isinstance(message, Window):
            windows.append(message)
        link.down()
    assert [(u.id, u.deleted) for u in windows[0].upserts] == [("b", False), ("c", True)], "a is not sent again"
    assert ann.replica.synced > before


def test_unknown_capabilities_and_fields_are_ignored(world: World) -> None:
    connection = world.hub.connect()
    hello = {"type": "hello", "space": "s", "token": "ann", "capabilities": ["teleport"], "colour": {"of": "sky"}}
    world.hub.receive(connection, json.dumps(hello).encode())
    world.hub.step()
    data = connection.take()
    assert data is not None
    assert isinstance(decode_server(data), Welcome)


def problem_of(peer: Peer, data: bytes) -> Problem:
    peer.world.hub.receive(peer.connection, data)
    (problem,) = peer.take()
    assert isinstance(problem, Problem)
    return problem


@pytest.mark.parametrize(
    ("data", "code", "fatal", "part"),
    [
        (b'{"type":"teleport"}', "unknown-message", False, "unknown message type 'teleport': this side knows bye,"),
        (b"nonsense", "malformed", True, "not a message of this protocol"),
        (b"\xff\xfe", "malformed", True, "not a message"),
        (b'{"type":"commit"}', "malformed", True, "a commit message is not well formed"),
        (b'{"type":"commit","localSeq":"1"}', "malformed", True, "$.localSeq"),
        (b'{"type":"commit","localSeq":1,"operations":[{"op":"set","id":"a","value":NaN}]}', "malformed", True, "not"),
        (
            b'{"type":"commit","localSeq":1,"operations":[{"op":"set","id":"a","value":1e999}]}',
            "malformed",
            True,
            "range",
        ),
        (
            b'{"type":"commit","localSeq":1,"operations":[{"op":"set","id":"a","value":'
            + b"[" * 65
            + b"]" * 65
            + b"}]}",
            "too-large",
            True,
            "nests more than 64",
        ),
        (
            b'{"type":"commit","localSeq":1,"operations":[{"op":"set","id":"a","value":' + b"[" * 99_999 + b"}]}",
            "malformed",
            True,
            "nests too deeply",
        ),
        (b'{"type":"commit","localSeq":1,"operations":"' + b"x" * 1_300_000 + b'"}', "too-large", True, "1200000 are"),
        (b'{"type":"hello","space":"other","token":"ann"}', "malformed", True, "says hello once"),
    ],
)
def test_a_bad_frame_gets_a_clear_error(world: World, data: bytes, code: str, fatal: bool, part: str) -> None:
    problem = problem_of(ready(world), data)
    assert (problem.code, problem.fatal) == (code, fatal)
    assert part in problem.message


def test_nothing_goes_before_hello_and_hello_comes_soon(world: World) -> None:
    connection = world.hub.connect()
    world.hub.receive(connection, encode(put(1, "a", 1)))
    assert connection.closing is not None
    assert "say hello first" in connection.closing.message
    silent = world.hub.connect()
    world.clock.advance(5_001)
    world.hub.tick()
    assert silent.closing is not None
    assert silent.closing.code == "hello-timeout"


def test_limits_name_themselves() -> None:
    world = World(commits_per_second=5, messages_per_second=3, watches=2, document_bytes=50, in_flight=8, operations=2)
    ann = ready(world)
    assert ann.ask(put(1, "a", "x" * 100))[0].code == "document-too-large"
    (problem,) = ann.ask(WatchAdd(7, (Watch("a"), Watch("b"))))
    assert (problem.code, problem.request, problem.fatal) == ("too-many-watches", 7, False)
    three = Commit(2, operations=tuple(SetDocument(id, 1) for id in "abc"))
    (problem,) = ann.ask(three)
    assert (problem.code, problem.fatal) == ("too-large", True)
    fast = ready(world, "cid")
    for local in range(1, 12):
        fast.send(put(local, "a", local))
        world.hub.step()
    problem = fast.take()[-1]
    assert (problem.code, problem.fatal) == ("rate-limited", True)
    assert problem.retry_after_ms is not None
    eager = ready(world, "dot")
    for local in range(1, 10):
        eager.send(put(local, "a", local))
    problem = eager.take()[-1]
    assert "more than 8 commits wait for a verdict" in problem.message
    chatty = ready(world, "eve")
    for request in range(2, 9):
        chatty.send(WatchSet(request, ()))
    assert chatty.take()[-1].code == "rate-limited"


def test_a_watch_reaches_so_many_documents_and_no_more() -> None:
    world = World(tracked=3)
    ann, ben = ready(world), ready(world, "ben")
    for local in range(1, 4):
        ann.ask(put(local, f"d{local}", 1))
        ben.take()
    ann.send(put(4, "d4", 1))
    for peer in (ann, ben):
        problem = peer.take()[-1]
        assert (problem.code, problem.fatal) == ("watch-too-wide", True)
    late = Peer(world, "cid")
    late.welcome()
    (problem,) = late.ask(WatchSet(2, (Watch("d", prefix=True),)))
    assert (problem.code, problem.request, problem.fatal) == ("watch-too-wide", 2, False)


def test_connections_are_limited() -> None:
    world = World(connections=2, connections_per_principal=1)
    ready(world)
    (problem,) = Peer(world, "ann").take()
    assert problem.code == "too-many-connections"
    assert "this principal holds 1 connections" in problem.message
    third = world.hub.connect()
    assert third.closing is not None
    assert third.closing.code == "too-many-connections"


def test_a_slow_reader_is_bounded_then_told_to_catch_up() -> None:
    world = World(outbox_soft_bytes=10_000)
    ann, slow = ready(world), ready(world, "ben")
    for local in range(1, 201):
        ann.ask(put(local, f"d{local % 5}", "x" * 1_000))
    assert slow.connection.outbox_bytes < 12_000, "200 kB were written meanwhile"
    messages = [*slow.take(), *slow.take()]  # reading is what gets it the rest
    last = messages[-1]
    assert isinstance(last, Window)
    assert last.catch_up
    assert (last.from_seq, last.to_seq) == (messages[-2].to_seq, 200)
    assert {u.id: u.seq for u in last.upserts} == {"d0": 200, "d1": 196, "d2": 197, "d3": 198, "d4": 199}
    ann.ask(put(201, "d0", 1))
    (window,) = slow.take()
    assert (window.from_seq, window.to_seq, window.catch_up) == (200, 201, False)


def test_a_reader_that_never_reads_is_sent_away() -> None:
    world = World(outbox_soft_bytes=1_000)
    ann, stuck = ready(world), ready(world, "ben")
    for local in range(1, 10):
        ann.ask(put(local, "d", "x" * 500))
    world.clock.advance(29_000)
    world.hub.tick()
    assert stuck.connection.closing is None
    world.clock.advance(2_000)
    world.hub.tick()
    assert stuck.connection.closing is not None
    assert stuck.connection.closing.code == "slow-reader"
    assert stuck.connection.queued == 1, "what it would not read is dropped"


def test_reports_of_breakers_are_accepted_counted_and_listed(world: World) -> None:
    client, _ = world.client("ann")
    assert client.report("trip", "normalise", Document("card", Scope.USER))
    assert client.report("clear", "normalise", Document("card", Scope.USER), "convergence", renewals=3, held_ms=4_000.0)
    world.settle()
    session = client.replica.identity.session
    reports = stats(world.hub)["spaces"]["board"]["sessionReports"]
    assert [(r["event"], r["reason"], r["renewals"], r["heldMs"]) for r in reports] == [
        ("trip", "", 0, 0.0),
        ("clear", "convergence", 3, 4_000.0),
    ]
    assert {(r["session"], r["instance"], r["document"]) for r in reports} == {(session, "user:ann", "card")}
    assert world.surroundings.tally.breaker_reports == {"trip": 1, "clear": 1}
    for _ in range(100):
        client.report("trip", "normalise", Document("card"))
        world.clock.advance(100)
        world.settle()
    assert len(stats(world.hub)["spaces"]["board"]["sessionReports"]) == 64


def test_statistics_show_sessions_rates_sequence_and_queues(world: World) -> None:
    ann = ready(world)
    for local in range(1, 51):
        ann.ask(put(local, "a", local))
        world.clock.advance(100)
    shown = stats(world.hub)
    json.dumps(shown)
    board = shown["spaces"]["board"]
    (session,) = board["sessions"]
    assert board["sequence"] == 50
    assert board["queue"] == 0
    assert 3 < board["commitRates"][session] < 5, "ten a second for five seconds, decaying over ten"
    assert board["sessions"][session]["outcomes"] == {"accepted": 50}
    assert shown["verdicts"] == {"accepted": 50}


def test_metrics_are_what_the_tally_says(world: World) -> None:
    reader = InMemoryMetricReader()
    register(world.hub, MeterProvider([reader]).get_meter("test"))
    ann = ready(world)
    ann.ask(put(1, "a", 1))
    ann.send(SessionReport("trip", "x", Document("a")))
    data = reader.get_metrics_data()
    assert data is not None
    points = {
        (metric.name, *sorted(point.attributes.values())): point.value
        for metric in data.resource_metrics[0].scope_metrics[0].metrics
        for point in metric.data.data_points
    }
    assert points["quiesce.commits", "accepted"] == 1
    assert points["quiesce.sequence", "board"] == 1
    assert points["quiesce.sessions", "board"] == 1
    assert points["quiesce.echo_breaker", "trip"] == 1


def test_counts_are_kept_whatever_is_shown(world: World) -> None:
    log = world.counts.logger("scheduler")
    log.warn("remote-echo-breaker-tripped", "a loop is held", document="card")
    world.counts.logger("scheduler").error("remote-echo-breaker-tripped")
    assert world.counts.counts_breakdown()["scheduler"] == {"remote-echo-breaker-tripped": 2}


def test_a_server_that_stops_says_so(world: World) -> None:
    ann = ready(world)
    ann.send(put(1, "a", 1))
    world.hub.shut_down()
    (problem,) = ann.take()
    assert (problem.code, problem.retry_after_ms is not None) == ("shutting-down", True)
    assert world.hub.spaces["board"].seq == 1, "what was received is decided, and its replay will say so"
    late = world.hub.connect()
    assert late.closing is not None


def test_idle_spaces_are_closed(world: World) -> None:
    ann = ready(world)
    ann.ask(put(1, "a", 1))
    world.hub.disconnect(ann.connection)
    world.hub.step()
    world.clock.advance(31_000)
    world.hub.tick()
    world.clock.advance(61_000)
    world.hub.tick()
    assert world.hub.spaces == {}
    assert ready(world).world.hub.spaces["board"].seq == 1


def test_a_replica_that_is_ahead_of_its_server_says_so(world: World) -> None:
    client, link = world.client("ann")
    transaction = client.replica.begin()
    transaction.write(Document("a"), (), 1)
    transaction.commit()
    world.settle()
    link.cut()
    world.hub.spaces.clear()
    world.engines.clear()
    client._resume = None
    link.connect()
    world.settle()
    assert client.phase is Phase.ENDED
    assert client.problem is not None
    assert client.problem.code == "space-went-back"


def test_a_lost_session_gives_its_commits_back_as_unknown(world: World) -> None:
    client, link = world.client("ann")
    told: list[str] = []
    client.replica.subscribe(lambda n: told.append(n.kind.value))
    transaction = client.replica.begin()
    transaction.write(Document("a"), (), 1)
    handle = transaction.commit()
    link.cut()
    world.hub.spaces.clear()
    world.engines.clear()
    for _ in range(3):
        link.connect()
        world.settle()
    assert client.phase is Phase.LIVE
    assert handle.result is not None
    assert handle.result.settled == "lost"
    assert told == ["commit", "revert", "reset"]


def test_a_gap_in_the_windows_makes_the_client_reconnect() -> None:
    world = World()
    client, link = world.client("ann")
    client.receive(encode(Window(3, 5)))
    assert client.wants_to_disconnect
    link.down()
    assert not link.connected
    link.connect()
    world.settle()
    assert isinstance(client, Client)
    assert client.phase is Phase.LIVE
