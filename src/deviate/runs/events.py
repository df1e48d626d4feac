"""What the replicate stage says while it goes on."""

from __future__ import annotations

import msgspec

from deviate.core.experiment import Run
from deviate.runs.executors.executor import Slot
from deviate.store.run_files import Outcome


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
