"""Is one side higher than the other, or noisier? Tests of independent samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, combinations
from math import comb
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

from deviate.stats.results import Tested, TwoSamples, outcome, quiet, student_of_two, two_samples
from deviate.stats.spread import Floats, common_scale, finite_sample, is_identical

# Arrangements of the runs of two sides: what a statistic would be if chance alone had put each run on its side.

#: Arrangements of the runs that are all looked at; of more, `RESAMPLES` are drawn. 8 against 8 runs have 12,870.
EXACT_UP_TO = 20_000

#: Arrangements drawn: p near 0.05 has then a Monte Carlo standard error of ``sqrt(0.05 * 0.95 / 9999)`` = 0.2 points.
RESAMPLES = 9999

#: Between equal numbers of fewer runs permutations decide nothing: other tests keep their level there, and permutations
#: could show nothing after a correction over many tests: of 5 against 5 runs no p is below 0.008.
PERMUTED_FROM = 8

#: Up to this ratio of the larger to the smaller number of runs Welch's test keeps its level as between equal numbers.
EQUAL_UP_TO = 1.25

#: Places of the runs of the first side, shape ``(arrangements, n)``.
Places = NDArray[np.intp]

#: Takes the values of all runs, with a mean of 0 and the farthest from it at 1 or -1, and the places of the first side;
#: gives a statistic for each arrangement, and the same one for each in which it is infinite.
Statistic = Callable[[Floats, Places], Floats]

#: Of such values, variances and differences of means below this are rounding.
NOTHING = 1e-12


def is_permuted(n_a: int, n_b: int) -> bool:
    """Tell whether a permutation of the runs decides too, of the spread and of the accuracy on few examples.

    Examples
    --------
    >>> is_permuted(5, 5), is_permuted(8, 8), is_permuted(5, 6)
    (False, True, True)
    """
    return not n_a == n_b < PERMUTED_FROM


def are_of_two_kinds(a: Floats, b: Floats) -> bool:
    """Tell whether the values lie in two places, further apart than both are wide, and one side has some in each.

    Welch's test calls up to 7.7 % of equal sides of such values different (``benchmarks/statistics``). No claim hangs
    on fewer than three runs in a place.
    """
    both = two_samples(a, b)
    if both.reason:
        return False
    ordered = np.sort(np.concatenate([both.a, both.b]))
    gaps = np.diff(ordered)
    low = [int((side <= ordered[gaps.argmax()]).sum()) for side in (both.a, both.b)]
    apart = gaps.max() > (ordered[-1] - ordered[0]) / 2 + NOTHING and low not in ([0, b.size], [a.size, 0])
    return bool(apart and 3 <= sum(low) <= ordered.size - 3)


def places(n: int, m: int) -> tuple[Places, bool]:
    """Return the places of the first side in all arrangements of `n` and `m` runs, or in random ones; and whether all.

    The random ones are the same each time: p of the same values does not depend on what was looked at before.
    """
    exact = comb(n + m, n) <= EXACT_UP_TO
    return (all_places(n + m, n) if exact else _drawn(n, m)), exact


@lru_cache(maxsize=8)
def all_places(runs: int, chosen: int) -> Places:
    """Return all ways to choose some of the runs, shape ``(arrangements, chosen)``."""
    flat = chain.from_iterable(combinations(range(runs), chosen))
    return np.fromiter(flat, dtype=np.intp).reshape(-1, chosen)


@lru_cache(maxsize=8)
def _drawn(n: int, m: int) -> Places:
    rng = np.random.default_rng([n, m])
    return rng.permuted(np.tile(np.arange(n + m), (RESAMPLES, 1)), axis=1)[:, :n].copy()


class Arranged:
    """A statistic of two sides as observed, and over the arrangements of their runs.

    Where chance alone puts the runs on their sides, p is right whatever the values look like [1]_.

    References
    ----------
    .. [1] A. Janssen, "Studentized permutation tests for non-i.i.d. hypotheses and the generalized Behrens-Fisher
       problem", Statistics & Probability Letters 36, 1997.
    """

    def __init__(self, a: Floats, b: Floats, statistic: Statistic, *, paired: bool = False) -> None:
        values = np.concatenate([a, b])
        values = values - values.mean()
        values = values / max(float(np.abs(values).max()), float(np.finfo(float).tiny))
        # Those that are drawn come in random order, and so meet a random one of the others.
        chosen, self.exact = (_drawn(a.size, b.size), False) if paired else places(a.size, b.size)
        self._all = statistic(values, chosen)
        self._observed = float(statistic(values, np.arange(a.size)[None, :])[0])

    @property
    def method(self) -> str:
        """How p was had."""
        return how_permuted(self._all.size, exact=self.exact)

    def p(self) -> float:
        """Return twice the smaller of the two one-sided p, in (0, 1]."""
        return two_sided(self._all, self._observed, exact=self.exact)

    def limits(self, level: float) -> tuple[float, float]:
        """Return the lowest and the highest statistic for which p is ``1 - level`` or more."""
        added, ordered = (0 if self.exact else 1), np.sort(self._all)
        # So many arrangements on one side of the observed one, itself included, have p of 1 - level or more.
        fewest = int(np.ceil(round((1 - level) / 2 * (ordered.size + added), 9))) - added
        beyond = min(max(fewest, 1), ordered.size)
        return float(ordered[beyond - 1]), float(ordered[-beyond])


def how_permuted(count: int, *, exact: bool) -> str:
    """Say which arrangements p is of."""
    return f"exact, {count} arrangements" if exact else f"{RESAMPLES} random arrangements"


def two_sided(statistics: Floats, observed: float, *, exact: bool) -> float:
    """Return p of an observed statistic among those of all arrangements, or of random ones.

    Twice the smaller of the two one-sided p; random arrangements count the observed one too [1]_.

    References
    ----------
    .. [1] B. Phipson and G. K. Smyth, "Permutation p-values should never be zero", Statistical Applications in Genetics
       and Molecular Biology 9, 2010.
    """
    finite = statistics[np.isfinite(statistics)]
    largest = float(np.abs(finite).max()) if finite.size else 0.0
    rounding = 100 * float(np.finfo(float).eps) * max(1.0, largest)
    added = 0 if exact else 1
    sides = (statistics <= observed + rounding, statistics >= observed - rounding)
    return min(1.0, 2 * min((int(side.sum()) + added) / (statistics.size + added) for side in sides))


#: Without ties the exact distribution of U is computed up to this many pairs of runs (50 against 50).
EXACT_U_PAIRS = 2500


def student_t(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal means with Student's t test, which assumes equal SDs.

    t is positive where the mean of `a` is higher. Unknown below two runs per side, and where both sides are constant.

    Examples
    --------
    >>> round(student_t([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]).statistic, 4)
    -1.5492
    """
    return _t_test(two_samples(a, b), equal_var=True)


