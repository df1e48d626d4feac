"""Many tests, or many looks at growing runs: p-values and levels that keep the false alarms of all together few.

Questions about the cells of a grid beside their means: which factors change the SD, and many cells against one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Literal, get_args

import msgspec
import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from deviate.core.experiment import DEFAULT_RUNS, Until
from deviate.stats.classes import holm
from deviate.stats.effects import sd_ratio
from deviate.stats.factorial import factorial_anova
from deviate.stats.intervals import (
    DEFAULT_LEVEL,
    EXTRA_RUNS,
    MOST_RUNS,
    FixedWidth,
    Interval,
    cautious_sd_interval,
    farthest_end,
    fixed_width,
    root,
    runs_for_sd,
)
from deviate.stats.power import runs_for_precision
from deviate.stats.results import Effect, Tested, outcome, quiet
from deviate.stats.spread import Floats, common_scale, finite_sample, is_identical

Correction = Literal["holm", "bonferroni", "bh", "none"]

CORRECTIONS: tuple[Correction, ...] = get_args(Correction)

DEFAULT_CORRECTION: Correction = "holm"

#: What each correction is called in a sentence.
CORRECTION_NAMES = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini-Hochberg", "none": "no correction"}


def adjust(ps: Sequence[float | None], correction: Correction = DEFAULT_CORRECTION) -> list[float | None]:
    """Adjust p-values for their number.

    The results are in the order of `ps`, and to be compared with alpha.

    Parameters
    ----------
    ps : sequence of float or None
        In [0, 1]; None where a test could not be made, which does not count.
    correction : {'holm', 'bonferroni', 'bh', 'none'}, optional
        Holm [1]_ and Bonferroni keep the probability of any false alarm at alpha; Benjamini-Hochberg [2]_ keeps the
        expected share of false ones among the alarms there.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6,
       1979.
    .. [2] Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", JRSS B 57, 1995.

    Examples
    --------
    >>> [round(p, 3) if p else p for p in adjust([0.01, None, 0.04, 0.03])]
    [0.03, None, 0.06, 0.06]
    """
    if correction not in CORRECTIONS:
        raise ValueError(f"a correction is one of {', '.join(CORRECTIONS)}; got {correction!r}")
    known = [p for p in ps if p is not None]
    if correction == "none" or len(known) < 2:
        return list(ps)
    adjusted = iter(_ADJUSTED[correction](np.asarray(known, dtype=float)).tolist())
    return [None if p is None else next(adjusted) for p in ps]


def _bonferroni(ps: Floats) -> Floats:
    return np.asarray(np.minimum(ps * ps.size, 1.0))


def _benjamini_hochberg(ps: Floats) -> Floats:
    order = np.argsort(ps, kind="stable")[::-1]
    adjusted = np.empty(ps.size)
    adjusted[order] = np.minimum(np.minimum.accumulate(ps[order] * ps.size / np.arange(ps.size, 0, -1)), 1.0)
    return adjusted


_ADJUSTED: dict[Correction, Callable[[Floats], Floats]] = {
    "holm": holm,
    "bonferroni": _bonferroni,
    "bh": _benjamini_hochberg,
}


# How small p must be where growing experiments are compared more than once, so that false alarms stay as few.
#
# Each comparison of two sides is a look. The false alarms that all looks together may raise are spent look by look, as
# a function of the runs that there are [1]_; it does not matter when looks are made, or how many. What is spent becomes
# a level for p by the distribution of a test statistic whose runs grow [2]_, [3]_: normal, with a correlation of
# ``sqrt(I_j / I_k)`` between looks of the information ``I = n m / (n + m)``. The levels are applied to the p-values of
# the t tests (the significance-level approach of [3]_), which holds at few runs too
# (``benchmarks/statistics/looks.py``).
#
# References
# ----------
# .. [1] K. K. G. Lan and D. L. DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70, 1983.
# .. [2] P. Armitage, C. K. McPherson and B. C. Rowe, "Repeated significance tests on accumulating data", JRSS A 132,
#    1969.
# .. [3] C. Jennison and B. W. Turnbull, "Group sequential methods with applications to clinical trials", Chapman and
#    Hall, 2000: chapters 7 (spending), 19 (integration), 3.8 and 11 (unknown variance).

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
    return root(surplus, 0.0, _FARTHEST, 1e-10)


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


# Are there enough runs? One look at the runs of a variant, by a criterion that was fixed before the first.


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a stopping criterion after the runs so far."""

    #: Runs with a finite value.
    n: int
    #: Half-width reached: in the unit of the metric, for an SD as a share of it. None where no interval can be given.
    half_width: float | None
    #: Half-width wanted, likewise.
    wanted: float
    met: bool
    #: The interval that keeps its level although runs were stopped by looking at them.
    interval: Interval
    #: Runs it is expected to take in all, judged by the SD of these; None where nothing tells.
    expected: int | None
    #: All values are exactly equal.
    identical: bool = False


