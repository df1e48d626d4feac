"""Which numbers are the clock of a log, or its count: they lead lines of all kinds, and only go up."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from deviate.observe.output.slots import SlotSeries
from deviate.observe.output.templates import NUMBER

#: Kinds of lines and lines of a run from which on numbers that go up are no chance: five go up by chance once in 120.
FEWEST_TEMPLATES, FEWEST_LINES = 3, 5

Key = tuple[str, str, int]


def leading_clocks(runs: Mapping[str, Sequence[SlotSeries]]) -> set[Key]:
    """Return the slots that lead lines of several kinds, and whose numbers never go down from line to line in any run.

    `runs` are what each run of a variant printed.
    """
    sources = {each.slot.source for series in runs.values() for each in series if _leads(each)}
    return {key for source in sources for key in _of_source(source, list(runs.values()))}


def _leads(series: SlotSeries) -> bool:
    """Whether nothing but marks and blanks stand before the number."""
    before = series.slot.template.split(NUMBER)[0]
    return series.slot.position == 0 and not series.slot.exact and re.search(r"\w|⟨", before) is None


def _of_source(source: str, runs: Sequence[Sequence[SlotSeries]]) -> set[Key]:
    leading = [[each for each in series if each.slot.source == source and _leads(each)] for series in runs]
    # A run whose files are missing changes nothing.
    leading = [series for series in leading if series]
    return {each.slot.key for series in leading for each in series} if all(map(_is_clock, leading)) else set()


def _is_clock(series: Sequence[SlotSeries]) -> bool:
    if len(series) < FEWEST_TEMPLATES:
        return False
    order = np.argsort(np.concatenate([each.offsets for each in series]), kind="stable")
    values = np.concatenate([each.values for each in series])[order]
    return len(values) >= FEWEST_LINES and values[-1] > values[0] and bool(np.all(values[1:] >= values[:-1]))
