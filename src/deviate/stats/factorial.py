"""What each of several factors brings: choices of a grid, splits and seeds of the data, runs and test examples.

Which factors of a grid move the mean, and which of several sides is best; how much of the spread is the split of the
data, and how much the training; a difference of mean scores with one interval for other runs and other examples.

References
----------
.. [1] X. Bouthillier et al., "Accounting for variance in machine learning benchmarks", MLSys 2021.
.. [2] J. S. Williams, "A confidence interval for variance components", Biometrika 49, 1962.
.. [3] J. D. Thomas and R. A. Hultquist, "Interval estimation for the unbalanced case of the one-way random effects
   model", Annals of Statistics 6, 1978.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations, product

import msgspec
import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from deviate.core.experiment import Direction
from deviate.stats.intervals import CHI_SQUARE, DEFAULT_LEVEL, Interval, sd_factors
from deviate.stats.results import Effect, StudentT, Tested, outcome, quiet, student_of_one, unknown_effect
from deviate.stats.spread import Floats, common_scale, finite_sample, is_identical

#: Level of the interval of partial eta squared: with 0.9 it leaves out 0 where F is beyond its 5 % point [1]_.
ETA_LEVEL = 0.9

#: Most factors: with more there are over 31 effects, which nobody reads.
MOST_FACTORS = 5


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """A factor, or the interaction of several."""

    factors: list[str]
    df: float
    #: The F test of equal SDs, as in textbooks.
    classic: Tested
    #: The F test on covariances that allow for unequal SDs (HC3); decides.
    robust: Tested
    #: Partial eta squared: the share of the variance that this term explains of what the others leave.
    eta_squared: Effect


class Factorial(msgspec.Struct, frozen=True, kw_only=True):
    """The analysis of variance of one metric."""

    #: Main effects first, then interactions of two and more; empty where `reason` says why.
    terms: list[Term] = []
    df_residual: float | None = None
    reason: str = ""


def factorial_anova(samples: Sequence[Sequence[float]], settings: Sequence[Mapping[str, str]]) -> Factorial:
    """Test all main effects and interactions of a full grid.

    The model has every interaction; sums of squares are of type III with sum-to-zero contrasts, so that a main effect
    is that of the unweighted means of the cells, whatever their numbers of runs. In a balanced grid all types agree.

    Parameters
    ----------
    samples : sequence of sequences of float
        Values of each cell, one per run.
    settings : sequence of mapping of str to str
        The level of each factor, cell by cell. Factors with one level are left out.

    References
    ----------
    .. [1] J. H. Steiger, "Beyond the F test: effect size confidence intervals and tests of close fit in the analysis
       of variance and contrast analysis", Psychological Methods 9, 2004.
    .. [2] J. S. Long and L. H. Ervin, "Using heteroscedasticity consistent standard errors in the linear regression
       model", The American Statistician 54, 2000.
    """
    factors = [name for name in settings[0] if len({cell[name] for cell in settings}) > 1]
    values = [finite_sample(sample) for sample in samples]
    if reason := _why_not(values, settings, factors):
        return Factorial(reason=reason)
    scaled, _ = common_scale(values)
    return _analysed(scaled, settings, factors)


def _why_not(values: Sequence[Floats], settings: Sequence[Mapping[str, str]], factors: Sequence[str]) -> str:
    levels = [sorted({cell[name] for cell in settings}) for name in factors]
    if not factors:
        return "the grid has one cell"
    if len(factors) > MOST_FACTORS:
        return f"the grid has more than {MOST_FACTORS} factors"
    if {tuple(cell[name] for name in factors) for cell in settings} != set(product(*levels)):
        return "not every combination of the factors is there"
    if any(sample.size < 2 for sample in values):
        return "the analysis needs two runs or more in each cell"
    if all(is_identical(sample) for sample in values):
        return "the runs of each cell gave exactly the same value, so nothing shows how much runs vary"
    return ""


def _analysed(values: Sequence[Floats], settings: Sequence[Mapping[str, str]], factors: Sequence[str]) -> Factorial:
    levels = [sorted({cell[name] for cell in settings}) for name in factors]
    found = {tuple(cell[name] for name in factors): sample for sample, cell in zip(values, settings, strict=True)}
    cells = [found[setting] for setting in product(*levels)]
    effects = [each for order in range(1, len(factors) + 1) for each in combinations(range(len(factors)), order)]
    shape = [len(each) for each in levels]
    with quiet():
        terms = [_term([factors[place] for place in each], cells, _contrasts(shape, each)) for each in effects]
    return Factorial(terms=terms, df_residual=float(sum(sample.size - 1 for sample in cells)))


def _contrasts(shape: Sequence[int], places: Sequence[int]) -> Floats:
    """Return the contrasts of the cells' means that are 0 where the factors at `places` have no effect together."""
    rows = np.ones((1, 1))
    for place, levels in enumerate(shape):
        average = np.full((1, levels), 1 / levels)
        rows = np.kron(rows, np.eye(levels)[:-1] - average if place in places else average)
    return rows


