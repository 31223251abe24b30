"""What the runtime writes down of itself is what the models allow; and a log that was tampered with is not."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from quiesce.address import Address
from quiesce.commits import Document
from quiesce.scheduler.agenda import Agenda
from quiesce.scheduler.breaker import RemoteEchoBreaker
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.convergence import ConvergencePolicy
from quiesce.scheduler.gates import Gates
from quiesce.scheduler.node import Kind, Node
from quiesce.scheduler.run import Run
from quiesce.scheduler.tracing import VARIABLE
from quiesce.simulate import Actor, Simulation, Storm, simulate_storm
from quiesce_checks.cli import run as quiesce
from quiesce_checks.logs.find import find_target
from quiesce_checks.logs.lines import Log
from quiesce_checks.logs.validation import Validation, validate
from quiesce_checks.problems import Problem
from quiesce_checks.verdict import Outcome

Event = dict[str, Any]

SHORT = {"echo_window_ms": 4_000, "echo_trip_threshold": 3, "echo_quiet_reset_ms": 9_000}
"""A breaker that trips in a few seconds, so that a log of a minute has everything in it."""

POLICIES: dict[str, dict[str, Any]] = {
    "as specified": {"echo_backoff_max_ms": 3_000, **SHORT},
    "clear_when_settled": {"echo_backoff_max_ms": 3_000, "clear_when_settled": True, **SHORT},
    "kickoff_order": {"echo_backoff_max_ms": 3_000, "kickoff_order": True, **SHORT},
    "remote_causes_only": {"echo_backoff_max_ms": 3_000, "remote_causes_only": True, **SHORT},
}


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where schedulers that are made in the test write."""
    path = tmp_path / "trace.ndjson"
    monkeypatch.setenv(VARIABLE, str(path))
    return path


def judged(log: Path | list[Event], mapping: str, scope: dict[str, int | bool] | None = None) -> Validation:
    text = log.read_bytes() if isinstance(log, Path) else "".join(json.dumps(e) + "\n" for e in log).encode()
    return validate(Log("log", io.BytesIO(text)), find_target(mapping, None, scope or {}))


def events_of(log: Path) -> list[Event]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def storm(policy: dict[str, Any], sides: tuple[int, int] = (1, 1), minutes: float = 0.5, seed: int = 1) -> Simulation:
    return simulate_storm(Storm(sides, seed=seed), BreakerPolicy(**policy), minutes * 60_000)


def desk(actor: Actor, **gates: float) -> Node:
    """An effect that reads one document and writes another, with gates."""
    source, target = Document("source"), Document("target")

    def body(run: Run) -> None:
        run.write(target, (), run.read(source))

    node = Node("desk", Kind.EFFECT, body)
    for name, value in gates.items():
        setattr(node.gates, name, value)
    actor.scheduler.register(node)
    return node


def put(actor: Actor, value: object, document: str = "source") -> None:
    transaction = actor.client.replica.begin()
    transaction.write(Document(document), (), value)
    transaction.commit()


def gated(seed: int, changes: int = 40) -> None:
    """An effect with a debounce and a throttle, changed from outside and inside at odd moments; and one that never
    converges, which is retired and comes again."""
    random = Random(seed)
    simulation = Simulation(lambda: random.choice((1.0, 2.0, 5.0)), BreakerPolicy())
    mine, other = simulation.actor("mine"), simulation.actor("other")
    desk(mine, debounce_ms=random.choice((0, 7, 40)), throttle_ms=random.choice((0, 11, 60)))
    turns = {"left": 0}

    def restless(run: Run) -> None:
        run.read(Document("odd"))
        if turns["left"]:
            turns["left"] -= 1
            flip = mine.client.replica.begin()
            flip.write(Document("odd"), (), turns["left"])
            flip.commit()

    node = Node("restless", Kind.EFFECT, restless)
    mine.scheduler.register(node)
    for number in range(changes):
        match random.randrange(6):
            case 0:
                turns["left"] = random.choice((3, 12, 25))
                put(other, number, "odd")
            case 1 if node.registered:
                mine.scheduler.unregister(node)
            case 1:
                mine.scheduler.register(node)
            case 2:
                mine.scheduler.when_idle(lambda: None)
            case _:
                put(random.choice((mine, other)), number)
        simulation.run(random.choice((1, 3, 10, 50, 300)))


