"""Rates of classes and groups, against scikit-learn, fairlearn and statsmodels."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from made_predictions import GROUPS, LABELS, TARGETS
from scipy import stats

from deviate.stats.classes import class_rates, group_rates, holm
from deviate.stats.ensembles import example_variance
from deviate.stats.intervals import cautious_sd_interval

#: Values of fairlearn 0.15.0: MetricFrame of accuracy_score (scikit-learn 1.9.1) by group, run after run.
FAIRLEARN_ACCURACY = [
    [0.6666666666666666, 0.7619047619047619, 0.7777777777777778],
    [0.7619047619047619, 0.8571428571428571, 0.7777777777777778],
    [0.8095238095238095, 0.8571428571428571, 0.7777777777777778],
    [0.8095238095238095, 0.9047619047619048, 0.9444444444444444],
]
#: The same of true_positive_rate, precision_score, false_positive_rate and false_negative_rate for class 1 in run 1.
FAIRLEARN_RATES = {
    "recall": [1.0, 0.8333333333333334, 0.8],
    "precision": [0.5, 0.8333333333333334, 0.6666666666666666],
    "fpr": [0.16666666666666666, 0.06666666666666667, 0.15384615384615385],
    "fnr": [0.0, 0.16666666666666666, 0.2],
}

TABLES = arrays.arrays(np.int64, st.tuples(st.integers(2, 5), st.integers(4, 25)), elements=st.integers(0, 3))


def test_groups_have_fairlearns_rates():
    measured = group_rates(LABELS, TARGETS, GROUPS, positive=1)
    accuracies = np.array([subset.rates["accuracy"].values for subset in measured.subsets]).T
    assert accuracies == pytest.approx(np.array(FAIRLEARN_ACCURACY), abs=1e-12)
    for name, expected in FAIRLEARN_RATES.items():
        assert [subset.rates[name].values[1] for subset in measured.subsets] == pytest.approx(expected, abs=1e-12)
    assert [(subset.name, subset.examples) for subset in measured.subsets] == [(0, 21), (1, 21), (2, 18)]


def test_classes_have_scikit_learns_recall_and_precision():
    metrics = pytest.importorskip("sklearn.metrics")
    subsets = class_rates(LABELS, TARGETS).subsets
    for r, labels in enumerate(LABELS):
        precision, recall, _, support = metrics.precision_recall_fscore_support(TARGETS, labels)
        assert [subset.rates["recall"].values[r] for subset in subsets] == pytest.approx(recall, abs=1e-12)
        assert [subset.rates["precision"].values[r] for subset in subsets] == pytest.approx(precision, abs=1e-12)
        assert [subset.examples for subset in subsets] == support.tolist()
        (tn, fp, fn, tp) = metrics.multilabel_confusion_matrix(TARGETS, labels).reshape(4, 4).T
        assert [subset.rates["fpr"].values[r] for subset in subsets] == pytest.approx(fp / (fp + tn), abs=1e-12)
        assert [subset.rates["fnr"].values[r] for subset in subsets] == pytest.approx(fn / (fn + tp), abs=1e-12)


@given(TABLES)
def test_numbers_over_runs_follow_from_the_values(labels):
    targets = np.arange(labels.shape[1]) % 3
    measured = class_rates(labels, targets)
    overall = measured.overall.rates["accuracy"]
    assert overall.values == pytest.approx((labels == targets).mean(axis=1), abs=1e-12)
    for subset in measured.subsets:
        for rate in subset.rates.values():
            if np.isnan(rate.values).any():
                assert (rate.mean, rate.sd, rate.ratio, rate.floor, rate.p) == (None,) * 5
                assert rate.reason.startswith("undefined in")
                continue
            assert rate.mean == pytest.approx(rate.values.mean(), abs=1e-12)
            assert rate.sd == pytest.approx(rate.values.std(ddof=1), abs=1e-12)
            assert (rate.min, rate.max) == pytest.approx((rate.values.min(), rate.values.max()), abs=1e-12)
            assert rate.range == pytest.approx(np.ptp(rate.values), abs=1e-12)
            expected = cautious_sd_interval(rate.values)
            assert rate.interval.known == expected.known
            if expected.known:
                assert (rate.interval.low, rate.interval.high) == pytest.approx((expected.low, expected.high), rel=1e-9)
            if overall.sd:
                assert rate.ratio == pytest.approx(rate.sd / overall.sd, rel=1e-9)
            else:
                assert rate.ratio is None


@given(TABLES, st.randoms(use_true_random=False))
def test_groups_that_are_the_classes_have_the_accuracies_of_the_classes(labels, random):
    targets = np.arange(labels.shape[1]) % 3
    order = random.sample(range(targets.size), targets.size)
    groups = group_rates(labels[:, order], targets[order], targets[order])
    classes = [subset for subset in class_rates(labels, targets).subsets if subset.examples]
    for group, subset in zip(groups.subsets, classes, strict=True):
        assert list(group.rates) == ["accuracy"]
        assert group.rates["accuracy"].values.tolist() == subset.rates["accuracy"].values.tolist()
        assert group.rates["accuracy"].p_holm == pytest.approx(subset.rates["accuracy"].p_holm, abs=1e-12)


def test_the_floor_and_its_test_by_hand():
    """Two classes of 4 examples; recalls of class 0 are 1, 0.5, 0.75: mean 0.75, SD 0.25, floor sqrt(0.1875 / 4)."""
    labels = np.array([[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 1]])
    first, second = class_rates(labels, [0] * 4 + [1] * 4).subsets
    recall = first.rates["recall"]
    assert recall.floor == pytest.approx(math.sqrt(0.1875 / 4), abs=1e-12)
    # The runs that are right on the four examples are 3, 3, 2, 1: variances 0, 0, 1/3, 1/3.
    independent = (2 / 3 / 4 - 0.0625) / 3
    assert recall.independent == pytest.approx(math.sqrt(independent), abs=1e-12)
    assert recall.p == pytest.approx(stats.f.sf(0.0625 / independent, 2, 6), abs=1e-12)
    assert recall.p_holm == recall.p
    assert recall.ratio == pytest.approx(2, abs=1e-12)
    # Always right: nothing could vary, so nothing is tested.
    assert (second.rates["recall"].floor, second.rates["recall"].p) == (0, None)
    assert second.rates["fnr"].mean == 0


@given(TABLES)
def test_independent_examples_make_the_part_of_the_finite_test_set(labels):
    """Of recall and fpr of each class, and of the accuracy of all: each a mean over examples of 0 and 1."""
    targets = np.arange(labels.shape[1]) % 3
    measured = class_rates(labels, targets)
    tables = [(measured.overall.rates["accuracy"], labels == targets)]
    for subset in measured.subsets:
        tables.append((subset.rates["recall"], (labels == subset.name)[:, targets == subset.name]))
        tables.append((subset.rates["fpr"], (labels == subset.name)[:, targets != subset.name]))
    assert_parts(tables)
    positive = group_rates(labels, targets, targets // 2, positive=1)
    for subset in positive.subsets:
        inside = targets // 2 == subset.name
        tables = [(subset.rates["accuracy"], (labels == targets)[:, inside])]
        tables.append((subset.rates["recall"], (labels == 1)[:, inside & (targets == 1)]))
        tables.append((subset.rates["fpr"], (labels == 1)[:, inside & (targets != 1)]))
        assert_parts(tables)


def assert_parts(tables):
    for rate, table in tables:
        finite = example_variance(table).finite_test if table.shape[1] > 1 else None
        if finite is None or finite < 1e-15:
            assert (rate.independent, rate.p, rate.p_holm) == (None, None, None)
        else:
            assert rate.independent == pytest.approx(math.sqrt(finite), rel=1e-9)
            freedom = len(table) - 1, (len(table) - 1) * (table.shape[1] - 1)
            assert rate.p == pytest.approx(stats.f.sf(rate.sd**2 / finite, *freedom), abs=1e-9)


def test_independent_errors_are_seldom_above_what_they_make():
    rng = np.random.default_rng(0)
    right = rng.random((6, 250, 200)) < rng.random((250, 200))
    ps = [rate.p for subset in group_rates(*rates_of(right)).subsets for rate in subset.rates.values()]
    assert 0.01 < np.mean(np.array(ps) < 0.05) < 0.1


def rates_of(right):
    """Give runs, targets and groups of a table of shape (runs, groups, examples)."""
    runs, groups, examples = right.shape
    return right.reshape(runs, -1).astype(int), np.ones(groups * examples, int), np.repeat(np.arange(groups), examples)


def test_a_class_without_examples_or_predictions_has_no_rate_of_it():
    zero, first, two = class_rates([[0, 0, 2], [0, 1, 2]], [0, 0, 1]).subsets
    assert two.examples == 0
    assert two.rates["recall"].reason == "undefined in 2 of 2 runs: no example to be a share of"
    assert two.rates["precision"].values.tolist() == [0, 0]
    assert first.rates["precision"].reason == "undefined in 1 of 2 runs: no example to be a share of"
    assert not first.rates["precision"].interval.known
    assert zero.rates["fpr"].values.tolist() == [0, 0]


def test_one_run_one_class_one_example():
    only = class_rates([[5]], [5])
    recall = only.subsets[0].rates["recall"]
    assert (recall.mean, recall.sd, recall.range, recall.p, recall.reason) == (
        1,
        None,
        None,
        None,
        "one run has no spread",
    )
    assert only.subsets[0].rates["fpr"].reason


@pytest.mark.parametrize("groups", [[0], [0.5, 1.0, 2.0]])
def test_groups_are_one_integer_for_each_example(groups):
    with pytest.raises(ValueError, match="groups"):
        group_rates([[0, 1, 1]], [0, 1, 1], groups)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_is_that_of_statsmodels(ps):
    from statsmodels.stats.multitest import multipletests

    assert holm(np.array(ps)) == pytest.approx(multipletests(ps, method="holm")[1], abs=1e-12)
