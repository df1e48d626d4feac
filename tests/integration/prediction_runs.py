"""Runs of programs whose predictions are captured, and the reader of what they left behind."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from factor_runs import SEEDS, Zygote, settings

from deviate.observe import predictions as collect
from deviate.observe.predictions import EvaluationPass
from deviate.source.analysis import analyse_project
from deviate.source.overlay import instrument_project

PROGRAMS = Path(__file__).parent / "prediction_programs"


@dataclass(frozen=True)
class Pass:
    """One file of predictions."""

    header: dict[str, Any]
    columns: dict[str, np.ndarray]

    @property
    def function(self) -> str:
        return self.header["site"]["function"]


@dataclass(frozen=True)
class Predicted:
    """One run: what it printed, what it computed itself, and what was captured."""

    output: str
    own: dict[str, np.ndarray]
    passes: list[Pass] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    #: Every pass of each point, as the tool reads it.
    every: list[EvaluationPass] = field(default_factory=list)

    @property
    def last(self) -> list[Pass]:
        return [each for each in self.passes if each.header["kept"] == "last"]


def read_pass(path: Path) -> Pass:
    """Read a file as `storing` describes it."""
    line, _, rest = path.read_bytes().partition(b"\n")
    header = json.loads(line)
    columns = {}
    for column in header["columns"]:
        block, rest = rest[: column["bytes"]], rest[column["bytes"] :]
        array = np.frombuffer(zlib.decompress(block), column["dtype"]).reshape(column["shape"])
        columns[column["name"]] = np.cumsum(array, dtype=np.int64) if column["name"] == "index" else array
    assert not rest
    return Pass(header, columns)


def run_predicted(
    parent: Zygote, folder: Path, program: str, words: Sequence[str], keep: Sequence[str], **config: Any
) -> list[Predicted]:
    """Analyse, instrument and run a program in forks of `parent`, once for each way to keep predictions."""
    jobs = [job_of(folder / kept, program, words, kept, **config) for kept in keep]
    statuses = parent.run_jobs(jobs)
    assert not any(statuses), [(folder / kept / "errors").read_text() for kept in keep]
    return [read_predicted(folder / kept) for kept in keep]


def job_of(folder: Path, program: str, words: Sequence[str], keep: str, **config: Any) -> dict[str, Any]:
    """Write the overlay and the configuration of a run, and return it as a job."""
    overlay, records = folder / "overlay", folder / "records"
    for each in (overlay, records):
        each.mkdir(parents=True)
    (overlay / "program.py").write_bytes((PROGRAMS / program).read_bytes())
    findings = analyse_project(overlay, Path("program.py"))
    instrumented = instrument_project(overlay, [], findings.main_loop, [], findings.comparisons)
    for file, result in instrumented.items():
        assert not result.skipped
        (overlay / file).write_bytes(result.data)
    chosen = {
        "overlay": str(overlay), "original": str(folder / "original"), "predictions": keep,
        "comparisons": [comparison.target_first for comparison in findings.comparisons], **config,
    }  # fmt: skip
    (folder / "runtime.json").write_text(json.dumps(settings(records, SEEDS, **chosen)))
    return {
        "runtime": str(folder / "runtime.json"), "program": str(overlay / "program.py"), "words": list(words),
        "folder": str(overlay), "output": str(folder / "output"), "errors": str(folder / "errors"),
    }  # fmt: skip


def read_predicted(folder: Path) -> Predicted:
    """Read what a run left behind."""
    records = folder / "records"
    events = [json.loads(line) for path in records.glob("events-*.jsonl") for line in path.read_text().splitlines()]
    with np.load(folder / "overlay" / "own.npz") as own:
        arrays = dict(own)
    files = sorted(records.glob("predictions-*.bin"))
    return Predicted(
        output=(folder / "output").read_text(),
        own=arrays,
        passes=[read_pass(path) for path in files if "-every-" not in path.name],
        notes=[event for event in events if event["event"] == "note"],
        every=[collect.read_pass(path) for path in files if "-every-" in path.name],
    )
