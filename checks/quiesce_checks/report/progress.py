"""One line that says what is going on: engine, properties, depth, states, rate, queue, memory, time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .figures import count, rate, seconds, size
from .page import wide


@dataclass(frozen=True)
class Beat:
    """What an engine said last. Times are in seconds, memory in bytes; None is what the engine does not
    say. ``unit`` is what ``distinct`` counts.
    """

    engine: str
    machine: str
    properties: Sequence[str] = ()
    depth: int | None = None
    distinct: int | None = None
    queue: int | None = None
    bytes: int | None = None
    seconds: float = 0.0
    unit: str = "states"


def progress_line(beat: Beat, width: int, done: str = "") -> str:
    """The line, no wider than ``width``: what does not fit is left out from the least telling end."""
    facts: list[str] = []
    if beat.depth is not None:
        facts.append(f"depth {count(beat.depth)}")
    if beat.distinct is not None:
        facts += [f"{count(beat.distinct)} {beat.unit}", rate(beat.distinct, beat.seconds)]
    if beat.queue is not None:
        facts.append(f"queue {count(beat.queue)}")
    if beat.bytes:
        facts.append(size(beat.bytes))
    head = " ".join(part for part in (done, beat.engine, beat.machine) if part)
    time = seconds(beat.seconds)
    asked = about(beat.properties)
    for kept in range(len(facts), -1, -1):
        for named in (asked, "") if asked else ("",):
            line = " · ".join(part for part in (head, named, *facts[:kept], time) if part)
            if wide(line) <= width:
                return line
    return head[:width]


def about(properties: Sequence[str]) -> str:
    if len(properties) > 1:
        return f"{properties[0]} and {len(properties) - 1} more"
    return properties[0] if properties else ""
