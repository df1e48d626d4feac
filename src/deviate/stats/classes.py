"""Rates of single classes and groups of examples in each run, calibration, and how much they vary between runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from deviate.stats.churn import alike
from deviate.stats.intervals import DEFAULT_LEVEL, Interval, cautious_sd_interval
from deviate.stats.predictions import Booleans, Integers, checked_labels, checked_targets, coded, correctness
from deviate.stats.spread import Floats, Spread, spread

#: A variance of shares below this is rounding.
SMALLEST_VARIANCE = 1e-18


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """One rate of a class or group over the runs; all numbers are shares in [0, 1] unless they are ratios."""

    #: Value in each run, shape ``(n_runs,)``; NaN where the rate has no example to be of.
    values: Any
    mean: float | None = None
    #: Standard deviation between runs, with its interval (`cautious_sd_interval`).
    sd: float | None = None
    interval: Interval
    min: float | None = None
    max: float | None = None
    #: ``max - min``; grows with the number of runs.
    range: float | None = None
    #: `sd` divided by the SD of the overall rate.
    ratio: float | None = None
    #: Binomial floor ``sqrt(p (1 - p) / n)`` with p the mean: the SD of runs that are right by chance on each of the n
    #: examples, each with probability p.
    floor: float | None = None
    #: The SD of runs that are right by chance, with a probability of its own for each example, as the runs show it;
    #: mostly below `floor`, since examples are unequally hard. None for the precision, which is of other examples in
    #: each run, and where it is 0.
    independent: float | None = None
    #: One-sided p-value of an SD so far above `independent`: whether errors on these examples go together.
    p: float | None = None
    #: The same by Holm over all classes or groups.
    p_holm: float | None = None
    #: Why numbers are None; empty where all are known.
    reason: str = ""


class Subset(msgspec.Struct, frozen=True, kw_only=True):
    """The rates of one class or group."""

    #: The class or group as the targets or groups name it; None for all examples.
    name: int | None
    examples: int
    #: By name: ``accuracy``, ``recall``, ``precision``, ``fpr`` (false positive rate), ``fnr`` (false negative rate).
    rates: dict[str, Rate]


class Subsets(msgspec.Struct, frozen=True, kw_only=True):
    """The rates of all examples and of each class or group, ascending by name."""

    overall: Subset
    subsets: tuple[Subset, ...]


class _Count(NamedTuple):
    """Numerators and denominators of one rate: integers of shape ``(n_runs, n_subsets)``, or 1 for all runs."""

    part: NDArray[Any]
    of: NDArray[Any]
    #: Sum over the examples of the squared number of runs that count in `part`, shape ``(n_subsets,)``.
    squares: NDArray[Any] | None = None


Counts = dict[str, _Count]


def class_rates(labels: ArrayLike, targets: ArrayLike, level: float = DEFAULT_LEVEL) -> Subsets:
    """Measure the rates of each class against all others, in each run and over the runs.

    With TP, FP, FN, TN of a class: recall ``TP / (TP + FN)``, precision ``TP / (TP + FP)``, fpr ``FP / (FP + TN)``, fnr
    ``FN / (TP + FN)``. The accuracy on the examples of a class is its recall. Ratios are to the SD of the accuracy on
    all examples, as in Zhuang et al. [1]_. A rate that is undefined in a run (a class never predicted has no precision)
    has no SD.

    Notes
    -----
    The test is the F test of runs in the two-way table of runs and the examples of the class, without replication; see
    `deviate.stats.ensembles`. The binomial floor would hide much: it takes all examples for equally hard
    (``benchmarks/statistics/class_floor.py``).

    References
    ----------
    .. [1] D. Zhuang, X. Zhang, S. L. Song and S. Hooker, "Randomness in neural network training: characterizing the
       impact of tooling", MLSys 2022.

    Examples
    --------
    >>> measured = class_rates([[0, 0, 1, 1], [0, 0, 0, 1]], [0, 0, 1, 1])
    >>> recall = measured.subsets[1].rates["recall"]
    >>> recall.values.tolist(), recall.mean, recall.range, recall.ratio
    ([1.0, 0.5], 0.75, 0.5, 2.0)
    """
    numbered = coded(labels, targets)
    codes, right, count = numbered.labels, numbered.targets, numbered.classes.size
    hits = np.stack([np.bincount(right[row == right], minlength=count) for row in codes])
    predicted = np.stack([np.bincount(row, minlength=count) for row in codes])
    present = np.bincount(right, minlength=count)[None]
    squares, squares_of_hits = _squares(codes, right, count)
    hit = _Count(hits, present, squares_of_hits)
    overall = _subset(None, right.size, _rates(_summed({"accuracy": hit}), level), 0)
    spread = overall.rates["accuracy"].sd
    counts = {
        "recall": hit,
        "precision": _Count(hits, predicted),
        "fpr": _Count(predicted - hits, right.size - present, squares - squares_of_hits),
    }
    rates = _rates(counts, level, dict.fromkeys(counts, spread))
    rates["accuracy"] = rates["recall"]
    names, sizes = numbered.classes, present[0]
    return Subsets(
        overall=overall,
        subsets=tuple(
            _subset(int(name), int(size), rates, k) for k, (name, size) in enumerate(zip(names, sizes, strict=True))
        ),
    )


def group_rates(
    labels: ArrayLike,
    targets: ArrayLike,
    groups: ArrayLike,
    *,
    positive: int | None = None,
    level: float = DEFAULT_LEVEL,
) -> Subsets:
    """Measure the rates of each group of examples, in each run and over the runs.

    Ratios are to the SD of the same rate on all examples, as in the CelebA table of Zhuang et al. (see `class_rates`).

    Parameters
    ----------
    groups : array_like of int, shape (n_examples,)
        The group of each example. For groups that overlap, call once for each.
    positive : int, optional
        The class that counts as positive. Without it only the accuracy is measured; with it also recall, precision,
        fpr and fnr, with all other classes as negative.

    Examples
    --------
    >>> measured = group_rates([[0, 1, 1, 1], [0, 1, 0, 0]], [0, 1, 1, 0], groups=[7, 7, 8, 8], positive=1)
    >>> measured.overall.rates["accuracy"].values.tolist()
    [0.75, 0.75]
    >>> measured.subsets[1].rates["fpr"].values.tolist()
    [1.0, 0.0]
    """
    rows = checked_labels(labels)
    right = checked_targets(targets, rows.shape[1])
    names, members = np.unique(checked_targets(groups, right.size, "groups"), return_inverse=True)
    counts = _group_counts(rows, right, members, names.size, positive)
    overall = _subset(None, right.size, _rates(_summed(counts), level), 0)
    rates = _rates(counts, level, {name: rate.sd for name, rate in overall.rates.items()})
    sizes = np.bincount(members)
    return Subsets(
        overall=overall,
        subsets=tuple(_subset(int(name), int(sizes[k]), rates, k) for k, name in enumerate(names)),
    )


def of_one_family(measured: Sequence[Subsets]) -> list[Subsets]:
    """Adjust the p-values of each rate by Holm over the groups of several divisions of the same examples together."""
    subsets = [subset for each in measured for subset in each.subsets]
    for name in subsets[0].rates:
        tested = [k for k, subset in enumerate(subsets) if subset.rates[name].p is not None]
        adjusted = holm(np.array([subsets[k].rates[name].p for k in tested], dtype=np.float64))
        for k, p in zip(tested, adjusted, strict=True):
            rates = subsets[k].rates
            replaced = msgspec.structs.replace(rates[name], p_holm=float(p))
            subsets[k] = msgspec.structs.replace(subsets[k], rates={**rates, name: replaced})
    left = iter(subsets)
    return [msgspec.structs.replace(each, subsets=tuple(islice(left, len(each.subsets)))) for each in measured]


def _squares(codes: Integers, right: Integers, count: int) -> tuple[Floats, Floats]:
    """Sum over examples the squared number of runs that predict each class: all examples, and those of the class."""
    squares, of_hits = np.zeros((2, count))
    for row, agreeing in zip(codes, alike(codes), strict=True):
        hit = row == right
        squares += np.bincount(row, weights=agreeing, minlength=count)
        of_hits += np.bincount(row[hit], weights=agreeing[hit], minlength=count)
    return squares, of_hits


def _group_counts(rows: Integers, right: Integers, members: Integers, groups: int, positive: int | None) -> Counts:
    def per_group(chosen: Any) -> Integers:
        return np.stack([np.bincount(members[row], minlength=groups) for row in np.atleast_2d(chosen)])

    def counted(part: Booleans, of: Booleans) -> _Count:
        squares = np.bincount(members, weights=part.sum(axis=0, dtype=np.int64) ** 2, minlength=groups)
        return _Count(per_group(part), per_group(of), squares)

    counts = {"accuracy": counted(correctness(rows, right), np.ones(right.size, bool))}
    if positive is None:
        return counts
    predicted, true = rows == positive, right == positive
    counts["recall"] = counted(predicted & true, true)
    counts["precision"] = _Count(per_group(predicted & true), per_group(predicted))
    counts["fpr"] = counted(predicted & ~true, ~true)
    return counts


def _summed(counts: Counts) -> Counts:
    return {
        name: _Count(
            count.part.sum(axis=1, keepdims=True),
            count.of.sum(axis=1, keepdims=True),
            None if count.squares is None else count.squares.sum(keepdims=True),
        )
        for name, count in counts.items()
    }


def _subset(name: int | None, examples: int, rates: dict[str, list[Rate]], position: int) -> Subset:
    return Subset(name=name, examples=examples, rates={key: column[position] for key, column in rates.items()})


def _rates(counts: Counts, level: float, overall: dict[str, float | None] | None = None) -> dict[str, list[Rate]]:
    """Give for each name the rates of all subsets; with the recall its complement, the false negative rate."""
    rates = {name: _of_count(count, level, overall[name] if overall else None) for name, count in counts.items()}
    if "recall" in rates:
        rates["fnr"] = [_complement(rate) for rate in rates["recall"]]
    return rates


def _of_count(count: _Count, level: float, overall: float | None) -> list[Rate]:
    part, of = count.part, np.broadcast_to(count.of, count.part.shape)
    shares = np.full(part.shape, np.nan)
    np.divide(part, of, out=shares, where=of > 0)
    rates = [_rate(values, sizes, level, overall) for values, sizes in zip(shares.T, of.T, strict=True)]
    if count.squares is None or len(part) < 2:
        return rates
    return _with_p(rates, _independent(shares, part.sum(axis=0), of[0], count.squares), of[0])


def _independent(shares: Floats, sums: Integers, sizes: Integers, squares: Floats) -> Floats:
    """Give the variance between runs that independent examples make: `finite_test` of `ExampleVariance`."""
    runs = len(shares)
    per_example = (runs * sums - squares) / (runs * (runs - 1))
    variance = np.full(sizes.size, np.nan)
    np.divide(per_example, sizes, out=variance, where=sizes > 1)
    return np.asarray((variance - shares.var(axis=0, ddof=1)) / np.maximum(sizes - 1, 1))


def _rate(values: Floats, of: Integers, level: float, overall: float | None) -> Rate:
    undefined = int(np.isnan(values).sum())
    if undefined:
        reason = f"undefined in {undefined} of {values.size} runs: no example to be a share of"
        return Rate(values=values, interval=Interval(level=level, method="", reason=reason), reason=reason)
    mean, low, high = float(values.mean()), float(values.min()), float(values.max())
    interval = cautious_sd_interval(values, level)
    sd = None if values.size < 2 else 0.0 if low == high else float(values.std(ddof=1))
    floor = float(np.sqrt(mean * (1 - mean) / of.mean()))
    return Rate(
        values=values,
        mean=mean,
        sd=sd,
        interval=interval,
        min=low,
        max=high,
        range=high - low if sd is not None else None,
        ratio=sd / overall if sd is not None and overall else None,
        floor=floor,
        reason="one run has no spread" if sd is None else "",
    )


def _complement(rate: Rate) -> Rate:
    mean, low, high = (None if number is None else 1 - number for number in (rate.mean, rate.max, rate.min))
    return msgspec.structs.replace(rate, values=1 - rate.values, mean=mean, min=low, max=high)


def _with_p(rates: list[Rate], independent: Floats, sizes: Integers) -> list[Rate]:
    """Add what independent examples make, and the p-values of the F test, also by Holm over all rates."""
    tested = np.flatnonzero(independent > SMALLEST_VARIANCE)
    if not tested.size:
        return rates
    freedom = rates[0].values.size - 1
    ratios = np.array([rates[k].sd for k in tested], dtype=np.float64) ** 2 / independent[tested]
    ps = special.fdtrc(freedom, freedom * (sizes[tested] - 1), ratios)
    for k, p, adjusted in zip(tested, ps, holm(ps), strict=True):
        sd = float(np.sqrt(independent[k]))
        rates[k] = msgspec.structs.replace(rates[k], independent=sd, p=float(p), p_holm=float(adjusted))
    return rates


def holm(ps: Floats) -> Floats:
    """Adjust p-values for their number, by Holm's step-down method.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(ps, kind="stable")
    adjusted = np.empty(ps.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(ps[order] * np.arange(ps.size, 0, -1)), 1.0)
    return adjusted


