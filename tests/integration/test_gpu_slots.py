"""``--gpus`` and ``per_gpu``: what each run is given, and the trial before runs share a GPU. No GPU is needed."""

import sys

import pytest
from cli_tool import deviate

from deviate.store.folders import Workspace

TRAIN = """
import os
import random

random.seed(1)
weight = random.random()
for epoch in range(4):
    weight -= 0.1 * weight
    loss = weight + {noise}
    print(f"loss {{loss:.6f}}")
"""

#: Alone, a run has the first GPU.
NOISE = {"alike": "0", "differ": "(os.environ['CUDA_VISIBLE_DEVICES'] != '0')"}


@pytest.mark.parametrize("name", NOISE)
def test_runs_share_gpus_after_a_trial(name, tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(TRAIN.format(noise=NOISE[name]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,MIG-1")
    words = ("run", "-n", 2, "--set", "per_gpu=2", "--vary", "init", "--", sys.executable, "train.py")
    done = deviate(*words)
    runs = Workspace(tmp_path).experiment("train").runs()
    # The first run of an experiment ends before others start, so that both are given the first slot.
    assert [run.read_info().gpus for run in runs] == ["0", "0"]
    marks = {warning for run in runs for warning in run.read_outcome().warnings}
    if name == "alike":
        assert "2 runs on a GPU: 4 values of each of 4 equal those of a run alone" in done.err
        assert not marks
    else:
        assert "2 runs on a GPU: not shown to report what one alone does" in done.err
        assert [mark.startswith("made with 2 runs on a GPU") for mark in marks] == [True]
        assert "made with 2 runs on a GPU" in deviate("report", "train", "-v").out
    assert not (tmp_path / ".deviate" / "packing").exists()
    # Where nothing is to be made nothing is tried.
    assert "runs on a GPU" not in deviate(*words).err