def handled(seed: int) -> None:
    """Handlers of two sessions that meet conflicts over one document, an effect that shows it, and a computation that
    nobody reads but a handler."""
    random = Random(seed)
    simulation = Simulation(lambda: random.choice((2.0, 9.0)), BreakerPolicy())
    count, doubled = Document("count"), Document("doubled")
    for name in ("mine", "other"):
        scheduler = simulation.actor(name).scheduler

        def add(run: Run) -> None:
            found = run.read(count)
            run.write(count, (), (found if isinstance(found, int) else 0) + 1)

        def double(run: Run) -> None:
            found = run.read(count)
            run.write(doubled, (), 2 * found if isinstance(found, int) else 0)

        def look(run: Run) -> None:
            run.write(Document("seen"), (), run.read(doubled))

        replica = scheduler.replica
        written = (Address(replica.entity(doubled), ()),)
        handlers = [Node("add", Kind.HANDLER, add), Node("look", Kind.HANDLER, look, declared_reads=written)]
        shown = Node("show", Kind.EFFECT, lambda run: run.read(count))
        shown.gates.throttle_ms = 15
        for node in (*handlers, shown, Node("double", Kind.COMPUTATION, double, declared_writes=written)):
            scheduler.register(node)
        for _ in range(12):
            scheduler.send(random.choice(handlers), None)
            simulation.run(random.choice((1, 4, 30)))
    simulation.run(2_000)


# What the runtime does is what the models allow.


@pytest.mark.parametrize("repair", POLICIES)
@pytest.mark.parametrize("sides", [(1, 1), (2, 2)])
def test_storms_are_behaviours_of_the_breaker_pair_by_pair(repair: str, sides: tuple[int, int], written: Path):
    storm(POLICIES[repair], sides)
    found = judged(written, "pair")
    assert found.outcome is Outcome.HOLDS, found.judged
    assert len(found.judged) == sum(sides)
    assert found.coverage.actions["commit"] > 20
    assert {"BRK-12", "BRK-13", "BRK-15", "BRK-16", "BRK-17", "BRK-18"} <= set(found.coverage.rules)


def test_storms_are_behaviours_of_each_node(written: Path):
    storm(POLICIES["as specified"], (2, 1))
    found = judged(written, "node")
    assert found.outcome is Outcome.HOLDS, found.judged
    assert len(found.judged) == 3
    assert {"run", "finish", "succeed", "begin_pass", "end_pass"} <= set(found.coverage.actions)


@pytest.mark.parametrize("seed", range(2))
def test_what_the_event_lane_asks_for_is_a_behaviour_of_each_node(seed: int, written: Path):
    handled(seed)
    for mapping in ("node", "pair"):
        found = judged(written, mapping)
        assert found.outcome is Outcome.HOLDS, found.judged
    assert {"handler", "computation", "effect"} == {e["kind"] for e in events_of(written) if "kind" in e}
    assert any(event["event"] == "run-started" and event["label"] == "double" for event in events_of(written))


def test_gates_in_use_are_behaviours_of_each_node_and_show_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rules, actions = set[str](), set[str]()
    for seed in range(4):
        path = tmp_path / f"{seed}.ndjson"
        monkeypatch.setenv(VARIABLE, str(path))
        gated(seed)
        found = judged(path, "node")
        assert found.outcome is Outcome.HOLDS, found.judged
        rules |= set(found.coverage.rules)
        actions |= set(found.coverage.actions)
    assert {"retire", "register", "resolve_idle", "change", "run", "end_pass"} <= actions
    assert {"GAT-1", "GAT-3", "GAT-5", "GAT-6", "GAT-7", "GAT-8", "GAT-10", "GAT-22", "GAT-36"} <= rules


# What the models do not allow is seen.


