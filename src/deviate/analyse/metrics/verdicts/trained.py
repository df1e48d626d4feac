"""Values that the training computes: model outputs, times, memory."""

from __future__ import annotations

import ast

from deviate.analyse.findings import Reason
from deviate.analyse.flow.values import From, Value
from deviate.analyse.metrics.forms import is_item_of_report, is_number, is_scored_by_library
from deviate.analyse.metrics.names import text_name
from deviate.analyse.metrics.shown import DECIMALS
from deviate.analyse.metrics.verdicts.variables import (
    FILES,
    PREDICTIONS,
    last_word,
    names_position,
    names_samples,
    weighs_loss,
)
from deviate.analyse.metrics.verdicts.verdict import Case, Verdict
from deviate.analyse.naming.words import (
    Meaning,
    is_counting,
    is_metric_word,
    is_schedule,
    meaning_of,
    words_of,
)
from deviate.analyse.sinks.rows import SCALARS, TEXT_SINKS
from deviate.analyse.source.index import bindings_of
from deviate.analyse.source.syntax import dotted_text
from deviate.analyse.texts.reported import NUMERIC_SPEC, ReportedValue

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
    if is_schedule(case.variable) or is_scheduled or weighs_loss(case.name):
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
    is_whole = reported.mapping and (names_samples(variable) or _is_array(reported))
    is_whole = is_whole or (value.plain() <= {From.WEIGHTS, From.LIVE, From.SETTING} and value.has(From.WEIGHTS))
    if case.sink in FILES and not has_metric_name and (is_whole or last_word(variable) in PREDICTIONS):
        return "identifier"
    is_stored = words_of(case.name)[-1:] in {("ckpt",), ("checkpoint",), ("state",)}
    if reported.mapping and (is_stored or _is_one_of_samples(reported)):
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


def _is_array(reported: ReportedValue) -> bool:
    """Whether a table is made of what a library puts together: ``DataFrame(np.append(dates, values))``."""
    node = reported.expr
    return isinstance(node, ast.Call) and dotted_text(node.func).partition(".")[0] in {"np", "numpy", "torch", "jnp"}


def _shows_samples(variable: str, reported: ReportedValue) -> bool:
    """Whether samples are shown as they are, and no number with decimals that is made of them."""
    return (names_samples(variable) or _is_one_of_samples(reported)) and DECIMALS.search(reported.spec) is None


def _is_one_of_samples(reported: ReportedValue) -> bool:
    """Whether a loop over samples gives a value as it is: ``for item in train_data: print(item)``."""
    bindings = bindings_of(reported.expr.id, reported.scope) if isinstance(reported.expr, ast.Name) else []
    return bool(bindings) and all(
        each.kind == "for" and not each.path and isinstance(each.value, ast.Name) and names_samples(each.value.id)
        for each in bindings
    )


def _origin_words(value: Value, meaning: Meaning) -> str:
    if value.has(From.LIVE):
        return "computed while it trains" if meaning.kind != "speed" else "measured while training"
    return "a measured time" if value.has(From.DURATION) else "a measured amount of memory"
