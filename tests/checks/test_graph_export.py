"""Graphs for other tools: every state and step, projected, near a trace, and cut with a word about it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import networkx
import pytest
from explored_machines import Counter, Lamps, Trap
from lamps import project

from quiesce_checks.cli import run
from quiesce_checks.engines.explore import Exploration, explore
from quiesce_checks.engines.graph import Graph
from quiesce_checks.formats import graph as drawing
from quiesce_checks.formats.graph import Picture, dot, graphml, picture
from quiesce_checks.relation.build import relation
from quiesce_checks.relation.relation import Relation
from quiesce_model import Machine


def explored(machine: Machine) -> tuple[Relation, Graph, Exploration]:
    read = relation(machine)
    found = explore(read, keep_graph=True)
    assert found.graph is not None
    return read, found.graph, found


def test_without_a_projection_every_state_is_a_node_and_every_transition_is_in_an_arrow() -> None:
    read, graph, _ = explored(Counter())
    shown = picture(read, graph)
    assert [node.label for node in shown.nodes] == [(("n", str(graph.leaves(i)[0])),) for i in range(13)]
    assert sum(arrow.transitions for arrow in shown.arrows) == graph.edges
    assert shown.arrows[0].actions == ("up",)
    assert shown.cut == ""


def test_a_projection_joins_the_states_that_agree() -> None:
    read, graph, _ = explored(Lamps())
    shown = picture(read, graph, by=["lamp[0].level"])
    assert [node.label for node in shown.nodes] == [(("lamp[0].level", str(n)),) for n in range(6)]
    assert sum(node.states for node in shown.nodes) == graph.size
    assert sum(arrow.transitions for arrow in shown.arrows) == graph.edges
    pairs = {(graph.leaves(e.source), graph.leaves(e.target)) for s in range(graph.size) for e in graph.leaving(s)}
    place = [variable.name for variable in read.variables].index("lamp[0].level")
    assert {(a.source, a.target) for a in shown.arrows} == {(a[place], b[place]) for a, b in pairs}


def test_a_field_stands_for_all_below_it() -> None:
    read, graph, _ = explored(Lamps())
    names = [name for name, _ in picture(read, graph, by=["lamp[1]"], size=9999).nodes[0].label]
    assert names == [variable.name for variable in read.variables if variable.name.startswith("lamp[1].")]
    assert len(picture(read, graph, by=["lamp"], size=9999).nodes) == graph.size
    with pytest.raises(ValueError, match="Lamps has no field 'lam'; it has: lamp"):
        picture(read, graph, by=["lam"])


def test_more_nodes_than_the_limit_are_cut_and_that_is_said() -> None:
    read, graph, _ = explored(Counter())
    shown = picture(read, graph, size=5)
    assert len(shown.nodes) == 5
    assert [node.first for node in shown.nodes] == [0, 1, 2, 3, 4]
    kept = sum(arrow.transitions for arrow in shown.arrows)
    leaving = sum(1 for state in range(5) for _ in graph.leaving(state))
    expected = f"8 of 13 states and {leaving - kept} transitions to them are left out: the limit on nodes was reached"
    assert shown.cut == expected
    assert expected in dot(shown)
    assert networkx.parse_graphml(graphml(shown)).graph["cut"] == expected


def test_near_a_trace_only_its_neighbourhood_is_left() -> None:
    read, graph, found = explored(Trap())
    trace = found.traces["no_deadlock"]
    shown = picture(read, graph, around=trace, near=0)
    assert [node.first for node in shown.nodes if node.marked] == sorted(drawing.on_trace(graph, trace))
    assert all(node.marked for node in shown.nodes)
    assert "only what is near the trace is kept" in shown.cut
    nearer, farther = (len(picture(read, graph, around=trace, near=n).nodes) for n in (1, 50))
    assert len(shown.nodes) < nearer <= farther == graph.size


def test_a_trace_of_another_scope_is_refused() -> None:
    read, graph, _ = explored(Counter(limit=3))
    trace = explore(Counter(), ["below_nine"]).traces["below_nine"]
    with pytest.raises(ValueError, match="the trace leaves the graph at step"):
        picture(read, graph, around=trace)


def test_dot_is_this_text() -> None:
    read, graph, found = explored(Counter(limit=4))
    shown = picture(read, graph, around=found.traces["below_four"], near=0)
    assert dot(shown) == DOT


DOT = """\
digraph "Counter" {
  node [shape=box, style=rounded];
  // 2 of 5 states and 1 transition to them are left out: only what is near the trace is kept
  0 [label="n = 0", peripheries=2, penwidth=3];
  1 [label="n = 1", penwidth=3];
  2 [label="n = 4", penwidth=3];
  0 -> 1 [label="up"];
  1 -> 2 [label="jump"];
}
"""


def test_text_is_escaped_and_many_actions_are_shortened() -> None:
    assert drawing.quoted('a "b" \\ c\nd') == '"a \\"b\\" \\\\ c\\nd"'
    assert drawing.shortened("abcde") == "a\nb\nc\nand 2 more"


def test_graphml_and_networkx_hold_the_same_graph() -> None:
    read, graph, _ = explored(Lamps())
    shown: Picture = picture(read, graph, by=["lamp[0].level", "lamp[1].level"])
    made = drawing.networkx(shown)
    again = networkx.read_graphml(io.BytesIO(graphml(shown).encode()), node_type=int)
    assert (dict(made.nodes), dict(made.edges)) == (dict(again.nodes), dict(again.edges))
    assert made.number_of_edges() == len(shown.arrows)


@pytest.fixture
def lamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project(tmp_path))


@pytest.mark.usefixtures("lamp")
def test_the_command_writes_and_says_what_it_cut(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["graph", "lamp.py:Lamp", "--by", "switched,on", "--out", "lamp.dot"]) == 0
    assert capsys.readouterr() == ("", "")
    assert Path("lamp.dot").read_text().startswith('digraph "Lamp" {')
    assert run(["graph", "lamp.py:Lamp", "--size", "3", "--format", "graphml"]) == 0
    written = capsys.readouterr()
    assert "the limit on nodes was reached" in written.err
    assert networkx.parse_graphml(written.out).number_of_nodes() == 3
    assert run(["graph", "lamp.py:Lamp", "--limit-states", "9"]) == 0
    assert "not all states were explored" in capsys.readouterr().err


@pytest.mark.usefixtures("lamp")
def test_the_command_draws_what_is_around_a_saved_trace(capsys: pytest.CaptureFixture[str]) -> None:
    run(["explore", "lamp.py:Lamp", "--json"])
    saved = json.loads(capsys.readouterr().out)["verdicts"][0]["trace"]
    assert run(["graph", "lamp.py:Lamp", "--around", saved["file"], "--near", "0"]) == 0
    assert capsys.readouterr().out.count("penwidth=3") == saved["length"] + 1


@pytest.mark.usefixtures("lamp")
@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--by nosuch", "Lamp has no field 'nosuch'"),
        ("--around nosuch", "invalid value for '--around'"),
        ("--out nosuch/lamp.dot", "nosuch/lamp.dot cannot be written"),
    ],
)
def test_a_mistake_is_one_sentence(words: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["graph", "lamp.py:Lamp", *words.split()]) == 2
    assert capsys.readouterr().err.startswith(text)
