"""How often trainings fail, on one side and on two."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import scipy
from scipy import special

from deviate.core.experiment import Direction
from deviate.stats.intervals import DEFAULT_LEVEL, Interval
from deviate.stats.results import Tested
from deviate.stats.tests import mann_whitney_u


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


# Whether trainings of one side fail more often than those of the other.


class FailureContrast(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that failed on two sides, and whether one side fails more often."""

    failed_a: int
    runs_a: int
    failed_b: int
    runs_b: int
    fisher: Tested


def failure_contrast(failed_a: int, runs_a: int, failed_b: int, runs_b: int) -> FailureContrast:
    """Compare the rates of failures by Fisher's exact test, two-sided.

    Unknown where no run failed, or one side has no run.

    References
    ----------
    .. [1] R. A. Fisher, "Statistical methods for research workers", 5th edition, section 21.02, 1934.

    Examples
    --------
    >>> round(failure_contrast(5, 10, 0, 10).fisher.p, 4)
    0.0325
    """
    table = np.array([[failed_a, runs_a - failed_a], [failed_b, runs_b - failed_b]])
    if not (failed_a or failed_b) or not (runs_a and runs_b):
        tested = Tested(reason="no run failed" if runs_a and runs_b else "one experiment has no run")
    else:
        odds, p = scipy.stats.fisher_exact(table)
        tested = Tested(statistic=float(odds), p=min(float(p), 1.0))
    return FailureContrast(failed_a=failed_a, runs_a=runs_a, failed_b=failed_b, runs_b=runs_b, fisher=tested)


def stays_better(
    better: Sequence[float], other: Sequence[float], lost: tuple[int, int], direction: Direction, alpha: float
) -> bool:
    """Tell whether one side is still better by ranks when lost runs rank last.

    How bad a lost run would have been does not matter to ranks. `lost` are the lost runs of both sides.

    Examples
    --------
    >>> stays_better([3.0, 4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 1.5, 2.5], (0, 0), "higher", 0.05)
    True
    >>> stays_better([3.0, 4.0, 5.0, 6.0, 7.0], [0.0, 1.0, 2.0, 1.5, 2.5], (5, 0), "higher", 0.05)
    False
    """
    sign = 1.0 if direction == "higher" else -1.0
    sides = [sign * np.asarray(values, dtype=float) for values in (better, other)]
    worst = min(float(side.min()) for side in sides) - 1.0
    first, second = (np.append(side, [worst] * count) for side, count in zip(sides, lost, strict=True))
    test = mann_whitney_u(first, second, np.random.default_rng(0))
    if test.p is None or test.statistic is None:
        return False
    return test.p <= alpha and test.statistic > first.size * second.size / 2
