"""What two runs' sketches of their examples say of the sets behind them."""

import numpy as np
import pytest

from deviate.observe.fingerprints import SIZE, joined_parts, resemblance, same_examples


def sketch(members):
    """Return the sketch of a set of whole numbers, each with a hash of its own."""
    hashes = np.random.default_rng(0).permutation(1 << 20)
    return sorted(f"{hashes[member]:016x}" for member in members)[:SIZE]


@pytest.mark.parametrize(
    ("shared", "total"), [(10000, 10000), (9000, 10000), (5000, 10000), (1000, 10000), (0, 10000), (30, 40)]
)
def test_the_resemblance_is_near_the_jaccard_index(shared, total):
    own = (total - shared) // 2
    first, second = range(shared + own), [*range(shared), *range(shared + own, shared + 2 * own)]
    assert resemblance(sketch(first), sketch(second)) == pytest.approx(shared / (shared + 2 * own), abs=0.2)


def test_an_incomplete_last_batch_changes_nothing_and_another_split_does():
    order = np.random.default_rng(1).permutation(1000)
    assert same_examples({"a": sketch(range(1000))}, {"a": sketch(order[:980])}) is True
    assert same_examples({"a": sketch(order[:800])}, {"a": sketch(order[200:])}) is False


def test_padded_rows_prove_that_examples_are_the_same_and_not_that_they_differ():
    padded, other = {"padded, training, Net": sketch(range(50))}, {"padded, training, Net": sketch(range(50, 99))}
    assert same_examples(padded, padded) is True
    assert same_examples(padded, other) is None
    assert same_examples({**padded, "a": ["1"]}, {**other, "a": ["2"]}) is False


def test_only_parts_that_both_runs_show_are_compared():
    first, second = {"a": sketch(range(50)), "b": sketch(range(9))}, {"a": sketch(range(50)), "c": sketch(range(5))}
    assert same_examples(first, second) is True
    assert same_examples({"b": sketch(range(9))}, {"c": sketch(range(9))}) is None
    assert same_examples({"a": sketch(range(9)), "b": ["1"]}, {"a": sketch(range(9)), "b": ["2"]}) is False


def test_processes_that_share_a_data_set_have_the_sketch_of_the_whole():
    halves = [{"a": sketch(range(0, 900, 2))}, {"a": sketch(range(1, 900, 2))}]
    assert joined_parts(halves) == {"a": sketch(range(900))}
