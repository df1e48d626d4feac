"""Arrangements of the runs of two sides: what a statistic would be if chance alone had put each run on its side."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import chain, combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from deviate.measure.sample import Floats

#: Arrangements of the runs that are all looked at; of more, `RESAMPLES` are drawn. 8 against 8 runs have 12,870.
EXACT_UP_TO = 20_000

#: Arrangements drawn: p near 0.05 has then a Monte Carlo standard error of ``sqrt(0.05 * 0.95 / 9999)`` = 0.2 points.
RESAMPLES = 9999

#: Between equal numbers of fewer runs permutations decide nothing: other tests keep their level there, and permutations
#: could show nothing after a correction over many tests: of 5 against 5 runs no p is below 0.008.
PERMUTED_FROM = 8

#: Up to this ratio of the larger to the smaller number of runs Welch's test keeps its level as between equal numbers.
EQUAL_UP_TO = 1.25

#: Places of the runs of the first side, shape ``(arrangements, n)``.
Places = NDArray[np.intp]

#: Takes the values of all runs, with a mean of 0 and the farthest from it at 1 or -1, and the places of the first side;
#: gives a statistic for each arrangement, and the same one for each in which it is infinite.
Statistic = Callable[[Floats, Places], Floats]

#: Of such values, variances and differences of means below this are rounding.
NOTHING = 1e-12


def is_permuted(n_a: int, n_b: int) -> bool:
    """Tell whether a permutation of the runs decides too, of the spread and of the accuracy on few examples.

    Examples
    --------
    >>> is_permuted(5, 5), is_permuted(8, 8), is_permuted(5, 6)
    (False, True, True)
    """
    return not n_a == n_b < PERMUTED_FROM


def are_unequal(n_a: int, n_b: int) -> bool:
    """Tell whether the numbers of runs are so unequal that a permutation of the runs decides on the means, too.

    Between equal numbers Welch's test keeps its level alone, and sees more where values are few and coarse.

    Examples
    --------
    >>> are_unequal(8, 8), are_unequal(8, 10), are_unequal(5, 8)
    (False, False, True)
    """
    return max(n_a, n_b) > EQUAL_UP_TO * min(n_a, n_b)


def places(n: int, m: int) -> tuple[Places, bool]:
    """Return the places of the first side in all arrangements of `n` and `m` runs, or in random ones; and whether all.

    The random ones are the same each time: p of the same values does not depend on what was looked at before.
    """
    exact = comb(n + m, n) <= EXACT_UP_TO
    return (all_places(n + m, n) if exact else _drawn(n, m)), exact


@lru_cache(maxsize=8)
def all_places(runs: int, chosen: int) -> Places:
    """Return all ways to choose some of the runs, shape ``(arrangements, chosen)``."""
    flat = chain.from_iterable(combinations(range(runs), chosen))
    return np.fromiter(flat, dtype=np.intp).reshape(-1, chosen)


@lru_cache(maxsize=8)
def _drawn(n: int, m: int) -> Places:
    rng = np.random.default_rng([n, m])
    return rng.permuted(np.tile(np.arange(n + m), (RESAMPLES, 1)), axis=1)[:, :n].copy()


class Arranged:
    """A statistic of two sides as observed, and over the arrangements of their runs.

    Where chance alone puts the runs on their sides, p is right whatever the values look like [1]_.

    References
    ----------
    .. [1] A. Janssen, "Studentized permutation tests for non-i.i.d. hypotheses and the generalized Behrens-Fisher
       problem", Statistics & Probability Letters 36, 1997.
    """

    def __init__(self, a: Floats, b: Floats, statistic: Statistic) -> None:
        values = np.concatenate([a, b])
        values = values - values.mean()
        values = values / max(float(np.abs(values).max()), float(np.finfo(float).tiny))
        chosen, self.exact = places(a.size, b.size)
        self._all = statistic(values, chosen)
        self._observed = float(statistic(values, np.arange(a.size)[None, :])[0])

    @property
    def method(self) -> str:
        """How p was had."""
        return how_permuted(self._all.size, exact=self.exact)

    def p(self) -> float:
        """Return twice the smaller of the two one-sided p, in (0, 1]."""
        return two_sided(self._all, self._observed, exact=self.exact)

    def limits(self, level: float) -> tuple[float, float]:
        """Return the lowest and the highest statistic for which p is ``1 - level`` or more."""
        added, ordered = (0 if self.exact else 1), np.sort(self._all)
        # So many arrangements on one side of the observed one, itself included, have p of 1 - level or more.
        fewest = int(np.ceil(round((1 - level) / 2 * (ordered.size + added), 9))) - added
        beyond = min(max(fewest, 1), ordered.size)
        return float(ordered[beyond - 1]), float(ordered[-beyond])


def how_permuted(count: int, *, exact: bool) -> str:
    """Say which arrangements p is of."""
    return f"exact, {count} arrangements" if exact else f"{RESAMPLES} random arrangements"


def two_sided(statistics: Floats, observed: float, *, exact: bool) -> float:
    """Return p of an observed statistic among those of all arrangements, or of random ones.

    Twice the smaller of the two one-sided p; random arrangements count the observed one too [1]_.

    References
    ----------
    .. [1] B. Phipson and G. K. Smyth, "Permutation p-values should never be zero", Statistical Applications in Genetics
       and Molecular Biology 9, 2010.
    """
    finite = statistics[np.isfinite(statistics)]
    largest = float(np.abs(finite).max()) if finite.size else 0.0
    rounding = 100 * float(np.finfo(float).eps) * max(1.0, largest)
    added = 0 if exact else 1
    sides = (statistics <= observed + rounding, statistics >= observed - rounding)
    return min(1.0, 2 * min((int(side.sum()) + added) / (statistics.size + added) for side in sides))
