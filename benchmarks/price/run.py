"""Measure what held kernels cost on a CPU: processor time of six small trainings, free and held in turn.

    python benchmarks/price/run.py [--pairs N] [--keras N] [--output FILE]

Each training of PyTorch has a copy for each arm: `free`, `held` (every switch that Deviate sets) and `filled`
(PyTorch's default beside deterministic algorithms: memory that is not initialised is filled). In each round a block of
steps is made of each, in an order that changes, so that a busy machine meets all alike. TensorFlow cannot take
determinism back: each arm of Keras is a process of its own, forked from one that has imported the library. All on one
thread. What was measured is written after each training; `table.py` makes the table of it.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import platform
import random
import time
from importlib.metadata import version
from pathlib import Path

import torch
import trainings

MODELS = (trainings.mlp, trainings.cnn, trainings.rnn, trainings.transformer, trainings.graph)
ARMS = ("free", "held", "filled")

#: Processor seconds of a block, about.
BLOCK = 0.1


def set_switches(arm: str) -> None:
    """Set the switches of an arm."""
    torch.use_deterministic_algorithms(arm != "free", warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = arm == "filled"
    torch.backends.mkldnn.deterministic = arm != "free"


class Training:
    """A model that is trained in blocks."""

    def __init__(self, model, inputs, targets) -> None:
        self.model, self.inputs, self.targets = model, inputs, targets
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def block(self, steps: int) -> float:
        """Make some steps and return the processor seconds."""
        began = time.process_time()
        for _ in range(steps):
            loss = torch.nn.functional.cross_entropy(self.model(*self.inputs), self.targets)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return time.process_time() - began


def measure_torch(make, pairs: int, order: random.Random) -> list[dict[str, float]]:
    """Train all arms in rounds."""
    torch.manual_seed(0)
    made = make()
    arms = {arm: Training(*copy.deepcopy(made)) for arm in ARMS}
    for arm in ARMS:
        set_switches(arm)
        seconds = arms[arm].block(3) / 3
    steps = max(1, round(BLOCK / seconds))
    rounds = []
    for _ in range(pairs):
        times = {}
        for arm in order.sample(ARMS, len(ARMS)):
            set_switches(arm)
            times[arm] = arms[arm].block(steps)
        rounds.append(times)
    return rounds


def measure_keras(pairs: int, order: random.Random) -> list[dict[str, float]]:
    """Train both arms in rounds, each in a child of this process."""
    import keras  # noqa: F401
    import tensorflow  # noqa: F401

    arms = ("free", "held")
    return [{arm: _forked(arm == "held") for arm in order.sample(arms, 2)} for _ in range(pairs)]


def _forked(held: bool) -> float:
    out, into = os.pipe()
    child = os.fork()
    if not child:
        os.write(into, str(trainings.train_keras(held)).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as file:
        seconds = float(file.read())
    os.waitpid(child, 0)
    return seconds


def main() -> None:
    """Measure, and write after each training."""
    parser = argparse.ArgumentParser(description="Measure what held kernels cost on a CPU.")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--keras", type=int, default=30, help="pairs of Keras")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("measured.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    order = random.Random(0)
    versions = {name: version(name) for name in ("torch", "tensorflow_cpu", "keras")}
    report = {"machine": platform.machine(), "python": platform.python_version(), **versions, "trainings": {}}

    def keep(name: str, rounds: list[dict[str, float]]) -> None:
        report["trainings"][name] = [*report["trainings"].get(name, []), *rounds]
        options.output.write_text(json.dumps(report, indent=1) + "\n")

    for make in MODELS:
        keep(make.__name__, measure_torch(make, options.pairs, order))
    for _ in range(options.keras):
        keep("keras", measure_keras(1, order))


if __name__ == "__main__":
    main()
