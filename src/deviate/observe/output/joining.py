"""Which slots show the values of which metrics that were found in the source."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from deviate.lexicon.words import is_time_or_rate, meaning_of, split_of, words_of
from deviate.observe.output.names import DURATIONS, UNNAMED_TIMES
from deviate.observe.output.slots import SLACK, Slot, SlotSeries

#: A match is accepted if values of that size, range and trend would agree by chance less often than this.
MOST_CHANCE = 1e-3
#: The same where the slot is called what the metric is called.
MOST_CHANCE_NAMED = 0.05
#: A form of line shows metrics if this part of its values does: another value may be printed in the same form.
MOSTLY = 0.9

#: Percentages are printed of fractions, and fractions are written to files where percentages are printed.
FACTORS = (1.0, 100.0, 0.01)

Floats = NDArray[np.float64]

#: Of numbers at the ends of the range, and of what is not finite, infinity and NaN are the answers that are wanted.
_any_size = np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore")


@_any_size
def chance(series: SlotSeries, recorded: Floats) -> float:
    """Bound how likely values like these are to agree with those of a slot by chance; 1 where they do not agree.

    Parameters
    ----------
    series : SlotSeries
        What was printed.
    recorded : float64 array, shape (m,)
        The values of a metric in the order they were recorded, from the same run.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    Every printed value must be a recorded one, or a hundred times that, or a hundredth, within half a unit of its last
    digit, and their order must be the same, be it that one is printed again right behind itself; where fewer are
    printed than recorded, any in between may be passed over. A printed value agrees by chance with probability at most
    q = u / s, where u is the unit of its last digit, or the spacing of 32-bit floats where that is more, and s how far
    recorded values typically lie from their neighbours (the median of the absolute differences), as another metric may
    follow the same trend; of a single value, s is the power of ten above it. Values that are printed again and again
    count once, and so do those recorded where enough of them are left. The bound is the product of q over the values,
    times the number of ways to choose them from the recorded; two, if they are the first or the last of equal parts.
    """
    if not np.isfinite(series.values).any():
        return 1.0
    return min(_chance_in(form, recorded) for form in _forms(series))


def _forms(series: SlotSeries) -> Iterator[SlotSeries]:
    """Yield what was printed, and without what repeats the number before: a bar is drawn again with what it had."""
    yield series
    new = _is_new(series.values)
    if not new.all():
        yield SlotSeries(series.slot, series.values[new], series.offsets[new], series.precision[new])


def _chance_in(series: SlotSeries, recorded: Floats) -> float:
    if len(series.values) > len(recorded):
        return 1.0
    apart = recorded[_is_new(recorded)]
    forms = [apart] if len(series.values) <= len(apart) else []
    forms += [recorded] if not forms or len(apart) < len(recorded) else []
    return min(_chance_of(series, form * factor) for form in forms for factor in FACTORS)


def _is_new(values: Floats) -> NDArray[np.bool_]:
    """Whether each value is another than the one before, as where two places of the source report one in turn."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]


def _chance_of(series: SlotSeries, recorded: Floats) -> float:
    if not _is_in_order(series, recorded):
        return 1.0
    values = series.values[np.isfinite(series.values)]
    printed = 10.0 ** -series.precision[np.isfinite(series.values)].astype(np.float64)
    units = np.maximum(printed, 2 * SLACK * np.abs(values))
    _, once = np.unique(values, return_index=True)
    spread = _typical_step(recorded)
    scales = np.full(len(once), spread) if spread is not None else _scale(values[once])
    likely = np.where(scales > 0, units[once] / scales, 1.0)
    ways = _log_ways(series, recorded) if len(recorded) > len(series.values) else 0.0
    return float(min(1.0, math.exp(min(0.0, float(np.log(np.clip(likely, 1e-300, 1.0)).sum()) + ways))))


def _typical_step(recorded: Floats) -> float | None:
    """Return the median difference of neighbours; None for less than two values."""
    finite = recorded[np.isfinite(recorded)]
    return float(np.median(np.abs(np.diff(finite)))) if len(finite) > 1 else None


