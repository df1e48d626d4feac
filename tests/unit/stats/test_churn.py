"""Churn within one set of runs, against loops over pairs and by property."""

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from made_predictions import LABELS
from scipy import stats

from deviate.stats.churn import churn, class_churn, excess_churn
from deviate.stats.pairs import (
    METHOD,
    METHOD_FEWER,
    jackknife_interval,
    pair_estimate,
    pair_mean,
    pair_variance,
    share_interval,
    within_group,
)

TABLES = arrays.arrays(np.int64, st.tuples(st.integers(2, 7), st.integers(1, 15)), elements=st.integers(-2, 2))


def mean_over_pairs(labels, measure):
    """Give the mean over pairs of runs, in plain Python."""
    return math.fsum(measure(a, b) for a, b in combinations(labels.tolist(), 2)) / math.comb(len(labels), 2)


def share_different(a, b):
    return sum(x != y for x, y in zip(a, b, strict=True)) / len(a)


@given(TABLES)
def test_it_is_the_mean_over_pairs_of_the_share_of_different_labels(labels):
    measured = churn(labels)
    assert measured.mean.value == pytest.approx(mean_over_pairs(labels, share_different), abs=1e-12)
    assert (measured.runs, measured.examples) == labels.shape
    assert (measured.matrix == measured.matrix.T).all()
    assert (np.diag(measured.matrix) == 0).all()


def test_it_is_one_minus_the_accuracy_of_one_run_against_another():
    """Reference: scikit-learn's accuracy_score with one run as the truth."""
    metrics = pytest.importorskip("sklearn.metrics")
    expected = [[1 - metrics.accuracy_score(a, b) for b in LABELS] for a in LABELS]
    assert churn(LABELS).matrix == pytest.approx(np.array(expected), abs=1e-12)


@given(TABLES, st.randoms(use_true_random=False), st.sampled_from([-1, 1]), st.integers(-(10**9), 10**9))
def test_neither_the_order_of_runs_and_examples_nor_the_names_of_labels_matter(labels, random, sign, shift):
    runs = random.sample(range(labels.shape[0]), labels.shape[0])
    examples = random.sample(range(labels.shape[1]), labels.shape[1])
    before, after = churn(labels), churn((sign * labels + shift)[runs][:, examples])
    assert after.matrix.tolist() == before.matrix[np.ix_(runs, runs)].tolist()
    assert after.mean.value == pytest.approx(before.mean.value, abs=1e-12)
    assert after.mean.interval.known == before.mean.interval.known
    if before.mean.interval.known:
        assert after.mean.interval.low == pytest.approx(before.mean.interval.low, abs=1e-9)


def test_where_shares_differ_just_as_binomial_ones_do_no_order_of_runs_changes_the_interval():
    labels = np.array([[0, 0, 1, -1, 1], [1, -1, 0, 0, 2], [-1, -1, -1, -1, -1], [2, 0, -1, -1, 0]])
    estimates = [churn(labels[list(runs)]).mean for runs in permutations(range(4))]
    assert {each.interval.method for each in estimates} == {METHOD}


@given(TABLES)
def test_the_interval_holds_the_mean_and_lies_within_0_and_1(labels):
    mean = churn(labels).mean
    if mean.interval.known:
        assert 0 <= mean.interval.low <= mean.value <= mean.interval.high <= 1
    else:
        assert mean.interval.reason


def pseudo_values(labels):
    """Give Tukey's, made by leaving runs out of the data."""
    whole = churn(labels).mean.value
    return np.array(
        [len(labels) * whole - (len(labels) - 1) * churn(np.delete(labels, r, axis=0)).mean.value
         for r in range(len(labels))]
    )  # fmt: skip


