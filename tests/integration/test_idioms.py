"""Small programs, one for each way of reporting: analysed, instrumented, run bare and instrumented.

The programs in ``idioms`` say in comments which metrics to expect and where their own output shows the values; what is
recorded must be what they show. A program of several files is a folder. ``idiom_libraries`` stands for the reporting
libraries and prints what it is given; a program that ``needs`` frameworks runs with the real ones instead, in forks of
a process that has imported them: how the runtime attends to frameworks as they are imported is tested in
``test_framework_trainings.py`` and ``tests/runtime``; of what these lack, one runs in a process of its own here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from factor_runs import FAMILIES, Zygote, Zygotes
from installed import require

from deviate.runs.prepare import runtime_metric
from deviate.source.analysis import analyse_project
from deviate.source.overlay import instrument_project
from deviate.store import slots

HERE = Path(__file__).parent
PROGRAMS = sorted([*(HERE / "idioms").glob("*.py"), *(one.parent for one in (HERE / "idioms").glob("*/program.py"))])
LIBRARIES = HERE / "idiom_libraries"
INJECTED = HERE.parents[1] / "src" / "deviate" / "runtime" / "injected"
EXPECTED = re.compile(r"^# expect (.+?) = (.+)$", re.MULTILINE)
NEEDED = re.compile(r"^# needs (.+)$", re.MULTILINE)
TIMES = re.compile(r"^# times (.+)$", re.MULTILINE)
TIMEOUT_S = 120
QUIET = {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}

#: Attends to graphs of TensorFlow 1 as they are imported.
ALONE = "tf1_graph"

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Program:
    """A program of the tests."""

    path: Path

    @property
    def source(self) -> str:
        """Text of the script that is started."""
        return (self.path / "program.py" if self.path.is_dir() else self.path).read_text(encoding="utf-8")

    @property
    def needed(self) -> set[str]:
        """Frameworks it runs with, instead of the stand-ins."""
        return {name for names in NEEDED.findall(self.source) for name in names.split(", ")}

    @property
    def times(self) -> set[str]:
        """Metrics that no two runs have equal, and that it does not show."""
        return {name for names in TIMES.findall(self.source) for name in names.split(", ")}

    def copy_to(self, folder: Path) -> None:
        """Put its files where it is to run."""
        if self.path.is_dir():
            shutil.copytree(self.path, folder, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            folder.mkdir()
            shutil.copy(self.path, folder / "program.py")


@dataclass(frozen=True)
class Seen:
    """What a run printed and wrote, and what was recorded of it by name."""

    stdout: str
    files: dict[str, str]
    recorded: dict[str, list[float]]
    ticks: int

    def shown(self, pattern: str) -> list[str]:
        """Find texts in what was printed; where it shows none, in the files that were written."""
        texts = (self.stdout, "\n".join(self.files.values()))
        return next((found for text in texts if (found := re.findall(pattern, text, re.MULTILINE))), [])


def parent_of(program: Program, zygotes: Zygotes) -> Zygote | None:
    """Return the process whose forks run `program`, None for one that needs no framework."""
    for family in ("jax", "trainers"):
        if program.needed & {module.partition(".")[0] for module in FAMILIES[family][0]} - {"numpy"}:
            return zygotes[family]
    return None


def run_program(
    program: Program, parent: Zygote | None, folder: Path, records: Path | None, config: Path | None
) -> Seen:
    """Run ``program.py`` in a folder, with the runtime where there is a configuration."""
    before = set(folder.iterdir())
    run = run_alone(program, folder, config) if parent is None else run_forked(parent, folder, config)
    assert run.returncode == 0, run.stderr.decode()
    written = {one.name: one.read_bytes().decode() for one in sorted(set(folder.iterdir()) - before) if one.is_file()}
    recorded, ticks = read_records(records) if records is not None else ({}, 0)
    return Seen(run.stdout.decode(), written, recorded, ticks)


def run_alone(program: Program, folder: Path, config: Path | None) -> subprocess.CompletedProcess[bytes]:
    """Run ``program.py`` in a process of its own."""
    path = [str(INJECTED)] if config is not None else []
    path += [] if program.needed else [str(LIBRARIES)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DEVIATE"))}
    variables = {**kept, **QUIET, "PYTHONPATH": os.pathsep.join(path)}
    if config is not None:
        variables["DEVIATE_RUNTIME"] = str(config)
    command = [sys.executable, "program.py"]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, timeout=TIMEOUT_S, check=False)


def run_forked(parent: Zygote, folder: Path, config: Path | None) -> subprocess.CompletedProcess[bytes]:
    """Run ``program.py`` in a fork of a process that has its frameworks."""
    program, output, errors = (folder / "program.py", folder.with_suffix(".output"), folder.with_suffix(".errors"))
    runtime = None if config is None else str(config)
    files = {"program": str(program), "folder": str(folder), "output": str(output), "errors": str(errors)}
    (status,) = parent.run_jobs([{**files, "runtime": runtime, "words": []}])
    return subprocess.CompletedProcess([str(program)], status, output.read_bytes(), errors.read_bytes())


def read_records(folder: Path) -> tuple[dict[str, list[float]], int]:
    """Read values by metric id or name given at run time, and the number of iterations."""
    events = [json.loads(line) for path in folder.glob("events-*.jsonl") for line in path.read_text().splitlines()]
    names = {event["id"]: event["name"] for event in events if event["event"] == "name"}
    found: dict[str, list[float]] = {}
    ticks = 0
    files = sorted(folder.glob("records-*.bin"))
    for metric, _, _, value in (record for path in files for record in slots.read_records(path).tolist()):
        if metric == -1:
            ticks += 1
        else:
            found.setdefault(names.get(metric, str(metric)), []).append(value)
    return found, ticks


def instrumented_run(tmp_path: Path, program: Program, parent: Zygote | None) -> Seen:
    """Analyse and instrument a program, and run it with the runtime in its process."""
    original, overlay, records = tmp_path / "original", tmp_path / "overlay", tmp_path / "records"
    program.copy_to(original)
    program.copy_to(overlay)
    records.mkdir()
    found = analyse_project(original, Path("program.py"))
    metrics = [metric for metric in found.metrics if metric.selected]
    for file, result in instrument_project(original, metrics, found.main_loop, found.draws).items():
        (overlay / file).write_text(result.text, encoding="utf-8")
    listed = [msgspec.to_builtins(runtime_metric(metric)) for metric in metrics]
    config = {
        "schema": 1, "records": str(records), "original": str(original), "overlay": str(overlay), "kept": [],
        "seed": None, "hold_impl": False, "threads": None, "metrics": listed,
    }  # fmt: skip
    (tmp_path / "runtime.json").write_text(json.dumps(config))
    seen = run_program(program, parent, overlay, records, tmp_path / "runtime.json")
    by_name = {metrics[int(key)].name if key.isdigit() else key: values for key, values in seen.recorded.items()}
    return Seen(seen.stdout, seen.files, by_name, seen.ticks)


def bare_run(tmp_path: Path, program: Program, parent: Zygote | None) -> Seen:
    folder = tmp_path / "bare"
    program.copy_to(folder)
    return run_program(program, parent, folder, None, None)


def assert_same_numbers(recorded: list[float], shown: list[str]) -> None:
    """Compare recorded numbers to texts of them, as exactly as their decimals tell."""
    assert len(recorded) == len(shown)
    for value, text in zip(recorded, shown, strict=True):
        decimals = len(text.partition(".")[2]) if "e" not in text else 17
        assert value == pytest.approx(float(text), abs=0.5001 * 10**-decimals, rel=1e-15)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_output_stays_the_same_and_records_are_what_it_shows(path, tmp_path, zygotes):
    program = Program(path)
    require(*program.needed)
    expected = dict(EXPECTED.findall(program.source))
    parent = parent_of(program, zygotes)
    bare = bare_run(tmp_path, program, parent)
    seen = instrumented_run(tmp_path, program, None if path.stem == ALONE else parent)
    assert (seen.stdout, seen.files) == (bare.stdout, bare.files)
    assert seen.recorded.keys() == expected.keys() | program.times
    assert seen.ticks >= 3
    for name, pattern in expected.items():
        shown = bare.shown(pattern)
        assert shown, f"{name}: the program shows no value that matches {pattern}"
        assert_same_numbers(seen.recorded[name], shown)
