"""Lists derived element by element: a child action for each element, named by its key and how many came before.

Three kinds of action make one derived list. The *keeper* reads the list and keeps a document with the order of the
elements and each element under its name; it lets a child come with a name and go with it. A *child* reads one element
and derives its result in a document of its own. The *collector* puts the results together.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quiesce.cells import Derived, narrowest
from quiesce.frozen import frozen
from quiesce.scheduler.node import Kind, Node
from quiesce.scheduler.run import NotYet, Run
from quiesce.values import ABSENT, Json, is_array, is_object, value_hash

if TYPE_CHECKING:
    from quiesce.cells import Readable
    from quiesce.runtime import Session


def element_names(elements: Sequence[Any], key: Callable[[Any], str] | None) -> list[str]:
    """A name for each element: its key, and for the second and later of one key how many came before."""
    seen: Counter[str] = Counter()
    names: list[str] = []
    for element in elements:
        of = str(key(element)) if key is not None else default_key(element)
        names.append(f"{of}#{seen[of]}" if seen[of] else of)
        seen[of] += 1
    return names


def default_key(element: Json) -> str:
    """An object's ``id`` if it has one; else the element itself if it is a short string, or its hash."""
    if is_object(element) and isinstance(element.get("id"), str | int):
        return str(element["id"])
    if isinstance(element, str) and len(element) <= 40:
        return f"={element}"
    return value_hash(element)[:16]


@dataclass(eq=False)
class ListActions:
    """One derived list. ``combine`` makes of an element and its result what goes into the list."""

    session: Session
    id: str
    source: Readable
    function: Callable[[Any], Any]
    key: Callable[[Any], str] | None
    combine: Callable[[Any, Any], list[Any]]
    children: dict[str, Node] = field(default_factory=dict[str, Node])

    def __post_init__(self) -> None:
        self.elements = Derived(self.session, f"{self.id}/elements")

    def result(self, name: str) -> Derived:
        """What a child derives. The name may be anything, so its digest stands for it."""
        return Derived(self.session, f"{self.id}/element/{hashlib.sha256(name.encode()).hexdigest()[:24]}")

    def keep(self, run: Run) -> None:
        """The keeper's body."""
        found = self.source.get()
        values = list(found) if is_array(found) else []
        names = element_names(values, self.key)
        scope = narrowest(run, self.elements.id)
        before = self.elements.peek(run, ("order",))
        present = set(names)
        for gone in [str(name) for name in before if name not in present] if is_array(before) else []:
            self.result(gone).forget(run)
        self.elements.place(run, {"order": names, "values": dict(zip(names, values, strict=True))}, scope)
        for gone in [name for name in self.children if name not in present]:
            self.session.scheduler.unregister(self.children.pop(gone))
        for name in names:
            if name not in self.children or not self.children[name].registered:
                self.children[name] = self._child(run, name)

    def _child(self, run: Run, name: str) -> Node:
        result = self.result(name)

        def derive(inner: Run) -> object:
            element = self.elements.peek(inner, ("values", name))
            if element is ABSENT:
                return None  # it has just gone, and this action is about to
            return self.session.call(
                inner,
                lambda: self.function(frozen(element)),
                lambda made: result.place(inner, made, narrowest(inner, result.id)),
            )

        node = Node(
            f"{self.id}/{name}",
            Kind.COMPUTATION,
            derive,
            declared_writes=tuple(map(self.session.address, result.documents)),
        )
        node.kept = True
        self.session.scheduler.register(node, run.node)
        return node

    def collect(self) -> list[Any]:
        """The collector's body."""
        run = self.session.current
        assert run is not None, "called as a derivation"
        order = self.elements.peek(run, ("order",))
        if not is_array(order):
            raise NotYet(f"{self.id} has not been derived yet")
        found: list[tuple[Any, Any]] = []
        for name in order:
            element = self.elements.peek(run, ("values", str(name)))
            found.append((element, self.result(str(name)).peek(run)))
        if any(element is ABSENT or made is ABSENT for element, made in found):
            raise NotYet(f"{self.id} waits for its elements")
        return [item for element, made in found for item in self.combine(element, made)]
