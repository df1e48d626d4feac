"""Whether a reported value is a metric, and why."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from deviate.analyse.findings import Reason
from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.mappings import is_list
from deviate.analyse.flow.values import METRIC_ORIGINS, From, Instance, Value
from deviate.analyse.metrics.forms import (
    NUMERIC_SPEC,
    is_best,
    is_flag,
    is_item,
    is_item_of_report,
    is_kept_with_best,
    is_list_of_samples,
    is_named_item,
    is_number,
    is_position,
    is_read_off_settings,
    is_scored_by_library,
    is_share,
    is_slice_of_mappings,
    joins_settings,
)
from deviate.analyse.metrics.names import text_name, words_before
from deviate.analyse.metrics.shown import DECIMALS, is_shown_as_metric
from deviate.analyse.naming.words import (
    UNNAMED,
    Meaning,
    counts_parameters,
    is_bookkeeping,
    is_counting,
    is_episode_length,
    is_metric_word,
    is_schedule,
    is_settings_name,
    meaning_of,
    outcome_of,
    split_of,
    without_unit,
    word_lists,
    words_of,
)
from deviate.analyse.sinks.rows import TEXT_SINKS
from deviate.analyse.source.index import Scope, bindings_of
from deviate.analyse.source.syntax import called_name, dotted_text, text_of, unpacked
from deviate.analyse.texts.reported import ReportedValue

#: Names given names are followed this far.
MAX_NAMES = 3
#: What is given to these under a tag is a number that somebody wants to follow.
_TRACKERS = {"tensorboard", "wandb", "mlflow", "keras", "tracker", "logger"}
#: These take numbers alone.
_SCALARS = {"tensorboard", "tf1-summary"}
#: Names of sums, which count only where they are sums of counts.
_SUMS = {"total", "totals"}
#: How far numbers lie apart.
_SPREADS = {"std", "stddev"}
#: What data are called that are normalised.
_NORMALISED = {"data", "df", "feature", "features", "input", "inputs", "norm", "target", "targets", "train", "x", "y"}
#: Functions that make one number of what was kept of each example.
_AVERAGES = {"mean", "nanmean", "average", "avg"}
#: Qualities that may be no more than how many of something there are.
_COUNTED = {"correct", "corrects", "error", "errors", "failures", "hit", "hits", "mistakes", "right", "solved",
            "success", "total", "violations", "win", "wins", "wrong"}  # fmt: skip
_LISTS = word_lists(__file__)
_SAMPLES = _LISTS["samples"]
_IDENTIFIERS = _LISTS["identifiers"]
_NUMBERS_OF_THINGS = _LISTS["numbers of things"]
_COEFFICIENTS = _LISTS["coefficients"]
_PICTURES = _LISTS["pictures"]
_PREDICTIONS = _LISTS["predictions"]
_FLAGS = _LISTS["flags"]
#: What looks something up, or has a value for each place: no mean average precision.
_LOOK_UP = re.compile(
    r"(^|_)(label|id|idx|index|name|token|word|char|colou?r|feat(ure)?|att(ention|n)|heat|depth|saliency)s?_?maps?$"
)
#: Last words of names that hold settings, whatever the words before mean.
_SETTINGS = {"args", "cfg", "config", "hparams", "kwargs", "params"}
#: Sinks that keep what was predicted, too.
_FILES = {"json", "csv", "file", "kept"}


@dataclass(frozen=True)
class Verdict:
    """Either a metric, with how sure that is, or the reason against it."""

    confidence: float = 0.0
    why: str = ""
    meaning: Meaning | None = None
    reason: Reason | None = None


def verdict_of(
    flow: Evaluator, reported: ReportedValue, variable: str, sink: str, hint: str = "", earlier: str = ""
) -> Verdict:
    """Classify one reported value by where it comes from, then by its names and format.

    `hint` is name and class of the project's object whose method reports, `earlier` the name that the text gave to the
    value before, where that names this one too.
    """
    value = evaluated(flow, reported)
    description = f"{reported.tag} {text_name(reported, variable, earlier)} {hint}"
    if isinstance(reported.expr, ast.Constant):
        return Verdict(reason="constant")
    is_constructor = isinstance(reported.expr, ast.Call) and called_name(reported.expr)[:1].isupper()
    if is_constructor and ((value.has(From.OBJECT) and value.refs) or called_name(reported.expr) in _PICTURES):  # type: ignore[arg-type]
        return Verdict(reason="identifier")
    if is_list(flow, reported.expr, reported.scope) if reported.mapping else is_slice_of_mappings(flow, reported):
        return Verdict(reason="identifier")
    if last_name(variable) in _FLAGS or is_flag(reported.expr):
        return Verdict(reason="setting")
    if sink in _FILES and is_list_of_samples(flow, reported):
        return Verdict(reason="identifier")
    if joins_settings(flow, reported) or is_read_off_settings(flow, reported):
        return Verdict(reason="setting")
    if is_position(reported.expr, reported.scope):
        return Verdict(reason="identifier")
    if _last_word(variable) in _NUMBERS_OF_THINGS and not is_metric_word(last_name(variable)):
        return Verdict(reason="identifier")
    if sink in _TRACKERS and _last_word(variable) == "table":
        return Verdict(reason="identifier")
    if _last_word(variable) in _IDENTIFIERS:
        return Verdict(reason="path" if value.has(From.PATH) else "identifier")
    if is_bookkeeping(reported.tag) and not value.has(From.DURATION):
        return Verdict(reason="counter")
    if "param" in reported.before.lower() and counts_parameters(words_before(reported)):
        return Verdict(reason="constant")
    if _LOOK_UP.search(last_name(variable).lower()) or _is_ordinal(reported):
        return Verdict(reason="identifier")
    is_scored = is_scored_by_library(flow, reported.expr, reported.scope)
    if value.has(*METRIC_ORIGINS) or is_scored:
        return _of_training(flow, value, reported, variable, description, sink)
    if value.has(From.COUNT, From.TOTAL) and is_episode_length(description):
        return Verdict(0.6, "the length of an episode", meaning_of(description))
    if (outcome := outcome_of(last_name(variable))) is not None and _is_count_of_outcomes(value, reported):
        return Verdict(0.45, "counts right or wrong predictions", outcome)
    if _is_open(value):
        return _by_words(flow, value, reported, variable, description, sink)
    if _is_share_of_counts(flow, value, reported, variable, sink):
        return Verdict(0.45, "counts, named like a metric", _meaning(value, variable, description))
    if is_shown_as_metric(
        flow, value, reported, last_name(variable), description, is_tracked=sink in {*_TRACKERS, "visdom"}
    ):
        return Verdict(0.42, "named and shown like a metric", _meaning(value, variable, description))
    if _is_said_quality(value, variable, f"{reported.tag} {text_name(reported, variable, earlier)}"):
        return Verdict(0.42, "named like a metric by the text, too", _meaning(value, variable, description))
    if _is_best_of_counts(value, reported, variable):
        return Verdict(0.42, "kept where a value beats the best", _meaning(value, variable, description))
    return Verdict(reason=reason_of(value))


def _is_count_of_outcomes(value: Value, reported: ReportedValue) -> bool:
    """Whether a number is counted; ``fn`` may also be a function, and ``tp`` a setting, where nothing counts it."""
    is_short = len(last_name(text_of(reported.expr)).rpartition("_")[2]) < 3
    is_counted = value.has(From.COUNT, From.TOTAL) or (not is_short and value.has(From.CONSTANT))
    return is_counted and not (reported.mapping or value.refs or value.has(From.PATH, From.TEXT, From.SCHEDULE))


def _is_ordinal(reported: ReportedValue) -> bool:
    """Whether the text numbers something by a value, or says up to which rank: ``Example #{i}``, ``Hits @ {k}``."""
    return reported.before.rstrip().endswith(("@", "#")) and not DECIMALS.search(reported.spec)


