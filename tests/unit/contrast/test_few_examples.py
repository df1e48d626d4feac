"""Accuracies on groups of few examples against a limit."""

import math

import numpy as np
import pytest
from scipy import stats

from deviate.contrast.few_examples import is_permuted, share_noninferiority
from deviate.contrast.noninferiority import noninferiority

#: Five runs that are all right on five examples, and the accuracies of ten less 2 points.
RIGHT, LIMIT = [1.0] * 5, [0.78] * 2 + [0.98] * 8


def cautious(a, limit, examples, **more):
    return share_noninferiority(a, limit, 0.05, examples=examples, rng=np.random.default_rng(0), **more)


def test_runs_that_are_all_right_on_few_examples_do_not_show_that_they_never_vary():
    assert noninferiority(RIGHT, LIMIT, "higher", 0.05).p_not_worse < 0.05
    test = cautious(RIGHT, LIMIT, 5)
    assert test.p_not_worse > 0.05
    assert test.location.test == "welch_t and permutation"
    sds = [math.sqrt(5) / 6 / 5, np.std(LIMIT, ddof=1)]
    floored = stats.ttest_ind_from_stats(1.0, sds[0], 5, np.mean(LIMIT), sds[1], 10, equal_var=False)
    assert test.p_not_worse == pytest.approx(floored.pvalue / 2)
    assert test.room.value == pytest.approx(1.0 - np.mean(LIMIT))
    assert test.room.interval.low < 0 < noninferiority(RIGHT, LIMIT, "higher", 0.05).room.interval.low


def test_on_many_examples_the_floor_changes_nothing():
    rng = np.random.default_rng(3)
    a, limit = rng.normal(0.9, 0.01, 5), rng.normal(0.88, 0.01, 5)
    plain, test = noninferiority(a, limit, "higher", 0.05), cautious(a, limit, 100_000)
    assert (test.p_not_worse, test.p_worse) == pytest.approx((plain.p_not_worse, plain.p_worse), rel=1e-9)
    assert test.location == plain.location


def test_the_greater_p_of_both_tests_decides():
    a, limit = [0.2, 0.2, 0.2, 0.2, 0.4], [0.6] * 7 + [0.8] * 3
    test = cautious(a, limit, 5)
    assert test.p_worse == pytest.approx(1 / math.comb(15, 5))  # no arrangement is as extreme
    assert noninferiority(a, limit, "higher", 0.05).p_worse < test.p_worse


@pytest.mark.parametrize(("runs", "permuted"), [((5, 5), False), ((8, 8), True), ((5, 6), True)])
def test_few_equal_numbers_of_runs_are_not_permuted(runs, permuted):
    assert is_permuted(*runs) is permuted


def test_what_never_varies_and_what_is_paired_stays_as_it_is():
    assert cautious([1.0] * 5, [0.98] * 8, 5).p_worse is None
    a, limit = [0.8, 0.6, 1.0, 0.8, 0.6], [0.8, 0.4, 0.8, 0.8, 0.6]
    pairs = [(run, run) for run in range(5)]
    assert cautious(a, limit, 5, pairs=pairs) == noninferiority(a, limit, "higher", 0.05, pairs=pairs)
