"""Measure what it costs that each factor draws from a stream of its own, over whole trainings.

    python benchmarks/factors/overhead.py [--pairs N] FOLDER COMMAND [FOLDER COMMAND]...

    python benchmarks/factors/overhead.py examples/digits_mlp "python train.py" examples/digits_cnn "python main.py"

Each pair is a training with streams and one without, both with the runtime in them, the implementation held fixed and
one thread, in a random order. Streams change what is drawn, so that a training that stops early may take another number
of epochs: give it one that does not. What a whole run costs beside the bare program, `benchmarks/overhead/control.py`
measures. Prints a table on standard error and one JSON object with the same figures on standard output; intervals are
of the median, from the order statistics, with at least 95 %.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from scipy import stats

INJECTED = Path(__file__).parents[2] / "src" / "deviate" / "runtime" / "injected"
FACTORS = ("init", "shuffle", "augment", "layers", "other", "data")


def main() -> None:
    """Measure, and print table and JSON."""
    parser = argparse.ArgumentParser(description="Measure what streams cost.")
    parser.add_argument("trainings", nargs="+", metavar="FOLDER COMMAND", help="trainings to measure")
    parser.add_argument("--pairs", type=int, default=9, help="pairs of runs (default 9)")
    options = parser.parse_args()
    if len(options.trainings) % 2:
        parser.error("each FOLDER needs a COMMAND")
    trainings = zip(options.trainings[::2], options.trainings[1::2], strict=True)
    report: dict[str, Any] = {
        "benchmark": "factors-overhead",
        "python": platform.python_version(),
        "machine": platform.processor() or platform.machine(),
        "pairs": options.pairs,
        "trainings": {
            f"{folder}: {command}": measure(Path(folder), command, options.pairs) for folder, command in trainings
        },
    }
    print_table(report)
    print(json.dumps(report, indent=2))


def measure(project: Path, command: str, pairs: int) -> dict[str, Any]:
    """Return the ratios of time with streams to time without."""
    words = shlex.split(command)
    words = [sys.executable if word in ("python", "python3") else word for word in words]
    order = random.Random(0)
    ratios: dict[str, list[float]] = {"wall": [], "cpu": []}
    plain = []
    with tempfile.TemporaryDirectory() as name:
        work = Path(name) / "work"
        shutil.copytree(project, work, ignore=shutil.ignore_patterns(".deviate"))
        run_once(work, words, "streams", Path(name) / "warm", {})
        for pair in range(pairs):
            arms = ["runtime", "streams"]
            order.shuffle(arms)
            layout = {"PYTHONHASHSEED": str(order.randrange(2**32)), "PADDING": "." * order.randrange(4096)}
            took = {arm: run_once(work, words, arm, Path(name) / f"{pair}-{arm}", layout) for arm in arms}
            plain.append(took["runtime"]["wall"])
            for clock, found in ratios.items():
                found.append(took["streams"][clock] / took["runtime"][clock])
    return {"plain_wall_s": statistics.median(plain), **{clock: summary(found) for clock, found in ratios.items()}}


def run_once(work: Path, words: list[str], arm: str, records: Path, layout: dict[str, str]) -> dict[str, float]:
    """Run a training once, with ``streams`` or with the ``runtime`` only; return the seconds it took.

    `layout` are variables that change the order of sets and move what lies where in memory: what either costs is not to
    be taken for a cost of one arm.
    """
    records.mkdir()
    control = "streams" if arm == "streams" else None
    settings = {
        "records": str(records),
        "original": "/nowhere",
        "overlay": str(work),
        "kept": [],
        "control": control,
        "seeds": {factor: place for place, factor in enumerate(FACTORS)} if control else None,
        "varying": [],
        "strict": False,
        "bit": None,
        "draws": [],
        "hold_impl": True,
        "threads": 1,
        "metrics": [],
    }
    (records / "runtime.json").write_text(json.dumps(settings))
    runtime = {"DEVIATE_RUNTIME": str(records / "runtime.json"), "PYTHONPATH": str(INJECTED)}
    variables = {**os.environ, "OMP_NUM_THREADS": "1", **layout, **runtime}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, cwd=work, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"wall": wall, "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def summary(ratios: list[float]) -> dict[str, float]:
    """Return median, its interval and range."""
    ordered = sorted(ratios)
    outside = max(int(stats.binom.ppf(0.025, len(ordered), 0.5)) - 1, 0)
    interval = {"low": ordered[outside], "high": ordered[-1 - outside]}
    return {"median": statistics.median(ordered), **interval, "min": ordered[0], "max": ordered[-1]}


def print_table(report: dict[str, Any]) -> None:
    """Print the figures for people."""
    columns = ("median", "low", "high", "min", "max")
    lines = [f"{'with streams / without':<60}" + "".join(f"{column:>9}" for column in columns)]
    for name, figures in report["trainings"].items():
        lines.append(f"{name} ({figures['plain_wall_s']:.2f} s)")
        for clock in ("wall", "cpu"):
            row = figures[clock]
            lines.append(f"  {clock:<58}" + "".join(f"{row[key]:>9.4f}" for key in columns))
    print("\n".join(lines), file=sys.stderr)


if __name__ == "__main__":
    main()
