"""The life of a pair, told step by step."""

from __future__ import annotations

import pytest

from quiesce_model import Machine, action, part
from quiesce_model.pair import BreakerSettings, Pair


class Life(BreakerSettings):
    """A pair and nothing else."""

    pair: Pair = part(Pair)

    @action()
    def echo(self) -> None:
        self.pair.echo(self)

    @action()
    def converge(self) -> None:
        self.pair.converge(self)


def life(**constants: int) -> Life:
    return Life(**{"threshold": 3, "window": 10, "base": 2, "cap": 12, "quiet": 20} | constants)  # type: ignore[arg-type]


def echoes(machine: Life, *after: int) -> Life:
    """Let so much time pass before each of some echo steps."""
    for duration in after:
        if duration:
            machine.elapse(duration)
        machine.echo()
    return machine


def test_the_echo_step_that_makes_the_threshold_trips() -> None:
    machine = echoes(life(), 0, 1)
    assert (machine.pair.echoes, machine.pair.tripped) == (2, False)
    echoes(machine, 1)
    assert machine.pair.tripped
    assert (machine.pair.backoff, machine.pair.deadline.remaining) == (2, 2)


@pytest.mark.parametrize(("last", "tripped", "count"), [(10, True, 0), (11, False, 1)])
def test_the_last_instant_of_the_window_still_counts(last: int, tripped: bool, count: int) -> None:
    machine = echoes(life(), 0, 5, last - 5)
    assert (machine.pair.tripped, machine.pair.echoes) == (tripped, count)


def test_every_further_echo_step_backs_off_twice_as_long_up_to_the_cap() -> None:
    machine = echoes(life(), 0, 0, 0)
    found = [machine.pair.backoff]
    for _ in range(4):
        echoes(machine, found[-1])
        found.append(machine.pair.backoff)
    assert found == [2, 4, 8, 12, 12]


def test_a_window_does_not_reset_a_tripped_pair() -> None:
    machine = echoes(life(), 0, 0, 0, 11)
    assert (machine.pair.tripped, machine.pair.backoff) == (True, 4)


@pytest.mark.parametrize("tripping", [(0, 0), (0, 0, 0)])
def test_a_convergence_step_clears_the_pair_and_lifts_its_backoff(tripping: tuple[int, ...]) -> None:
    machine = echoes(life(), *tripping)
    machine.converge()
    assert machine.pair == life().pair


@pytest.mark.parametrize(("wait", "afresh"), [(20, False), (21, True)])
def test_an_echo_step_after_the_quiet_stretch_starts_afresh(wait: int, afresh: bool) -> None:
    machine = echoes(life(), 0, 0, 0)
    machine.elapse(wait)
    assert machine.pair.is_quiet(machine) is afresh
    machine.echo()
    assert (machine.pair.tripped, machine.pair.echoes) == ((False, 1) if afresh else (True, 0))


def settling(*tripping: int) -> Life:
    machine = echoes(Life(threshold=3, window=10, base=2, cap=12, quiet=20, clear_when_settled=True), *tripping)
    machine.converge()
    return machine


def test_a_settling_pair_is_open_and_continues_with_the_next_echo_step() -> None:
    machine = settling(0, 0, 0, 0)
    assert machine.pair.deadline.over
    echoes(machine, 12)
    assert (machine.pair.tripped, machine.pair.backoff, machine.pair.deadline.remaining) == (True, 8, 8)


def test_a_settling_pair_keeps_its_count_in_its_window() -> None:
    machine = settling(0, 0)
    echoes(machine, 10)
    assert machine.pair.tripped


def test_a_settled_pair_is_forgotten() -> None:
    machine = settling(0, 0, 0, 0)
    machine.elapse(13)
    assert machine.pair.is_settled(machine)
    machine.echo()
    assert (machine.pair.tripped, machine.pair.echoes) == (False, 1)


def test_the_pair_needs_nothing_but_the_settings() -> None:
    assert issubclass(BreakerSettings, Machine)
