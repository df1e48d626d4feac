"""What several runs, evaluations or snapshots give together: ensembles, parts of a variance, what lowers the spread."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from deviate.stats.churn import churn
from deviate.stats.curves import REPORTS
from deviate.stats.intervals import CHI_SQUARE, DEFAULT_LEVEL, Interval, cautious_sd_interval, check_level, sd_factors
from deviate.stats.pairs import Estimate, unknown
from deviate.stats.predictions import Integers, checked_targets, checked_values, coded, correctness
from deviate.stats.results import Effect, quiet, student_of_one
from deviate.stats.spread import Floats, spread

#: Ensembles of one size that are made where the caller names no number.
SUBSETS = 50

#: Sizes up to this are all measured where the caller names none; then about ten a decade.
ALL_SIZES = 10

#: Numbers of one block of scores: 64 MB.
BLOCK = 8_000_000

T = TypeVar("T", bound=Hashable)


class EnsembleSize(msgspec.Struct, frozen=True, kw_only=True):
    """Ensembles of one number of runs."""

    #: Runs in an ensemble.
    size: int
    #: Ensembles that were made.
    subsets: int
    #: Mean accuracy over these, in [0, 1].
    accuracy: float
    #: `accuracy` less the mean accuracy of a single run.
    gain: float
    #: Pairs of ensembles without a common run.
    pairs: int
    #: SD of the accuracy between ensembles of different runs: root of ``mean((a - b)**2) / 2`` over `pairs`.
    sd: float | None
    #: Mean share of examples that the two ensembles of a pair label differently, in [0, 1].
    churn: float | None
    #: Why `sd` and `churn` are None; empty where they are known.
    reason: str = ""


def vote_ensembles(
    labels: ArrayLike,
    targets: ArrayLike,
    rng: np.random.Generator,
    *,
    sizes: Sequence[int] | None = None,
    subsets: int = SUBSETS,
) -> tuple[EnsembleSize, ...]:
    """Measure majority votes of 2, 3, … runs, ties to the smallest label.

    All sets of one size are made where there are at most `subsets`; otherwise so many are drawn, none twice. Sets that
    share runs have accuracies that go together, so SD and churn are of pairs of sets without a common run, which makes
    the squared SD unbiased. They are None for more than half of the runs.

    With two runs the smallest label wins wherever they differ, so the gain of size 2 says little: use scores.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws the sets: the same state gives the same numbers.
    sizes : sequence of int, optional
        Numbers of runs, 2 to ``n_runs``; by default 2 to `ALL_SIZES`, then about ten a decade up to all.
    subsets : int, optional
        Sets of one size at most, and pairs of sets at most.

    Examples
    --------
    >>> labels = [[0, 1, 1], [0, 0, 1], [1, 1, 1]]
    >>> [three] = vote_ensembles(labels, [0, 1, 1], np.random.default_rng(0), sizes=[3])
    >>> three.accuracy, round(three.gain, 4), three.churn, three.reason
    (1.0, 0.2222, None, 'two ensembles of 3 runs need 6 runs')
    """
    numbered = coded(labels, targets)
    single = float((numbered.labels == numbered.targets).mean())
    return _measured(_votes(numbered.labels), numbered.targets, single, len(numbered.labels), rng, sizes, subsets)


def score_ensembles(scores: ArrayLike, targets: ArrayLike, rng: np.random.Generator) -> tuple[EnsembleSize, ...]:
    """Measure ensembles of 2, 3, … runs by the mean of their scores; the first of several largest classes wins.

    What is drawn and what the numbers are: see `vote_ensembles`. Summers and Dinneen measure size 2 [1]_.

    Parameters
    ----------
    scores : array_like of float
        Any, larger for the class that is more likely. Read in blocks of examples, so a memory map will do.

    References
    ----------
    .. [1] C. Summers and M. J. Dinneen, "Nondeterminism and instability in neural network optimization", ICML 2021.

    Examples
    --------
    >>> scores = [[[0.9, 0.1], [0.6, 0.4]], [[0.4, 0.6], [0.1, 0.9]]]
    >>> [two] = score_ensembles(scores, [0, 1], np.random.default_rng(0))
    >>> two.accuracy, two.gain
    (1.0, 0.5)
    """
    runs = np.asarray(scores)
    if runs.ndim != 3 or 0 in runs.shape:
        raise ValueError(f"scores have shape (n_runs, n_examples, n_classes), all 1 or more; not {runs.shape}")
    right = checked_targets(targets, runs.shape[1])
    decide = _mean_scores(runs)
    single = float((decide(np.eye(len(runs))) == right).mean())
    return _measured(decide, right, single, len(runs), rng, None, SUBSETS)


#: Turns weights of the runs, shape ``(n_ensembles, n_runs)``, into labels, shape ``(n_ensembles, n_examples)``.
Decide = Callable[[Floats], Integers]


def _measured(
    decide: Decide,
    right: Integers,
    single: float,
    runs: int,
    rng: np.random.Generator,
    sizes: Sequence[int] | None,
    subsets: int,
) -> tuple[EnsembleSize, ...]:
    chosen = _default_sizes(runs) if sizes is None else list(sizes)
    if any(not 2 <= size <= runs for size in chosen) or subsets < 1:
        raise ValueError(f"ensembles have 2 to {runs} runs, and 1 set or more is made; got {chosen} and {subsets}")
    return tuple(_of_size(decide, right, single, runs, rng, size, subsets) for size in chosen)


def _of_size(
    decide: Decide, right: Integers, single: float, runs: int, rng: np.random.Generator, size: int, subsets: int
) -> EnsembleSize:
    sets = _sets(runs, size, subsets, rng)
    accuracy = float((decide(_weights(sets, runs)) == right).mean())
    pairs = _disjoint_pairs(runs, size, subsets, rng)
    sd = churn = None
    if pairs:
        first, second = (decide(_weights([pair[side] for pair in pairs], runs)) for side in (0, 1))
        differences = (first == right).mean(axis=1) - (second == right).mean(axis=1)
        sd, churn = math.sqrt(float((differences**2).mean()) / 2), float((first != second).mean())
    return EnsembleSize(
        size=size,
        subsets=len(sets),
        accuracy=accuracy,
        gain=accuracy - single,
        pairs=len(pairs),
        sd=sd,
        churn=churn,
        reason="" if pairs else f"two ensembles of {size} runs need {2 * size} runs",
    )


def _default_sizes(runs: int) -> list[int]:
    beyond = {round(ALL_SIZES * 10 ** (step / 10)) for step in range(1, 10 * len(str(runs)))}
    return [size for size in sorted({*range(2, ALL_SIZES + 1), *beyond, runs}) if 2 <= size <= runs]


Set = tuple[int, ...]


def _sets(runs: int, size: int, most: int, rng: np.random.Generator) -> list[Set]:
    """Give all sets of `size` runs, or `most` different ones by chance."""
    if math.comb(runs, size) <= most:
        return list(combinations(range(runs), size))
    return _different(lambda: tuple(sorted(rng.permutation(runs)[:size].tolist())), most)


def _disjoint_pairs(runs: int, size: int, most: int, rng: np.random.Generator) -> list[tuple[Set, Set]]:
    """Give all pairs of sets without a common run, or `most` different ones by chance."""
    if 2 * size > runs:
        return []
    if math.comb(runs, size) * math.comb(runs - size, size) // 2 <= most:
        sets = list(combinations(range(runs), size))
        return [(a, b) for a, b in combinations(sets, 2) if not set(a) & set(b)]

    def drawn() -> tuple[Set, Set]:
        order = rng.permutation(runs)[: 2 * size].tolist()
        first, second = sorted((tuple(sorted(order[:size])), tuple(sorted(order[size:]))))
        return first, second

    return _different(drawn, most)


def _different(draw: Callable[[], T], most: int) -> list[T]:
    drawn: dict[T, None] = {}
    while len(drawn) < most:
        drawn[draw()] = None
    return list(drawn)


def _weights(sets: Sequence[Set], runs: int) -> Floats:
    weights = np.zeros((len(sets), runs))
    for row, members in zip(weights, sets, strict=True):
        row[list(members)] = 1.0
    return weights


def _votes(codes: Integers) -> Decide:
    """Count votes only where runs differ, over the labels that there are for an example."""
    open_ = np.flatnonzero((codes != codes[0]).any(axis=0))
    ranks, names = _ranked(codes[:, open_])
    voting = [np.asarray(ranks == rank, np.float32) for rank in range(len(names))]

    def decide(weights: Floats) -> Integers:
        labels = np.repeat(codes[:1], len(weights), axis=0)
        best = np.full((len(weights), open_.size), -1.0, np.float32)
        winner = np.empty(best.shape, codes.dtype)
        for name, votes in zip(names, voting, strict=True):
            count = weights.astype(np.float32) @ votes
            # Labels come in ascending order: a later one wins with more votes only.
            more = count > best
            best[more] = count[more]
            winner[more] = np.broadcast_to(name, more.shape)[more]
        labels[:, open_] = winner
        return labels

    return decide


def _ranked(codes: Integers) -> tuple[Integers, list[Integers]]:
    """Give each label's position among the different labels of its example, and the labels by that position."""
    order = np.argsort(codes, axis=0, kind="stable")
    ascending = np.take_along_axis(codes, order, axis=0)
    position = np.zeros(codes.shape, np.int64)
    position[1:] = np.cumsum(ascending[1:] != ascending[:-1], axis=0)
    ranks = np.empty_like(position)
    np.put_along_axis(ranks, order, position, axis=0)
    names = np.zeros((int(position.max(initial=-1)) + 1, codes.shape[1]), codes.dtype)
    np.put_along_axis(names, position, ascending, axis=0)
    return ranks, list(names)


