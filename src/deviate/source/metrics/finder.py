"""Turn reports into metrics and rejected values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import msgspec

from deviate.core.experiment import Metric, Reason, Rejected
from deviate.lexicon.words import (
    UNNAMED,
    Meaning,
    counts_parameters,
    is_bookkeeping,
    is_clock_part,
    is_counting,
    is_digest,
    is_forecast,
    is_metric_word,
    is_progress,
    is_schedule,
    meaning_of,
    split_of,
    unique,
)
from deviate.source.flow.expressions import is_alarm, split_at, switches
from deviate.source.flow.program import COMMON_METHODS, Evaluator, Program
from deviate.source.flow.values import METRIC_ORIGINS, From, Value
from deviate.source.framework_metrics import is_framework_logged, is_read_back
from deviate.source.index import ModuleIndex, Nesting, Unit, enclosing_loops
from deviate.source.main_loop import Phases
from deviate.source.metrics.capture import capture_of, root_of
from deviate.source.metrics.finding import (
    DECIMALS,
    FILES,
    FLAGS,
    IDENTIFIERS,
    NUMBERS_OF_THINGS,
    OF_COUNTS,
    PICTURES,
    PREDICTIONS,
    SELECTED_FROM,
    Case,
    Finding,
    Verdict,
    by_words,
    hints_of,
    is_vocabulary,
    last_word,
    metric_of,
    names_position,
    names_samples,
    of_counts,
    of_outcomes,
    where,
)
from deviate.source.metrics.merging import merge
from deviate.source.metrics.names import (
    continues,
    ends_label,
    is_item_of_report,
    is_number,
    is_position,
    is_read_off_settings,
    is_record_of_sample,
    is_scored_by_library,
    label_for,
    name_of,
    names_also,
    plain_variable,
    text_name,
    without_settings,
    words_before,
)
from deviate.source.sinks.reports import Reports
from deviate.source.sinks.rows import SCALARS, TEXT_SINKS, Report, is_logging_class
from deviate.source.syntax import called_name
from deviate.source.texts import NUMERIC_SPEC, ReportedValue

# Values that the training computes: model outputs, times, memory.

#: Names of sums, which count only where they are sums of counts.
_SUMS = {"total", "totals"}


def of_training(case: Case) -> Verdict:
    """Return the verdict on a value that the training computes: most are metrics."""
    is_named = _is_named(case)
    reason = _setting_or_count(case) or _sample(case, is_named)
    if reason is not None:
        return Verdict(reason=reason)
    confidence = (
        0.62
        + 0.15 * (is_named or is_metric_word(case.description))
        + 0.06 * bool(NUMERIC_SPEC.search(case.reported.spec))
        + 0.05 * (case.sink not in TEXT_SINKS)
    )
    return Verdict(confidence, _origin_words(case.value, case.meaning), case.meaning)


def _is_named(case: Case) -> bool:
    """Whether variable or library name a metric."""
    is_word = is_metric_word(case.variable) or (case.sink != "figure" and meaning_of(case.name) is not None)
    flow, reported = case.flow, case.reported
    return is_word or is_item_of_report(flow, reported) or is_scored_by_library(flow, reported.expr, reported.scope)


def _setting_or_count(case: Case) -> Reason | None:
    """Return why the value is a schedule, the weight of a loss or a counter."""
    value, reported = case.value, case.reported
    is_timed = value.has(From.DURATION)  # a learning rate that stands before a time does not name it
    is_scheduled = is_schedule(case.description) and not (is_metric_word(case.variable) or is_timed)
    if is_schedule(case.variable) or is_scheduled:
        return "setting"
    is_counted = value.has(From.COUNT, From.TOTAL)
    # What the training computes and is shown with decimal places is no count: ``accuracy_epoch``.
    is_exact = DECIMALS.search(reported.spec) is not None and not is_counted
    is_sum = case.name in _SUMS and not is_counted
    if not is_counting(case.name) or reported.mapping or is_exact or is_sum or is_metric_word(case.description):
        return None
    return None if _is_measured(case) and not names_position(case.name) else "counter"


def _is_measured(case: Case) -> bool:
    """Whether it is a time, or memory under a name with a meaning."""
    is_memory = case.value.has(From.MEMORY) and meaning_of(f"{case.variable} {case.description}") is not None
    return case.value.has(From.DURATION) or is_memory


def _sample(case: Case, is_named: bool) -> Reason | None:
    """Return why the value is no number of the training's but samples, predictions, weights or objects."""
    flow, reported, value, variable = case.flow, case.reported, case.value, case.variable
    has_metric_name = is_named or is_metric_word(case.description)
    if case.sink in FILES and not has_metric_name and last_word(variable) in PREDICTIONS:
        return "identifier"
    if not reported.mapping and not has_metric_name:
        is_measured = value.has(From.DURATION, From.MEMORY)
        if not is_number(flow, reported, case.sink) and (value.has(From.TEXT) or not is_measured):
            return "identifier"
        if case.sink not in SCALARS and _shows_samples(variable, reported) and not is_measured:
            return "identifier"
    # The object that reports is called after what it measures, which is not what it is given: ``fid.show(images)``.
    is_unnamed = case.sink in TEXT_SINKS and not (is_named or _is_measured(case) or reported.mapping)
    is_sample = is_unnamed and _shows_samples(variable, reported)
    is_said = is_sample and is_metric_word(f"{reported.tag} {text_name(reported, variable)}")
    return "identifier" if is_sample and not is_said else None


