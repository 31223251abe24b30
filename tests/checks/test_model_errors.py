"""Each kind of mistake that a newcomer makes gets an answer that says what to do. The texts are golden."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from quiesce_checks.relation.build import relation
from quiesce_checks.relation.errors import ModelError
from quiesce_model import Misuse

GOLDEN = Path(__file__).parent.parent / "golden" / "model_errors"

HEAD = """\
from enum import Enum
import random
# What a model needs:
from quiesce_model import *


class Phase(Enum):
    IDLE = 0
    BUSY = 1


class Job(Record):
    size: int = upto(3)


class Worker(Record):
    phase: Phase = one_of(Phase)
    job: Job | None = optional(Job)
    since: Age = age()
    rest: Left = left(3)
    tries: int = upto(2)


class M(Machine):
    workers: int = constant(2)
    limit: int = constant(3)
    worker: list[Worker] = each("workers", Worker)
    total: int = upto(5)
    seen: int = ghost(upto(5))
"""

MISTAKES: dict[str, str] = {
    "item_of_a_bag_changed": """
    air: Bag[Job] = bag(2, Job)

    @action()
    def grow(self) -> None:
        for job in self.air:
            job.size = 3
""",
    "item_after_its_queue_changed": """
    line: Queue[Job] = queue(2, Job)

    @action()
    def serve(self) -> None:
        job = self.line.first
        self.line.drop()
        self.total = job.size
""",
    "in_a_queue": """
    line: Queue[int] = queue(2, upto(3))

    @invariant
    def none_is_three(self) -> bool:
        return 3 not in self.line
""",
    "a_list_s_method_of_a_queue": """
    line: Queue[int] = queue(2, upto(3))

    @action()
    def serve(self) -> None:
        self.line.append(2)
""",
    "index_of_a_subset": """
    some: Subset = subset(3)

    @invariant
    def first_is_none(self) -> bool:
        return self.some[0] == 0
""",
    "queue_as_a_condition": """
    line: Queue[int] = queue(2, upto(3))

    @action()
    def serve(self) -> None:
        self.require(self.line, "R-1")
""",
    "while_loop": """
    @action()
    def work(self) -> None:
        while self.total > 0:
            self.total -= 1
""",
    "break_out_of_a_loop": """
    @action()
    def work(self) -> None:
        for w in self.worker:
            if w.tries == 2:
                break
""",
    "list_of_values": """
    @action()
    def work(self) -> None:
        found = [w.tries for w in self.worker]
""",
    "field_not_declared": """
    @action()
    def work(self) -> None:
        self.count = 1
""",
    "constant_assigned": """
    @action()
    def work(self) -> None:
        self.limit = 4
""",
    "alias_depends_on_a_condition": """
    @action()
    def work(self) -> None:
        if self.total == 0:
            me = self.worker[0]
        else:
            me = self.worker[1]
        me.tries = 1
""",
    "range_depends_on_the_state": """
    @action()
    def work(self) -> None:
        for n in range(self.total):
            self.worker[n].tries = 1
""",
    "chance_inside_an_action": """
    @action()
    def work(self) -> None:
        self.total = random.randint(0, 5)
""",
    "parameter_without_a_range": """
    @action()
    def work(self, w: int) -> None:
        self.worker[w].tries = 1
""",
    "rule_id_computed": """
    @action(w="workers")
    def work(self, w: int) -> None:
        self.require(self.worker[w].tries == 0, f"WRK-{w}")
""",
    "guard_reads_a_ghost": """
    @action()
    def work(self) -> None:
        self.require(self.seen < 3)
        self.total = 1
""",
    "ghost_decides_a_field": """
    @action()
    def work(self) -> None:
        if self.seen > 2:
            self.total = 1
""",
    "recursion": """
    def down(self, n: int) -> int:
        return 0 if n == 0 else self.down(n - 1)

    @action()
    def work(self) -> None:
        self.total = self.down(3)
""",
    "property_changes_the_state": """
    @invariant()
    def small(self) -> bool:
        self.total = 0
        return True
""",
    "property_answers_nothing": """
    @invariant()
    def small(self) -> bool:
        self.total < 3
