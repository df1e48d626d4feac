"""Questions about the cells of a grid beside their means: which factors change the SD, and many cells against one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec
import numpy as np
import scipy

from deviate.stats.effects import sd_ratio
from deviate.stats.factorial import factorial_anova
from deviate.stats.intervals import DEFAULT_LEVEL
from deviate.stats.results import Effect, Tested, outcome, quiet
from deviate.stats.spread import Floats, common_scale, finite_sample, is_identical

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
