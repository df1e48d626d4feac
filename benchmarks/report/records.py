"""Time and memory of reports of an experiment with very many records.

    python benchmarks/report/records.py SCRATCH --runs 1000 --iterations 10000 --metrics 10

Writes an experiment of generated learning curves into SCRATCH, unless one of these sizes is there, and runs each
command of `COMMANDS` on it in a process of its own. Prints wall time, processor time and the most memory that the
process held.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np
import size

from deviate.core.experiment import Experiment, Run
from deviate.runs.snapshot.manifest import Snapshot
from deviate.store.files import write_json
from deviate.store.folders import ExperimentFolder, Workspace
from deviate.store.records import TICK
from deviate.store.run_files import RECORD, Completed

VARIANT = "algo+impl"

#: Words after `deviate`, by what they ask; {out} is a file of the scratch folder.
COMMANDS = {
    "derive, terminal": ["report", "{name}"],
    "terminal again": ["report", "{name}"],
    "JSON": ["report", "{name}", "-o", "{out}.json"],
    "page": ["report", "{name}", "-o", "{out}.html"],
    "CSV of records": ["report", "{name}", "-o", "{out}.csv"],
}


def records_of(metrics: int, iterations: int, seed: int) -> np.ndarray:
    """Return the records of a run: each iteration begins, and every metric reports a value that falls with noise."""
    rng = np.random.default_rng(seed)
    rows = np.empty((iterations, metrics + 1), RECORD)
    rows["id"] = [TICK, *range(metrics)]
    rows["iteration"] = np.arange(iterations)[:, None]
    rows["elapsed"] = np.arange(iterations)[:, None] * 0.1
    fall = np.exp(-5 * np.arange(iterations) / iterations)[:, None]
    rows["value"] = fall * (1 + 0.05 * rng.standard_normal((iterations, metrics + 1)))
    return rows.ravel()


def write_experiment(workspace: Workspace, name: str, runs: int, iterations: int, metrics: int) -> None:
    """Write the files that so many runs leave behind."""
    workspace.prepare()
    folder = ExperimentFolder(workspace.experiment(name).path)
    folder.snapshot.mkdir(parents=True)
    write_json(folder.snapshot_file, Snapshot(project=str(workspace.project), source="", items=[], digests={}))
    for index in range(runs):
        run = folder.run(Run(variant=VARIANT, index=index))
        run.path.mkdir(parents=True)
        (run.path / "records-0-0.bin").write_bytes(records_of(metrics, iterations, index).tobytes())
        run.write_outcome(Completed(seconds=iterations * 0.1, ended="2026-03-01T12:00:00+00:00"))
    folder.write_experiment(
        Experiment(
            name=name, command=["python", "train.py"], entry="train.py", metrics=size.metrics_of(metrics),
            main_loop=None, source="", seed=0, planned={VARIANT: runs}, created="2026-03-01T12:00:00+00:00",
        )
    )  # fmt: skip


def measure(words: list[str], project: Path) -> tuple[float, float, float]:
    """Return seconds of wall time and of processors, and MiB of memory, of a command of Deviate that succeeds."""
    start = time.perf_counter()
    child = os.posix_spawn(
        sys.executable,
        [
            sys.executable,
            "-c",
            f"import os; os.chdir({str(project)!r}); from deviate.cli.main import main; main()",
            *words,
        ],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, str(project / "stdout"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)],
    )
    _, status, used = os.wait4(child, 0)
    assert status == 0, (words, status)
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Write, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scratch", type=Path)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--iterations", type=int, default=10_000)
    parser.add_argument("--metrics", type=int, default=10)
    parser.add_argument("--only", help="one of the commands")
    options = parser.parse_args()
    project = options.scratch.resolve()
    (project / ".git").mkdir(parents=True, exist_ok=True)
    name = f"r{options.runs}-i{options.iterations}-m{options.metrics}"
    workspace = Workspace(project)
    if not workspace.experiment(name).experiment_file.is_file():
        write_experiment(workspace, name, options.runs, options.iterations, options.metrics)
    print(f"{options.runs * options.iterations * options.metrics:,} values")
    for what, words in COMMANDS.items():
        if options.only in (None, what):
            typed = [word.format(name=name, out=project / name) for word in words]
            seconds, processors, memory = measure(typed, project)
            print(f"{what:18} {seconds:7.1f} s {processors:7.1f} CPU-s {memory:8.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
