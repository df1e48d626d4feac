"""Whole trainings, instrumented and bare, in turn."""

from __future__ import annotations

import compileall
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from costs import INJECTED
from intervals import summary

from deviate.analyse.project import analyse_project
from deviate.instrument.project import instrument_project
from deviate.project.target import find_target

RECORD_SIZE = 24


@dataclass(frozen=True)
class Usage:
    """What one training took."""

    wall_s: float
    cpu_s: float
    records: int = 0


@dataclass(frozen=True)
class Training:
    """A project, its command and the files to put over a copy of it."""

    project: Path
    words: list[str]
    overlay: dict[str, bytes]
    metrics: list[dict[str, str]]
    #: For each comparison of predictions with targets, whether the target comes first.
    comparisons: list[bool]


def prepare(project: Path, command: str) -> Training:
    """Find the metrics of `project` and instrument them."""
    words = shlex.split(command)
    target = find_target(words, project, None, project)
    findings = analyse_project(project, project / target.entry)
    chosen = [metric for metric in findings.metrics if metric.selected]
    instrumented = instrument_project(project, chosen, findings.main_loop, findings.draws, findings.comparisons)
    described = [
        {"name": m.name, "how": m.capture.how, "reads": m.capture.reads, "label": m.capture.label} for m in chosen
    ]
    overlay = {file: result.data for file, result in instrumented.items()}
    compared = [comparison.target_first for comparison in findings.comparisons]
    if words[0] in ("python", "python3"):
        words[0] = sys.executable
    return Training(project, words, overlay, described, compared)


def compare(training: Training, folder: Path, pairs: int) -> dict[str, object]:
    """Return how much longer the instrumented training takes, over `pairs` pairs run one after the other."""
    compileall.compile_dir(INJECTED, quiet=1)  # as an installer does
    run_once(training, folder, instrumented=False)  # disk caches
    bare, instrumented = [], []
    for pair in range(pairs):
        # A B, B A, A B: a machine that slows down as it warms up slows both
        for wrapped in (False, True) if pair % 2 == 0 else (True, False):
            usage = run_once(training, folder, instrumented=wrapped)
            (instrumented if wrapped else bare).append(usage)
    return {
        "pairs": pairs,
        "records": instrumented[-1].records,
        "bare_wall_s": statistics.median(usage.wall_s for usage in bare),
        "wall": summary([b.wall_s / a.wall_s for a, b in zip(bare, instrumented, strict=True)]),
        "cpu": summary([b.cpu_s / a.cpu_s for a, b in zip(bare, instrumented, strict=True)]),
    }


def run_once(training: Training, folder: Path, instrumented: bool) -> Usage:
    """Run the training in a fresh copy of its project."""
    copy, records = folder / "copy", folder / "run-records"
    for path in (copy, records):
        shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(training.project, copy, ignore=shutil.ignore_patterns(".deviate", "__pycache__", ".venv"))
    records.mkdir()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment = {**inherited, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    if instrumented:
        for file, data in training.overlay.items():
            (copy / file).write_bytes(data)
        environment["DEVIATE_RUNTIME"] = str(write_order(training, folder, copy, records))
        environment["PYTHONPATH"] = str(INJECTED)
    usage = time_command(training.words, copy, environment, records / "stdout.log")
    size = sum(path.stat().st_size for path in records.glob("records-*.bin"))
    return Usage(usage.wall_s, usage.cpu_s, size // RECORD_SIZE)


def write_order(training: Training, folder: Path, copy: Path, records: Path) -> Path:
    """Write what the runtime has to do: record and watch, and leave all else as it is."""
    order = {
        "schema": 1,
        "records": str(records),
        "original": str(training.project),
        "overlay": str(copy),
        "kept": [],
        "seed": None,
        "hold_impl": False,
        "threads": None,
        "reports": True,
        "metrics": training.metrics,
    }
    path = folder / "runtime.json"
    path.write_text(json.dumps(order))
    return path


def time_command(words: list[str], folder: Path, environment: dict[str, str], log: Path) -> Usage:
    """Run a command, its output written to `log`, and return the time it took."""
    with log.open("wb") as output:
        start = time.perf_counter()
        process = subprocess.Popen(words, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{shlex.join(words)} failed in {folder}:\n{log.read_text(errors='replace')[-2000:]}")
    return Usage(wall, used.ru_utime + used.ru_stime)
