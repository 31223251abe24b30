"""Traces of machines with much state: what moves is shown, and what is in queues, bags and subsets as what it is."""

from __future__ import annotations

from quiesce_checks.formats.itf import dumps, loads, trace_of
from quiesce_checks.report.counterexample import counterexample
from quiesce_checks.report.page import Page
from quiesce_checks.report.shape import changes, differing, shape
from quiesce_checks.report.story import tell
from quiesce_checks.trace import Failure, Trace, replay
from quiesce_model import Bag, Machine, Queue, Record, Subset, action, bag, each, flag, initial, queue, subset, upto
from quiesce_model.language.machine import Step, state


class Letter(Record):
    kind: int = upto(2)
    urgent: bool = flag()


class Office(Machine):
    tray: Queue[Letter] = queue(3, Letter)
    air: Bag[Letter] = bag(2, Letter)
    seen: Subset = subset(3)
    numbers: Queue[int] = queue(3, upto(3))
    desk: list[Letter] = each(3, Letter)
    lamp: list[bool] = each(40, flag())
    mark: list[int] = each(12, upto(11))

    @initial
    def number(self) -> None:
        for n in range(12):
            self.mark[n] = n

    @action(kind=3)
    def arrive(self, kind: int) -> None:
        self.tray.push(Letter(kind=kind))
        self.numbers.push(kind)

    @action()
    def send(self) -> None:
        self.air.add(self.tray.first)
        self.tray.drop()
        self.numbers.drop()

    @action(n=2)
    def land(self, n: int) -> None:
        self.seen.add(self.air[n].kind)
        self.air.remove(n)

    @action(n=40)
    def switch(self, n: int) -> None:
        self.lamp[n] = not self.lamp[n]
        self.desk[n % 3].urgent = True


STEPS = [
    Step("arrive", (("kind", 2),)),
    Step("arrive", (("kind", 1),)),
    Step("send"),
    Step("arrive", (("kind", 0),)),
    Step("send"),
    Step("land", (("n", 1),)),
    Step("switch", (("n", 7),)),
]


def told(full: bool = False) -> str:
    return "\n".join(counterexample(tell(trace()), Page(90), full=full))


def trace() -> Trace:
    run = replay(Office(), STEPS)
    return Trace(run.machine, run.states, run.steps, Failure("no_fault", "it faults"))


def test_contents_are_shown_as_what_came_and_went():
    text = told()
    assert "tray: [] → [(kind 2, urgent no)]" in text
    assert "tray: 1 → 2, with (kind 1, urgent no)" in text
    assert "tray: 2 → 1, less (kind 2, urgent no)" in text
    assert "numbers: [2] → [2, 1]" in text
    assert "air: 2 → 1, less (kind 2, urgent no)" in text
    assert "seen: {} → {2}" in text


def test_a_long_first_state_is_what_moves_later():
    text = told()
    assert "tray = []" in text
    assert "lamp[7] = no" in text
    assert "lamp[8]" not in text
    assert "and 56 places that stay as they are (--full shows all)" in text
    assert "stay as they are" not in told(full=True)
    assert "lamp[0..39] = no" in told(full=True)


def test_what_differs_is_named_end_by_end():
    office = Office()
    before = shape(office.layout_, iter(state(office)))
    office.arrive(kind=2)
    after = shape(office.layout_, iter(state(office)))
    assert differing(before, after) == {"tray", "tray[0].kind", "tray[0].urgent", "numbers", "numbers[0]"}
    assert [change.path for change in changes(before, after)] == ["tray", "numbers"]


def test_traces_with_contents_are_kept_and_read_again():
    kept = dumps(trace(), "office.py:Office")
    assert '"seen": {"#set": [{"#bigint": "2"}]}' in kept
    again = trace_of(loads(kept), Office)
    assert again.states == trace().states
