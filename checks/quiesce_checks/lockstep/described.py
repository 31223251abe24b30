"""What an adapter says of itself: read strictly, since everything that is compared rests on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from .adapter_values import Misspelled, shown


@dataclass(frozen=True)
class Described:
    """The answer to ``describe``, names as the adapter says them.

    ``actions`` and their parameters; ``fields`` that it shows; ``hidden``, what it does not show of the model, each
    with the reason; ``refuses``, the rules whose guards the implementation decides itself; ``name``, what people call
    it.
    """

    actions: Mapping[str, tuple[str, ...]]
    fields: tuple[str, ...]
    hidden: Mapping[str, str]
    refuses: tuple[str, ...]
    name: str


def described(result: Mapping[str, Any], protocol: int) -> Described:
    """Raises Misspelled. Keys that are not known are left alone, so that later versions can add some."""
    if result.get("protocol") != protocol:
        raise Misspelled(f'"protocol" has to be {protocol}, not {shown(result.get("protocol"))}')
    actions: Any = result.get("actions")
    if not isinstance(actions, dict) or not actions:
        raise Misspelled(f'"actions" has to be an object, {{"start": ["n"]}}, not {shown(actions)}')
    of: dict[str, tuple[str, ...]] = {}
    for action, parameters in cast("dict[str, Any]", actions).items():
        of[action] = names(f'"actions"."{action}"', parameters)
    hidden: Any = result.get("hidden", {})
    if not isinstance(hidden, dict):
        raise Misspelled(f'"hidden" has to be an object of fields with the reason each, not {shown(hidden)}')
    reasons = cast("dict[str, Any]", hidden)
    for field, reason in reasons.items():
        if not isinstance(reason, str) or not reason.strip():
            raise Misspelled(f'"hidden"."{field}" has to be the reason, in words, not {shown(reason)}')
    if "refuses" not in result:
        raise Misspelled(
            'it has no "refuses": the rules of the model by which the implementation refuses a step, '
            "or [] if it refuses none"
        )
    name: Any = result.get("name", "")
    if not isinstance(name, str):
        raise Misspelled(f'"name" has to be a text, not {shown(name)}')
    fields = names('"fields"', result.get("fields"))
    if not fields:
        raise Misspelled('"fields" is empty: nothing would be compared')
    return Described(of, fields, reasons, names('"refuses"', result["refuses"]), name)


def names(what: str, data: Any) -> tuple[str, ...]:
    """A list of names, none twice."""
    if not isinstance(data, list) or not all(isinstance(name, str) for name in cast("list[Any]", data)):
        raise Misspelled(f"{what} has to be a list of names, not {shown(data)}")
    found = tuple(cast("list[str]", data))
    twice = [name for n, name in enumerate(found) if name in found[:n]]
    if twice:
        raise Misspelled(f"{what} has {twice[0]} twice")
    return found
