"""Whole trainings, instrumented and bare, side by side."""

from __future__ import annotations

import compileall
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec
from costs import INJECTED
from intervals import summary

from deviate.core.experiment import Run
from deviate.runs.snapshot.working_copy import give_code
from deviate.source.analysis import analyse_project
from deviate.source.edits import FileCode
from deviate.source.entry import find_target
from deviate.source.overlay import file_codes, instrument_project
from deviate.store.folders import RunFolder
from deviate.store.run_files import read_records


@dataclass(frozen=True)
class Usage:
    """What one training took."""

    cpu_s: float
    records: int


@dataclass(frozen=True)
class Started:
    """A training under way."""

    process: subprocess.Popen[bytes]
    records: Path

    def usage(self) -> Usage:
        """Wait for its end; end everything where it failed."""
        _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode:
            output = (self.records / "stdout.log").read_text(errors="replace")
            sys.exit(f"{self.process.args} failed in {self.records.parent}:\n{output[-2000:]}")
        records = sum(len(read_records(path)) for path in self.records.glob("records-*.bin"))
        return Usage(used.ru_utime + used.ru_stime, records)


@dataclass(frozen=True)
class Training:
    """A project, its command and the code that Python is given for its files."""

    project: Path
    words: list[str]
    overlay: dict[str, FileCode]
    metrics: list[dict[str, str]]
    #: For each comparison of predictions with targets, whether the target comes first.
    comparisons: list[bool]
    #: Whether it is noted from which lines text is printed, as `deviate run` does where the source shows no main loop.
    reports: bool


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
    compared = [comparison.target_first for comparison in findings.comparisons]
    if words[0] in ("python", "python3"):
        words[0] = sys.executable
    return Training(project, words, file_codes(instrumented), described, compared, reports=findings.main_loop is None)


def compare(training: Training, folder: Path, pairs: int) -> dict[str, object]:
    """Return how much more processor time the instrumented training takes, over `pairs` pairs.

    The two of a pair run at once on one core: they take turns there within milliseconds, so that what else the machine
    does meets both alike. One after the other, single ratios range from 0.85 to 1.14 where the machine is shared.
    """
    compileall.compile_dir(INJECTED, quiet=1)  # as an installer does
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # the runs inherit it
    start(training, folder, instrumented=False).usage()  # disk caches
    bare, instrumented = [], []
    for pair in range(pairs):
        order = (False, True) if pair % 2 == 0 else (True, False)
        started = {wrapped: start(training, folder, instrumented=wrapped) for wrapped in order}
        bare.append(started[False].usage())
        instrumented.append(started[True].usage())
    return {
        "pairs": pairs,
        "records": instrumented[-1].records,
        "bare_cpu_s": statistics.median(usage.cpu_s for usage in bare),
        "cpu": summary([b.cpu_s / a.cpu_s for a, b in zip(bare, instrumented, strict=True)]),
    }


def start(training: Training, folder: Path, instrumented: bool) -> Started:
    """Start the training in a fresh copy of its project."""
    own = folder / ("instrumented" if instrumented else "bare")
    shutil.rmtree(own, ignore_errors=True)
    copy, records = own / "copy", own / "run-records"
    shutil.copytree(training.project, copy, ignore=shutil.ignore_patterns(".deviate", "__pycache__", ".venv"))
    records.mkdir()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment = {**inherited, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    if instrumented:
        environment["DEVIATE_RUNTIME"] = str(write_order(training, own, copy, records))
        environment["PYTHONPATH"] = str(INJECTED)
    with (records / "stdout.log").open("wb") as output:
        process = subprocess.Popen(training.words, cwd=copy, env=environment, stdout=output, stderr=subprocess.STDOUT)
    return Started(process, records)


def given_code(training: Training, folder: Path, copy: Path) -> object:
    """Write the code that Python is given for files in `copy` into a folder; return where it lies."""
    return msgspec.to_builtins(give_code(RunFolder(folder, Run(variant="as-is", index=0)), copy, training.overlay))


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
        "reports": training.reports,
        "metrics": training.metrics,
        "instrumented": given_code(training, folder, copy),
    }
    path = folder / "runtime.json"
    path.write_text(json.dumps(order))
    return path
