"""How often trainings fail, on one side and on two; weak runs: those that did not converge."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import comb
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from deviate.core.experiment import Direction
from deviate.stats.intervals import DEFAULT_LEVEL, Interval
from deviate.stats.results import Tested
from deviate.stats.spread import Floats, common_scale, unit_scale
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
    if not (failed_a or failed_b) or not (runs_a and runs_b):
        tested = Tested(reason="no run failed" if runs_a and runs_b else "one experiment has no run")
    else:
        tested = _fisher(failed_a, runs_a, failed_b, runs_b)
    return FailureContrast(failed_a=failed_a, runs_a=runs_a, failed_b=failed_b, runs_b=runs_b, fisher=tested)


def _fisher(failed_a: int, runs_a: int, failed_b: int, runs_b: int) -> Tested:
    """Return the odds ratio, and the share of all ways to fail as often that are as rare as this one or rarer."""
    failed = failed_a + failed_b
    ways = [comb(runs_a, k) * comb(runs_b, failed - k) for k in range(failed + 1)]
    p = sum(way for way in ways if way <= ways[failed_a]) / sum(ways)
    with np.errstate(all="ignore"):
        odds = np.divide(failed_a * (runs_b - failed_b), (runs_a - failed_a) * failed_b)
    return Tested(statistic=float(odds), p=p)


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


Sign = Literal["<", "<=", ">", ">="]

_COMPARE: dict[Sign, Callable[[Floats, float], Floats]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

#: A modified z-score beyond this is called an outlier [1]_.
#:
#: .. [1] B. Iglewicz and D. C. Hoaglin, "How to detect and handle outliers", ASQC, 1993.
MAD_CUTOFF = 3.5

#: A modified z-score beyond this is far from the others: of normal values fewer than 2 % of samples of 5 have one and
#: fewer than 1 % of samples of 6 or more, of t with 3 degrees of freedom fewer than 4 % (40,000 samples each).
FAR_CUTOFF = 13.5

#: Makes the median absolute deviation from the median estimate the SD of normal values: 1 / (their upper quartile).
MAD_TO_SD = 1.482602218505602

#: Makes the mean absolute deviation from the median estimate the SD of normal values: ``sqrt(pi / 2)``.
MEAN_DEVIATION_TO_SD = 1.2533141373155003

#: Half of two runs are as far from the median as the other half: no rule can tell which of fewer than these is weak.
FEWEST_FOR_MAD = 5


class WeakRuns(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs of a sample are weak, and by which rule."""

    #: Positions in the sample, ascending.
    places: list[int]
    #: The rule in words, with its numbers.
    rule: str
    #: Why the rule could not be applied; empty where it was.
    reason: str = ""


