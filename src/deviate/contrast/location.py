"""Is one side higher than the other? Tests of two independent samples."""

from __future__ import annotations

from collections.abc import Callable
from math import comb

import numpy as np
import scipy
from numpy.typing import ArrayLike

from deviate.contrast.arrangements import (
    EXACT_UP_TO,
    NOTHING,
    RESAMPLES,
    Arranged,
    Places,
    all_places,
    are_unequal,
    how_permuted,
    two_sided,
)
from deviate.contrast.results import Tested, TwoSamples, outcome, quiet, two_samples
from deviate.measure.sample import Floats

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


def test_of_means(n_a: int, n_b: int) -> Callable[[ArrayLike, ArrayLike], Tested]:
    """Return the test of the means of so many runs that are not paired."""
    return welch_permutation if are_unequal(n_a, n_b) else welch_t


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
    with quiet():
        test = scipy.stats.ttest_ind(both.a, both.b, equal_var=equal_var)
    return outcome(test.statistic, test.pvalue)


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
    drawn = pooled[all_places(pooled.size, a.size)] if exact else _drawn(pooled, a.size, rng)
    differences = drawn.mean(axis=1) - (pooled.sum() - drawn.sum(axis=1)) / b.size
    p = two_sided(differences, float(a.mean() - b.mean()), exact=exact)
    return p, how_permuted(count, exact=exact)


def _drawn(pooled: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Return the first side of random arrangements, shape ``(RESAMPLES, size)``."""
    return rng.permuted(np.tile(pooled, (RESAMPLES, 1)), axis=1)[:, :size]


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
