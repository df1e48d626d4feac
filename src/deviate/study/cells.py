"""Make what is missing of the experiments that ``deviate.toml`` lists, and nothing that is done."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

import msgspec

from deviate.errors import BadOption, DeviateError, NameTaken, WorkspaceBusy
from deviate.experiment import SCHEMA
from deviate.project.cells import Cell, read_cells
from deviate.project.config import FILE_NAME, Setting
from deviate.replicate.events import RunEnded
from deviate.replicate.workspace.folders import Workspace
from deviate.study.decided import Referee
from deviate.study.events import StudyEvent
from deviate.study.pipeline import run
from deviate.study.request import Request, check_request
from deviate.study.resume import requested_runs

#: How a cell stands after the command: complete before, runs made, something failed, or held by another tool.
State = Literal["done", "made", "failed", "busy"]


class CellMade(msgspec.Struct, frozen=True, kw_only=True):
    """How one cell stands after the command."""

    experiment: str
    settings: dict[str, Setting]
    state: State
    #: Runs that were trained now, and runs trained before that were evaluated now.
    trained: int = 0
    evaluated: int = 0
    #: Of the runs that are asked for, over all variants.
    completed: int = 0
    planned: int = 0
    #: Why nothing more was made of it; empty where all is well.
    problem: str = ""
    hint: str = ""


class CellsMade(msgspec.Struct, frozen=True, kw_only=True):
    """How the experiments of a file stand after the command."""

    schema: int = SCHEMA
    file: str = FILE_NAME
    cells: list[CellMade]

    @property
    def trained(self) -> int:
        """Runs that were trained now."""
        return sum(cell.trained for cell in self.cells)

    @property
    def complete(self) -> bool:
        """Whether every run of every cell has completed."""
        return all(cell.state in ("done", "made") and cell.completed == cell.planned for cell in self.cells)


def asks_for_cells(request: Request) -> bool:
    """Tell whether a request without a command means experiments of ``deviate.toml``, not the runs of a stored one."""
    if request.command or not read_cells(_root(request), request.name):
        return False
    return not (request.then and request.name in Workspace.nearest(_root(request)).names())


def _root(request: Request) -> Path:
    """Return the folder of ``deviate.toml``: where the user stands, or the project that this is a part of."""
    here = (request.project or request.here or Path.cwd()).resolve()
    return here if (here / FILE_NAME).is_file() else Workspace.nearest(here).project


def make_cells(
    request: Request,
    typed: Mapping[str, Any],
    begin: Callable[[Cell, int, int], AbstractContextManager[Callable[[StudyEvent], None]]],
    referee: Referee | None = None,
) -> CellsMade:
    """Make the missing runs of each cell in turn; one that fails does not keep the others from being made.

    `request` says which project, and with its name which experiment or cell. `typed` are fields of requests that
    replace those of the file. `begin` is called with a cell, its number and how many there are, and gives what hears
    of its runs.

    Raises
    ------
    BadInput
        If a table or an option is not as it must be, before anything is made.
    """
    root = _root(request)
    cells = read_cells(root, request.name)
    requests = [_request(cell, root, request.project, typed) for cell in cells]
    for each in requests:
        check_request(each)
    _require_one_script(requests)
    made = []
    for number, (cell, each) in enumerate(zip(cells, requests, strict=True), start=1):
        with begin(cell, number, len(cells)) as observe:
            made.append(_make(cell, each, observe, referee))
    return CellsMade(cells=made)


def _require_one_script(requests: Sequence[Request]) -> None:
    """Refuse to print scripts of several cells: one after another in a file they would be no script."""
    if len(requests) > 1 and any(each.print_script for each in requests):
        raise BadOption(
            f"--print prints the script of one experiment, and {len(requests)} are asked for",
            hint=f"name one cell: --name {shlex.quote(requests[0].name or '')}; or leave --print out",
        )


def _request(cell: Cell, root: Path, project: Path | None, typed: Mapping[str, Any]) -> Request:
    entry = cell.entry
    listed = {name: tuple(getattr(entry, name)) for name in ("include", "exclude", "link", "factor", "evaluate")}
    limits = ("timeout", "stall", "memory")
    same = (
        "environment",
        "entry",
        "until",
        "seed",
        "jobs",
        "gpus",
        "per_gpu",
        *limits,
        "warm",
        "same_hardware",
        "container",
        "predictions",
        "weights",
    )
    fields = {
        "runs": entry.n,
        "variants": tuple(entry.vary),
        "most": entry.max,
        **{name: getattr(entry, name) for name in same},
        **listed,
        **typed,
    }
    return Request(command=cell.command, name=cell.name, project=project, here=root, **fields)


def _make(cell: Cell, request: Request, observe: Callable[[StudyEvent], None], referee: Referee | None) -> CellMade:
    trained = evaluated = 0

    def count(event: StudyEvent) -> None:
        nonlocal trained, evaluated
        trained += isinstance(event, RunEnded) and event.trained
        evaluated += isinstance(event, RunEnded) and not event.trained
        observe(event)

    problem: DeviateError | None = None
    try:
        run(request, count, referee)
    except DeviateError as error:
        problem = error
    completed, planned = _counts(request, cell.name)
    state: State = "made" if trained or evaluated else "done"
    if problem is not None:
        state = "busy" if isinstance(problem, WorkspaceBusy) else "failed"
    return CellMade(
        experiment=cell.name,
        settings=cell.settings,
        state="failed" if state in ("made", "done") and completed < planned else state,
        trained=trained,
        evaluated=evaluated,
        completed=completed,
        planned=planned,
        problem=problem.message if problem else "",
        hint=_hint(problem, cell) if problem else "",
    )


def _hint(problem: DeviateError, cell: Cell) -> str:
    if not isinstance(problem, NameTaken):
        return problem.hint
    return (
        f"add --anyway to make more runs from the copy that {cell.name!r} has of the project; or give the experiment "
        f"another name in {FILE_NAME}, or remove what was made: deviate rm {cell.name}"
    )


def _counts(request: Request, name: str) -> tuple[int, int]:
    """Return how many of the runs that are asked for completed, and how many these are; earlier calls may ask more."""
    workspace = Workspace.nearest(request.here or Path.cwd())
    if name not in workspace.names():
        return 0, 0
    folder = workspace.experiment(name)
    planned = folder.read_experiment().planned
    # Runs that nothing is to be learnt from are planned no more, and a command without Python is made as it is.
    asked = {
        variant: min(runs, planned[variant]) for variant, runs in requested_runs(request).items() if variant in planned
    }
    counted = planned if request.until else asked or planned
    completed = [run for run in folder.completed_runs() if run.run.index < counted.get(run.run.variant, 0)]
    return len(completed), sum(counted.values())
