"""The verdict on a reported value: by where it comes from, then by its names and format."""

from __future__ import annotations

import ast
import re

from deviate.lexicon.words import (
    Meaning,
    counts_parameters,
    is_bookkeeping,
    is_counting,
    is_digest,
    is_forecast,
    is_metric_word,
    is_progress,
    is_schedule,
    meaning_of,
)
from deviate.source.findings import Reason
from deviate.source.flow.program import Evaluator
from deviate.source.flow.values import METRIC_ORIGINS, From, Value
from deviate.source.metrics.finding import DECIMALS, by_words, of_counts, of_outcomes
from deviate.source.metrics.forms import (
    is_item_of_report,
    is_number,
    is_position,
    is_read_off_settings,
    is_scored_by_library,
)
from deviate.source.metrics.names import text_name, words_before
from deviate.source.metrics.verdict import (
    FILES,
    FLAGS,
    IDENTIFIERS,
    NUMBERS_OF_THINGS,
    PICTURES,
    PREDICTIONS,
    Case,
    Verdict,
    last_word,
    names_position,
    names_samples,
)
from deviate.source.sinks.rows import SCALARS, TEXT_SINKS
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
        return "computed while it trains" if meaning.kind != "speed" else "measured while training"
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
    if _is_made_object(case):
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
