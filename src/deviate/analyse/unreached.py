"""Values that would be metrics, reported by functions that nothing running calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from deviate.analyse.findings import Rejected
from deviate.analyse.index import Unit
from deviate.analyse.judge import judge
from deviate.analyse.program import Program
from deviate.analyse.reports import Reports
from deviate.analyse.roots import root_of
from deviate.analyse.sinks import Report

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

#: So many calls of functions that do not run are looked at: a large library has tens of thousands.
MAX_CALLS = 2000


def unreached(flow: Flow, program: Program, reports: Reports) -> list[Rejected]:
    """List what functions that do not run would report, in the files that are read."""
    found = [one for report in _reports(program, reports) for one in _rejected(flow, report)]
    return sorted(dict.fromkeys(found), key=lambda one: (one.file, one.line, one.variable))


def _reports(program: Program, reports: Reports) -> Iterator[Report]:
    left = MAX_CALLS
    for unit in _idle(program):
        left -= len(unit.calls)
        if left < 0:
            return
        yield from reports.shown_in(unit)


def _idle(program: Program) -> Iterator[Unit]:
    """Functions that do not run, those of the files of which most runs first."""
    modules = [(module, [unit for unit in module.units if unit in program.reached]) for module in program.modules]
    for module, running in sorted(modules, key=lambda one: -len(one[1])):
        for unit in module.units:
            if unit not in running and unit.shown_name != "<module>":
                yield unit


def _rejected(flow: Flow, report: Report) -> Iterator[Rejected]:
    for shown in report.shown:
        variable = root_of(flow, shown)
        if variable and judge(flow, shown, variable, report.sink, report.hint).reason is None:
            yield Rejected(variable=variable, file=report.scope.module.file, line=report.line, reason="unreached")
