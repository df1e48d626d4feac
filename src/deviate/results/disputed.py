"""Where the accuracy that follows from captured labels is not the one that the program reports, which is right."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from decimal import Decimal

from deviate.analyse.naming.words import split_of, words_of
from deviate.collect.matching import EveryPass, Predictions, Withheld

#: Run, iteration, metric and value of what was recorded.
Recorded = Sequence[tuple[int, int, str, float]]

_ACCURACY = {"acc", "accuracy"}

#: Accuracies of another kind than the share of correct labels in one pass.
_OTHERS = {
    *("top", "topk", "top2", "top3", "top5", "top10", "balanced", "mean", "class", "per", "micro", "macro", "weighted"),
    *("best", "avg", "average", "ema", "running", "smoothed", "max", "seq", "sequence", "exact"),
}


def recorded_at(values: Recorded) -> dict[str, dict[tuple[int, int], list[float]]]:
    """Return the values of each metric by run and iteration."""
    recorded: dict[str, dict[tuple[int, int], list[float]]] = {}
    for run, iteration, metric, value in values:
        recorded.setdefault(metric, {}).setdefault((run, iteration), []).append(value)
    return recorded


def disputed_accuracy(
    places: Sequence[tuple[int, int]], shares: Sequence[float | None], values: Recorded, proven: Collection[str | None]
) -> str:
    """Return an accuracy that the program reports of passes and that has other values than their labels give.

    Empty where none is, or one agrees to the digits that it has.

    Parameters
    ----------
    places : sequence of (int, int)
        Run and iteration of each pass.
    shares : sequence of float or None
        Share of correct labels in each.
    values : Recorded
        What was recorded there.
    proven : collection of str
        Metrics that have the values of other passes.
    """
    known = {name: at for name, at in recorded_at(values).items() if name not in proven and _is_accuracy(name)}
    at_all = {name: at for name, at in known.items() if all(place in at for place in places)}
    pairs = list(zip(places, shares, strict=True))
    for at in at_all.values():
        if all(share is not None and any(rounds_to(share, value) for value in at[place]) for place, share in pairs):
            return ""
    return next(iter(at_all), "")


def _is_accuracy(name: str) -> bool:
    words = set(words_of(name))
    return not words.isdisjoint(_ACCURACY) and words.isdisjoint(_OTHERS) and split_of(name) != "train"


def rounds_to(share: float, value: float) -> bool:
    """Tell whether a share, or its percentage, is a value to as many digits as that has.

    Examples
    --------
    >>> rounds_to(0.9144, 0.91), rounds_to(0.9144, 91.4), rounds_to(0.9144, 0.93)
    (True, True, False)
    """
    exponent = Decimal(repr(value)).as_tuple().exponent
    unit = 10.0**exponent if isinstance(exponent, int) else 0.0
    return any(abs(form - value) <= 0.51 * unit + 1e-4 * max(1.0, abs(form)) for form in (share, 100 * share))


def without_targets(predicted: Predictions) -> Predictions:
    """Return predictions without what tells which of them are correct."""
    return dataclasses.replace(predicted, targets=None)


def every_without_targets(every: EveryPass | Withheld | None) -> EveryPass | Withheld | None:
    """Return every pass without them."""
    if not isinstance(every, EveryPass):
        return every
    return dataclasses.replace(every, predictions=without_targets(every.predictions))
