"""The pytest plugin: each entry of a suite is a test, ``specs/echo_loop.toml::one-a-side``.

A file is a suite if it lies in a folder called ``specs``, or was named on pytest's command line, and has
``[[check]]`` entries. The plugin is loaded by every run of pytest where quiesce is installed, so it imports
nothing of ours before there is a suite to read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .judge import Result
    from .suite import Check

SUITE = re.compile(r"^\s*\[\[\s*check\s*\]\]", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("quiesce", "suites of quiesce")
    group.addoption(
        "--quiesce-tier",
        choices=("default", "full"),
        default="default",
        help="which entries of suites are collected: default, or full (all of them)",
    )
    group.addoption(
        "--quiesce-update-witness",
        action="store_true",
        help="write the traces of expected violations anew",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".toml" and is_suite(file_path, parent.session):
        made: Any = SuiteFile
        return made.from_parent(parent, path=file_path)
    return None


def is_suite(path: Path, session: pytest.Session) -> bool:
    if path.parent.name != "specs" and not session.isinitpath(path):
        return False
    return SUITE.search(path.read_text(encoding="utf-8", errors="replace")) is not None


class SuiteFile(pytest.File):
    """A suite; one that cannot be read is an error of collection, in the words that ``quiesce check`` has
    for it.
    """

    def collect(self) -> Iterator[pytest.Item]:
        from .problems import Problem
        from .report.page import Page
        from .report.problem import problem_lines
        from .suite import load_suite

        try:
            suite = load_suite(self.path, (self.config.rootpath, self.config.invocation_params.dir))
        except Problem as problem:
            raise self.CollectError("\n".join(problem_lines(problem, Page()))) from None
        made: Any = CheckItem
        tier: Any = self.config.getoption("--quiesce-tier")
        for check in suite.of_tier(tier):
            yield made.from_parent(self, name=check.name, check=check)


class Unexpected(Exception):
    """An entry that did not come out as expected; its text is the whole report."""


class CheckItem(pytest.Item):
    """One entry. It passes if every verdict is the expected one."""

    def __init__(self, *, check: Check, **given: Any) -> None:
        made: Any = super()
        made.__init__(**given)
        self.check = check

    def runtest(self) -> None:
        from .job import run
        from .judge import Judgement, run_check

        update = self.config.getoption("--quiesce-update-witness")
        result = run_check(self.check, run, update_witness=bool(update))
        if result.problem is not None or any(item.judgement is not Judgement.AS_EXPECTED for item in result.judged):
            raise Unexpected("\n".join(self.told(result)))

    def told(self, result: Result) -> list[str]:
        from .commands.divergences import save_divergences, tell_divergences
        from .commands.traces import Look, save_traces, tell_traces
        from .report.check import entry_group
        from .report.page import Page
        from .report.problem import problem_lines
        from .report.verdicts import group_lines

        page = Page(width=96)
        if result.problem is not None:
            return problem_lines(result.problem, page)
        verdicts = [item.verdict for item in result.judged if item.judgement.value == "surprise"]
        folder = self.config.rootpath / "traces"
        saved = save_traces(verdicts, folder) | save_divergences(self.check, verdicts, folder)
        lines = group_lines(entry_group(result), page)
        lines += tell_traces(verdicts, saved, page, Look())
        return lines + tell_divergences(self.check, verdicts, saved, page)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Unexpected):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        line = self.check.line
        return self.path, line - 1 if line is not None else None, self.name
