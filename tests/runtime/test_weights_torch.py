"""Weights of PyTorch are kept by the names that the model has for them, wherever the training is written."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from installed import require
from programs import Run

pytestmark = pytest.mark.slow

STEPS = """
model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.ones(8, 4)
for epoch in range(4):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    print("epoch", epoch, "loss", loss.item())
"""
IN_A_FUNCTION = "import torch\ntorch.manual_seed(0)\ndef main():\n" + STEPS.replace("\n", "\n    ") + "\nmain()\n"
IN_THE_MODULE = "import torch\ntorch.manual_seed(0)\n" + STEPS
NAMES = ["0.bias", "0.weight", "2.bias", "2.weight"]


def names_in(path: Path) -> list[str]:
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    return sorted(json.loads(data[8 : 8 + length]))


@pytest.mark.parametrize(
    ("source", "warm"), [(IN_A_FUNCTION, ""), (IN_THE_MODULE, "torch")], ids=["function", "module"]
)
def test_weights_have_their_names_also_where_a_function_lets_the_model_go_first(
    run: Run, tmp_path: Path, source: str, warm: str
) -> None:
    require("torch")
    plain = run(source, runtime=False, warm="torch")
    outcome = run(source, control="observe", weights="final", warm=warm)
    assert outcome.stdout == plain.stdout
    (file,) = (tmp_path / "records").glob("weights-torch-1-*.safetensors")
    assert names_in(file) == NAMES


@pytest.mark.parametrize(("width", "kept"), [(3, 1), (250_000, 0)])
def test_weights_that_nobody_asks_for_are_kept_where_they_are_small(
    run: Run, tmp_path: Path, width: int, kept: int
) -> None:
    require("torch")
    source = IN_THE_MODULE.replace("(4, 3)", f"(4, {width})").replace("(3, 1)", f"({width}, 1)")
    outcome = run(source, control="observe", weights="small", warm="torch")
    assert len(list((tmp_path / "records").glob("weights-*"))) == kept
    assert "weights" in {event["name"] for event in outcome.of("fingerprint")}
    assert not [note for note in outcome.of("note") if note["slug"] == "weights-left-out"]


def test_weights_that_several_processes_update_are_not_taken_for_the_first_ones(run: Run) -> None:
    require("torch")
    shared = IN_THE_MODULE.replace("optimizer =", "model.share_memory()\noptimizer =", 1)
    of = {
        source: {event["name"] for event in run(source, seed=5, warm="torch").of("fingerprint") if "drawn" in event}
        for source in (IN_THE_MODULE, shared)
    }
    assert of[IN_THE_MODULE] - of[shared] == {"init"}
