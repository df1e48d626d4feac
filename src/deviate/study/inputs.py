"""Whether what the runs of an experiment read beside their copy of the project is as it was, when runs are added."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence

from deviate.collect.inherited import names_in_project
from deviate.collect.processes import processes
from deviate.collect.runs import RunFiles
from deviate.collect.shared_files import changed_since
from deviate.errors import CommandNotFound
from deviate.experiment import Experiment
from deviate.replicate.environment.command import find_program
from deviate.replicate.environment.inherited import differing, inherited
from deviate.replicate.workspace.folders import ExperimentFolder

#: Ends the text of an input that changed.
INPUT = "; an input)"


def inputs_changed(folder: ExperimentFolder, proposal: Experiment) -> list[str]:
    """Return the inputs of runs that are not as they were: files, variables that the project names, the interpreter.

    Empty where `proposal` adds no run, and for runs of another machine or in a container.
    """
    if not _adds(folder, proposal):
        return []
    host = socket.gethostname()
    runs = [
        RunFiles(each, each.read_outcome(), info, processes(each))
        for each in folder.completed_runs()
        if (info := each.read_info()) is not None and info.host == host and not info.container
    ]
    texts = [*changed_since(runs, folder.project), *_variables(folder, runs), *_interpreter(folder, proposal, runs)]
    return [f"{text.removesuffix(')')}{INPUT}" for text in texts]


def _adds(folder: ExperimentFolder, proposal: Experiment) -> bool:
    completed: dict[str, int] = {}
    for run in folder.completed_runs():
        completed[run.run.variant] = completed.get(run.run.variant, 0) + 1
    return any(runs > completed.get(name, 0) for name, runs in proposal.planned.items())


def _variables(folder: ExperimentFolder, runs: Sequence[RunFiles]) -> Iterator[str]:
    now = inherited(os.environ)
    known = [run.info.inherited for run in runs if run.info is not None and run.info.inherited]
    # One that was as it is now in any of them is none that changed since.
    changed = set.intersection(*(set(differing(each, now)) for each in known)) if known else set()
    yield from (f"{name} (environment variable)" for name in names_in_project(folder, sorted(changed)))


def _interpreter(folder: ExperimentFolder, proposal: Experiment, runs: Sequence[RunFiles]) -> Iterator[str]:
    try:
        now = str(find_program(proposal.command[0], folder.project / proposal.folder, os.environ))
    except CommandNotFound:
        return
    before = {run.info.argv[0] for run in runs if run.info is not None and run.info.argv}
    inside = any(path.startswith(f"{folder.path}/") for path in before)
    if before and now not in before and not inside:
        yield f"{now} (interpreter, before: {sorted(before)[0]})"
