"""A reported value that may be a metric, before it has its final name.

Where its origin cannot be followed, names, text and format decide. Counts are mostly no metrics, but shares, means and
numbers of right answers are.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from deviate.core.experiment import Capture, Direction, Kind, Metric, Pace, Reason
from deviate.lexicon.words import (
    UNNAMED,
    Meaning,
    aggregate_of,
    is_bookkeeping,
    is_counting,
    is_episode_length,
    is_metric_word,
    is_schedule,
    is_settings_name,
    meaning_of,
    split_of,
    without_unit,
    word_lists,
    words_of,
)
from deviate.source.flow.program import Evaluator
from deviate.source.flow.values import From, Instance, Param, Value
from deviate.source.index import Scope, Unit, bindings_of, enclosing_loops, is_within
from deviate.source.main_loop import Phases
from deviate.source.metrics.names import (
    MAX_DEPTH,
    is_number,
    is_share,
    plain_variable,
    statistic_of,
    text_name,
    words_before,
)
from deviate.source.sinks.rows import SCALARS, TEXT_SINKS, TRACKERS, Report
from deviate.source.syntax import authored_text, called_name, dotted_text, text_of
from deviate.source.texts import ReportedValue

# What the name of a variable says of its value.

_LISTS = word_lists("variables")
_SAMPLES = _LISTS["samples"]
FLAGS = _LISTS["flags"]
IDENTIFIERS = _LISTS["identifiers"]
NUMBERS_OF_THINGS = _LISTS["numbers of things"]
PICTURES = _LISTS["pictures"]
PREDICTIONS = _LISTS["predictions"]
#: Last words of names that hold settings, whatever the words before mean.
SETTINGS = {"args", "cfg", "config", "hparams", "kwargs", "params"}
#: Sinks that keep what was predicted, too.
FILES = {"json", "csv", "file", "kept"}


def last_name(variable: str) -> str:
    """Last part of a dotted variable, or the key of an item: its own name."""
    key = re.search(r"\[['\"]([^'\"]+)['\"]\]$", variable)
    if key is not None:
        return key[1]
    return re.sub(r"(\(\)|(\[[^\[\]]*\])+)$", "", variable).rpartition(".")[2]


def last_word(variable: str) -> str:
    """Last word of a variable's own name, a unit left out."""
    return next(reversed(words_of(without_unit(last_name(variable)))), "")


def names_quality(name: str) -> bool:
    """Whether a name is of a quality that is better higher or lower, be it by a word that also means other things."""
    meaning = meaning_of(name) if not is_counting(name) else None
    is_clear = meaning is not None and (meaning.direction is not None or is_metric_word(name))
    return is_clear and meaning is not None and meaning.kind == "quality"


def names_samples(variable: str) -> bool:
    """Whether a variable is called after samples, models or files."""
    words = words_of(last_name(variable))
    return bool(words) and words[-1] in _SAMPLES


def is_vocabulary(reported: ReportedValue) -> bool:
    """Whether a mapping numbers what it holds: ``stoi = {letter: i + 1 for i, letter in enumerate(letters)}``."""
    bindings = bindings_of(reported.expr.id, reported.scope) if isinstance(reported.expr, ast.Name) else []
    taken = (one.value.generators[0].iter for one in bindings if isinstance(one.value, ast.DictComp))
    return any(isinstance(each, ast.Call) and called_name(each) == "enumerate" for each in taken)


def names_count(name: str) -> bool:
    """Whether a name begins like that of a number of things: ``num_steps``."""
    return bool(re.match(r"(num|n|total|max|min)_", name)) and not is_metric_word(name)


def names_position(name: str) -> bool:
    """Whether a name says how far something is, and cannot be of a sum or a share: ``epoch``, ``i``."""
    return is_bookkeeping(name) or name in {"i", "j", "k", "n"}


