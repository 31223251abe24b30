"""What is true at rest, whatever happened before; and that it would be seen if it were not."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scheduler_world import Sessions
from stories import INPUTS, MOVES, Move, Shape, Story, random_story, tell

from quiesce.scheduler.node import NO_READS, Status
from quiesce.scheduler.scheduler import Scheduler
from quiesce.scheduler.view import SchedulerView, view


@st.composite
def stories(draw: st.DrawFn) -> Story:
    shapes: list[Shape] = []
    for number in range(draw(st.integers(1, 5))):
        below = st.integers(0, INPUTS + number - 1)
        shapes.append(
            draw(
                st.builds(
                    Shape,
                    below,
                    below,
                    below,
                    st.booleans(),
                    st.booleans(),
                    st.sampled_from((0, 20)),
                    st.sampled_from((0, 30)),
                )
            )
        )
    shows = draw(st.lists(st.integers(0, INPUTS + len(shapes) - 1), min_size=1, max_size=3))
    moves = st.builds(Move, st.sampled_from(MOVES), st.integers(0, 7), st.integers(0, 63))
    return Story(tuple(shapes), tuple(shows), tuple(draw(st.lists(moves, max_size=60))))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(stories())
def test_at_rest_every_live_value_is_its_function_of_the_inputs(story: Story) -> None:
    tell(story)


@pytest.mark.slow
@settings(max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(stories())
def test_at_rest_every_live_value_is_its_function_of_the_inputs_at_length(story: Story) -> None:
    tell(story)


def test_many_stories_of_a_fixed_seed_come_to_rest() -> None:
    random = Random(5)
    for _ in range(100):
        tell(random_story(random, 60))


def test_looking_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same stories, looked at before and after every step, run through the same states."""
    seen: list[list[SchedulerView]] = [[], []]
    step = Scheduler.step

    for looks in (0, 3):

        def looking(scheduler: Scheduler, looks: int = looks) -> object:
            for _ in range(looks):
                view(scheduler)
            done = step(scheduler)
            for _ in range(looks):
                view(scheduler)
            seen[bool(looks)].append(view(scheduler))
            return done

        monkeypatch.setattr(Scheduler, "step", looking)
        random = Random(11)
        for _ in range(5):
            tell(random_story(random, 60))
    assert len(seen[0]) > 100
    assert seen[0] == seen[1]


def each(change: Callable[[Scheduler], object]) -> Callable[[Sessions], object]:
    def sabotage(world: Sessions) -> None:
        for peer in world.peers:
            peer.scheduler.checked = False
            change(peer.scheduler)

    return sabotage


def skip_by_name(scheduler: Scheduler) -> None:
    """Own commits are recognised by the action's name."""
    scheduler.invalidation.skips = lambda node, notification: (  # type: ignore[method-assign]
        notification.source is not None and getattr(notification.source.source_action, "label", None) == node.label
    )


def lose_reads_on_retry(scheduler: Scheduler) -> None:
    retry = scheduler.retry

    def losing(node, causes, *, owed):  # type: ignore[no-untyped-def]
        retry(node, causes, owed=owed)
        scheduler.subscribe(node, NO_READS, node.writes)
        node.status = Status.CLEAN
        scheduler.agenda.refresh(node)

    scheduler.retry = losing  # type: ignore[method-assign]


def never_recompute_the_wake(scheduler: Scheduler) -> None:
    scheduler.lower_wake = lambda at: None  # type: ignore[method-assign]


def end_clean_whatever_changed(scheduler: Scheduler) -> None:
    resubscribe = scheduler.runner._resubscribe

    def forgetting(run, log):  # type: ignore[no-untyped-def]
        run.meanwhile.clear()
        resubscribe(run, log)

    scheduler.runner._resubscribe = forgetting  # type: ignore[method-assign]


def need_everybody(scheduler: Scheduler) -> None:
    for node in list(scheduler.nodes):
        scheduler.demand.add_root(node)


def never_tell_of_idle(scheduler: Scheduler) -> None:
    scheduler.check_idle = lambda: None  # type: ignore[method-assign]


def keep_the_first_reads(scheduler: Scheduler) -> None:
    subscribe = scheduler.subscribe

    def keeping(node, reads, writes):  # type: ignore[no-untyped-def]
        subscribe(node, reads if node.runs <= 1 else node.reads, writes)

    scheduler.subscribe = keeping  # type: ignore[method-assign]


@pytest.mark.parametrize(
    "mistake",
    [
        skip_by_name,
        lose_reads_on_retry,
        never_recompute_the_wake,
        end_clean_whatever_changed,
        need_everybody,
        never_tell_of_idle,
        keep_the_first_reads,
    ],
    ids=lambda mistake: mistake.__name__,
)
def test_a_scheduler_with_a_mistake_is_found_out(mistake: Callable[[Scheduler], object]) -> None:
    random = Random(7)
    for _ in range(200):
        try:
            tell(random_story(random, 60), each(mistake))
        except (AssertionError, RuntimeError):
            return
    pytest.fail(f"two hundred stories do not tell {mistake.__name__} from a scheduler that is right")
