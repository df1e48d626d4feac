"""How much of the spread is the split of the data, and how much the training: splits and seeds as random factors.

References
----------
.. [1] X. Bouthillier et al., "Accounting for variance in machine learning benchmarks", MLSys 2021.
.. [2] J. S. Williams, "A confidence interval for variance components", Biometrika 49, 1962.
.. [3] J. D. Thomas and R. A. Hultquist, "Interval estimation for the unbalanced case of the one-way random effects
   model", Annals of Statistics 6, 1978.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from scipy import special

from deviate.stats.intervals import CHI_SQUARE, DEFAULT_LEVEL, Interval, sd_factors
from deviate.stats.results import Effect
from deviate.stats.spread import Floats, finite_sample, is_identical

WILLIAMS = "Williams and Tukey"

OVER_SPLITS = "t, splits and seeds"


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """What one factor adds to the spread, as an SD; 0 where its variance is estimated at less."""

    sd: float
    interval: Interval


class SplitSpread(msgspec.Struct, frozen=True, kw_only=True):
    """Mean over splits and seeds, and what each adds to the spread of one run on one split."""

    splits: int
    #: Runs on each split, or their harmonic mean.
    runs: float
    mean: float
    #: For other splits and other seeds.
    ci_mean: Interval
    split: Component
    #: What a seed does on all splits alike; None where runs of unlike splits have other seeds.
    seed: Component | None = None
    #: What is left: between runs on one split, but for `seed`.
    rest: Component
    #: SD of one run on one split, each drawn anew.
    whole: float
    #: Share of the variance of `whole` that is the split's, in [0, 1].
    share: float


def split_spread(
    samples: Sequence[Sequence[float]], level: float = DEFAULT_LEVEL, *, crossed: bool = False
) -> SplitSpread | None:
    """Divide the variance of runs on several splits [1]_; None below two splits or runs, or without any spread.

    Nested runs have other seeds on each split. Of `crossed` ones, run k has the same seeds on every split, and what it
    does on all of them alike is a component of its own. Components are those of the analysis of variance with random
    factors, intervals those of Williams and Tukey [2]_, which hold `level` for normal values at least; with unequal
    numbers of runs on the unweighted means of the splits [3]_.

    Examples
    --------
    Montgomery's strength of fabric from four looms, "Design and analysis of experiments", section 3.9:

    >>> looms = [[98, 97, 99, 96], [91, 90, 93, 92], [96, 95, 97, 95], [95, 96, 99, 98]]
    >>> found = split_spread(looms)
    >>> round(found.split.sd ** 2, 2), round(found.rest.sd ** 2, 2), round(found.share, 2)
    (6.96, 1.9, 0.79)
    """
    cells = [finite_sample(sample) for sample in samples]
    if len(cells) < 2 or min(cell.size for cell in cells) < 2 or all(is_identical(cell) for cell in cells):
        return None
    return _crossed(np.stack(cells), level) if crossed else _nested(cells, level)


def split_difference(
    a: Sequence[Sequence[float]],
    b: Sequence[Sequence[float]],
    level: float = DEFAULT_LEVEL,
    *,
    crossed: bool = False,
) -> Effect | None:
    """Give by how much `b` is higher than `a` for other splits and seeds; both hold the runs on the same splits.

    The differences on each split are the sample, as Demšar has it for data sets. Of `crossed` runs, run k has the same
    seeds everywhere: its differences are seeds and splits as random factors. None below two splits, or without spread.

    Examples
    --------
    >>> found = split_difference([[1.0, 1.2], [2.0, 2.1], [3.0, 3.3]], [[1.5, 1.6], [2.6, 2.9], [3.4, 3.9]])
    >>> round(found.value, 2), round(found.interval.low, 2), round(found.interval.high, 2)
    (0.55, 0.22, 0.88)
    """
    first, second = ([finite_sample(runs) for runs in side] for side in (a, b))
    if crossed:
        differences = [(y - x).tolist() for x, y in zip(first, second, strict=True)]
        both = split_spread(differences, level, crossed=True)
        return None if both is None else Effect(value=both.mean, interval=both.ci_mean)
    means = np.array([y.mean() - x.mean() for x, y in zip(first, second, strict=True)])
    if means.size < 2 or is_identical(means):
        return None
    half = float(special.stdtrit(means.size - 1, (1 + level) / 2)) * float(means.std(ddof=1)) / math.sqrt(means.size)
    value = float(means.mean())
    return Effect(value=value, interval=Interval(low=value - half, high=value + half, level=level, method=OVER_SPLITS))


def _nested(cells: Sequence[Floats], level: float) -> SplitSpread:
    splits, freedom = len(cells), sum(cell.size - 1 for cell in cells)
    means = np.array([cell.mean() for cell in cells])
    runs = splits / sum(1 / cell.size for cell in cells)
    within = sum(float(np.square(cell - cell.mean()).sum()) for cell in cells) / freedom
    between = runs * float(means.var(ddof=1))
    return _divided(
        (splits, runs, float(means.mean())),
        between / (splits * runs),
        splits - 1,
        [_component((between, splits - 1), (within, freedom), runs, level), None, _rest(within, freedom, level)],
        level,
    )


def _crossed(table: Floats, level: float) -> SplitSpread:
    splits, runs = table.shape
    by_split, by_run = table.mean(axis=1), table.mean(axis=0)
    freedom = (splits - 1) * (runs - 1)
    rest = float(np.square(table - by_split[:, None] - by_run + table.mean()).sum()) / freedom
    of_split, of_run = runs * float(by_split.var(ddof=1)), splits * float(by_run.var(ddof=1))
    variance = max(of_split + of_run - rest, of_split, of_run)
    # Satterthwaite's degrees of freedom.
    squares = of_split**2 / (splits - 1) + of_run**2 / (runs - 1) + rest**2 / freedom
    return _divided(
        (splits, runs, float(table.mean())),
        variance / table.size,
        max(variance**2 / squares, min(splits, runs) - 1),
        [
            _component((of_split, splits - 1), (rest, freedom), runs, level),
            _component((of_run, runs - 1), (rest, freedom), splits, level),
            _rest(rest, freedom, level),
        ],
        level,
    )


def _divided(
    sizes: tuple[int, float, float], squared_error: float, freedom: float, parts: list[Component | None], level: float
) -> SplitSpread:
    splits, runs, mean = sizes
    split, seed, rest = parts
    assert split is not None
    assert rest is not None
    half = float(special.stdtrit(freedom, (1 + level) / 2)) * math.sqrt(squared_error)
    whole = sum(part.sd**2 for part in parts if part)
    return SplitSpread(
        splits=splits,
        runs=runs,
        mean=mean,
        ci_mean=Interval(low=mean - half, high=mean + half, level=level, method=OVER_SPLITS),
        split=split,
        seed=seed,
        rest=rest,
        whole=math.sqrt(whole),
        share=split.sd**2 / whole if whole else 0.0,
    )


def _component(square: tuple[float, float], rest: tuple[float, float], times: float, level: float) -> Component:
    """Give the SD of a factor from its mean square and that of the rest, each with its degrees of freedom."""
    (mean, freedom), (left, left_freedom) = square, rest
    tails = ((1 + level) / 2, (1 - level) / 2)
    ends = [
        freedom * (mean - left * float(special.fdtri(freedom, left_freedom, tail)))
        / (times * 2 * float(special.gammaincinv(freedom / 2, tail)))
        for tail in tails
    ]  # fmt: skip
    low, high = (math.sqrt(max(end, 0.0)) for end in ends)
    interval = Interval(low=low, high=high, level=level, method=WILLIAMS)
    return Component(sd=math.sqrt(max(mean - left, 0.0) / times), interval=interval)


def _rest(square: float, freedom: int, level: float) -> Component:
    sd = math.sqrt(square)
    low, high = (sd * factor for factor in sd_factors(freedom + 1, level))
    return Component(sd=sd, interval=Interval(low=low, high=high, level=level, method=CHI_SQUARE))