@dataclass(frozen=True)
class Verdict:
    """Either a metric, with how sure that is, or the reason against it."""

    confidence: float = 0.0
    why: str = ""
    meaning: Meaning | None = None
    reason: Reason | None = None


@dataclass(frozen=True)
class Case:
    """A reported value, with all that the verdict on it rests on."""

    flow: Evaluator
    reported: ReportedValue
    value: Value
    #: The expression, as metrics are called by it.
    variable: str
    #: What tag, text and the object that reports call it.
    description: str
    sink: str

    @property
    def name(self) -> str:
        """The variable's own name."""
        return last_name(self.variable)

    @property
    def meaning(self) -> Meaning:
        """What origin and names say that the value measures."""
        if self.value.has(From.MEMORY) and not self.value.has(From.LIVE):
            return Meaning("resource", "lower")
        meaning = meaning_of(self.description) or meaning_of(self.variable)
        if (
            meaning is not None
            and meaning.kind == "resource"
            and self.value.has(From.LIVE)
            and not self.value.has(From.MEMORY)
        ):
            meaning = meaning_of(self.variable)
            meaning = None if meaning is not None and meaning.kind == "resource" else meaning
        # Where chance has its part it is no time alone: a loss of random weights that the clock changes.
        is_time = self.value.has(From.DURATION) and not self.value.has(From.LIVE, From.RANDOM)
        is_speed = meaning is not None and meaning.kind == "speed"
        if is_time and not is_speed:
            return _of_unit(self.reported.after) or Meaning("speed", "lower")
        if meaning is not None and is_speed:
            return _of_unit(self.reported.after) or meaning  # ``speed 0.4 s/iter``
        return meaning or UNNAMED


_UNIT = re.compile(r" ?([A-Za-z]+ ?/ ?[A-Za-z]+|fps)\b(?!\s*[:=])")


def _of_unit(after: str) -> Meaning | None:
    """Return what the unit behind a value says of it, where that is of a time or a rate."""
    unit = _UNIT.match(after)
    meaning = meaning_of(unit[1]) if unit is not None else None
    return meaning if meaning is not None and meaning.kind == "speed" else None


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
    #: Other reports of the very same value.
    also: list[ReportedValue] = field(default_factory=list)
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
    pace: Pace = ""

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
    def shown(self) -> ReportedValue:
        """The report that says how the value is written; the first one where none does."""
        return next((each for each in (self.reported, *self.also) if each.decimals is not None), self.reported)

    @property
    def is_share(self) -> bool:
        """Whether arithmetic makes a share of a count: ``100 * correct / total`` means more than ``correct``.

        What is made of a metric is another value: ``recall / baseline - 1``. One that is added up is a count.
        """
        meaning, expr = self.verdict.meaning, self.reported.expr
        if not isinstance(expr, ast.BinOp) or meaning is None or meaning.direction != "higher":
            return False
        name = self.variable.rpartition(".")[2]
        added = any(each.kind == "aug" for each in bindings_of(self.variable, self.reported.scope))
        return added or not is_metric_word(name)


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
    given = finding.reported.expr.args[:1] if isinstance(finding.reported.expr, ast.Call) else []
    texts = [finding.unit.display_name, finding.variable, *map(dotted_text, given)]
    split = finding.split or next(filter(None, map(split_of, texts)), "")
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
    is_spread = statistic_of(finding.reported.expr) in {"std", "var"}  # none is better than another
    direction: Direction | None = None if is_spread else meaning.direction if meaning else "lower"
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
        aggregate="last" if meaning is None or _goes_on(finding, kind) else aggregate_of(kind, finding.name),
        confidence=round(finding.confidence, 2), why=why,
        selected=capture is not None and finding.confidence >= SELECTED_FROM,
        capture=capture or Capture(how="framework"), further=finding.further,
        decimals=finding.shown.decimals, unit="%" if finding.shown.in_percent else "", pace=finding.pace,
    )  # fmt: skip