def weak_beyond(sample: ArrayLike, sign: Sign, bar: float) -> WeakRuns:
    """Call a run weak if its value is on the wrong side of a bar, or no number.

    NaN is always weak. So is an infinity: no converged training ends there.

    Parameters
    ----------
    sample : array_like of float, shape (n,)
        One value per run; NaN and infinities are allowed.
    sign : {'<', '<=', '>', '>='}
        ``<``: weak is what lies below the bar.
    bar : float
        In the unit of the metric.

    Notes
    -----
    Pham et al. leave out models that did not reach an accuracy expected of them [1]_: a run that never learnt says how
    often training fails, and not how much trained models differ.

    References
    ----------
    .. [1] H. V. Pham et al., "Problems and opportunities in training deep learning software systems: an analysis of
       variance", ASE 2020.

    Examples
    --------
    >>> weak_beyond([91.0, 10.0, float("nan"), 90.5], "<", 50.0).places
    [1, 2]
    """
    values = np.asarray(sample, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        weak = _COMPARE[sign](values, bar)
    places = np.flatnonzero(weak.astype(bool) | ~np.isfinite(values))
    return WeakRuns(places=places.tolist(), rule=f"value {sign} {bar:g}, or no finite number")


def weak_by_mad(sample: ArrayLike, direction: Direction | None = None, cutoff: float = MAD_CUTOFF) -> WeakRuns:
    """Call a run weak if it lies far from the median of all runs, measured by the median absolute deviation.

    Where more than half of the values are equal, so that the MAD is zero, the mean absolute deviation takes its place
    [1]_. With fewer than 5 finite values only what is not finite is weak, and the reason says so.

    Parameters
    ----------
    sample : array_like of float, shape (n,)
        One value per run; NaN and infinities are weak, and do not enter median and MAD.
    direction : {'higher', 'lower'}, optional
        Which values are better. Only runs on the worse side are weak; on both sides where it is not known.
    cutoff : float, optional
        Largest modified z-score ``(x - median) / (1.4826 * MAD)`` of a run that is not weak.

    Notes
    -----
    An outlier is no mistake: excluding it makes the SD smaller than that of the trainings one would get. Where all
    values are normal, the rule with a direction flags one or more in 12 % of samples of 5 runs, 7 % of 16 and 6 % of
    30; without a direction in 21 %, 11 % and 10 % (2,000 samples each). So it is never applied unasked.

    References
    ----------
    .. [1] B. Iglewicz and D. C. Hoaglin, "How to detect and handle outliers", ASQC, 1993.

    Examples
    --------
    >>> weak_by_mad([90.1, 90.3, 89.8, 90.0, 10.0, 90.2], "higher").places
    [4]
    """
    values = np.asarray(sample, dtype=np.float64)
    finite = np.isfinite(values)
    if finite.sum() < FEWEST_FOR_MAD:
        lost = np.flatnonzero(~finite).tolist()
        return WeakRuns(places=lost, rule=_MAD_RULE, reason=f"the rule needs {FEWEST_FOR_MAD} finite values or more")
    scaled, exponent = unit_scale(values[finite])
    centre, scale = _robust_scale(scaled)
    if scale == 0:
        return WeakRuns(places=np.flatnonzero(~finite).tolist(), rule=_MAD_RULE, reason="all finite values are equal")
    with np.errstate(invalid="ignore", over="ignore"):
        scores = (np.ldexp(values, -exponent) - centre) / scale
        far = {"higher": scores < -cutoff, "lower": scores > cutoff}.get(direction or "", np.abs(scores) > cutoff)
        middle, mad = (float(np.ldexp(each, exponent)) for each in (centre, scale))
    rule = f"more than {cutoff:g} robust SDs (median {middle:.4g}, 1.4826 MAD {mad:.2g}) from the median"
    return WeakRuns(places=np.flatnonzero(far | ~finite).tolist(), rule=rule)


def far_from_others(sample: ArrayLike) -> list[int]:
    """Return the positions of values so far from the others that mean and SD describe neither.

    A training that never left chance level is of this kind. The rule is that of `weak_by_mad` on both sides, with a
    cutoff of `FAR_CUTOFF`; it leaves nothing out.

    Examples
    --------
    >>> far_from_others([90.1, 90.3, 89.8, 90.0, 10.0, 90.2])
    [4]
    """
    return weak_by_mad(sample, cutoff=FAR_CUTOFF).places


def collapsed_runs(samples: Sequence[ArrayLike], direction: Direction) -> list[list[int]]:
    """Return the positions, in each sample, of the values in the worse of two clusters; none where there is one.

    The values of all samples are split at the largest gap between two neighbours. Those behind it are another cluster
    if they are so far from the better ones, `FEWEST_FOR_MAD` or more, that `FAR_CUTOFF` calls them far. So collapsed
    runs are found where they are the larger part, too. A sample that lies behind the gap as a whole, where no other
    has a value there, is shifted and not collapsed.

    Examples
    --------
    >>> collapsed_runs([[10.0, 10.2, 90.1, 10.1, 90.3], [90.3, 89.8, 90.0, 90.2]], "higher")
    [[0, 1, 3], []]
    >>> collapsed_runs([[10.0, 10.2, 10.1, 10.3], [90.3, 89.8, 90.0, 90.2, 90.1]], "higher")
    [[], []]
    """
    sign = 1 if direction == "higher" else -1
    parts, _ = common_scale([sign * np.asarray(sample, dtype=np.float64) for sample in samples])
    values = np.sort(np.concatenate(parts))[::-1]
    better = 1 + int(np.argmax(values[:-1] - values[1:])) if values.size > 1 else 0
    if better < FEWEST_FOR_MAD:
        return [[] for _ in parts]
    centre, scale = _robust_scale(values[:better])
    behind = [part <= values[better] for part in parts]
    shifted = len(parts) > 1 and all(each.all() or not each.any() for each in behind)
    if shifted or not 0 < FAR_CUTOFF * scale < centre - values[better]:
        return [[] for _ in parts]
    return [np.flatnonzero(each).tolist() for each in behind]


_MAD_RULE = "far from the median by the MAD"


def _robust_scale(values: Floats) -> tuple[float, float]:
    centre = float(np.median(values))
    mad = MAD_TO_SD * float(np.median(np.abs(values - centre)))
    return centre, mad or MEAN_DEVIATION_TO_SD * float(np.abs(values - centre).mean())
