"""Is the difference smaller than what matters? Two one-sided tests."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike
from scipy import stats

from deviate.contrast.results import Tested, outcome, quiet, two_samples
from deviate.measure.sample import is_identical


def tost(a: ArrayLike, b: ArrayLike, margin: float, *, paired: bool = False) -> Tested:
    """Test whether the means differ by less than `margin`.

    Parameters
    ----------
    a, b : array_like of float, shapes (n_a,) and (n_b,)
        One finite value per run.
    margin : float
        Above 0, in the unit of the values: the smallest difference that matters, fixed before looking.
    paired : bool, optional
        Values at the same place belong together.

    Returns
    -------
    Tested
        The larger p of the two one-sided tests, Welch's or the paired one, and its t. Below alpha exactly where the
        ``1 - 2 alpha`` confidence interval of the difference lies within the margin [1]_.

    References
    ----------
    .. [1] D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for assessing the
       equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15, 1987.

    Examples
    --------
    >>> round(tost([1.0, 1.1, 0.9, 1.0], [1.0, 1.2, 0.9, 1.1], 0.5).p, 4)
    0.001
    """
    if not (margin > 0 and math.isfinite(margin)):
        raise ValueError(f"a margin is a number above 0; got {margin}")
    both = two_samples(a, b)
    if both.reason:
        return Tested(reason=both.reason)
    if paired and is_identical(both.a - both.b):
        return Tested(reason="all pairs differ by exactly the same amount")
    scaled = math.ldexp(margin, -both.exponent)
    with quiet():
        if paired:
            above = stats.ttest_rel(both.a + scaled, both.b, alternative="greater")
            below = stats.ttest_rel(both.a - scaled, both.b, alternative="less")
        else:
            above = stats.ttest_ind(both.a + scaled, both.b, equal_var=False, alternative="greater")
            below = stats.ttest_ind(both.a - scaled, both.b, equal_var=False, alternative="less")
    decisive = max(above, below, key=lambda found: float(found.pvalue))
    return outcome(decisive.statistic, decisive.pvalue)
