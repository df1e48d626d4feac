"""How often trainings fail: a rate with its limits, and the rate that a number of runs can see."""

from __future__ import annotations

import msgspec
from scipy import special

from deviate.measure.intervals import DEFAULT_LEVEL, Interval


class FailureRate(msgspec.Struct, frozen=True, kw_only=True):
    """The share of runs that failed, with its interval."""

    failed: int
    runs: int
    #: In [0, 1]; None without a run.
    share: float | None
    interval: Interval


def failure_rate(failed: int, runs: int, level: float = DEFAULT_LEVEL) -> FailureRate:
    """Give the share of runs that failed with the Clopper-Pearson interval.

    The interval covers the true rate with a probability of `level` at least, whatever the rate.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
       binomial", Biometrika 26, 1934.

    Examples
    --------
    >>> rate = failure_rate(1, 10)
    >>> rate.share, round(rate.interval.low, 4), round(rate.interval.high, 4)
    (0.1, 0.0025, 0.445)
    """
    if not 0 <= failed <= runs:
        raise ValueError(f"between 0 and {runs} of {runs} runs can fail, not {failed}")
    if runs == 0:
        unknown = Interval(level=level, method="Clopper-Pearson", reason="no run has ended")
        return FailureRate(failed=0, runs=0, share=None, interval=unknown)
    low = float(special.betaincinv(failed, runs - failed + 1, (1 - level) / 2)) if failed else 0.0
    high = float(special.betaincinv(failed + 1, runs - failed, (1 + level) / 2)) if failed < runs else 1.0
    interval = Interval(low=low, high=high, level=level, method="Clopper-Pearson")
    return FailureRate(failed=failed, runs=runs, share=failed / runs, interval=interval)


def rate_seen(runs: int, probability: float = DEFAULT_LEVEL) -> float:
    """Give the rate of failures that at least one of `runs` shows with a probability.

    ``1 - (1 - probability) ** (1 / runs)``; a smaller rate more often goes unseen.

    Examples
    --------
    >>> [round(rate_seen(runs), 2) for runs in (5, 10, 29)]
    [0.45, 0.26, 0.1]
    """
    if runs < 1:
        raise ValueError("without a run no rate can be seen")
    return float(1 - (1 - probability) ** (1 / runs))
