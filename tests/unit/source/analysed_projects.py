"""Small projects written to a folder and analysed."""

from __future__ import annotations

import textwrap
from pathlib import Path

from deviate.core.experiment import Findings
from deviate.source.analysis import analyse_project

#: A training step that any idiom can stand in.
HEAD = """
import time
import torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = [(torch.randn(4, 2), torch.randn(4, 1)) for _ in range(3)]
"""

STEP = """
loss = ((model(x) - y) ** 2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
"""


def write(folder: Path, **files: str) -> Path:
    """Write files; ``a__b`` is ``a/b.py``."""
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return folder


def analyse(folder: Path, entry: str = "train.py", **files: str) -> Findings:
    """Write and analyse."""
    return analyse_project(write(folder, **files), Path(entry))


def looped(report: str, before: str = "") -> str:
    """A script whose loop trains and then reports."""
    body = textwrap.indent(STEP.strip() + "\n" + textwrap.dedent(report).strip(), " " * 8)
    head = f"{HEAD}{textwrap.dedent(before)}"
    return f"{head}\nfor epoch in range(2):\n    for i, (x, y) in enumerate(loader):\n{body}\n"


def names(findings: Findings) -> dict[str, str]:
    """Map variables of the selected metrics to how they are captured."""
    return {metric.variable: metric.capture.how for metric in findings.metrics if metric.selected}
