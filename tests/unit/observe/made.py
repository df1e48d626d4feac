"""Experiments with runs written by hand."""

from __future__ import annotations

import json
import struct
import zlib

import numpy as np
import pandas as pd

from deviate.core.experiment import Capture, Experiment, Metric, Run
from deviate.observe.metrics import SampleRow
from deviate.observe.records import read_run
from deviate.observe.tables import open_tables
from deviate.store.folders import ExperimentFolder, RunFolder, Workspace
from deviate.store.run_files import Completed


def metric(name, aggregate="last", direction="higher", kind="quality"):
    return Metric(
        name=name, variable=name, expression=name, file="train.py", line=1, end_line=1, function="<module>",
        sink="print", kind=kind, direction=direction, aggregate=aggregate, confidence=1.0, why="",
        capture=Capture(how="value"),
    )  # fmt: skip


def make_experiment(project, metrics, variants=("control",)) -> ExperimentFolder:
    workspace = Workspace(project)
    workspace.prepare()
    folder = workspace.experiment("e")
    folder.write_experiment(
        Experiment(
            name="e", command=["python"], entry="train.py", metrics=list(metrics), main_loop=None, source="", seed=1,
            planned=dict.fromkeys(variants, 2), created="",
        )
    )  # fmt: skip
    return folder


def write_process(run: RunFolder, rows, *, stem="1-1", time=10.0, rank=None, events=()):
    """Write the files of one process; `rows` are (id, iteration, elapsed, value)."""
    lines = [{"event": "start", "time": time, "rank": rank, "python": "3.11.7"}, *events]
    (run.path / f"events-{stem}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if rows:
        (run.path / f"records-{stem}.bin").write_bytes(b"".join(struct.pack("<iidd", *row) for row in rows))
    if (outcome := run.read_outcome()) is not None:
        run.write_outcome(outcome)


def make_run(folder, index, rows=None, *, variant="control", outcome=None, seconds=1.0, **kwargs) -> RunFolder:
    run = folder.run(Run(variant=variant, index=index))
    run.path.mkdir(parents=True)
    if rows is not None:
        write_process(run, rows, **kwargs)
    run.write_outcome(outcome or Completed(seconds=seconds))
    return run


def write_predictions(run: RunFolder, columns, *, kept="last", chain=(("train.py", 9, "evaluate"),), **header):
    """Write a file of predictions as its format says, and the outcome anew; return its path."""
    frames = [{"file": file, "line": line, "function": function} for file, line, function in chain]
    stored = {name: np.asarray(column) for name, column in columns.items()}
    if "index" in stored:
        stored["index"] = np.diff(stored["index"], prepend=0)
    blocks = {name: zlib.compress(np.ascontiguousarray(column).tobytes()) for name, column in stored.items()}
    right = np.asarray(columns.get("label", columns.get("value"))) == np.asarray(columns["target"])
    described = [
        {"name": name, "dtype": stored[name].dtype.str, "shape": list(stored[name].shape), "bytes": len(block)}
        for name, block in blocks.items()
    ]
    fields = {
        "schema": 1, "site": frames[0], "chain": frames, "data": "", "kept": kept, "iteration": 0, "number": 0,
        "rank": None, "rows": len(columns["target"]), "goodness": float(right.mean()),
        "classes": None, "columns": described, **header,
    }  # fmt: skip
    rank = fields["rank"] or 0
    path = run.path / f"predictions-{len(run.prediction_files())}-{kept}-1-{rank}.bin"
    path.write_bytes(json.dumps(fields).encode() + b"\n" + b"".join(blocks.values()))
    run.write_outcome(run.read_outcome())
    return path


def series(key, values, step=1.0):
    """Return rows of one metric with a value for each iteration."""
    return [(key, iteration, iteration * step, value) for iteration, value in enumerate(values)]


def read(runs):
    """Return what the files of runs say."""
    return [read_run(run) for run in runs]


def records(folder, **options):
    with open_tables(folder, **options) as tables:
        return tables.records()


def samples(folder, aggregates=None):
    with open_tables(folder) as tables:
        return pd.DataFrame(tables.samples(aggregates), columns=SampleRow._fields)


def recorded_names(folder):
    with open_tables(folder) as tables:
        return tables.names
