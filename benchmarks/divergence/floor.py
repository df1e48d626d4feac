"""What no recorder of operations can do without, in processor time, as a multiple of the same training without it.

    python benchmarks/divergence/floor.py [-n ROUNDS]

In one process epochs of `examples/digits_mlp` are trained in turn without a dispatch mode, under one that only calls
each operation (`empty`), and under one that also takes the digests of what enters and leaves it (`digests`), but for
views, as the recorder does; nothing is written, and no statement is looked at. One JSON object is printed.
"""

import argparse
import functools
import json
import statistics
import sys
import time
from pathlib import Path

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from deviate.runs.environment import INJECTED

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(INJECTED), str(ROOT / "examples" / "digits_mlp")]
import train as example  # noqa: E402
from deviate_runtime.diverging.digests import Digests  # noqa: E402
from deviate_runtime.diverging.operations import Kind, sort  # noqa: E402


class Empty(TorchDispatchMode):
    """Calls each operation."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class Digested(TorchDispatchMode):
    """Calls each operation, and reads what enters and leaves it, unless it is a view."""

    digests = Digests(None)
    kind_of = staticmethod(functools.cache(functools.partial(Kind, torch)))

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kind = self.kind_of(function)
        if self.digests.is_reading or kind.is_skipped or kind.is_view:
            return function(*args, **(kwargs or {}))
        self.take(args, kwargs)
        result = function(*args, **(kwargs or {}))
        self.take(result)
        return result

    def take(self, *values):
        """Take the digests of the tensors in values."""
        tensors = []
        sort(torch, values, tensors, [])
        for tensor in tensors:
            self.digests.tensor(torch, tensor)


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", "--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    loader, _ = example.load_data(64)
    model = example.MLP()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    modes = {"plain": None, "empty": Empty(), "digests": Digested()}
    # The first round fills what is cached.
    times = [{name: seconds(mode, model, loader, optimizer) for name, mode in modes.items()} for _ in range(rounds + 1)]
    found = {name: summary([each[name] / each["plain"] for each in times[1:]]) for name in modes if name != "plain"}
    step = 1000 * statistics.median(each["plain"] for each in times) / len(loader)
    print(json.dumps({"schema": 1, "step_ms": round(step, 2), "rounds": rounds, "floors": found}))


def seconds(mode, model, loader, optimizer):
    """Return the processor time of an epoch."""
    began = time.process_time()
    if mode is None:
        example.train(model, loader, optimizer, 0, 0, "cpu")
    else:
        with mode:
            example.train(model, loader, optimizer, 0, 0, "cpu")
    return time.process_time() - began


def summary(ratios):
    """Return the median of ratios, and between what they lie."""
    return {"median": round(statistics.median(ratios), 2), "range": [round(min(ratios), 2), round(max(ratios), 2)]}


if __name__ == "__main__":
    main()
