"""Whether trainings of one side fail more often than those of the other."""

from __future__ import annotations

import msgspec
import numpy as np
from scipy import stats

from deviate.contrast.results import Tested


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
        odds, p = stats.fisher_exact(table)
        tested = Tested(statistic=float(odds), p=min(float(p), 1.0))
    return FailureContrast(failed_a=failed_a, runs_a=runs_a, failed_b=failed_b, runs_b=runs_b, fisher=tested)
