"""Weights on the way and in checkpoints, from the run to the report."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cli_tool import deviate
from installed import require

from deviate import api

pytestmark = pytest.mark.slow

TORCH = """
import torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.linspace(-1, 1, 32).reshape(8, 4)
for epoch in range(5):
    optimizer.zero_grad()
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
"""

FILES = """
import os, pickle, random, sys
import numpy as np
weight = np.zeros(3)
os.makedirs("saved", exist_ok=True)
for epoch in range(3):
    weight += random.random() if epoch else 1.0
    loss = float(((weight - 3) ** 2).mean())
    print(f"epoch {epoch} loss {loss:.4f}")
    np.savez(f"saved/epoch{epoch}.npz", weight=weight, epoch=epoch)
    with open("saved/state.ckpt", "wb") as file:
        pickle.dump(weight, file)
"""


def run(folder: Path, name: str, weights: str, vary: str) -> dict[str, object]:
    done = deviate("run", "-n", "2", "--vary", vary, "--weights", weights, "--json", "--", sys.executable, name)
    assert done.status == 0, done.err
    (facts,) = done.json["weights"]
    return facts


def test_weights_of_control_runs_are_equal_on_the_way_and_stored_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("torch")
    (tmp_path / "train.py").write_text(TORCH)
    monkeypatch.chdir(tmp_path)
    facts = run(tmp_path, "train.py", "every:2", "control")
    assert [(each["iteration"], each["equal"]) for each in facts["moments"]] == [(1, True), (3, True)]
    assert facts["distance"]["value"] == 0.0
    files = sorted(tmp_path.glob(".deviate/experiments/*/runs/*/weights-*"))
    assert len(files) == 6
    assert {file.stat().st_nlink for file in files} == {2}
    known = api.load("train")
    assert known.load_weights(1, after=3)["weight"].shape == (1, 4)
    assert sorted(set(known.weights()["tensor"])) == ["bias", "weight"]
    assert "--weights every:2" in deviate("report", "train", "--format", "json").json["reproduce"]["command"]
    next(file for file in files if "after1" in file.name).unlink()
    shown = deviate("report", "train", "--format", "json").json["weights"][0]
    assert [each["iteration"] for each in shown["moments"]] == [3]
    assert deviate("show", "train", "--json").status == 0


def test_checkpoints_that_a_program_writes_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(FILES)
    monkeypatch.chdir(tmp_path)
    facts = run(tmp_path, "train.py", "saved/*.npz", "other")
    names = [(each["file"], each["equal"]) for each in facts["moments"]]
    assert names == [("saved/epoch0.npz", True), ("saved/epoch1.npz", False), ("saved/epoch2.npz", False)]
    assert facts["elements"] == 3
    text = " ".join(deviate("report", "train", "--format", "md").out.split())
    assert "Weights are equal in all runs up to saved/epoch0.npz and differ from saved/epoch1.npz on." in text


def test_what_is_no_checkpoint_is_refused_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(FILES)
    monkeypatch.chdir(tmp_path)
    facts = run(tmp_path, "train.py", "saved/*.ckpt", "other")
    assert "only be read by executing it" in facts["withheld"]
    assert facts["distance"] is None