def _goes_on(finding: Finding, kind: Kind) -> bool:
    """Whether it is a time since before the loops that report it: ``time() - start``, by a name or as it is."""
    expr, scope, loops = finding.reported.expr, finding.reported.scope, enclosing_loops(finding.report.nesting)
    values = [each.value for each in bindings_of(expr.id, scope)] if isinstance(expr, ast.Name) else [expr]
    starts = [value.right for value in values if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub)]
    since = [bindings_of(start.id, scope) for start in starts if isinstance(start, ast.Name)]
    if kind != "speed" or not loops or not values or len(since) < len(values):
        return False
    return all(each and not any(is_within(one.nesting, loop) for one in each for loop in loops) for each in since)


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


#: Why what is made of counts is a metric.
OF_COUNTS = "counts, named like a metric"


# Values that are named and shown like a metric, whatever their parts are: ``accuracy {:.2f}`` of two counters.

#: A format that shows decimal places.
DECIMALS = re.compile(r"\.0*[1-9]\d*[feg]")
#: Functions and methods that make one number of several.
_REDUCING = {"mean", "nanmean", "average", "median", "std", "max", "min", "sum", "reduce_mean"}


def is_shown_as_metric(
    flow: Evaluator, value: Value, reported: ReportedValue, name: str, description: str, *, is_tracked: bool
) -> bool:
    """Whether a value has the name of a loss or a quality, is shown as a share or with decimals, and is computed.

    `name` is its own, `description` what the report calls it; `is_tracked` says that a tracker takes it.
    """
    if reported.mapping or value.has(From.SCHEDULE, From.PATH, From.CLOCK, From.RANDOM):
        return False
    if is_counting(name) or is_settings_name(name) or is_schedule(name) or is_schedule(description):
        return False
    is_divided = is_share(flow, reported.expr, reported.scope)
    # Words that mean other things, too, are enough for a share: ``em`` of ``right / total``.
    meaning = meaning_of(description) if is_divided or is_metric_word(description) else None
    if meaning is None or meaning is UNNAMED or meaning.kind not in {"quality", "loss"}:
        return False
    is_shown = is_divided or is_tracked or DECIMALS.search(reported.spec) is not None
    return is_shown and is_computed(flow, reported.expr, reported.scope)


#: Those that give the number that they are given, in another form.
_CONVERTING = {"float", "round", "abs", "sum", "str"}


