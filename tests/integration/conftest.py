"""The folder of a test, and parents that have imported a framework, from which programs are forked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from factor_runs import Zygote, zygote
from installed import require


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """Return an empty folder; an experiment of its ``train.py`` is called ``train`` after it, in every test."""
    folder = tmp_path / "train"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def torchs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    require("torch")
    with zygote(tmp_path_factory.mktemp("torch"), "numpy", "torch._dynamo", "sklearn.metrics") as started:
        yield started


@pytest.fixture(scope="module")
def tensorflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    require("tensorflow", "keras")
    variables = {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    with zygote(tmp_path_factory.mktemp("tensorflow"), "tensorflow", "keras", **variables) as started:
        yield started


@pytest.fixture(scope="module")
def jax(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    require("jax", "keras", "flax", "optax")
    with zygote(tmp_path_factory.mktemp("jax"), "jax", "flax", "optax", "keras", KERAS_BACKEND="jax") as started:
        yield started