def welch_t(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal means with Welch's t test, which does not assume equal SDs.

    t is positive where the mean of `a` is higher. Unknown as in `student_t`.

    References
    ----------
    .. [1] B. L. Welch, "The generalization of Student's problem when several different population variances are
       involved", Biometrika 34, 1947.

    Examples
    --------
    >>> test = welch_t([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    >>> round(test.statistic, 4), round(test.p, 4)
    (-1.5492, 0.2209)
    """
    return _t_test(two_samples(a, b), equal_var=False)


def welch_permutation(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal means with Welch's t test and by permuting the runs; the larger p counts.

    The statistic is Welch's t, as it is over the arrangements of the runs. Welch's test alone calls equal sides
    different in up to 25 % of comparisons, where numbers of runs are unequal and values are skewed or some runs
    collapse; this one does in at most 5 % (``benchmarks/statistics/unequal.py``). Unknown as in `student_t`.

    Examples
    --------
    >>> test = welch_permutation([1.0, 2.0, 3.0], [2.0, 4.0, 6.0, 8.0])
    >>> round(welch_t([1.0, 2.0, 3.0], [2.0, 4.0, 6.0, 8.0]).p, 3), round(test.p, 3), test.method
    (0.1, 0.171, 'exact, 35 arrangements')
    """
    both = two_samples(a, b)
    plain = _t_test(both, equal_var=False)
    if plain.p is None:
        return plain
    arranged = arranged_welch(both)
    return outcome(plain.statistic or 0.0, max(plain.p, arranged.p()), arranged.method)


def test_of_means(a: Floats, b: Floats) -> Callable[[ArrayLike, ArrayLike], Tested]:
    """Return the test of the means of runs that are not paired.

    Of equal numbers Welch's test keeps its level alone, but for values of two kinds, and sees more of coarse ones.
    """
    unequal = max(a.size, b.size) > EQUAL_UP_TO * min(a.size, b.size)
    return welch_permutation if unequal or are_of_two_kinds(a, b) else welch_t


def arranged_welch(both: TwoSamples) -> Arranged:
    """Return Welch's t over the arrangements of the runs."""
    return Arranged(both.a, both.b, _welch_statistics)


def mann_whitney_u(a: ArrayLike, b: ArrayLike, rng: np.random.Generator) -> Tested:
    """Test by ranks whether values of one side tend to be higher.

    U of `a`: in how many of the ``n_a * n_b`` pairs its value is higher, ties counted half. p is exact without ties up
    to 50 against 50 runs, and with ties up to `EXACT_UP_TO` arrangements.

    References
    ----------
    .. [1] H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is stochastically larger than
       the other", Annals of Mathematical Statistics 18, 1947.

    Examples
    --------
    >>> mann_whitney_u([4.0, 5.0, 6.0], [1.0, 2.0, 3.0], np.random.default_rng(0)).p
    0.1
    """
    both = two_samples(a, b)
    if both.reason:
        return Tested(reason=both.reason)
    ranks = scipy.stats.rankdata(np.concatenate([both.a, both.b]))
    if np.unique(ranks).size < ranks.size:
        return _tied_u(both, ranks, rng)
    exact = both.a.size * both.b.size <= EXACT_U_PAIRS
    test = scipy.stats.mannwhitneyu(both.a, both.b, method="exact" if exact else "asymptotic")
    return outcome(test.statistic, test.pvalue, "exact" if exact else "normal approximation")


def brunner_munzel(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test whether values of one side tend to be higher, without assuming equal spread.

    It uses the t approximation; the statistic is positive where `b` tends to be higher. Unknown where the sides do not
    overlap, for its estimate of the variance is then zero. At 5 runs per side it calls 6 to 7 % of equal sides
    different instead of 5 % (``benchmarks/statistics``).

    References
    ----------
    .. [1] E. Brunner and U. Munzel, "The nonparametric Behrens-Fisher problem", Biometrical Journal 42, 2000.

    Examples
    --------
    >>> brunner_munzel([4.0, 5.0, 6.0], [1.0, 2.0, 3.0]).reason
    'the two do not overlap, so this test has no estimate of the variance'
    """
    both = two_samples(a, b)
    if both.reason:
        return Tested(reason=both.reason)
    with quiet():
        test = scipy.stats.brunnermunzel(both.a, both.b)
    apart = "the two do not overlap, so this test has no estimate of the variance"
    return outcome(test.statistic, test.pvalue, "t approximation", why_not=apart)


def permutation(a: ArrayLike, b: ArrayLike, rng: np.random.Generator) -> Tested:
    """Test for equal means by permuting the runs between the sides.

    The statistic is ``mean(a) - mean(b)``. With up to `EXACT_UP_TO` arrangements all are looked at; else `RESAMPLES`
    are drawn and ``p = (b + 1) / (m + 1)`` per side [1]_.

    References
    ----------
    .. [1] B. Phipson and G. K. Smyth, "Permutation p-values should never be zero", Statistical Applications in Genetics
       and Molecular Biology 9, 2010.

    Examples
    --------
    >>> test = permutation([4.0, 5.0, 6.0], [1.0, 2.0, 3.0], np.random.default_rng(0))
    >>> test.p, test.method
    (0.1, 'exact, 20 arrangements')
    """
    both = two_samples(a, b)
    if both.reason:
        return Tested(reason=both.reason)
    p, method = _permuted(both.a, both.b, rng)
    return outcome(both.back(float(both.a.mean() - both.b.mean())), p, method)


def _t_test(both: TwoSamples, *, equal_var: bool) -> Tested:
    if both.reason:
        return Tested(reason=both.reason)
    return student_of_two(both.a, both.b, equal_var=equal_var).tested


def _tied_u(both: TwoSamples, ranks: Floats, rng: np.random.Generator) -> Tested:
    """With ties U has no one distribution; that of these very values is had by permuting their ranks."""
    statistic = float(scipy.stats.mannwhitneyu(both.a, both.b, method="asymptotic").statistic)
    p, method = _permuted(ranks[: both.a.size], ranks[both.a.size :], rng)
    return outcome(statistic, p, f"{method}, with ties")


def _permuted(a: Floats, b: Floats, rng: np.random.Generator) -> tuple[float, str]:
    """Return the two-sided p of the difference of means over arrangements of the runs, and how it was had.

    All arrangements at once: SciPy's `permutation_test`, which gives the same p, makes them one by one and takes more
    than 40 times as long for 8 against 8 runs.
    """
    pooled, count = np.concatenate([a, b]), comb(a.size + b.size, a.size)
    exact = count <= EXACT_UP_TO
    if exact:
        drawn = pooled[all_places(pooled.size, a.size)]
    else:
        drawn = rng.permuted(np.tile(pooled, (RESAMPLES, 1)), axis=1)[:, : a.size]
    differences = drawn.mean(axis=1) - (pooled.sum() - drawn.sum(axis=1)) / b.size
    p = two_sided(differences, float(a.mean() - b.mean()), exact=exact)
    return p, how_permuted(count, exact=exact)


def _welch_statistics(values: Floats, places: Places) -> Floats:
    """Return Welch's t of each arrangement: infinite where both sides are constant and differ, 0 where they are equal.

    Only the first side is gathered; what is left makes the second.
    """
    n, m = places.shape[1], values.size - places.shape[1]
    chosen = values[places]
    sums, squares = chosen.sum(axis=1), (chosen**2).sum(axis=1)
    others, other_squares = values.sum() - sums, (values**2).sum() - squares
    first, second = (squares - sums**2 / n) / (n - 1), (other_squares - others**2 / m) / (m - 1)
    error = np.where(first > NOTHING, first, 0.0) / n + np.where(second > NOTHING, second, 0.0) / m
    differences = sums / n - others / m
    with quiet():
        return np.where(np.abs(differences) > NOTHING, differences / np.sqrt(error), 0.0)


# Is one side noisier than the other? Tests of the spread of two independent samples.

#: Where p of the test alone is larger, the runs are not permuted: no verdict hangs on it.
PERMUTED_UP_TO = 0.2

#: Values that are permuted at a time, to bound the memory.
CHUNK = 1 << 20


def brown_forsythe(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal spread by the distances from each side's median.

    It holds its level for skewed and heavy-tailed values too, and sees little below 16 runs per side
    (``benchmarks/statistics``). Unknown below three runs per side.

    References
    ----------
    .. [1] M. B. Brown and A. B. Forsythe, "Robust tests for the equality of variances", JASA 69, 1974.

    Examples
    --------
    >>> round(brown_forsythe([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 5.0, 7.0]).statistic, 3)
    2.4
    """
    return _levene(two_samples(a, b), "median")


def brown_forsythe_permutation(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal spread with `brown_forsythe` and by permuting the runs; the larger p counts.

    `brown_forsythe` alone calls equal sides different in up to 10 % of comparisons, and in up to 63 % of those of 20
    metrics, where some runs collapse and values are of two kinds. This test does in at most 5 %
    (``benchmarks/statistics/unequal.py``). Unknown as there.

    Examples
    --------
    >>> test = brown_forsythe_permutation([1.0, 2.0, 3.0, 4.0], [1.0, 9.0, 17.0, 25.0])
    >>> round(brown_forsythe([1.0, 2.0, 3.0, 4.0], [1.0, 9.0, 17.0, 25.0]).p, 3), round(test.p, 3)
    (0.024, 0.257)
    """
    plain = brown_forsythe(a, b)
    if plain.p is None or plain.p > PERMUTED_UP_TO:
        return plain
    both = two_samples(a, b)
    arranged = Arranged(both.a, both.b, _brown_forsythe_statistics)
    return outcome(plain.statistic or 0.0, max(plain.p, arranged.p()), arranged.method)


def levene(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal spread by the distances from each side's mean.

    It is more powerful than `brown_forsythe` at few runs and less honest: of equal sides it calls up to 9 % different
    with heavy tails and 22 % with skew (``benchmarks/statistics``). Unknown below three runs per side.

    References
    ----------
    .. [1] H. Levene, "Robust tests for equality of variances", in "Contributions to probability and statistics", 1960.
    """
    return _levene(two_samples(a, b), "mean")


def f_variance(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal variances by their ratio, which is right for normal values only.

    ``F = var(a) / var(b)`` and ``p = 2 * min(P(F' <= F), P(F' >= F))`` of ``F'`` with ``n_a - 1`` and ``n_b - 1``
    degrees of freedom. Unknown where one side is constant.

    References
    ----------
    .. [1] G. W. Snedecor and W. G. Cochran, "Statistical methods", section 6.12.

    Examples
    --------
    >>> round(f_variance([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 5.0, 7.0]).p, 4)
    0.2848
    """
    both = two_samples(a, b)
    if reason := _why_no_ratio(both):
        return Tested(reason=reason)
    with quiet():
        ratio = float(both.a.var(ddof=1) / both.b.var(ddof=1))
    freedom = both.a.size - 1, both.b.size - 1
    return outcome(ratio, 2 * min(float(special.fdtr(*freedom, ratio)), float(special.fdtrc(*freedom, ratio))))


def bartlett(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal variances with Bartlett's test, which is right for normal values only.

    Unknown where one side is constant.

    References
    ----------
    .. [1] M. S. Bartlett, "Properties of sufficiency and statistical tests", Proceedings of the Royal Society A 160,
       1937.
    """
    both = two_samples(a, b)
    if reason := _why_no_ratio(both):
        return Tested(reason=reason)
    with quiet():
        test = scipy.stats.bartlett(both.a, both.b)
    return outcome(test.statistic, test.pvalue)


def _levene(both: TwoSamples, center: Literal["median", "mean"]) -> Tested:
    if both.reason:
        return Tested(reason=both.reason)
    if min(both.a.size, both.b.size) < 3:
        return Tested(reason="a test of spread needs three runs or more of each")
    centre = np.median if center == "median" else np.mean
    test = student_of_two(*(np.abs(side - centre(side)) for side in (both.a, both.b)), equal_var=True).tested
    if test.statistic is None or test.p is None:
        return Tested(reason="the distances from the centre are all equal in each")
    return outcome(test.statistic**2, test.p)  # The F of two groups is the square of t.


def _brown_forsythe_statistics(values: Floats, places: Places) -> Floats:
    """Return for each arrangement how much farther the first side is from its median, in standard errors."""
    return np.concatenate([_compared(*distances) for distances in distances_arranged(values, places)])


def distances_arranged(values: Floats, places: Places) -> Iterator[tuple[Floats, Floats]]:
    """Yield the distances of both sides from their medians for each arrangement, some arrangements at a time."""
    for part in np.array_split(places, max(1, places.shape[0] * values.size // CHUNK)):
        is_other = np.ones((len(part), values.size), dtype=bool)
        np.put_along_axis(is_other, part, False, axis=1)
        others = np.broadcast_to(values, is_other.shape)[is_other].reshape(len(part), -1)
        first, second = (np.abs(side - np.median(side, axis=1, keepdims=True)) for side in (values[part], others))
        yield first, second


def _compared(first: Floats, second: Floats) -> Floats:
    n, m = first.shape[1], second.shape[1]
    within = (first.var(axis=1) * n + second.var(axis=1) * m) / (n + m - 2) * (1 / n + 1 / m)
    gaps = first.mean(axis=1) - second.mean(axis=1)
    with quiet():
        return np.where(np.abs(gaps) > NOTHING, gaps / np.sqrt(np.where(within > NOTHING, within, 0.0)), 0.0)


def _why_no_ratio(both: TwoSamples) -> str:
    if both.reason:
        return both.reason
    constant = is_identical(both.a) or is_identical(both.b)
    return "the runs of one of the two gave exactly the same value, so its variance is zero" if constant else ""


# Whether more than two sides differ at all.


def welch_anova(samples: Sequence[ArrayLike]) -> Tested:
    """Test for equal means of several sides without assuming equal SDs.

    Unknown where one side has fewer than two runs or is constant: its weight would be infinite.

    References
    ----------
    .. [1] B. L. Welch, "On the comparison of several mean values: an alternative approach", Biometrika 38, 1951.
    """
    values = _scaled(samples)
    if any(sample.size < 2 for sample in values):
        return Tested(reason="a test needs two runs or more of each")
    if any(is_identical(sample) for sample in values):
        return Tested(reason="the runs of one of them gave exactly the same value, so its weight would be infinite")
    sizes = np.array([sample.size for sample in values])
    means, variances = np.array([(sample.mean(), sample.var(ddof=1)) for sample in values]).T
    with quiet():
        weights = sizes / variances
        shares = weights / weights.sum()
        between = weights @ np.square(means - shares @ means) / (len(values) - 1)
        spread = (np.square(1 - shares) / (sizes - 1)).sum() / (len(values) ** 2 - 1)
        statistic = between / (1 + 2 * (len(values) - 2) * spread)
        return outcome(statistic, scipy.special.fdtrc(len(values) - 1, 1 / (3 * spread), statistic))


def kruskal_wallis(samples: Sequence[ArrayLike]) -> Tested:
    """Test by ranks whether values of some side tend to be higher.

    References
    ----------
    .. [1] W. H. Kruskal and W. A. Wallis, "Use of ranks in one-criterion variance analysis", JASA 47, 1952.
    """
    values = _scaled(samples)
    if any(sample.size < 2 for sample in values):
        return Tested(reason="a test needs two runs or more of each")
    if is_identical(np.concatenate(values)):
        return Tested(reason="all runs gave exactly the same value")
    test = scipy.stats.kruskal(*values)
    return outcome(test.statistic, test.pvalue, "chi-square approximation")


def brown_forsythe_of_all(samples: Sequence[ArrayLike]) -> Tested:
    """Test for equal spread of several sides, see `brown_forsythe`.

    Examples
    --------
    >>> round(brown_forsythe_of_all([[1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 5.0, 7.0]]).statistic, 3)
    2.4
    """
    values = _scaled(samples)
    if any(sample.size < 3 for sample in values):
        return Tested(reason="a test of spread needs three runs or more of each")
    if all(is_identical(sample) for sample in values):
        return Tested(reason="the runs of each gave exactly the same value, so nothing shows how much runs vary")
    with quiet():
        test = scipy.stats.levene(*values, center="median")
    return outcome(test.statistic, test.pvalue, why_not="the distances from the medians are all equal in each")


def _scaled(samples: Sequence[ArrayLike]) -> list[Floats]:
    if len(samples) < 2:
        raise ValueError(f"a comparison has two sides or more, not {len(samples)}")
    return common_scale([finite_sample(sample) for sample in samples])[0]
