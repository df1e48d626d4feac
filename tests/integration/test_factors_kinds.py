"""Every factor draws from a stream of its own in further kinds of training: in threads, in pipelines, on two ranks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from factor_runs import FACTORS, FULL, PROGRAMS, Zygote, check_matrix, matrix, zygote
from installed import require

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def torchs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    require("torch")
    with zygote(tmp_path_factory.mktemp("kinds"), "torch._dynamo", "numpy") as started:
        yield started


@pytest.mark.parametrize("threads", ["one", "pool"])
@pytest.mark.parametrize("seeding", ["everything", "nothing"])
def test_draws_in_threads_are_the_same_in_whatever_order_threads_run(
    torchs: Zygote, seeding: str, threads: str
) -> None:
    draws = [{"factor": factor} for factor in ("", "shuffle", "augment", "data")]
    runs = torchs.run("thread_training.py", [seeding, threads], matrix(), draws=draws)
    check_matrix(runs, set(FACTORS))
    assert not runs[0].of("note"), runs[0].of("note")


@pytest.mark.parametrize("seeding", ["seeds", "nothing"])
def test_pipelines_of_scikit_learn(tmp_path: Path, seeding: str) -> None:
    require("sklearn")
    with zygote(tmp_path, "sklearn.ensemble", "sklearn.model_selection") as started:
        check_matrix(started.run("sklearn_training.py", [seeding], matrix()), {"other", "data"})


@pytest.mark.nightly
def test_maps_of_tf_data_that_run_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("tensorflow")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    draws = [{"factor": factor} for factor in ("init", "layers", "")]
    with zygote(tmp_path, "tensorflow", "numpy") as started:
        runs = started.run("tf_data_training.py", [], matrix(), draws=draws)
    check_matrix(runs, set(FACTORS))


@pytest.mark.nightly
def test_two_ranks_of_accelerate(tmp_path: Path) -> None:
    require("torch", "accelerate")
    words = ["--standalone", "--nproc-per-node=2", PROGRAMS / "accelerate_training.py"]
    chosen = FACTORS if FULL else ("shuffle", "augment")
    with zygote(tmp_path, "torch.distributed.run", "accelerate") as started:
        runs = started.run("torchrun.py", words, matrix(chosen))
    check_matrix(runs, set(FACTORS) - {"data"}, chosen)


@pytest.mark.nightly
def test_two_ranks_of_lightning(tmp_path: Path) -> None:
    require("torch", "lightning")
    chosen = FACTORS if FULL else ("shuffle", "layers")
    with zygote(tmp_path, "torch._dynamo", "lightning") as started:
        runs = started.run("lightning_ranks.py", [], matrix(chosen))
    # What `training_step` draws is of `layers`: it runs in the call of the model that is spread over the ranks.
    check_matrix(runs, set(FACTORS) - {"data", "other"}, chosen)
    assert len([event for event in runs[0].of("fingerprint") if event["name"] == "weights"]) == 2
