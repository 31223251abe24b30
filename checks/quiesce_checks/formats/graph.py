"""Explored graphs for other tools: as networkx has them, as DOT and as GraphML, projected and cut to a size."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ..engines.graph import Graph
from ..relation.relation import Relation
from ..report.figures import plural
from ..trace import Trace

SIZE = 500
"""Nodes that a picture has at most, if nothing else is said."""

Label = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Node:
    """States that agree on the projected fields. ``label`` are those fields with their values, ``states`` how many
    there are, ``first`` the number of the nearest; ``marked`` if a trace leads through one of them."""

    label: Label
    states: int
    first: int
    marked: bool = False


@dataclass(frozen=True)
class Arrow:
    """Steps from one node to another, by position: the actions' names, and how many transitions there are."""

    source: int
    target: int
    actions: tuple[str, ...]
    transitions: int


@dataclass(frozen=True)
class Picture:
    """Node 0 has the initial state. ``cut`` says in words what was left out; it is empty if nothing was."""

    name: str
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    cut: str = ""


def picture(
    relation: Relation,
    graph: Graph,
    *,
    by: Sequence[str] = (),
    around: Trace | None = None,
    near: int = 1,
    size: int = SIZE,
) -> Picture:
    """The graph with one node for all states that agree on the fields ``by`` (all fields, if none are given).

    A field is named as in traces, with all that is below it: ``session`` is every session's every field. ``around``
    keeps only states that are at most ``near`` steps from a trace, forwards. Of more than ``size`` nodes those nearest
    to the beginning are kept. Raises ValueError for a field that is not there, or a trace that leaves the graph.
    """
    shown = projected(relation, by)
    kept = range(graph.size) if around is None else neighbourhood(graph, around, near)
    marked = set(on_trace(graph, around)) if around is not None else set[int]()
    numbers: dict[tuple[int, ...], int] = {}
    node_of: dict[int, int] = {}
    members: list[list[int]] = []
    left_out = 0
    for state in sorted(kept):
        leaves = graph.leaves(state)
        key = tuple(leaves[n] for n in shown)
        if key not in numbers and len(numbers) >= size:
            left_out += 1
            continue
        number = numbers.setdefault(key, len(numbers))
        node_of[state] = number
        if number == len(members):
            members.append([])
        members[number].append(state)
    arrows, severed = arrows_of(graph, node_of)
    nodes = tuple(
        Node(label(relation, key, shown), len(states), states[0], not marked.isdisjoint(states))
        for key, states in zip(numbers, members, strict=True)
    )
    return Picture(relation.name, nodes, arrows, said(graph, len(node_of), left_out, severed, around))


def projected(relation: Relation, by: Sequence[str]) -> list[int]:
    """Positions of the variables that are shown."""
    names = [variable.name for variable in relation.variables]
    found: list[int] = []
    for field in by:
        here = [
            n
            for n, name in enumerate(names)
            if name == field or name.startswith((f"{field}.", f"{field}[", f"{field}?"))
        ]
        if not here:
            raise ValueError(f"{relation.name} has no field {field!r}; it has: {', '.join(names)}")
        found += [n for n in here if n not in found]
    return found if by else list(range(len(names)))


def on_trace(graph: Graph, trace: Trace) -> list[int]:
    """The states of a trace by number. Raises ValueError if it leaves the graph."""
    at, found = 0, [0]
    for position, wanted in enumerate(trace.states):
        if position == 0:
            continue
        at = next((edge.target for edge in graph.leaving(at) if graph.leaves(edge.target) == wanted), -1)
        if at < 0:
            raise ValueError(
                f"the trace leaves the graph at step {position}: it is of another scope, or of a longer search"
            )
        found.append(at)
    return found


def neighbourhood(graph: Graph, trace: Trace, near: int) -> set[int]:
    """States at most ``near`` steps from one of the trace's."""
    start = on_trace(graph, trace)
    distance = dict.fromkeys(start, 0)
    queue = deque(start)
    while queue:
        state = queue.popleft()
        if distance[state] < near:
            for edge in graph.leaving(state):
                if edge.target not in distance:
                    distance[edge.target] = distance[state] + 1
                    queue.append(edge.target)
    return set(distance)


def arrows_of(graph: Graph, node_of: dict[int, int]) -> tuple[tuple[Arrow, ...], int]:
    """Arrows between nodes, and how many transitions lead to states without one."""
    found: dict[tuple[int, int], dict[str, int]] = {}
    severed = 0
    for state, source in node_of.items():
        for edge in graph.leaving(state):
            target = node_of.get(edge.target)
            if target is None:
                severed += 1
                continue
            actions = found.setdefault((source, target), {})
            name = str(graph.steps[edge.action])
            actions[name] = actions.get(name, 0) + 1
    made = [Arrow(*pair, tuple(actions), sum(actions.values())) for pair, actions in sorted(found.items())]
    return tuple(made), severed


def label(relation: Relation, key: tuple[int, ...], shown: Sequence[int]) -> Label:
    return tuple(
        (relation.variables[n].name, value_of(relation, n, value)) for n, value in zip(shown, key, strict=True)
    )


def value_of(relation: Relation, position: int, value: int) -> str:
    return ("no", "yes")[value] if relation.variables[position].leaf.kind == "flag" else str(value)


def said(graph: Graph, states: int, left_out: int, severed: int, around: Trace | None) -> str:
    """What a picture does not show."""
    if states == graph.size:
        return ""
    why = (
        "only what is near the trace is kept"
        if around is not None and not left_out
        else "the limit on nodes was reached"
    )
    lost = f"{graph.size - states:,} of {graph.size:,} states and {plural(severed, 'transition')} to them"
    return f"{lost} are left out: {why}"


def networkx(found: Picture) -> Any:
    """A ``networkx.DiGraph``: nodes by number with ``label``, ``states``, ``first`` and ``marked``, edges with
    ``actions`` and ``transitions``; the graph has ``name`` and ``cut``."""
    library: Any = import_module("networkx")
    made = library.DiGraph(name=found.name, cut=found.cut)
    for number, node in enumerate(found.nodes):
        made.add_node(number, label=text(node.label), states=node.states, first=node.first, marked=node.marked)
    for arrow in found.arrows:
        made.add_edge(arrow.source, arrow.target, actions=", ".join(arrow.actions), transitions=arrow.transitions)
    return made


def graphml(found: Picture) -> str:
    library: Any = import_module("networkx")
    return "\n".join(library.generate_graphml(networkx(found))) + "\n"


def dot(found: Picture) -> str:
    """The picture for Graphviz: the initial node has a double line, those of a trace a thick one."""
    lines = [f"digraph {quoted(found.name)} {{", "  node [shape=box, style=rounded];"]
    lines += [f"  // {found.cut}"] * bool(found.cut)
    for number, node in enumerate(found.nodes):
        more = ", peripheries=2" * (number == 0) + ", penwidth=3" * node.marked
        count = f"\n({node.states:,} states)" * (node.states > 1)
        lines.append(f"  {number} [label={quoted(text(node.label) + count)}{more}];")
    for arrow in found.arrows:
        lines.append(f"  {arrow.source} -> {arrow.target} [label={quoted(shortened(arrow.actions))}];")
    return "\n".join([*lines, "}"]) + "\n"


def text(found: Label) -> str:
    return "\n".join(f"{name} = {value}" for name, value in found)


def shortened(actions: Iterable[str]) -> str:
    names = list(actions)
    return "\n".join(names[:3]) + (f"\nand {len(names) - 3} more" if len(names) > 3 else "")


def quoted(words: str) -> str:
    escaped = words.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
