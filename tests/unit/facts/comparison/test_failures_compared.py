"""Runs that failed or collapsed, as an outcome of a comparison."""

import numpy as np
from compared_sides import side, side_metric

from deviate.facts.comparison import compare_sides
from deviate.facts.comparison_options import ComparisonOptions
from deviate.report.topics.comparison_answer import comparison_headline
from deviate.report.topics.reasons import reasons

RNG = np.random.default_rng(3)


def compare(a, b, excluded=0):
    sides = [side("a", [side_metric("acc", a, excluded=excluded)]), side("b", [side_metric("acc", b)])]
    return compare_sides(sides, ComparisonOptions())


def test_the_side_that_fails_more_often_is_named_first_of_all():
    usual = 97 + 0.3 * RNG.standard_normal(12)
    comparison = compare(usual[:6], usual, excluded=6)
    (metric,) = comparison.pairs[0].metrics
    assert (metric.failures.failed_a, metric.failures.runs_a, metric.failures.failed_b) == (6, 12, 0)
    assert "a fails more often: 6 of 12 runs of a and 0 of 12 of b" in comparison_headline(comparison)[1]
    said = " ".join(reasons(metric, comparison.pairs[0], comparison))
    assert "; a run without a value, or left out, is in no mean." in said


def test_collapsed_runs_count_as_failures_and_lucky_ones_do_not():
    usual = 50 + 0.3 * RNG.standard_normal(20)
    comparison = compare([*usual, 10.0, 11.0], usual)
    (collapsed,) = comparison.pairs[0].metrics
    assert "; all are in the means." in " ".join(reasons(collapsed, comparison.pairs[0], comparison))
    lucky = compare([*usual, 90.0, 91.0], usual).pairs[0].metrics[0]
    assert (collapsed.failures.failed_a, lucky.failures.failed_a) == (2, 0)
    assert list(lucky.a.far) == [20, 21]


def test_what_is_no_better_than_a_collapsed_run_of_the_other_side_collapsed_too():
    steps = np.arange(-4, 5)
    near = compare([*(97 + 0.6 * steps), 92.0], [*(97 + 0.1 * steps), 92.5]).pairs[0].metrics[0]
    assert (near.a.collapsed, near.b.collapsed) == ([], [9])
    assert (near.failures.failed_a, near.failures.failed_b) == (1, 1)
    behind = compare(47 + 0.1 * steps, [*(97 + 0.1 * steps), 92.0]).pairs[0].metrics[0]
    assert (behind.failures.failed_a, behind.failures.failed_b) == (0, 1)


def test_where_no_run_failed_nothing_is_said_of_failures():
    usual = 97 + 0.3 * RNG.standard_normal(12)
    comparison = compare(usual, usual + 0.1)
    assert comparison.pairs[0].metrics[0].failures.fisher.p is None
    assert "fail" not in " ".join(comparison_headline(comparison))
