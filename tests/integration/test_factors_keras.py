"""Every factor of a Keras or TensorFlow training draws from its own stream, whatever the program seeds."""

from __future__ import annotations

from pathlib import Path

import pytest
from factor_runs import FACTORS, FULL, SEEDS, Zygote, Zygotes, check_matrix, matrix, other, zygote
from installed import require

pytestmark = pytest.mark.slow
require("keras")

EVERY = set(FACTORS)
DRAWS = [{"factor": "data", "file": "keras_training.py", "line": 18, "call": "permutation"}]


@pytest.fixture(scope="module")
def keras(request: pytest.FixtureRequest, zygotes: Zygotes) -> Zygote:
    """Keras with one of its backends, and TensorFlow, which it imports on whatever backend to set its seed."""
    require(request.param)
    return zygotes["keras on torch" if request.param == "torch" else request.param]


#: Backends and ways of seeding: all pairs in the nightly tests, otherwise one way for two of the backends.
CELLS = [
    (backend, seeding)
    for backend, one in (("tensorflow", "everything"), ("jax", "own"), *((("torch", "nothing"),) if FULL else ()))
    for seeding in (("everything", "nothing", "own") if FULL else (one,))
]


@pytest.mark.parametrize(("keras", "seeding"), CELLS, indirect=["keras"])
def test_no_factor_of_keras_leaks_into_another(request: pytest.FixtureRequest, keras: Zygote, seeding: str) -> None:
    factors = FACTORS if FULL or request.node.callspec.params["keras"] == "tensorflow" else ("shuffle", "layers")
    runs = keras.run("keras_training.py", [seeding, 16], matrix(factors), draws=DRAWS)
    check_matrix(runs, EVERY, factors, shaping=None)
    for run in runs:
        assert not run.of("note"), run.of("note")
        assert run.prints["weights"] == runs[0].prints["weights"] or run.sha != runs[0].sha


@pytest.mark.nightly
def test_tensorflow_may_come_with_the_seed(tmp_path: Path) -> None:
    """Where it is imported in the midst of the program, as in a process of its own."""
    require("tensorflow", "jax")
    variables = {"KERAS_BACKEND": "jax", "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    with zygote(tmp_path, "jax", "numpy", "keras", **variables) as keras_alone:
        seeds = [SEEDS, other("shuffle")]
        control, varied = keras_alone.run("keras_training.py", ["everything", 16], seeds, draws=DRAWS)
    assert control.sha, control.output
    assert set(control.prints) & EVERY == EVERY
    assert varied.differs_from(control) == {"shuffle"}
    assert not control.of("note"), control.of("note")


@pytest.mark.parametrize("seeding", ["nothing", "own"] if FULL else ["nothing"])
def test_no_factor_of_a_loop_of_tensorflow_leaks_into_another(tensorflow: Zygote, seeding: str) -> None:
    factors = FACTORS if FULL else ("shuffle", "augment")
    runs = tensorflow.run("tensorflow_training.py", [seeding, 16], matrix(factors), draws=DRAWS)
    check_matrix(runs, EVERY, factors)
    # A program that seeds nothing augments anew in each pass over the data.
    assert {run.output.split()[1] for run in runs} == {"repeat" if seeding == "own" else "differ"}
    # What the boundaries of factors call of the program is converted, what they call of the runtime is not.
    converted = {name for run in runs for name in run.output.splitlines()[2].split()[1:]}
    assert converted == {"at_boundary", "inside"}
