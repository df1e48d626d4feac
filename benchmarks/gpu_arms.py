"""Train a small CNN in the four arms on a GPU: how much runs differ in each, and what determinism costs.

    python benchmarks/gpu_arms.py [-n RUNS] [--epochs N] [--width N] [--on-cpu]

Arms as in Zhuang et al. ("Randomness in neural network training", 2022): every factor, algorithmic factors alone,
implementation alone, none. Per arm: SD of the metrics, churn (share of test examples on which two runs' predictions
differ, mean over pairs of runs), runs that are bit-identical, and the median time of a run over that of the arm in
which the frameworks' defaults hold: the price of determinism. Operations that warned of having no deterministic form
are listed.

Prints a table on standard error and one JSON object on standard output. Without a GPU it says so and ends with status
1: on a CPU with fixed threads there is no implementation noise to be measured. ``--on-cpu`` tries it out all the same.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from gpus import find_gpu

import deviate
from deviate.observe.events import warned_operations
from deviate.observe.records import read_run

TRAINING = Path(__file__).parent / "gpu_training"
ARMS = ("algo+impl", "algo", "impl", "control")

#: The frameworks' defaults, which determinism is compared with.
BASE = "algo+impl"


def main() -> None:
    """Run the arms, and print table and JSON."""
    options = parse_options()
    device = find_gpu()
    if device is None and not options.on_cpu:
        sys.exit("no GPU: nothing was run; implementation noise is measured on a GPU")
    with tempfile.TemporaryDirectory() as name:
        project = Path(name) / "project"
        shutil.copytree(TRAINING, project)
        words = ["train.py", "--epochs", str(options.epochs), "--width", str(options.width)]
        experiment = deviate.run(
            [sys.executable, *words], n=options.runs, variants=("arms",), project=project, here=project
        )
        report = {
            "benchmark": "gpu_arms",
            "device": device or "cpu",
            "runs": options.runs,
            "epochs": options.epochs,
            "arms": describe(experiment),
        }
    print_table(report)
    print(json.dumps(report, indent=2))


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="The four arms of a small CNN on a GPU.")
    parser.add_argument("-n", "--runs", type=int, default=8, help="runs of each arm (default 8)")
    parser.add_argument("--epochs", type=int, default=10, help="epochs of each run (default 10)")
    parser.add_argument("--width", type=int, default=32, help="channels of the first convolution (default 32)")
    parser.add_argument("--on-cpu", action="store_true", help="run it without a GPU, to try it out")
    return parser.parse_args()


def describe(experiment: deviate.api.StoredExperiment) -> dict[str, Any]:
    """Return the figures of each arm."""
    facts = experiment.report(curves=False).facts
    reports = {report.variant: report for report in facts.variants}
    base = statistics.median(run.seconds for run in reports[BASE].runs)
    figures = {}
    for arm, report in reports.items():
        predictions = read_predictions(experiment, arm)
        figures[arm] = {
            "completed": report.completed,
            "sd": {metric.name: metric.spread.sd for metric in report.metrics},
            "churn": mean_churn(predictions),
            "distinct_predictions": len({array.tobytes() for array in predictions}),
            "distinct_weights": len({run.prints.get("weights") for run in report.runs}),
            "seconds": statistics.median(run.seconds for run in report.runs),
            "price_of_determinism": statistics.median(run.seconds for run in report.runs) / base,
        }
    warned = warned_operations(read_run(run) for run in experiment.folder.runs())
    figures["control"]["warned_operations"] = [found.operation for found in warned]
    return figures


def read_predictions(experiment: deviate.api.StoredExperiment, arm: str) -> list[np.ndarray]:
    """Return what the model of each completed run predicts, arrays of shape (n_test,)."""
    folders = [folder for folder in experiment.folder.runs() if folder.run.variant == arm]
    found = [next(folder.path.glob("work/**/predictions.npy"), None) for folder in folders]
    return [np.load(path) for path in found if path is not None]


def mean_churn(predictions: list[np.ndarray]) -> float | None:
    """Return the mean share of examples on which two runs differ (Milani Fard et al. 2016), None for fewer than two."""
    pairs = list(itertools.combinations(predictions, 2))
    return float(np.mean([np.mean(a != b) for a, b in pairs])) if pairs else None


def print_table(report: dict[str, Any]) -> None:
    """Print the figures for people."""
    arms = report["arms"]
    metrics = sorted(next(iter(arms.values()))["sd"])
    print(f"{report['device']}, {report['runs']} runs an arm, {report['epochs']} epochs", file=sys.stderr)
    print(f"{'':<34}" + "".join(f"{arm:>12}" for arm in arms), file=sys.stderr)
    rows = [(f"SD of {name}", [arm["sd"].get(name) for arm in arms.values()]) for name in metrics]
    for title in ("churn", "distinct_predictions", "distinct_weights", "seconds", "price_of_determinism"):
        rows.append((title.replace("_", " "), [arm[title] for arm in arms.values()]))
    for title, values in rows:
        shown = "".join(f"{'-' if value is None else format(value, '.5g'):>12}" for value in values)
        print(f"{title:<34}{shown}", file=sys.stderr)
    print(f"warned: {', '.join(arms['control']['warned_operations']) or 'none'}", file=sys.stderr)


if __name__ == "__main__":
    main()
