"""Is the accuracy on a group of examples lower than allowed? Accuracies on few examples take few values."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from deviate.contrast.arrangements import is_permuted
from deviate.contrast.choice import WELCH_AND_PERMUTATION
from deviate.contrast.location import permutation
from deviate.contrast.noninferiority import Noninferiority, noninferiority
from deviate.contrast.results import Effect, one_sided
from deviate.measure.intervals import Interval
from deviate.measure.sample import Floats, finite_sample

#: Expected errors from which the number of errors is close enough to normal for a test of means.
FEW_ERRORS = 50


def share_noninferiority(
    a: ArrayLike,
    limit: ArrayLike,
    alpha: float,
    *,
    examples: int,
    baseline: float,
    rng: np.random.Generator,
    pairs: Sequence[tuple[int, int]] = (),
) -> Noninferiority:
    """Test as `noninferiority` whether accuracies on a group of examples are on the good side of a limit.

    Runs that are not paired are tested with two cautions, without which one recipe is called worse than itself in up to
    38 % of families of 8 groups (``benchmarks/statistics/gate_groups.py``). The few runs of one side are often all
    right on a small group, which does not show that its runs never vary: the SD of a side is taken for at least
    ``sqrt(R) / (R + 1) / examples``, that of R + 1 runs of which one differs by one example. And p is the greater of
    Welch's test and of a permutation of the runs, except between equal numbers of fewer than `PERMUTED_FROM`.

    The test of "not worse" has two more cautions: runs at the limit make more errors than those of the other
    experiment, so that their accuracies spread further and have longer tails. Where the runs of `limit` differ more
    than errors by chance make them, the runs of `a` are taken to differ as much in their logits. And where fewer than
    `FEW_ERRORS` errors are expected of all runs of `a` at the limit, p is at least the binomial probability of so few:
    errors that are independent, however unequally hard the examples are, have no larger one [1]_.

    Parameters
    ----------
    a, limit : array_like of float, shape (n_a,) and (n_b,)
        Accuracy of each run, those of `limit` less what is allowed.
    examples : int
        Examples of the group.
    baseline : float
        Mean accuracy of the runs of `limit`, without what is allowed.

    References
    ----------
    .. [1] W. Hoeffding, "On the distribution of the number of successes in independent trials", Annals of Mathematical
       Statistics 27(3), 1956.

    Examples
    --------
    >>> sides = [1.0] * 5, [0.78] * 2 + [0.98] * 8
    >>> test = share_noninferiority(*sides, 0.05, examples=5, baseline=0.96, rng=np.random.default_rng(0))
    >>> round(noninferiority(*sides, "higher", 0.05).p_not_worse, 3), round(test.p_not_worse, 3)
    (0.026, 0.213)
    """
    plain = noninferiority(a, limit, "higher", alpha, pairs=pairs)
    if plain.paired or plain.p_worse is None:
        return plain
    first, second = finite_sample(a), finite_sample(limit)
    room, ps = _cautious_welch(first, second, examples, 1 - 2 * alpha)
    spread = _spread_at_the_limit(second, examples, baseline)
    not_worse = max(
        _cautious_welch(first, second, examples, 1 - 2 * alpha, at_least=spread)[1][0],
        few_errors_p(first, examples, float(second.mean())),
    )
    tested = msgspec.structs.replace(plain, room=room, p_not_worse=not_worse, p_worse=ps[1])
    if not is_permuted(first.size, second.size):
        return tested
    above, below = (p or 0.0 for p in one_sided(permutation(first, second, rng)))
    return msgspec.structs.replace(
        tested, location=WELCH_AND_PERMUTATION, p_not_worse=max(not_worse, above), p_worse=max(ps[1], below)
    )


def few_errors_p(accuracies: Floats, examples: int, limit: float) -> float:
    """Return the probability of at most so many errors at the limit; 0 where enough are expected for other tests.

    Examples
    --------
    >>> round(few_errors_p(np.ones(5), 20, 0.97), 6) == round(0.97**100, 6)
    True
    """
    trials, rate = accuracies.size * examples, min(max(1 - limit, 0.0), 1.0)
    if trials * min(rate, 1 - rate) >= FEW_ERRORS:
        return 0.0
    return float(special.bdtr(round(float((1 - accuracies).sum()) * examples), trials, rate))


def _spread_at_the_limit(limit: Floats, examples: int, baseline: float) -> float:
    """Return the variance that runs have at the limit if they differ in their logits as those of `limit` do."""
    # Half an error in all runs, so that no logit is infinite.
    room = 0.5 / (limit.size * examples)
    rate, at = (min(max(rate, room), 1 - room) for rate in (baseline, float(limit.mean())))
    by_chance = rate * (1 - rate) / examples
    as_wholes = float(limit.var(ddof=1)) - by_chance
    if as_wholes <= 0:
        return 0.0
    return by_chance + as_wholes * max(at * (1 - at) / (rate * (1 - rate)), 1.0) ** 2


def _cautious_welch(
    a: Floats, limit: Floats, examples: int, level: float, at_least: float = 0.0
) -> tuple[Effect, tuple[float, float]]:
    """Return the difference, and p of its being at most zero, and at least zero; the variance of `a` is at least so."""
    errors = [
        max(float(side.var(ddof=1)), side.size / (side.size + 1) ** 2 / examples**2, least) / side.size
        for side, least in ((a, at_least), (limit, 0.0))
    ]
    error = math.sqrt(sum(errors))
    freedom = sum(errors) ** 2 / sum(v**2 / (side.size - 1) for v, side in zip(errors, (a, limit), strict=True))
    value = float(a.mean() - limit.mean())
    t, half = value / error, float(special.stdtrit(freedom, (1 + level) / 2)) * error
    interval = Interval(low=value - half, high=value + half, level=level, method="Welch t")
    return Effect(value=value, interval=interval), (float(special.stdtr(freedom, -t)), float(special.stdtr(freedom, t)))