def refused(log: Path, mapping: str) -> str:
    """The first place or rule by which a log is refused."""
    found = judged(log, mapping)
    assert found.outcome is Outcome.VIOLATED
    failure = next(one.failure for one in found.judged if one.failure is not None)
    tried = failure.refusal.tried[0]
    return (tried.guard.rule or "a guard") if tried.guard else ", ".join(d.place for d in tried.differs)


def test_a_debounce_that_is_a_millisecond_long_is_refused(written: Path, monkeypatch: pytest.MonkeyPatch):
    def arm(self: Gates, now: float) -> None:
        self.debounce_ready_at = now + self.debounce_ms + 1

    monkeypatch.setattr(Gates, "arm_debounce", arm)
    simulation = Simulation(lambda: 1.0, BreakerPolicy())
    actor = simulation.actor("mine")
    desk(actor, debounce_ms=40)
    simulation.run(10)
    put(actor, 1)
    simulation.run(100)
    assert refused(written, "node") == "node.gates.debounce"


def test_a_backoff_that_does_not_double_is_refused(written: Path, monkeypatch: pytest.MonkeyPatch):
    def back_off(self: Gates, now: float, policy: ConvergencePolicy) -> None:
        self.backoff_step_ms = policy.backoff_base_ms
        self.backoff_streak += 1
        self.hold_passes += 1
        self.backoff_until = now + self.backoff_step_ms

    monkeypatch.setattr(Gates, "back_off", back_off)
    gated(0)
    gated(1)
    assert "node.gates.step" in refused(written, "node")


def test_a_breaker_that_forgets_its_gate_is_refused(written: Path, monkeypatch: pytest.MonkeyPatch):
    closed = Gates.closed

    def open_to_echoes(self: Gates, now: float) -> bool:
        kept, self.echo_backoff_until = self.echo_backoff_until, 0.0
        try:
            return closed(self, now)
        finally:
            self.echo_backoff_until = kept

    monkeypatch.setattr(Gates, "closed", open_to_echoes)
    storm(POLICIES["as specified"])
    assert refused(written, "pair") == "BRK-18"


def test_a_breaker_that_renews_for_as_long_as_before_is_refused(written: Path, monkeypatch: pytest.MonkeyPatch):
    back_off: Callable[..., None] = RemoteEchoBreaker._back_off  # pyright: ignore[reportPrivateUsage]

    def no_longer(self: Any, pair: Any, step_ms: int, now: float) -> None:
        back_off(self, pair, self.policy.echo_backoff_base_ms, now)

    monkeypatch.setattr(RemoteEchoBreaker, "_back_off", no_longer)
    storm(POLICIES["as specified"])
    assert "pair.backoff" in refused(written, "pair")


def test_a_scheduler_that_forgets_whom_to_wake_is_refused(written: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Agenda, "next_deadline", lambda self, now: None)
    simulation = Simulation(lambda: 1.0, BreakerPolicy())
    actor = simulation.actor("mine")
    desk(actor, throttle_ms=40)
    put(actor, 1)
    simulation.run(10)
    put(actor, 2)
    put(actor, 3, "else")
    actor.scheduler.queue_tick()
    simulation.run(100)
    assert refused(written, "node") == "waits"


def test_commits_that_outlive_their_registration_count_for_nothing(written: Path):
    simulation = Simulation(lambda: 40.0, BreakerPolicy(**POLICIES["as specified"]))
    actors = [simulation.actor(name) for name in ("a", "b")]
    nodes: list[Node] = []
    for number, actor in enumerate(actors):

        def body(run: Run, number: int = number) -> None:
            run.read(Document("shared"))
            run.write(Document("shared"), (), number)

        nodes.append(Node(f"n{number}", Kind.EFFECT, body))
        actor.scheduler.register(nodes[-1])
    for _ in range(12):
        simulation.run(190)
        if actors[0].scheduler.runner.unsettled:
            actors[0].scheduler.unregister(nodes[0])
            actors[0].scheduler.register(nodes[0])
    for mapping in ("pair", "node"):
        found = judged(written, mapping)
        assert found.outcome is Outcome.HOLDS, found.judged
    assert any(event.get("fate") == "outlived" for event in events_of(written))
    assert "BRK-25" in judged(written, "pair").coverage.rules


