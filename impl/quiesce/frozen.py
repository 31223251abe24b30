"""What a program gets to see of a value: lists and dicts that refuse to be changed in place.

A value is shared between the store, the replica and every transaction, and a change made in it would be seen by some
and committed by nobody. These are lists and dicts in every other respect: they compare, iterate, index and serialise as
such, and ``list(v)``, ``dict(v)``, ``v + […]``, ``v | {…}`` and ``copy.deepcopy(v)`` give ones that may be changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from quiesce.values import Maybe, is_array, is_object


def _refuse(kind: str, instead: str) -> Callable[..., NoReturn]:
    def refuse(*given: object, **named: object) -> NoReturn:
        raise TypeError(
            f"a {kind} that was read is shared and cannot be changed in place: write a new one, as in {instead}"
        )

    return refuse


def _thaw(value: Any) -> Any:
    if isinstance(value, list):
        return [_thaw(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {key: _thaw(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


class FrozenList(list[Any]):
    """A list that was read."""

    append = extend = insert = remove = pop = clear = sort = reverse = _refuse(  # type: ignore[assignment]
        "list", "cell.set([*value, more])"
    )
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append  # type: ignore[assignment]

    def copy(self) -> list[Any]:
        """A list that may be changed; what is in it may not."""
        return list(self)

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> list[Any]:
        return _thaw(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


class FrozenDict(dict[str, Any]):
    """A dict that was read."""

    update = pop = popitem = clear = setdefault = _refuse(  # type: ignore[assignment]
        "dict", "cell.set({**value, key: more}), or write the one place: cell.at(key).set(more)"
    )
    __setitem__ = __delitem__ = __ior__ = update  # type: ignore[assignment]

    def copy(self) -> dict[str, Any]:
        """A dict that may be changed; what is in it may not."""
        return dict(self)

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        return _thaw(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def frozen(value: Maybe) -> Any:
    """The value as a program gets to see it, at any depth."""
    if is_object(value):
        return FrozenDict((key, frozen(item)) for key, item in value.items())
    if is_array(value):
        return FrozenList(map(frozen, value))
    return value


class Last:
    """Freezes what is read again and again, once for each value: those who hold one value share it."""

    __slots__ = ("_frozen", "_of")

    def __init__(self) -> None:
        self._of: Maybe = None
        self._frozen: Any = None

    def __call__(self, value: Maybe) -> Any:
        """The value as a program gets to see it."""
        if value is not self._of:
            self._of, self._frozen = value, frozen(value)
        return self._frozen
