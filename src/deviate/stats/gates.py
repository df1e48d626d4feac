"""One-sided tests of gates: whether one side is worse than another by more than is allowed, or a target is reached."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from deviate.core.experiment import Direction
from deviate.stats.contrast import PAIRED, WELCH_AND_PERMUTATION, Choice, choose_location
from deviate.stats.effects import mean_difference
from deviate.stats.paired_tests import paired_t
from deviate.stats.power import DEFAULT_POWER, planned_difference, planned_runs
from deviate.stats.results import Effect, fewest_runs, one_sided, welch
from deviate.stats.spread import Floats, finite_sample, is_identical, without_offset
from deviate.stats.tests import is_permuted, permutation, test_of_means

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

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the SD."""
        return self.n_a - 1 if self.paired else self.n_a + self.n_b - 2


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
    first, second = without_offset(first, second)
    location = choose_location(first, second, len(pairs))
    paired = location == PAIRED
    if paired:
        indices = np.asarray(pairs, dtype=int).reshape(-1, 2)
        first, second = first[indices[:, 0]], second[indices[:, 1]]
    effect = mean_difference(first, second, 1 - 2 * alpha, paired=paired)
    tested = (paired_t if paired else test_of_means(first, second))(first, second)
    above, below = one_sided(tested)
    good = direction == "higher"
    return Noninferiority(
        n_a=first.size,
        n_b=second.size,
        location=location,
        room=effect if good else effect.negated,
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


def runs_to_decide(tested: Noninferiority, alpha: float) -> int | None:
    """Give the runs per side that show, with the default power, a difference from the limit as large as that observed.

    The SD is what these runs leave open, see `planned_power`. None where it is unknown, or more runs are needed than
    can be made.
    """
    if tested.sd is None or not tested.sd > 0 or not tested.room.value:
        return None
    effect = tested.room.value / tested.sd
    runs = planned_runs(effect, 2 * alpha, DEFAULT_POWER, paired=tested.paired, freedom=tested.freedom)
    return None if runs is None else max(runs, fewest_runs(2 * alpha))


def drop_seen(tested: Noninferiority, alpha: float, power: float = DEFAULT_POWER) -> float | None:
    """Give the smallest drop that so many runs show with `power`, in the unit of the values."""
    if tested.sd is None or tested.fewest < 2:
        return None
    n, m = tested.n_a, tested.n_b
    return tested.sd * planned_difference(n, 2 * alpha, power, m=m, paired=tested.paired, freedom=tested.freedom)


def _sd(a: Floats, limit: Floats, paired: bool) -> float | None:
    if min(a.size, limit.size) < 2 or (is_identical(a - limit) if paired else is_identical(a) and is_identical(limit)):
        return None
    return float(np.sqrt((a - limit).var(ddof=1) if paired else (a.var(ddof=1) + limit.var(ddof=1)) / 2))


# Is the accuracy on a group of examples lower than allowed? Accuracies on few examples take few values.

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
    student = welch(float(a.mean() - limit.mean()), (errors[0], a.size), (errors[1], limit.size))
    t = student.value / student.error
    sides = (float(special.stdtr(student.freedom, -t)), float(special.stdtr(student.freedom, t)))
    return Effect(value=student.value, interval=student.interval(level, "Welch t")), sides


#: ``t``: the mean, its SD from the runs. ``sd``: the mean, its SD known beforehand. ``sign``: the median, exact.
Test = Literal["t", "sd", "sign"]

#: Track 3 of modded-nanogpt: runs count whose SD is taken as known, where (target - mean) * sqrt(n) reaches this.
#: https://github.com/KellerJordan/modded-nanogpt
NANOGPT_SD, NANOGPT_MARGIN = 0.0013, 0.004

#: Runs that MLPerf drops at each end, and from how many runs of a submission on it drops more (its unet3d).
MLPERF_DROPPED, MLPERF_MANY, MLPERF_DROPPED_OF_MANY = 1, 40, 4


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """A test of one sample against a target."""

    test: Test
    n: int
    mean: float
    sd: float | None
    #: t, z, or the number of runs that are there.
    statistic: float | None
    #: One-sided, of being on the bad side (small: reached), and of being on the good side (small: missed).
    p_reached: float | None
    p_missed: float | None
    #: One-sided bound of the mean at 1 - alpha, towards the bad side; None for signs.
    bound: float | None
    #: Why there is no p; empty where there is one.
    reason: str = ""


def reach_target(
    sample: ArrayLike, target: float, direction: Direction, alpha: float, *, test: Test = "t", sd: float | None = None
) -> Reached:
    """Test whether the mean, or by signs the median, is on the good side of the target.

    Parameters
    ----------
    test : {'t', 'sd', 'sign'}
        Student's t, z with the known `sd`, or the exact binomial test of the number of runs on the good side.
    sd : float, optional
        Above 0; for ``sd``.
    """
    values = finite_sample(sample)
    sign = 1 if direction == "higher" else -1
    n, mean = len(values), float(values.mean())
    own = float(values.std(ddof=1)) if n > 1 else None
    room = sign * (mean - target)
    if test == "sign":
        there = int((sign * (values - target) >= 0).sum())
        return Reached(
            test=test, n=n, mean=mean, sd=own, statistic=there, bound=None,
            p_reached=float(special.bdtrc(there - 1, n, 0.5)) if there else 1.0,
            p_missed=float(special.bdtr(there, n, 0.5)),
        )  # fmt: skip
    spread = sd if test == "sd" else own
    if not spread:
        reason = "one run has no SD" if n < 2 else "all runs are equal, so nothing shows how far runs vary"
        return Reached(
            test=test, n=n, mean=mean, sd=own, statistic=None, p_reached=None, p_missed=None, bound=None, reason=reason
        )
    statistic, error = room / spread * math.sqrt(n), spread / math.sqrt(n)
    below, quantile = _law(test, n)
    return Reached(
        test=test, n=n, mean=mean, sd=own, statistic=statistic, p_reached=below(-statistic), p_missed=below(statistic),
        bound=mean - sign * quantile(1 - alpha) * error,
    )  # fmt: skip


def _law(test: Test, n: int) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Return the distribution function of the statistic and its inverse."""
    if test == "sd":
        return lambda value: float(special.ndtr(value)), lambda share: float(special.ndtri(share))
    return lambda value: float(special.stdtr(n - 1, value)), lambda share: float(special.stdtrit(n - 1, share))


class Convergence(msgspec.Struct, frozen=True, kw_only=True):
    """MLPerf's check that a submission does not converge faster than its reference."""

    #: Olympic means: the best and the worst runs dropped.
    mean: float
    reference: float
    #: Of all runs of the reference, ddof 0.
    sd: float
    #: A mean below it is too fast.
    limit: float
    #: What MLPerf divides the speed by.
    factor: float
    dropped: int

    @property
    def passed(self) -> bool:
        """Whether the submission may count."""
        return self.mean >= self.limit


def convergence(sample: ArrayLike, reference: ArrayLike, alpha: float = 0.05) -> Convergence:
    """Compare the epochs to a target with those of a reference, as MLPerf's checker of reference points does [1]_.

    The limit is where the pooled one-sided t test, with the SD of the reference on both sides, has p = alpha; the
    checker finds it to 0.0001 by halving.

    References
    ----------
    .. [1] https://github.com/mlcommons/logging, ``mlperf_logging/rcp_checker``, rules 1.0 to 6.1.
    """
    values, known = np.sort(finite_sample(sample)), np.sort(finite_sample(reference))
    dropped = MLPERF_DROPPED_OF_MANY if len(values) >= MLPERF_MANY else MLPERF_DROPPED
    # The checker takes one run less at each end for the t test of any submission.
    ours, theirs = len(values) - 2 * MLPERF_DROPPED, len(known) - 2 * dropped
    if min(len(values) - 2 * dropped, theirs) < 1 or ours + theirs < 3:
        raise ValueError(f"too few runs: {len(values)} and {len(known)}")
    mean, expected = (float(each[dropped : len(each) - dropped].mean()) for each in (values, known))
    sd = float(known.std())
    width = special.stdtrit(ours + theirs - 2, 1 - alpha) * sd * math.sqrt(1 / ours + 1 / theirs)
    return Convergence(
        mean=mean, reference=expected, sd=sd, limit=max(expected - float(width), 0.0),
        factor=max(expected / mean, 1.0) if mean else 1.0, dropped=dropped,
    )  # fmt: skip
