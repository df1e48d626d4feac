"""What putting things together does to the spread, against votes counted in plain Python and pseudovalues by hand."""

import math
import statistics
from collections import Counter

import numpy as np
import pytest
from made_predictions import TARGETS
from scipy import stats

from deviate.stats.churn import churn
from deviate.stats.ensembles import (
    reports_together,
    runs_together,
    sd_ratio_of_pairs,
    snapshots_together,
    vote_ensembles,
)
from deviate.stats.intervals import cautious_sd_interval, sd_factors

RNG = np.random.default_rng(3)
REPORTS = RNG.normal(90, 1, (8, 1)) + RNG.normal(0, 1, (8, 5))


def test_means_of_the_last_reports():
    rows = reports_together(REPORTS)
    assert [row.size for row in rows] == [1, 2, 3, 5]
    for row in rows:
        means = [statistics.fmean(run[-row.size :]) for run in REPORTS.tolist()]
        assert row.mean == pytest.approx(statistics.fmean(means), rel=1e-12)
        assert row.sd == pytest.approx(statistics.stdev(means), rel=1e-9)
        wanted = cautious_sd_interval(means)
        assert (row.ci_sd.low, row.ci_sd.high) == pytest.approx((wanted.low, wanted.high), rel=1e-9)
    assert rows[0].ratio.value == 1


def test_the_ratio_is_that_of_a_jackknife():
    a, b = REPORTS.mean(axis=1).tolist(), REPORTS[:, -1].tolist()
    ratio = sd_ratio_of_pairs(a, b)
    whole = math.log(statistics.stdev(a) / statistics.stdev(b))
    rest = [
        math.log(statistics.stdev(a[:k] + a[k + 1 :]) / statistics.stdev(b[:k] + b[k + 1 :])) for k in range(len(a))
    ]
    pseudo = [len(a) * whole - (len(a) - 1) * each for each in rest]
    t = stats.ttest_1samp(pseudo, 0).confidence_interval(0.95)
    assert ratio.value == pytest.approx(math.exp(whole), rel=1e-9)
    assert (ratio.interval.low, ratio.interval.high) == pytest.approx((math.exp(t.low), math.exp(t.high)), rel=1e-9)


@pytest.mark.parametrize("values", [[1.0, 2.0], [1.0, 1.0, 1.0, 2.0]])
def test_a_ratio_without_an_interval_says_why(values):
    ratio = sd_ratio_of_pairs(values, list(range(len(values))))
    assert ratio.interval.reason
    assert ratio.value == pytest.approx(statistics.stdev(values) / statistics.stdev(range(len(values))), rel=1e-12)


def vote(snapshots):
    """Give the most frequent label, of several the one of the latest snapshot."""
    counts = Counter(snapshots)
    return next(label for label in reversed(snapshots) if counts[label] == max(counts.values()))


def test_snapshots_vote_and_the_latest_decides():
    labels = RNG.integers(0, 3, (4, 30, 6))
    targets = RNG.integers(0, 3, 30)
    rows = snapshots_together(labels, targets)
    assert [row.size for row in rows] == [1, 3, 5]
    for row in rows:
        voted = np.array([[vote(example[-row.size :]) for example in run] for run in labels.tolist()])
        accuracies = (voted == targets).mean(axis=1)
        assert row.mean == pytest.approx(accuracies.mean(), abs=1e-12)
        assert row.sd == pytest.approx(statistics.stdev(accuracies.tolist()), abs=1e-12)
        assert row.churn == churn(voted).mean


def test_ensembles_have_the_interval_of_as_many_as_share_no_run():
    labels = RNG.integers(0, 2, (8, len(TARGETS)))
    ensembles = vote_ensembles(labels, TARGETS, np.random.default_rng(0), sizes=[3])
    [row] = runs_together(ensembles, len(labels), 0.1, 0.95)
    low, high = sd_factors(len(labels) // 3)
    assert (row.ci_sd.low, row.ci_sd.high) == pytest.approx((low * row.sd, high * row.sd), rel=1e-12)
    assert row.ratio.value == pytest.approx(row.sd / 0.1, rel=1e-12)
    assert row.churn.value == ensembles[0].churn
    assert row.churn.interval.reason
