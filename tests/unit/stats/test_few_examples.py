"""Accuracies on groups of few examples against a limit."""

import math

import numpy as np
import pytest
from scipy import stats

from deviate.stats.gates import FEW_ERRORS, few_errors_p, noninferiority, share_noninferiority
from deviate.stats.tests import is_permuted

#: Five runs that are all right on five examples, and the accuracies of ten less 2 points.
RIGHT, LIMIT = [1.0] * 5, [0.78] * 2 + [0.98] * 8


def cautious(a, limit, examples, baseline=None, **more):
    """Test `a` against a limit that is the other side itself, unless it has a mean of its own."""
    baseline = float(np.mean(limit)) if baseline is None else baseline
    rng = np.random.default_rng(0)
    return share_noninferiority(a, limit, 0.05, examples=examples, baseline=baseline, rng=rng, **more)


def test_runs_that_are_all_right_on_few_examples_do_not_show_that_they_never_vary():
    assert noninferiority(RIGHT, LIMIT, "higher", 0.05).p_not_worse < 0.05
    test = cautious(RIGHT, LIMIT, 5)
    assert test.p_not_worse > 0.05
    assert test.location.test == "welch_permutation"
    sds = [math.sqrt(5) / 6 / 5, np.std(LIMIT, ddof=1)]
    floored = stats.ttest_ind_from_stats(1.0, sds[0], 5, np.mean(LIMIT), sds[1], 10, equal_var=False)
    assert floored.pvalue / 2 < test.p_not_worse == pytest.approx(np.mean(LIMIT) ** 25)
    assert test.room.value == pytest.approx(1.0 - np.mean(LIMIT))
    assert test.room.interval.low < 0 < noninferiority(RIGHT, LIMIT, "higher", 0.05).room.interval.low


def test_on_many_examples_the_floor_changes_nothing():
    rng = np.random.default_rng(3)
    a, limit = rng.normal(0.9, 0.01, 5), rng.normal(0.88, 0.01, 5)
    plain, test = noninferiority(a, limit, "higher", 0.05), cautious(a, limit, 100_000)
    assert test.p_worse == pytest.approx(plain.p_worse, rel=1e-9)
    assert test.location == plain.location


def test_the_greater_p_of_both_tests_decides():
    a, limit = [0.2, 0.2, 0.2, 0.2, 0.4], [0.6] * 7 + [0.8] * 3
    test = cautious(a, limit, 5)
    assert test.p_worse == pytest.approx(1 / math.comb(15, 5))  # no arrangement is as extreme
    assert stats.ttest_ind(a, limit, equal_var=False).pvalue / 2 < test.p_worse


@pytest.mark.parametrize(("runs", "permuted"), [((5, 5), False), ((8, 8), True), ((5, 6), True)])
def test_few_equal_numbers_of_runs_are_not_permuted(runs, permuted):
    assert is_permuted(*runs) is permuted


def test_what_never_varies_and_what_is_paired_stays_as_it_is():
    assert cautious([1.0] * 5, [0.98] * 8, 5).p_worse is None
    a, limit = [0.8, 0.6, 1.0, 0.8, 0.6], [0.8, 0.4, 0.8, 0.8, 0.6]
    pairs = [(run, run) for run in range(5)]
    assert cautious(a, limit, 5, pairs=pairs) == noninferiority(a, limit, "higher", 0.05, pairs=pairs)


def test_few_errors_are_held_against_their_binomial_probability():
    """12 errors in 5 runs on 100 examples, where 4 % are allowed, against SciPy's exact test."""
    accuracies = np.array([0.97, 0.98, 0.97, 0.98, 0.98])
    expected = stats.binomtest(12, 500, 0.04, alternative="less").pvalue
    assert few_errors_p(accuracies, 100, 0.96) == pytest.approx(expected)
    limit = [0.955, 0.965, 0.96, 0.96, 0.96]
    test = cautious(accuracies, limit, 100)
    assert test.p_not_worse == pytest.approx(expected)
    assert noninferiority(accuracies, limit, "higher", 0.05).p_not_worse < 0.001


def test_where_many_errors_or_right_answers_are_expected_the_binomial_is_not_asked():
    accuracies = np.full(5, 0.5)
    for limit in (0.75, 0.25):
        assert few_errors_p(accuracies, FEW_ERRORS * 4 // 5, limit) == 0
        assert few_errors_p(accuracies, FEW_ERRORS * 4 // 5 - 2, limit) > 0


def test_more_errors_make_independent_errors_vary_less_than_the_binomial():
    """Hoeffding's theorem, for 20 examples of which half are hard: the exact distribution of their errors."""
    rates = np.array([0.02, 0.3] * 10)
    exact = np.ones(1)
    for rate in np.tile(rates, 5):
        exact = np.convolve(exact, [1 - rate, rate])
    for errors in range(round(100 * rates.mean()) - 1):
        assert exact[: errors + 1].sum() <= few_errors_p(np.full(5, 1 - errors / 100), 20, 1 - rates.mean())


def test_a_side_at_the_limit_is_taken_to_vary_as_its_errors_make_it():
    """Runs that differ in their logits: SDs of 1 point about 99 % are 2.94 points about 97 %, but for chance."""
    b = np.array([0.98, 0.985, 0.99, 0.995, 1.0])
    a, limit, examples = np.array([0.981, 0.982, 0.983, 0.984, 0.985]), b - 0.02, 100_000
    plain, test = noninferiority(a, limit, "higher", 0.05), cautious(a, limit, examples, baseline=b.mean())
    chance = 0.99 * 0.01 / examples
    sd = math.sqrt(chance + (b.var(ddof=1) - chance) * (0.97 * 0.03 / (0.99 * 0.01)) ** 2)
    wider = stats.ttest_ind_from_stats(a.mean(), sd, 5, limit.mean(), b.std(ddof=1), 5, equal_var=False)
    assert test.p_not_worse == pytest.approx(wider.pvalue / 2)
    assert test.p_not_worse > 0.05 > plain.p_not_worse
    assert test.p_worse == pytest.approx(plain.p_worse)
