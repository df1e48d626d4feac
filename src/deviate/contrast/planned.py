"""Runs that reach a power in the very test that compares them, with an SD that is itself known from a few runs only."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import scipy
from scipy import special

from deviate.contrast.power import DEFAULT_ALPHA, DEFAULT_POWER, shown_beyond, welch_edges
from deviate.measure.robust_sd import first_enough
from deviate.measure.sample import Floats

#: Points of the integral over the true SD.
_SDS = 40

#: Effects are looked for up to this many SDs.
_LARGEST_EFFECT = 1e6


def planned_power(
    effect: float, n: int, alpha: float = DEFAULT_ALPHA, *, paired: bool = False, freedom: int | None = None
) -> float:
    """Give the probability that Welch's or the paired t test of `n` runs per side shows a difference.

    For normal values with equal SDs, see `welch_power`. Where the SD was measured, the power is the mean over the true
    SDs that it leaves open, ``sd * sqrt(freedom / chi2)`` [1]_.

    Parameters
    ----------
    effect : float
        Difference of the means in SDs, 0 or above; where `paired`, in SDs of the differences within pairs.
    n : int
        Runs of each side, 2 or more.
    freedom : int, optional
        Degrees of freedom of the measured SD; None where it is known.

    References
    ----------
    .. [1] S. A. Julious and R. J. Owen, "Sample size calculations for clinical studies allowing for uncertainty about
       the variance", Pharmaceutical Statistics 5, 2006.

    Examples
    --------
    >>> round(planned_power(1.0, 17), 3), round(planned_power(1.0, 17, freedom=7), 3)
    (0.806, 0.728)
    """
    effects = np.array([effect]) if freedom is None else effect * _true_sds(freedom)
    if paired:
        edges, shares = np.array([float(-special.stdtrit(n - 1, alpha / 2))]), np.ones(1)
        centers, within = effects * math.sqrt(n), n - 1
    else:
        edges, shares = welch_edges(n, n, alpha)
        centers, within = effects * math.sqrt(n / 2), 2 * (n - 1)
    return float((shown_beyond(edges, within, centers[:, None]) @ shares).mean())


def planned_runs(
    effect: float,
    alpha: float = DEFAULT_ALPHA,
    power: float = DEFAULT_POWER,
    *,
    paired: bool = False,
    freedom: int | None = None,
) -> int | None:
    """Give the runs per side that reach a power, see `planned_power`; None where `MOST_RUNS` are not enough.

    Examples
    --------
    >>> planned_runs(1.0), planned_runs(1.0, freedom=7), planned_runs(1.0, paired=True)
    (17, 22, 10)
    """
    if not 0 < alpha < power < 1:
        raise ValueError(f"alpha and power lie between 0 and 1, alpha below power; got {alpha} and {power}")
    return first_enough(lambda n: planned_power(abs(effect), n, alpha, paired=paired, freedom=freedom) >= power)


def planned_difference(
    n: int,
    alpha: float = DEFAULT_ALPHA,
    power: float = DEFAULT_POWER,
    *,
    paired: bool = False,
    freedom: int | None = None,
) -> float:
    """Give the smallest difference, in SDs, that `n` runs per side show with a power, see `planned_power`.

    Examples
    --------
    >>> [round(planned_difference(n), 2) for n in (5, 16, 30)]
    [2.08, 1.03, 0.74]
    """

    def lacking(effect: float) -> float:
        return planned_power(effect, n, alpha, paired=paired, freedom=freedom) - power

    largest = _LARGEST_EFFECT
    return float(scipy.optimize.brentq(lacking, 0.0, largest, xtol=1e-6)) if lacking(largest) > 0 else math.inf


def runs_to_make(runs: int, lost: float, *, paired: bool = False) -> int:
    """Give the runs to be made so that `runs` of them are left on average, where a share is lost.

    A pair is left where both of its runs are.

    Examples
    --------
    >>> runs_to_make(20, 0.0), runs_to_make(20, 0.1), runs_to_make(20, 0.1, paired=True)
    (20, 23, 25)
    """
    if not 0 <= lost < 1:
        raise ValueError(f"a share of runs that are lost is 0 or above and below 1; got {lost}")
    return math.ceil(runs / (1 - lost) ** (2 if paired else 1) - 1e-9)


@lru_cache(maxsize=64)
def _true_sds(freedom: int) -> Floats:
    """Return the measured SD as multiples of the true ones that it leaves open, all equally probable."""
    at = (np.arange(_SDS) + 0.5) / _SDS
    return np.sqrt(2 * special.gammaincinv(freedom / 2, at) / freedom)
