"""All tests and effects of one metric's two samples, before the correction over metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.core.experiment import Direction
from deviate.stats.effects import (
    Dominance,
    cliff_delta,
    cohen_d,
    cohen_dz,
    dominance,
    hedges_g,
    mean_difference,
    p_superiority,
    sd_ratio,
    tost,
)
from deviate.stats.intervals import Interval
from deviate.stats.paired_tests import (
    correlation,
    correlation_interval,
    paired_brown_forsythe,
    paired_permutation,
    paired_t,
    pitman_morgan,
    wilcoxon,
)
from deviate.stats.results import Effect, Tested, fewest_runs
from deviate.stats.spread import Floats, finite_sample, without_offset
from deviate.stats.tests import (
    bartlett,
    brown_forsythe,
    brown_forsythe_permutation,
    brunner_munzel,
    f_variance,
    is_permuted,
    levene,
    mann_whitney_u,
    permutation,
    student_t,
    test_of_means,
    welch_permutation,
    welch_t,
)

# Which test answers a question: chosen by how the runs were made. The values only make it stricter, if of two kinds.
#
# A choice made after looking at the values (normal or not, equal SDs or not) is a test itself: at few runs it sees
# nothing, and what follows it no longer keeps its level [1]_.
#
# References
# ----------
# .. [1] D. W. Zimmerman, "A note on preliminary tests of equality of variances", British Journal of Mathematical and
#    Statistical Psychology 57, 2004.
# .. [2] C. Colas, O. Sigaud and P.-Y. Oudeyer, "A hitchhiker's guide to statistical comparisons of reinforcement
#    learning
#    algorithms", 2019.

#: Of the runs of the larger side, the share that must have a partner for pairs to be compared.
LEAST_PAIRED = 0.8

#: Below two pairs nothing is known of how they differ.
FEWEST_PAIRS = 2


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The test that decides, and why this one."""

    test: str
    #: What a sentence calls it.
    label: str
    reason: str


WELCH = Choice(
    test="welch_t",
    label="Welch's t test",
    reason="it does not assume equal SDs",
)

WELCH_AND_PERMUTATION = Choice(
    test="welch_permutation",
    label="Welch's t test and a permutation of the runs",
    reason="with unequal numbers of runs or values of two kinds Welch's test errs too often; the larger p counts",
)

PAIRED = Choice(
    test="paired_t",
    label="paired t test",
    reason="runs are paired, so the differences within pairs are tested",
)

BROWN_FORSYTHE = Choice(
    test="brown_forsythe",
    label="Brown-Forsythe test",
    reason="of the tests of spread it is the one that keeps its level with heavy tails",
)

BROWN_FORSYTHE_AND_PERMUTATION = Choice(
    test="brown_forsythe_permutation",
    label="Brown-Forsythe test and a permutation of the runs",
    reason="it keeps its level with heavy tails and where values are of two kinds, and the larger p counts",
)

PAIRED_BROWN_FORSYTHE = Choice(
    test="paired_brown_forsythe",
    label="Brown-Forsythe test within pairs",
    reason="of the paired tests of spread it is the one that keeps its level with heavy tails",
)


def choose_location(a: ArrayLike, b: ArrayLike, pairs: int) -> Choice:
    """Choose the test of the means.

    Parameters
    ----------
    pairs : int
        Runs that have a partner on the other side with which they share draws; 0 where pairing is not real.

    Examples
    --------
    >>> eight, thirty = np.arange(8), np.arange(30)
    >>> [choose_location(*each).test for each in [(eight, eight, 0), (eight, eight, 8), (thirty, eight, 8)]]
    ['welch_t', 'paired_t', 'welch_permutation']
    """
    first, second = finite_sample(a), finite_sample(b)
    if pairs >= FEWEST_PAIRS and pairs >= LEAST_PAIRED * max(first.size, second.size):
        return PAIRED
    return WELCH_AND_PERMUTATION if test_of_means(first, second) is welch_permutation else WELCH


def choose_spread(n_a: int, n_b: int, *, paired: bool) -> Choice:
    """Choose the test of the spread, of as many runs as there are, or of paired ones."""
    if paired:
        return PAIRED_BROWN_FORSYTHE
    return BROWN_FORSYTHE_AND_PERMUTATION if is_permuted(n_a, n_b) else BROWN_FORSYTHE


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
    "student_t": Row("Student's t test", student_t),
    "welch_t": Row("Welch's t test", welch_t),
    "mann_whitney_u": Row("Mann-Whitney U", mann_whitney_u, draws=True),
    "brunner_munzel": Row("Brunner-Munzel", brunner_munzel),
    "permutation": Row("permutation of means", permutation, draws=True),
    "brown_forsythe": Row("Brown-Forsythe", brown_forsythe),
    "levene": Row("Levene", levene),
    "f_variance": Row("F of variances", f_variance),
    "bartlett": Row("Bartlett", bartlett),
    "paired_t": Row("paired t test", paired_t, paired=True),
    "wilcoxon": Row("Wilcoxon signed rank", wilcoxon, paired=True),
    "paired_permutation": Row("permutation of pairs", paired_permutation, paired=True, draws=True),
    "paired_brown_forsythe": Row("Brown-Forsythe, in pairs", paired_brown_forsythe, paired=True),
    "pitman_morgan": Row("Pitman-Morgan", pitman_morgan, paired=True),
    "welch_permutation": Row("Welch's t test, permuted too", welch_permutation),
    "brown_forsythe_permutation": Row("Brown-Forsythe, permuted too", brown_forsythe_permutation),
}

