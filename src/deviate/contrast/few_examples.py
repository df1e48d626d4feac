"""Is the accuracy on a group of examples lower than allowed? Accuracies on few examples take few values."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from deviate.contrast.choice import Choice
from deviate.contrast.location import permutation
from deviate.contrast.noninferiority import Noninferiority, noninferiority, one_sided
from deviate.contrast.results import Effect
from deviate.measure.intervals import Interval
from deviate.measure.sample import Floats, finite_sample

#: Between equal numbers of fewer runs Welch's test decides alone. It keeps its level there, and permutations could show
#: nothing on many groups: of 5 against 5 runs no p is below 0.008.
PERMUTED_FROM = 8

WELCH_AND_PERMUTATION = Choice(
    test="welch_t and permutation",
    label="Welch's t test and a permutation of the runs",
    reason="accuracies on few examples take few values",
)


def is_permuted(n_a: int, n_b: int) -> bool:
    """Tell whether a permutation of the runs decides too."""
    return not n_a == n_b < PERMUTED_FROM


def share_noninferiority(
    a: ArrayLike,
    limit: ArrayLike,
    alpha: float,
    *,
    examples: int,
    rng: np.random.Generator,
    pairs: Sequence[tuple[int, int]] = (),
) -> Noninferiority:
    """Test as `noninferiority` whether accuracies on a group of examples are on the good side of a limit.

    Runs that are not paired are tested with two cautions, without which one recipe is called worse than itself in up to
    38 % of families of 8 groups (``benchmarks/statistics/gate_groups.py``). The few runs of one side are often all
    right on a small group, which does not show that its runs never vary: the SD of a side is taken for at least
    ``sqrt(R) / (R + 1) / examples``, that of R + 1 runs of which one differs by one example. And p is the greater of
    Welch's test and of a permutation of the runs, except between equal numbers of fewer than `PERMUTED_FROM`.

    Parameters
    ----------
    a, limit : array_like of float, shape (n_a,) and (n_b,)
        Accuracy of each run, those of `limit` less what is allowed.
    examples : int
        Examples of the group.

    Examples
    --------
    >>> sides = [1.0] * 5, [0.78] * 2 + [0.98] * 8
    >>> test = share_noninferiority(*sides, 0.05, examples=5, rng=np.random.default_rng(0))
    >>> round(noninferiority(*sides, "higher", 0.05).p_not_worse, 3), round(test.p_not_worse, 3)
    (0.026, 0.097)
    """
    plain = noninferiority(a, limit, "higher", alpha, pairs=pairs)
    if plain.paired or plain.p_worse is None:
        return plain
    first, second = finite_sample(a), finite_sample(limit)
    room, ps = _cautious_welch(first, second, examples, 1 - 2 * alpha)
    tested = msgspec.structs.replace(plain, room=room, p_not_worse=ps[0], p_worse=ps[1])
    if not is_permuted(first.size, second.size):
        return tested
    above, below = (p or 0.0 for p in one_sided(permutation(first, second, rng)))
    return msgspec.structs.replace(
        tested, location=WELCH_AND_PERMUTATION, p_not_worse=max(ps[0], above), p_worse=max(ps[1], below)
    )


def _cautious_welch(a: Floats, limit: Floats, examples: int, level: float) -> tuple[Effect, tuple[float, float]]:
    """Return the difference, and p of its being at most zero, and at least zero."""
    errors = [
        max(float(side.var(ddof=1)), side.size / (side.size + 1) ** 2 / examples**2) / side.size for side in (a, limit)
    ]
    error = math.sqrt(sum(errors))
    freedom = sum(errors) ** 2 / sum(v**2 / (side.size - 1) for v, side in zip(errors, (a, limit), strict=True))
    value = float(a.mean() - limit.mean())
    t, half = value / error, float(stats.t.ppf((1 + level) / 2, freedom)) * error
    interval = Interval(low=value - half, high=value + half, level=level, method="Welch t")
    return Effect(value=value, interval=interval), (float(stats.t.sf(t, freedom)), float(stats.t.cdf(t, freedom)))
