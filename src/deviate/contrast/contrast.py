"""All tests and effects of one metric's two samples, before the correction over metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.contrast.choice import PAIRED, Choice, choose_location, choose_spread
from deviate.contrast.difference import mean_difference, tost
from deviate.contrast.dispersion import bartlett, brown_forsythe, brown_forsythe_permutation, f_variance, levene
from deviate.contrast.dominance import Dominance, dominance
from deviate.contrast.effects import cohen_d, cohen_dz, hedges_g
from deviate.contrast.location import brunner_munzel, mann_whitney_u, permutation, student_t, welch_permutation, welch_t
from deviate.contrast.paired import (
    correlation,
    correlation_interval,
    paired_brown_forsythe,
    paired_permutation,
    paired_t,
    pitman_morgan,
    wilcoxon,
)
from deviate.contrast.results import Effect, Tested
from deviate.contrast.sd_ratio import sd_ratio
from deviate.contrast.superiority import cliff_delta, p_superiority
from deviate.measure.intervals import Interval
from deviate.measure.sample import Floats, finite_sample

#: The values of two sides.
Samples = tuple[Floats, Floats]


class Row(NamedTuple):
    """A test of two samples, or an effect."""

    #: Label in tables for people; files for programs use the key of the row.
    label: str
    function: Callable[..., Any]
    #: Takes runs that belong together two by two.
    paired: bool = False
    #: Takes the generator.
    draws: bool = False


#: All tests, in the order in which they are shown (it decides what each draws).
TESTS = {
    "student_t": Row("Student's t", student_t),
    "welch_t": Row("Welch's t", welch_t),
    "mann_whitney_u": Row("Mann-Whitney U", mann_whitney_u, draws=True),
    "brunner_munzel": Row("Brunner-Munzel", brunner_munzel),
    "permutation": Row("permutation of means", permutation, draws=True),
    "brown_forsythe": Row("Brown-Forsythe", brown_forsythe),
    "levene": Row("Levene", levene),
    "f_variance": Row("F of variances", f_variance),
    "bartlett": Row("Bartlett", bartlett),
    "paired_t": Row("paired t", paired_t, paired=True),
    "wilcoxon": Row("Wilcoxon signed ranks", wilcoxon, paired=True),
    "paired_permutation": Row("exchange within pairs", paired_permutation, paired=True, draws=True),
    "paired_brown_forsythe": Row("Brown-Forsythe within pairs", paired_brown_forsythe, paired=True),
    "pitman_morgan": Row("Pitman-Morgan", pitman_morgan, paired=True),
    "welch_permutation": Row("Welch's t, permuted too", welch_permutation),
    "brown_forsythe_permutation": Row("Brown-Forsythe, permuted too", brown_forsythe_permutation),
}

EFFECTS = {
    "cohen_d": Row("Cohen's d", cohen_d),
    "hedges_g": Row("Hedges' g", hedges_g),
    "cliff_delta": Row("Cliff's delta", cliff_delta),
    "p_superiority": Row("P(A > B)", p_superiority),
    "cohen_dz": Row("Cohen's d for pairs", cohen_dz, paired=True),
}


class Tests(Mapping[str, Tested]):
    """All tests of two samples by name, each made when it is first looked at.

    The permutation test alone takes as long as all else that is known of a metric, and few outputs show it.
    """

    def __init__(self, independent: Samples, pairs: Samples | None, seed: int) -> None:
        self._independent, self._pairs, self._seed = independent, pairs, seed
        self._made: dict[str, Tested] = {}

    def __getitem__(self, name: str) -> Tested:
        if name not in self._made:
            row = TESTS[name]
            samples = self._pairs if row.paired else self._independent
            if samples is None:
                raise KeyError(name)
            # Draws of its own for each test: what one draws does not depend on which others are made.
            rng = (np.random.default_rng([self._seed, list(TESTS).index(name)]),) if row.draws else ()
            self._made[name] = row.function(*samples, *rng)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, row in TESTS.items() if self._pairs is not None or not row.paired)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))


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
    tests: Mapping[str, Tested]
    effects: dict[str, Effect]
    a_over_b: Dominance
    b_over_a: Dominance
    #: Of the paired runs.
    correlation: float | None = None
    correlation_interval: Interval
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
    pairs : sequence of (int, int), optional
        Indices into `a` and `b` of the runs that belong together, where pairing is real.
    margin : float, optional
        The smallest difference that matters, in the unit of the values.
    """
    first, second = finite_sample(a), finite_sample(b)
    chosen = choose_location(first.size, second.size, len(pairs))
    paired = chosen == PAIRED
    indices = np.asarray(pairs, dtype=int).reshape(-1, 2)
    compared_a, compared_b = (first[indices[:, 0]], second[indices[:, 1]]) if paired else (first, second)
    pairs_compared = (compared_a, compared_b) if paired else None
    effects = _effects(first, second, level, paired=False)
    if paired:
        effects |= _effects(compared_a, compared_b, level, paired=True)
    r = correlation(compared_a, compared_b) if paired else None
    return Contrast(
        n_a=first.size,
        n_b=second.size,
        pairs=len(pairs) if paired else 0,
        location=chosen,
        spread=choose_spread(first.size, second.size, paired=paired),
        difference=mean_difference(compared_a, compared_b, level, paired=paired),
        sd_ratio=sd_ratio(first, second, level),
        tests=Tests((first, second), pairs_compared, int(rng.integers(2**63))),
        effects=effects,
        a_over_b=dominance(first, second, rng, level),
        b_over_a=dominance(second, first, rng, level),
        correlation=r,
        correlation_interval=correlation_interval(r, compared_a.size, level),
        margin=margin,
        equivalence=None if margin is None else tost(compared_a, compared_b, margin, paired=paired),
    )


def deciding_test(a: ArrayLike, b: ArrayLike, pairs: Sequence[tuple[int, int]] = ()) -> Tested:
    """Make the test of the means that decides in `contrast`, and nothing else.

    Examples
    --------
    >>> round(deciding_test([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]).p, 4)
    0.2209
    """
    first, second = finite_sample(a), finite_sample(b)
    choice = choose_location(first.size, second.size, len(pairs))
    if choice == PAIRED:
        indices = np.asarray(pairs, dtype=int).reshape(-1, 2)
        first, second = first[indices[:, 0]], second[indices[:, 1]]
    tested: Tested = TESTS[choice.test].function(first, second)
    return tested


def _effects(a: ArrayLike, b: ArrayLike, level: float, *, paired: bool) -> dict[str, Effect]:
    return {name: row.function(a, b, level) for name, row in EFFECTS.items() if row.paired == paired}
