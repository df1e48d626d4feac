"""Rows of many numbers: matrices, weights, stored models. They are data, and no metrics, though runs differ in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from deviate.analyse.naming.words import is_bookkeeping, is_counting, is_metric_word, word_lists, words_of
from deviate.collect.observed.slots import MOST_ITEMS, Slot
from deviate.collect.observed.templates import LIST, NUMBER

#: So many numbers in a row under one name are data.
MANY = 4
#: Rows under one name whose length varies are data from this length on.
FEW = 3
#: So many numbers in a row that nothing names may be metrics; more are a table of data.
MOST_UNNAMED = 10

ROW = "one of many numbers in a row under one name"
MATRIX = "part of a matrix or vector"
WEIGHT = "the name is of a model's weights"
STORED = "in a file that holds rows of numbers"

_WEIGHTS = word_lists(__file__)["weights"]
_GAPS = r"[\s,;|]+"
_RUN = re.compile(rf"{NUMBER}(?:{_GAPS}{NUMBER})+")
_BARE_LIST = re.compile(rf"\s*{LIST},?\s*")
_ARRAY = re.compile(rf"\b(?:tensor|array|Array)\(\s*(?:\[[\s\[]*{NUMBER}|\[*\s*{LIST})")
#: Logs, as are files that report metrics by name.
_OUTPUT = {"stdout", "stderr"}

Key = tuple[str, str, int]


def data_slots(slots: Iterable[tuple[Slot, int]]) -> dict[Key, str]:
    """Return the slots that hold data, with the reason; each slot comes with how many values it has.

    A slot named like a metric is none of them, however many stand in its row.
    """
    every = list(slots)
    counted = [(slot, count) for slot, count in every if not is_metric_word(slot.words)]
    logs = _OUTPUT | {slot.source for slot, _ in every if is_metric_word(slot.words)}
    found: dict[Key, str] = {}
    for source in dict.fromkeys(slot.source for slot, _ in counted):
        own = [(slot, count) for slot, count in counted if slot.source == source]
        rows = _of_source([slot for slot, _ in own])
        in_rows = sum(count for slot, count in own if slot.key in rows)
        if source not in logs and 2 * in_rows > sum(count for _, count in own):
            rows = {slot.key: rows.get(slot.key, STORED) for slot, _ in own}
        found.update(rows)
    return found


def _of_source(slots: Sequence[Slot]) -> dict[Key, str]:
    templates = list(dict.fromkeys(slot.template for slot in slots))
    torn = {template for template in templates if _is_torn(template)}
    torn_lengths = {_longest(template) for template in torn if template.count("[") > template.count("]")}
    lengths: dict[str, set[int]] = {}
    for template in templates:
        lengths.setdefault(_RUN.sub("", template, count=1), set()).add(_longest(template))
    found: dict[Key, str] = {}
    for slot in slots:
        label = _RUN.sub("", slot.template, count=1)
        reason = WEIGHT if _is_weight(slot.words) else ""
        is_inner = bool(torn) and not slot.words and _is_inner(slot.template, torn_lengths)
        if slot.template in torn or _is_nested(slot.template) or is_inner or _ARRAY.search(slot.template):
            reason = MATRIX
        elif _is_under_one_name(slot) and _is_row(_longest(slot.template), lengths[label], label):
            reason = ROW
        if reason:
            found[slot.key] = reason
    return found


def _is_torn(template: str) -> bool:
    """Whether a line begins or ends what goes over several lines: ``[[1 2]``, ``tensor([0.1, 0.2,``."""
    return template.count("[") != template.count("]")


def _is_inner(template: str, lengths: set[int]) -> bool:
    """Whether a line without words is a middle row of an array whose first or last row is in the log."""
    if _BARE_LIST.fullmatch(template):
        return True
    return _RUN.fullmatch(template.strip()) is not None and _longest(template) in lengths


def _is_nested(template: str) -> bool:
    """Whether a key of a JSON file leads to lists in lists."""
    return "*/*" in template


def _longest(template: str) -> int:
    return max((run[0].count(NUMBER) for run in _RUN.finditer(template)), default=0)


def _is_row(length: int, lengths: set[int], label: str) -> bool:
    """Whether numbers in a row are too many to be metrics of one name.

    `lengths` are those of all rows in the log that have the same words around them.
    """
    if length > MOST_ITEMS:
        return True
    if not re.search(r"[^\W\d_]", label):
        return length > MOST_UNNAMED
    if is_counting(label) or is_bookkeeping(label):
        return False
    return length >= MANY or (len(lengths - {0}) > 1 and max(lengths) >= FEW and length > 1)


def _is_under_one_name(slot: Slot) -> bool:
    """Whether a number of a row has no name of its own: none, or that of the row, with its place in it."""
    label = words_of(re.sub(r"⟨\w+⟩", " ", slot.template))
    own = words_of(re.sub(r" \(\d+\)$", "", slot.words))
    return not own or own == label


def _is_weight(words: str) -> bool:
    return not _WEIGHTS.isdisjoint(words_of(words)[-1:])