def _is_said_quality(value: Value, variable: str, said: str) -> bool:
    """Whether text and variable name one quality that is computed of counts, and is none: ``f1 score: {f1}``."""
    name = last_name(variable)
    counted = value.has(From.TOTAL) and not value.has(From.SCHEDULE, From.PATH, From.CLOCK, From.RANDOM)
    is_count = not _COUNTED.isdisjoint((*words_of(name), *words_of(said)))
    is_named = is_metric_word(name) and is_metric_word(said) and _names_quality(name) and _names_quality(said)
    return counted and is_named and not is_count and meaning_of(name) == meaning_of(said)


def _is_best_of_counts(value: Value, reported: ReportedValue, variable: str) -> bool:
    """Whether numbers are kept that were the best, be they made of counts: ``if hr > best_hr: best_hr = hr``."""
    is_exact = DECIMALS.search(reported.spec) is not None and value.plain() <= {From.CONSTANT, From.COUNT, From.TOTAL}
    return is_exact and _names_quality(last_name(variable)) and is_kept_with_best(reported)


def _is_share_of_counts(flow: Evaluator, value: Value, reported: ReportedValue, variable: str, sink: str) -> bool:
    """Whether counts were made into what has the name of a quality: ``precision = hits / found``."""
    if not value.plain() <= {From.COUNT, From.TOTAL, From.CONSTANT} or not value.plain():
        return False
    last = last_name(variable)
    is_averaged = _is_averaged(flow, reported.expr, reported.scope)
    if not (value.has(From.COUNT) or is_averaged):
        # Of lengths alone, only what is divided: ``precision = len(right) / len(found)``.
        is_shown = DECIMALS.search(reported.spec) is not None or is_metric_word(last)
        return (
            value.has(From.TOTAL)
            and is_shown
            and _names_quality(last)
            and is_share(flow, reported.expr, reported.scope)
        )
    if sink in _TRACKERS and is_metric_word(reported.tag) and _names_quality(reported.tag):
        return True
    is_strong = is_metric_word(last) and is_number(flow, reported, sink)
    return _names_quality(last) and (is_strong or is_averaged or is_share(flow, reported.expr, reported.scope))