def look(sample: ArrayLike, until: Until) -> Look:
    """Ask whether there are enough runs.

    A mean is judged by `fixed_width`. For an SD: enough are the runs that normal values need (`runs_for_sd`) if the
    wider of the chi-square and Bonett's interval is narrow enough too, else more.

    Parameters
    ----------
    sample : array_like of float, shape (n,)
        One finite value per run, in the order in which runs were requested.

    Examples
    --------
    >>> until = Until(metric="val acc", of="mean", width=0.6, least=5, most=30)
    >>> state = look([90.0, 91.0, 90.5, 89.5, 90.2], until)
    >>> state.met, round(state.half_width, 2), state.expected
    (False, 0.69, 8)
    """
    values = finite_sample(sample)
    if until.of == "sd":
        return _look_at_sd(values, until)
    reached = fixed_width(values, until.width, relative=until.relative, least=until.least, level=until.level)
    return Look(
        n=reached.n,
        half_width=reached.half_width,
        wanted=reached.wanted,
        met=reached.met,
        interval=reached.interval,
        expected=_expected(values, reached, until.level),
        identical=is_identical(values),
    )


def least_runs(until: Until) -> int | None:
    """Give the fewest runs with which the criterion can be met, known before the first run; None if none are enough.

    Examples
    --------
    >>> least_runs(Until(metric="loss", of="sd", width=0.25, relative=True, least=10, most=60))
    49
    >>> least_runs(Until(metric="loss", of="mean", width=0.1, least=10, most=60))
    12
    """
    if until.of == "mean":
        return until.least + EXTRA_RUNS
    needed = runs_for_sd(until.width, until.level)
    return None if needed is None else max(needed, until.least)


def _look_at_sd(values: Floats, until: Until) -> Look:
    interval = cautious_sd_interval(values, until.level)
    sd = float(values.std(ddof=1)) if values.size > 1 else 0.0
    reached = farthest_end(interval, sd)
    fewest = least_runs(until)
    met = reached is not None and fewest is not None and values.size >= fewest and reached <= until.width
    return Look(
        n=values.size,
        half_width=reached,
        wanted=until.width,
        met=met,
        interval=interval,
        expected=values.size if met else _expected_of_sd(values.size, reached, fewest, until.width),
        identical=is_identical(values),
    )


def _expected(values: Floats, reached: FixedWidth, level: float) -> int | None:
    if reached.enough_at is not None:
        return max(reached.enough_at, reached.n)
    sd = float(np.std(values, ddof=1)) if values.size > 1 else 0.0
    if reached.half_width is None or not (sd > 0 and reached.wanted > 0 and math.isfinite(sd)):
        return None
    first = runs_for_precision(reached.wanted / sd, level)
    return None if first is None else max(first, reached.n + 1) + EXTRA_RUNS


def _expected_of_sd(n: int, reached: float | None, fewest: int | None, width: float) -> int | None:
    """Guess from the rule that an interval narrows with the root of n."""
    if fewest is None:
        return None
    guess = 0 if reached is None else math.ceil(n * (reached / width) ** 2)
    return None if guess > MOST_RUNS else max(fewest, guess, n + 1)


