"""A small tool around the replicate stage, so that tests can kill it: python replicate_tool.py ORDER.json."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from deviate.core.experiment import Capture, Experiment, Metric
from deviate.runs.events import RunEnded
from deviate.runs.executors.local import LocalExecutor
from deviate.runs.experiment import replicate
from deviate.runs.request import ReplicateOptions
from deviate.runs.snapshot.manifest import describe, take
from deviate.source.edits import FileCode
from deviate.store.folders import ExperimentFolder, Workspace
from deviate.store.locks import locked
from deviate.store.snapshot_rules import SnapshotRules


def metric(name: str) -> Metric:
    return Metric(
        name=name, variable=name, expression=name, file="train.py", line=1, end_line=1, function="<module>",
        sink="print", kind="quality", direction="higher", aggregate="last", confidence=1.0, why="",
        capture=Capture(how="value"),
    )  # fmt: skip


def open_experiment(project: Path, command, *, folder=".", runs=2, variants=("control",), rules=None):
    """Return an experiment of one metric, ``acc``; its snapshot is taken the first time."""
    workspace = Workspace(project)
    workspace.prepare()
    place = workspace.experiment("e")
    if not place.experiment_file.exists():
        place.path.mkdir(exist_ok=True)
        take(describe(project, rules, folder=folder, words=command), place)
    experiment = Experiment(
        name="e", command=list(command), folder=folder, entry="train.py", metrics=[metric("acc")], main_loop=None,
        source="", seed=7, planned=dict.fromkeys(variants, runs), created="",
    )  # fmt: skip
    place.write_experiment(experiment)
    return place, experiment


def make_runs(project: Path, command, overlay=None, *, jobs=1, options=None, environment=None, **kwargs):
    """Make the runs of an experiment; return its folder and the events."""
    with _held(project):
        place, experiment = open_experiment(project, command, **kwargs)
        executor = LocalExecutor(jobs)
        stream = replicate(experiment, place, overlay or {}, executor, options=options, environment=environment)
        return place, list(stream)


def _held(project: Path):
    Workspace(project).prepare()
    return locked(Workspace(project).experiment("e"), sys.argv)


def outcomes(place: ExperimentFolder):
    return {run.run.folder: run.read_outcome() for run in place.runs()}


def main() -> None:
    order = json.loads(Path(sys.argv[1]).read_text())
    project = Path(order["project"])
    overlay = {
        name: FileCode(source=(project / name).read_bytes(), given=text.encode())
        for name, text in order["overlay"].items()
    }
    with _held(project):
        rules = SnapshotRules()
        place, experiment = open_experiment(project, order["command"], runs=order["runs"], rules=rules)
        options = ReplicateOptions(probe="nothing")
        for event in replicate(experiment, place, overlay, LocalExecutor(order["jobs"]), options=options):
            if isinstance(event, RunEnded):
                print(event.run.folder, event.outcome.status, flush=True)


if __name__ == "__main__":
    main()
