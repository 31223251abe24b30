"""Tables of rules in Markdown."""

from __future__ import annotations

from pathlib import Path

from lamps import RULES

from quiesce_checks.rules import read_rules
from quiesce_checks.sites import rule_key


def rules(folder: Path, text: str):
    path = folder / "rules.md"
    path.write_text(text, encoding="utf-8")
    return read_rules([path])


def test_each_row_of_a_table_is_a_rule(tmp_path: Path):
    one, two = rules(tmp_path, RULES)
    assert (one.id, one.sentence, one.source, one.properties) == ("LMP-1", "a lamp rests", "§1", ("rests",))
    assert one.need == "rests fails"
    assert two.need.startswith("redundant")
    assert RULES.splitlines()[one.line - 1].startswith("| LMP-1")


def test_columns_are_known_by_their_headings(tmp_path: Path):
    text = "| id | properties | without it | the rule |\n|---|:-:|---|---|\n| ABC-1 | `p`, `q` | p fails | it is so |\n"
    (rule,) = rules(tmp_path, text)
    assert (rule.sentence, rule.properties, rule.need) == ("it is so", ("p", "q"), "p fails")


def test_a_bar_in_code_or_behind_a_backslash_parts_nothing(tmp_path: Path):
    text = "| id | rule |\n| --- | --- |\n| A-1 | no |\n| AB-1 | `a | b` and \\| too |\n"
    (rule,) = rules(tmp_path, text)
    assert (rule.id, rule.sentence) == ("AB-1", "a | b and | too")


def test_other_tables_and_prose_are_no_rules(tmp_path: Path):
    assert rules(tmp_path, "BRK-1 is a rule\n\n| seed | note |\n| --- | --- |\n| §1 | BRK-2 |\n") == ()


def test_rules_come_in_the_order_of_their_numbers(tmp_path: Path):
    text = "| id | rule |\n| --- | --- |\n| BRK-10 | ten |\n| BRK-9 | nine |\n| ADO-2 | two |\n"
    assert [rule.id for rule in rules(tmp_path, text)] == ["ADO-2", "BRK-9", "BRK-10"]


def test_numbers_of_rules_are_compared_as_numbers():
    assert sorted(["BRK-10", "BRK-2", "BRK-2b"], key=rule_key) == ["BRK-2", "BRK-2b", "BRK-10"]
