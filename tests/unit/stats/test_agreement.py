"""Flip list, ambiguity and abstention, against counting in plain Python."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from made_predictions import LABELS, TARGETS

from deviate.stats.agreement import abstention, agreement, ambiguity
from deviate.stats.churn import churn

TABLES = arrays.arrays(np.int64, st.tuples(st.integers(1, 7), st.integers(1, 12)), elements=st.integers(-2, 2))


def counted(column):
    """Give the labels of an example, most frequent first, smallest first among equals."""
    return sorted(Counter(column).items(), key=lambda item: (-item[1], item[0]))


@given(TABLES)
def test_it_is_what_counting_gives(labels):
    flips = agreement(labels, np.zeros(labels.shape[1], int))
    for i, column in enumerate(labels.T.tolist()):
        first, *rest = counted(column)
        other = rest[0] if rest else (first[0], 0)
        assert (flips.majority[i], flips.agreeing[i]) == first
        assert (flips.other[i], flips.others[i]) == other
        assert flips.right[i] == column.count(0)
        pairs = [a != b for a, b in combinations(column, 2)]
        assert flips.disagreement[i] == pytest.approx(np.mean(pairs) if pairs else np.nan, abs=1e-12, nan_ok=True)
    order = flips.order.tolist()
    assert sorted(order) == list(range(labels.shape[1]))
    if flips.runs > 1:
        keys = [(flips.agreeing[i], -flips.disagreement[i], i) for i in order]
        assert keys == sorted(keys)


@given(TABLES)
def test_stably_right_stably_wrong_and_unstable_are_all(labels):
    flips = agreement(labels, np.zeros(labels.shape[1], int))
    parts = np.stack([flips.unstable, flips.stably_right, flips.stably_wrong])
    assert (parts.sum(axis=0) == 1).all()
    assert (flips.stably_right == (labels == 0).all(axis=0)).all()


@given(TABLES)
def test_the_mean_disagreement_is_the_churn(labels):
    if len(labels) > 1:
        assert agreement(labels).disagreement.mean() == pytest.approx(churn(labels).mean.value, abs=1e-12)


@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_of_the_runs_does_not_matter(labels, random):
    before, after = agreement(labels), agreement(np.array(random.sample(labels.tolist(), len(labels))))
    for name in ("majority", "agreeing", "other", "others", "order"):
        assert (getattr(before, name) == getattr(after, name)).all()


def test_without_targets_nothing_is_right_or_wrong():
    flips = agreement([[0, 1]])
    assert (flips.right, flips.stably_right, flips.stably_wrong) == (None, None, None)
    assert np.isnan(flips.disagreement).all()
    assert not flips.unstable.any()


def test_more_than_255_runs_are_counted():
    labels = np.zeros((300, 2), int)
    labels[:10, 1] = 1
    flips = agreement(labels)
    assert (flips.agreeing.tolist(), flips.others.tolist()) == ([300, 290], [0, 10])


@given(TABLES)
def test_ambiguity_and_discrepancy_follow_their_definitions(labels):
    measured = ambiguity(labels)
    conflicts = labels != agreement(labels).majority
    assert measured.runs == len(labels)
    assert measured.ambiguity == pytest.approx(conflicts.any(axis=0).mean(), abs=1e-12)
    assert measured.discrepancy == pytest.approx(conflicts.mean(axis=1).max(), abs=1e-12)
    assert conflicts[measured.farthest].mean() == pytest.approx(measured.discrepancy, abs=1e-12)


@given(TABLES)
def test_abstention_answers_fewer_examples_the_more_runs_have_to_agree(labels):
    targets = np.zeros(labels.shape[1], int)
    curve, flips = abstention(labels, targets), agreement(labels)
    assert curve.coverage[0] == 1
    assert (np.diff(curve.coverage) <= 0).all()
    for k, coverage, accuracy in zip(curve.agreeing, curve.coverage, curve.accuracy, strict=True):
        answered = flips.agreeing >= k
        assert coverage == answered.mean()
        expected = (flips.majority[answered] == 0).mean() if answered.any() else np.nan
        assert accuracy == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_all_runs_agree_where_the_churn_is_none():
    curve = abstention(LABELS, TARGETS)
    assert curve.coverage[-1] == (LABELS[0] == LABELS).all(axis=0).mean()
