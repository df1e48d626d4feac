"""What must hold whatever the values: exchange of the sides, change of unit, monotony."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from deviate.stats.contrast import contrast, deciding_test
from deviate.stats.effects import (
    cliff_delta,
    cohen_d,
    dominance,
    hedges_g,
    mean_difference,
    p_superiority,
    sd_ratio,
    violation_ratio,
)
from deviate.stats.multiplicity import CORRECTIONS, adjust
from deviate.stats.paired_tests import paired_permutation, paired_t, wilcoxon
from deviate.stats.tests import (
    bartlett,
    brown_forsythe,
    brunner_munzel,
    f_variance,
    levene,
    mann_whitney_u,
    permutation,
    student_t,
    welch_t,
)

VALUES = st.integers(min_value=-400, max_value=400).map(lambda k: k / 8)
SAMPLES = st.lists(VALUES, min_size=3, max_size=6)
LONGER = st.lists(VALUES, min_size=5, max_size=12)
FACTORS = st.sampled_from([0.25, 0.5, 2.0, 1024.0, -1.0, -4.0])
SHIFTS = st.integers(min_value=-64, max_value=64)


def rng():
    return np.random.default_rng(2)


def varied(*samples):
    for sample in samples:
        assume(len(set(sample)) > 2)
    return [np.array(sample) for sample in samples]


ALL = {
    "student_t": student_t,
    "welch_t": welch_t,
    "mann_whitney_u": lambda a, b: mann_whitney_u(a, b, rng()),
    "brunner_munzel": brunner_munzel,
    "permutation": lambda a, b: permutation(a, b, rng()),
    "brown_forsythe": brown_forsythe,
    "levene": levene,
    "f_variance": f_variance,
    "bartlett": bartlett,
}


def all_tests(a, b):
    return {name: test(a, b) for name, test in ALL.items()}


@given(SAMPLES, SAMPLES)
def test_exchanging_the_sides_changes_no_p(a, b):
    a, b = varied(a, b)
    forth, back = all_tests(a, b), all_tests(b, a)
    for name, test in forth.items():
        assert (test.p is None) == (back[name].p is None), name
        if test.p is not None:
            assert test.p == pytest.approx(back[name].p, rel=1e-9, abs=1e-12), name


@given(SAMPLES, SAMPLES)
def test_exchanging_the_sides_mirrors_statistics_and_effects(a, b):
    a, b = varied(a, b)
    assert student_t(a, b).statistic == pytest.approx(-student_t(b, a).statistic)
    u = mann_whitney_u(a, b, rng()).statistic
    assert u == pytest.approx(len(a) * len(b) - mann_whitney_u(b, a, rng()).statistic)
    forth, back = mean_difference(a, b), mean_difference(b, a)
    assert (forth.value, forth.interval.low) == (pytest.approx(-back.value), pytest.approx(-back.interval.high))
    for effect in (cohen_d, hedges_g, cliff_delta):
        forth, back = effect(a, b), effect(b, a)
        assert forth.value == pytest.approx(-back.value)
        if forth.interval.known and back.interval.known:
            assert forth.interval.low == pytest.approx(-back.interval.high, rel=1e-6, abs=1e-6)
    assert p_superiority(a, b).value == pytest.approx(1 - p_superiority(b, a).value)


@given(LONGER, LONGER)
def test_exchanging_the_sides_inverts_the_sd_ratio(a, b):
    a, b = varied(a, b)
    forth, back = sd_ratio(a, b), sd_ratio(b, a)
    assert forth.value == pytest.approx(1 / back.value)
    assert forth.interval.known == back.interval.known
    if forth.interval.known:
        assert forth.interval.low == pytest.approx(1 / back.interval.high, rel=1e-6)
        assert forth.interval.low < forth.value * 1.5
        assert forth.interval.high > forth.value / 1.5


@given(SAMPLES, SAMPLES, FACTORS, SHIFTS)
def test_a_change_of_unit_changes_no_p(a, b, factor, shift):
    """Also a reversal: p-values are two-sided."""
    a, b = varied(a, b)
    before, after = all_tests(a, b), all_tests(factor * a + shift, factor * b + shift)
    for name, test in before.items():
        assert (test.p is None) == (after[name].p is None), name
        if test.p is not None:
            assert test.p == pytest.approx(after[name].p, rel=1e-7, abs=1e-12), name


@given(SAMPLES, SAMPLES, FACTORS, SHIFTS)
def test_a_change_of_unit_scales_the_difference_and_leaves_effects(a, b, factor, shift):
    a, b = varied(a, b)
    moved_a, moved_b = factor * a + shift, factor * b + shift
    assert mean_difference(moved_a, moved_b).value == pytest.approx(factor * mean_difference(a, b).value, abs=1e-9)
    for effect in (cohen_d, cliff_delta):
        assert effect(moved_a, moved_b).value == pytest.approx(np.sign(factor) * effect(a, b).value, abs=1e-9)
    assert sd_ratio(moved_a, moved_b).value == pytest.approx(sd_ratio(a, b).value)


@given(SAMPLES, SAMPLES, st.integers(min_value=1, max_value=80))
def test_raising_one_side_raises_every_effect(a, b, rise):
    a, b = varied(a, b)
    higher = a + rise
    assert mean_difference(higher, b).value == pytest.approx(mean_difference(a, b).value + rise)
    for effect in (cohen_d, cliff_delta, p_superiority):
        before, after = effect(a, b), effect(higher, b)
        assert after.value >= before.value - 1e-12
        if before.interval.known and after.interval.known:
            assert after.interval.low >= before.interval.low - 1e-6


@given(SAMPLES, SAMPLES)
def test_interval_and_test_decide_alike(a, b):
    a, b = varied(a, b)
    p, interval = deciding_test(a, b).p, mean_difference(a, b, 0.95).interval
    # At an end that is zero but for rounding, as where values are equal in both, the two may say other things.
    assume(abs(p - 0.05) > 1e-6 and min(abs(interval.low), abs(interval.high)) > 1e-12)
    assert (p < 0.05) == (interval.low > 0 or interval.high < 0)


@given(SAMPLES, SAMPLES)
def test_a_higher_level_gives_a_wider_interval(a, b):
    a, b = varied(a, b)
    for effect in (mean_difference, cohen_d, hedges_g, cliff_delta, p_superiority, sd_ratio):
        narrow, wide = effect(a, b, 0.8).interval, effect(a, b, 0.99).interval
        if narrow.known and wide.known:
            assert wide.low <= narrow.low + 1e-9
            assert wide.high >= narrow.high - 1e-9


@given(st.lists(st.tuples(VALUES, VALUES), min_size=4, max_size=9), SHIFTS)
def test_paired_tests_look_at_differences_only(pairs, shift):
    a, b = (np.array(side) for side in zip(*pairs, strict=True))
    assume(len(set(a - b)) > 2)
    assume(np.count_nonzero(a - b) > 2)
    common = np.arange(len(a)) * shift
    for test in (paired_t, wilcoxon, lambda x, y: paired_permutation(x, y, rng())):
        assert test(a + common, b + common).p == pytest.approx(test(a, b).p, rel=1e-7)


@given(LONGER, LONGER)
def test_violations_of_the_two_orders_sum_to_one(a, b):
    assume(sorted(a) != sorted(b) or len(a) != len(b))
    forth, back = violation_ratio(np.array([a]), np.array([b]))[0], violation_ratio(np.array([b]), np.array([a]))[0]
    assume(np.isfinite(forth))
    assert forth + back == pytest.approx(1)
    assert dominance(a, b, rng(), resamples=50).epsilon >= forth - 1e-12


@given(st.lists(st.floats(min_value=0, max_value=1) | st.none(), max_size=8), st.sampled_from(CORRECTIONS))
def test_adjusted_p_values_are_no_smaller_and_keep_their_order(ps, correction):
    adjusted = adjust(ps, correction)
    assert [p is None for p in adjusted] == [p is None for p in ps]
    known = [(p, q) for p, q in zip(ps, adjusted, strict=True) if p is not None]
    assert all(q >= p - 1e-15 for p, q in known)
    assert all(q1 <= q2 + 1e-12 for p1, q1 in known for p2, q2 in known if p1 < p2)


@given(st.lists(st.floats(min_value=0, max_value=1), min_size=2, max_size=12))
def test_adjusted_p_values_are_those_of_statsmodels(ps):
    for correction, method in (("holm", "holm"), ("bonferroni", "bonferroni"), ("bh", "fdr_bh")):
        assert adjust(ps, correction) == pytest.approx(multipletests(ps, method=method)[1], abs=1e-15)


def test_the_same_generator_gives_the_same_and_the_global_one_is_untouched():
    a, b = np.random.default_rng(5).normal(size=(2, 12))
    before = np.random.get_state()[1].tolist()
    assert contrast(a, b, rng()) == contrast(a, b, rng())
    assert np.random.get_state()[1].tolist() == before
    assert permutation(a, b, rng()).p != permutation(a, b, np.random.default_rng(3)).p


def test_drawn_arrangements_agree_with_all_of_them():
    """12 against 12: 2.7 million arrangements, of which 9,999 are drawn; the t test has almost their answer."""
    a, b = np.random.default_rng(6).normal(size=(2, 12))
    test = permutation(a + 0.8, b, rng())
    assert "random" in test.method
    assert test.p == pytest.approx(student_t(a + 0.8, b).p, abs=0.02)
    assert test.p >= 2 / 10_000


def test_brunner_munzel_is_unknown_where_the_sides_do_not_overlap():
    assert brunner_munzel([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]).p is None


@pytest.mark.parametrize("offset", [2.0**53, -(2.0**60)])
def test_large_values_are_compared_by_what_they_differ_in(offset):
    # Multiples of the distance between floats there, so that adding the offset rounds nothing.
    step = np.spacing(abs(offset))
    a, b = step * np.array([0.0, 1, 3, 4, 5, 7]), step * np.array([1.0, 2, 2, 6, 7, 9])
    large, small = (
        contrast(first, second, np.random.default_rng(1)) for first, second in ((a + offset, b + offset), (a, b))
    )
    assert large.difference.value == pytest.approx(small.difference.value, rel=1e-12)
    assert large.p == pytest.approx(small.p, rel=1e-12)
