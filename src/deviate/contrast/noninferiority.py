"""Is one side worse than another by more than is allowed? One-sided tests against a limit, for gates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.contrast.choice import PAIRED, Choice, choose_location
from deviate.contrast.difference import mean_difference
from deviate.contrast.guards import fewest_runs
from deviate.contrast.location import test_of_means
from deviate.contrast.paired import paired_t
from deviate.contrast.power import DEFAULT_POWER, detectable_difference, runs_for_difference
from deviate.contrast.results import Effect, one_sided
from deviate.experiment import Direction
from deviate.measure.intervals import Interval
from deviate.measure.sample import Floats, finite_sample, is_identical

#: ``not worse``: shown to be on the good side of the limit. ``worse``: shown to be beyond it. ``no drop shown``: where
#: no drop is allowed, nothing shows one; that there is none cannot be shown. ``runs lost``: a larger share of the runs
#: than on the other side gave no finite value, so the values that are left do not tell.
Outcome = Literal["not worse", "worse", "no drop shown", "runs lost", "inconclusive"]


class Noninferiority(msgspec.Struct, frozen=True, kw_only=True):
    """The tests of one side against a limit."""

    n_a: int
    n_b: int
    location: Choice
    #: How far the mean is on the good side of the limit, in the unit of the values; the interval has level
    #: ``1 - 2 alpha``, so each of its ends is a one-sided bound at alpha.
    room: Effect
    #: One-sided: of being beyond the limit (small: not worse), and of being within it (small: worse).
    p_not_worse: float | None
    p_worse: float | None
    #: Why there is no p; empty where there is one.
    reason: str = ""
    #: SD that differences are judged by: of the pairs' differences, or pooled over the sides; None where unknown.
    sd: float | None = None
    #: Mean of the limit over all its runs, those without a partner included; None where there is none.
    limit: float | None = None

    @property
    def paired(self) -> bool:
        """Whether pairs are compared."""
        return self.location == PAIRED

    @property
    def fewest(self) -> int:
        """Runs of the smaller side that enter the test."""
        return min(self.n_a, self.n_b)


def noninferiority(
    a: ArrayLike, limit: ArrayLike, direction: Direction, alpha: float, *, pairs: Sequence[tuple[int, int]] = ()
) -> Noninferiority:
    """Test whether the mean of `a` is on the good side of the mean of `limit`.

    Decides by the test of `choose_location`. ``p_not_worse <= alpha`` exactly where the interval lies above zero [1]_.

    Parameters
    ----------
    a : array_like of float, shape (n_a,)
        One finite value per run of the side that is checked.
    limit : array_like of float, shape (n_b,)
        Values of the side it is checked against, each moved by what is allowed; see `moved`.
    alpha : float
        Share of wrong claims, of each kind, in (0, 0.5).
    pairs : sequence of (int, int), optional
        Indices into `a` and `limit` of the runs that belong together, where pairing is real.

    References
    ----------
    .. [1] S. Wellek, "Testing statistical hypotheses of equivalence and noninferiority", 2nd edition, 2010.

    Examples
    --------
    >>> test = noninferiority([90.1, 90.4, 89.9, 90.2, 90.0], [89.5, 89.9, 89.7, 89.4, 89.6], "higher", 0.05)
    >>> round(test.room.value, 2), test.p_not_worse < 0.05 < test.p_worse
    (0.5, True)
    """
    first, second = finite_sample(a), finite_sample(limit)
    mean = float(np.mean(second)) if second.size else None
    location = choose_location(first.size, second.size, len(pairs))
    paired = location == PAIRED
    if paired:
        indices = np.asarray(pairs, dtype=int).reshape(-1, 2)
        first, second = first[indices[:, 0]], second[indices[:, 1]]
    effect = mean_difference(first, second, 1 - 2 * alpha, paired=paired)
    tested = (paired_t if paired else test_of_means(first.size, second.size))(first, second)
    above, below = one_sided(tested)
    good = direction == "higher"
    return Noninferiority(
        n_a=first.size,
        n_b=second.size,
        location=location,
        room=effect if good else _negated(effect),
        p_not_worse=above if good else below,
        p_worse=below if good else above,
        reason=tested.reason,
        sd=_sd(first, second, paired),
        limit=mean,
    )


def moved(values: ArrayLike, drop: float, direction: Direction, *, relative: bool) -> Floats:
    """Move the values of the side that is checked against to the limit.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        One finite value per run; all of one sign where `relative`.
    drop : float
        By how much the mean may get worse: in the unit of the values, or as a share of their mean.
    relative : bool
        Values are then scaled, so that the error of the mean that the share is of enters the test too.

    Examples
    --------
    >>> moved([90.0, 92.0], 0.5, "higher", relative=False).tolist()
    [89.5, 91.5]
    >>> moved([1.0, 2.0], 0.5, "lower", relative=True).tolist()
    [1.5, 3.0]
    """
    sample = finite_sample(values)
    sign = -1.0 if direction == "higher" else 1.0
    if not relative:
        limit: Floats = sample + sign * drop
        return limit
    if sample.size and sample.min() < 0 < sample.max():
        raise ValueError("a share of a mean means nothing where values have both signs")
    # A mean below zero gets worse in the other direction when it is scaled up.
    scaled: Floats = sample * (1 + sign * drop * (1 if sample.size == 0 or sample.max() > 0 else -1))
    return scaled


def judge_gate(tested: Noninferiority, *, alpha: float, p_worse_adjusted: float | None, allowed: bool) -> Outcome:
    """Turn what was tested into an outcome.

    Parameters
    ----------
    p_worse_adjusted : float or None
        Adjusted over the metrics of the gate. One false ``worse`` fails the gate, so all of them together are held to
        alpha; ``not worse`` must be shown for every metric, which needs no adjustment [1]_.
    allowed : bool
        A drop above 0 is allowed, so that it can be shown that there is no larger one.

    References
    ----------
    .. [1] R. L. Berger, "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24(4), 1982.
    """
    if tested.fewest < fewest_runs(2 * alpha) or tested.p_worse is None or tested.p_not_worse is None:
        return "inconclusive"
    if p_worse_adjusted is not None and p_worse_adjusted <= alpha:
        return "worse"
    if not allowed:
        return "no drop shown"
    return "not worse" if tested.p_not_worse <= alpha else "inconclusive"


def runs_to_decide(tested: Noninferiority, alpha: float, power: float = DEFAULT_POWER) -> int | None:
    """Give the runs per side that show, with `power`, a difference from the limit as large as the one observed.

    None where it is unknown, or more runs are needed than can be made.
    """
    if tested.sd is None or not tested.sd > 0 or not tested.room.value:
        return None
    runs = runs_for_difference(tested.room.value / tested.sd, 2 * alpha, power, paired=tested.paired)
    return None if runs is None else max(runs, fewest_runs(2 * alpha))


def drop_seen(tested: Noninferiority, alpha: float, power: float = DEFAULT_POWER) -> float | None:
    """Give the smallest drop that so many runs show with `power`, in the unit of the values."""
    if tested.sd is None or tested.fewest < 2:
        return None
    return tested.sd * detectable_difference(tested.n_a, tested.n_b, 2 * alpha, power, paired=tested.paired)


def _negated(effect: Effect) -> Effect:
    known = effect.interval
    if known.low is None or known.high is None:
        return msgspec.structs.replace(effect, value=None if effect.value is None else -effect.value)
    flipped = Interval(low=-known.high, high=-known.low, level=known.level, method=known.method)
    return Effect(value=None if effect.value is None else -effect.value, interval=flipped)


def _sd(a: Floats, limit: Floats, paired: bool) -> float | None:
    if min(a.size, limit.size) < 2:
        return None
    if paired:
        return None if is_identical(a - limit) else float((a - limit).std(ddof=1))
    return float(np.sqrt((a.var(ddof=1) + limit.var(ddof=1)) / 2))
