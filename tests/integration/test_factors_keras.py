"""Every factor of a Keras or TensorFlow training draws from its own stream, whatever the program seeds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from factor_runs import FACTORS, FULL, Zygote, check_matrix, matrix, zygote

pytestmark = pytest.mark.slow
pytest.importorskip("keras")

EVERY = set(FACTORS)
TIMES = 2 if FULL else 1
DRAWS = [{"factor": "data", "file": "keras_training.py", "line": 18, "call": "permutation"}]


@contextmanager
def libraries(folder: Path, backend: str, *modules: str) -> Iterator[Zygote]:
    pytest.importorskip(backend)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERAS_BACKEND", backend)
        patch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
        patch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
        with zygote(folder, backend, "numpy", *modules) as started:
            yield started


@pytest.mark.parametrize("seeding", ["everything", "nothing", "own"])
@pytest.mark.parametrize("backend", ["tensorflow", "torch", "jax"])
def test_no_factor_of_keras_leaks_into_another(tmp_path: Path, backend: str, seeding: str) -> None:
    times = 2 if seeding == "everything" else TIMES
    with libraries(tmp_path, backend, "keras") as keras:
        runs = keras.run("keras_training.py", [seeding, 16], matrix(times=times), draws=DRAWS)
    check_matrix(runs, EVERY, times=times)
    for run in runs:
        assert not run.of("note"), run.of("note")
        assert run.prints["weights"] == runs[0].prints["weights"] or run.sha != runs[0].sha


@pytest.mark.parametrize("seeding", ["nothing", "own"])
def test_no_factor_of_a_loop_of_tensorflow_leaks_into_another(tmp_path: Path, seeding: str) -> None:
    with libraries(tmp_path, "tensorflow") as tensorflow:
        runs = tensorflow.run("tensorflow_training.py", [seeding, 16], matrix(times=TIMES), draws=DRAWS)
    check_matrix(runs, EVERY, times=TIMES)
    # A program that seeds nothing augments anew in each pass over the data.
    assert {run.output.split()[1] for run in runs} == {"repeat" if seeding == "own" else "differ"}
