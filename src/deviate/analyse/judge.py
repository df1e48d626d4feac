"""Decide whether a shown value is a metric, and say why."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deviate.analyse.abstract import (
    CLOCK,
    CONSTANT,
    COUNT,
    DATA,
    DURATION,
    LIVE,
    MEMORY,
    METRIC_ORIGINS,
    OBJECT,
    PATH,
    RANDOM,
    SCHEDULE,
    SETTING,
    TEXT,
    TOTAL,
    UNKNOWN,
    WEIGHTS,
    Instance,
    Value,
)
from deviate.analyse.findings import Reason
from deviate.analyse.forms import (
    NUMERIC_SPEC,
    SCALAR_SINKS,
    is_item,
    is_item_of_report,
    is_number,
    is_slice_of_mappings,
    joins_settings,
)
from deviate.analyse.mappings import is_list
from deviate.analyse.naming import text_name
from deviate.analyse.program import called_name
from deviate.analyse.texts import Shown
from deviate.analyse.words import (
    UNNAMED,
    Meaning,
    is_bookkeeping,
    is_counting,
    is_episode_length,
    is_metric_word,
    is_schedule,
    is_settings_name,
    meaning_of,
    words_of,
)

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

_SAMPLES = {
    "pred", "preds", "prediction", "predictions", "output", "outputs", "target", "targets", "label", "labels",
    "sample", "samples", "text", "texts", "prompt", "sentence", "sentences", "image", "images", "word", "words",
    "token", "tokens", "input", "inputs", "batch", "data", "completion", "response", "answer", "question",
    "caption", "state_dict", "model", "optimizer", "scheduler", "dataset", "loader", "tokenizer", "device", "shape",
    "dtype", "path", "file", "filename", "dir", "genotype",
}  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """Either a metric, with how sure that is, or the reason against it."""

    confidence: float = 0.0
    why: str = ""
    meaning: Meaning | None = None
    reason: Reason | None = None


def judge(flow: Flow, shown: Shown, variable: str, sink: str, hint: str = "", earlier: str = "") -> Verdict:
    """Judge one shown value by where it comes from, then by its names and format.

    Parameters
    ----------
    flow : Flow
        Evaluates it.
    shown : Shown
        The value, with the text around it.
    variable : str
        Its root.
    sink : str
        What it is reported to.
    hint : str
        Name and class of the project's object that is told.
    earlier : str
        Name that the text gave to the value before, where that names this one too.
    """
    value = shown_value(flow, shown)
    said = f"{shown.tag} {text_name(shown, variable, earlier)} {hint}"
    if isinstance(shown.expr, ast.Constant):
        return Verdict(reason="constant")
    if isinstance(shown.expr, ast.Call) and value.has(OBJECT) and value.refs and called_name(shown.expr)[:1].isupper():
        return Verdict(reason="identifier")
    if is_list(flow, shown.expr, shown.scope) if shown.mapping else is_slice_of_mappings(flow, shown):
        return Verdict(reason="identifier")
    if joins_settings(flow, shown):
        return Verdict(reason="setting")
    if is_bookkeeping(shown.tag):
        return Verdict(reason="counter")
    if value.has(*METRIC_ORIGINS):
        return _of_training(value, shown, variable, said, sink)
    if _is_open(value):
        return _by_words(value, shown, variable, said, sink)
    if value.has(COUNT) and is_episode_length(said):
        return Verdict(0.6, "the length of an episode", meaning_of(said))
    return Verdict(reason=reason_of(value))


def shown_value(flow: Flow, shown: Shown) -> Value:
    """Evaluate what is shown, after the attributes that the format text reads."""
    expr = shown.expr
    for name in [one for one in shown.reads.split(".") if one.isidentifier()]:
        expr = ast.copy_location(ast.Attribute(expr, name, ast.Load()), expr)
    value = flow.resolved(expr, shown.scope)
    if shown.reads and not value.has(*METRIC_ORIGINS):
        return flow.resolved(shown.expr, shown.scope)
    if shown.mapping or value.element is not None:
        inner = [one for one in (value.element, *value.keys.values()) if one is not None]
        origins = value.origins.union(*(flow.resolve(one).origins for one in inner))
        return Value(frozenset(one for one in origins if isinstance(one, str)), value.refs)
    return value


def _is_open(value: Value) -> bool:
    """Whether the analysis cannot tell where the value comes from."""
    return not value.plain() or value.has(UNKNOWN, OBJECT, DATA, WEIGHTS, RANDOM)


def reason_of(value: Value) -> Reason:
    """Say why a value that does not come from the training is no metric."""
    table: list[tuple[str, Reason]] = [
        (SCHEDULE, "setting"), (PATH, "path"), (COUNT, "counter"), (SETTING, "setting"), (RANDOM, "setting"),
        (TEXT, "identifier"), (CLOCK, "identifier"), (TOTAL, "constant"), (CONSTANT, "constant"),
    ]  # fmt: skip
    return next((reason for origin, reason in table if value.has(origin)), "identifier")


def _of_training(value: Value, shown: Shown, variable: str, said: str, sink: str) -> Verdict:
    named = is_metric_word(variable) or is_metric_word(said) or meaning_of(last_name(variable)) is not None
    if is_schedule(variable) or (is_schedule(said) and not is_metric_word(variable)):
        return Verdict(reason="setting")
    measured = value.has(DURATION) or (value.has(MEMORY) and meaning_of(f"{variable} {said}") is not None)
    if is_counting(last_name(variable)) and not is_metric_word(said) and not measured:
        return Verdict(reason="counter")
    if value.has(TEXT) and not (named or is_number(shown, sink)) and not shown.mapping:
        return Verdict(reason="identifier")
    if not shown.mapping and not named and not is_number(shown, sink) and not value.has(DURATION, MEMORY):
        return Verdict(reason="identifier")
    if shown.mapping and words_of(last_name(variable))[-1:] in {("ckpt",), ("checkpoint",), ("state",)}:
        return Verdict(reason="identifier")
    if not named and not value.has(DURATION, MEMORY) and _names_samples(variable) and not shown.mapping:
        return Verdict(reason="identifier")
    meaning = _meaning(value, variable, said)
    confidence = 0.62 + 0.15 * named + 0.06 * bool(NUMERIC_SPEC.search(shown.spec)) + 0.05 * (sink in SCALAR_SINKS)
    return Verdict(confidence, _origin_words(value, meaning), meaning)


def _by_words(value: Value, shown: Shown, variable: str, said: str, sink: str) -> Verdict:
    """Judge by names alone a value whose origin cannot be followed."""
    last = last_name(variable)
    if is_schedule(variable) or is_schedule(said):
        return Verdict(reason="setting")
    if shown.mapping and is_settings_name(last):
        return Verdict(reason="setting")
    if shown.mapping:
        if meaning_of(last) is not None or sink in SCALAR_SINKS:
            return Verdict(0.4, "a mapping of values", meaning_of(last) or UNNAMED)
        return Verdict(reason="identifier")
    if is_item(shown) and (meaning_of(said) or is_item_of_report(shown)):
        return Verdict(0.45, "an item of a mapping of values", _meaning(value, variable, said))
    if is_counting(last) or _is_count_word(last):
        return Verdict(reason="counter" if is_counting(last) else "constant")
    by_name = is_metric_word(variable)
    by_text = is_metric_word(said) or (sink in SCALAR_SINKS and meaning_of(shown.tag) is not None)
    number = is_number(shown, sink)
    if (by_name and (number or not value.has(OBJECT, DATA))) or (by_text and number):
        return Verdict(
            0.42 + 0.1 * (by_name and by_text) + 0.05 * number, "named like a metric", _meaning(value, variable, said)
        )
    return Verdict(reason="setting" if value.has(SETTING) else "identifier")


def last_name(variable: str) -> str:
    """Last part of a dotted variable: its own name."""
    return re.sub(r"\(\)$", "", variable).rpartition(".")[2]


def _is_count_word(name: str) -> bool:
    return bool(re.match(r"(num|n|total|max|min)_", name)) and not is_metric_word(name)


def _names_samples(variable: str) -> bool:
    words = words_of(last_name(variable))
    return bool(words) and words[-1] in _SAMPLES


def _meaning(value: Value, variable: str, said: str) -> Meaning:
    if value.has(MEMORY) and not value.has(LIVE):
        return Meaning("resource", "lower")
    found = meaning_of(said) or meaning_of(variable)
    if found is not None and found.kind == "resource" and value.has(LIVE):
        found = meaning_of(variable) if not value.has(MEMORY) else found
        found = None if found is not None and found.kind == "resource" and not value.has(MEMORY) else found
    if value.has(DURATION) and not value.has(LIVE) and (found is None or found.kind not in {"speed", "loss"}):
        return Meaning("speed", "lower")
    return found or Meaning("speed", "lower") if value.has(DURATION) and not value.has(LIVE) else found or UNNAMED


def _origin_words(value: Value, meaning: Meaning) -> str:
    if value.has(LIVE):
        return "computed from the model's output" if meaning.kind != "speed" else "measured while training"
    return "a measured time" if value.has(DURATION) else "a measured amount of memory"


def is_meter(value: Value) -> bool:
    """Whether a value is an object of the project that keeps a number."""
    return any(isinstance(ref, Instance) for ref in value.refs)