@pytest.mark.parametrize("examples", [1, 40])
def test_the_interval_is_halls_of_the_pseudo_values(examples):
    """The ends solve Hall's cubic for the quantiles of t; the more examples, the less the pairs differ by chance."""
    labels = np.tile(np.random.default_rng(3).integers(0, 3, (6, 20)), examples)
    values, mean = pseudo_values(labels), churn(labels).mean
    skewness = stats.skew(values) / math.sqrt(6)
    between = np.var([share_different(a, b) for a, b in combinations(labels, 2)], ddof=1)
    as_wholes = between > mean.value * (1 - mean.value) / labels.shape[1]
    assert as_wholes == (examples == 40)
    quantile = stats.t.ppf(0.975, 2.5 if as_wholes else 5)
    for end, wanted in ((mean.interval.low, quantile), (mean.interval.high, -quantile)):
        t = (mean.value - end) / stats.sem(values)
        cubic = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
        assert cubic == pytest.approx(wanted, abs=1e-9)
    assert mean.interval.method.startswith("jackknife over runs")
    assert ("runs differ as wholes" in mean.interval.method) == as_wholes


def test_without_skewness_the_interval_is_students():
    left_out = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    of_share = share_interval(0.3, left_out, by_chance=True)
    of_t = jackknife_interval(0.3, left_out, bounds=(0.0, 1.0))
    assert (of_share.low, of_share.high) == pytest.approx((of_t.low, of_t.high), abs=1e-9)


def test_a_run_unlike_the_others_makes_the_upper_part_of_the_interval_the_longer_one():
    labels = np.zeros((6, 100), int)
    labels[:5, :10] = np.random.default_rng(1).integers(0, 2, (5, 10))
    labels[5, 50:90] = 1
    mean = churn(labels).mean
    assert mean.interval.high - mean.value > mean.value - mean.interval.low


def test_a_mean_of_single_runs_has_students_interval():
    """The jackknife of a mean is the t interval."""
    values = np.array([3.0, 5.0, 4.0, 8.0])
    left_out = (values.sum() - values) / 3
    interval = jackknife_interval(5.0, left_out)
    expected = stats.t.interval(0.95, 3, loc=5, scale=stats.sem(values))
    assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-12)


def test_two_groups_of_runs_have_welchs_interval():
    a, b = np.array([3.0, 5.0, 4.0, 8.0]), np.array([1.0, 1.5, 7.0])
    lefts = (a.sum() - a) / 3 - b.mean(), a.mean() - (b.sum() - b) / 2
    interval = jackknife_interval(a.mean() - b.mean(), *lefts, level=0.9)
    expected = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.9)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_one_run_has_no_churn():
    measured = churn([[0, 1]])
    assert (measured.mean.value, measured.mean.reason) == (None, "a pair needs two runs")
    assert measured.matrix.tolist() == [[0.0]]


def test_two_runs_have_a_churn_without_an_interval():
    mean = churn([[0, 1], [0, 2]]).mean
    assert (mean.value, mean.reason, mean.interval.low) == (0.5, "", None)
    assert mean.interval.reason == "an interval over pairs needs three runs or more"


def test_runs_with_equal_labels_have_no_interval_of_width_zero():
    mean = churn([[0, 1]] * 5).mean
    assert mean.value == 0
    assert mean.interval.reason == "leaving out any run changes nothing"


def test_pairs_without_a_value_are_left_out():
    matrix = np.array([[0, 0.2, np.nan], [0.2, 0, np.nan], [np.nan, np.nan, 0]])
    estimate = pair_estimate(matrix)
    assert (estimate.value, estimate.interval.known) == (0.2, False)
    assert pair_estimate(np.full((3, 3), np.nan)).reason == "no pair of runs has a value"


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_is_a_share(level):
    with pytest.raises(ValueError, match="between 0 and 1"):
        churn(LABELS, level)


@given(TABLES, st.data())
def test_class_churn_is_the_churn_of_the_examples_of_the_class(labels, data):
    targets = data.draw(arrays.arrays(np.int64, labels.shape[1], elements=st.integers(5, 8)))
    measured = class_churn(labels, targets)
    assert [part.label for part in measured] == sorted(set(targets.tolist()))
    for part in measured:
        alone = churn(labels[:, targets == part.label])
        assert part.examples == alone.examples
        assert part.mean.value == pytest.approx(alone.mean.value, abs=1e-12)
        assert part.mean.interval.known == alone.mean.interval.known
        if alone.mean.interval.known:
            assert part.mean.interval.high == pytest.approx(alone.mean.interval.high, abs=1e-9)


