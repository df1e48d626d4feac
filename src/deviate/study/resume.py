"""Find the experiment that a request continues, or make a new one: runs of two different sources never mix."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import PurePosixPath

import msgspec

from deviate.errors import NameTaken
from deviate.experiment import Experiment, Until
from deviate.factors import parse_variants
from deviate.instrument.project import instrument_project, skipped_edits
from deviate.project.config import FILE_NAME
from deviate.replicate.snapshot.manifest import Snapshot, changes, read_snapshot, take
from deviate.replicate.workspace.folders import ExperimentFolder, Workspace
from deviate.study.request import Prepared, Request

#: Edited files that are named where a name is taken.
PATHS_SHOWN = 3


def open_experiment(
    request: Request, prepared: Prepared, workspace: Workspace, now: datetime, until: Until | None = None
) -> tuple[ExperimentFolder, str]:
    """Find the experiment that `request` continues, grown to what it asks for; or make a new one with its snapshot.

    The workspace is locked. `until` decides how many runs are made, where the number of `request` does not.

    Returns
    -------
    folder : ExperimentFolder
        The experiment.
    other : str
        Of a new one: the experiment of the same command that could not be continued, and why; else empty.

    Raises
    ------
    NameTaken
        If the experiment named by the request is of another command or source.
    """
    proposal = prepared.experiment("", requested_runs(request), now, request.seed, until)
    snapshot = prepared.snapshot
    name = request.name
    folder = _named(name, workspace, proposal, snapshot) if name else _same(workspace, proposal)
    if folder is None:
        other = "" if name else _other(workspace, proposal, snapshot)
        name = name or _free_name(workspace, proposal.entry)
        folder = _create(workspace.experiment(name), msgspec.structs.replace(proposal, name=name), snapshot)
        return folder, other
    _grow(folder, proposal)
    return folder, ""


def requested_runs(request: Request) -> dict[str, int]:
    """Return how many runs of each variant are asked for."""
    return {variant.name: request.runs for variant in parse_variants(request.variants)}


def _identity(experiment: Experiment) -> tuple[object, ...]:
    """Return what runs must share to be of one experiment.

    Name, direction and aggregate of a metric are not in it: they say how to read the records, not what is recorded.
    """
    captures = [(metric.file, metric.capture) for metric in experiment.metrics]
    loop = experiment.main_loop
    recorded = (captures, (loop.file, loop.span) if loop else None)
    # What the analysis tells of draws is not in it: an experiment keeps the factors that it began with.
    factors = sorted((draw.file, draw.line, draw.call, draw.factor) for draw in experiment.draws if draw.by_hand)
    target = (experiment.command, experiment.folder, experiment.entry)
    return (*target, experiment.source, experiment.outside, experiment.seed, factors, recorded)


def _same(workspace: Workspace, proposal: Experiment) -> ExperimentFolder | None:
    identity = _identity(proposal)
    folders = (workspace.experiment(name) for name in workspace.names())
    return next((folder for folder in folders if _identity(folder.read_experiment()) == identity), None)


def _other(workspace: Workspace, proposal: Experiment, snapshot: Snapshot) -> str:
    """Say of the latest experiment with the same command why it is not continued."""
    experiments = [workspace.experiment(name).read_experiment() for name in workspace.names()]
    alike = [each for each in experiments if (each.command, each.folder) == (proposal.command, proposal.folder)]
    if not alike:
        return ""
    latest = max(alike, key=lambda each: each.created)
    differences = _differences(latest, proposal, workspace.experiment(latest.name), snapshot)
    return f"{latest.name!r} has {'; '.join(differences)}"


def _named(name: str, workspace: Workspace, proposal: Experiment, snapshot: Snapshot) -> ExperimentFolder | None:
    folder = workspace.experiment(name)
    if folder.name not in workspace.names():
        return None
    existing = folder.read_experiment()
    if _identity(existing) != _identity(proposal):
        raise NameTaken(
            f"experiment {folder.name!r} has {'; '.join(_differences(existing, proposal, folder, snapshot))}",
            hint="type another --name, or none: then a new one is made; files that no training reads can be left out "
            "with --exclude",
        )
    return folder


def _differences(
    existing: Experiment, proposal: Experiment, folder: ExperimentFolder, snapshot: Snapshot
) -> Iterator[str]:
    if existing.imported:
        yield "results that were imported, and these are never continued"
        return
    if existing.command != proposal.command:
        yield f"another command: {shlex.join(existing.command)}"
    if (existing.folder, existing.entry) != (proposal.folder, proposal.entry):
        yield f"another entry: {existing.entry}, started in {existing.folder}"
    if existing.seed != proposal.seed:
        yield f"another --seed: {existing.seed}"
    if existing.source != proposal.source:
        edited = changes(read_snapshot(folder), snapshot)
        more = f" and {len(edited) - PATHS_SHOWN} more" if len(edited) > PATHS_SHOWN else ""
        yield f"another source, edited since: {', '.join(edited[:PATHS_SHOWN])}{more}"
        return
    if existing.outside != proposal.outside:
        files = {file for file, digest in (existing.outside.items() ^ proposal.outside.items()) if digest}
        yield f"other code outside the project: {', '.join(sorted(files)[:PATHS_SHOWN])}"
        return
    if _identity(existing)[-1] != _identity(proposal)[-1]:
        yield "other metrics or another main loop"
    if _identity(existing)[-2] != _identity(proposal)[-2]:
        yield f"other factors of draws, as {FILE_NAME} or --factor sets them"


def _free_name(workspace: Workspace, entry: str) -> str:
    """Name an experiment after its entry: ``train``, then ``train-2``."""
    pure = PurePosixPath(entry)
    stem = pure.parent.name if pure.stem == "__main__" else pure.stem
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip(".-") or "experiment"
    taken = set(workspace.names())
    return next(
        name for name in (base, *(f"{base}-{number}" for number in range(2, len(taken) + 2))) if name not in taken
    )


def _create(folder: ExperimentFolder, experiment: Experiment, snapshot: Snapshot) -> ExperimentFolder:
    """Make the folder; ``experiment.json`` comes last, so that a folder without it is known to be unfinished."""
    shutil.rmtree(folder.path, ignore_errors=True)
    taken = take(snapshot, folder)
    skipped = skipped_edits(
        instrument_project(folder.snapshot, experiment.metrics, experiment.main_loop, experiment.draws)
    )
    folder.write_experiment(msgspec.structs.replace(experiment, source=taken.source, notes=skipped))
    return folder


def _grow(folder: ExperimentFolder, proposal: Experiment) -> None:
    existing = folder.read_experiment()
    more = any(runs > existing.planned.get(name, 0) for name, runs in proposal.planned.items())
    # Who asks for more runs than were made decides their number again.
    until = proposal.until or (None if more else existing.until)
    _plan(folder, proposal.planned, metrics=proposal.metrics, until=until)


def plan_runs(folder: ExperimentFolder, planned: Mapping[str, int]) -> Experiment:
    """Plan more runs of an experiment; those planned already stay, and of the variants not named none are added."""
    return msgspec.structs.replace(_plan(folder, planned), planned=dict(planned))


def _plan(folder: ExperimentFolder, planned: Mapping[str, int], **changes: object) -> Experiment:
    existing = folder.read_experiment()
    more = {name: max(runs, existing.planned.get(name, 0)) for name, runs in planned.items()}
    grown = msgspec.structs.replace(existing, planned={**existing.planned, **more}, **changes)
    if grown != existing:
        folder.write_experiment(grown)
    return grown
