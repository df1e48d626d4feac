"""What is said while runs go on, and how long those that are still to be made will take."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from deviate.core.experiment import Decided, Experiment, Placement, Run, Until
from deviate.observe.headline import main_first
from deviate.observe.metrics import measured_metrics
from deviate.runs.executors.executor import Slot
from deviate.store.run_files import Completed, Outcome

if TYPE_CHECKING:
    from deviate.stats.multiplicity import Look


class LeftoverEnded(msgspec.Struct, frozen=True, kw_only=True):
    """A training that outlived a killed tool was ended; the run is made again."""

    run: Run
    processes: int


class RunStarted(msgspec.Struct, frozen=True, kw_only=True):
    """The command of a run was started."""

    run: Run
    slot: Slot
    #: Runs of this call that were started, this one included, and those it makes in all.
    number: int
    total: int
    #: The runs that it makes, by variant.
    planned: dict[str, int] = {}
    #: Runs that go on side by side at most.
    jobs: int = 1
    #: With the first run of a call: seconds of those that had completed before.
    took: list[float] = []


class ColdStart(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that were to be forked are started in the ordinary way; said once for each reason."""

    reason: str


class RunProgress(msgspec.Struct, frozen=True, kw_only=True):
    """What was last heard of a run that goes on."""

    run: Run
    seconds: float
    #: Of the main loop, from 0; None before the first one, or where no main loop is known.
    iteration: int | None
    #: The latest value of each metric.
    values: dict[str, float]
    #: Name of the command beside the training that goes on; empty while the training does.
    step: str = ""
    #: The latest iteration in which a value was recorded; None before one was.
    reported: int | None = None


class StepEnded(msgspec.Struct, frozen=True, kw_only=True):
    """A command beside the training ended, and its outcome is stored."""

    run: Run
    step: str
    repeat: int
    outcome: Outcome


class RunEnded(msgspec.Struct, frozen=True, kw_only=True):
    """All that was to be done of a run has ended, and its outcome is stored."""

    run: Run
    outcome: Outcome
    #: The last value of each metric, those of its evaluations too.
    values: dict[str, float] = {}
    #: False where it was trained before, and evaluated now.
    trained: bool = True


class RunShared(msgspec.Struct, frozen=True, kw_only=True):
    """A run is not trained: it draws what another one draws."""

    run: Run
    #: The run whose training serves both; None where nothing is to be learnt from another run.
    twin: Run | None


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """Workers of runs were asked for."""

    executor: str
    runs: int
    #: What was submitted.
    script: str
    #: False where the user submits it.
    sent: bool = True


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """Workers are still to come."""

    executor: str
    runs: int
    #: Why, in the engine's word; not said again unless it changes.
    reason: str


class RunLost(msgspec.Struct, frozen=True, kw_only=True):
    """The worker of a run is gone, and the run is not done."""

    run: Run
    #: What the engine says of the job; empty where it says nothing.
    state: str
    #: Whether another worker is asked for.
    again: bool


class LeftToCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The user stopped this tool; what was handed over goes on."""

    executor: str
    runs: int
    #: How they are ended.
    cancel: str
    #: Runs that are still to be handed over.
    waiting: int = 0
    #: Where the executor is reached, and the submissions that the runs are of.
    address: str = ""
    submissions: frozenset[str] = frozenset()
    #: The cells of a grid that the runs are of.
    cells: int = 1


class Idle(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing is to be done for so many seconds: whoever asks for events waits, or does something else."""

    seconds: float


Event = (
    LeftoverEnded
    | RunStarted
    | ColdStart
    | RunProgress
    | StepEnded
    | RunEnded
    | RunShared
    | Submitted
    | Waits
    | RunLost
    | LeftToCluster
    | Idle
)


def seconds_left(took: Sequence[float], going: Sequence[float], waiting: int, slots: int) -> float | None:
    """Estimate the seconds until the last run has ended; None where no run has completed.

    A run takes the mean of those that completed. Those under way go on for what is left of it, and those that wait go
    to the slot that is free first.

    Parameters
    ----------
    took : sequence of float
        Seconds of each run that completed.
    going : sequence of float
        Seconds for which each run under way has gone on.
    waiting : int
        Runs that are still to be started.
    slots : int
        Runs that go on side by side.

    Examples
    --------
    >>> seconds_left([10.0, 12.0], going=[5.0], waiting=2, slots=2)
    17.0
    """
    if not took:
        return None
    mean = sum(took) / len(took)
    ends = [max(mean - seconds, 0.0) for seconds in going]
    ends += [0.0] * min(max(slots, 1) - len(ends), waiting)
    heapq.heapify(ends)
    for _ in range(waiting):
        heapq.heapreplace(ends, ends[0] + mean)
    return max(ends, default=0.0)


