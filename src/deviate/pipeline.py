"""The flow, a line a stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import datetime

from deviate.collect.fingerprints import fingerprints
from deviate.errors import NothingRecorded
from deviate.experiment import Until
from deviate.factors import SEEDED
from deviate.instrument.project import instrument_project
from deviate.opening import open_experiment, plan_runs, requested_runs
from deviate.replicate.events import Event, FactorsSeen, OpenedAnew, RunEnded
from deviate.replicate.executors.local import LocalExecutor
from deviate.replicate.lock import locked
from deviate.replicate.outcome import Completed
from deviate.replicate.replicate import ReplicateOptions, replicate
from deviate.replicate.workspace import ExperimentFolder, Workspace
from deviate.report.asked import NOTHING, Asked
from deviate.report.document import build_document
from deviate.report.gather import gather
from deviate.report.latest import with_ordered_values
from deviate.report.parts import Document
from deviate.request import Request, check_request, prepare_request
from deviate.stopping import settle_metric, settle_until, until_enough

Observe = Callable[[Event], None]


def run(request: Request, observe: Observe = lambda event: None) -> ExperimentFolder:
    """Do the whole job up to the last record; `observe` hears of every run that starts, goes on and ends."""
    check_request(request)
    until = settle_until(request)
    prepared = prepare_request(request)
    if until is not None:
        until = settle_metric(until, prepared.findings)
    workspace = Workspace(prepared.target.project)
    if request.name is not None:
        workspace.experiment(request.name)  # refuses what cannot be a name, before anything is written
    workspace.prepare()
    with locked(workspace, ["deviate", "run", "--", *prepared.target.command]):
        opened = open_experiment(request, prepared, workspace, datetime.now().astimezone(), until)
        folder, seen = opened.folder, False
        if opened.other:
            observe(OpenedAnew(name=folder.name, other=opened.other))
        for event in _runs(request, folder, until):
            observe(event)
            _stop_if_silent(folder, event)
            if not seen and (factors := factors_seen(folder, event)) is not None:
                seen = True
                observe(factors)
    return folder


def factors_seen(folder: ExperimentFolder, event: Event) -> FactorsSeen | None:
    """Return which factors a run that has just completed drew for; None where nothing was looked at."""
    if not (isinstance(event, RunEnded) and isinstance(event.outcome, Completed)):
        return None
    found = fingerprints(folder.run(event.run))
    if not found:
        return None
    return FactorsSeen(
        run=event.run,
        present=[factor for factor in SEEDED if factor in found],
        absent=[factor for factor in SEEDED if factor not in found],
    )


def describe(
    folder: ExperimentFolder,
    *,
    level: float = 0.95,
    aggregates: Mapping[str, str] | None = None,
    asked: Asked = NOTHING,
) -> Document:
    """Collect and measure what the runs recorded, and say all of it."""
    inputs = gather(folder, level=level, aggregates=aggregates, asked=asked)
    return build_document(inputs, lambda: datetime.now().astimezone())


def _runs(request: Request, folder: ExperimentFolder, until: Until | None) -> Iterator[Event]:
    """Make as many runs as were asked for, or until there are enough."""
    experiment = folder.read_experiment()
    instrumented = instrument_project(folder.snapshot, experiment.metrics, experiment.main_loop, experiment.draws)
    overlay = {file: result.data for file, result in instrumented.items()}
    jobs = request.jobs or _jobs(folder)

    def make(planned: Mapping[str, int], first: bool = True) -> Iterator[Event]:
        wanted = plan_runs(folder, planned)
        options = _options(request, retry=first)
        with closing(replicate(wanted, folder, overlay, LocalExecutor(jobs), options=options)) as events:
            yield from (with_ordered_values(event, experiment) for event in events)

    if until is None:
        return make(requested_runs(request))
    return until_enough(make, folder, until, list(requested_runs(request)), jobs)


def _jobs(folder: ExperimentFolder) -> int:
    """Return how many runs went on side by side so far: with another number each gets another share of the cores."""
    infos = [info for run in folder.runs() if run.is_done and (info := run.read_info()) is not None]
    return max(infos, key=lambda info: info.started).jobs if infos else 1


def _options(request: Request, *, retry: bool) -> ReplicateOptions:
    return ReplicateOptions(
        timeout=request.timeout,
        retry_failed=request.retry_failed and retry,
        keep_work=not request.discard_work,
        strict=request.strict,
    )


def _stop_if_silent(folder: ExperimentFolder, event: Event) -> None:
    """End the experiment if its first run came to an end and recorded nothing: the others would not either."""
    if not (isinstance(event, RunEnded) and isinstance(event.outcome, Completed)):
        return
    if any(run.record_files() for run in folder.runs() if run.is_done):
        return
    raise NothingRecorded(
        f"run {event.run.folder} of {folder.name!r} completed and none of its metrics reported a value",
        hint=f"`deviate logs {folder.name} {event.run.folder}` shows what it printed; "
        f"`deviate extract {folder.read_experiment().entry} --diff` what is recorded where",
    )
