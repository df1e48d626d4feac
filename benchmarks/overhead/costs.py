"""Cost of one record, beside other ways to log a number, all in this process."""

from __future__ import annotations

import csv
import importlib
import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

INJECTED = Path(__file__).parents[2] / "src" / "deviate" / "runtime" / "injected"

Log = Callable[[int], object]

#: Calls of one repeat: few, so that most repeats are over before the machine turns to something else. Every way is
#: measured once per repeat, in turn, so that all meet the same moods of the machine.
CALLS = 1_000
SLOW_CALLS = 20
SLOW = "tensorboard add_scalar"


def measure_costs(folder: Path, repeats: int) -> dict[str, float]:
    """Return the median cost in nanoseconds of one call of each way to log a number."""
    with ExitStack() as stack:
        ways = {**ways_of_deviate(folder), **other_ways(folder, stack)}
        costs: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(repeats):
            for name, log in ways.items():
                costs[name].append(time_calls(log, SLOW_CALLS if name.startswith(SLOW) else CALLS))
    return {name: statistics.median(measured) for name, measured in costs.items()}


def time_calls(log: Log, calls: int) -> float:
    """Return nanoseconds per call, those of an empty call taken off."""
    return (elapsed_ns(log, calls) - elapsed_ns(lambda step: None, calls)) / calls


def elapsed_ns(log: Log, calls: int) -> int:
    """Return how long `calls` calls take."""
    steps = range(calls)
    start = time.perf_counter_ns()
    for step in steps:
        log(step)
    return time.perf_counter_ns() - start


def ways_of_deviate(folder: Path) -> dict[str, Log]:
    """Return the recording calls of an overlay, with values of the libraries that are there."""
    record, tick = recording_functions(folder)
    ways: dict[str, Log] = {"deviate, a float": lambda step: record(0, 0.125), "deviate, an iteration": tick}
    if find_spec("numpy"):
        import numpy as np

        scalar = np.float32(0.125)
        ways["deviate, a NumPy scalar"] = lambda step: record(0, scalar)
    if find_spec("torch"):
        import torch

        tensor = torch.tensor(0.125)
        ways["deviate, a 0-d torch tensor"] = lambda step: record(0, tensor)
        ways["(reading the torch tensor alone)"] = lambda step: tensor.item()
    return ways


def recording_functions(folder: Path) -> tuple[Callable[[int, Any], Any], Log]:
    """Start the runtime in this process as far as recording goes."""
    sys.path.insert(0, str(INJECTED))
    process: Any = importlib.import_module("deviate_runtime.process")
    wraps: Any = importlib.import_module("deviate_runtime.wraps")
    runtime = process.Process({"records": str(folder), "metrics": [{"name": "loss", "how": "value"}]})
    runtime.events.begin()
    functions, recorder = wraps.make_wraps(runtime)
    return functions["__dv__"], lambda step: recorder.tick()


def other_ways(folder: Path, stack: ExitStack) -> dict[str, Log]:
    """Return other loggers, each writing to a file of its own."""
    rows = csv.writer(stack.enter_context((folder / "log.csv").open("w", newline="")))
    text = stack.enter_context((folder / "log.txt").open("w"))
    flushed = stack.enter_context((folder / "flushed.txt").open("w"))
    raw = os.open(folder / "raw.bin", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    stack.callback(os.close, raw)
    ways: dict[str, Log] = {
        "(os.write of 24 bytes alone)": lambda step: os.write(raw, bytes(24)),
        "csv row of '%.5f' (as DEVIATE)": lambda step: rows.writerow([step, f"{0.125:.5f}"]),
        "print to a file": lambda step: print("loss", 0.125, file=text),
        "print to a file, flushed": lambda step: print("loss", 0.125, file=flushed, flush=True),
    }
    if find_spec("tensorboard") and find_spec("torch"):
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(str(folder / "board"))
        stack.callback(writer.close)
        ways[SLOW] = lambda step: writer.add_scalar("loss", 0.125, step)
    return ways