class TimeLeft:
    """Follows the events of the runs of one call."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.ended = 0
        self.total = 0
        self._clock = clock
        #: Runs that go on side by side.
        self.jobs = 1
        #: Seconds of each run that completed.
        self.took: list[float] = []
        #: Of runs that were trained before, and are evaluated now.
        self._evaluated: list[float] = []
        self._going: dict[Run, tuple[float, float]] = {}

    def observe(self, event: object) -> None:
        """Take in one event."""
        match event:
            case RunStarted():
                if event.number == 1:
                    # A round of several begins.
                    self.took += event.took
                    self.ended = 0
                self.total, self.jobs = event.total, max(event.jobs, 1)
                self._going[event.run] = (self._clock(), 0.0)
            case RunProgress():
                self._going[event.run] = (self._clock(), event.seconds)
            case RunShared():
                self.total = max(self.total - 1, self.ended)
            case RunEnded():
                self._end(event)

    def _end(self, event: RunEnded) -> None:
        self.ended += 1
        begun, before = self._going.pop(event.run, (self._clock(), 0.0))
        if not isinstance(event.outcome, Completed):
            return
        if event.trained:
            self.took.append(event.outcome.seconds or 0.0)
        else:
            self._evaluated.append(before + self._clock() - begun)

    def going(self) -> list[float]:
        """Return the seconds for which each run under way has gone on."""
        now = self._clock()
        return [now - at + seconds for at, seconds in self._going.values()]

    def left(self) -> float | None:
        """Return the seconds left; None before a run has completed."""
        going = self.going()
        waiting = max(self.total - self.ended - len(going), 0)
        return seconds_left(self._evaluated or self.took, going, waiting, self.jobs)


def left_together(parts: Sequence[TimeLeft], unbegun: int) -> float | None:
    """Return the seconds left of experiments that share their slots, with so many runs of others that wait for them."""
    took = [seconds for part in parts for seconds in part.took]
    going = [seconds for part in parts for seconds in part.going()]
    waiting = sum(max(part.total - part.ended, 0) for part in parts) + unbegun - len(going)
    return seconds_left(took, going, waiting, max((part.jobs for part in parts), default=1))


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of an experiment are about to be made."""

    experiment: Experiment
    #: Runs that go on side by side at most.
    jobs: int
    #: The last values of each run that has completed before.
    values: dict[Run, dict[str, float]]


class OpenedAnew(msgspec.Struct, frozen=True, kw_only=True):
    """A new experiment was made although there is one of the same command."""

    name: str
    #: What the other one is called, and in what it differs.
    other: str


class RunsPlaced(msgspec.Struct, frozen=True, kw_only=True):
    """Where runs are made, although the command does not say so."""

    placement: Placement
    #: Who says so.
    by: str


class GoesOn(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment is continued although files of the project differ from its copy, or no standard input was given."""

    name: str
    #: Files that nothing which the training reads names.
    aside: list[str]
    #: With ``--edited``: what changed in the source.
    changed: list[str]
    #: Runs read the standard input that it was made with.
    stdin: bool = False


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """After a round of runs: whether a variant has enough of them."""

    variant: str
    look: Look
    until: Until


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """After a round of runs: whether it is decided which of two experiments is better."""

    decided: Decided
    metric: str
    #: Runs of each side.
    runs: tuple[int, int]
    p: float | None
    #: What p must be below at this look.
    limit: float
    verdict: str
    #: Why no number of runs decides it; empty where runs may.
    hopeless: str = ""
    #: A difference is shown.
    shown: bool


class Packing(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial showed of runs that share GPUs, as many as will go on side by side."""

    per_gpu: int
    jobs: int
    #: Values of each run that were compared with those of a run alone.
    values: int = 0
    #: Why runs were not shown to report what one alone does; empty where they were.
    reason: str = ""

    @property
    def mark(self) -> tuple[str, ...]:
        """What readers of the results have to know of runs that are made like this."""
        if not self.reason:
            return ()
        return (
            f"made with {self.per_gpu} runs on a GPU, which was not shown to leave values as they are: {self.reason}",
        )


class PackingTried(msgspec.Struct, frozen=True, kw_only=True):
    """Before runs share GPUs: what a trial of that showed; said when it begins, without a result, and when it ends."""

    per_gpu: int
    result: Packing | None = None


StudyEvent = Event | Begun | RunsPlaced | OpenedAnew | GoesOn | Looked | Compared | PackingTried


def values_ordered(values: Mapping[str, float], experiment: Experiment) -> dict[str, float]:
    """Return the values by name of the metric, the main metric first; those alike as they were."""
    measured = measured_metrics(experiment, [(name, -1) for name in values])
    known = {metric.name: metric for metric in measured}
    return {metric.name: values[metric.name] for metric in main_first([known[name] for name in values])}


def with_ordered_values(event: Event, experiment: Experiment) -> Event:
    """Return the event with the values it carries in the order of `values_ordered`."""
    if isinstance(event, RunProgress | RunEnded):
        return msgspec.structs.replace(event, values=values_ordered(event.values, experiment))
    return event
