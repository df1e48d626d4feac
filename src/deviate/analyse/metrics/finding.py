"""A reported value that is a metric, before it has its final name."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from deviate.analyse.loops.phases import Phases
from deviate.analyse.metrics.forms import statistic_of
from deviate.analyse.metrics.names import plain_variable
from deviate.analyse.metrics.verdicts.verdict import Verdict
from deviate.analyse.naming.words import aggregate_of, split_of
from deviate.analyse.sinks.report import Report
from deviate.analyse.source.index import Unit, enclosing_loops
from deviate.analyse.source.syntax import authored_text, dotted_text, text_of
from deviate.analyse.texts.reported import ReportedValue
from deviate.experiment import Capture, Direction, Metric

#: Metrics of lower confidence are listed and not selected.
SELECTED_FROM = 0.38


@dataclass(eq=False)
class Finding:
    """A reported value that is a metric, before it has its final name."""

    reported: ReportedValue
    report: Report
    verdict: Verdict
    variable: str
    name: str
    capture: Capture | None
    confidence: float
    #: Part of the data it is of, where name or conditions tell.
    split: str = ""
    #: Settings that must be chosen for the report to run.
    switches: int = 0
    #: Other names under which the same value is reported, with where.
    aliases: list[str] = field(default_factory=list)
    #: How the value is recorded where it is reported again after the loop that reports it in some of its rounds.
    further: list[Capture] = field(default_factory=list)
    #: Reported by code that neither runs within the main loop nor after it.
    aside: bool = False
    #: Reported before the main loop, by a function that holds it or leads to it.
    early: bool = False
    #: Reported by a plug-in that the program may not choose.
    unchosen: bool = False
    #: Reported by a message below the level that is shown, or by a method that nothing is known to call.
    idle: bool = False
    #: Reported only where the training stops on an error.
    alarm: bool = False
    #: Where the report stands, as part of a sentence.
    where: str = "outside the main loop"

    @property
    def unit(self) -> Unit:
        """Function whose code reports."""
        return self.report.scope.unit

    @property
    def expression(self) -> str:
        """What is reported in normal form, with the attributes that a format text reads."""
        return self._with_reads(text_of(self.reported.expr))

    @property
    def authored(self) -> str:
        """What is reported as its author wrote it."""
        return self._with_reads(authored_text(self.reported.expr, self.reported.scope.module))

    def _with_reads(self, text: str) -> str:
        return f"{text}.{self.reported.reads}" if self.reported.reads and dotted_text(self.reported.expr) else text

    @property
    def is_share(self) -> bool:
        """Whether arithmetic makes a share of a count: ``100 * correct / total`` means more than ``correct``."""
        meaning = self.verdict.meaning
        is_computed = isinstance(self.reported.expr, ast.BinOp)
        return is_computed and meaning is not None and meaning.direction == "higher"


def where(finding: Finding, phases: Phases | None, *, trains: bool) -> str:
    """Say where a report stands."""
    if finding.alarm:
        return "where the training gives up"
    if finding.unchosen:
        return "by a plug-in that the program may not choose"
    if finding.idle:
        return "where nothing is known to show it"
    if finding.aside:
        return "by code that runs neither in the main loop nor after it"
    if phases is not None and phases.is_after(finding.unit, finding.report.line, finding.report.nesting):
        # Such as the accuracy of each class: one name, several values.
        repeats = bool(enclosing_loops(finding.report.nesting))
        return f"after the main loop{', again and again' if repeats else ''}"
    if finding.early:
        return "before the main loop"
    return "in the main loop" if trains else "outside the main loop"


def hints_of(finding: Finding) -> list[str]:
    """List what tells two metrics of one name apart, in the order in which it is tried."""
    file = finding.unit.module.file
    split = finding.split or split_of(finding.unit.display_name) or split_of(finding.variable)
    return [
        split,
        statistic_of(finding.reported.expr),
        plain_variable(finding.variable),
        finding.unit.display_name,
        file.rpartition("/")[2] if file.startswith("/") else file,  # one outside the project has a path of the machine
    ]


def metric_of(finding: Finding) -> Metric:
    """Put a finding into the form that is stored."""
    meaning = finding.verdict.meaning
    direction: Direction | None = meaning.direction if meaning else "lower"
    kind = meaning.kind if meaning else "speed"
    report = finding.report
    why = f"{_HOW_REPORTED.get(report.sink, f'reported to {report.sink}')} {finding.where}; {finding.verdict.why}"
    if finding.aliases:
        why += f"; also reported as {', '.join(dict.fromkeys(finding.aliases))}"
    capture = finding.capture
    file, line, end_line, function = _site(finding)
    if capture is None:
        why += "; cannot be recorded: its text has no exact place, or a compiler traces the function"
    return Metric(
        name=finding.name, variable=finding.variable, expression=finding.authored, file=file, line=line,
        end_line=end_line, function=function, sink=report.sink, kind=kind, direction=direction,
        aggregate="last" if meaning is None else aggregate_of(kind),
        confidence=round(finding.confidence, 2), why=why,
        selected=capture is not None and finding.confidence >= SELECTED_FROM,
        capture=capture or Capture(how="framework"), further=finding.further,
    )  # fmt: skip


def _site(finding: Finding) -> tuple[str, int, int, str]:
    """File, first and last line, and function of the report; of the value where that is in another function."""
    reported, report = finding.reported, finding.report
    if reported.scope.unit is report.scope.unit:
        return reported.scope.module.file, report.line, report.end_line, report.scope.unit.display_name
    node = reported.expr
    return reported.scope.module.file, node.lineno, node.end_lineno or node.lineno, reported.scope.unit.display_name


#: How a value reaches a sink, where "reported to" would not say it.
_HOW_REPORTED = {
    "print": "printed", "logging": "logged", "tqdm": "shown in the progress bar", "file": "written to a file",
    "csv": "written to a table", "json": "written as JSON", "figure": "drawn", "kept": "kept and shown later",
}  # fmt: skip