def test_class_churn_of_one_run_and_one_class():
    [only] = class_churn([[3, 3]], [4, 4])
    assert (only.label, only.examples, only.mean.value) == (4, 2, None)


@given(TABLES, st.data())
def test_churn_in_parts(labels, data):
    targets = data.draw(arrays.arrays(np.int64, labels.shape[1], elements=st.integers(-2, 2)))

    def forced(a, b):
        return abs(
            sum(x == t for x, t in zip(a, targets, strict=True)) - sum(map(int.__eq__, b, targets.tolist()))
        ) / len(a)

    def one_right(a, b):
        return sum((x == t) != (y == t) for x, y, t in zip(a, b, targets, strict=True)) / len(a)

    parts, whole = excess_churn(labels, targets), churn(labels).mean.value
    assert parts.forced.value == pytest.approx(mean_over_pairs(labels, forced), abs=1e-12)
    assert parts.one_right.value == pytest.approx(mean_over_pairs(labels, one_right), abs=1e-12)
    assert parts.one_right.value + parts.both_wrong.value == pytest.approx(whole, abs=1e-12)
    assert parts.forced.value + parts.beyond.value == pytest.approx(whole, abs=1e-12)
    assert parts.beyond.value >= -1e-12


def test_with_two_classes_both_wrong_is_the_same_label():
    parts = excess_churn(np.array([[0, 1, 1, 0], [1, 1, 0, 1], [0, 0, 0, 1]]), [0, 1, 1, 1])
    assert parts.both_wrong.value == 0


def test_the_least_churn_of_two_accuracies_is_reached():
    parts = excess_churn([[0, 0, 0, 0], [0, 0, 1, 1]], [0, 0, 0, 0])
    assert (parts.forced.value, parts.beyond.value) == (0.5, 0)


def test_what_the_accuracies_force_has_halls_interval_and_the_rest_that_of_pairs_too():
    """Of three good and three bad runs, pairs differ beyond the accuracies by more than chance."""
    rng = np.random.default_rng(0)
    labels = (rng.random((6, 400)) < np.repeat([0.1, 0.5], 3)[:, None]).astype(int)
    parts, accuracies = excess_churn(labels, np.zeros(400, int)), (labels == 0).mean(axis=1)
    forced = np.abs(np.subtract.outer(accuracies, accuracies))
    assert parts.forced.interval == share_interval(*pair_mean(forced), by_chance=True)
    assert parts.forced.interval.low > jackknife_interval(*pair_mean(forced)).low
    beyond = np.array([[share_different(a, b) for b in labels] for a in labels]) - forced
    upper = beyond[np.triu_indices(6, 1)]
    assert upper.var(ddof=1) > upper.mean() * (1 - upper.mean()) / 400
    expected = share_interval(*pair_mean(beyond), by_chance=False, as_wholes=METHOD_FEWER, second=within_group(beyond))
    assert parts.beyond.interval.method == METHOD_FEWER
    assert (parts.beyond.interval.low, parts.beyond.interval.high) == pytest.approx((expected.low, expected.high))
    plain = share_interval(*pair_mean(beyond), by_chance=False, as_wholes=METHOD_FEWER)
    assert parts.beyond.interval.high != pytest.approx(plain.high, abs=1e-4)


@pytest.mark.parametrize("runs", [9, 31, 101])
def test_two_clusters_of_nearly_equal_size_leave_churn_unknown_by_as_much_as_pairs_do(runs):
    """Churn is as large as it can be, so that no run by itself changes it: the jackknife alone sees no error."""
    labels = np.repeat(np.arange(runs)[:, None] % 2, 4, axis=1)
    interval = churn(labels).mean.interval
    assert interval.low < 0.5 < interval.high
    table = churn(labels).matrix
    pairs = pair_variance(table.sum(axis=1), float((table**2).sum()) / 2)
    assert pairs == pytest.approx(within_group(table).variance)
    assert (interval.high - interval.low) / 2 > 1.9 * math.sqrt(pairs)
