"""Where the runs of a request are made: as is typed, else where those of the experiment were made last."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from deviate.experiment import Placement
from deviate.project.cells import AT
from deviate.project.config import FILE_NAME, read_config
from deviate.replicate.executors.registry import DEFAULT_EXECUTOR, ENGINES
from deviate.replicate.workspace.folders import ExperimentFolder, Workspace
from deviate.study.checks import check_local
from deviate.study.cluster import handed_to
from deviate.study.request import Request


class Placed(NamedTuple):
    """A request that says where its runs are made."""

    request: Request
    #: What the experiment is to remember; None: nobody said anything.
    placement: Placement | None = None
    #: Who chose it, where it was not typed.
    by: str = ""


#: What chose where runs are made.
BEFORE, FILE = "as in the last command", f"as {FILE_NAME} says"


def place(request: Request, folder: ExperimentFolder) -> Placed:
    """Find where the runs of an experiment are made, which need not exist yet.

    What is typed goes before where its runs were made last; of a new cell of a grid, where those of the cell were that
    was made last; then comes ``deviate.toml``, and this machine.

    Raises
    ------
    BadOption
        If an option of the request is not for there.
    """
    if request.executor is not None:
        return Placed(request, _typed(request, request.executor))
    configured = read_config(folder.project).executor
    known = _remembered(folder)
    by = BEFORE if known else FILE
    placement = known or (Placement(executor=configured) if configured else None)
    if placement is None:
        return Placed(request)
    given = msgspec.structs.asdict(placement) if placement.executor in ENGINES else {"executor": placement.executor}
    typed = {word: getattr(request, word) for word in given}
    found = msgspec.structs.replace(
        request, **{word: given[word] if typed[word] is None else typed[word] for word in given}
    )
    check_local(found)
    # That runs are made on this machine is no news, unless the file says otherwise.
    says = placement.executor in ENGINES or (configured or DEFAULT_EXECUTOR) != placement.executor
    return Placed(found, _typed(found, placement.executor), by if says else "")


def _typed(request: Request, executor: str) -> Placement:
    if executor not in ENGINES:
        return Placement(executor=executor)
    words = {field: getattr(request, field) for field in Placement.__struct_fields__}
    return Placement(**{**words, "executor": executor})


def _remembered(folder: ExperimentFolder) -> Placement | None:
    if not folder.experiment_file.is_file():
        neighbour = _neighbour(folder)
        return neighbour.read_experiment().placement if neighbour else None
    placement = folder.read_experiment().placement
    handed = handed_to(folder) if placement is None else None
    return Placement(executor=handed.executor) if handed else placement


def _neighbour(folder: ExperimentFolder) -> ExperimentFolder | None:
    """Return the cell of the same grid that was written last."""
    grid, at, _ = folder.name.partition(AT)
    workspace = Workspace(folder.project)
    names = [name for name in workspace.names() if name.startswith(grid + at)] if at else []
    cells = (workspace.experiment(name) for name in names)
    return max(cells, key=lambda cell: cell.experiment_file.stat().st_mtime_ns, default=None)