def _scale(values: Floats) -> Floats:
    """Return the powers of ten above the values; 0 for 0."""
    return np.where(values == 0, 0.0, 10.0 ** np.ceil(np.log10(np.abs(values))))


def _log_ways(series: SlotSeries, recorded: Floats) -> float:
    """Return the logarithm of how many choices among the recorded values there are that could have agreed.

    Where each epoch shows its first value, or its last, there are these two.
    """
    every, chosen = len(recorded), len(series.values)
    step = every // chosen
    ends = (recorded[begin::step] for begin in (0, step - 1) if step * chosen == every)
    if any(bool(np.all(_agree(series.values, shown, series.halves))) for shown in ends):
        return math.log(2)
    return math.lgamma(every + 1) - math.lgamma(chosen + 1) - math.lgamma(every - chosen + 1)


def _is_in_order(series: SlotSeries, recorded: Floats) -> bool:
    """Whether the printed values are recorded ones, rounded as printed, in the same order."""
    halves = series.halves
    if len(recorded) == len(series.values):
        return bool(np.all(_agree(series.values, recorded, halves)))
    if _is_every_nth(series.values, halves, recorded):
        return True
    at = 0
    for value, half in zip(series.values.tolist(), halves.tolist(), strict=True):
        at = _next_match(value, half, recorded, at)
        if at < 0:
            return False
        at += 1
    return True


def _is_every_nth(printed: Floats, halves: Floats, recorded: Floats) -> bool:
    """Whether recorded values in even steps are printed: the commonest order, which need not be searched one by one."""
    first = _next_match(float(printed[0]), float(halves[0]), recorded, 0)
    if first < 0 or len(printed) < 2:
        return first >= 0
    second = _next_match(float(printed[1]), float(halves[1]), recorded, first + 1)
    chosen = recorded[first :: second - first] if second > 0 else recorded[:0]
    return len(chosen) >= len(printed) and bool(np.all(_agree(printed, chosen[: len(printed)], halves)))


def _agree(printed: Floats | float, recorded: Floats, halves: Floats | float) -> NDArray[np.bool_]:
    """Compare element by element; what is not finite must be the same."""
    near = np.abs(recorded - printed) <= halves
    same: NDArray[np.bool_] = near | (recorded == printed) | (np.isnan(recorded) & np.isnan(printed))
    return same


def _next_match(value: float, half: float, recorded: Floats, at: int) -> int:
    """Return the position of the first recorded value from `at` on that is printed like this; -1 if there is none."""
    width = 32
    while at < len(recorded):
        hits = np.flatnonzero(_agree(value, recorded[at : at + width], half))
        if len(hits):
            return at + int(hits[0])
        at, width = at + width, width * 8
    return -1


def join(series: Sequence[SlotSeries], recorded: Mapping[str, Floats]) -> dict[Slot, str]:
    """Return the metric whose values each slot shows, by the slots that show one.

    Several slots may show one metric (the output and a file). Where several metrics explain a slot, that with the name
    of the slot is chosen, then the one that is least likely to agree by chance; of equal ones the first. What
    `repeats` a metric shows it, whatever the chance.
    """
    joined: dict[Slot, str] = {}
    for one in series:
        candidates = []
        for metric, values in recorded.items():
            same_name = says_the_same(one.slot.name, metric)
            likely = chance(one, values)
            if likely <= (MOST_CHANCE_NAMED if same_name else MOST_CHANCE) or repeats(one, metric, values):
                candidates.append((not same_name, likely, metric))
        if candidates:
            joined[one.slot] = min(candidates, key=lambda candidate: candidate[:2])[2]
    return joined


