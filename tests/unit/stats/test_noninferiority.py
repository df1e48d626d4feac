"""One-sided tests against a limit: statsmodels and SciPy as references, and what becomes of them."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from deviate.stats.gates import drop_seen, judge_gate, moved, noninferiority, runs_to_decide

RNG = np.random.default_rng(6)
A, B = RNG.normal(90, 1.0, 9), RNG.normal(90.2, 2.0, 8)
PAIRED_B = A + RNG.normal(0.1, 0.3, 9)
ALL = [(k, k) for k in range(9)]


@pytest.mark.parametrize("drop", [0.0, 0.5, 3.0])
def test_welch_s_p_is_that_of_statsmodels(drop):
    test = noninferiority(A, moved(B, drop, "higher", relative=False), "higher", 0.05)
    _, (_, p_not_worse, _), _ = ttost_ind(A, B, -drop, 10.0, usevar="unequal")
    assert test.p_not_worse == pytest.approx(p_not_worse)
    assert test.p_worse == pytest.approx(1 - p_not_worse)
    assert not test.paired


def test_the_paired_p_is_that_of_statsmodels():
    test = noninferiority(A, moved(PAIRED_B, 0.2, "higher", relative=False), "higher", 0.05, pairs=ALL)
    _, (_, p_not_worse, _), _ = ttost_paired(A, PAIRED_B, -0.2, 10.0)
    assert test.paired
    assert test.p_not_worse == pytest.approx(p_not_worse)


def test_the_ends_of_the_interval_are_one_sided_bounds():
    limit = moved(B, 0.5, "higher", relative=False)
    for alpha in (0.05, 0.2):
        test = noninferiority(A, limit, "higher", alpha)
        bound = stats.ttest_ind(A, limit, equal_var=False, alternative="greater").confidence_interval(1 - alpha)
        assert test.room.interval.low == pytest.approx(bound.low)
        assert (test.room.interval.low > 0) == (test.p_not_worse < alpha)


def test_a_metric_where_lower_is_better_is_the_mirror_image():
    higher = noninferiority(A, moved(B, 0.5, "higher", relative=False), "higher", 0.05)
    lower = noninferiority(-A, moved(-B, 0.5, "lower", relative=False), "lower", 0.05)
    assert lower.p_not_worse == pytest.approx(higher.p_not_worse)
    assert lower.room.value == pytest.approx(higher.room.value)
    assert lower.room.interval.low == pytest.approx(higher.room.interval.low)


@pytest.mark.parametrize(
    ("values", "direction", "expected"),
    [
        ([10.0, 20.0], "higher", [9.0, 18.0]),
        ([10.0], "lower", [11.0]),
        ([-10.0], "higher", [-11.0]),
        ([-10.0], "lower", [-9.0]),
    ],
)
def test_a_share_moves_the_limit_to_the_bad_side(values, direction, expected):
    assert moved(values, 0.1, direction, relative=True).tolist() == pytest.approx(expected)


def test_a_share_of_values_of_both_signs_is_refused():
    with pytest.raises(ValueError, match="both signs"):
        moved([-1.0, 1.0], 0.1, "higher", relative=True)


def outcome(a, b, drop, **changes):
    test = noninferiority(a, moved(b, drop, "higher", relative=False), "higher", 0.05)
    options = {"alpha": 0.05, "p_worse_adjusted": test.p_worse, "allowed": drop > 0} | changes
    return judge_gate(test, **options)


def test_every_outcome():
    near, far = A + RNG.normal(0, 0.1, 9), A + 5
    assert outcome(A, near, 3.0) == "not worse"
    assert outcome(A, far, 0.5) == "worse"
    assert outcome(A, far, 0.0) == "worse"
    assert outcome(A, near, 0.0) == "no drop shown"
    assert outcome(A, near, 0.1) == "inconclusive"
    assert outcome(A[:4], far[:4], 0.5) == "inconclusive"
    assert outcome([1.0] * 6, [2.0] * 6, 0.5) == "inconclusive"


def test_worse_is_said_by_the_adjusted_p():
    assert outcome(A, A + 5, 0.5, p_worse_adjusted=0.06) == "inconclusive"


def test_the_runs_to_decide_do_so_in_four_of_five_cases_over_the_sds_that_are_left_open():
    rng = np.random.default_rng(1)
    a, b = rng.normal(0, 1, 6), rng.normal(0, 1, 6)
    a, b = (a - a.mean()) / a.std(ddof=1), (b - b.mean()) / b.std(ddof=1)
    test = noninferiority(a, b - 0.8, "higher", 0.05)
    n = runs_to_decide(test, 0.05)
    # Ten degrees of freedom measured an SD of 1: that is how far the true one may be from it.
    sds = np.sqrt(10 / rng.chisquare(10, 4000))
    drawn = sds[:, None] * rng.normal(0, 1, (2, 4000, n))
    p = stats.ttest_ind(drawn[0], drawn[1] - 0.8, axis=1, equal_var=False, alternative="greater").pvalue
    assert np.mean(p <= 0.05) == pytest.approx(0.8, abs=0.03)


def test_nothing_tells_the_runs_where_nothing_varies_or_the_mean_is_at_the_limit():
    same = noninferiority([1.0] * 6, [1.0] * 6, "higher", 0.05)
    assert runs_to_decide(same, 0.05) is None
    # Nothing is known of how far runs may lie apart.
    assert drop_seen(same, 0.05) is None
    assert runs_to_decide(noninferiority(A, A, "higher", 0.05), 0.05) is None