MUTATIONS = ("dropped", "doubled", "delayed by 1 ms", "another value")


def mutated(events: list[Event], kind: str, random: Random) -> list[Event]:
    """The log with one line of one session tampered with."""
    told = ("run-started", "committed", "kicked-off", "changed", "run-ended")
    place = random.choice([n for n, event in enumerate(events) if event["event"] in told])
    head, line, tail = events[:place], json.loads(json.dumps(events[place])), events[place + 1 :]
    match kind:
        case "dropped":
            return head + tail
        case "doubled":
            return [*head, line, line, *tail]
        case "delayed by 1 ms":
            late = line["at"] + 1
            line["at"] = late
            return [*head, line, *({**event, "at": max(event["at"], late)} for event in tail)]
        case _:
            gate = random.choice(["debounce", "throttle", "backoff", "echo"])
            line["gates"][gate] = line["at"] + random.choice((3, 50, 1_000))
            return [*head, line, *tail]


def test_of_logs_that_were_tampered_with_most_are_refused(written: Path, capsys: pytest.CaptureFixture[str]):
    """Those that pass are told by kind: what may pass says nothing that the model could contradict."""
    storm(POLICIES["as specified"], minutes=0.08)
    gated(3, changes=12)
    events = events_of(written)
    random = Random(7)
    shares: dict[str, Counter[str]] = {kind: Counter() for kind in MUTATIONS}
    for kind, count in shares.items():
        for _ in range(10):
            log = mutated(events, kind, random)
            outcomes = {mapping: outcome_of(log, mapping) for mapping in ("pair", "node")}
            count["refused" if any(said != "holds" for said in outcomes.values()) else "passed"] += 1
    with capsys.disabled():
        told = ", ".join(f"{kind} {count['refused']} of {count.total()}" for kind, count in shares.items())
        sys.stdout.write(f"\n  tampered logs refused: {told}\n")
    assert all(count["refused"] > count["passed"] for count in shares.values()), shares


def outcome_of(log: list[Event], mapping: str) -> str:
    try:
        return judged(log, mapping).outcome.value
    except Problem:
        return "no log"