# Scores against targets in each run: likelihood, squared error, calibration, and how much they vary between runs.

#: Equal-width bins of the top score, as in Guo et al. [1]_.
#:
#: .. [1] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017.
BINS = 15

#: The scores of an example sum to 1 within this, which half precision keeps for 1,000 classes.
SUM_WITHIN = 1e-2


class ScoreSpread(msgspec.Struct, frozen=True, kw_only=True):
    """One measure of the scores over the runs."""

    #: Value in each run, shape ``(n_runs,)``; NaN where it is not finite.
    values: Any
    #: Of the finite values.
    spread: Spread
    #: Of their SD.
    interval: Interval
    #: Why values are NaN; empty where none is.
    reason: str = ""


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How well the scores of each run fit the targets; lower is better for all."""

    #: Mean of ``-log(score of the target)`` in nats, 0 or more.
    nll: ScoreSpread
    #: Mean of ``sum_k (score_k - (k is the target))**2``, in [0, 2] [1]_.
    brier: ScoreSpread
    #: Expected calibration error with `BINS` bins, in [0, 1].
    ece: ScoreSpread


def calibration(scores: ArrayLike, targets: ArrayLike, level: float = DEFAULT_LEVEL) -> Calibration:
    """Measure negative log-likelihood, Brier score [1]_ and expected calibration error [2]_ of each run.

    Parameters
    ----------
    scores : array_like of float
        Probabilities: in [0, 1], those of an example sum to 1. Runs are read one after the other, so a memory map will
        do.

    Notes
    -----
    A target with a score of 0 makes the NLL infinite. It is not cut at a smallest number: that run has no NLL, and the
    reason counts the examples.

    References
    ----------
    .. [1] G. W. Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78, 1950.
    .. [2] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> measured = calibration([[[0.8, 0.2], [0.4, 0.6]], [[0.5, 0.5], [0.5, 0.5]]], targets=[0, 0])
    >>> measured.nll.values.round(4).tolist(), measured.brier.values.round(4).tolist()
    ([0.5697, 0.6931], [0.4, 0.5])
    >>> measured.ece.values.round(4).tolist()
    [0.4, 0.5]
    """
    runs = np.asarray(scores)
    if runs.ndim != 3 or 0 in runs.shape:
        raise ValueError(
            f"scores have shape (n_runs, n_examples, n_classes), all 1 or more; these have shape {runs.shape}"
        )
    right = checked_targets(targets, runs.shape[1])
    if right.min() < 0 or right.max() >= runs.shape[2]:
        raise ValueError(
            f"targets are positions of classes, 0 to {runs.shape[2] - 1}; these go from {right.min()} to {right.max()}"
        )
    values = np.array([_of_run(_probabilities(run), right) for run in runs]).T
    infinite = int(np.isinf(values[0]).sum())
    reason = f"infinite in {infinite} runs: a target has a score of 0" if infinite else ""
    nll, brier, ece = (np.where(np.isinf(row), np.nan, row) for row in values)
    return Calibration(nll=_spread(nll, level, reason), brier=_spread(brier, level), ece=_spread(ece, level))


def expected_calibration_error(top: Floats, right: Booleans, bins: int = BINS) -> float:
    """Give ``sum_b n_b / n * abs(accuracy_b - mean top score_b)`` over equal-width bins of the top score.

    Bins hold their upper edge; the first one also holds 0.

    Parameters
    ----------
    top : ndarray of float, shape (n_examples,)
        Largest score of each example, in [0, 1].
    right : ndarray of bool, shape (n_examples,)
        Whether the class with that score is the target.

    Examples
    --------
    >>> expected_calibration_error(np.array([0.9, 0.9, 0.6]), np.array([True, True, False]))
    0.26666666666666666
    """
    members = np.clip(np.ceil(top * bins).astype(np.int64) - 1, 0, bins - 1)
    gaps = np.bincount(members, weights=right - top, minlength=bins)
    return float(np.abs(gaps).sum() / top.size)


def _of_run(scores: Floats, right: Integers) -> tuple[float, float, float]:
    of_target = scores[np.arange(right.size), right]
    with np.errstate(divide="ignore"):
        nll = -float(np.log(of_target).mean())
    brier = float(((scores**2).sum(axis=1) - of_target**2 + (1 - of_target) ** 2).mean())
    return nll, brier, expected_calibration_error(scores.max(axis=1), scores.argmax(axis=1) == right)


def _probabilities(run: ArrayLike) -> Floats:
    scores = np.asarray(run, dtype=np.float64)
    # NaN fails every comparison.
    if not ((scores >= 0) & (scores <= 1)).all() or not (np.abs(scores.sum(axis=1) - 1) <= SUM_WITHIN).all():
        raise ValueError(
            "scores are probabilities: in [0, 1], and those of an example sum to 1; apply softmax to logits"
        )
    return scores


def _spread(values: Floats, level: float, reason: str = "") -> ScoreSpread:
    finite = values[np.isfinite(values)]
    return ScoreSpread(
        values=values,
        spread=spread(finite, ratio_scale=True),
        interval=cautious_sd_interval(finite, level),
        reason=reason,
    )
