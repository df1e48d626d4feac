"""How small p must be where growing experiments are compared more than once, so that false alarms stay as few.

Each comparison of two sides is a look. The false alarms that all looks together may raise are spent look by look, as a
function of the runs that there are [1]_; it does not matter when looks are made, or how many. What is spent becomes a
level for p by the distribution of a test statistic whose runs grow [2]_, [3]_: normal, with a correlation of
``sqrt(I_j / I_k)`` between looks of the information ``I = n m / (n + m)``. The levels are applied to the p-values of
the t tests (the significance-level approach of [3]_), which holds at few runs too (``benchmarks/statistics/looks.py``).

References
----------
.. [1] K. K. G. Lan and D. L. DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70, 1983.
.. [2] P. Armitage, C. K. McPherson and B. C. Rowe, "Repeated significance tests on accumulating data", JRSS A 132,
   1969.
.. [3] C. Jennison and B. W. Turnbull, "Group sequential methods with applications to clinical trials", Chapman and
   Hall, 2000: chapters 7 (spending), 19 (integration), 3.8 and 11 (unknown variance).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import scipy
from scipy import special

from deviate.experiment import DEFAULT_RUNS
from deviate.measure.sample import Floats

#: Of alpha: what all looks after the first may add to it, where nothing was fixed before the first.
LATER_LOOKS = 0.1

#: Where ``--until`` decided the number of runs per side, p must be below this power of alpha: 0.03 for 0.05. The runs
#: ended when their SD looked small, so t tests raise 6 to 8 % false alarms instead of 5 %; with this they raise 5 % or
#: fewer unless values are skewed (``benchmarks/statistics/looks.py``). The second is for fewer than `DEFAULT_RUNS` runs
#: before the first look: 0.02 for 0.05.
STOPPED_POWER, EARLY_STOPPED_POWER = 1.17, 1.305

#: A look that has nothing left to spend.
SMALLEST_LEVEL = 1e-9

#: Statistics of a look beyond this many SDs are not integrated over.
_FARTHEST = 10.0

#: Points of the integration per SD of what a look adds, and at most.
_POINTS, _FEWEST_POINTS, _MOST_POINTS = 4.0, 40, 400


def stopped_level(alpha: float, least: int) -> float:
    """Give what p must be below where runs were made until an interval was narrow, `least` before the first look.

    Examples
    --------
    >>> round(stopped_level(0.05, 10), 3), round(stopped_level(0.05, 5), 3)
    (0.03, 0.02)
    """
    return float(alpha ** (STOPPED_POWER if least >= DEFAULT_RUNS else EARLY_STOPPED_POWER))


def rounded_down(level: float) -> float:
    """Give a level with two digits, so that what p must be below is exactly what a sentence says.

    Examples
    --------
    >>> rounded_down(0.04011), rounded_down(0.000299)
    (0.04, 0.00029)
    """
    scale = 10.0 ** (1 - math.floor(math.log10(level)))
    return float(f"{math.floor(level * scale + 1e-9) / scale:.2g}")


def look_levels(sizes: Sequence[tuple[int, int]], alpha: float, last: tuple[int, int] | None = None) -> list[float]:
    """Give what p must be below at each look.

    Without `most` the first look has all of alpha, as a comparison that is made once has; those after it share
    `LATER_LOOKS` of it, a look at twice the runs of the first half of that. With `last`, fixed before the first look,
    all looks share alpha by the function of [1]_ that is like O'Brien and Fleming's: next to nothing early, nearly all
    at the last look. A look that adds no runs has the level of the one before; one after all is spent has
    `SMALLEST_LEVEL`.

    Parameters
    ----------
    sizes : sequence of (int, int)
        Runs of each side at each look, in the order of the looks.
    alpha : float
        Share of false alarms over all looks; without `last`, over the first.
    last : (int, int), optional
        Runs of each side at the last look.

    Returns
    -------
    list of float
        Two-sided levels, as many as there are sizes.

    Examples
    --------
    >>> [round(level, 4) for level in look_levels([(5, 5), (10, 10), (15, 15)], 0.05)]
    [0.05, 0.0062, 0.0023]
    >>> [round(level, 4) for level in look_levels([(10, 10), (20, 20), (30, 30)], 0.05, last=(30, 30))]
    [0.0002, 0.012, 0.0463]
    """
    reached: list[float] = []
    places: list[int] = []
    for size in sizes:
        information = _information(size)
        if not reached or information > reached[-1]:
            reached.append(information)
        places.append(len(reached) - 1)
    levels = _levels(tuple(reached), tuple(_spent(reached, alpha, last)))
    return [levels[place] for place in places]


def claim_factor(number: int) -> int:
    """Give what p is multiplied by at a later claim about the same runs, such as one about another metric.

    The first claim has all of alpha; those after it share `LATER_LOOKS` of it: the k-th of them has 1 / (k (k + 1)) of
    that, which add up to less than 1 however many there are.

    Examples
    --------
    >>> [claim_factor(number) for number in (1, 2, 3, 6)]
    [1, 20, 60, 300]
    """
    return 1 if number < 2 else round((number - 1) * number / LATER_LOOKS)


def share_over_all_looks(alpha: float, looks: int, *, planned: bool = False) -> float:
    """Give the chance of any false alarm over all looks; of looks that were planned before the first, over all."""
    return alpha if planned or looks < 2 else alpha * (1 + LATER_LOOKS)


def _information(size: tuple[int, int]) -> float:
    n, m = size
    return n * m / (n + m)


def _spent(reached: Sequence[float], alpha: float, last: tuple[int, int] | None) -> list[float]:
    """Return the share of false alarms that may have been raised up to each look."""
    if last is None:
        return [alpha * (1 + LATER_LOOKS * (1 - reached[0] / information)) for information in reached]
    edge = -float(special.ndtri(alpha / 4))
    shares = [min(1.0, information / _information(last)) for information in reached]
    return [float(4 * special.ndtr(-edge / math.sqrt(share))) for share in shares]


@lru_cache(maxsize=256)
def _levels(reached: tuple[float, ...], spent: tuple[float, ...]) -> tuple[float, ...]:
    """Return the level of each look, by integrating over the statistics that raised no alarm at any look before."""
    levels: list[float] = []
    sums, weights = np.zeros(1), np.ones(1)  # sums of a look, and the probability of each without an alarm
    before, raised = 0.0, 0.0
    for look, information in enumerate(reached):
        spread = math.sqrt(information - before)
        share = spent[look] - raised
        edge = _edge(sums, weights, spread, math.sqrt(information), share)
        # The first is exactly what is spent, so that a comparison made once is what it always was.
        levels.append(max(share if look == 0 else float(2 * special.ndtr(-edge)), SMALLEST_LEVEL))
        raised, before = spent[look], information
        if look + 1 < len(reached):
            added = math.sqrt(reached[look + 1] - information)
            sums, weights = _went_on(sums, weights, spread, min(edge, _FARTHEST) * math.sqrt(information), added)
    return tuple(levels)


def _edge(sums: Floats, weights: Floats, spread: float, scale: float, share: float) -> float:
    """Return the statistic beyond which a look raises `share` of false alarms."""

    def surplus(edge: float) -> float:
        beyond = special.ndtr((sums - edge * scale) / spread) + special.ndtr((-edge * scale - sums) / spread)
        return float(weights @ beyond) - share

    if surplus(_FARTHEST) >= 0 or share <= 0:
        return math.inf
    return float(scipy.optimize.brentq(surplus, 0.0, _FARTHEST, xtol=1e-10))


def _went_on(sums: Floats, weights: Floats, spread: float, end: float, added: float) -> tuple[Floats, Floats]:
    """Return the sums between the edges of a look at the points of an integration, each with its probability."""
    points = math.ceil(end / min(added, spread) * _POINTS)
    nodes, shares = _gauss(min(max(points, _FEWEST_POINTS), _MOST_POINTS))
    at = nodes * end
    density = np.exp(-(((at[:, None] - sums[None, :]) / spread) ** 2) / 2) @ weights / (spread * math.sqrt(2 * math.pi))
    return at, density * shares * end


@lru_cache(maxsize=32)
def _gauss(points: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return nodes, weights