#: Runs in each cell that a test of spread needs.
FEWEST = 3

#: Cells up to which Dunnett's p is computed: its integral over so many dimensions takes half a second.
MOST_AGAINST = 16


class SpreadEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What a factor of a grid does to the SD of runs."""

    factor: str
    #: Pooled SD within the cells of each level.
    sds: dict[str, float]
    tested: Tested
    #: The largest of these SDs over the smallest, and the levels that have them.
    ratio: Effect
    largest: str
    smallest: str


def spread_effects(
    samples: Sequence[Sequence[float]], settings: Sequence[Mapping[str, str]], level: float = DEFAULT_LEVEL
) -> list[SpreadEffect]:
    """Test for each factor whether the SD within cells depends on it, by Brown and Forsythe's test.

    That is the analysis of variance of the distances of runs from the median of their cell [1]_; of a factor its main
    effect, of type III. In a grid of one factor it is the usual test. The ratio is of the SDs pooled over the cells of
    a level, with Bonett's interval at a level that allows for the choice of two levels (Bonferroni). Nothing where a
    cell has fewer than three runs, or the analysis of the means is not possible either.

    References
    ----------
    .. [1] M. B. Brown and A. B. Forsythe, "Robust tests for the equality of variances", Journal of the American
       Statistical Association 69, 1974.
    """
    values = [finite_sample(sample) for sample in samples]
    if any(sample.size < FEWEST for sample in values):
        return []
    scaled, exponent = common_scale(values)
    anova = factorial_anova([np.abs(sample - np.median(sample)).tolist() for sample in scaled], settings)
    tests = {term.factors[0]: term.classic for term in anova.terms if len(term.factors) == 1}
    return [_effect(factor, tested, scaled, exponent, settings, level) for factor, tested in tests.items()]


def _effect(
    factor: str,
    tested: Tested,
    cells: Sequence[Floats],
    exponent: int,
    settings: Sequence[Mapping[str, str]],
    level: float,
) -> SpreadEffect:
    residuals: dict[str, list[Floats]] = {}
    for sample, cell in zip(cells, settings, strict=True):
        # As many degrees of freedom as runs, so that the SD of all is the pooled one.
        residuals.setdefault(cell[factor], []).append(
            (sample - sample.mean()) * math.sqrt(sample.size / (sample.size - 1))
        )
    pooled = {name: np.concatenate(parts) for name, parts in residuals.items()}
    sds = {name: float(np.sqrt(np.mean(np.square(each)))) for name, each in pooled.items()}
    largest, smallest = max(sds, key=lambda name: sds[name]), min(sds, key=lambda name: sds[name])
    pairs = len(list(combinations(sds, 2)))
    return SpreadEffect(
        factor=factor,
        sds={name: float(np.ldexp(sd, exponent)) for name, sd in sds.items()},
        tested=tested,
        ratio=sd_ratio(pooled[largest], pooled[smallest], 1 - (1 - level) / pairs),
        largest=largest,
        smallest=smallest,
    )


def dunnett(samples: Sequence[Sequence[float]]) -> list[float | None]:
    """Give Dunnett's p of each sample but the first against the first [1]_: many to one, for equal SDs.

    None where a sample has one value, all are constant, or there are more than `MOST_AGAINST`.

    References
    ----------
    .. [1] C. W. Dunnett, "A multiple comparison procedure for comparing several treatments with a control", Journal
       of the American Statistical Association 50, 1955.
    """
    values = [finite_sample(sample) for sample in samples]
    few = any(sample.size < 2 for sample in values)
    if few or len(values) > MOST_AGAINST or all(is_identical(sample) for sample in values):
        return [None] * (len(values) - 1)
    (first, *others), _ = common_scale(values)
    with quiet():
        found = scipy.stats.dunnett(*others, control=first, rng=np.random.default_rng(0))
    return [outcome(*each).p for each in zip(found.statistic, found.pvalue, strict=True)]