def _shows_samples(variable: str, reported: ReportedValue) -> bool:
    """Whether samples are shown as they are, and no number with decimals that is made of them."""
    return names_samples(variable) and DECIMALS.search(reported.spec) is None


def _origin_words(value: Value, meaning: Meaning) -> str:
    if value.has(From.LIVE):
        return "computed as it runs" if meaning.kind != "speed" else "measured while training"
    return "a measured time" if value.has(From.DURATION) else "a measured amount of memory"


#: Names that ask a question are of truths.
_ASKING = re.compile(r"_*(is|has|should|was|did)_[a-z]")

#: Why a value that does not come from the training is no metric, by its origin; the first that holds.
_REASONS: tuple[tuple[str, Reason], ...] = (
    (From.SCHEDULE, "setting"), (From.PATH, "path"), (From.COUNT, "counter"), (From.SETTING, "setting"),
    (From.RANDOM, "setting"), (From.TEXT, "identifier"), (From.CLOCK, "identifier"), (From.TOTAL, "constant"),
    (From.CONSTANT, "constant"),
)  # fmt: skip


def verdict_of(
    flow: Evaluator, reported: ReportedValue, variable: str, sink: str, hint: str = "", earlier: str = ""
) -> Verdict:
    """Classify one reported value.

    `hint` is name and class of the project's object whose method reports, `earlier` the name that the text gave to the
    value before, where that names this one too.
    """
    description = f"{reported.tag} {text_name(reported, variable, earlier)} {hint}"
    case = Case(flow, reported, _evaluated(flow, reported), variable, description, sink)
    reason = _reason_by_form(case) or _reason_by_name(case)
    if reason is not None:
        return Verdict(reason=reason)
    if case.value.has(*METRIC_ORIGINS) or is_scored_by_library(flow, reported.expr, reported.scope):
        return of_training(case)
    verdict = of_outcomes(case)
    if verdict is not None:
        return verdict
    if _is_open(case.value):
        return by_words(case, earlier)
    return of_counts(case, earlier) or Verdict(reason=_reason_by_origin(case.value))


def _evaluated(flow: Evaluator, reported: ReportedValue) -> Value:
    """Evaluate what is reported, after the attributes that the format text reads."""
    expr = reported.expr
    for name in filter(str.isidentifier, reported.reads.split(".")):
        expr = ast.copy_location(ast.Attribute(expr, name, ast.Load()), expr)
    value = flow.resolved(expr, reported.scope)
    if reported.mapping or value.element is not None:
        items = [item for item in (value.element, *value.keys.values()) if item is not None]
        origins = value.origins.union(*(flow.resolve(item).origins for item in items))
        return Value(Value(origins).plain(), value.refs)
    return value


