"""How long the measures of predictions take for 100 runs, 50,000 examples and 1,000 classes, and how much memory.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/predictions/speed.py > speed.json

Each measure runs in a process of its own, `--repeats` times; the median times count, without making the data, and the
largest memory that a process ever had, with the data. ``pdist`` of SciPy gives the matrix of churn alone, to compare.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from deviate.stats.agreement import abstention, agreement, correctness_correlation
from deviate.stats.churn import churn, churn_between, class_churn, excess_churn
from deviate.stats.classes import class_rates, group_rates
from deviate.stats.ensembles import example_variance, vote_ensembles

#: What is bounded: 10 s and 4 GiB for these together.
BOUNDED = ("churn", "flip list", "per class")

MEASURES: dict[str, Callable[[Any, Any], Any]] = {
    "churn": lambda labels, targets: churn(labels),
    "flip list": agreement,
    "per class": class_rates,
    "churn per class": class_churn,
    "churn in parts": excess_churn,
    "churn between 50 and 50 runs": lambda labels, targets: churn_between(labels[:50], labels[50:]),
    "correlation of correctness": correctness_correlation,
    "10 groups, one class positive": lambda labels, targets: group_rates(labels, targets, targets % 10, positive=1),
    "parts of the variance": lambda labels, targets: example_variance(labels == targets),
    "ensembles of 2, 10 and 50 runs": lambda labels, targets: vote_ensembles(
        labels, targets, np.random.default_rng(0), sizes=[2, 10, 50]
    ),
    "abstention": abstention,
    "pdist of SciPy": lambda labels, targets: pdist(labels, "hamming"),
}


def main() -> None:
    """Time all measures, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--examples", type=int, default=50_000)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    shape = (options.runs, options.examples, options.classes)
    context = multiprocessing.get_context("spawn")
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(options.repeats):
        for name in ("data", *MEASURES):
            with context.Pool(1) as pool:
                rows.setdefault(name, []).append(pool.apply(timed, (name, shape)))
    figures = {
        name: {
            "seconds": statistics.median(run[0] for run in row),
            "processor_seconds": statistics.median(run[1] for run in row),
            "peak_mib": max(run[2] for run in row),
        }
        for name, row in rows.items()
    }
    together = sum(figures[name]["seconds"] for name in BOUNDED)
    print("| measure | wall time (s) | processor time (s) | peak memory (MiB) |\n|---|---:|---:|---:|", file=sys.stderr)
    for name, row in figures.items():
        print(
            f"| {name} | {row['seconds']:.2f} | {row['processor_seconds']:.2f} | {row['peak_mib']:.0f} |",
            file=sys.stderr,
        )
    print(f"\n{', '.join(BOUNDED)} together: {together:.1f} s", file=sys.stderr)
    print(json.dumps({**vars(options), "together_s": together, "measures": figures}))


def timed(name: str, shape: tuple[int, int, int]) -> tuple[float, float, float]:
    """Return wall and processor seconds of one measure, none for ``data``, and its process's peak memory in MiB."""
    labels, targets = predictions(*shape)
    started, busy = time.perf_counter(), time.process_time()
    if name in MEASURES:
        MEASURES[name](labels, targets)
    seconds, processor = time.perf_counter() - started, time.process_time() - busy
    return seconds, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def predictions(runs: int, examples: int, classes: int) -> tuple[Any, Any]:
    """Make 64-bit labels of which about 77 % are right; wrong ones are of three classes for each example."""
    rng = np.random.default_rng(0)
    targets = rng.integers(0, classes, examples)
    probability = rng.beta(0.5, 0.15, examples)
    wrong = rng.integers(0, classes, (3, examples))
    labels = np.empty((runs, examples), np.int64)
    for row in labels:
        chosen = wrong[rng.integers(0, 3, examples), np.arange(examples)]
        row[:] = np.where(rng.random(examples) < probability, targets, chosen)
    return labels, targets


if __name__ == "__main__":
    main()
