"""Keep, discard or run more: the rule against SciPy and brute force, and what it holds."""

from functools import lru_cache
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from deviate.stats.judging import Judgement, first_to_decide, judge, kept_without_effect, make_rule, tails


@lru_cache
def rule(floor, **options):
    return make_rule(floor, np.random.default_rng(0), **options)


@pytest.mark.parametrize(("floor", "runs"), [(3, 4), (10, 5), (7, 1)])
def test_the_tail_is_that_of_the_exact_test(floor, runs):
    rng = np.random.default_rng(floor)
    a, b = rng.standard_normal(runs), rng.standard_normal(floor)
    exact = stats.mannwhitneyu(a, b, alternative="greater", method="exact")
    assert tails(tuple(range(floor + 1)), runs)[-1][int(exact.statistic)] == pytest.approx(exact.pvalue, abs=1e-12)


@pytest.mark.parametrize(("floor", "runs"), [(4, 3), (3, 5), (6, 1)])
def test_the_tail_of_a_spread_is_that_of_all_orders_of_the_runs(floor, runs):
    tried = rule(floor, most=runs, counted="spread")
    totals = []
    for ours in combinations(range(floor + runs), runs):
        theirs = [place for place in range(floor + runs) if place not in ours]
        totals.append(sum(a < one < b for one in ours for a in theirs for b in theirs))
    assert tails(tried.counts, runs)[-1][:-1].tolist() == pytest.approx(
        [np.mean(np.array(totals) >= total) for total in range(runs * max(tried.counts) + 1)], abs=1e-12
    )


def test_false_keeps_are_those_of_all_orders_of_the_runs():
    # Two tries of two runs against a floor of two: all orders of six runs are equally probable.
    tried = rule(2, tries=2, most=2, alpha=0.45)
    kept = total = 0
    for floor in combinations(range(6), 2):
        rest = [value for value in range(6) if value not in floor]
        for first in combinations(rest, 2):
            second = [value for value in rest if value not in first]
            for one in (first, first[::-1]):
                for two in (second, second[::-1]):
                    total += 1
                    kept += "keep" in {judge(tried, floor, each, "higher").decision for each in (one, two)}
    assert tried.fewest is not None
    assert tried.false_keeps == pytest.approx(kept / total, abs=0.01)


@pytest.mark.parametrize("floor", [2, 3, 5, 10])
def test_fifty_tries_keep_a_change_without_effect_in_five_of_a_hundred_loops(floor):
    tried = rule(floor)
    # Other floors than those that the rule was found with.
    gaps = np.random.default_rng(7).dirichlet(np.ones(floor + 1), 8_000).T
    kept, runs = kept_without_effect(tried, gaps)
    assert 0.035 < np.mean(1 - (1 - kept) ** 50) < 0.056
    assert np.mean(runs) == pytest.approx(tried.null_runs, rel=0.05)


def test_a_floor_of_one_run_keeps_nothing():
    tried = rule(1)
    assert (tried.level, tried.fewest) == (None, None)
    assert judge(tried, [1.0], [5.0], "higher").decision == "discard"


def test_a_change_far_above_the_floor_is_kept_as_early_as_the_rule_has_it():
    tried, floor = rule(10), [float(value) for value in range(10)]
    verdicts = [judge(tried, floor, [100.0] * n, "higher") for n in range(1, 7)]
    assert [each.decision for each in verdicts] == ["run more"] * 4 + ["keep"] * 2
    assert (verdicts[0].fewest_more, verdicts[0].most_more) == (4, 19)
    assert verdicts[5].runs == 5, "runs after the decision count for nothing"
    assert judge(tried, floor, [-1.0] * 5, "lower").decision == "keep"


def test_ties_and_failures_count_against_a_change():
    tried = rule(10)
    assert judge(tried, [1.0] * 10, [1.0], "higher").beaten == 0
    assert judge(tried, [None] * 10, [None], "higher").decision == "discard"
    assert judge(tried, [None, *[1.0] * 9], [0.5], "higher").beaten == 1
    assert judge(tried, [None, *[1.0] * 9], [0.5], "lower").beaten == 10


def test_a_decision_does_not_change_with_further_runs():
    rng, tried = np.random.default_rng(3), rule(5)
    for _ in range(50):
        floor, values = rng.standard_normal(5).tolist(), (1 + rng.standard_normal(20)).tolist()
        verdicts = [judge(tried, floor, values[:n], "higher") for n in range(1, 21)]
        decided = [each for each in verdicts if each.decision != "run more"]
        assert verdicts[-1].decision != "run more"
        assert len(set(decided)) == 1


def test_a_change_without_effect_is_kept_as_rarely_for_its_spread():
    tried = rule(10, counted="spread", alpha=0.025)
    gaps = np.random.default_rng(7).dirichlet(np.ones(11), 8_000).T
    kept, runs = kept_without_effect(tried, gaps)
    assert 0.015 < np.mean(1 - (1 - kept) ** 50) < 0.03
    assert np.mean(runs) == pytest.approx(tried.null_runs, rel=0.05)


def test_runs_in_the_middle_of_the_floor_are_kept_for_their_spread_and_ties_count_against_them():
    tried, floor = rule(10, counted="spread"), [float(value) for value in range(10)]
    for direction in ("higher", "lower"):
        kept = judge(tried, floor, [4.5] * 20, direction)
        assert (kept.decision, kept.beaten, kept.pairs) == ("keep", 25 * kept.runs, 45 * kept.runs)
    assert judge(tried, floor, [4.0], "higher").beaten == 4 * 5
    assert judge(tried, floor, [100.0], "higher").decision == "discard"
    assert judge(tried, [None, *floor[1:]], [None], "higher").beaten == 0
    assert rule(3, counted="spread", alpha=0.025).level is None


def test_of_two_rules_the_first_to_keep_speaks_then_that_which_may():
    def made(decision, runs, more=0):
        return Judgement(decision=decision, runs=runs, beaten=0, pairs=1, p=1.0, fewest_more=more)

    late, early = made("keep", 12), made("keep", 5)
    dropped, last, soon, open_ = made("discard", 1), made("discard", 4), made("run more", 3, 2), made("run more", 3, 9)
    assert first_to_decide([late, early]) is early
    assert first_to_decide([dropped, late]) is late
    assert first_to_decide([open_, soon]) is soon
    assert first_to_decide([dropped, open_]) is open_
    assert first_to_decide([dropped, last]) is last
