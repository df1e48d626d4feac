"""The flow of ``deviate run``, a line a stage, and where its runs are made."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from deviate.core.errors import BadOption
from deviate.core.experiment import AT, Decided, Experiment, Placement
from deviate.core.factors import DEFAULT_VARIANT
from deviate.core.secrets import mask_words
from deviate.runs.cluster import Engines, handed_to, lacks_runs
from deviate.runs.containers import find_container
from deviate.runs.events import GoesOn, Idle, OpenedAnew, RunsPlaced, StudyEvent
from deviate.runs.executors.executor import DEFAULT_EXECUTOR, ENGINES
from deviate.runs.experiment import make_runs, make_slots, run_maker, shared_gpus
from deviate.runs.prepared import (
    ReadStep,
    asked_steps,
    prepare_request,
    read_steps,
    require_as_trained,
    require_folders,
    take_steps,
    with_steps,
)
from deviate.runs.request import Request, check_local, check_request, container_wish
from deviate.runs.resume import open_experiment
from deviate.runs.until import settle_metric, settle_until
from deviate.source.analysis import analyse_project
from deviate.source.config import FILE_NAME, read_config
from deviate.source.entry import Target
from deviate.store.folders import ExperimentFolder, Workspace
from deviate.store.locks import locked, locked_workspace

if TYPE_CHECKING:
    from deviate.runs.until import Referee


# Where the runs of a request are made: as is typed, else where those of the experiment were made last.


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

    Raises BadOption if an option of the request is not for there.
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


def run(
    request: Request, observe: Callable[[StudyEvent], None] = lambda event: None, referee: Referee | None = None
) -> ExperimentFolder:
    """Do the whole job up to the last record; `observe` hears of every run that starts, goes on and ends.

    `referee` compares, where the request asks for runs until a comparison is decided.
    """
    with closing(study(request, referee)) as events:
        while True:
            try:
                event = next(events)
            except StopIteration as end:
                folder: ExperimentFolder = end.value
                return folder
            if isinstance(event, Idle):
                time.sleep(event.seconds)
            else:
                observe(event)


def study(
    request: Request, referee: Referee | None = None, engines: Engines | None = None
) -> Generator[StudyEvent, None, ExperimentFolder]:
    """Do what `run` does, and say what happens; several that share `engines` may go on side by side."""
    check_request(request)
    shared_gpus(request, os.environ)
    if not request.trains:
        return (yield from evaluate(request))
    rule = settle_until(request)
    # What the source does not show, the first run may print.
    prepared = prepare_request(request, scripted=False)
    if not prepared.controlled and request.variants == (DEFAULT_VARIANT,):
        request = msgspec.structs.replace(request, variants=("as-is",))
    prepared = with_steps(prepared, request)
    rule = settle_metric(rule, prepared.findings, prepared.evaluated) if rule else None
    workspace = Workspace(prepared.target.project)
    if isinstance(rule, Decided):
        if referee is None:
            raise BadOption(f"--until {rule.text!r} is for `deviate run` and `deviate.run`", hint="use `deviate.run`")
        referee.check(workspace, rule)
    if request.name is not None:
        workspace.experiment(request.name)  # refuses what cannot be a name, before anything is written
    if not workspace.path.is_dir():
        # No experiment says where its runs are made, and where none can start nothing is to be written.
        _require_container(place(request, workspace.experiment(request.name or "new")).request, prepared.target)
    workspace.prepare()
    typed = ["deviate", "run", "--", *mask_words(prepared.target.command)]
    placed = Placed(request)
    with ExitStack() as held:

        def claim(folder: ExperimentFolder) -> None:
            nonlocal placed
            held.enter_context(locked(folder, typed))
            placed = place(request, folder)
            _require_container(placed.request, prepared.target)

        with locked_workspace(workspace, typed):
            now = datetime.now().astimezone()
            opened = open_experiment(request, prepared, workspace, now, rule, claim)
        folder = opened.folder
        if not lacks_runs(folder, retry_failed=request.retry_failed):
            require_folders(folder, prepared.steps)
        _remember(take_steps(folder, prepared.steps), placed.placement, folder)
        if opened.other:
            yield OpenedAnew(name=folder.name, other=opened.other)
        if opened.aside or opened.changed or opened.stdin:
            aside = [change.text for change in opened.aside]
            yield GoesOn(name=folder.name, aside=aside, changed=opened.changed, stdin=opened.stdin)
        yield from _placed(placed, folder)
        command = prepared.target.command
        yield from make_runs(placed.request, command, folder, rule, opened.changed, referee, engines)
    return folder


def _remember(experiment: Experiment, placement: Placement | None, folder: ExperimentFolder) -> None:
    if experiment.placement != placement:
        folder.write_experiment(msgspec.structs.replace(experiment, placement=placement))


def _placed(placed: Placed, folder: ExperimentFolder) -> Iterator[StudyEvent]:
    if placed.placement is not None and placed.by and lacks_runs(folder, retry_failed=placed.request.retry_failed):
        yield RunsPlaced(placement=placed.placement, by=placed.by)


def _require_container(request: Request, target: Target) -> None:
    """Find what runs are started in before anything is written; on a cluster its machines do."""
    wish = container_wish(request, target.project)
    if wish is not None and request.executor in (None, DEFAULT_EXECUTOR):
        find_container(wish, os.environ, target.project / target.folder)


def evaluate(request: Request) -> Generator[StudyEvent, None, ExperimentFolder]:
    """Evaluate the runs of a named experiment that are there already; nothing is trained.

    Raises BadOption if there is nothing to evaluate with, the results were imported, or a file was edited that the
    training and an evaluation read.
    """
    workspace = Workspace.nearest(request.project or request.here or Path.cwd())
    folder = workspace.find_experiment(request.name or "")
    experiment = folder.read_experiment()
    if experiment.imported is not None:
        raise BadOption(f"the results of {folder.name!r} were imported", hint="only runs made by deviate run are kept")
    asked = [step for step in asked_steps(request.then, workspace.project) if step.is_evaluation]
    if not asked:
        raise BadOption(
            "no command to train with, and none to evaluate with",
            hint=f"type it after --, or evaluate the runs of {folder.name!r}: --then 'python evaluate.py'",
        )
    project = workspace.project
    training = [file for entry in experiment.entries for file in analyse_project(project, project / entry).files]
    steps = read_steps(asked, project, experiment.folder, training)
    if not request.edited:
        require_as_trained(folder, steps)
    around = [ReadStep(step=step) for step in experiment.steps if not step.is_evaluation]
    with locked(folder, ["deviate", "run", "--name", folder.name]):
        require_folders(folder, steps)
        take_steps(folder, [*around, *steps])
        # Where runs are evaluated says nothing of where they are trained, and is not remembered.
        placed = place(request, folder)
        yield from _placed(placed, folder)
        yield from run_maker(placed.request, experiment.command, folder, make_slots(placed.request, folder))({})
    return folder
