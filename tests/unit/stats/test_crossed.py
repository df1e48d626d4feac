"""Runs crossed with examples, against an analysis of variance by statsmodels."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.api import OLS
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar

from deviate.stats.factorial import crossed_difference, mcnemar


def scores(runs, examples, seed):
    rng = np.random.default_rng(seed)
    hard, state = rng.standard_normal(examples), 0.4 * rng.standard_normal((runs, 1))
    return (1 + hard + state + rng.standard_normal((runs, examples)) > 0).astype(float)


def mean_squares(values):
    """Return the mean squares of runs, examples and the rest."""
    run, example = np.indices(values.shape)
    table = pd.DataFrame({"score": values.ravel(), "run": run.ravel(), "example": example.ravel()})
    return anova_lm(ols("score ~ C(run) + C(example)", table).fit())["mean_sq"].to_list()


def half_width(parts, variance):
    return stats.t.ppf(0.975, variance**2 / sum(part**2 / df for part, df in parts)) * math.sqrt(variance)


def test_the_interval_is_that_of_the_mean_squares_of_two_crossed_designs():
    a, b = scores(4, 30, 0), scores(6, 30, 1)
    (runs_a, _, rest_a), (runs_b, _, rest_b) = mean_squares(a), mean_squares(b)
    of_examples = np.var(a.mean(axis=0) - b.mean(axis=0), ddof=1) / 30
    parts = [(runs_a / 120, 3), (runs_b / 180, 5), (of_examples, 29), (rest_a / 120, 3 * 29), (rest_b / 180, 5 * 29)]
    variance = runs_a / 120 + runs_b / 180 + of_examples - rest_a / 120 - rest_b / 180
    found = crossed_difference(a, b)
    assert found.difference.value == pytest.approx(a.mean() - b.mean(), abs=1e-12)
    assert found.se == pytest.approx(math.sqrt(variance), rel=1e-9)
    assert found.se_runs == pytest.approx(math.sqrt(runs_a / 120 + runs_b / 180), rel=1e-9)
    assert found.difference.interval.high - found.difference.value == pytest.approx(
        half_width(parts, variance), rel=1e-9
    )


def test_paired_runs_are_one_design_of_their_differences():
    a, b = scores(5, 30, 2), scores(7, 30, 3)
    pairs = [(0, 3), (1, 1), (4, 6)]
    of_runs, of_examples, rest = (each / 90 for each in mean_squares(a[[0, 1, 4]] - b[[3, 1, 6]]))
    found = crossed_difference(a, b, pairs=pairs)
    assert (found.runs_a, found.runs_b, found.paired) == (3, 3, True)
    variance = max(of_runs + of_examples - rest, of_runs, of_examples)
    assert found.se == pytest.approx(math.sqrt(variance), rel=1e-9)
    parts = [(of_runs, 2), (of_examples, 29), (rest, 58)]
    assert found.difference.interval.high - found.difference.value == pytest.approx(
        half_width(parts, variance), rel=1e-9
    )


def test_the_variance_is_no_less_than_that_of_either_source():
    a = np.tile([1.0, 0.0, 1.0, 0.0], (3, 1))
    a[1, 0], a[2, 2] = 0.0, 0.0
    found = crossed_difference(a, a[::-1])
    assert found.se == pytest.approx(max(found.se_runs, found.se_examples))


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        (scores(1, 9, 0), scores(4, 9, 1), "an interval for other runs needs two runs or more of each"),
        (np.ones((3, 9)), np.ones((3, 9)), "the difference is the same in all runs and on all examples"),
    ],
)
def test_without_spread_or_runs_there_is_no_interval(a, b, reason):
    found = crossed_difference(a, b)
    assert (found.se, found.difference.interval.reason) == (None, reason)
    assert found.difference.value == pytest.approx(a.mean() - b.mean())


def test_mcnemar_is_exact():
    a, b = scores(2, 60, 5)
    counts = [[int(((a == x) & (b == y)).sum()) for y in (1, 0)] for x in (1, 0)]
    assert mcnemar(a, b).p == pytest.approx(reference_mcnemar(counts, exact=True).pvalue, rel=1e-9)
    assert mcnemar(a, a).reason == "the two are right on the same examples"


def test_clusters_are_drawn_as_wholes():
    """The error from examples alone is that of statsmodels' `OLS(d, 1).fit(cov_type="cluster")`."""
    a, b, clusters = scores(4, 60, 0), scores(5, 60, 1), np.random.default_rng(2).integers(0, 12, 60)
    found = crossed_difference(a, b, clusters=clusters)
    difference = a.mean(axis=0) - b.mean(axis=0)
    fitted = OLS(difference, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    assert found.se_examples == pytest.approx(fitted.bse[0], rel=1e-9)
    assert found.difference.value == pytest.approx(difference.mean(), rel=1e-9)
    assert found.clusters == len(set(clusters))
    alone = crossed_difference(a, b, clusters=np.arange(60))
    assert (alone.se, alone.df) == pytest.approx((crossed_difference(a, b).se, crossed_difference(a, b).df), rel=1e-9)


def test_an_interval_over_clusters_covers_where_one_over_examples_does_not():
    rng, held = np.random.default_rng(5), {True: 0, False: 0}
    clusters = np.repeat(np.arange(40), 5)
    for _ in range(300):
        shared = np.repeat(rng.standard_normal(40), 5)
        a = shared + 0.3 * rng.standard_normal((5, 1)) + rng.standard_normal((5, 200))
        b = 0.3 * rng.standard_normal((5, 1)) + rng.standard_normal((5, 200))
        for given in held:
            interval = crossed_difference(a, b, clusters=clusters if given else None).difference.interval
            held[given] += interval.low < 0 < interval.high
    assert held[True] >= 0.93 * 300 > held[False]
