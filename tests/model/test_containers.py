"""Queues, bags and subsets: under plain Python, against a list, a sorted list and a set."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiesce_model import (
    Bag,
    Fault,
    Machine,
    Misuse,
    Queue,
    Record,
    Subset,
    action,
    bag,
    constant,
    each,
    flag,
    left,
    optional,
    part,
    queue,
    subset,
    upto,
)
from quiesce_model.language.machine import copy, load, plain, state


class Letter(Record):
    weight: int = upto(3)
    fresh: bool = flag()


class Post(Machine):
    line: Queue[Letter] = queue(3, Letter)
    numbers: Queue[int] = queue(2, upto(9))
    air: Bag[Letter] = bag(3, Letter)
    seen: Subset = subset(4)
    other: Subset = subset(4)
    bags: list[Bag[int]] = each(2, bag(2, upto(9)))

    @action()
    def half(self) -> None:
        """Changes everything, then does not happen."""
        self.line.push(Letter(weight=1))
        self.air.add(Letter(weight=1))
        self.air.remove(0)
        self.seen.add(2)
        self.seen |= self.other
        self.require(False)


@given(st.lists(st.one_of(st.integers(0, 3), st.none(), st.sampled_from(["0", "1", "2"])), max_size=12))
def test_a_queue_is_a_list(moves: list[Any]) -> None:
    post, held = Post(), list[int]()
    for move in moves:
        fails = len(held) == 3 if isinstance(move, int) else int(move or 0) >= len(held)
        with pytest.raises(Fault) if fails else nullcontext():
            if isinstance(move, int):
                post.line.push(Letter(weight=move))
            elif move is None:
                post.line.drop()
            else:
                post.line.remove(int(move))
        if not fails and isinstance(move, int):
            held.append(move)
        elif not fails:
            held.pop(int(move or 0))
        assert [letter.weight for letter in post.line] == held
        assert (len(post.line), post.line.full) == (len(held), len(held) == 3)
        assert plain(post)["line"] == [{"weight": weight, "fresh": False} for weight in held]
        if held:
            assert post.line.first.weight == held[0]
        assert all(post.line.item[n].weight == 0 for n in range(len(held), 3))


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=3), st.randoms(use_true_random=False))
def test_a_bag_has_no_order(letters: list[tuple[int, bool]], random: Any) -> None:
    one, other = Post(), Post()
    for weight, fresh in letters:
        one.air.add(Letter(weight=weight, fresh=fresh))
    shuffled = list(letters)
    random.shuffle(shuffled)
    for weight, fresh in shuffled:
        other.air.add(Letter(weight=weight, fresh=fresh))
    assert state(one) == state(other)
    assert [(letter.weight, letter.fresh) for letter in one.air] == sorted(letters)


@given(st.sets(st.integers(0, 3)), st.sets(st.integers(0, 3)))
def test_a_subset_is_a_set(a: set[int], b: set[int]) -> None:
    post = Post()
    for n in a:
        post.seen.add(n)
    for n in b:
        post.other.add(n)
    assert list(post.seen) == sorted(a)
    assert (post.seen <= post.other, post.seen >= post.other, post.seen == post.other) == (a <= b, a >= b, a == b)
    assert [n in post.seen for n in range(4)] == [n in a for n in range(4)]
    for change, expected in (("__ior__", a | b), ("__iand__", a & b), ("__isub__", a - b)):
        again = copy(post)
        getattr(again.seen, change)(again.other)
        assert (set(again.seen), len(again.seen)) == (expected, len(expected))
    post.seen.clear()
    assert len(post.seen) == 0


def test_what_a_step_changed_is_taken_back() -> None:
    post = Post()
    post.other.add(3)
    before = state(post)
    with pytest.raises(Exception, match="blocked"):
        post.half()
    assert state(post) == before


def test_a_state_can_be_loaded() -> None:
    post, other = Post(), Post()
    post.bags[1].add(7)
    post.bags[1].add(3)
    post.numbers.push(9)
    load(other, state(post))
    assert list(other.bags[1]) == [3, 7]
    assert (plain(other), other.numbers.first) == (plain(post), 9)


@pytest.mark.parametrize("place", [-1, 0, 2])
def test_there_is_nothing_to_take_from_an_empty_queue(place: int) -> None:
    post = Post()
    with pytest.raises(Fault):
        post.line.remove(place)
    with pytest.raises(Fault):
        assert post.line[place]
    with pytest.raises(Fault, match="no such item"):
        assert post.line.first


class Crate(Record):
    """Has fields whose starts only a scope knows."""

    label: int = upto(3)
    slots: list[int] = each("wide", upto(2))
    inside: Queue[int] = queue("wide", upto(2))
    some: Subset = subset("wide")
    full: int = upto(lambda c: c.wide, start=lambda c: c.wide)


class Yard(Machine):
    wide: int = constant(2)
    crate: Crate = part(Crate)

    @action()
    def replace(self) -> None:
        self.crate = Crate(label=2)

    @action()
    def fill(self) -> None:
        self.crate.slots[1] = 2
        self.crate.inside.push(1)
        self.crate.some.add(1)
        self.crate.full = 0
        self.crate.label = 1


def test_what_is_not_given_when_a_record_is_built_is_at_its_start() -> None:
    yard = Yard()
    fresh = plain(yard)["crate"]
    yard.fill()
    assert plain(yard)["crate"] == {"label": 1, "slots": [0, 2], "inside": [1], "some": [1], "full": 0}
    yard.replace()
    assert plain(yard)["crate"] == {**fresh, "label": 2} | {"full": 2}


def test_what_a_container_cannot_be() -> None:
    class Sized(Machine):
        none: Queue[int] = queue(0, upto(1))

    class Timed(Machine):
        resting: Bag[Any] = bag(2, left(3))

    with pytest.raises(Misuse, match="size of 1 or more"):
        Sized()
    with pytest.raises(Misuse, match="order that time must not change"):
        Timed()
    with pytest.raises(Misuse, match="not optional"):
        queue(2, optional(upto(3)))
