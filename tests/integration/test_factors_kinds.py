"""Every factor draws from a stream of its own in further kinds of training: in threads, in pipelines, on two ranks."""

from __future__ import annotations

from pathlib import Path

import pytest
from factor_runs import FACTORS, FULL, PROGRAMS, Zygote, Zygotes, check_matrix, matrix, zygote
from installed import require

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("seeding", "threads"),
    [
        ("everything", "pool"),
        ("nothing", "one"),
        pytest.param("everything", "one", marks=pytest.mark.nightly),
        pytest.param("nothing", "pool", marks=pytest.mark.nightly),
    ],
)
def test_draws_in_threads_are_the_same_in_whatever_order_threads_run(
    torchs: Zygote, seeding: str, threads: str
) -> None:
    draws = [{"factor": factor} for factor in ("", "shuffle", "augment", "data")]
    runs = torchs.run("thread_training.py", [seeding, threads], matrix(), draws=draws)
    check_matrix(runs, set(FACTORS))
    assert not runs[0].of("note"), runs[0].of("note")


@pytest.mark.parametrize("seeding", ["seeds", "nothing"])
def test_pipelines_of_scikit_learn(zygotes: Zygotes, seeding: str) -> None:
    require("sklearn")
    check_matrix(zygotes["sklearn"].run("sklearn_training.py", [seeding], matrix()), {"other", "data"})


@pytest.mark.nightly
def test_maps_of_tf_data_that_run_side_by_side(tensorflow: Zygote) -> None:
    draws = [{"factor": factor} for factor in ("init", "layers", "")]
    runs = tensorflow.run("tf_data_training.py", [], matrix(), draws=draws)
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
