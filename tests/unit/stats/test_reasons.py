"""Why a test, an effect or an interval is not known: the reason is that of the values."""

import numpy as np
import pytest

from deviate.stats.contrast import (
    BROWN_FORSYTHE,
    BROWN_FORSYTHE_AND_PERMUTATION,
    PAIRED,
    PAIRED_BROWN_FORSYTHE,
    WELCH,
    WELCH_AND_PERMUTATION,
)
from deviate.stats.effects import cohen_d, cohen_dz, dominance, mean_difference, p_superiority, sd_ratio
from deviate.stats.failures import weak_by_mad
from deviate.stats.intervals import fixed_width, robust_sd_interval
from deviate.stats.paired_tests import correlation_interval, paired_brown_forsythe, paired_t, pitman_morgan
from deviate.stats.results import outcome
from deviate.stats.spread import spread
from deviate.stats.tests import bartlett, brown_forsythe, kruskal_wallis, levene, welch_anova

A, B = [1.0, 2.0, 4.0, 3.0], [2.0, 3.0, 7.0, 1.0]
SAME = [5.0] * 4
RNG = np.random.default_rng(1)
HUGE = [1e308, -1e308, 1e308]


@pytest.mark.parametrize(
    ("made", "reason"),
    [(lambda: mean_difference([], A), "one of the two has no run with a finite value"),
     (lambda: mean_difference(HUGE[:1], HUGE[1:2]), "larger than a 64-bit float can hold"),
     (lambda: mean_difference(A, [value + 1 for value in A], paired=True).interval,
      "all pairs differ by exactly the same amount"),
     (lambda: brown_forsythe([1.0, 2.0], A), "a test of spread needs three runs or more of each"),
     (lambda: bartlett(SAME, A), "the runs of one of the two gave exactly the same value, so its variance is zero"),
     (lambda: levene([1.0, 3.0] * 2, [2.0, 4.0] * 2), "the distances from the centre are all equal in each"),
     (lambda: dominance([1.0], A, RNG), "almost stochastic order needs 5 runs or more of each"),
     (lambda: dominance([*A, 5.0], [*A, 5.0], RNG), "both have the very same values"),
     (lambda: cohen_d([0.0, 1e-3] * 2, [1e6] * 4).interval,
      "the difference is too many SDs large for the noncentral t distribution"),
     (lambda: cohen_dz(A, [value + 1 for value in A]), "the differences within pairs do not vary"),
     (lambda: welch_anova([SAME, A]),
      "the runs of one of them gave exactly the same value, so its weight would be infinite"),
     (lambda: kruskal_wallis([SAME, SAME]), "all runs gave exactly the same value"),
     (lambda: paired_t(A[:1], B[:1]), "a paired test needs two pairs or more"),
     (lambda: paired_t(A, [value + 1 for value in A]),
      "all pairs differ by exactly the same amount, so nothing shows how much differences vary"),
     (lambda: paired_brown_forsythe(A[:2], B[:2]), "a paired test of spread needs three pairs or more"),
     (lambda: paired_brown_forsythe([-1.0, 1.0] * 2, [-2.0, 2.0] * 2),
      "the distances from the medians differ by the same amount in all pairs"),
     (lambda: pitman_morgan(A, A), "the sums or the differences of all pairs are equal"),
     (lambda: correlation_interval(0.5, 3, 0.95), "it takes four pairs or more that do not lie on a line"),
     (lambda: outcome(float("inf"), 0.5), "the statistic is not finite for these values"),
     (lambda: sd_ratio(SAME, A),
      "the runs of one of the two gave exactly the same value, so the ratio is zero or infinite"),
     (lambda: p_superiority([1.0], A), "it needs two runs or more of each"),
     (lambda: robust_sd_interval(A[:3]), "too few runs to allow for heavy tails"),
     (lambda: weak_by_mad([1.0, 2.0]), "the rule needs 5 finite values or more")],
)  # fmt: skip
def test_the_reason_is_that_of_the_values(made, reason):
    assert made().reason == reason


def test_labels_and_reasons_of_the_tests_that_decide():
    assert WELCH.reason == "it does not assume equal SDs"
    unequal = "with unequal numbers of runs or values of two kinds Welch's test errs too often; the larger p counts"
    assert WELCH_AND_PERMUTATION.reason == unequal
    two_kinds = "it keeps its level with heavy tails and where values are of two kinds, and the larger p counts"
    assert BROWN_FORSYTHE_AND_PERMUTATION.reason == two_kinds
    assert PAIRED.reason == "runs are paired, so the differences within pairs are tested"
    assert BROWN_FORSYTHE.reason == "of the tests of spread it is the one that keeps its level with heavy tails"
    assert PAIRED_BROWN_FORSYTHE.reason == (
        "of the paired tests of spread it is the one that keeps its level with heavy tails"
    )


def test_a_spread_without_values_has_none():
    assert spread([]).withheld["mean"] == "no run gave a finite value"
    assert spread([1.0]).withheld["sd"] == "one run has no spread"
    assert fixed_width(A, 0.1, least=5).interval.method == "fixed width, sequential"