def _mean_scores(scores: NDArray[Any]) -> Decide:
    runs, examples, classes = scores.shape

    def decide(weights: Floats) -> Integers:
        labels = np.empty((len(weights), examples), np.int64)
        step = max(1, BLOCK // (classes * (runs + len(weights))))
        for start in range(0, examples, step):
            block = np.asarray(scores[:, start : start + step], dtype=np.float64)
            if not np.isfinite(block).all():
                raise ValueError("scores hold NaN or infinite values; exclude these runs and count them first")
            sums = weights @ block.reshape(runs, -1)
            labels[:, start : start + step] = sums.reshape(len(weights), -1, classes).argmax(axis=2)
        return labels

    return decide


# The variance of a mean over test examples in parts: the runs as wholes, the test set, single examples.

METHOD = "interval of the variance between runs, less the part of the finite test set"

#: Why the distribution-wise SD is not given.
NOT_FROM_0 = "cannot be distinguished from 0"


class ExampleVariance(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of the variance of runs' means over n test examples, in the squared unit of one example's value.

    ``between_runs = distribution + finite_test`` holds exactly, and
    ``standard_error**2 = finite_test + choice_of_examples``.
    """

    runs: int
    examples: int
    #: Mean over runs and examples.
    mean: float
    #: Variance between runs on this test set.
    between_runs: float | None = None
    #: Variance between runs on a test set without end: models that differ as wholes. Unbiased, so it may be negative.
    distribution: float | None = None
    #: Interval of `distribution`, not cut at 0.
    interval: Interval
    #: ``sqrt(distribution)``; None where `interval` reaches down to 0, with the reason in `reason`.
    distribution_sd: float | None = None
    #: Square root of the upper end of `interval`; None where there is none above 0.
    distribution_sd_at_most: float | None = None
    #: Variance between runs that comes from the finite test set: single examples that turn in some runs, averaged.
    finite_test: float | None = None
    #: Mean over examples of the variance between runs of one example's value.
    per_example: float | None = None
    #: Variance that the choice of the test examples adds to every run alike; the runs do not differ by it. Unbiased.
    choice_of_examples: float | None = None
    #: Standard error over examples of a single run, as evaluation tools give it: root of the mean square over the runs.
    standard_error: float | None = None
    #: Why numbers are None; empty where all are known.
    reason: str = ""


class _Squares(NamedTuple):
    """Mean squares of the table of runs and examples."""

    runs: float
    examples: float
    rest: float


def example_variance(values: ArrayLike, level: float = DEFAULT_LEVEL) -> ExampleVariance:
    """Divide the variance between runs into that of the runs as wholes and that of a finite test set.

    With A_r the mean of run r over n examples and c_ri its value on example i, variances with divisor R - 1:
    ``distribution = n / (n - 1) * Var_r(A_r) - sum_i Var_r(c_ri) / (n (n - 1))``, after Jordan [1]_. It is the mean
    covariance between runs of two different examples, and the variance component of the runs in a two-way table
    without replication.

    Parameters
    ----------
    values : array_like of bool or float, shape (n_runs, n_examples)
        Any score of one example in one run: 1 where it is right and 0 where not, a squared error, a log-likelihood.

    Notes
    -----
    The interval is that of the variance between runs (the square of `cautious_sd_interval`) less `finite_test`, which
    many examples determine well: Williams' interval [2]_ with the tails that the runs show. Jackknife over runs covers
    less with few runs (``benchmarks/statistics/predictions.py``).

    References
    ----------
    .. [1] K. Jordan, "On the variance of neural network training with respect to test sets and distributions",
       arXiv:2304.01910.
    .. [2] J. S. Williams, "A confidence interval for variance components", Biometrika 49, 1962.

    Examples
    --------
    >>> parts = example_variance([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]])
    >>> round(parts.between_runs, 6), round(parts.distribution, 6), round(parts.finite_test, 6)
    (0.0625, 0.027778, 0.034722)
    >>> parts.distribution_sd, parts.reason
    (None, 'cannot be distinguished from 0')
    """
    check_level(level)
    table = checked_values(values)
    runs, examples = table.shape
    mean = float(table.mean())
    reason = _too_small(runs, examples)
    if reason:
        return ExampleVariance(
            runs=runs, examples=examples, mean=mean, interval=unknown(reason, level, METHOD), reason=reason
        )
    squares = _mean_squares(table)
    between, finite = squares.runs / examples, squares.rest / examples
    distribution = between - finite
    interval = _interval(table.mean(axis=1), finite, level)
    above_0 = interval.low is not None and interval.low > 0
    choice = (squares.examples - squares.rest) / runs / examples
    return ExampleVariance(
        runs=runs,
        examples=examples,
        mean=mean,
        between_runs=between,
        distribution=distribution,
        interval=interval,
        distribution_sd=math.sqrt(distribution) if above_0 else None,
        distribution_sd_at_most=math.sqrt(interval.high) if interval.high is not None and interval.high > 0 else None,
        finite_test=finite,
        per_example=(squares.runs + (examples - 1) * squares.rest) / examples,
        choice_of_examples=choice,
        standard_error=math.sqrt(max(finite + choice, 0.0)),
        reason=interval.reason or ("" if above_0 else NOT_FROM_0),
    )


def _too_small(runs: int, examples: int) -> str:
    if runs < 2:
        return "one run has no variance"
    return "one example cannot separate runs from examples" if examples < 2 else ""


def _mean_squares(table: Floats) -> _Squares:
    runs, examples = table.shape
    # Both are sums of squares about means: nothing is lost where the values are large.
    of_runs = examples * float(table.mean(axis=1).var(ddof=1))
    of_examples = runs * float(table.mean(axis=0).var(ddof=1))
    within = float(table.var(axis=0, ddof=1).sum())
    return _Squares(runs=of_runs, examples=of_examples, rest=(within - of_runs) / (examples - 1))


def _interval(means: Floats, finite: float, level: float) -> Interval:
    of_sd = cautious_sd_interval(means, level)
    if of_sd.low is None or of_sd.high is None:
        return unknown(of_sd.reason, level, METHOD)
    return Interval(low=of_sd.low**2 - finite, high=of_sd.high**2 - finite, level=level, method=METHOD)


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
    low, high = map(math.exp, student_of_one(n * whole - (n - 1) * left_out).ends(level))
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