def _reason_by_form(case: Case) -> Reason | None:
    """Return why the expression is of no metric, whatever it is called."""
    flow, reported = case.flow, case.reported
    if isinstance(reported.expr, ast.Constant):
        return "constant"
    if _is_made_object(case) or is_vocabulary(reported):
        return "identifier"
    if case.name in FLAGS or _ASKING.match(case.name):
        return "setting"
    if is_read_off_settings(flow, reported):
        return "setting"
    return "identifier" if is_position(reported.expr, reported.scope) else None


def _is_made_object(case: Case) -> bool:
    """Whether an object is made where it is reported: a histogram, a picture, one of the project's classes."""
    name = called_name(case.reported.expr) if isinstance(case.reported.expr, ast.Call) else ""
    return name[:1].isupper() and ((case.value.has(From.OBJECT) and bool(case.value.refs)) or name in PICTURES)


def _reason_by_name(case: Case) -> Reason | None:
    """Return why a value that is called like this is no metric, wherever it comes from."""
    reported, word = case.reported, last_word(case.variable)
    said = (case.name, reported.tag, words_before(reported))
    if word in NUMBERS_OF_THINGS and not is_metric_word(case.name):
        return "identifier"
    if word in IDENTIFIERS:
        return "path" if case.value.has(From.PATH) else "identifier"
    if is_progress(case.name) or (
        case.value.has(From.DURATION) and any(is_forecast(each, is_time=True) for each in said)
    ):
        return "counter"
    if any(map(is_digest, said)):
        return "identifier"
    if is_bookkeeping(reported.tag) and not case.value.has(From.DURATION):
        return "counter"
    if "param" in reported.before.lower() and counts_parameters(words_before(reported)):
        return "constant"
    return "identifier" if _is_ordinal(reported) else None


def _is_ordinal(reported: ReportedValue) -> bool:
    """Whether the text numbers something by a value, or says up to which rank: ``Example #{i}``, ``Hits @ {k}``."""
    return reported.before.rstrip().endswith(("@", "#")) and not DECIMALS.search(reported.spec)


def _is_open(value: Value) -> bool:
    """Whether the analysis cannot tell where the value comes from."""
    return not value.plain() or value.has(From.UNKNOWN, From.OBJECT, From.DATA, From.WEIGHTS, From.RANDOM)


def _reason_by_origin(value: Value) -> Reason:
    return next((reason for origin, reason in _REASONS if value.has(origin)), "identifier")


#: A word that means the recall beside a precision, and much else alone.
_REC = re.compile(r"(?<![A-Za-z])rec(?![A-Za-z])")
#: Methods that Lightning calls for a test.
_TESTING = re.compile(r"(on_)?test_(step|epoch|batch|start|end)")
#: What is left of the confidence in a value that code beside the training reports.
ASIDE = 0.35
#: So many calls of functions that do not run are looked at: a large library has tens of thousands.
MAX_UNREACHED_CALLS = 2000


