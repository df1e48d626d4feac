"""Has a recipe reached a target? One-sided tests of one sample against a number, and MLPerf's check of convergence."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from deviate.core.experiment import Direction
from deviate.stats.spread import finite_sample

#: ``t``: the mean, its SD from the runs. ``sd``: the mean, its SD known beforehand. ``sign``: the median, exact.
Test = Literal["t", "sd", "sign"]

#: Track 3 of modded-nanogpt: runs count whose SD is taken as known, where (target - mean) * sqrt(n) reaches this.
#: https://github.com/KellerJordan/modded-nanogpt
NANOGPT_SD, NANOGPT_MARGIN = 0.0013, 0.004

#: Runs that MLPerf drops at each end, and from how many runs of a submission on it drops more (its unet3d).
MLPERF_DROPPED, MLPERF_MANY, MLPERF_DROPPED_OF_MANY = 1, 40, 4


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """A test of one sample against a target."""

    test: Test
    n: int
    mean: float
    sd: float | None
    #: t, z, or the number of runs that are there.
    statistic: float | None
    #: One-sided, of being on the bad side (small: reached), and of being on the good side (small: missed).
    p_reached: float | None
    p_missed: float | None
    #: One-sided bound of the mean at 1 - alpha, towards the bad side; None for signs.
    bound: float | None
    #: Why there is no p; empty where there is one.
    reason: str = ""


def reach_target(
    sample: ArrayLike, target: float, direction: Direction, alpha: float, *, test: Test = "t", sd: float | None = None
) -> Reached:
    """Test whether the mean, or by signs the median, is on the good side of the target.

    Parameters
    ----------
    test : {'t', 'sd', 'sign'}
        Student's t, z with the known `sd`, or the exact binomial test of the number of runs on the good side.
    sd : float, optional
        Above 0; for ``sd``.
    """
    values = finite_sample(sample)
    sign = 1 if direction == "higher" else -1
    n, mean = len(values), float(values.mean())
    own = float(values.std(ddof=1)) if n > 1 else None
    room = sign * (mean - target)
    if test == "sign":
        there = int((sign * (values - target) >= 0).sum())
        return Reached(
            test=test, n=n, mean=mean, sd=own, statistic=there, bound=None,
            p_reached=float(special.bdtrc(there - 1, n, 0.5)) if there else 1.0,
            p_missed=float(special.bdtr(there, n, 0.5)),
        )  # fmt: skip
    spread = sd if test == "sd" else own
    if not spread:
        reason = "one run has no SD" if n < 2 else "all runs are equal, so nothing shows how far runs vary"
        return Reached(
            test=test, n=n, mean=mean, sd=own, statistic=None, p_reached=None, p_missed=None, bound=None, reason=reason
        )
    statistic, error = room / spread * math.sqrt(n), spread / math.sqrt(n)
    below, quantile = _law(test, n)
    return Reached(
        test=test, n=n, mean=mean, sd=own, statistic=statistic, p_reached=below(-statistic), p_missed=below(statistic),
        bound=mean - sign * quantile(1 - alpha) * error,
    )  # fmt: skip


def _law(test: Test, n: int) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Return the distribution function of the statistic and its inverse."""
    if test == "sd":
        return lambda value: float(special.ndtr(value)), lambda share: float(special.ndtri(share))
    return lambda value: float(special.stdtr(n - 1, value)), lambda share: float(special.stdtrit(n - 1, share))


class Convergence(msgspec.Struct, frozen=True, kw_only=True):
    """MLPerf's check that a submission does not converge faster than its reference."""

    #: Olympic means: the best and the worst runs dropped.
    mean: float
    reference: float
    #: Of all runs of the reference, ddof 0.
    sd: float
    #: A mean below it is too fast.
    limit: float
    #: What MLPerf divides the speed by.
    factor: float
    dropped: int

    @property
    def passed(self) -> bool:
        """Whether the submission may count."""
        return self.mean >= self.limit


def convergence(sample: ArrayLike, reference: ArrayLike, alpha: float = 0.05) -> Convergence:
    """Compare the epochs to a target with those of a reference, as MLPerf's checker of reference points does [1]_.

    The limit is where the pooled one-sided t test, with the SD of the reference on both sides, has p = alpha; the
    checker finds it to 0.0001 by halving.

    References
    ----------
    .. [1] https://github.com/mlcommons/logging, ``mlperf_logging/rcp_checker``, rules 1.0 to 6.1.
    """
    values, known = np.sort(finite_sample(sample)), np.sort(finite_sample(reference))
    dropped = MLPERF_DROPPED_OF_MANY if len(values) >= MLPERF_MANY else MLPERF_DROPPED
    # The checker takes one run less at each end for the t test of any submission.
    ours, theirs = len(values) - 2 * MLPERF_DROPPED, len(known) - 2 * dropped
    if min(len(values) - 2 * dropped, theirs) < 1 or ours + theirs < 3:
        raise ValueError(f"too few runs: {len(values)} and {len(known)}")
    mean, expected = (float(each[dropped : len(each) - dropped].mean()) for each in (values, known))
    sd = float(known.std())
    width = special.stdtrit(ours + theirs - 2, 1 - alpha) * sd * math.sqrt(1 / ours + 1 / theirs)
    return Convergence(
        mean=mean, reference=expected, sd=sd, limit=max(expected - float(width), 0.0),
        factor=max(expected / mean, 1.0) if mean else 1.0, dropped=dropped,
    )  # fmt: skip
