"""Everything that one metric's two samples tell about each other, before many metrics are looked at together."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.contrast.choice import BROWN_FORSYTHE, PAIRED, Choice, choose_location
from deviate.contrast.difference import mean_difference
from deviate.contrast.dispersion import bartlett, brown_forsythe, f_variance, levene
from deviate.contrast.dominance import Dominance, dominance
from deviate.contrast.effects import cohen_d, cohen_dz, hedges_g
from deviate.contrast.equivalence import tost
from deviate.contrast.location import brunner_munzel, mann_whitney_u, permutation, student_t, welch_t
from deviate.contrast.paired import correlation, paired_permutation, paired_t, wilcoxon
from deviate.contrast.results import Effect, Tested
from deviate.contrast.sd_ratio import sd_ratio
from deviate.contrast.superiority import cliff_delta, p_superiority
from deviate.measure.sample import finite_sample


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """Tests, effects and bounds of one metric on two sides, `a` and `b`."""

    #: Runs of each side.
    n_a: int
    n_b: int
    #: Runs with a partner; 0 where runs are not paired.
    pairs: int
    #: The test that decides on the means, and the one on the spread.
    location: Choice
    spread: Choice
    difference: Effect
    sd_ratio: Effect
    #: By name: those of the chosen questions and all others.
    tests: dict[str, Tested]
    effects: dict[str, Effect]
    a_over_b: Dominance
    b_over_a: Dominance
    #: Of the paired runs.
    correlation: float | None = None
    margin: float | None = None
    equivalence: Tested | None = None

    @property
    def paired(self) -> bool:
        """Whether pairs are compared."""
        return self.location == PAIRED

    @property
    def runs_compared(self) -> tuple[int, int]:
        """Runs of each side that enter the chosen test."""
        return (self.pairs, self.pairs) if self.paired else (self.n_a, self.n_b)

    @property
    def p(self) -> float | None:
        """Of the chosen test of the means."""
        return self.tests[self.location.test].p


def contrast(
    a: ArrayLike,
    b: ArrayLike,
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    pairs: Sequence[tuple[int, int]] = (),
    margin: float | None = None,
) -> Contrast:
    """Compare two samples in every way that Deviate knows.

    Parameters
    ----------
    a, b : array_like of float, shapes (n_a,) and (n_b,)
        One finite value per run.
    rng : numpy.random.Generator
        Draws arrangements and resamples.
    level : float, optional
        Confidence level of all intervals, in (0, 1).
    pairs : sequence of (int, int), optional
        Places in `a` and `b` of the runs that belong together, where pairing is real.
    margin : float, optional
        The smallest difference that matters, in the unit of the values.
    """
    first, second = finite_sample(a), finite_sample(b)
    chosen = choose_location(first.size, second.size, len(pairs))
    paired = chosen == PAIRED
    places = np.asarray(pairs, dtype=int).reshape(-1, 2)
    one, other = (first[places[:, 0]], second[places[:, 1]]) if paired else (first, second)
    tests = _tests(first, second, rng)
    effects = _effects(first, second, level)
    if paired:
        tests |= _paired_tests(one, other, rng)
        effects["cohen_dz"] = cohen_dz(one, other, level)
    return Contrast(
        n_a=first.size,
        n_b=second.size,
        pairs=len(pairs) if paired else 0,
        location=chosen,
        spread=BROWN_FORSYTHE,
        difference=mean_difference(one, other, level, paired=paired),
        sd_ratio=sd_ratio(first, second, level),
        tests=tests,
        effects=effects,
        a_over_b=dominance(first, second, rng, level),
        b_over_a=dominance(second, first, rng, level),
        correlation=correlation(one, other) if paired else None,
        margin=margin,
        equivalence=None if margin is None else tost(one, other, margin, paired=paired),
    )


def _tests(a: ArrayLike, b: ArrayLike, rng: np.random.Generator) -> dict[str, Tested]:
    return {
        "student_t": student_t(a, b),
        "welch_t": welch_t(a, b),
        "mann_whitney_u": mann_whitney_u(a, b, rng),
        "brunner_munzel": brunner_munzel(a, b),
        "permutation": permutation(a, b, rng),
        "brown_forsythe": brown_forsythe(a, b),
        "levene": levene(a, b),
        "f_variance": f_variance(a, b),
        "bartlett": bartlett(a, b),
    }


def _paired_tests(a: ArrayLike, b: ArrayLike, rng: np.random.Generator) -> dict[str, Tested]:
    return {
        "paired_t": paired_t(a, b),
        "wilcoxon": wilcoxon(a, b),
        "paired_permutation": paired_permutation(a, b, rng),
    }


def _effects(a: ArrayLike, b: ArrayLike, level: float) -> dict[str, Effect]:
    return {
        "cohen_d": cohen_d(a, b, level),
        "hedges_g": hedges_g(a, b, level),
        "cliff_delta": cliff_delta(a, b, level),
        "p_superiority": p_superiority(a, b, level),
    }
