"""The verdict on a reported value: by where it comes from, then by its names and format."""

from __future__ import annotations

import ast
import re

from deviate.analyse.findings import Reason
from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.mappings import is_list
from deviate.analyse.flow.values import METRIC_ORIGINS, From, Value
from deviate.analyse.metrics.forms import (
    is_flag,
    is_list_of_samples,
    is_position,
    is_read_off_settings,
    is_scored_by_library,
    is_slice_of_mappings,
    joins_settings,
)
from deviate.analyse.metrics.names import text_name, words_before
from deviate.analyse.metrics.shown import DECIMALS
from deviate.analyse.metrics.verdicts.by_words import by_words
from deviate.analyse.metrics.verdicts.counts import of_counts, of_outcomes
from deviate.analyse.metrics.verdicts.trained import of_training
from deviate.analyse.metrics.verdicts.variables import (
    FILES,
    FLAGS,
    IDENTIFIERS,
    NUMBERS_OF_THINGS,
    PICTURES,
    last_word,
    looks_up,
)
from deviate.analyse.metrics.verdicts.verdict import Case, Verdict
from deviate.analyse.naming.words import (
    counts_parameters,
    is_bookkeeping,
    is_counting,
    is_digest,
    is_forecast,
    is_in_settings,
    is_metric_word,
    is_progress,
    words_of,
)
from deviate.analyse.sinks.rows import TRACKERS
from deviate.analyse.source.syntax import called_name
from deviate.analyse.texts.reported import ReportedValue

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
        verdict = by_words(case, earlier)
    else:
        verdict = of_counts(case, earlier) or Verdict(reason=_reason_by_origin(case.value))
    if verdict.reason is not None and _is_called_metric(case):
        return Verdict(0.4, "called a metric", case.meaning)
    return verdict


def _is_called_metric(case: Case) -> bool:
    """Whether text or variable say that a value is a metric, of whatever kind, and more than settings make it."""
    words = {*words_of(case.name), *words_of(case.description)}
    is_computed = case.value.has(From.UNKNOWN, From.DATA) and not is_counting(case.name)
    return is_computed and not words.isdisjoint({"metric", "metrics"})


def _evaluated(flow: Evaluator, reported: ReportedValue) -> Value:
    """Evaluate what is reported, after the attributes that the format text reads."""
    expr = reported.expr
    for name in filter(str.isidentifier, reported.reads.split(".")):
        expr = ast.copy_location(ast.Attribute(expr, name, ast.Load()), expr)
    value = flow.resolved(expr, reported.scope)
    if reported.reads and not value.has(*METRIC_ORIGINS):
        return flow.resolved(reported.expr, reported.scope)
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
    if is_list(flow, reported.expr, reported.scope) if reported.mapping else is_slice_of_mappings(flow, reported):
        return "identifier"
    if case.name in FLAGS or _ASKING.match(case.name) or is_flag(reported.expr):
        return "setting"
    if case.sink in FILES and is_list_of_samples(flow, reported):
        return "identifier"
    if joins_settings(flow, reported) or is_read_off_settings(flow, reported):
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
    if case.sink in TRACKERS and word == "table" and not isinstance(reported.expr, ast.Subscript):
        return "identifier"
    if word in IDENTIFIERS:
        return "path" if case.value.has(From.PATH) else "identifier"
    if is_progress(case.name) or (
        case.value.has(From.DURATION) and any(is_forecast(each, is_time=True) for each in said)
    ):
        return "counter"
    if any(map(is_digest, said)):
        return "identifier"
    if is_in_settings(reported.tag):
        return "setting"
    if is_bookkeeping(reported.tag) and not case.value.has(From.DURATION):
        return "counter"
    if "param" in reported.before.lower() and counts_parameters(words_before(reported)):
        return "constant"
    return "identifier" if looks_up(case.name) or _is_ordinal(reported) else None


def _is_ordinal(reported: ReportedValue) -> bool:
    """Whether the text numbers something by a value, or says up to which rank: ``Example #{i}``, ``Hits @ {k}``."""
    return reported.before.rstrip().endswith(("@", "#")) and not DECIMALS.search(reported.spec)


def _is_open(value: Value) -> bool:
    """Whether the analysis cannot tell where the value comes from."""
    return not value.plain() or value.has(From.UNKNOWN, From.OBJECT, From.DATA, From.WEIGHTS, From.RANDOM)


def _reason_by_origin(value: Value) -> Reason:
    return next((reason for origin, reason in _REASONS if value.has(origin)), "identifier")
