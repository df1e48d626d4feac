"""Values whose origin cannot be followed: names, text and format decide."""

from __future__ import annotations

import ast

from deviate.lexicon.words import (
    UNNAMED,
    is_counting,
    is_metric_word,
    is_schedule,
    is_settings_name,
    meaning_of,
    words_of,
)
from deviate.source.findings import Reason
from deviate.source.flow.values import From
from deviate.source.index import bindings_of, enclosing_loops
from deviate.source.metrics.counts import is_called_metric
from deviate.source.metrics.finding import DECIMALS, is_computed
from deviate.source.metrics.forms import (
    is_best,
    is_item,
    is_item_of_report,
    is_kept_with_best,
    is_named_item,
    is_number,
    is_share,
)
from deviate.source.metrics.names import words_before
from deviate.source.metrics.verdict import (
    COEFFICIENTS,
    FILES,
    SETTINGS,
    Case,
    Verdict,
    last_word,
    names_count,
    names_quality,
    names_samples,
    weighs_loss,
)
from deviate.source.sinks.rows import SCALARS, TEXT_SINKS, TRACKERS
from deviate.source.texts import ReportedValue

#: How far numbers lie apart.
_SPREADS = {"std", "stddev"}
#: What a day is called.
_DATES = {"date", "dates", "day", "datetime"}
#: What data are called that are normalised.
_NORMALISED = {"data", "df", "feature", "features", "input", "inputs", "norm", "target", "targets", "train", "x", "y"}


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
    if is_item(reported) and (meaning_of(case.description) or is_item_of_report(case.flow, reported)):
        return Verdict(0.45, "an item of a mapping of values", case.meaning)
    is_tagged = case.sink in TRACKERS and is_metric_word(reported.tag)
    is_kept = _has_decimals(case) and is_kept_with_best(reported)
    is_called = is_tagged or is_kept or is_called_metric(case, earlier)
    if (is_counting(case.name) or names_count(case.name)) and not is_called:
        return Verdict(reason="counter" if is_counting(case.name) else "constant")
    number = is_number(case.flow, reported, case.sink)
    by_name = is_metric_word(case.variable)
    by_text = is_metric_word(case.description)
    by_text = by_text or (case.sink not in TEXT_SINKS and meaning_of(reported.tag) is not None)
    is_plain = number or _is_said(case) or not value.has(From.OBJECT, From.DATA)
    if (by_name and is_plain) or (by_text and (number or is_named_item(reported))) or _has_form_of_metric(case):
        confidence = 0.42 + 0.1 * (by_name and by_text) + 0.05 * number
        return Verdict(confidence, "named like a metric", case.meaning)
    if number and _is_statistic(case):
        return Verdict(0.4, "a statistic of what a loop changes", case.meaning)
    if _is_tracked(case):
        return Verdict(0.4, "given to a tracker", case.meaning)
    return Verdict(reason="setting" if value.has(From.SETTING) else "identifier")


def _setting_or_data(case: Case) -> Reason | None:
    """Return why the value is a setting, a schedule, the weight of a loss, or what data are normalised by."""
    last, reported = case.name, case.reported
    is_settings = reported.mapping and not is_metric_word(last) and any(map(is_settings_name, (last, *words_of(last))))
    is_settings = is_settings or (last_word(case.variable) in SETTINGS and not is_metric_word(reported.tag))
    if case.sink in FILES and last_word(case.variable) in _SPREADS and _NORMALISED.issuperset(words_of(last)[:-1]):
        return "identifier"
    if not _DATES.isdisjoint(word for called in (last, reported.tag) for word in words_of(called)[-1:]):
        return "identifier"
    is_scheduled = is_schedule(case.variable) or is_schedule(case.description)
    return "setting" if is_scheduled or is_settings or weighs_loss(last) or _is_coefficient(case) else None


def _is_coefficient(case: Case) -> bool:
    """Whether settings make what weighs a part of the loss: ``kl_coeff``, and no ``dice_coeff``, which is a metric.

    Nor is it what the text calls otherwise: ``print(f"error {weight}")``.
    """
    name = case.name
    if name not in case.description.replace(" ", "_") and is_metric_word(case.description):
        return False
    words, meaning = words_of(name), meaning_of(name)
    is_weight = bool(words) and words[-1] in COEFFICIENTS and not any(word.startswith("corr") for word in words)
    return is_weight and case.value.has(From.SETTING) and (meaning is None or meaning.direction is None)


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


def _has_form_of_metric(case: Case) -> bool:
    """Whether text and use show a metric whose words also mean other things."""
    last, reported = case.name, case.reported
    if _says_same(reported, last) and _has_decimals(case):
        return True
    if names_quality(last) and is_share(case.flow, reported.expr, reported.scope):
        return True
    is_kept = _has_decimals(case) and is_kept_with_best(reported)
    return is_kept or is_best(reported) or _repeats(reported, last)


def _is_statistic(case: Case) -> bool:
    """Whether one number is computed of what chance has its part in and a loop changes: ``(abs(w) > 0.2).mean()``."""
    flow, expr, scope, value = case.flow, case.reported.expr, case.reported.scope, case.value
    if not value.has(From.RANDOM) or value.has(From.SCHEDULE, From.PATH, From.CLOCK, From.TEXT):
        return False
    read = (bindings_of(node.id, scope) for node in ast.walk(expr) if isinstance(node, ast.Name))
    in_loop = any(any(enclosing_loops(each.nesting)) for bindings in read for each in bindings)
    return in_loop and is_computed(flow, expr, scope)


def _has_decimals(case: Case) -> bool:
    return DECIMALS.search(case.reported.spec) is not None


def _says_same(reported: ReportedValue, name: str) -> bool:
    """Whether text and variable mean one quality, be it by words that also mean other things: ``return {ret:.1f}``."""
    said, own = words_of(words_before(reported))[-1:], words_of(name)[-1:]
    is_one = bool(said) and bool(own) and (said == own or meaning_of(said[0]) == meaning_of(own[0]))
    return is_one and names_quality(said[0])


def _repeats(reported: ReportedValue, name: str) -> bool:
    """Whether the text names a metric, and an item of a list has its word: ``episodic return={return_values[t]}``."""
    said = words_before(reported)
    is_item = isinstance(reported.expr, ast.Subscript) and is_metric_word(said) and words_of(said)[-1] in words_of(name)
    return is_item and meaning_of(words_of(said)[-1]) is not None


def _is_tracked(case: Case) -> bool:
    """Whether a tracker gets the value under a tag, and no setting, nor a text but under a metric's name."""
    value, reported = case.value, case.reported
    is_under_tag = case.sink in TRACKERS and (bool(reported.tag) or reported.label is not None)
    # A tensor under its own name: ``scalar(part.op.name, part)``.
    is_itself = case.sink in SCALARS and f"{{{case.variable}." in reported.tag
    is_setting = value.has(From.SETTING) and not value.has(From.UNKNOWN, From.DATA)
    is_number = is_itself or is_metric_word(reported.tag) or not value.has(From.TEXT)
    return (is_under_tag or is_itself) and not is_setting and is_number