def _term(factors: list[str], cells: Sequence[Floats], rows: Floats) -> Term:
    """Test that all contrasts of the cells' means, one a row, are 0."""
    runs, means = np.array([(sample.size, sample.mean()) for sample in cells]).T
    squares = np.array([np.square(sample - sample.mean()).sum() for sample in cells])
    n = float(runs.sum())
    residual = n - len(cells)
    # In a model with every interaction HC3 has a closed form.
    classic = _wald(means, squares.sum() / residual / runs, rows, residual)
    robust = _wald(means, squares / (runs - 1) ** 2, rows, residual)
    return Term(
        factors=factors,
        df=float(len(rows)),
        classic=outcome(*classic, "F test, equal SDs"),
        robust=outcome(*robust, "F test, HC3"),
        eta_squared=_eta_squared(classic[0], len(rows), residual, n),
    )


def _wald(means: Floats, variances: Floats, rows: Floats, residual: float) -> tuple[float, float]:
    """Return F and p; the means have these variances and are independent."""
    values, covariance = rows @ means, (rows * variances) @ rows.T
    rank = np.linalg.matrix_rank(covariance)
    statistic = values @ np.linalg.pinv(covariance) @ values / rank
    return float(statistic), float(special.fdtrc(rank, residual, statistic))


def _eta_squared(statistic: float, df: int, residual: float, n: float) -> Effect:
    """Give partial eta squared with its interval, from that of the noncentrality of F [1]_."""
    method = "noncentral F"
    if not np.isfinite(statistic):
        return unknown_effect("the statistic is not finite for these values", ETA_LEVEL, method)
    tail = (1 - ETA_LEVEL) / 2
    ends = special.ncfdtrinc(df, residual, [1 - tail, tail], statistic)
    low, high = (max(float(end), 0.0) / (max(float(end), 0.0) + n) if np.isfinite(end) else 0.0 for end in ends)
    interval = Interval(low=low, high=high, level=ETA_LEVEL, method=method)
    return Effect(value=statistic * df / (statistic * df + residual), interval=interval)


# Which of several sides is best, and how sure its place is.


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The place of one side among several."""

    name: str
    #: By the means, 1 is best; equal means share the better place.
    rank: int
    #: Places that the pairwise tests leave open, at the family-wise level of their correction.
    lowest: int
    highest: int


def ranking(
    names: Sequence[str], means: Sequence[float], direction: Direction, proven: Collection[tuple[str, str]]
) -> list[Place]:
    """Rank the sides of one metric.

    The best comes first. A side that is proven worse than ``w`` others and better than ``b`` others of ``k`` has a
    place from ``1 + w`` to ``k - b``. Where the pairwise tests keep the family-wise error (Holm, Bonferroni), all these
    intervals hold the true places together with that confidence [1]_.

    Parameters
    ----------
    names : sequence of str
        Of the sides.
    means : sequence of float
        Of the sides, in the order of `names`.
    proven : collection of (str, str)
        Pairs (better, worse) that a test, adjusted for the number of pairs, shows to differ.

    References
    ----------
    .. [1] M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for ranks with applications to mobility
       across neighbourhoods and academic achievement across countries", Review of Economic Studies 91, 2024.

    Examples
    --------
    >>> places = ranking(["a", "b", "c"], [1.0, 3.0, 2.0], "higher", {("b", "a")})
    >>> [(place.name, place.rank, place.lowest, place.highest) for place in places]
    [('b', 1, 1, 2), ('c', 2, 1, 3), ('a', 3, 2, 3)]
    """
    sign = -1 if direction == "higher" else 1
    signed = {name: sign * mean for name, mean in zip(names, means, strict=True)}
    places = [
        Place(
            name=name,
            rank=1 + sum(other < signed[name] for other in signed.values()),
            lowest=1 + sum(worse == name for _, worse in proven),
            highest=len(names) - sum(better == name for better, _ in proven),
        )
        for name in names
    ]
    return sorted(places, key=lambda place: place.rank)


METHOD = "crossed t"


class Crossed(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of the mean scores of two recipes on examples that both were evaluated on."""

    runs_a: int
    runs_b: int
    examples: int
    #: Whether runs of one index were paired.
    paired: bool
    #: Mean of A less that of B; its interval is for other runs on other examples.
    difference: Effect
    #: Standard error with runs and examples, from runs alone with these examples held, and from examples alone.
    se: float | None = None
    se_runs: float | None = None
    se_examples: float | None = None
    df: float | None = None
    #: Of the examples, which are drawn as wholes; None where each is drawn by itself.
    clusters: int | None = None


