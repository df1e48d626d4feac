"""Tests, effects and intervals against R, statpsych, deepsig and rliable, and against published tables."""

import numpy as np
import pytest
from reference_samples import RATIO_A, RATIO_B, TIED_A, TIED_B, A, B, C

from deviate.stats.effects import (
    bias_factor,
    cliff_delta,
    cohen_d,
    dominance,
    hedges_g,
    mean_difference,
    newcombe_ends,
    p_superiority,
    sd_ratio,
    tost,
    violation_ratio,
)
from deviate.stats.multiplicity import adjust
from deviate.stats.paired_tests import paired_permutation, paired_t, wilcoxon
from deviate.stats.tests import (
    bartlett,
    brown_forsythe,
    brunner_munzel,
    f_variance,
    kruskal_wallis,
    levene,
    mann_whitney_u,
    permutation,
    student_t,
    welch_anova,
    welch_t,
)


def rng():
    return np.random.default_rng(0)


#: What R gives for A and B: statistic and p.
R = {
    "student": (lambda: student_t(A, B), -3.29209916473878, 0.00534566401540997),
    "welch": (lambda: welch_t(A, B), -3.29209916473878, 0.00560114992347571),
    "paired t": (lambda: paired_t(A, B), -4.37578387188545, 0.00325109481931354),
    "Mann-Whitney": (lambda: mann_whitney_u(A, B, rng()), 6.0, 0.00466200466200466),
    "Mann-Whitney, ties": (lambda: mann_whitney_u(TIED_A, TIED_B, rng()), 5.0, 0.150793650793651),
    "Brunner-Munzel": (lambda: brunner_munzel(A, B), 5.30722777603022, 0.000144189808962025),
    "Wilcoxon": (lambda: wilcoxon(A, B), 0.0, 0.0078125),
    "permutation": (lambda: permutation(A, B, rng()), -0.7875, 0.00652680652680653),
    "sign flips": (lambda: paired_permutation(A, B, rng()), -0.7875, 0.0078125),
    "Brown-Forsythe": (lambda: brown_forsythe(A, B), 0.0337552742615996, 0.8568627885158461),
    "Levene": (lambda: levene(A, B), 0.034104750304503, 0.856132652606272),
    "F": (lambda: f_variance(A, B), 1.504029304029302, 0.603534826122513),
    "Bartlett": (lambda: bartlett(A, B), 0.270220245075499, 0.603184068316049),
    "Welch ANOVA": (lambda: welch_anova([A, B, C]), 12.68632622398296, 0.00151135486113075),
    "Kruskal-Wallis": (lambda: kruskal_wallis([A, B, C]), 11.77467532467531, 0.00277435313811744),
}


@pytest.mark.parametrize(("test", "statistic", "p"), R.values(), ids=R)
def test_statistic_and_p_are_those_of_r(test, statistic, p):
    result = test()
    assert result.statistic == pytest.approx(statistic, rel=1e-9)
    assert result.p == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize(
    ("paired", "low", "high"),
    [(False, -1.30250948817828, -0.272490511821704), (True, -1.21305611809203, -0.361943881907962)],
)
def test_interval_of_the_difference_is_that_of_r(paired, low, high):
    effect = mean_difference(A, B, paired=paired)
    assert effect.value == pytest.approx(-0.7875, rel=1e-12)
    assert (effect.interval.low, effect.interval.high) == (pytest.approx(low, rel=1e-9), pytest.approx(high, rel=1e-9))


def test_standardised_differences_are_those_of_r():
    """``pt(t, df, ncp)`` inverted by ``uniroot``, and gamma functions for J."""
    d, g = cohen_d(A, B), hedges_g(A, B)
    assert d.value == pytest.approx(-1.646049582369392, rel=1e-12)
    assert d.interval.low == pytest.approx(-2.776022312999111, rel=1e-9)
    assert d.interval.high == pytest.approx(-0.473767268374162, rel=1e-9)
    assert g.value == pytest.approx(-1.555990472044386, rel=1e-12)
    assert g.interval.low == pytest.approx(0.945287729306810 * -2.776022312999111, rel=1e-9)


@pytest.mark.parametrize(("df", "j"), [(2, 0.5642), (5, 0.8408), (10, 0.9228), (20, 0.9619), (50, 0.9849)])
def test_bias_factor_is_that_of_hedges_table(df, j):
    assert bias_factor(df) == pytest.approx(j, abs=2e-4)


