"""Limits of small numbers of runs: smallest p, fewest runs."""

from __future__ import annotations

from math import comb

from deviate.measure.robust_sd import MOST_RUNS

#: Below this many runs per side no verdict is given. With 3 no rank test can reach 0.05 at all, with 4 only if the
#: sides do not overlap; and with fewer than 5 a test easily shows that an algorithm differs from itself [1]_.
#:
#: .. [1] P. Henderson et al., "Deep reinforcement learning that matters", AAAI 2018.
FEWEST_RUNS = 5


def smallest_p(n: int, m: int, *, paired: bool = False) -> float:
    """Give the smallest two-sided p that a rank or permutation test can reach.

    ``2 / comb(n + m, n)``: the most extreme arrangement and its mirror image among all that are equally likely where
    nothing differs; ``2 / 2**n`` for pairs. In (0, 1].

    Examples
    --------
    >>> smallest_p(3, 3), round(smallest_p(4, 4), 3), round(smallest_p(5, 5), 4), smallest_p(5, 5, paired=True)
    (0.1, 0.029, 0.0079, 0.0625)
    """
    return min(1.0, 2 / 2**n if paired else 2 / comb(n + m, n))


def fewest_runs(alpha: float) -> int:
    """Give the number of runs per side below which no verdict is given.

    That is `FEWEST_RUNS`, or more where even sides that do not overlap cannot reach `alpha` in a rank test.

    Examples
    --------
    >>> fewest_runs(0.05), fewest_runs(0.001)
    (5, 7)
    """
    return next(n for n in range(FEWEST_RUNS, MOST_RUNS) if smallest_p(n, n) <= alpha)
