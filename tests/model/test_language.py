"""The modelling language under plain Python."""

from __future__ import annotations

from enum import Enum

import pytest

from quiesce_model import (
    Age,
    Blocked,
    Fault,
    Left,
    Machine,
    Misuse,
    Record,
    action,
    age,
    assumption,
    between,
    constant,
    each,
    flag,
    ghost,
    initial,
    left,
    one_of,
    optional,
    part,
    upto,
)
from quiesce_model.language.machine import Step, apply, copy, is_timed, leaves, load, plain, state, steps


class Mood(Enum):
    CALM = "calm"
    CROSS = "cross"


class Letter(Record):
    stamps: int = upto(3)
    urgent: bool = flag()


class Box(Record):
    letter: Letter | None = optional(Letter)
    sealed: bool = flag()


class Post(Machine):
    boxes: int = constant(2)
    limit: int = constant(3)
    strict: bool = constant(True)

    mood: Mood = one_of(Mood)
    box: list[Box] = each("boxes", Box)
    desk: Letter = part(Letter)
    floor: int = between(1, lambda c: c.limit)
    waited: Age = age()
    rest: Left = left(lambda c: c.limit)
    sent: int = ghost(upto(9))

    @assumption
    def there_is_a_box(self) -> bool:
        """Letters have to go somewhere."""
        return self.boxes >= 1

    @initial
    def seal_the_last(self) -> None:
        self.box[self.boxes - 1].sealed = True

    @action(b="boxes", urgent=bool)
    def post(self, b: int, urgent: bool) -> None:
        box = self.box[b]
        box.letter = Letter(stamps=1, urgent=urgent)
        self.require(not box.sealed, "POST-1")
        self.sent += 1

    @action()
    def climb(self) -> None:
        self.floor += 1

    @action()
    def wait(self) -> None:
        self.waited.start()
        self.rest.set(self.limit)

    @action(mood=Mood)
    def feel(self, mood: Mood) -> None:
        self.mood = mood


def test_a_machine_starts_as_declared_and_then_as_its_initial_method_says() -> None:
    post = Post()
    assert post.floor == 1
    assert post.mood is Mood.CALM
    assert [box.sealed for box in post.box] == [False, True]
    assert post.box[0].letter is None


def test_a_failed_guard_leaves_the_state_as_it_was() -> None:
    post = Post()
    before = state(post)
    with pytest.raises(Blocked) as blocked:
        post.post(b=1, urgent=True)
    assert blocked.value.rule == "POST-1"
    assert state(post) == before


def test_a_rule_that_is_switched_off_does_not_guard() -> None:
    post = Post(without={"POST-1"})
    post.post(b=1, urgent=True)
    assert post.box[1].letter is not None
    assert not post.rule("POST-1")


def test_a_record_is_a_value_and_a_local_is_an_alias_of_its_place() -> None:
    post = Post()
    post.post(b=0, urgent=False)
    post.desk = post.box[0].letter
    place = post.box[0].letter
    assert place is not None
    place.stamps = 3
    assert post.box[0].letter == Letter(stamps=3, urgent=False)
    assert post.desk.stamps == 1


def test_what_leaves_its_domain_is_a_fault_that_names_the_field_and_changes_nothing() -> None:
    post = Post(limit=1)
    before = state(post)
    with pytest.raises(Fault, match=r"floor: 2 is outside 1\.\.1"):
        post.climb()
    assert state(post) == before


def test_absence_is_one_state() -> None:
    post = Post()
    empty = state(post)
    post.post(b=0, urgent=True)
    post.box[0].letter = None
    post.sent = 0
    assert state(post) == empty


def test_time_moves_every_age_that_runs_and_every_rest() -> None:
    post = Post()
    post.elapse(5)
    assert not post.waited.running
    assert post.waited < 0
    post.wait()
    post.elapse(2)
    assert (post.waited, post.rest.remaining, post.rest.over) == (2, 1, False)
    post.elapse(7)
    assert (post.waited, post.rest.over) == (9, True)
    assert is_timed(post)


def test_every_step_is_named_by_its_action_and_arguments() -> None:
    names = [str(step) for step in steps(Post())]
    assert names == [
        "post(b=0, urgent=False)",
        "post(b=0, urgent=True)",
        "post(b=1, urgent=False)",
        "post(b=1, urgent=True)",
        "climb",
        "wait",
        "feel(mood=CALM)",
        "feel(mood=CROSS)",
    ]


def test_a_state_can_be_kept_and_loaded_again() -> None:
    post = Post()
    apply(post, Step("post", (("b", 0), ("urgent", True))))
    kept, twin = state(post), copy(post)
    post.climb()
    assert state(twin) == kept
    load(post, kept)
    assert plain(post) == plain(twin)
    assert len(leaves(post)) == len(kept)


@pytest.mark.parametrize(
    ("constants", "says"),
    [
        ({"box": 2}, "Post has no constant 'box'; its constants are: boxes, limit, strict"),
        ({"strict": 1}, r"Post.strict is a flag \(true or false\), not 1"),
        ({"limit": True}, "Post.limit is a whole number, not True"),
        ({"boxes": 0}, "Post assumes there_is_a_box, which these constants break"),
    ],
)
def test_constants_that_make_no_machine_are_refused(constants: dict[str, int], says: str) -> None:
    with pytest.raises(Misuse, match=says):
        Post(**constants)


def test_a_constant_cannot_be_set() -> None:
    with pytest.raises(Misuse, match="limit is a constant"):
        Post().limit = 4


def test_a_record_that_is_given_a_range_of_values_needs_no_start_of_it() -> None:
    class Row(Record):
        cells: list[int] = each(2, upto(3))
        name: int = upto(1)

    class Board(Machine):
        row: Row = part(Row)

        @action()
        def fill(self) -> None:
            self.row = Row(cells=self.row.cells, name=1)

    board = Board()
    board.fill()
    assert board.row.name == 1
    assert list(board.row.cells) == [0, 0]