@pytest.mark.parametrize(("margin", "p"), [(0.5, 0.874930753706522), (2.0, 9.67720192597192e-05)])
def test_equivalence_is_that_of_r(margin, p):
    assert (tost(A, B, margin).p if margin == 0.5 else tost(B, A, margin).p) == pytest.approx(p, rel=1e-9)


def test_adjusted_p_values_are_those_of_r():
    ps = [0.01, 0.04, 0.03, 0.005, 0.5]
    assert adjust(ps, "holm") == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.5])
    assert adjust(ps, "bonferroni") == pytest.approx([0.05, 0.2, 0.15, 0.025, 1.0])
    assert adjust(ps, "bh") == pytest.approx([0.025, 0.05, 0.05, 0.025, 0.5])


def test_interval_of_superiority_is_newcombes_solved_in_r():
    effect = p_superiority(A, B)
    assert effect.value == 0.09375
    assert effect.interval.low == pytest.approx(0.0200601554427864, rel=1e-7)
    assert effect.interval.high == pytest.approx(0.3743474477500545, rel=1e-7)
    low, high = newcombe_ends(1.0, 5, 5, 0.95)
    assert (low, high) == (pytest.approx(0.642702823931043, rel=1e-7), 1.0)


def test_probability_of_improvement_is_that_of_rliable():
    """rliable 1.2.0, ``metrics.probability_of_improvement``: ties count half."""
    assert p_superiority(A, B).value == pytest.approx(0.09375)
    assert p_superiority(TIED_A, TIED_B).value == pytest.approx(0.2)
    assert p_superiority(A, [96.2, 97.7, 96.5, 97.1, 96.0]).value == pytest.approx(0.625)
    assert cliff_delta(TIED_A, TIED_B).value == pytest.approx(-0.6)


def test_the_sd_ratio_and_its_interval_go_with_the_units_however_far_apart_these_are():
    one, two = [1.0, 2.0, 4.0, 5.0, 7.0, 8.0], [1.0, 2.0, 2.5, 3.0, 4.0, 4.5]
    plain, far = sd_ratio(one, two), sd_ratio([2.0**650 * x for x in one], [2.0**-150 * x for x in two])
    assert far.value == pytest.approx(plain.value * 2.0**800)
    assert far.interval.low == pytest.approx(plain.interval.low * 2.0**800)
    assert "64-bit float" in sd_ratio([2.0**650 * x for x in one], [2.0**-350 * x for x in two]).reason


def test_interval_of_the_sd_ratio_is_that_of_statpsych():
    """statpsych 1.7 stops its iteration after 10 rounds, within 3e-6 of the solution."""
    effect = sd_ratio(RATIO_A, RATIO_B)
    assert effect.value == pytest.approx(0.8854257, rel=1e-7)
    assert effect.interval.low == pytest.approx(0.486279, rel=3e-6)
    assert effect.interval.high == pytest.approx(1.728396, rel=3e-6)


def test_violation_ratio_is_that_of_deepsig():
    """deepsig 1.2.8 with ``dt=1e-5``: it sums over a grid, and leaves a first point of it out."""
    other = [96.2, 97.7, 96.5, 97.1, 96.0]
    for first, second, expected in (
        (A, B, 0.9999858845977893),
        (B, A, 0.0),
        (A, other, 0.11645450259311746),
        (other, A, 0.8835447430457322),
    ):
        ratio = violation_ratio(np.array([first]), np.array([second]))[0]
        assert ratio == pytest.approx(expected, abs=2e-5)


def test_almost_stochastic_order_is_that_of_deepsig():
    """deepsig 1.2.8, 2,000 resamples with three seeds: 1, 0.0334 and 0.6659 to 0.6660, on its grid of 0.005."""
    other = [96.2, 97.7, 96.5, 97.1, 96.0]
    assert dominance(A, B, rng(), resamples=2000).epsilon == 1.0
    assert dominance(B, A, rng(), resamples=20_000).epsilon == pytest.approx(0.0334, abs=0.01)
    assert dominance(A, other, rng(), resamples=20_000).epsilon == pytest.approx(0.666, abs=0.03)
