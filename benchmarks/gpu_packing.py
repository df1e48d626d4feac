"""Make the same trainings 1, 4 and 8 at a time on one GPU: what packing costs, saves and changes.

    python benchmarks/gpu_packing.py [-n RUNS] [--epochs N] [--width N] [--per-gpu K ...] [--gpu DEVICE] [--on-cpu]

Per number of runs on the GPU: seconds until all runs have ended, the median time of a run, the most GPU memory that a
run was seen to hold, what the trial of ``per_gpu`` found, and whether the values of all runs equal, bit by bit, those
of the runs that were made one at a time (variant ``control``, one thread each).

Prints a table on standard error and one JSON object on standard output. Without a GPU it says so and ends with status
1. ``--on-cpu`` tries it out all the same, on a device that does not exist and is not used.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gpus import find_gpu

import deviate

TRAINING = Path(__file__).parent / "gpu_training"


def main() -> None:
    """Run the trainings, and print table and JSON."""
    options = parse_options()
    device = find_gpu()
    if device is None and not options.on_cpu:
        sys.exit("no GPU: nothing was run")
    rows = [measure(options, per_gpu) for per_gpu in options.per_gpu]
    first = rows[0]["values"]
    for row in rows:
        row["equal_to_first"] = row.pop("values") == first
    report = {"benchmark": "gpu_packing", "device": device or "cpu", "runs": options.runs, "packed": rows}
    print_table(report)
    print(json.dumps(report, indent=2))


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="The same trainings 1, 4 and 8 at a time on one GPU.")
    parser.add_argument("-n", "--runs", type=int, default=16, help="runs of each (default 16)")
    parser.add_argument("--epochs", type=int, default=10, help="epochs of each run (default 10)")
    parser.add_argument("--width", type=int, default=16, help="channels of the first convolution (default 16)")
    parser.add_argument("--per-gpu", type=int, nargs="+", default=[1, 4, 8], help="runs at a time (default 1 4 8)")
    parser.add_argument("--gpu", default="0", help="the GPU, as CUDA_VISIBLE_DEVICES has it (default 0)")
    parser.add_argument("--on-cpu", action="store_true", help="run it without a GPU, to try it out")
    return parser.parse_args()


def measure(options: argparse.Namespace, per_gpu: int) -> dict[str, Any]:
    """Make the runs, so many at a time, and return the figures of a row."""
    with tempfile.TemporaryDirectory() as name:
        project = Path(name) / "project"
        shutil.copytree(TRAINING, project)
        words = [
            *(
                "run",
                "-n",
                str(options.runs),
                "--gpus",
                f"{options.gpu},",
                "--set",
                f"per_gpu={per_gpu}",
                "--name",
                "packed",
            ),
            *("--set", "share=none", "--vary", "control", "--predictions", "none", "--", sys.executable, "train.py"),
            *("--epochs", str(options.epochs), "--width", str(options.width)),
        ]
        began = time.monotonic()
        # As many threads for each, however many share the cores: their number changes values by itself.
        variables = {**os.environ, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "deviate", *words]
        done = subprocess.run(command, cwd=project, env=variables, capture_output=True, text=True)
        seconds = time.monotonic() - began
        if done.returncode:
            sys.exit(done.stderr)
        experiment = deviate.load("packed", project=project)
        frame = experiment.frame(usage=True)
        values = experiment.records().query("not metric.str.contains('time')")
        trial = re.search(rf"^{per_gpu} runs on a GPU: ((?!trying).*)$", done.stderr, re.MULTILINE)
        return {
            "per_gpu": per_gpu,
            "seconds": seconds,
            "seconds_of_a_run": statistics.median(frame["seconds"]),
            "gpu_memory": None if frame["gpu_memory"].isna().all() else frame["gpu_memory"].max(),
            "trial": trial[1] if trial else "",
            "values": values.sort_values(["metric", "run", "iteration"])["value"].tolist(),
        }


def print_table(report: dict[str, Any]) -> None:
    """Print the figures for people."""
    print(f"{report['device']}, {report['runs']} runs each", file=sys.stderr)
    print(f"{'on the GPU':>10}{'all (s)':>10}{'a run (s)':>11}{'memory (MiB)':>14}  equal  trial", file=sys.stderr)
    for row in report["packed"]:
        memory = "-" if row["gpu_memory"] is None else f"{row['gpu_memory'] / 2**20:.0f}"
        equal = "yes" if row["equal_to_first"] else "no"
        line = f"{row['per_gpu']:>10}{row['seconds']:>10.1f}{row['seconds_of_a_run']:>11.2f}{memory:>14}  {equal:<5}"
        print(f"{line}  {row['trial']}", file=sys.stderr)


if __name__ == "__main__":
    main()
