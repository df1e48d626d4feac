"""Every factor draws from a stream of its own under Lightning, the Trainer of Hugging Face, and torchrun."""

from __future__ import annotations

from pathlib import Path

import pytest
from factor_runs import FACTORS, FULL, PROGRAMS, Trained, check_matrix, matrix, run_command, zygote

pytestmark = pytest.mark.slow
pytest.importorskip("torch")


TIMES = 2 if FULL else 1


def notes(run: Trained) -> list[str]:
    return [event["message"] for event in run.of("note")]


@pytest.mark.parametrize("workers", [0, 2])
def test_lightning(tmp_path: Path, workers: int) -> None:
    pytest.importorskip("lightning")
    factors = FACTORS if FULL or workers == 0 else ("shuffle", "augment")
    with zygote(tmp_path, "torch._dynamo", "lightning") as started:
        seeds = matrix(factors, times=TIMES)
        runs = started.run("lightning_training.py", [workers], seeds)
        (plain,) = started.run("lightning_training.py", [workers], [None], control=None)
    check_matrix(runs, set(FACTORS), factors, times=TIMES)
    assert notes(runs[0]) == []
    assert runs[0].output.splitlines()[0] == plain.output.splitlines()[0]
    assert {event["call"] for event in runs[0].of("seed")} >= {"torch.manual_seed"}


def test_hugging_face(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    present = set(FACTORS) - {"data", "other"}
    with zygote(tmp_path, "torch._dynamo", "transformers", "accelerate") as started:
        runs = started.run("hf_training.py", [], matrix(tuple(present), times=TIMES))
    check_matrix(runs, present, tuple(present), times=TIMES)
    assert notes(runs[0]) == []
    own = [event for event in runs[0].of("seed") if event["library"]]
    assert {("transformers/trainer_utils.py", "42")} <= {(event["file"], event["given"]) for event in own}


def test_two_ranks(tmp_path: Path) -> None:
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", PROGRAMS / "torch_ddp.py"]
    present = set(FACTORS) - {"data"}
    chosen = FACTORS if FULL else ("shuffle", "augment", "init")
    runs = [
        run_command(tmp_path / str(number), command, seeds) for number, seeds in enumerate(matrix(chosen, times=TIMES))
    ]
    check_matrix(runs, present, chosen, times=TIMES)
    assert len([event for event in runs[0].of("fingerprint") if event["name"] == "weights"]) == 2