#: All effects, which are those of the first side against the second; people are shown those of the second to the first.
EFFECTS = {
    "cohen_d": Row("Cohen's d", cohen_d),
    "hedges_g": Row("Hedges' g", hedges_g),
    "cliff_delta": Row("Cliff's delta", cliff_delta),
    "p_superiority": Row("P(B > A)", p_superiority),
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
    #: SD of the differences within pairs; None where runs are not paired.
    sd_differences: float | None = None
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
    def decides(self) -> Tested:
        """The chosen test of the means."""
        return self.tests[self.location.test]

    @property
    def p(self) -> float | None:
        """Of the chosen test of the means."""
        return self.decides.p


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
    first, second = without_offset(finite_sample(a), finite_sample(b))
    chosen = choose_location(first, second, len(pairs))
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
        sd_differences=float(np.std(compared_a - compared_b, ddof=1)) if paired else None,
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
    first, second = without_offset(finite_sample(a), finite_sample(b))
    choice = choose_location(first, second, len(pairs))
    if choice == PAIRED:
        indices = np.asarray(pairs, dtype=int).reshape(-1, 2)
        first, second = first[indices[:, 0]], second[indices[:, 1]]
    tested: Tested = TESTS[choice.test].function(first, second)
    return tested


def _effects(a: ArrayLike, b: ArrayLike, level: float, *, paired: bool) -> dict[str, Effect]:
    return {name: row.function(a, b, level) for name, row in EFFECTS.items() if row.paired == paired}


# Verdicts from adjusted p-values: one word, never more than the runs support.

Verdict = Literal[
    "a better", "b better", "differs", "no difference shown", "equivalent", "too few runs", "not compared"
]

NoisierVerdict = Literal["a noisier", "b noisier", "no difference shown", "too few runs"]


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one metric, and whether a difference was shown at all."""

    verdict: Verdict
    #: The means differ, whichever is better; None where nothing could be tested.
    differs: bool | None


def judge(
    *,
    n_a: int,
    n_b: int,
    alpha: float,
    p_adjusted: float | None,
    difference: float | None,
    direction: Direction | None,
    equivalence_p: float | None = None,
) -> Judged:
    """Turn what was tested into a verdict.

    ``too few runs`` below `fewest_runs`; ``not compared`` where no test could be made although the sides differ.
    ``equivalent`` goes before a difference: a margin says that smaller differences do not matter. ``differs`` where a
    difference is shown and the direction is unknown, so that neither side is called better.

    Parameters
    ----------
    p_adjusted : float or None
        Of the chosen test, adjusted for the number of tests; None where no test could be made.
    difference : float or None
        ``mean(a) - mean(b)``.
    equivalence_p : float or None, optional
        Of the two one-sided tests, adjusted, where the user gave a margin.

    Examples
    --------
    >>> judge(n_a=8, n_b=8, alpha=0.05, p_adjusted=0.01, difference=-0.5, direction="higher").verdict
    'b better'
    >>> judge(n_a=3, n_b=3, alpha=0.05, p_adjusted=0.0001, difference=-0.5, direction="higher").verdict
    'too few runs'
    """
    if min(n_a, n_b) < fewest_runs(alpha):
        return Judged(verdict="too few runs", differs=None)
    if difference is None:
        return Judged(verdict="not compared", differs=None)
    if p_adjusted is None:
        # All runs gave the same value, or each side repeats one value of its own: more runs change nothing.
        return Judged(verdict="not compared" if difference else "no difference shown", differs=None)
    differs = p_adjusted <= alpha
    if equivalence_p is not None and equivalence_p <= alpha:
        return Judged(verdict="equivalent", differs=differs)
    if not differs or difference == 0:
        return Judged(verdict="no difference shown", differs=differs)
    if direction is None:
        return Judged(verdict="differs", differs=True)
    a_higher = difference > 0
    return Judged(verdict="a better" if a_higher == (direction == "higher") else "b better", differs=True)


def judge_spread(
    *, n_a: int, n_b: int, alpha: float, p_adjusted: float | None, sd_a: float | None, sd_b: float | None
) -> NoisierVerdict:
    """Say which side is noisier, if either is shown to be.

    Parameters
    ----------
    p_adjusted : float or None
        Of the test of spread, adjusted for the number of tests.

    Examples
    --------
    >>> judge_spread(n_a=16, n_b=16, alpha=0.05, p_adjusted=0.01, sd_a=1.0, sd_b=3.0)
    'b noisier'
    """
    if min(n_a, n_b) < fewest_runs(alpha) or p_adjusted is None or sd_a is None or sd_b is None:
        return "too few runs"
    if p_adjusted > alpha or sd_a == sd_b:
        return "no difference shown"
    return "a noisier" if sd_a > sd_b else "b noisier"
