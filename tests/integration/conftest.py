"""The folder of a test, and parents that have imported a framework, from which programs are forked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from factor_runs import Zygote, Zygotes
from forking import shared_folder
from installed import require


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """Return an empty folder; an experiment of its ``train.py`` is called ``train`` after it, in every test."""
    folder = tmp_path / "train"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def zygotes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygotes]:
    started = Zygotes(tmp_path_factory.mktemp("zygotes"), shared_folder(tmp_path_factory))
    yield started
    started.close()


@pytest.fixture(scope="session")
def torchs(zygotes: Zygotes) -> Zygote:
    require("torch")
    return zygotes["torch"]


@pytest.fixture(scope="session")
def trainers(zygotes: Zygotes) -> Zygote:
    require("lightning", "torchmetrics", "accelerate", "transformers")
    return zygotes["trainers"]


@pytest.fixture(scope="session")
def tensorflow(zygotes: Zygotes) -> Zygote:
    require("tensorflow", "keras")
    return zygotes["tensorflow"]


@pytest.fixture(scope="session")
def jax(zygotes: Zygotes) -> Zygote:
    require("jax", "keras", "flax", "optax")
    return zygotes["jax"]
