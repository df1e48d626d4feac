"""Damage every stored file of an experiment, and see whether a report gives another number than before.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/faults/stored.py [--times N] > stored.json

Three runs of ``examples/digits_mlp`` are made. Each file that a report reads is cut at N random places and has one bit
flipped at N others; after each of these the whole report is made as JSON and set against the one made before.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deviate.errors import DeviateError
from deviate.inference.experiment import experiment_facts
from deviate.replicate.workspace.folders import ExperimentFolder, Workspace
from deviate.report.writers.experiment_json import experiment_contract
from deviate.results.results import read_results

EXAMPLE = Path(__file__).parents[2] / "examples" / "digits_mlp"

#: Files that a report reads, below the folder of the experiment; those of the second run stand for all runs.
FILES = ("experiment.json", "snapshot.json", "runs/*-1/*.json", "runs/*-1/*.jsonl", "runs/*-1/*.bin",
         "runs/*-1/*.parquet")  # fmt: skip

NOW = datetime(2026, 1, 1, tzinfo=UTC)

#: What came of a damage. The last of them is the one that must not be.
OUTCOMES = ("refused", "run left out", "same report", "WRONG NUMBER")


def main() -> None:
    """Damage, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = make_runs(Path(name))
        rng = random.Random(options.seed)
        rows = [row for pattern in FILES for path in sorted(folder.path.glob(pattern))
                for row in damage(path, folder, rng, options.times)]  # fmt: skip
    print(f"| file | damage | {' | '.join(OUTCOMES)} |\n|---|---|{'---:|' * len(OUTCOMES)}", file=sys.stderr)
    for row in rows:
        counts = " | ".join(str(row[outcome]) for outcome in OUTCOMES)
        print(f"| {row['file']} | {row['damage']} | {counts} |", file=sys.stderr)
    print(json.dumps({**vars(options), "seconds": round(time.perf_counter() - started, 1), "rows": rows}))
    sys.exit(any(row["WRONG NUMBER"] for row in rows))


def make_runs(project: Path) -> ExperimentFolder:
    """Make three short runs in a copy of the example."""
    (project / "train.py").write_bytes((EXAMPLE / "train.py").read_bytes())
    command = [sys.executable, "train.py", "--epochs", "2"]
    subprocess.run(
        [sys.executable, "-m", "deviate", "run", "-n", "3", "--name", "e", "--", *command],
        cwd=project, check=True, capture_output=True,
    )  # fmt: skip
    return Workspace(project).find_experiment("e")


def damage(path: Path, folder: ExperimentFolder, rng: random.Random, times: int) -> list[dict[str, Any]]:
    """Damage one file in both ways, and count what came of it; the file is as it was afterwards."""
    whole, data = report(folder), path.read_bytes()
    rows = []
    for how, harm in (("cut", cut), ("one bit flipped", flipped)):
        counts: Counter[str] = Counter()
        for _ in range(times):
            path.write_bytes(harm(data, rng))
            counts[outcome(folder, whole)] += 1
        path.write_bytes(data)
        rows.append({"file": path.name, "damage": how, **{each: counts[each] for each in OUTCOMES}})
    return rows


def cut(data: bytes, rng: random.Random) -> bytes:
    """Return the beginning of `data`."""
    return data[: rng.randrange(len(data))]


def flipped(data: bytes, rng: random.Random) -> bytes:
    """Return `data` with one bit changed."""
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def outcome(folder: ExperimentFolder, whole: dict[str, Any]) -> str:
    """Say what a report is after a damage; anything but an error of Deviate's own ends the benchmark."""
    try:
        found = report(folder)
    except DeviateError:
        return "refused"
    if found == whole:
        return "same report"
    (before,), (after,) = whole["variants"], found["variants"]
    left_out = [run["status"] for run in after["runs"]] == ["completed", "failed", "completed"]
    kept = [[each["values"][0], each["values"][2]] for each in before["metrics"]]
    same = sorted(kept) == sorted(each["values"] for each in after["metrics"])
    return "run left out" if left_out and same else "WRONG NUMBER"


def report(folder: ExperimentFolder) -> dict[str, Any]:
    """Return the report as programs read it."""
    contract = experiment_contract(experiment_facts(read_results(folder), NOW))
    return json.loads(json.dumps(contract, default=str))


if __name__ == "__main__":
    main()
