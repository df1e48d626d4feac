"""Make what is missing of the experiments that ``deviate.toml`` lists, and nothing that is done."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from deviate.core.errors import BadOption, DeviateError, NameTaken, UnknownExperiment, WorkspaceBusy
from deviate.core.experiment import AT, SCHEMA
from deviate.core.shell_words import typed_word
from deviate.runs.cluster import Engines
from deviate.runs.events import Idle, LeftToCluster, RunEnded, StudyEvent
from deviate.runs.executors.executor import ENGINES, Places
from deviate.runs.housekeeping import require_idle
from deviate.runs.pipeline import place, study
from deviate.runs.request import Request, check_request
from deviate.runs.resume import requested_runs
from deviate.source.cells import MOST_CELLS, Cell, read_cells
from deviate.source.config import FILE_NAME, Setting, Settings, file_settings, read_config, said
from deviate.store.folders import MOST_NAMED, ExperimentFolder, Workspace
from deviate.store.locks import locked

if TYPE_CHECKING:
    from deviate.runs.until import Referee


#: How a cell stands after the command: complete before, runs made, something failed, or held by another tool.
State = Literal["done", "made", "failed", "busy"]

#: Hears of the runs of a cell.
Observe = Callable[[StudyEvent], None]

#: Called with a cell when it is begun, its number, all of them, and whether others may go on beside it.
Begin = Callable[[Cell, int, Sequence[Cell], bool], AbstractContextManager[Observe]]


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
    """Tell whether a request without a command means experiments of ``deviate.toml``, not the runs of a stored one.

    Raises UnknownExperiment if the file lists experiments, none of them has the name, and none of that name is stored.
    """
    if request.command:
        return False
    cells = read_cells(_root(request))
    stored = request.name in (names := Workspace.nearest(_root(request)).names())
    if any(request.name in (None, cell.name, cell.entry.name) for cell in cells):
        return not (request.then and stored)
    if cells and not stored and not any(name.startswith(f"{request.name}{AT}") for name in names):
        listed = list(dict.fromkeys(cell.entry.name for cell in cells))
        first = next((cell.name for cell in cells if cell.settings), "")
        example = f"; a cell of a grid is named as {first}" if first else ""
        raise UnknownExperiment(
            f"no experiment is named {request.name!r} in {FILE_NAME}, and none is stored",
            hint=f"{FILE_NAME} lists: {', '.join(listed[:MOST_NAMED])}{example}",
        )
    return False


def _root(request: Request) -> Path:
    """Return the folder of ``deviate.toml``: where the user stands, or the project that this is a part of."""
    here = (request.project or request.here or Path.cwd()).resolve()
    return here if os.path.isfile(here / FILE_NAME) else Workspace.nearest(here).project


def make_cells(
    request: Request,
    typed: Mapping[str, Any],
    begin: Begin,
    referee: Referee | None = None,
    leave: Callable[[LeftToCluster], None] = lambda left: None,
) -> CellsMade:
    """Make the missing runs of each cell; one that fails does not keep the others from being made.

    On this machine the next cell begins where those that go on leave a slot free. Cells whose runs are made by a
    cluster are handed over together, and followed side by side; where there is a limit of runs at a time, as many as
    are within it.

    `request` says which project, and with its name which experiment or cell. `typed` are fields of requests that
    replace those of the file. `begin` is called with each cell when it is begun, `leave` with what goes on in a cluster
    after Ctrl-C, of all cells together.

    Raises BadInput if a table or an option is not as it must be, before anything is made. Raises KeyboardInterrupt
    after Ctrl-C, once each cell that was begun has ended.
    """
    root = _root(request)
    cells = read_cells(root, request.name)
    requests = [_request(cell, root, request.project, typed) for cell in cells]
    for each in requests:
        check_request(each)
    _require_one_script(requests)
    placed = [_placed(each, root, cell) for each, cell in zip(requests, cells, strict=True)]
    engines = Engines(shared=_share_slots(placed))
    making = []
    for number, (cell, each, where) in enumerate(zip(cells, requests, placed, strict=True), start=1):
        there = where.executor in ENGINES and not where.print_script
        begins = partial(begin, cell, number, cells, there or engines.places.shared)
        events = partial(study, each, referee, engines)
        making.append(_Making(cell, each, _width(where, root), begins, events, None if there else engines.places))
    try:
        _make_all(making)
    except KeyboardInterrupt:
        left = [each.left for each in making if each.left is not None]
        for event in engines.join(left, sum(each.lacks for each in making if not each.has_begun)):
            leave(event)
        raise
    return CellsMade(cells=[each.made() for each in making])


def _placed(request: Request, root: Path, cell: Cell) -> Request:
    """Return the request with where its runs are made, as far as that can be said before they are."""
    try:
        return place(request, Workspace.nearest(root).experiment(cell.name)).request
    except DeviateError:
        # It is said where the cell is made.
        return request


def _share_slots(requests: Sequence[Request]) -> bool:
    """Tell whether runs of all cells are made on this machine, each in a slot that another cell may have next."""
    jobs = {each.jobs or 1 for each in requests}
    alone = any(each.executor in ENGINES or each.print_script or each.warm or each.per_gpu for each in requests)
    return len(requests) > 1 and len(jobs) == 1 and jobs != {1} and not alone


def _width(placed: Request, root: Path) -> int | None:
    """Return how many runs a cluster makes at a time; None where it decides that itself."""
    config = read_config(root)
    widths = {"slurm": config.slurm.width, "ray": config.ray.width}
    return placed.jobs or widths.get(placed.executor or "")


class _Making:
    """A cell whose runs are to be made, go on, or were made."""

    def __init__(
        self,
        cell: Cell,
        request: Request,
        width: int | None,
        begin: Callable[[], AbstractContextManager[Observe]],
        events: Callable[[], Generator[StudyEvent, None, object]],
        places: Places | None = None,
    ) -> None:
        self.cell = cell
        self.width = width
        #: Of runs on this machine.
        self.places = places
        #: At a time, at most.
        self.runs = min(sum(requested_runs(request).values()), width or MOST_CELLS)
        #: Seconds for which there is nothing to do.
        self.idle = 0.0
        #: What goes on in a cluster since the user stopped this tool.
        self.left: LeftToCluster | None = None
        self._request = request
        self._begin, self._study = begin, events
        self._open = ExitStack()
        self._stream: tuple[Generator[StudyEvent, None, object], Observe] | None = None
        self._trained = self._evaluated = 0
        self._problem: DeviateError | None = None

    @property
    def has_begun(self) -> bool:
        """Whether something was done."""
        return self._stream is not None

    @property
    def lacks(self) -> int:
        """How many of the runs that are asked for did not complete."""
        return sum(requested_runs(self._request).values()) - _counts(self._request, self.cell.name)[0]

    def go_on(self) -> bool:
        """Do what can be done now; return whether the rest is to be done later."""
        try:
            if self._stream is None:
                observe = self._open.enter_context(self._begin())
                self._stream = self._open.enter_context(closing(self._study())), observe
            events, observe = self._stream
            for event in events:
                if isinstance(event, Idle):
                    self.idle = event.seconds
                    return True
                if isinstance(event, LeftToCluster):
                    self.left = event
                    continue
                self._trained += isinstance(event, RunEnded) and event.trained
                self._evaluated += isinstance(event, RunEnded) and not event.trained
                observe(event)
        except DeviateError as error:
            self._problem = error
        self.close()
        return False

    def close(self) -> None:
        """Leave it as it is."""
        self._open.close()

    def made(self) -> CellMade:
        """Return how it stands."""
        problem, made_now = self._problem, self._trained or self._evaluated
        completed, planned = _counts(self._request, self.cell.name)
        state: State = "made" if made_now else "done"
        if problem is not None:
            state = "busy" if isinstance(problem, WorkspaceBusy) else "failed"
        return CellMade(
            experiment=self.cell.name,
            settings=self.cell.settings,
            state="failed" if state in ("made", "done") and completed < planned else state,
            trained=self._trained,
            evaluated=self._evaluated,
            completed=completed,
            planned=planned,
            problem=problem.message if problem else "",
            hint=_hint(problem, self.cell) if problem else "",
        )


def _make_all(cells: Sequence[_Making]) -> None:
    """Begin one cell after another where there is room, and go on with those that have begun meanwhile."""
    waiting, going, stopped = deque(cells), list[_Making](), list[KeyboardInterrupt]()
    try:
        while waiting or going:
            begins = bool(waiting) and _has_room(waiting[0], going)
            if begins:
                going.append(waiting.popleft())
            elif going:
                time.sleep(min(each.idle for each in going))
            for each in list(going):
                try:
                    # Those that have begun heard a Ctrl-C, too, and end as well.
                    goes_on = (each.has_begun or not stopped) and each.go_on()
                except KeyboardInterrupt as stop:
                    goes_on = False
                    stopped.append(stop)
                    waiting.clear()
                    each.close()
                if not goes_on:
                    going.remove(each)
    finally:
        for each in going:
            each.close()
    if stopped:
        raise stopped[0]


def _has_room(cell: _Making, going: Sequence[_Making]) -> bool:
    """Tell whether a cell can go on beside others: as many runs as the user allows are theirs together."""
    if cell.places is not None:
        return not going or cell.places.free(cell.width or 1) is not None
    return not going or cell.width is None or sum(each.runs for each in going) + cell.runs <= cell.width


def _require_one_script(requests: Sequence[Request]) -> None:
    """Refuse to print scripts of several cells: one after another in a file they would be no script."""
    if len(requests) > 1 and any(each.print_script for each in requests):
        raise BadOption(
            f"--print prints the script of one experiment, and {len(requests)} are asked for",
            hint=f"name one cell: --name {typed_word(requests[0].name or '')}; or leave --print out",
        )


def _request(cell: Cell, root: Path, project: Path | None, typed: Mapping[str, Any]) -> Request:
    entry = cell.entry
    same = ("environment", "until", "seed", "jobs", "gpus", "predictions", "weights")
    fields = {
        "runs": entry.n,
        "variants": tuple(entry.vary),
        "most": entry.max,
        "evaluate": tuple(entry.evaluate),
        **{name: getattr(entry, name) for name in same},
        **file_settings(root),
        **said(entry, Settings),
        **typed,
    }
    return Request(command=cell.command, name=cell.name, project=project, here=root, **fields)


def _hint(problem: DeviateError, cell: Cell) -> str:
    if not isinstance(problem, NameTaken):
        return problem.hint
    return (
        f"add --edited to make more runs from the copy that {cell.name!r} has of the project; or give the experiment "
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


# The stored experiments that a word means: one of that name, or cells of a grid.

#: Behind the name of a grid: all its cells.
ALL = f"{AT}*"


def find_named(workspace: Workspace, words: Iterable[str]) -> list[ExperimentFolder]:
    """Return the experiments that `words` mean, each once.

    A word is the name of an experiment first. Else ``GRID`` and ``GRID@*`` mean all stored cells of a grid, also those
    that ``deviate.toml`` lists no more, and ``GRID@lr=0.1,*`` those that fit.

    Raises UnknownExperiment if a word means none.
    """
    names = dict.fromkeys(name for word in words for name in _meant(workspace, word))
    return [workspace.find_experiment(name) for name in names]


def _meant(workspace: Workspace, word: str) -> list[str]:
    names = workspace.names()
    return [word] if word in names else cells_of(word, names) or [word]


def cells_of(word: str, names: Iterable[str]) -> list[str]:
    """Return the cells that a word means as the name of a grid or as a pattern.

    >>> names = ["base", "digits@lr=0.1,w=8", "digits@lr=1,w=8"]
    >>> cells_of("digits", names) == cells_of("digits@*", names) == names[1:]
    True
    >>> cells_of("digits@lr=0.1,*", names)
    ['digits@lr=0.1,w=8']
    >>> cells_of("*", names)
    []
    """
    grid, _, pattern = word.partition(AT)
    cells = (name.partition(AT) for name in names if name.startswith(grid + AT))
    return ["".join(cell) for cell in cells if grid and fnmatchcase(cell[2], pattern or "*")]


def grid_of(word: str, folders: Sequence[ExperimentFolder]) -> str:
    """Return the grid whose cells a word means; empty where it is the name of an experiment."""
    return "" if [folder.name for folder in folders] == [word] else word.partition(AT)[0]


def new_names(workspace: Workspace, word: str, folders: Sequence[ExperimentFolder], new: str) -> dict[str, str]:
    """Return the new name of each experiment that `word` means; cells of a grid keep their settings.

    Raises BadOption if the new name cannot be that of a grid. Raises NameTaken if there is an experiment of one of
    these names.
    """
    if not grid_of(word, folders):
        return {word: new}
    grid = new.removesuffix(ALL)
    if AT in grid:
        raise BadOption(
            f"{new!r} cannot name a grid", hint=f"type a name without {AT!r}: the cells keep their settings"
        )
    names = {folder.name: grid + AT + folder.name.partition(AT)[2] for folder in folders}
    if taken := [name for name in (grid, *names.values()) if name in workspace.names()]:
        raise NameTaken(f"an experiment is named {taken[0]!r} already", hint=f"type another name than {grid}")
    return names


def require_free(folders: Iterable[ExperimentFolder], command: str) -> None:
    """Make sure that nobody works on experiments, before the first of them is touched.

    Raises WorkspaceBusy or RunElsewhere if runs of one are being made, here or elsewhere.
    """
    for folder in folders:
        with locked(folder, ["deviate", command, folder.name]):
            require_idle(folder)
