"""What holds on every run of the breaker and of the classifier, whatever is done to them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from breaker_by_definition import BreakerByDefinition
from echo_stand_ins import Log, Node, Reads, Write, doc
from hypothesis import given, settings
from hypothesis import strategies as st

from quiesce.address import Address, Entity
from quiesce.scheduler.breaker import RemoteEchoBreaker
from quiesce.scheduler.breaker_policy import BreakerPolicy
from quiesce.scheduler.breaker_records import Cleared, Move
from quiesce.scheduler.echo import Cause, Origin, Step, StepKind, capture_run, form_steps
from quiesce.values import ABSENT, Maybe, at, equal

DOCUMENTS = [doc(name) for name in "abcd"]
ACTIONS = 3


@dataclass(frozen=True)
class Run:
    action: int
    steps: tuple[tuple[int, StepKind, int], ...]
    """Document, kind, and how long before the result the commit was started."""


@dataclass(frozen=True)
class Retire:
    action: int


@dataclass(frozen=True)
class Housekeep:
    pass


@dataclass(frozen=True)
class At:
    elapsed: int
    does: Run | Retire | Housekeep


def small_policy(**repairs: bool) -> BreakerPolicy:
    return BreakerPolicy(
        echo_window_ms=10,
        echo_trip_threshold=3,
        echo_backoff_base_ms=2,
        echo_backoff_max_ms=7,
        echo_quiet_reset_ms=15,
        max_echo_pairs=4,
        **repairs,
    )


POLICIES = {
    "as specified": small_policy(),
    "threshold one": BreakerPolicy(
        echo_window_ms=10,
        echo_trip_threshold=1,
        echo_backoff_base_ms=2,
        echo_backoff_max_ms=7,
        echo_quiet_reset_ms=15,
        max_echo_pairs=2,
    ),
    "evict_untripped_first": small_policy(evict_untripped_first=True),
    "kickoff_order": small_policy(kickoff_order=True),
    "clear_when_settled": small_policy(clear_when_settled=True),
    "all": small_policy(evict_untripped_first=True, kickoff_order=True, clear_when_settled=True),
}

runs = st.builds(
    Run,
    st.integers(0, ACTIONS - 1),
    st.lists(
        st.tuples(
            st.integers(0, len(DOCUMENTS) - 1),
            st.sampled_from([StepKind.ECHO, StepKind.ECHO, StepKind.ECHO, StepKind.CONVERGENCE]),
            st.integers(0, 3),
        ),
        max_size=3,
        unique_by=lambda step: step[0],
    ).map(tuple),
)
moments = st.builds(
    At,
    st.one_of(st.integers(0, 2), st.sampled_from([7, 8, 10, 11, 15, 16])),
    st.one_of(runs, runs, runs, runs, runs, st.builds(Retire, st.integers(0, ACTIONS - 1)), st.just(Housekeep())),
)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@settings(max_examples=250, deadline=None)
@given(history=st.lists(moments, max_size=60))
def test_after_every_step_the_breaker_is_what_its_definitions_say(policy: BreakerPolicy, history: list[At]) -> None:
    log = Log()
    breaker, expected = RemoteEchoBreaker(log, policy), BreakerByDefinition(policy)
    nodes = [Node() for _ in range(ACTIONS)]
    now = 0
    for moment in history:
        now += moment.elapsed
        match moment.does:
            case Run(action, made):
                steps = [Step(DOCUMENTS[number], kind, now - age) for number, kind, age in made]
                before = breaker.gate(nodes[action], now)
                gate = breaker.observe(nodes[action], steps, now)
                expected.observe(nodes[action], steps, now)
                assert gate.until == breaker.gate(nodes[action], now)
                if gate.move is Move.LATER:
                    assert gate.until is not None
                    assert before is None or gate.until > before
                elif gate.move is Move.EARLIER:
                    assert before is not None
                    assert gate.until is not None
                    assert gate.until < before
                elif gate.move is Move.LIFTED:
                    assert gate.until is None
                else:
                    assert gate.until == before
            case Retire(action):
                breaker.retire(nodes[action], now)
                expected.retire(nodes[action], now)
                assert breaker.gate(nodes[action], now) is None
            case Housekeep():
                breaker.housekeep(now)
                expected.elapse(now)
        for node in nodes:
            assert breaker.gate(node, now) == max(expected.ahead(now, node), default=None)
            assert breaker.tracks(node) == any(pair.action is node for pair in expected.pairs)
        stats = breaker.stats(now)
        assert stats.active == len(expected.ahead(now))
        assert (stats.trips, stats.cycles_observed) == (expected.trips, expected.cycles)
        assert len(log.lines) == expected.trips
        assert [
            (pair.document, pair.echoes, pair.tripped, pair.step_ms, pair.deadline) for pair in breaker.pairs()
        ] == [
            (pair.document, pair.count, pair.tripped_at is not None, pair.step, pair.deadline)
            for pair in expected.pairs
        ]
        assert len(breaker.pairs()) <= policy.max_echo_pairs
        ends = [
            (event.document, event.reason, event.renewals, event.held_ms)
            for event in breaker.take_events()
            if isinstance(event, Cleared)
        ]
        assert ends == expected.ends
        expected.ends.clear()


@settings(max_examples=200, deadline=None)
@given(history=st.lists(moments, max_size=60))
def test_housekeeping_in_time_or_late_ends_in_the_same_pairs(history: list[At]) -> None:
    policy = small_policy(clear_when_settled=True)
    prompt, late = RemoteEchoBreaker(Log(), policy), RemoteEchoBreaker(Log(), policy)
    nodes = [Node() for _ in range(ACTIONS)]
    now = 0
    for moment in history:
        while (deadline := prompt.housekeeping_deadline()) is not None and deadline <= now + moment.elapsed:
            held = len(prompt.pairs())
            prompt.housekeep(deadline)
            assert len(prompt.pairs()) < held
        now += moment.elapsed
        if isinstance(moment.does, Run):
            steps = [Step(DOCUMENTS[number], kind, now - age) for number, kind, age in moment.does.steps]
            node = nodes[moment.does.action]
            assert prompt.observe(node, steps, now).until == late.observe(node, steps, now).until
            assert prompt.pairs() == late.pairs()


# --- the classifier ---

paths = st.lists(st.sampled_from(["a", "b", "0"]), max_size=3).map(tuple)
leaves = st.sampled_from([None, True, False, 0, 1, 1.0, "", "x"])
values: st.SearchStrategy[Maybe] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(["a", "b", "0"]), inner, max_size=2)
    ),
    max_leaves=6,
)
documents = st.sampled_from(DOCUMENTS)
addresses = st.builds(Address, documents, paths)
causes = st.builds(Cause, addresses, st.sampled_from(Origin))
writes = st.builds(Write, addresses, st.one_of(values, st.just(ABSENT)), st.one_of(values, st.just(ABSENT)))
reads = st.builds(Reads, st.lists(addresses, max_size=4).map(tuple), st.lists(addresses, max_size=2).map(tuple))


@settings(max_examples=200, deadline=None)
@given(st.lists(causes, max_size=4), st.lists(writes, max_size=4), reads, st.lists(moments, max_size=20))
def test_looking_only_at_overwritten_triggers_of_an_untracked_action_is_invisible(
    made: list[Cause], written: list[Write], read: Reads, history: list[At]
) -> None:
    breakers = [RemoteEchoBreaker(Log(), small_policy()) for _ in range(2)]
    nodes = [Node() for _ in range(ACTIONS)]
    now = 0
    for moment in history:
        now += moment.elapsed
        if isinstance(moment.does, Run):
            for breaker in breakers:
                steps = [Step(DOCUMENTS[number], kind, now) for number, kind, _ in moment.does.steps]
                breaker.observe(nodes[moment.does.action], steps, now)
    quick, full = breakers
    capture = capture_run(made, written, kickoff=now)
    for node in nodes:
        quick_gate = quick.observe(node, quick.steps(node, capture, read), now)
        full_gate = full.observe(node, form_steps(capture, read, tracked=True), now)
        assert quick_gate == full_gate
        assert (quick.pairs(), quick.stats(now)) == (full.pairs(), full.stats(now))
        assert quick.take_events() == full.take_events()


def overwritten_by_definition(cause: Cause, written: list[Write]) -> bool:
    for detail in written:
        trigger, path = cause.address.path, detail.address.path
        if detail.address.entity != cause.address.entity or equal(detail.previous, detail.value):
            continue
        if path[: len(trigger)] == trigger:
            return True
        rest = trigger[len(path) :]
        if trigger[: len(path)] == path and not equal(at(detail.previous, rest), at(detail.value, rest)):
            return True
    return False


@settings(max_examples=200, deadline=None)
@given(st.lists(causes, max_size=5), st.lists(writes, max_size=5), reads)
def test_steps_are_what_the_definition_says_cause_by_cause(
    made: list[Cause], written: list[Write], read: Reads
) -> None:
    steps = form_steps(capture_run(made, written, kickoff=3), read, tracked=True)
    found: dict[Entity, StepKind] = {step.document: step.kind for step in steps}
    assert len(found) == len(steps)
    expected: dict[Entity, StepKind] = {}
    for cause in made:
        document = cause.address.entity
        if all(address.entity != document for address in (*read.deep, *read.shallow)):
            continue
        if overwritten_by_definition(cause, written):
            expected[document] = StepKind.ECHO
        expected.setdefault(document, StepKind.CONVERGENCE)
    assert found == expected