""",
    "arithmetic_on_an_age": """
    @action()
    def work(self) -> None:
        self.total = self.worker[0].since + 1
""",
    "two_ages_compared": """
    @invariant()
    def older(self) -> bool:
        return self.worker[0].since < self.worker[1].since
""",
    "true_division": """
    @action()
    def work(self) -> None:
        self.total = self.total / 2
""",
    "fraction": """
    @action()
    def work(self) -> None:
        self.total = self.total * 0.5
""",
    "try_except": """
    @action()
    def work(self) -> None:
        try:
            self.total += 1
        except ValueError:
            pass
""",
    "name_bound_on_one_branch": """
    @action()
    def work(self) -> None:
        if self.total > 2:
            extra = 1
        self.total = extra
""",
    "enum_compared_with_text": """
    @invariant()
    def idle(self) -> bool:
        return self.worker[0].phase == "IDLE"
""",
    "enum_member_misspelt": """
    @invariant()
    def idle(self) -> bool:
        return self.worker[0].phase == Phase.IDEL
""",
    "optional_as_a_condition": """
    @invariant()
    def busy(self) -> bool:
        return bool(self.worker[0].job)
""",
    "age_as_a_condition": """
    @invariant()
    def old(self) -> bool:
        return not self.worker[0].since
""",
    "print_in_an_action": """
    @action()
    def work(self) -> None:
        print(self.total)
""",
    "method_not_called": """
    def busy(self) -> bool:
        return self.total > 0

    @invariant()
    def quiet(self) -> bool:
        return not self.busy
""",
    "value_that_is_dropped": """
    @action()
    def work(self) -> None:
        self.total == 3
""",
    "alias_outlives_an_assignment": """
    @action()
    def work(self) -> None:
        job = self.worker[0].job
        self.worker[0].job = Job(size=1)
        self.total = job.size
""",
    "step_property_of_no_action": """
    @action()
    def work(self) -> None:
        self.total = 1

    @step_property(on="wrok")
    def grows(self, before) -> bool:
        return self.total >= before.total
""",
    "min_of_what_may_be_nothing": """
    @invariant()
    def least(self) -> bool:
        return min(w.tries for w in self.worker if w.phase == Phase.BUSY) < 3
""",
    "wrong_kind_assigned": """
    @action()
    def work(self) -> None:
        self.worker[0].phase = 1
""",
    "bit_operators_for_conditions": """
    @invariant()
    def both(self) -> bool:
        return (self.total > 1) & (self.total < 4)
""",
    "state_before_changed": """
    @action()
    def work(self) -> None:
        self.total = 1

    @step_property(on="work")
    def grows(self, before) -> bool:
        before.total = 0
        return True
""",
}


def load(name: str, body: str, folder: Path) -> Any:
    file = folder / "model.py"
    file.write_text(HEAD + body)
    spec = importlib.util.spec_from_file_location(f"mistake_{name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module.M


def answer(name: str, body: str, folder: Path) -> str:
    try:
        relation(load(name, body, folder)())
    except ModelError as error:
        return error.text()
    except Misuse as error:
        return str(error)
    return "no answer: the model was read"


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_its_golden_answer(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    found = answer(name, MISTAKES[name], tmp_path) + "\n"
    golden = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden", default=False):
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(found)
    assert found == golden.read_text()


@pytest.mark.parametrize("name", MISTAKES)
def test_an_answer_says_where_and_what_to_write(name: str) -> None:
    text = (GOLDEN / f"{name}.txt").read_text()
    assert text.startswith("model.py:")
    assert "\nwrite   " in text
    assert "Traceback" not in text


def test_the_head_alone_is_a_model(tmp_path: Path) -> None:
    """So that each answer is owed to its mistake."""
    assert relation(load("none", "", tmp_path)()).variables


@pytest.mark.parametrize(
    ("constants", "words"),
    [
        ({"limits": 4}, "no constant 'limits'"),
        ({"limit": True}, "limit is a whole number"),
        ({"workers": -1}, "size"),
    ],
)
def test_a_scope_that_makes_no_sense_is_refused_in_one_sentence(
    constants: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(Misuse, match=words):
        relation(load("scope", "", tmp_path)(**constants))