# What is no log of the runtime, and what one machine cannot say.


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"at": 0, "event": "sold"}, "no 'session' as the runtime writes it"),
        ({"at": 0, "event": "opened", "session": "a", "format": 9}, "this log is of format 9; known is 1"),
        ({"at": 0, "event": "pass-began", "session": "a"}, "the first lines of session a are missing"),
        ({"event": "opened", "session": "a", "format": 1}, "no 'breaker' as the runtime writes it"),
    ],
)
@pytest.mark.parametrize("mapping", ["pair", "node"])
def test_a_log_of_something_else(
    line: Event, said: str, mapping: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "log.ndjson").write_text(json.dumps(line) + "\n")
    assert quiesce(["validate", str(tmp_path / "log.ndjson"), "--mapping", mapping]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("mapping", ["pair", "node"])
def test_whatever_is_done_to_a_line_the_answer_is_a_verdict_or_one_sentence(mapping: str, written: Path):
    storm(POLICIES["as specified"], minutes=0.02)
    events = events_of(written)
    random = Random(mapping)
    strange: tuple[Any, ...] = (None, -1, 10**400, 0.5, "x", [], {}, [{}], True)
    said: Counter[str] = Counter()
    for _ in range(60):
        broken = json.loads(json.dumps(events))
        line = random.choice(broken if random.random() < 0.8 else broken[:1])
        inside = [value for value in line.values() if isinstance(value, dict)] or [line]
        inner = random.choice(inside) if random.random() < 0.5 else line
        name = random.choice(list(inner))
        if random.random() < 0.3:
            del inner[name]
        else:
            inner[name] = random.choice(strange)
        said[outcome_of(broken, mapping)] += 1
    assert set(said) <= {"holds", "violated", "inconclusive", "no log"}
    assert said["no log"] > 5


def test_more_commits_on_their_way_than_the_machine_holds_is_inconclusive(written: Path):
    storm(POLICIES["as specified"], minutes=0.1)
    assert judged(written, "pair", {"in_flight": 1}).outcome in (Outcome.HOLDS, Outcome.INCONCLUSIVE)
    events = events_of(written)
    starts = [event for event in events if event["event"] == "run-started" and event["causes"]]
    first = events.index(starts[0])
    again = [{**starts[0], "run": 1_000 + n} for n in range(12)]
    found = judged([*events[: first + 1], *again], "pair")
    assert found.outcome is Outcome.INCONCLUSIVE
    assert "more than 12 commits of the action are on their way; --scope in_flight=24" in found.judged[0].why


def test_a_pair_that_had_to_make_room_is_judged_until_then(written: Path):
    simulation = Simulation(lambda: 5.0, BreakerPolicy(max_echo_pairs=1, echo_backoff_max_ms=3_000, **SHORT))
    actors = [simulation.actor("a"), simulation.actor("b")]
    for number, actor in enumerate(actors):

        def body(run: Run, number: int = number) -> None:
            for name in ("one", "two"):
                run.read(Document(name))
                run.write(Document(name), (), number)  # two pairs, and room for one

        actor.scheduler.register(Node(f"n{number}", Kind.EFFECT, body))
    simulation.run(3_000)
    found = judged(written, "pair")
    assert found.outcome is Outcome.HOLDS
    assert any("had to make room" in one.note for one in found.judged)


def test_ours_know_their_machines(written: Path, capsys: pytest.CaptureFixture[str]):
    storm(POLICIES["as specified"], minutes=0.05)
    assert quiesce(["validate", str(written), "--mapping", "pair", "--machine", "breaker"]) == 2
    assert "knows its machine: leave --machine out" in " ".join(capsys.readouterr().err.split())
    assert quiesce(["validate", str(written), "--mapping", "node", "--scope", "base=3"]) == 2
    assert "takes its constants from the log" in " ".join(capsys.readouterr().err.split())


# The tests of the runtime themselves.

BY_HAND = (
    "a_hold_shares_its_field_with_the_convergence_backoff",
    "a_gate_that_is_lifted_or_lowered_is_noticed_at_once",
    "a_reader_that_comes_later_finds_the_wake_of_a_gated_node",
    "a_scheduler_with_a_mistake_is_found_out",
    "an_event_behind_a_gate_is_dispatched_at_the_gates_deadline",
    "an_owed_retry_releases_debounce_and_throttle_but_neither_backoff",
    "each_gate_alone_defers_a_run_to_its_deadline_exactly",
    "idle_resolves_when_the_part_that_holds_it_is_over",
    "it_holds_idle_as_an_effect_does",
    "what_did_not_converge_waits_for_its_backoff_when_it_is_registered_anew",
)
"""Tests that set a deadline behind the scheduler's back, or plant a mistake in it: their nodes may be refused."""


@pytest.mark.slow
def test_the_logs_of_the_runtimes_own_tests(tmp_path: Path):
    root = Path(__file__).parents[2]
    folder = tmp_path / "logs"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "trace_each", "tests/impl/scheduler", "-m", "not slow"],
        cwd=root,
        env={**os.environ, "TRACE_FOLDER": str(folder), "PYTHONPATH": str(Path(__file__).parent)},
        check=False,
        capture_output=True,
        text=True,
    )
    logs = sorted(folder.iterdir())
    assert len(logs) > 100, done.stdout[-2_000:]
    pairs = nodes = 0
    refused: set[str] = set()
    for log in logs:
        pair, node = judged(log, "pair"), judged(log, "node")
        pairs, nodes = pairs + len(pair.judged), nodes + len(node.judged)
        assert pair.outcome is not Outcome.VIOLATED, log.name
        if node.outcome is Outcome.VIOLATED:
            refused.add(log.name)
    assert pairs > 2_000
    assert nodes > 5_000
    by_hand = {name for name in refused if any(known in name for known in BY_HAND)}
    assert refused == by_hand
    assert len(by_hand) > 10, "what no runtime does is seen"