def crossed_difference(
    a: ArrayLike,
    b: ArrayLike,
    level: float = DEFAULT_LEVEL,
    pairs: Sequence[tuple[int, int]] = (),
    clusters: ArrayLike | None = None,
) -> Crossed:
    """Give the difference of two mean scores with an interval for other runs on other examples.

    Runs are crossed with examples [1]_, and both sides have the same examples. With m the mean squares of an analysis
    of variance of runs by examples, the variance of the difference is ``V_runs + V_examples - V_rest``: the variance of
    the means of runs over their number, for each side; that of the examples' differences over their number; and what
    both hold, ``m_rest / (runs * examples)`` for each side, once. It is taken to be no less than each of the first two.
    The interval is Student's t with the degrees of freedom of Satterthwaite [2]_. The product bootstrap [1]_ estimates
    the sum without ``- V_rest``, and more.

    Parameters
    ----------
    a, b : array_like, shape (n_runs, n_examples)
        The score of each run on each example: 1 where it is right and else 0, or any other.
    level : float
        Confidence level, in (0, 1).
    pairs : sequence of (int, int), optional
        Runs of A and of B that belong together; others are left out. Two or more, else runs are not paired.
    clusters : array_like of int, shape (n_examples,), optional
        Examples of one cluster, such as a patient, are drawn together: each cluster counts as one, with its weight.

    References
    ----------
    .. [1] A. B. Owen and D. Eckles, "Bootstrapping data arrays of arbitrary order", Annals of Applied Statistics 6(3),
       2012.
    .. [2] F. E. Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics
       Bulletin 2(6), 1946.

    Examples
    --------
    >>> found = crossed_difference([[1, 1, 0, 1], [1, 1, 1, 1]], [[1, 0, 0, 1], [0, 1, 0, 1]])
    >>> found.difference.value, round(found.se_runs, 3), round(found.se_examples, 3), round(found.se, 3)
    (0.375, 0.125, 0.125, 0.125)
    """
    first, second = np.asarray(a, float), np.asarray(b, float)
    paired = len(pairs) > 1
    if paired:
        first, second = (side[list(at)] for side, at in zip((first, second), zip(*pairs, strict=True), strict=True))
    sides = [first - second] if paired else [first, second]
    examples = first.shape[1]
    value = float(first.mean() - second.mean())
    known = Crossed(
        runs_a=len(first),
        runs_b=len(second),
        examples=examples,
        paired=paired,
        difference=Effect(value=value, interval=Interval(level=level, method=METHOD)),
        clusters=None if clusters is None else int(np.unique(clusters).size),
    )
    if clusters is not None:
        sides = [_by_cluster(side, clusters) for side in sides]
        first, second = (_by_cluster(side, clusters) for side in (first, second))
        examples = first.shape[1]
    if min(len(first), len(second), examples) < 2:
        return _without_interval(known, "an interval for other runs needs two runs or more of each")
    of_examples = float((first.mean(axis=0) - second.mean(axis=0)).var(ddof=1)) / examples
    of_runs = [float(side.mean(axis=1).var(ddof=1)) / len(side) for side in sides]
    rest = [_interaction(side) for side in sides]
    variance = max(sum(of_runs) + of_examples - sum(rest), sum(of_runs), of_examples)
    if variance <= 0:
        return _without_interval(known, "the difference is the same in all runs and on all examples")
    squares = [
        (of_examples**2, examples - 1),
        *((part**2, len(side) - 1) for part, side in zip(of_runs, sides, strict=True)),
        *((part**2, (len(side) - 1) * (examples - 1)) for part, side in zip(rest, sides, strict=True)),
    ]
    df = variance**2 / sum(square / degrees for square, degrees in squares)
    interval = StudentT(value=value, error=math.sqrt(variance), freedom=df).interval(level, METHOD)
    return msgspec.structs.replace(
        known,
        difference=Effect(value=value, interval=interval),
        se=math.sqrt(variance),
        se_runs=math.sqrt(sum(of_runs)),
        se_examples=math.sqrt(of_examples),
        df=df,
    )


