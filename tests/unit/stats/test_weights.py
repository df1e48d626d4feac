"""Distances of weights and similarity of representations, against definitions and other libraries."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from made_predictions import FIRST, SECOND

from deviate.stats.weights import linear_cka, mean_cka, weight_distances

VECTORS = st.integers(1, 6).flatmap(
    lambda size: st.lists(arrays.arrays(np.float64, size, elements=st.integers(-9, 9)), min_size=2, max_size=4)
)


def normalised(vector):
    return vector / np.linalg.norm(vector)


@given(VECTORS)
def test_it_is_the_distance_of_unit_vectors(vectors):
    assume(all(vector.any() for vector in vectors))
    measured = weight_distances([{"a": vector, "b": vector[::-1] + 1} for vector in vectors])
    joined = [np.concatenate([vector, vector[::-1] + 1]) for vector in vectors]
    for r, a in enumerate(vectors):
        for s, b in enumerate(vectors):
            expected = np.linalg.norm(normalised(a) - normalised(b))
            assert measured.layers["a"].matrix[r, s] == pytest.approx(expected, abs=1e-12)
            whole = np.linalg.norm(normalised(joined[r]) - normalised(joined[s]))
            assert measured.whole.matrix[r, s] == pytest.approx(whole, abs=1e-12)
    assert 0 <= measured.whole.mean.value <= 2


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_scale_does_not_matter(scale):
    measured = weight_distances([{"a": [3 * scale, 0]}, {"a": [0, scale]}])
    assert measured.whole.mean.value == pytest.approx(math.sqrt(2), abs=1e-12)


def test_nearby_weights_keep_their_digits():
    """From 2 - 2 cos nothing would be left of a distance of 1e-10."""
    measured = weight_distances([{"a": [1.0, 0.0]}, {"a": [1.0, 1e-10]}])
    assert measured.whole.mean.value == pytest.approx(1e-10, rel=1e-6)


def test_weights_of_zero_have_no_direction():
    measured = weight_distances([{"a": [0.0], "b": [1.0]}, {"a": [1.0], "b": [1.0]}])
    assert measured.layers["a"].mean.reason == "no pair of runs has a value"
    assert measured.whole.mean.value == pytest.approx(math.sqrt(2 - math.sqrt(2)), abs=1e-12)


def test_one_run_has_no_distance():
    assert weight_distances([{"a": [1.0]}]).whole.mean.reason == "a pair needs two runs"


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([], "1 run and 1 layer"),
        ([{}], "1 run and 1 layer"),
        ([{"a": [1]}, {"b": [1]}], "runs have different layers: a"),
        ([{"a": [1]}, {"a": [1], "b": [1]}], "runs have different layers: b"),
        ([{"a": [1]}, {"a": [1, 2]}], r"layer 'a' has different shapes: \(1,\), \(2,\)"),
        ([{"a": [np.inf]}], "layer 'a' holds NaN or infinite weights"),
    ],
)
def test_what_cannot_be_compared_is_refused(runs, message):
    with pytest.raises(ValueError, match=message):
        weight_distances(runs)


def test_cka_is_that_of_ckatorch_and_pytorch_cka():
    """Values of ckatorch 1.0.3 (hsic1 of the Gram matrices) and pytorch-cka 1.1.3 (cka_from_features), float64."""
    assert linear_cka(FIRST, SECOND).value == pytest.approx(0.45350788531299613, abs=1e-12)
    assert linear_cka(FIRST, SECOND).value == pytest.approx(0.4535078853129965, abs=1e-12)


def gram_cka(x, y):
    """Give the definition with Gram matrices."""

    def hsic(k, m):
        n, ones = len(k), np.ones(len(k))
        middle = ones @ k @ ones * (ones @ m @ ones) / ((n - 1) * (n - 2))
        return (np.trace(k @ m) + middle - 2 / (n - 2) * (ones @ k @ m @ ones)) / (n * (n - 3))

    k, m = (a @ a.T * (1 - np.eye(len(a))) for a in (x, y))
    return hsic(k, m) / math.sqrt(hsic(k, k) * hsic(m, m))


@pytest.mark.parametrize(("n", "d"), [(4, 2), (8, 3), (8, 20), (200, 10)])
def test_cka_is_its_definition_whichever_product_is_made(n, d):
    rng = np.random.default_rng(n + d)
    x = rng.standard_normal((n, d))
    y = x @ rng.standard_normal((d, d)) + 5 + rng.standard_normal((n, d))
    similarity = linear_cka(x, y)
    if similarity.value is not None:
        assert similarity.value == pytest.approx(gram_cka(x, y), abs=1e-9)
    else:
        assert n == 4


def test_cka_sees_no_rotation_scale_shift_or_order():
    rng = np.random.default_rng(0)
    rotation, _ = np.linalg.qr(rng.standard_normal((5, 5)))
    order = rng.permutation(20)
    turned = 1e6 * (FIRST @ rotation)[order] + 1e3
    assert linear_cka(turned, SECOND[order]).value == pytest.approx(linear_cka(FIRST, SECOND).value, abs=1e-9)
    assert linear_cka(FIRST, turned[np.argsort(order)]).value == pytest.approx(1, abs=1e-12)
    assert linear_cka(SECOND, FIRST).value == pytest.approx(linear_cka(FIRST, SECOND).value, abs=1e-12)


def test_cka_of_unrelated_activations_is_0_on_average():
    rng = np.random.default_rng(0)
    values = [linear_cka(*rng.standard_normal((2, 30, 5))).value for _ in range(300)]
    assert abs(np.mean(values)) < 4 * np.std(values) / math.sqrt(300)
    assert min(values) < 0


@pytest.mark.parametrize(
    ("x", "reason"),
    [
        (np.ones((3, 2)), "needs 4 examples or more"),
        (np.full((5, 2), 0.1), "do not vary between examples"),
    ],
)
def test_cka_is_none_where_it_is_not_defined(x, reason):
    similarity = linear_cka(x, np.arange(len(x))[:, None])
    assert similarity.value is None
    assert reason in similarity.reason


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1.0, 2.0], [[1.0]], "activations have shape"),
        (np.empty((0, 2)), np.empty((0, 2)), "both 1 or more"),
        ([[np.nan]], [[1.0]], "NaN or infinite"),
        (np.ones((4, 1)), np.ones((5, 1)), "of 4 and 5"),
    ],
)
def test_cka_refuses_what_are_no_activations_of_the_same_examples(x, y, message):
    with pytest.raises(ValueError, match=message):
        linear_cka(x, y)


def test_the_mean_cka_is_over_pairs_and_leaves_out_those_without():
    rng = np.random.default_rng(5)
    runs = [rng.normal(size=(30, 4)) @ rng.normal(size=(4, width)) for width in (4, 6, 3)]
    pairs = [linear_cka(runs[a], runs[b]).value for a, b in ((0, 1), (0, 2), (1, 2))]
    assert mean_cka(runs).value == pytest.approx(np.mean(pairs), abs=1e-14)
    assert mean_cka([*runs, np.ones((30, 2))]).value == pytest.approx(np.mean(pairs), abs=1e-14)
    assert mean_cka(runs[:1]).value is None
