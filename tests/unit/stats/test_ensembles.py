"""Ensembles, against votes counted in plain Python and mean scores."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from made_predictions import LABELS, SCORES, TARGETS

from deviate.stats import ensembles as module
from deviate.stats.ensembles import score_ensembles, vote_ensembles

TABLES = arrays.arrays(np.int64, st.tuples(st.integers(2, 6), st.integers(1, 10)), elements=st.integers(-2, 2))


def rng():
    return np.random.default_rng(0)


def vote(rows):
    """Give the most frequent label of each example, the smallest of several."""
    return np.array([min(Counter(c).items(), key=lambda item: (-item[1], item[0]))[0] for c in zip(*rows, strict=True)])


@given(TABLES)
def test_all_sets_and_all_pairs_of_few_runs(labels):
    targets = np.zeros(labels.shape[1], int)
    for measured in vote_ensembles(labels, targets, rng()):
        sets = list(combinations(labels.tolist(), measured.size))
        accuracies = [np.mean(vote(rows) == targets) for rows in sets]
        assert measured.subsets == len(sets) == math.comb(len(labels), measured.size)
        assert measured.accuracy == pytest.approx(np.mean(accuracies), abs=1e-12)
        assert measured.gain == pytest.approx(np.mean(accuracies) - np.mean(labels == 0), abs=1e-12)
        assert_pairs(measured, labels, targets)


def assert_pairs(measured, labels, targets):
    members = list(combinations(range(len(labels)), measured.size))
    pairs = [(vote(labels[list(a)]), vote(labels[list(b)])) for a, b in combinations(members, 2) if not set(a) & set(b)]
    assert measured.pairs == len(pairs)
    if not pairs:
        assert (measured.sd, measured.churn) == (None, None)
        assert measured.reason == f"two ensembles of {measured.size} runs need {2 * measured.size} runs"
        return
    squares = [(np.mean(a == targets) - np.mean(b == targets)) ** 2 / 2 for a, b in pairs]
    assert measured.sd == pytest.approx(math.sqrt(np.mean(squares)), abs=1e-12)
    assert measured.churn == pytest.approx(np.mean([np.mean(a != b) for a, b in pairs]), abs=1e-12)


def test_scores_are_averaged():
    for measured in score_ensembles(SCORES, TARGETS, rng()):
        sets = [SCORES[list(members)].mean(axis=0).argmax(axis=1) for members in combinations(range(4), measured.size)]
        assert measured.accuracy == pytest.approx(np.mean([np.mean(vote == TARGETS) for vote in sets]), abs=1e-12)
        single = (SCORES.argmax(axis=2) == TARGETS).mean()
        assert measured.gain == pytest.approx(measured.accuracy - single, abs=1e-12)


def test_blocks_of_examples_change_nothing(monkeypatch):
    before = score_ensembles(SCORES, TARGETS, rng())
    monkeypatch.setattr(module, "BLOCK", 1)
    assert score_ensembles(SCORES, TARGETS, rng()) == before


def test_many_runs_are_drawn_from_and_the_state_decides_which():
    generator = np.random.default_rng(1)
    labels = generator.integers(0, 3, (30, 40))
    targets = np.zeros(40, int)
    before = np.random.get_state()[1].tolist()
    first, second = (vote_ensembles(labels, targets, rng(), subsets=7, sizes=[2, 15, 29, 30]) for _ in range(2))
    assert first == second
    assert np.random.get_state()[1].tolist() == before
    assert [row.subsets for row in first] == [7, 7, 7, 1]
    assert [row.pairs for row in first] == [7, 7, 0, 0]
    assert first[3].accuracy == np.mean(vote(labels.tolist()) == targets)


def test_sets_are_different_and_their_mean_is_that_of_all():
    labels = np.random.default_rng(2).integers(0, 3, (8, 25))
    targets = np.zeros(25, int)
    [few] = vote_ensembles(labels, targets, rng(), sizes=[4], subsets=69)
    [all_] = vote_ensembles(labels, targets, rng(), sizes=[4], subsets=70)
    assert (few.subsets, all_.subsets, all_.pairs) == (69, 70, 35)
    assert few.accuracy == pytest.approx(all_.accuracy, abs=0.02)


def test_sizes_thin_out():
    sizes = [row.size for row in vote_ensembles(np.zeros((50, 1), int), [0], rng(), subsets=2)]
    assert sizes == [2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 16, 20, 25, 32, 40, 50]


def test_runs_that_are_alike_gain_nothing():
    measured = vote_ensembles(np.tile(LABELS[0], (4, 1)), TARGETS, rng())
    assert [(row.gain, row.churn, row.sd) for row in measured[:1]] == [(0, 0, 0)]


def test_one_run_makes_no_ensemble():
    assert vote_ensembles([[0, 1]], [0, 1], rng()) == ()


@pytest.mark.parametrize("options", [{"sizes": [1]}, {"sizes": [5]}, {"subsets": 0}])
def test_impossible_sizes_are_refused(options):
    with pytest.raises(ValueError, match="ensembles have 2 to 4 runs"):
        vote_ensembles(LABELS, TARGETS, rng(), **options)


@pytest.mark.parametrize(
    ("scores", "message"), [([[0.5, 0.5]], "n_classes"), ([[[np.nan, 0.5]], [[0.5, 0.5]]], "NaN or infinite")]
)
def test_what_are_no_scores_is_refused(scores, message):
    with pytest.raises(ValueError, match=message):
        score_ensembles(scores, [0], rng())