def _by_cluster(scores: Floats, clusters: ArrayLike) -> Floats:
    """Return the scores of clusters, whose mean is that of the examples, however unequal clusters are."""
    found, places = np.unique(clusters, return_inverse=True)
    mean = scores.mean()
    totals = np.stack([np.bincount(places, weights=run - mean) for run in scores])
    by_cluster: Floats = mean + totals * found.size / scores.shape[1]
    return by_cluster


def _without_interval(known: Crossed, reason: str) -> Crossed:
    interval = msgspec.structs.replace(known.difference.interval, reason=reason)
    return msgspec.structs.replace(known, difference=Effect(value=known.difference.value, interval=interval))


def _interaction(scores: Floats) -> float:
    """Return the mean square of the interaction of runs and examples, over the number of scores."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    centred -= centred.mean(axis=0)
    runs, examples = scores.shape
    return float((centred**2).sum()) / float((runs - 1) * (examples - 1) * scores.size)


def mcnemar(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test whether two trained models are right on the same share of examples, by McNemar's exact test [1]_.

    It is of these two models. It says nothing of other runs of their recipes.

    Parameters
    ----------
    a, b : array_like of bool, shape (n_examples,)
        Where each is right.

    References
    ----------
    .. [1] Q. McNemar, "Note on the sampling error of the difference between correlated proportions or percentages",
       Psychometrika 12(2), 1947.

    Examples
    --------
    >>> mcnemar([1, 1, 1, 0, 1, 1], [0, 0, 0, 0, 0, 1]).p
    0.125
    """
    only_a, only_b = (int((np.asarray(x, bool) & ~np.asarray(y, bool)).sum()) for x, y in ((a, b), (b, a)))
    if not only_a + only_b:
        return Tested(reason="the two are right on the same examples")
    p = scipy.stats.binomtest(only_a, only_a + only_b).pvalue
    return outcome(only_a / (only_a + only_b), p, f"exact, {only_a} against {only_b} examples")


WILLIAMS = "Williams and Tukey"

OVER_SPLITS = "t, splits and seeds"


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """What one factor adds to the spread, as an SD; 0 where its variance is estimated at less."""

    sd: float
    interval: Interval


class SplitSpread(msgspec.Struct, frozen=True, kw_only=True):
    """Mean over splits and seeds, and what each adds to the spread of one run on one split."""

    splits: int
    #: Runs on each split, or their harmonic mean.
    runs: float
    mean: float
    #: For other splits and other seeds.
    ci_mean: Interval
    split: Component
    #: What a seed does on all splits alike; None where runs of unlike splits have other seeds.
    seed: Component | None = None
    #: What is left: between runs on one split, but for `seed`.
    rest: Component
    #: SD of one run on one split, each drawn anew.
    whole: float
    #: Share of the variance of `whole` that is the split's, in [0, 1].
    share: float


def split_spread(
    samples: Sequence[Sequence[float]], level: float = DEFAULT_LEVEL, *, crossed: bool = False
) -> SplitSpread | None:
    """Divide the variance of runs on several splits [1]_; None below two splits or runs, or without any spread.

    Nested runs have other seeds on each split. Of `crossed` ones, run k has the same seeds on every split, and what it
    does on all of them alike is a component of its own. Components are those of the analysis of variance with random
    factors, intervals those of Williams and Tukey [2]_, which hold `level` for normal values at least; with unequal
    numbers of runs on the unweighted means of the splits [3]_.

    Examples
    --------
    Montgomery's strength of fabric from four looms, "Design and analysis of experiments", section 3.9:

    >>> looms = [[98, 97, 99, 96], [91, 90, 93, 92], [96, 95, 97, 95], [95, 96, 99, 98]]
    >>> found = split_spread(looms)
    >>> round(found.split.sd ** 2, 2), round(found.rest.sd ** 2, 2), round(found.share, 2)
    (6.96, 1.9, 0.79)
    """
    cells = [finite_sample(sample) for sample in samples]
    if len(cells) < 2 or min(cell.size for cell in cells) < 2 or all(is_identical(cell) for cell in cells):
        return None
    return _crossed(np.stack(cells), level) if crossed else _nested(cells, level)


