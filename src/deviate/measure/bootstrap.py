"""Bootstrap confidence intervals, which assume no distribution."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from deviate.measure.intervals import DEFAULT_LEVEL, Interval, why_no_interval
from deviate.measure.sample import Floats, finite_sample, unit_scale

#: Resamples that make the 2.5 % quantile of the bootstrap distribution stable to about 1 % of its SD [1]_.
#:
#: .. [1] B. Efron and R. J. Tibshirani, "An introduction to the bootstrap", chapter 19, 1993.
RESAMPLES = 9999

#: Below this many runs too few different resamples exist (10 for n = 3, 35 for n = 4) to place a 2.5 % quantile.
FEWEST_RUNS = 5

METHOD = "bootstrap BCa"


def bootstrap_mean_interval(
    sample: ArrayLike, rng: np.random.Generator, level: float = DEFAULT_LEVEL, resamples: int = RESAMPLES
) -> Interval:
    """Give the bias-corrected and accelerated bootstrap interval of the mean.

    Parameters
    ----------
    sample : array_like of float, shape (n,)
        One finite value per run.
    rng : numpy.random.Generator
        Draws the resamples; the same state gives the same interval.
    level : float, optional
        Confidence level in (0, 1).
    resamples : int, optional
        Number of resamples.

    Returns
    -------
    Interval
        In the unit of the values. Unknown for ``n < 5`` and for values that are all exactly equal. At small n it
        covers less often than it promises: at a level of 95 % and n = 8 in 85 to 90 % of samples, where the t interval
        covers 90 to 96 % (``benchmarks/statistics``).

    References
    ----------
    .. [1] B. Efron, "Better bootstrap confidence intervals", JASA 82(397), 1987.

    Examples
    --------
    >>> values = [96.1, 97.0, 96.4, 97.8, 96.6, 96.9, 97.2, 95.9]
    >>> interval = bootstrap_mean_interval(values, np.random.default_rng(7))
    >>> 96.0 < interval.low < 96.74 < interval.high < 97.5
    True
    """
    return _bootstrap(sample, np.mean, rng, level, resamples)


def bootstrap_sd_interval(
    sample: ArrayLike, rng: np.random.Generator, level: float = DEFAULT_LEVEL, resamples: int = RESAMPLES
) -> Interval:
    """Give the bias-corrected and accelerated bootstrap interval of the SD.

    Parameters
    ----------
    sample : array_like of float, shape (n,)
        One finite value per run.
    rng : numpy.random.Generator
        Draws the resamples; the same state gives the same interval.
    level : float, optional
        Confidence level in (0, 1).
    resamples : int, optional
        Number of resamples.

    Returns
    -------
    Interval
        In the unit of the values, unknown where `bootstrap_mean_interval` is. Not for few runs: at a level of 95 % it
        covers the true SD of normal values in 66 % of samples at n = 5, 80 % at n = 8 and 91 % at n = 30
        (``benchmarks/statistics``). `intervals.sd_interval` does better at these n unless the values are skewed or
        heavy-tailed and n is near 30.

    Examples
    --------
    >>> bootstrap_sd_interval([1.0, 2.0, 3.0], np.random.default_rng(7)).reason
    'a bootstrap interval needs 5 runs or more'
    """
    return _bootstrap(sample, _sd, rng, level, resamples)


def _sd(values: Floats, axis: int = -1) -> Any:
    return np.std(values, axis=axis, ddof=1)


def _bootstrap(
    sample: ArrayLike, statistic: Callable[..., Any], rng: np.random.Generator, level: float, resamples: int
) -> Interval:
    values = finite_sample(sample)
    reason = why_no_interval(values) if values.size < 2 or values.size >= FEWEST_RUNS else _TOO_FEW
    if reason:
        return Interval(level=level, method=METHOD, reason=reason)
    scaled, exponent = unit_scale(values)
    with warnings.catch_warnings():
        # Said below, as the interval's reason.
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        found = stats.bootstrap(
            (scaled,), statistic, n_resamples=resamples, confidence_level=level, method="BCa", rng=rng
        ).confidence_interval
    low, high = float(np.ldexp(found.low, exponent)), float(np.ldexp(found.high, exponent))
    if not (np.isfinite(low) and np.isfinite(high)):
        return Interval(level=level, method=METHOD, reason="too few different values among the runs")
    return Interval(low=low, high=high, level=level, method=METHOD)


_TOO_FEW = f"a bootstrap interval needs {FEWEST_RUNS} runs or more"
