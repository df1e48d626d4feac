"""Run the command line in this process, and small projects to run it on."""

import contextlib
import io
import json
import sys
from dataclasses import dataclass

from deviate.cli.main import run_command_line

#: Trains a weight by gradient steps on noisy data; standard library only, so a run takes a tenth of a second.
TRAIN = """\
import random, sys

random.seed(0)
epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
weight = random.gauss(0, 1)
for epoch in range(epochs):
    loss = 0.0
    for step in range(20):
        x = random.gauss(0, 1)
        gradient = 2 * x * (weight * x - 3 * x)
        weight -= 0.02 * gradient
        loss += (weight * x - 3 * x) ** 2 / 20
    accuracy = 100 / (1 + abs(weight - 3))
    print(f"epoch {epoch} train loss {loss:.4f} test accuracy {accuracy:.2f}%")
"""

#: The same, with a file of predictions that follow from its weight.
PREDICT = (
    TRAIN
    + """
import csv

cases = [number / 40 for number in range(40)]
with open("preds.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["id", "prediction", "target", "half"])
    writer.writerows(("case %.3f" % x, int(weight * x > 1), int(3 * x > 1), x < 0.5) for x in cases)
"""
)


@dataclass
class Done:
    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


def deviate(*words) -> Done:
    """Run ``deviate WORDS`` as the console script does."""
    out, err = _Buffered(), _Buffered()
    before = sys.argv
    sys.argv = ["deviate", *map(str, words)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run_command_line()
    finally:
        sys.argv = before
    return Done(status, out.text(), err.text())


class _Buffered(io.TextIOWrapper):
    """A text stream with a binary one below, as standard output has."""

    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self):
        self.flush()
        return self.buffer.getvalue().decode()


def tree(folder):
    """Return every file below `folder` with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