def split_difference(
    a: Sequence[Sequence[float]],
    b: Sequence[Sequence[float]],
    level: float = DEFAULT_LEVEL,
    *,
    crossed: bool = False,
) -> Effect | None:
    """Give by how much `b` is higher than `a` for other splits and seeds; both hold the runs on the same splits.

    The differences on each split are the sample, as Demšar has it for data sets. Of `crossed` runs, run k has the same
    seeds everywhere: its differences are seeds and splits as random factors. None below two splits, or without spread.

    Examples
    --------
    >>> found = split_difference([[1.0, 1.2], [2.0, 2.1], [3.0, 3.3]], [[1.5, 1.6], [2.6, 2.9], [3.4, 3.9]])
    >>> round(found.value, 2), round(found.interval.low, 2), round(found.interval.high, 2)
    (0.55, 0.22, 0.88)
    """
    first, second = ([finite_sample(runs) for runs in side] for side in (a, b))
    if crossed:
        differences = [(y - x).tolist() for x, y in zip(first, second, strict=True)]
        both = split_spread(differences, level, crossed=True)
        return None if both is None else Effect(value=both.mean, interval=both.ci_mean)
    means = np.array([y.mean() - x.mean() for x, y in zip(first, second, strict=True)])
    if means.size < 2 or is_identical(means):
        return None
    student = student_of_one(means)
    return Effect(value=student.value, interval=student.interval(level, OVER_SPLITS))


def _nested(cells: Sequence[Floats], level: float) -> SplitSpread:
    splits, freedom = len(cells), sum(cell.size - 1 for cell in cells)
    means = np.array([cell.mean() for cell in cells])
    runs = splits / sum(1 / cell.size for cell in cells)
    within = sum(float(np.square(cell - cell.mean()).sum()) for cell in cells) / freedom
    between = runs * float(means.var(ddof=1))
    return _divided(
        (splits, runs, float(means.mean())),
        between / (splits * runs),
        splits - 1,
        [_component((between, splits - 1), (within, freedom), runs, level), None, _rest(within, freedom, level)],
        level,
    )


def _crossed(table: Floats, level: float) -> SplitSpread:
    splits, runs = table.shape
    by_split, by_run = table.mean(axis=1), table.mean(axis=0)
    freedom = (splits - 1) * (runs - 1)
    rest = float(np.square(table - by_split[:, None] - by_run + table.mean()).sum()) / freedom
    of_split, of_run = runs * float(by_split.var(ddof=1)), splits * float(by_run.var(ddof=1))
    variance = max(of_split + of_run - rest, of_split, of_run)
    # Satterthwaite's degrees of freedom.
    squares = of_split**2 / (splits - 1) + of_run**2 / (runs - 1) + rest**2 / freedom
    return _divided(
        (splits, runs, float(table.mean())),
        variance / table.size,
        max(variance**2 / squares, min(splits, runs) - 1),
        [
            _component((of_split, splits - 1), (rest, freedom), runs, level),
            _component((of_run, runs - 1), (rest, freedom), splits, level),
            _rest(rest, freedom, level),
        ],
        level,
    )


def _divided(
    sizes: tuple[int, float, float], squared_error: float, freedom: float, parts: list[Component | None], level: float
) -> SplitSpread:
    splits, runs, mean = sizes
    split, seed, rest = parts
    assert split is not None
    assert rest is not None
    whole = sum(part.sd**2 for part in parts if part)
    return SplitSpread(
        splits=splits,
        runs=runs,
        mean=mean,
        ci_mean=StudentT(value=mean, error=math.sqrt(squared_error), freedom=freedom).interval(level, OVER_SPLITS),
        split=split,
        seed=seed,
        rest=rest,
        whole=math.sqrt(whole),
        share=split.sd**2 / whole if whole else 0.0,
    )


def _component(square: tuple[float, float], rest: tuple[float, float], times: float, level: float) -> Component:
    """Give the SD of a factor from its mean square and that of the rest, each with its degrees of freedom."""
    (mean, freedom), (left, left_freedom) = square, rest
    tails = ((1 + level) / 2, (1 - level) / 2)
    ends = [
        freedom * (mean - left * float(special.fdtri(freedom, left_freedom, tail)))
        / (times * 2 * float(special.gammaincinv(freedom / 2, tail)))
        for tail in tails
    ]  # fmt: skip
    low, high = (math.sqrt(max(end, 0.0)) for end in ends)
    interval = Interval(low=low, high=high, level=level, method=WILLIAMS)
    return Component(sd=math.sqrt(max(mean - left, 0.0) / times), interval=interval)


def _rest(square: float, freedom: int, level: float) -> Component:
    sd = math.sqrt(square)
    low, high = (sd * factor for factor in sd_factors(freedom + 1, level))
    return Component(sd=sd, interval=Interval(low=low, high=high, level=level, method=CHI_SQUARE))
