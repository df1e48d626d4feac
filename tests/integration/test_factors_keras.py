"""Every factor of a Keras or TensorFlow training draws from its own stream, whatever the program seeds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from factor_runs import FACTORS, FULL, SEEDS, Zygote, check_matrix, matrix, other, zygote
from installed import require

pytestmark = pytest.mark.slow
require("keras")

EVERY = set(FACTORS)
DRAWS = [{"factor": "data", "file": "keras_training.py", "line": 18, "call": "permutation"}]


@contextmanager
def libraries(folder: Path, backend: str, *modules: str) -> Iterator[Zygote]:
    require(backend, *modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERAS_BACKEND", backend)
        patch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
        patch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
        with zygote(folder, backend, "numpy", *modules) as started:
            yield started


@pytest.fixture(scope="module")
def keras(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    """Keras with one of its backends, and TensorFlow, which it imports on whatever backend to set its seed."""
    also = [name for name in ("tensorflow",) if find_spec(name)]
    with libraries(tmp_path_factory.mktemp("keras"), request.param, *also, "keras") as started:
        yield started


@pytest.fixture(scope="module")
def tensorflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    with libraries(tmp_path_factory.mktemp("tensorflow"), "tensorflow") as started:
        yield started


#: Backends and ways of seeding: all pairs in the nightly tests, otherwise one way for each backend.
CELLS = [
    (backend, seeding)
    for backend, one in (("tensorflow", "everything"), ("torch", "nothing"), ("jax", "own"))
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
    require("tensorflow")
    with libraries(tmp_path, "jax", "keras") as keras_alone:
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
