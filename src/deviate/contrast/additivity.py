"""The sum of the variances of single sources, to set beside the variance of all sources together."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike
from scipy import stats

from deviate.contrast.results import Effect, unknown_effect
from deviate.measure.intervals import DEFAULT_LEVEL, Interval
from deviate.measure.sample import common_scale, finite_sample

METHOD = "F, with Satterthwaite's degrees of freedom"


def added_variances(parts: Sequence[ArrayLike], whole: ArrayLike, level: float = DEFAULT_LEVEL) -> Effect:
    """Give the sum of the variances of `parts` as a multiple of the variance of `whole`.

    The value is 1 where sources that act independently add up; more where they overlap, each bringing what another
    brings too; less where they act through each other. For normal values the interval is
    ``[r / F(q, f, n-1), r / F(1-q, f, n-1)]`` with ``r`` the value, ``q = (1+level)/2``, ``F`` the quantile of the F
    distribution and ``f = (sum v_i)**2 / sum(v_i**2 / (n_i - 1))`` [1]_: a sum of variances is distributed about as one
    of `f` degrees of freedom. Spreads with heavier tails make it too narrow.

    Parameters
    ----------
    parts : sequence of array_like of float, shapes (n_i,)
        Per source one finite value per run, of runs in which it varied alone.
    whole : array_like of float, shape (n,)
        One finite value per run, of runs in which all of them varied.

    References
    ----------
    .. [1] F. E. Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics
       Bulletin 2(6), 1946.

    Examples
    --------
    >>> effect = added_variances([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]], [0.0, 1.0, 2.0])
    >>> effect.value, effect.interval.low < 5 < effect.interval.high
    (5.0, True)
    """
    samples = [finite_sample(sample) for sample in (*parts, whole)]
    if len(samples) < 2 or min(sample.size for sample in samples) < 2:
        return unknown_effect("it takes two runs or more of each source and of all of them together", level, METHOD)
    split, _ = common_scale(samples)
    *variances, all_vary = (float(sample.var(ddof=1)) for sample in split)
    if all_vary == 0 or sum(variances) == 0:
        return unknown_effect("runs do not differ, with every source or with each alone", level, METHOD)
    ratio = sum(variances) / all_vary
    freedom = sum(variances) ** 2 / sum(v**2 / (sample.size - 1) for v, sample in zip(variances, split, strict=False))
    quantile = stats.f(freedom, split[-1].size - 1).ppf
    ends = [ratio / float(quantile(share)) for share in ((1 + level) / 2, (1 - level) / 2)]
    return Effect(value=ratio, interval=Interval(low=ends[0], high=ends[1], level=level, method=METHOD))