class MetricFinder:
    """Classifies every reported value once and merges the reports of the same value."""

    def __init__(self, flow: Evaluator, reports: Reports) -> None:
        self.flow = flow
        self.reports = reports
        self.findings: list[Finding] = []
        self.rejected: list[Rejected] = []
        #: File, line and name of reported counters, with the words that name them in the text.
        self.counted: dict[tuple[str, int, str], str] = {}

    def classify_all(self) -> None:
        """Classify the values of all reports."""
        for report in self.reports.collected:
            earlier = last = part = ""
            roots = [(reported, root_of(self.flow, reported)) for reported in report.values]
            variables = {variable for _, variable in roots}
            if is_record_of_sample(report, variables):
                for variable in variables:
                    self._reject(report, variable, "identifier")
                continue
            clock = sum(map(is_clock_part, variables)) > 1
            for reported, variable in roots:
                part = split_of(reported.before) or part  # ``Val epoch 3, loss 0.4, error 0.1``
                is_part = clock and is_clock_part(variable)
                if is_metric_word(words_before(reported)) and reported.after.strip() == ":":
                    earlier = words_before(reported)  # ``loss {epoch}: {value}``
                if is_part or self._names_next(reported, report):
                    self._reject(report, variable, "identifier")
                    continue
                before, earlier = earlier, words_before(reported) or earlier
                if meaning_of(earlier) is None and names_also(before, variable):
                    earlier = before  # ``Accuracy on the {} test images: {}``
                same = variable == last or names_also(earlier, variable) or continues(reported)
                same = same or (ends_label(reported) and is_metric_word(earlier))
                finding = self._classify(
                    report, reported, variable, earlier if same or not meaning_of(variable) else "", same,
                    meant=_meant(variable, variables),
                )  # fmt: skip
                if finding is not None:
                    finding.split = split_of(finding.name) or split_of(earlier) or split_at(report.nesting) or part
                    self.findings.append(finding)
                last = variable

    def _names_next(self, reported: ReportedValue, report: Report) -> bool:
        """Whether a value is the name of the one after it: ``f"best {self.monitored}: {self.best:.3f}"``."""
        is_name = reported.after.strip() in {":", "="} and reported.position + 1 < len(report.values)
        if not is_name or NUMERIC_SPEC.search(reported.spec):
            return False
        return not self.flow.resolved(reported.expr, reported.scope).has(*METRIC_ORIGINS)

    def reporting(self) -> list[tuple[Unit, Nesting | None]]:
        """Return the function that reports each metric, and the nesting of the report in it."""
        return [(finding.unit, finding.report.nesting) for finding in self.findings]

    def weigh(self, trained: set[Unit], phases: Phases | None, unchosen: set[ModuleIndex]) -> None:
        """Raise the confidence of what the training reports, lower that of what only prepares it; then merge.

        `unchosen` are modules that the program may not choose.
        """
        for finding in self.findings:
            finding.unchosen = finding.unit.module in unchosen
            finding.idle = self._is_idle(finding.report)
            is_beside = phases is not None and _is_aside(finding, phases)
            finding.aside = finding.unchosen or finding.idle or is_beside
            report = finding.report
            finding.early = phases is not None and phases.is_before(finding.unit, report.line, report.nesting)
            bonus = 0.08 if finding.unit in trained and not finding.aside else 0.0
            finding.confidence = min(finding.confidence + bonus, 0.99) * (
                ASIDE if finding.aside or finding.alarm else 1
            )
            finding.where = where(finding, phases, trains=bonus > 0)
            finding.pace = phases.pace(finding.unit, report.line, report.nesting) if phases is not None else ""
        self.findings = merge(self.flow, self.findings)

    def _is_idle(self, report: Report) -> bool:
        """Whether a report is not shown, or stands in a method that nothing calls."""
        if report.sink == "logging" and isinstance(report.node, ast.Call) and called_name(report.node) == "debug":
            return not self._shows_debug
        unit = report.scope.unit
        if self._is_untested(unit):
            return True
        if unit.owner is None or unit.name not in COMMON_METHODS or unit.loops == []:
            return False
        others = [method for method in self.flow.program.methods[unit.name] if method is not unit]
        own = [method for name, method in unit.owner.methods.items() if name not in COMMON_METHODS]
        return (
            not self._is_called(unit) and any(map(self._is_called, own)) and any(map(self._is_called, others))
        )  # fmt: skip

    def _is_untested(self, unit: Unit) -> bool:
        """Whether Lightning would call a method for a test, and the program asks for none."""
        method = unit.enclosing_method
        owner = method.owner if method is not None else None
        if method is None or owner is None or not _TESTING.match(method.name):
            return False
        return {"test", method.name}.isdisjoint(self.flow.program.calls) and is_logging_class(self.flow, owner)

    def _is_called(self, unit: Unit) -> bool:
        return bool(self.flow.program.callers(self.flow, unit))

    @cached_property
    def _shows_debug(self) -> bool:
        """Whether the program lowers the level of messages anywhere."""
        lines = (line for module in self.flow.program.modules for line in module.lines)
        return any("DEBUG" in line or "setLevel(10)" in line for line in lines)

    def _classify(
        self, report: Report, reported: ReportedValue, variable: str, earlier: str, same: bool, meant: str
    ) -> Finding | None:
        # A name that nothing is seen to fill, drawn once, may hold a whole curve.
        is_curve = report.sink == "figure" and reported.tag == variable and not enclosing_loops(report.nesting)
        if not variable or is_curve or self._is_served(reported):
            return None
        earlier += " ±" if earlier and reported.before.strip(" (") in {"±", "+/-", "+-"} else ""
        verdict = verdict_of(self.flow, reported, meant, report.sink, report.hint, earlier if same else "")
        if verdict.reason is not None:
            # What is plotted against what: coordinates are no values that might have been metrics.
            if report.sink != "figure":
                self._reject(report, variable, verdict.reason)
            if verdict.reason == "counter":
                self.counted[report.scope.module.file, report.line, variable] = words_before(reported)
            return None
        label = label_for(self.flow, reported, report.values)
        if label is not None and self.flow.resolved(label, reported.scope).plain() == {From.SETTING}:
            label = None  # the same in every report: it tells nothing apart
        capture = capture_of(self.flow, reported, report, label)
        kind = verdict.meaning.kind if verdict.meaning else ""
        name = name_of(reported, variable, earlier, kind == "speed")
        if capture is not None and not capture.label:
            name = without_settings(name)
        if label is not None and capture is not None and capture.label and "{" + capture.label + "}" not in name:
            unnamed = not words_before(reported) and not reported.tag and name == plain_variable(variable)
            mark = "{" + capture.label + "}"
            name = f"{name} {mark}" if name.endswith(" class") else mark + ("" if unnamed else " " + name)
        if (verdict.meaning == UNNAMED or name.endswith("±")) and (meaning := meaning_of(name)) is not None:
            verdict = replace(verdict, meaning=meaning)
        finding = Finding(reported, report, verdict, variable, name, capture, verdict.confidence)
        if verdict.why == OF_COUNTS and finding.is_share and name == plain_variable(variable):
            finding.name = f"share of {name}"
        finding.alarm = is_alarm(report.nesting)
        finding.switches = switches(self.flow, report.nesting, report.scope)
        return finding

    def _reject(self, report: Report, variable: str, reason: Reason) -> None:
        file = report.scope.module.file
        self.rejected.append(Rejected(variable=variable, file=file, line=report.line, reason=reason))

    def _is_served(self, reported: ReportedValue) -> bool:
        """Whether the value is a parameter whose argument is reported by the caller."""
        param = self.reports.forwarded.get(reported)
        if param is not None and param in self.reports.served:
            return True
        return self.reports.is_stored_elsewhere(reported)

    def metrics(self, reported: list[Metric]) -> list[Metric]:
        """Return the metrics, with what frameworks report, most certain first, under names that differ.

        Behind the others stands what is reported before the training, and what Keras shows of training data as it fits.
        """
        sinks = {metric.sink for metric in reported}
        sinks |= {finding.report.sink for finding in self.findings if is_framework_logged(finding.capture)}
        listed = [
            (finding.early, metric_of(finding), hints_of(finding))
            for finding in self.findings
            if not is_read_back(finding.reported.expr, finding.reported.scope, sinks)
        ]
        listed.extend(
            (metric.sink == "keras" and not split_of(metric.name), metric, ["", "", metric.function, metric.file])
            for metric in reported
        )
        listed.sort(key=lambda it: (it[0], -it[1].confidence, it[1].file, it[1].line, it[1].variable, it[1].name))
        names = unique([metric.name for _, metric, _ in listed], [hints for *_, hints in listed])
        return [msgspec.structs.replace(metric, name=name) for (_, metric, _), name in zip(listed, names, strict=True)]

    def rejections(self) -> list[Rejected]:
        """Return the values that are no metrics, by site."""
        taken = {(finding.report.scope.module.file, finding.report.line, finding.variable) for finding in self.findings}
        rejections = {(rejection.file, rejection.line, rejection.variable): rejection for rejection in self.rejected}
        return [rejections[key] for key in sorted(rejections) if key not in taken]


