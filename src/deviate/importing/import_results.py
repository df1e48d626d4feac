"""Import results that were not run by Deviate, in the very files that a run of Deviate leaves."""

from __future__ import annotations

import os
import shutil
from datetime import datetime
from pathlib import Path

import numpy as np

from deviate.collect.aggregates import check_aggregate
from deviate.collect.directions import remember_directions
from deviate.errors import NameTaken
from deviate.experiment import IMPORTED, Experiment, Run
from deviate.importing.build import Proposal, propose
from deviate.importing.foreign import ForeignRun
from deviate.importing.formats import format_of, read_results
from deviate.importing.request import ImportRequest
from deviate.replicate.snapshot.manifest import Snapshot
from deviate.replicate.workspace.files import write_json, write_whole
from deviate.replicate.workspace.folders import ExperimentFolder, RunFolder, Workspace
from deviate.replicate.workspace.lock import locked_workspace
from deviate.replicate.workspace.run_files import Completed, Failed
from deviate.replicate.workspace.slots import RECORD

#: Ends the name of an experiment, with a dot before and the process's id behind it, that another one replaces.
REPLACED = ".replaced.partial"

#: In the place of process id and start stamp.
STEM = "0-0"


def import_results(request: ImportRequest) -> list[ExperimentFolder]:
    """Read results and store them as experiments; nothing is written where something is wrong.

    Raises
    ------
    DeviateError
        With what is wrong, and what to type.
    """
    for aggregate in request.aggregates.values():
        check_aggregate(aggregate)
    now = datetime.now().astimezone()
    kind = format_of(request)
    proposals = propose(read_results(request, kind), request, kind, now)
    workspace = Workspace(request.project)
    workspace.check_usable()
    _check_free(proposals, workspace, request.replace)
    workspace.prepare()
    with locked_workspace(workspace, request.command):
        _check_free(proposals, workspace, request.replace)
        remember_directions(workspace, request.directions)
        return [_store(proposal, workspace, now) for proposal in proposals]


def _check_free(proposals: list[Proposal], workspace: Workspace, replace: bool) -> None:
    """Make sure that no experiment is in the way.

    Raises
    ------
    BadOption
        If a name cannot be the name of an experiment.
    NameTaken
        If there is one of that name that is not to be replaced, or that Deviate ran.
    """
    for proposal in proposals:
        folder = workspace.experiment(proposal.experiment.name)
        if not os.path.isfile(folder.experiment_file):
            continue
        if folder.read_experiment().imported is None:
            raise NameTaken(
                f"experiment {folder.name!r} was run by Deviate, and is never replaced", hint="type another --name"
            )
        if not replace:
            raise NameTaken(
                f"experiment {folder.name!r} was imported before",
                hint="type --replace to put these results in its place, or another --name",
            )


def _store(proposal: Proposal, workspace: Workspace, now: datetime) -> ExperimentFolder:
    """Write the experiment aside, then rename it: what it replaces stays until the new one is whole."""
    experiment = proposal.experiment
    final = workspace.experiment(experiment.name)
    # Names of experiments do not begin with a dot, so none is listed twice.
    folder = ExperimentFolder(final.path.with_name(f".{final.name}.{os.getpid()}.partial"))
    for old in final.path.parent.glob(".*.partial"):
        _clear(old)
    try:
        _write(folder, proposal, workspace, now)
    except OSError:
        shutil.rmtree(folder.path, ignore_errors=True)
        raise
    if os.path.exists(final.path):
        replaced = final.path.with_name(f".{final.name}.{os.getpid()}{REPLACED}")
        final.path.rename(replaced)
        folder.path.rename(final.path)
        shutil.rmtree(replaced, ignore_errors=True)
    else:
        folder.path.rename(final.path)
    return final


def _clear(old: Path) -> None:
    """Remove what a killed import left; what it was about to replace, and did not, is put back."""
    final = old.with_name(old.name.removeprefix(".").removesuffix(REPLACED).rpartition(".")[0])
    if old.name.endswith(REPLACED) and not os.path.exists(final):
        old.rename(final)
    else:
        shutil.rmtree(old, ignore_errors=True)


def _write(folder: ExperimentFolder, proposal: Proposal, workspace: Workspace, now: datetime) -> None:
    experiment = proposal.experiment
    folder.snapshot.mkdir(parents=True)
    write_json(
        folder.snapshot_file, Snapshot(project=str(workspace.project), source=experiment.source, items=[], digests={})
    )
    for index, run in enumerate(proposal.runs):
        _store_run(folder.run(Run(variant=IMPORTED, index=index)), run, experiment, now)
    folder.write_experiment(experiment)


def _store_run(folder: RunFolder, run: ForeignRun, experiment: Experiment, now: datetime) -> None:
    folder.path.mkdir(parents=True)
    ids = {metric.name: index for index, metric in enumerate(experiment.metrics)}
    rows = [(ids[reading.metric], reading.iteration, reading.elapsed_s, reading.value) for reading in run.readings]
    write_whole(folder.path / f"records-{STEM}.bin", np.array(rows, dtype=RECORD).tobytes())
    ended = now.isoformat(timespec="seconds")
    if run.is_finished:
        folder.write_outcome(Completed(seconds=run.seconds, ended=ended))
        return
    source = experiment.imported.format if experiment.imported else "the source"
    reason = run.broken or f"{source} says that it is {run.status}"
    folder.write_outcome(Failed(seconds=run.seconds, ended=ended, reason=reason))
