"""Turn reports into metrics and rejected values."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from deviate.analyse.abstract import METRIC_ORIGINS, SETTING
from deviate.analyse.aggregate import aggregate_of
from deviate.analyse.capture import capture_of
from deviate.analyse.conditions import is_alarm, split_at, switches
from deviate.analyse.findings import Reason, Rejected
from deviate.analyse.found import Finding
from deviate.analyse.frameworks.logged import is_handed_over, is_read_back
from deviate.analyse.index import Place, Unit, enclosing_loops
from deviate.analyse.judge import Verdict, judge
from deviate.analyse.merging import merge
from deviate.analyse.naming import (
    label_for,
    name_of,
    names_also,
    plain_variable,
    unique,
    without_settings,
    words_before,
)
from deviate.analyse.phases import Phases
from deviate.analyse.reports import Reports
from deviate.analyse.roots import root_of
from deviate.analyse.sinks import Report
from deviate.analyse.texts import Shown
from deviate.analyse.words import UNNAMED, is_clock_part, meaning_of, split_of
from deviate.experiment import Capture, Direction, Metric

if TYPE_CHECKING:
    from deviate.analyse.values import Flow


#: Metrics of lower confidence are listed and not selected.
SELECTED_FROM = 0.38
#: What is left of the confidence in a value that code beside the training reports.
ASIDE = 0.35


class MetricFinder:
    """Judges every shown value once and merges the reports of the same value."""

    def __init__(self, flow: Flow, reports: Reports) -> None:
        self.flow = flow
        self.reports = reports
        self.findings: list[Finding] = []
        self.rejected: list[Rejected] = []

    def judge_all(self) -> None:
        """Judge all reports."""
        for report in self.reports.found:
            earlier = last = ""
            roots = [(shown, root_of(self.flow, shown)) for shown in report.shown]
            clock = sum(is_clock_part(variable) for _, variable in roots) > 1
            for shown, variable in roots:
                if clock and is_clock_part(variable):
                    self._reject(report, variable, "identifier")
                    continue
                before, earlier = earlier, words_before(shown) or earlier
                if meaning_of(earlier) is None and names_also(before, variable):
                    earlier = before  # ``Accuracy on the {} test images: {}``
                same = variable == last or names_also(earlier, variable)
                found = self._judge(report, shown, variable, earlier if same or not meaning_of(variable) else "", same)
                if found is not None:
                    found.split = split_of(found.name) or split_of(earlier) or split_at(report.place)
                    self.findings.append(found)
                last = variable

    def places(self) -> list[tuple[Unit, Place | None]]:
        """Return where metrics are reported."""
        return [(one.unit, one.report.place) for one in self.findings]

    def counted(self) -> set[tuple[str, int, str]]:
        """Return file, line and name of reported counters."""
        return {(one.file, one.line, one.variable) for one in self.rejected if one.reason == "counter"}

    def weigh(self, trained: set[Unit], phases: Phases | None) -> None:
        """Raise the confidence of what the training reports, lower that of what only prepares it; then merge."""
        for one in self.findings:
            one.aside = phases is not None and _is_aside(one, phases)
            bonus = 0.08 if one.unit in trained and not one.aside else 0.0
            one.confidence = min(one.confidence + bonus, 0.99) * (ASIDE if one.aside or one.alarm else 1)
            one.where = _where(one, phases, trains=bonus > 0)
        self.findings = merge(self.flow, self.findings)

    def _judge(self, report: Report, shown: Shown, variable: str, earlier: str, same: bool) -> Finding | None:
        if not variable or self._is_served(shown):
            return None
        verdict = judge(self.flow, shown, variable, report.sink, report.hint, earlier if same else "")
        verdict = self._counted_cost(report, shown, verdict)
        if verdict.reason is not None:
            self._reject(report, variable, verdict.reason)
            return None
        label = label_for(self.flow, shown, report.shown)
        if label is not None and self.flow.resolved(label, shown.scope).plain() == {SETTING}:
            label = None  # the same in every report: it tells nothing apart
        capture = capture_of(self.flow, shown, report, label)
        kind = verdict.meaning.kind if verdict.meaning else ""
        name = name_of(shown, variable, earlier, kind == "speed", not kind)
        if capture is not None and not capture.label:
            name = without_settings(name)
        if label is not None and capture is not None and capture.label and "{" + capture.label + "}" not in name:
            unnamed = not words_before(shown) and not shown.tag and name == plain_variable(variable)
            name = "{" + capture.label + "}" + ("" if unnamed else " " + name)
        if verdict.meaning == UNNAMED and (meaning := meaning_of(name)) is not None:
            verdict = replace(verdict, meaning=meaning)
        found = Finding(shown, report, verdict, variable, name, capture, verdict.confidence)
        found.alarm = is_alarm(report.place)
        found.switches = switches(self.flow, report.place, report.scope)
        return found

    def _reject(self, report: Report, variable: str, reason: Reason) -> None:
        file = report.scope.module.file
        self.rejected.append(Rejected(variable=variable, file=file, line=report.line, reason=reason))

    def _is_served(self, shown: Shown) -> bool:
        """Whether the value only hands on an argument that was found where it is given."""
        param = self.reports.passed_on.get(shown)
        if param is not None and param in self.reports.served:
            return True
        return shown.label is not None and self.reports.shows_kept(shown)

    def _counted_cost(self, report: Report, shown: Shown, verdict: Verdict) -> Verdict:
        """Accept a counter shown after a loop that stops on a condition: it says how long that took."""
        if verdict.reason != "counter" or not isinstance(shown.expr, ast.Name):
            return verdict
        around = enclosing_loops(report.place)
        unit = report.scope.unit
        for loop in unit.loops:
            if loop.node in around or loop.node.lineno > report.line or enclosing_loops(loop.place) != around:
                continue
            if shown.expr.id in _counted_by(loop.node) and self._stops_on_value(loop.node, report):
                return Verdict(0.6, "counts the iterations until a computed condition held", None)
        return verdict

    def _stops_on_value(self, loop: ast.AST, report: Report) -> bool:
        tests = [node.test for node in ast.walk(loop) if isinstance(node, ast.If) and _breaks(node)]
        if isinstance(loop, ast.While):
            tests.append(loop.test)
        return any(self.flow.resolved(test, report.scope).has(*METRIC_ORIGINS) for test in tests)

    def metrics(self, reported: list[Metric]) -> list[Metric]:
        """Return the metrics found, with what frameworks report, most certain first, under names that differ."""
        sinks = {one.sink for one in reported} | {
            one.report.sink for one in self.findings if is_handed_over(one.capture)
        }
        kept = [one for one in self.findings if not is_read_back(one.shown.expr, one.shown.scope, sinks)]
        found = [(metric_of(one), _hints(one)) for one in kept]
        found.extend((one, ["", "", one.function, one.file]) for one in reported)
        found.sort(key=lambda one: (-one[0].confidence, one[0].file, one[0].line, one[0].variable, one[0].name))
        names = unique([metric.name for metric, _ in found], [hints for _, hints in found])
        return [msgspec.structs.replace(metric, name=name) for (metric, _), name in zip(found, names, strict=True)]

    def rejections(self) -> list[Rejected]:
        """Return the values that are no metrics, by place."""
        taken = {(one.report.scope.module.file, one.report.line, one.variable) for one in self.findings}
        found = {(one.file, one.line, one.variable): one for one in self.rejected}
        return [found[key] for key in sorted(found) if key not in taken]


def _is_aside(one: Finding, phases: Phases) -> bool:
    """Whether a value is reported beside the training; of a measured model, only where a function does."""
    unit = one.unit
    if not phases.is_aside(unit, one.report.line, one.report.place):
        return False
    meaning = one.verdict.meaning
    if meaning is None or meaning.kind not in {"quality", "loss"}:
        return True
    return not (phases.leads_to_loop(unit) or (unit in phases.made_during and meaning.direction is not None))


def _where(one: Finding, phases: Phases | None, *, trains: bool) -> str:
    """Say where a report stands."""
    if one.alarm:
        return "where the training gives up"
    if one.aside:
        return "by code that runs neither in the main loop nor after it"
    if phases is not None and phases.is_after(one.unit, one.report.line, one.report.place):
        # Such as the accuracy of each class: one name, several values.
        repeats = bool(enclosing_loops(one.report.place))
        return f"after the main loop{', again and again' if repeats else ''}"
    return "in the main loop" if trains else "outside the main loop"


def _hints(one: Finding) -> list[str]:
    """List what tells two metrics of one name apart, in the order in which it is tried."""
    split = one.split or split_of(one.unit.shown_name) or split_of(one.variable)
    return [split, plain_variable(one.variable), one.unit.shown_name, one.unit.module.file]


def metric_of(one: Finding) -> Metric:
    """Put a finding into the form that is stored."""
    meaning = one.verdict.meaning
    direction: Direction | None = meaning.direction if meaning else "lower"
    kind = meaning.kind if meaning else "speed"
    report = one.report
    why = f"{_said_by(report.sink)} {one.where}; {one.verdict.why}"
    if one.aliases:
        why += f"; also reported as {', '.join(dict.fromkeys(one.aliases))}"
    capture = one.capture
    file, line, end_line, function = _place(one)
    if capture is None:
        why += "; cannot be recorded: its text has no exact place, or a compiler traces the function"
    return Metric(
        name=one.name, variable=one.variable, expression=one.expression, file=file, line=line,
        end_line=end_line, function=function, sink=report.sink, kind=kind, direction=direction,
        aggregate="last" if meaning is None else aggregate_of(kind),
        confidence=round(one.confidence, 2), why=why, selected=capture is not None and one.confidence >= SELECTED_FROM,
        capture=capture or Capture(how="framework"),
    )  # fmt: skip


def _place(one: Finding) -> tuple[str, int, int, str]:
    """Where it is reported; where the value enters the text, when that is another file than the one that reports."""
    shown, report = one.shown, one.report
    if shown.scope.module is report.scope.module:
        return shown.scope.module.file, report.line, report.end_line, report.scope.unit.shown_name
    node = shown.expr
    return shown.scope.module.file, node.lineno, node.end_lineno or node.lineno, shown.scope.unit.shown_name


def _said_by(sink: str) -> str:
    words = {"print": "printed", "logging": "logged", "tqdm": "shown in the progress bar", "file": "written to a file",
             "csv": "written to a table", "json": "written as JSON", "figure": "drawn"}  # fmt: skip
    return words.get(sink, f"reported to {sink}")


def _counted_by(loop: ast.AST) -> set[str]:
    names = set()
    if isinstance(loop, (ast.For, ast.AsyncFor)):
        names |= {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    for node in ast.walk(loop):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def _breaks(node: ast.If) -> bool:
    return any(isinstance(one, ast.Break) for one in node.body)
