"""What putting evaluations, snapshots or runs together does to the spread between runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from deviate.stats.churn import churn
from deviate.stats.curves import REPORTS
from deviate.stats.ensembles import EnsembleSize
from deviate.stats.intervals import CHI_SQUARE, DEFAULT_LEVEL, Interval, cautious_sd_interval, sd_factors
from deviate.stats.pairs import Estimate
from deviate.stats.predictions import Integers, checked_targets, correctness
from deviate.stats.results import Effect, quiet
from deviate.stats.spread import Floats, spread

#: Snapshots that vote: of an even number half may stand against half.
VOTERS = (1, 3, 5, 9)

#: Why a number of ensembles has no interval.
DRAWN = "a mean over many divisions of the same runs"

JACKKNIFE = "jackknife over runs of the logarithm, t"


class Together(msgspec.Struct, frozen=True, kw_only=True):
    """So many things put together within each run, or so many runs; the first row of several is of one."""

    size: int
    #: Values that the SD is of: one a run, or as many ensembles as have no run in common.
    values: int
    mean: float
    sd: float | None
    ci_sd: Interval
    #: `sd` over that of one.
    ratio: Effect
    #: Share of examples that two of these values label differently; None without labels.
    churn: Estimate | None = None


def reports_together(reports: ArrayLike, level: float = DEFAULT_LEVEL) -> list[Together]:
    """Measure the mean of the last reports of a number; `reports` has shape ``(n_runs, n_reports)``, the last one last.

    Examples
    --------
    >>> one, two = reports_together([[1.0, 3.0], [2.0, 1.0], [2.0, 2.0]])
    >>> one.sd, round(two.mean, 4), round(two.sd, 4), round(two.ratio.value, 4)
    (1.0, 1.8333, 0.2887, 0.2887)
    """
    table = np.asarray(reports, np.float64)
    return [
        _within(size, table[:, -size:].mean(axis=1), table[:, -1], level) for size in REPORTS if size <= table.shape[1]
    ]


def snapshots_together(labels: ArrayLike, targets: ArrayLike, level: float = DEFAULT_LEVEL) -> list[Together]:
    """Measure the vote of the last snapshots of each run; of several labels with most votes the latest wins.

    `labels` has shape ``(n_runs, n_examples, n_snapshots)``, the last snapshot last.
    """
    every = np.moveaxis(np.asarray(labels), 2, 0)[::-1]
    sizes = [size for size in VOTERS if size <= len(every)]
    return labels_together(sizes, lambda size: _vote(every[:size]), targets, level)


def labels_together(
    sizes: Sequence[int], labels_of: Callable[[int], Integers], targets: ArrayLike, level: float
) -> list[Together]:
    """Measure labels of runs, shape ``(n_runs, n_examples)``, that come of putting so many things together."""
    single = _accuracies(labels_of(1), targets)
    return [
        _within(size, _accuracies(labels, targets), single, level, churn(labels, level).mean)
        for size in sizes
        for labels in [labels_of(size)]
    ]


def runs_together(ensembles: Sequence[EnsembleSize], runs: int, sd: float | None, level: float) -> list[Together]:
    """Give ensembles of runs the interval of the SD of as many of them as have no run in common.

    Their SD is a mean over many divisions of the runs, so the interval is rather too wide.
    """
    return [_between(each, runs // each.size, sd, level) for each in ensembles]


def _between(each: EnsembleSize, disjoint: int, single: float | None, level: float) -> Together:
    interval = none = Interval(level=level, method=CHI_SQUARE, reason=each.reason or DRAWN)
    if each.sd:
        low, high = (each.sd * factor for factor in sd_factors(disjoint, level))
        interval = Interval(low=low, high=high, level=level, method=CHI_SQUARE)
    return Together(
        size=each.size,
        values=disjoint,
        mean=each.accuracy,
        sd=each.sd,
        ci_sd=interval,
        ratio=Effect(value=each.sd / single if single and each.sd is not None else None, interval=none),
        churn=None if each.churn is None else Estimate(value=each.churn, interval=none),
    )


def _within(size: int, values: Floats, single: Floats, level: float, changes: Estimate | None = None) -> Together:
    measured = spread(values)
    return Together(
        size=size,
        values=values.size,
        mean=measured.mean or 0.0,
        sd=measured.sd,
        ci_sd=cautious_sd_interval(values, level),
        ratio=sd_ratio_of_pairs(values, single, level),
        churn=changes,
    )


def sd_ratio_of_pairs(a: ArrayLike, b: ArrayLike, level: float = DEFAULT_LEVEL) -> Effect:
    """Give the SD of `a` over that of `b`, both of the same runs.

    The interval is ``exp(J ± t(n-1) * s / sqrt(n))`` with J and s mean and SD of the jackknife's pseudovalues of the
    logarithm [1]_.

    References
    ----------
    .. [1] R. G. Miller, "Jackknifing variances", Annals of Mathematical Statistics 39(2), 1968.

    Examples
    --------
    >>> ratio = sd_ratio_of_pairs([1.0, 2.0, 3.0, 5.0], [2.0, 4.0, 6.5, 9.0])
    >>> round(ratio.value, 4), round(ratio.interval.low, 4), round(ratio.interval.high, 4)
    (0.5622, 0.3141, 1.2119)
    """
    table = np.array([a, b], np.float64)
    n = table.shape[1]
    whole = _log_ratio(table)
    value = math.exp(whole) if math.isfinite(whole) else None
    left_out = np.array([_log_ratio(np.delete(table, place, axis=1)) for place in range(n)])
    if n < 3 or not np.isfinite([whole, *left_out]).all():
        reason = "an interval needs three runs or more" if n < 3 else "without some run all others gave the same value"
        return Effect(value=value, interval=Interval(level=level, method=JACKKNIFE, reason=reason))
    pseudo = n * whole - (n - 1) * left_out
    half = float(special.stdtrit(n - 1, (1 + level) / 2) * pseudo.std(ddof=1)) / math.sqrt(n)
    low, high = (math.exp(float(pseudo.mean()) + sign * half) for sign in (-1, 1))
    return Effect(value=value, interval=Interval(low=low, high=high, level=level, method=JACKKNIFE))


def _log_ratio(table: Floats) -> float:
    """Return the logarithm of the SD of the first row over that of the second; not finite where one is 0 or unknown."""
    if table.shape[1] < 2:
        return math.nan
    with quiet():
        return float(np.subtract(*np.log(table.std(axis=1, ddof=1))))


def _accuracies(labels: Integers, targets: ArrayLike) -> Floats:
    accuracies: Floats = correctness(labels, checked_targets(targets, labels.shape[1])).mean(axis=1)
    return accuracies


def _vote(voters: Integers) -> Integers:
    """Return the most frequent label of each run and example, the first of several; shape without the first axis."""
    votes = np.stack([(voters == voter).sum(axis=0) for voter in voters])
    chosen: Integers = np.take_along_axis(voters, votes.argmax(axis=0)[None], axis=0)[0]
    return chosen
