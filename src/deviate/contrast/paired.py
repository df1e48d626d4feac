"""Is one side higher than the other, run by run? Tests of samples whose runs belong together two by two."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from deviate.contrast.location import EXACT_UP_TO, RESAMPLES
from deviate.contrast.results import Tested, outcome, quiet, two_samples
from deviate.measure.sample import Floats, is_identical


def paired_t(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test for equal means with Student's t test of the differences.

    Unknown below two pairs and where all differences are equal.

    Examples
    --------
    >>> round(paired_t([1.0, 2.0, 4.0], [2.0, 4.0, 5.0]).p, 4)
    0.0572
    """
    first, second, reason = _pairs(a, b)
    if reason:
        return Tested(reason=reason)
    with quiet():
        test = stats.ttest_rel(first, second)
    return outcome(test.statistic, test.pvalue)


def wilcoxon(a: ArrayLike, b: ArrayLike) -> Tested:
    """Test by signed ranks whether the differences are centred on zero.

    p is exact up to 50 pairs without ties, and from all or many changes of signs with ties.

    References
    ----------
    .. [1] F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1, 1945.

    Examples
    --------
    >>> wilcoxon([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, 10.0]).p
    0.0625
    """
    first, second, reason = _pairs(a, b)
    if reason:
        return Tested(reason=reason)
    with quiet():
        test = stats.wilcoxon(first, second)
    return outcome(test.statistic, test.pvalue)


def paired_permutation(a: ArrayLike, b: ArrayLike, rng: np.random.Generator) -> Tested:
    """Test for equal means by exchanging the sides within pairs.

    Looks at all ``2**n`` exchanges up to `EXACT_UP_TO` (14 pairs), else `RESAMPLES` of them.

    Examples
    --------
    >>> paired_permutation([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, 10.0], np.random.default_rng(0)).p
    0.0625
    """
    first, second, reason = _pairs(a, b)
    if reason:
        return Tested(reason=reason)
    exact = 2**first.size <= EXACT_UP_TO
    test = stats.permutation_test(
        (first - second,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=EXACT_UP_TO if exact else RESAMPLES,
        rng=rng,
    )
    method = f"exact, {2**first.size} exchanges" if exact else f"{RESAMPLES} random exchanges"
    return outcome(np.ldexp(float(first.mean() - second.mean()), two_samples(a, b).exponent), test.pvalue, method)


def correlation(a: ArrayLike, b: ArrayLike) -> float | None:
    """Give Pearson's correlation over the pairs; None where a side is constant or below three pairs.

    Examples
    --------
    >>> round(correlation([1.0, 2.0, 3.0], [2.0, 4.0, 7.0]), 3)
    0.993
    """
    both = two_samples(a, b)
    if both.a.size < 3 or is_identical(both.a) or is_identical(both.b):
        return None
    with quiet():
        r = float(stats.pearsonr(both.a, both.b).statistic)
    return r if np.isfinite(r) else None


def _pairs(a: ArrayLike, b: ArrayLike) -> tuple[Floats, Floats, str]:
    both = two_samples(a, b)
    if both.a.size != both.b.size:
        raise ValueError(f"pairs need as many runs on each side; got {both.a.size} and {both.b.size}")
    if both.a.size < 2:
        return both.a, both.b, "a paired test needs two pairs or more"
    same = "all pairs differ by exactly the same amount, so nothing shows how much differences vary"
    return both.a, both.b, same if is_identical(both.a - both.b) else ""
