"""Every factor draws from a stream of its own under Lightning, the Trainer of Hugging Face, and torchrun."""

from __future__ import annotations

from pathlib import Path

import pytest
from factor_runs import FACTORS, FULL, PROGRAMS, Trained, Zygote, check_matrix, matrix, zygote
from installed import require

pytestmark = pytest.mark.slow
require("torch")


def notes(run: Trained) -> list[str]:
    return [event["message"] for event in run.of("note")]


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.nightly)])
def test_lightning(trainers: Zygote, workers: int) -> None:
    factors = FACTORS if FULL or workers == 0 else ("shuffle", "augment")
    runs = trainers.run("lightning_training.py", [workers], matrix(factors))
    (plain,) = trainers.run("lightning_training.py", [workers], [None], control=None)
    check_matrix(runs, set(FACTORS), factors)
    assert notes(runs[0]) == []
    assert runs[0].output.splitlines()[0] == plain.output.splitlines()[0]
    assert {event["call"] for event in runs[0].of("seed")} >= {"torch.manual_seed"}


def test_hugging_face(trainers: Zygote) -> None:
    present = [factor for factor in FACTORS if factor not in ("data", "other")]
    runs = trainers.run("hf_training.py", [], matrix(present))
    check_matrix(runs, set(present), present)
    assert notes(runs[0]) == []
    own = [event for event in runs[0].of("seed") if event["library"]]
    assert {("transformers/trainer_utils.py", "42")} <= {(event["file"], event["given"]) for event in own}


@pytest.mark.nightly
def test_two_ranks(tmp_path: Path) -> None:
    words = ["--standalone", "--nproc-per-node=2", PROGRAMS / "torch_ddp.py"]
    present = set(FACTORS) - {"data"}
    chosen = FACTORS if FULL else ("shuffle", "init")
    with zygote(tmp_path, "torch.distributed.run") as started:
        runs = started.run("torchrun.py", words, matrix(chosen))
    check_matrix(runs, present, chosen)
    assert len([event for event in runs[0].of("fingerprint") if event["name"] == "weights"]) == 2