@_any_size
def shows_several(series: SlotSeries, checked: NDArray[np.bool_], recorded: Mapping[str, Floats]) -> str:
    """Return the metric that most of the `checked` values of a slot are of, where nearly all are of some metric.

    Lines that hold a number alone are one slot, whatever prints them: the numbers of several metrics in turn. So are
    the bars of a training and of the evaluation after it.

    Parameters
    ----------
    series : SlotSeries
        What was printed.
    checked : bool array, shape (n,)
        The values that must be recorded ones.
    recorded : mapping of str to float64 array
        By name, the values of metrics from the same run.

    Returns
    -------
    str
        Empty where more than a tenth of the values are of no metric, or where so many agree by chance more often than
        `MOST_CHANCE`: the bound is the product of m u / s over the different values, with m values recorded, u the unit
        of the last digit and s the power of ten above the value.
    """
    checked = checked & np.isfinite(series.values)
    values, first = np.unique(series.values[checked], return_index=True)
    halves = series.halves[checked][first]
    shown = {metric: _is_among(values, np.sort(each), halves) for metric, each in recorded.items() if len(each)}
    known = np.any(list(shown.values()), axis=0) if shown else np.zeros(len(values), bool)
    if not len(values) or known.mean() < MOSTLY:
        return ""
    likely = np.minimum(1.0, sum(map(len, recorded.values())) * 2 * halves / _scale(values))[known]
    return max(shown, key=lambda metric: int(shown[metric].sum())) if likely.prod() <= MOST_CHANCE else ""


def _is_among(values: Floats, ordered: Floats, halves: Floats) -> NDArray[np.bool_]:
    """Say of each value whether one of the ordered ones lies within its half unit."""
    return np.searchsorted(ordered, values - halves) < np.searchsorted(ordered, values + halves, side="right")


@_any_size
def repeats(series: SlotSeries, metric: str, recorded: Floats) -> bool:
    """Whether a slot has the very words of a metric for its name, and shows each of its values.

    Of a metric that is logged within a group (``rollout/ep_rew_mean``), the words may be those behind the group alone.
    Such a slot adds nothing to the metric, though its values may be too flat at their digits to tell it from others, or
    all NaN.
    """
    names = (series.slot.name, series.slot.words)
    said = [set(words_of(metric)), _words_within(metric)]
    same = any(set(words_of(name)) in said for name in names) or _is_time(series.slot, metric)
    return (
        same
        and len(series.values) == len(recorded) > 0
        and any(_is_in_order(series, recorded * factor) for factor in FACTORS)
    )


def _is_time(slot: Slot, metric: str) -> bool:
    """Whether nothing but its unit names a slot, which is that of a duration, and the metric is a time."""
    return slot.unit in DURATIONS and slot.name in UNNAMED_TIMES and is_time_or_rate(metric)


def _words_within(metric: str) -> set[str]:
    """Return the words of a metric behind the group that it is logged within: ``rollout/ep_rew_mean``."""
    return set(words_of(metric.rpartition("/")[2]))


#: Numbers that stand alone in a name; ``(2)`` and ``#2`` only say that the name comes again.
_NUMBERS = re.compile(r"(?<![\w.(#])\d+(?![\w.)])")


def says_the_same(name: str, other: str) -> bool:
    """Whether two names mean one metric: of the same part of the data, and one in the words of the other.

    Words that name no kind of metric must be the same, but for those that say which part.

    >>> says_the_same("val acc", "val_acc"), says_the_same("Loss", "train loss"), says_the_same("loss", "accuracy")
    (True, True, False)
    >>> says_the_same("epochs", "Epochs"), says_the_same("epochs", "total epochs")
    (True, False)
    >>> says_the_same("train result", "training result"), says_the_same("macro avg f1-score", "0 f1-score")
    (True, False)
    """
    # The numbers within names say which one it is: of class 0, the top 5.
    if _NUMBERS.findall(name) != _NUMBERS.findall(other):
        return False
    words, others = set(words_of(name)), set(words_of(other))
    splits = {split_of(name), split_of(other)} - {""}
    shared = {word for word in words & others if meaning_of(word) is not None}
    related = bool(shared) and (words <= others or others <= words)
    own, other_own = ({word for word in each if not split_of(word)} for each in (words, others))
    same = bool(words) and (words in (others, _words_within(other)) or (bool(own) and own == other_own))
    return len(splits) < 2 and (related or same)