def _is_averaged(flow: Evaluator, expr: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Whether a mean is taken, by a function or by a meter of the project, or a name was given one: ``exact.avg``."""
    if isinstance(expr, ast.Name) and depth < MAX_NAMES:
        given = ((unpacked(each), each.scope) for each in bindings_of(expr.id, scope) if each.kind == "assign")
        return any(value is not None and _is_averaged(flow, value, home, depth + 1) for value, home in given)
    if isinstance(expr, ast.Call):
        return called_name(expr) in _AVERAGES
    if not isinstance(expr, ast.Attribute) or expr.attr not in _AVERAGES:
        return False
    return any(isinstance(ref, Instance) for ref in flow.resolved(expr.value, scope).refs)


def _says_same(reported: ReportedValue, name: str) -> bool:
    """Whether text and variable mean one quality, be it by words that also mean other things: ``return {ret:.1f}``."""
    said, own = words_of(words_before(reported))[-1:], words_of(name)[-1:]
    is_one = bool(said) and bool(own) and (said == own or meaning_of(said[0]) == meaning_of(own[0]))
    return is_one and _names_quality(said[0])


def _repeats(reported: ReportedValue, name: str) -> bool:
    """Whether the text names a metric, and an item of a list has its word: ``episodic return={return_values[t]}``."""
    said = words_before(reported)
    is_item = isinstance(reported.expr, ast.Subscript) and is_metric_word(said) and words_of(said)[-1] in words_of(name)
    return is_item and meaning_of(words_of(said)[-1]) is not None


def _names_quality(name: str) -> bool:
    """Whether a name is of a quality that is better higher or lower, be it by a word that also means other things."""
    meaning = meaning_of(name) if not is_counting(name) else None
    is_clear = meaning is not None and (meaning.direction is not None or is_metric_word(name))
    return is_clear and meaning is not None and meaning.kind == "quality"


def evaluated(flow: Evaluator, reported: ReportedValue) -> Value:
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


def _is_open(value: Value) -> bool:
    """Whether the analysis cannot tell where the value comes from."""
    return not value.plain() or value.has(From.UNKNOWN, From.OBJECT, From.DATA, From.WEIGHTS, From.RANDOM)


def reason_of(value: Value) -> Reason:
    """Say why a value that does not come from the training is no metric."""
    table: list[tuple[str, Reason]] = [
        (From.SCHEDULE, "setting"), (From.PATH, "path"), (From.COUNT, "counter"), (From.SETTING, "setting"),
        (From.RANDOM, "setting"), (From.TEXT, "identifier"), (From.CLOCK, "identifier"), (From.TOTAL, "constant"),
        (From.CONSTANT, "constant"),
    ]  # fmt: skip
    return next((reason for origin, reason in table if value.has(origin)), "identifier")


def _of_training(
    flow: Evaluator, value: Value, reported: ReportedValue, variable: str, description: str, sink: str
) -> Verdict:
    # What is drawn is data as often as it is a metric.
    is_named = is_metric_word(variable) or (sink != "figure" and meaning_of(last_name(variable)) is not None)
    is_named = is_named or is_item_of_report(flow, reported)
    is_named = is_named or is_scored_by_library(flow, reported.expr, reported.scope)
    has_metric_name = is_named or is_metric_word(description)
    is_timed = value.has(From.DURATION)  # a learning rate that stands before a time does not name it
    if is_schedule(variable) or (is_schedule(description) and not (is_metric_word(variable) or is_timed)):
        return Verdict(reason="setting")
    if _weighs_loss(last_name(variable)):
        return Verdict(reason="setting")
    measured = value.has(From.DURATION) or (
        value.has(From.MEMORY) and meaning_of(f"{variable} {description}") is not None
    )
    is_sum = last_name(variable) in _SUMS and not value.has(From.COUNT, From.TOTAL)
    # What the training computes and is shown with decimal places is no count: ``accuracy_epoch``.
    is_exact = DECIMALS.search(reported.spec) is not None and not value.has(From.COUNT, From.TOTAL)
    is_named_count = is_counting(last_name(variable)) and not reported.mapping and not is_exact
    is_position_alone = is_bookkeeping(last_name(variable)) or last_name(variable) in {"i", "j", "k", "n"}
    is_measured_count = measured and not is_position_alone
    if is_named_count and not is_sum and not is_metric_word(description) and not is_measured_count:
        return Verdict(reason="counter")
    is_whole = reported.mapping and (_names_samples(variable) or _is_array(reported))
    is_whole = is_whole or (value.plain() <= {From.WEIGHTS, From.LIVE, From.SETTING} and value.has(From.WEIGHTS))
    if sink in _FILES and not has_metric_name and (is_whole or _last_word(variable) in _PREDICTIONS):
        return Verdict(reason="identifier")
    is_stored = words_of(last_name(variable))[-1:] in {("ckpt",), ("checkpoint",), ("state",)}
    if reported.mapping and (is_stored or _is_one_of_samples(reported)):
        return Verdict(reason="identifier")
    if not reported.mapping and not has_metric_name:
        is_measured = value.has(From.DURATION, From.MEMORY)
        if not is_number(flow, reported, sink) and (value.has(From.TEXT) or not is_measured):
            return Verdict(reason="identifier")
        if _shows_samples(variable, reported) and not is_measured:
            return Verdict(reason="identifier")
    # The object that reports is called after what it measures, which is not what it is given: ``fid.show(images)``.
    is_unnamed = sink in TEXT_SINKS and not (is_named or measured or reported.mapping)
    is_sample = is_unnamed and _shows_samples(variable, reported)
    if is_sample and not is_metric_word(f"{reported.tag} {text_name(reported, variable)}"):
        return Verdict(reason="identifier")
    meaning = _meaning(value, variable, description)
    confidence = (
        0.62
        + 0.15 * has_metric_name
        + 0.06 * bool(NUMERIC_SPEC.search(reported.spec))
        + 0.05 * (sink not in TEXT_SINKS)
    )
    return Verdict(confidence, _origin_words(value, meaning), meaning)


def _is_array(reported: ReportedValue) -> bool:
    """Whether a table is made of what a library puts together: ``DataFrame(np.append(dates, values))``."""
    node = reported.expr
    return isinstance(node, ast.Call) and dotted_text(node.func).partition(".")[0] in {"np", "numpy", "torch", "jnp"}


def _by_words(
    flow: Evaluator, value: Value, reported: ReportedValue, variable: str, description: str, sink: str
) -> Verdict:
    """Classify by names alone a value whose origin cannot be followed."""
    last = last_name(variable)
    is_settings = reported.mapping and not is_metric_word(last) and any(map(is_settings_name, (last, *words_of(last))))
    is_settings = is_settings or (_last_word(variable) in _SETTINGS and not is_metric_word(reported.tag))
    is_weight = _weighs_loss(last) or _is_coefficient(value, last, description)
    if sink in _FILES and _last_word(variable) in _SPREADS and _NORMALISED.issuperset(words_of(last)[:-1]):
        return Verdict(reason="identifier")  # what data are normalised by
    if is_schedule(variable) or is_schedule(description) or is_settings or is_weight:
        return Verdict(reason="setting")
    if reported.mapping and _names_samples(variable):
        return Verdict(reason="identifier")
    if reported.mapping:
        is_named = is_metric_word(last) if isinstance(reported.expr, ast.Call) else meaning_of(last) is not None
        if is_named or sink not in {*TEXT_SINKS, "json", "csv"}:
            return Verdict(0.4, "a mapping of values", meaning_of(last) or UNNAMED)
        return Verdict(reason="identifier")
    if is_item(reported) and (meaning_of(description) or is_item_of_report(flow, reported)):
        return Verdict(0.45, "an item of a mapping of values", _meaning(value, variable, description))
    is_tagged = sink in _TRACKERS and is_metric_word(reported.tag)
    is_kept = DECIMALS.search(reported.spec) is not None and is_kept_with_best(reported)
    if (is_counting(last) or _is_count_word(last)) and not (is_tagged or is_kept):
        return Verdict(reason="counter" if is_counting(last) else "constant")
    by_name = is_metric_word(variable)
    by_text = is_metric_word(description) or (sink not in TEXT_SINKS and meaning_of(reported.tag) is not None)
    number = is_number(flow, reported, sink)
    # The text says that it is what the variable's last word says: ``print("F1:", f1)``.
    is_said = is_metric_word(words_before(reported)) and is_metric_word(_last_word(variable))
    is_plain = number or is_said or not value.has(From.OBJECT, From.DATA)
    is_exact = _says_same(reported, last) and DECIMALS.search(reported.spec) is not None
    is_shared = _names_quality(last) and is_share(flow, reported.expr, reported.scope)
    by_form = is_exact or is_shared or is_kept or is_best(reported) or _repeats(reported, last)
    if (by_name and is_plain) or (by_text and (number or is_named_item(reported))) or by_form:
        confidence = 0.42 + 0.1 * (by_name and by_text) + 0.05 * number
        return Verdict(confidence, "named like a metric", _meaning(value, variable, description))
    if number and DECIMALS.search(reported.spec) and split_of(words_before(reported)):
        return Verdict(0.41, "shown with decimals for a part of the data", _meaning(value, variable, description))
    is_setting = value.has(From.SETTING) and not value.has(From.UNKNOWN, From.DATA)
    is_under_tag = sink in _TRACKERS and (reported.tag or reported.label is not None)
    # A tensor under its own name: ``scalar(part.op.name, part)``.
    is_itself = sink in _SCALARS and f"{{{variable}." in reported.tag
    if (is_under_tag or is_itself) and not is_setting and (is_itself or not value.has(From.TEXT)):
        return Verdict(0.4, "given to a tracker", _meaning(value, variable, description))
    return Verdict(reason="setting" if value.has(From.SETTING) else "identifier")


def _is_coefficient(value: Value, name: str, description: str) -> bool:
    """Whether settings make what weighs a part of the loss: ``kl_coeff``, and no ``dice_coeff``, which is a metric.

    Nor is it what the text calls otherwise: ``print(f"error {weight}")``.
    """
    if name not in description.replace(" ", "_") and is_metric_word(description):
        return False
    words = words_of(name)
    meaning = meaning_of(name)
    is_weight = bool(words) and words[-1] in _COEFFICIENTS and not any(word.startswith("corr") for word in words)
    return is_weight and value.has(From.SETTING) and (meaning is None or meaning.direction is None)


def _weighs_loss(name: str) -> bool:
    """Whether a name is of what a part of the loss is multiplied with: ``loss_weights``."""
    words = words_of(name)
    return words[-1:] in {("weight",), ("weights",)} and "loss" in words[:-1]


def last_name(variable: str) -> str:
    """Last part of a dotted variable, or the key of an item: its own name."""
    key = re.search(r"\[['\"]([^'\"]+)['\"]\]$", variable)
    if key is not None:
        return key[1]
    return re.sub(r"(\(\)|(\[[^\[\]]*\])+)$", "", variable).rpartition(".")[2]


def _last_word(variable: str) -> str:
    return next(reversed(words_of(without_unit(last_name(variable)))), "")


def _is_count_word(name: str) -> bool:
    return bool(re.match(r"(num|n|total|max|min)_", name)) and not is_metric_word(name)


def _shows_samples(variable: str, reported: ReportedValue) -> bool:
    """Whether samples are shown as they are, and no number with decimals that is made of them."""
    return (_names_samples(variable) or _is_one_of_samples(reported)) and DECIMALS.search(reported.spec) is None


def _is_one_of_samples(reported: ReportedValue) -> bool:
    """Whether a loop over samples gives a value as it is: ``for item in train_data: print(item)``."""
    bindings = bindings_of(reported.expr.id, reported.scope) if isinstance(reported.expr, ast.Name) else []
    return bool(bindings) and all(
        each.kind == "for" and not each.path and isinstance(each.value, ast.Name) and _names_samples(each.value.id)
        for each in bindings
    )


def _names_samples(variable: str) -> bool:
    words = words_of(last_name(variable))
    return bool(words) and words[-1] in _SAMPLES


def _meaning(value: Value, variable: str, description: str) -> Meaning:
    if value.has(From.MEMORY) and not value.has(From.LIVE):
        return Meaning("resource", "lower")
    meaning = meaning_of(description) or meaning_of(variable)
    if meaning is not None and meaning.kind == "resource" and value.has(From.LIVE) and not value.has(From.MEMORY):
        meaning = meaning_of(variable)
        meaning = None if meaning is not None and meaning.kind == "resource" else meaning
    # Where chance has its part it is no time alone: a loss of random weights that the clock changes.
    if value.has(From.DURATION) and not value.has(From.LIVE, From.RANDOM):
        return meaning if meaning is not None and meaning.kind == "speed" else Meaning("speed", "lower")
    return meaning or UNNAMED


def _origin_words(value: Value, meaning: Meaning) -> str:
    if value.has(From.LIVE):
        return "computed from the model's output" if meaning.kind != "speed" else "measured while training"
    return "a measured time" if value.has(From.DURATION) else "a measured amount of memory"
