"""An instrumented training ends with the weights, bit by bit, that the bare one ends with."""

from __future__ import annotations

import ast
import textwrap

import pytest
from installed import require
from programs import LOSS, Outcome, Run

from deviate.source.edits import Edit, span_of
from deviate.source.overlay import instrument_source

pytestmark = pytest.mark.slow

NUMPY = """
import hashlib
import numpy as np
rng = np.random.default_rng(0)
np.random.seed(1)
x, w = rng.normal(size=(64, 5)), np.random.randn(5)
y = x @ np.arange(5.0)
for epoch in range(20):
    order = rng.permutation(len(x))
    for batch in np.split(order, 8):
        error = x[batch] @ w - y[batch]
        w -= 0.05 * x[batch].T @ error / len(batch)
    loss = np.mean((x @ w - y) ** 2)
    print(f"epoch {epoch} loss {loss:.6f} {np.abs(error).max()!r}", "r2 %.4f" % (1 - loss / y.var()))
print(hashlib.sha256(w.tobytes()).hexdigest())
"""

TORCH = """
import hashlib, random
import torch
from torch import nn
torch.manual_seed(0)
random.seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2))
    def forward(self, x):
        return self.layers(x)
class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0
    def update(self, value, n=1):
        self.sum, self.count = self.sum + value * n, self.count + n
    @property
    def avg(self):
        return self.sum / self.count
data = torch.utils.data.TensorDataset(torch.randn(96, 8), torch.randint(0, 2, (96,)))
loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)
model, criterion = Net(), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
epoch = 0
while epoch < 4:
    losses, correct = AverageMeter(), 0
    for x, y in loader:
        out = model(x)
        loss = criterion(out, y)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        losses.update(loss.item(), len(x))
        correct += (out.argmax(1) == y).sum().item()
        print("step loss", loss, flush=True)
    print("Epoch: {} Loss: {:.4f}".format(epoch, losses.avg), f"{100. * correct / len(data):.2f}% {random.random()=}")
    epoch += 1
print(hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest())
"""


def wrap_everything(source: str) -> str:
    """Wrap every expression that can be, and every loop."""
    tree = ast.parse(source)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    edits = [Edit(span=span_of(node), before=f"__dv__({LOSS}, ") for node in nodes if not isinstance(node, ast.Slice)]
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            edits.append(Edit(span=span_of(node.iter), before="__dv_loop__("))
        if isinstance(node, ast.While):
            edits.append(Edit(span=span_of(node.test), before="__dv_while__("))
    result = instrument_source(source, edits)
    assert {skipped.reason for skipped in result.skipped} <= {"not-a-value", "position-inexact"}
    assert len(result.done) > len(edits) // 2
    return result.text


def observable(outcome: Outcome) -> tuple[str, str, int]:
    return outcome.stdout, outcome.stderr, outcome.status


@pytest.mark.parametrize(("library", "source"), [("numpy", NUMPY), ("torch", TORCH)])
def test_with_every_expression_wrapped_the_training_is_the_same(run: Run, library: str, source: str) -> None:
    require(library)
    source = textwrap.dedent(source)
    bare = run(source, runtime=False, warm="torch" if library == "torch" else "")
    assert bare.status == 0, bare.stderr
    recorded = run(wrap_everything(source))
    assert observable(recorded) == observable(bare)
    assert len(recorded.values()) > 100


def test_two_runs_of_one_seed_are_the_same_and_of_another_are_not(run: Run) -> None:
    require("torch")
    outputs = [
        run(wrap_everything(TORCH), seed=seed, hold_impl=True, threads=1, warm="torch").stdout for seed in (3, 3, 4)
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].splitlines()[-1] != outputs[2].splitlines()[-1]