def _meant(variable: str, variables: set[str]) -> str:
    """Spell out what short for a metric stands beside others: ``a_prec, a_rec``."""
    precisions = {_REC.sub(word, variable) for word in ("prec", "precision")} - {variable}
    return variable if variables.isdisjoint(precisions) else _REC.sub("recall", variable)


def _is_aside(finding: Finding, phases: Phases) -> bool:
    """Whether a value is reported beside the training; of a measured model, only where a function does."""
    unit = finding.unit
    if finding.report.sink == "tf1-summary":
        return False  # it stands where the graph is built, and is evaluated by the training
    if not phases.is_aside(unit, finding.report.line, finding.report.nesting):
        return False
    meaning = finding.verdict.meaning
    if meaning is None or meaning.kind not in {"quality", "loss"}:
        return True
    return not (phases.leads_to_loop(unit) or (unit in phases.made_during and meaning.direction is not None))


def unreached(flow: Evaluator, reports: Reports) -> list[Rejected]:
    """List what functions that do not run would report, in the files that are read."""
    rejections = [
        rejection
        for report in _unreached_reports(flow.program, reports)
        for rejection in _unreached_values(flow, report)
    ]
    return sorted(dict.fromkeys(rejections), key=lambda rejection: (rejection.file, rejection.line, rejection.variable))


