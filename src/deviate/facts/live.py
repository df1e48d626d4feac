"""An experiment whose runs may go on, as its files show it at one moment."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from deviate.core.errors import DeviateError
from deviate.core.experiment import Experiment, Run
from deviate.observe.headline import main_metric
from deviate.observe.metrics import Directions, directions_of, listed_directions
from deviate.runs.events import seconds_left
from deviate.runs.executors.processes import is_alive
from deviate.runs.lease import live_holder
from deviate.store.folders import ExperimentFolder, RunFolder
from deviate.store.records import LiveSeries, Progressed, metric_id, read_progress
from deviate.store.run_files import Outcome, RunInfo, Unfinished

#: ``waiting``: not started; ``under way``: its process lives, or nothing tells; ``interrupted``: its process is gone;
#: ``evaluating``: its training completed, and an evaluation goes on.
State = Literal["waiting", "under way", "interrupted", "completed", "failed", "timed-out", "cancelled",
                "not-instrumented", "evaluating"]  # fmt: skip


class LiveRun(msgspec.Struct, frozen=True, kw_only=True):
    """One planned run."""

    name: str
    variant: str
    state: State
    #: Since it began, or of its whole command; None where it has not begun, or nothing tells.
    seconds: float | None = None
    iteration: int | None = None
    #: Of the main metric: iterations in rising order, and the last value of each, where it is finite.
    iterations: list[int] = []
    values: list[float] = []
    #: Why it did not complete, and the last lines of its standard error.
    reason: str = ""
    tail: list[str] = []
    #: The run whose training this is, too; empty where it has its own.
    same_as: str = ""
    #: While it is under way: the latest value of each metric, and the iteration of the latest of them.
    latest: dict[str, float] = {}
    reported: int | None = None

    @property
    def rounds(self) -> int | None:
        """How many rounds of the main loop it has reported; None before the first."""
        return self.iteration if self.reported is None else self.reported + 1


class LiveExperiment(msgspec.Struct, frozen=True, kw_only=True):
    """All planned runs of an experiment."""

    name: str
    command: list[str]
    #: The main metric and its unit; empty where none was found in the source.
    metric: str
    runs: list[LiveRun]
    #: Until the last planned run has ended, by the time of those that completed; None where none has.
    seconds_left: float | None
    #: Runs that go on side by side, and seconds since the first one began.
    jobs: int = 1
    elapsed: float = 0.0
    #: Rounds of the main loop, where its source tells, and what one is called.
    rounds: int | None = None
    word: str = "iteration"
    #: The metrics, the main one first, with the decimals that the program prints.
    decimals: dict[str, int | None] = {}

    @property
    def own(self) -> list[LiveRun]:
        """The runs that are trainings of their own."""
        return [run for run in self.runs if not run.same_as]

    @property
    def done(self) -> int:
        """How many trainings have ended."""
        return sum(run.state not in ("under way", "evaluating", "waiting", "interrupted") for run in self.own)

    @property
    def share(self) -> float:
        """How much of all trainings is done, in [0, 1]; those under way count as far as they are."""
        parts = [(run.rounds or 0) / self.rounds for run in self.own if run.state == "under way"] if self.rounds else []
        return min((self.done + sum(parts)) / max(len(self.own), 1), 1.0)

    def count(self, *states: State) -> int:
        """Return how many trainings are in one of the states."""
        return sum(run.state in states for run in self.own)

    @property
    def going(self) -> bool:
        """Whether a run is under way, or is evaluated."""
        return self.count("under way", "evaluating") > 0


class LiveReader:
    """Reads an experiment again and again; of record files only what was added."""

    def __init__(self, folder: ExperimentFolder) -> None:
        self.folder = folder
        self._series: dict[Path, LiveSeries] = {}

    def version(self) -> str:
        """Return a text that changes whenever a file changes that `read` would look at."""
        digest = hashlib.sha256()
        for path in (self.folder.experiment_file, *self._watched()):
            with suppress(OSError):
                status = path.stat()
                digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
        return digest.hexdigest()

    def ended(self) -> int:
        """Return how many runs have ended."""
        return sum(run.outcome_file.is_file() for run in self.folder.runs())

    def read(self) -> LiveExperiment:
        """Return the experiment as it is now; files that are gone or half-written count as not there."""
        experiment = self.folder.read_experiment()
        selected = [metric for metric in experiment.metrics if metric.selected]
        said = directions_of((metric.name for metric in selected), _directions(self.folder))
        metrics = [
            msgspec.structs.replace(metric, direction=said.get(metric.name, metric.direction)) for metric in selected
        ]
        main = main_metric(metrics).name if metrics else ""
        ordered = sorted(metrics, key=lambda metric: metric.name != main)
        started = {folder.run.folder: folder for folder in self.folder.runs()}
        planned = dict.fromkeys((*(run.folder for run in _planned(experiment)), *started))
        names = [metric.name for metric in experiment.metrics]
        runs = [self._run(name, started.get(name), main, names) for name in planned]
        jobs = max((run.jobs for run in map(_info, started.values()) if run is not None), default=1)
        return LiveExperiment(
            name=experiment.name,
            command=experiment.command,
            metric=main,
            runs=runs,
            seconds_left=_seconds_left(runs, jobs),
            jobs=jobs,
            elapsed=max((since for info in map(_info, started.values()) if (since := _since(info))), default=0.0),
            rounds=experiment.main_loop.rounds if experiment.main_loop else None,
            word=experiment.word,
            decimals={metric.name: metric.decimals for metric in ordered},
        )

    def _watched(self) -> Iterator[Path]:
        for run in self.folder.runs():
            yield from (run.info_file, run.outcome_file, run.worker, *run.record_files())

    def _run(self, name: str, folder: RunFolder | None, main: str, names: list[str]) -> LiveRun:
        variant = name.rpartition("-")[0]
        info, outcome = (_info(folder), _outcome(folder)) if folder else (None, None)
        if folder is None or (info is None and outcome is None):
            return LiveRun(name=name, variant=variant, state="waiting")
        iteration, curve = self._curve(folder, metric_id(main, names))
        progress = read_progress(folder, names) if outcome is None else Progressed(None, {}, None)
        unfinished = outcome if isinstance(outcome, Unfinished) else None
        return LiveRun(
            name=name,
            variant=variant,
            state=_ended(folder, outcome) if outcome else _state(folder, info),
            seconds=outcome.seconds if outcome else _since(info),
            iteration=iteration,
            iterations=list(curve),
            values=list(curve.values()),
            reason=unfinished.reason if unfinished else "",
            tail=unfinished.stderr if unfinished else [],
            same_as=(info.same_as or "") if info else "",
            latest=progress.values,
            reported=progress.reported,
        )

    def _curve(self, folder: RunFolder, metric: int | None) -> tuple[int | None, dict[int, float]]:
        """Return the latest iteration of a run, and the curve of the process that has the longest one."""
        known = []
        for path in folder.record_files():
            series = self._series.setdefault(path, LiveSeries(path))
            with suppress(OSError):
                series.read(metric)
                known.append(series)
        iterations = [series.iteration for series in known if series.iteration is not None]
        longest = max((series.values for series in known), key=len, default={})
        finite = {iteration: value for iteration, value in longest.items() if math.isfinite(value)}
        return max(iterations, default=None), dict(sorted(finite.items()))


def _planned(experiment: Experiment) -> Iterator[Run]:
    for variant, runs in experiment.planned.items():
        yield from (Run(variant=variant, index=index) for index in range(runs))


def _directions(folder: ExperimentFolder) -> Directions:
    with suppress(OSError, DeviateError):
        return listed_directions(folder.project)
    return {}


def _info(folder: RunFolder) -> RunInfo | None:
    with suppress(OSError, DeviateError):
        return folder.read_info()
    return None


def _outcome(folder: RunFolder) -> Outcome | None:
    with suppress(OSError, DeviateError):
        return folder.read_outcome()
    return None


def _ended(folder: RunFolder, outcome: Outcome) -> State:
    return "evaluating" if outcome.status == "completed" and is_evaluated(folder) else outcome.status


def is_evaluated(folder: RunFolder) -> bool:
    """Tell whether a worker evaluates a run that has ended."""
    with suppress(OSError, DeviateError):
        return folder.is_done and live_holder(folder) is not None
    return False


def _state(folder: RunFolder, info: RunInfo | None) -> State:
    if info is None or folder.ended_file.is_file():
        # Its command has ended; its evaluations go on, or its outcome is about to be written.
        return "under way"
    return "interrupted" if is_alive(info.host, info.pid, info.created) is False else "under way"


def _since(info: RunInfo | None) -> float | None:
    if info is None:
        return None
    with suppress(ValueError):
        return max((datetime.now().astimezone() - datetime.fromisoformat(info.started).astimezone()).total_seconds(), 0)
    return None


def _seconds_left(runs: Sequence[LiveRun], jobs: int) -> float | None:
    """Estimate the time until the last planned run has ended, as whoever makes the runs does."""
    return seconds_left(
        took=[run.seconds for run in runs if run.state == "completed" and run.seconds and not run.same_as],
        going=[run.seconds or 0.0 for run in runs if run.state == "under way"],
        waiting=sum(run.state in ("waiting", "interrupted") for run in runs),
        slots=jobs,
    )
