"""The mean of the weights that runs kept."""

import numpy as np
import pytest

from deviate.core.errors import BadOption
from deviate.facts.weights import RunWeights, mean_weights_of


def kept(value, rows=2, dtype=np.float32):
    final = {"kernel": np.full((rows, 3), value, dtype), "bias": np.array([value, -value], dtype)}
    return RunWeights(layers=final, moments={3: {name: array + 1 for name, array in final.items()}})


RUNS = {"impl-0": kept(1), "impl-1": kept(2), "impl-10": kept(6)}


def test_the_mean_is_that_of_all_runs_or_of_those_chosen():
    mean = mean_weights_of(RUNS)
    assert list(mean) == ["kernel", "bias"]
    assert mean["kernel"].dtype == np.float32
    assert mean["kernel"].tolist() == [[3.0] * 3] * 2
    assert mean["bias"].tolist() == [3.0, -3.0]
    assert mean_weights_of(RUNS, [0, 1, 0])["bias"].tolist() == [1.5, -1.5]
    assert mean_weights_of(RUNS, after=3)["bias"].tolist() == [4.0, -2.0]


def test_sums_are_exact_where_the_type_of_the_weights_is_not():
    half = {f"impl-{run}": kept(60000, dtype=np.float16) for run in range(4)}
    assert mean_weights_of(half)["bias"].tolist() == [60000, -60000]


def test_what_has_no_mean_is_refused():
    with pytest.raises(BadOption, match="a mean of weights needs two runs; there are 1"):
        mean_weights_of(RUNS, [1])
    with pytest.raises(BadOption, match="no weights of run 7 were kept"):
        mean_weights_of(RUNS, [1, 7])
    with pytest.raises(BadOption, match="the weights of run 4 have other names or shapes than those of run 0"):
        mean_weights_of({**RUNS, "impl-4": kept(1, rows=3)}, [0, 4])