def is_computed(flow: Evaluator, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Whether a value is one quantity by another, one number of several, or what a function of the project returns."""
    if depth > MAX_DEPTH:
        return False
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        if isinstance(node.op, ast.Div) and not any(map(_is_written, sides)):
            return True
        return any(is_computed(flow, side, scope, depth + 1) for side in sides)
    if isinstance(node, ast.Subscript):
        return is_computed(flow, node.value, scope, depth + 1)
    if isinstance(node, ast.Call):
        name = called_name(node)
        if name in _CONVERTING and len(node.args) > 0:
            return is_computed(flow, node.args[0], scope, depth + 1)
        return name in _REDUCING or any(isinstance(ref, Unit) for ref in flow.value(node.func, scope).refs)
    if isinstance(node, ast.Name):
        return any(is_computed(flow, value, home, depth + 1) for value, home in _given(flow, node, scope))
    if isinstance(node, ast.Attribute):
        return any(
            binding.value is not None and is_computed(flow, binding.value, binding.scope, depth + 1)
            for ref in flow.value(node.value, scope).refs
            if isinstance(ref, Instance)
            for binding in ref.cls.attributes.get(node.attr, [])
        )
    return False


def _is_written(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def _given(flow: Evaluator, node: ast.Name, scope: Scope) -> list[tuple[ast.expr, Scope]]:
    """Return what a name is assigned, or what callers pass for it."""
    bindings = bindings_of(node.id, scope)
    given = [(one.value, one.scope) for one in bindings if one.kind in {"assign", "aug"} and one.value is not None]
    for binding in bindings:
        if binding.kind == "param" and binding.scope.unit is not None:
            given += flow.program.arguments(flow, Param(binding.scope.unit, binding.key))
    return given


def by_words(case: Case, earlier: str) -> Verdict:
    """Return the verdict on a value whose origin cannot be followed.

    `earlier` is the name that the text gave to the value before, where that names this one too.
    """
    value, reported = case.value, case.reported
    reason = _setting_or_data(case)
    if reason is not None:
        return Verdict(reason=reason)
    if reported.mapping:
        return _of_mapping(case)
    is_tagged = case.sink in TRACKERS and is_metric_word(reported.tag)
    is_called = is_tagged or is_called_metric(case, earlier)
    if (is_counting(case.name) or names_count(case.name)) and not is_called:
        return Verdict(reason="counter" if is_counting(case.name) else "constant")
    number = is_number(case.flow, reported, case.sink)
    by_name = is_metric_word(case.variable)
    by_text = is_metric_word(case.description)
    by_text = by_text or (case.sink not in TEXT_SINKS and meaning_of(reported.tag) is not None)
    is_plain = number or _is_said(case) or not value.has(From.OBJECT, From.DATA)
    if (by_name and is_plain) or (by_text and number):
        confidence = 0.42 + 0.1 * (by_name and by_text) + 0.05 * number
        return Verdict(confidence, "named like a metric", case.meaning)
    if _is_tracked(case):
        return Verdict(0.4, "given to a tracker", case.meaning)
    if number and _is_statistic(case):
        return Verdict(0.4, "a statistic of what a loop changes", case.meaning)
    return Verdict(reason="setting" if value.has(From.SETTING) else "identifier")


def _is_statistic(case: Case) -> bool:
    """Whether one number is computed of what chance has its part in and a loop changes: ``(abs(w) > 0.2).mean()``."""
    flow, expr, scope, value = case.flow, case.reported.expr, case.reported.scope, case.value
    if not value.has(From.RANDOM) or value.has(From.SCHEDULE, From.PATH, From.CLOCK, From.TEXT):
        return False
    read = (bindings_of(node.id, scope) for node in ast.walk(expr) if isinstance(node, ast.Name))
    in_loop = any(any(enclosing_loops(each.nesting)) for bindings in read for each in bindings)
    return in_loop and is_computed(flow, expr, scope)


def _setting_or_data(case: Case) -> Reason | None:
    """Return why the value is a setting or a schedule."""
    last, reported = case.name, case.reported
    is_settings = reported.mapping and not is_metric_word(last) and any(map(is_settings_name, (last, *words_of(last))))
    is_settings = is_settings or (last_word(case.variable) in SETTINGS and not is_metric_word(reported.tag))
    is_scheduled = is_schedule(case.variable) or is_schedule(case.description)
    return "setting" if is_scheduled or is_settings else None


def _of_mapping(case: Case) -> Verdict:
    last = case.name
    if names_samples(case.variable):
        return Verdict(reason="identifier")
    is_named = is_metric_word(last) if isinstance(case.reported.expr, ast.Call) else meaning_of(last) is not None
    if is_named or case.sink not in {*TEXT_SINKS, "json", "csv"}:
        return Verdict(0.4, "a mapping of values", meaning_of(last) or UNNAMED)
    return Verdict(reason="identifier")


def _is_said(case: Case) -> bool:
    """Whether the text says what the variable's last word says: ``print("F1:", f1)``."""
    return is_metric_word(words_before(case.reported)) and is_metric_word(last_word(case.variable))


def _is_tracked(case: Case) -> bool:
    """Whether a tracker gets the value under a tag, and no setting, nor a text but under a metric's name."""
    value, reported = case.value, case.reported
    is_under_tag = case.sink in TRACKERS and (bool(reported.tag) or reported.label is not None)
    # A tensor under its own name: ``scalar(part.op.name, part)``.
    is_itself = case.sink in SCALARS and f"{{{case.variable}." in reported.tag
    is_setting = value.has(From.SETTING) and not value.has(From.UNKNOWN, From.DATA)
    is_number = is_itself or is_metric_word(reported.tag) or not value.has(From.TEXT)
    return (is_under_tag or is_itself) and not is_setting and is_number


#: Qualities that may be no more than how many of something there are.
_COUNTED = {"correct", "corrects", "error", "errors", "failures", "hit", "hits", "mistakes", "right", "solved",
            "success", "total", "violations", "win", "wins", "wrong"}  # fmt: skip


def of_outcomes(case: Case) -> Verdict | None:
    """Return the verdict on lengths of episodes; None for others."""
    if case.value.has(From.COUNT, From.TOTAL) and is_episode_length(case.description):
        return Verdict(0.6, "the length of an episode", meaning_of(case.description))
    return None


def of_counts(case: Case, earlier: str) -> Verdict | None:
    """Return the verdict on what is made of counts and constants alone and is a metric all the same, None for others.

    `earlier` is the name that the text gave to the value before, where that names this one too.
    """
    if _is_share_of_counts(case):
        return Verdict(0.45, OF_COUNTS, case.meaning)
    tracked = case.sink in {*TRACKERS, "visdom"}
    name = "" if is_called_metric(case, earlier) else case.name
    if is_shown_as_metric(case.flow, case.value, case.reported, name, case.description, is_tracked=tracked):
        return Verdict(0.42, "named and shown like a metric", case.meaning)
    if _is_said_quality(case, f"{case.reported.tag} {text_name(case.reported, case.variable, earlier)}"):
        return Verdict(0.42, "named like a metric by the text, too", case.meaning)
    return None


def is_called_metric(case: Case, earlier: str) -> bool:
    """Whether the text right before a value is the name of a metric: ``loss: {total / n}``, ``loss {epoch}: {total}``.

    A whole number after a word that counts is what that word says: ``loss at step {step}``.
    """
    said = words_before(case.reported)
    if names_position(case.name) or not is_metric_word(said or earlier):
        return False
    is_exact = DECIMALS.search(case.reported.spec) is not None or is_share(
        case.flow, case.reported.expr, case.reported.scope
    )
    return is_exact or not is_counting("".join(words_of(said)[-1:]))


def _is_said_quality(case: Case, said: str) -> bool:
    """Whether text and variable name one quality that is computed of counts, and is none: ``f1 score: {f1}``."""
    name, value = case.name, case.value
    counted = value.has(From.TOTAL, From.COUNT) and not value.has(From.SCHEDULE, From.PATH, From.CLOCK, From.RANDOM)
    is_count = not _COUNTED.isdisjoint((*words_of(name), *words_of(said)))
    is_named = is_metric_word(name) and is_metric_word(said) and names_quality(name) and names_quality(said)
    return counted and is_named and not is_count and meaning_of(name) == meaning_of(said)


def _is_share_of_counts(case: Case) -> bool:
    """Whether counts were made into what has the name of a quality: ``precision = hits / found``."""
    flow, value, reported, last = case.flow, case.value, case.reported, case.name
    is_divided = value.has(From.COUNT) and is_share(flow, reported.expr, reported.scope)
    counted = {From.COUNT, From.TOTAL, From.CONSTANT, *([From.SETTING] if is_divided else [])}
    if not value.plain() <= counted or not value.plain():
        return False
    if not value.has(From.COUNT):
        # Of lengths alone, only what is divided: ``precision = len(right) / len(found)``.
        is_shown = DECIMALS.search(reported.spec) is not None or is_metric_word(last)
        is_named = value.has(From.TOTAL) and is_shown and names_quality(last)
        return is_named and is_share(flow, reported.expr, reported.scope)
    is_strong = is_metric_word(last) and is_number(flow, reported, case.sink)
    return names_quality(last) and (is_strong or is_share(flow, reported.expr, reported.scope))