def _unreached_reports(program: Program, reports: Reports) -> Iterator[Report]:
    left = MAX_UNREACHED_CALLS
    for unit in _idle(program):
        left -= len(unit.calls)
        if left < 0:
            return
        yield from reports.reports_in(unit)


def _idle(program: Program) -> Iterator[Unit]:
    """Yield the functions that do not run, first those of the files with the most functions that run."""
    modules = [(module, [unit for unit in module.units if unit in program.reached]) for module in program.modules]
    for module, running in sorted(modules, key=lambda entry: -len(entry[1])):
        for unit in module.units:
            if unit not in running and unit.display_name != "<module>":
                yield unit


def _unreached_values(flow: Evaluator, report: Report) -> Iterator[Rejected]:
    for reported in report.values:
        variable = root_of(flow, reported)
        if variable and verdict_of(flow, reported, variable, report.sink, report.hint).reason is None:
            yield Rejected(variable=variable, file=report.scope.module.file, line=report.line, reason="unreached")


def not_taken(flow: Evaluator, reports: Reports, metrics: list[Metric]) -> list[Rejected]:
    """List the metrics that only branches report which the command's options exclude, with the option that decides."""
    program, known = flow.program, {metric.name for metric in metrics}
    program.is_decided = False
    try:
        left = [
            Rejected(variable=root_of(flow, value), file=report.scope.module.file, line=report.line,
                     reason="unreached", name=name, needs=needs)
            for unit in program.running_units()
            for report in reports.reports_in(unit)
            if (needs := program.constants.needed_option(report.nesting, unit))
            for value in report.values
            if (name := _untaken_name(flow, report, value)) and name not in known
        ]  # fmt: skip
    finally:
        program.is_decided = True
    return list({each.name: each for each in reversed(left)}.values())[::-1]


def _untaken_name(flow: Evaluator, report: Report, reported: ReportedValue) -> str:
    """Return what a reported value is called; empty where it is no metric, or has no name of its own."""
    variable = root_of(flow, reported)
    verdict = verdict_of(flow, reported, variable, report.sink, report.hint) if variable else None
    if verdict is None or verdict.reason is not None or verdict.confidence < SELECTED_FROM:
        return ""
    kind = verdict.meaning.kind if verdict.meaning else ""
    return name_of(reported, variable, "", kind == "speed") if kind else ""
