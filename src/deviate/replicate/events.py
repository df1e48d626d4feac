"""What the replicate stage says while it goes on."""

from __future__ import annotations

import msgspec

from deviate.experiment import Run
from deviate.replicate.executors import Slot
from deviate.replicate.outcome import Outcome


class LeftoverEnded(msgspec.Struct, frozen=True, kw_only=True):
    """A training that outlived a killed tool was ended; the run is made again."""

    run: Run
    processes: int


class RunStarted(msgspec.Struct, frozen=True, kw_only=True):
    """The command of a run was started."""

    run: Run
    slot: Slot
    #: Runs of this call that were started, this one included, and those it makes in all.
    place: int
    total: int


class RunProgress(msgspec.Struct, frozen=True, kw_only=True):
    """What was last heard of a run that goes on."""

    run: Run
    seconds: float
    #: Of the main loop, from 0; None before the first one, or where no main loop is known.
    iteration: int | None
    #: The latest value of each metric.
    values: dict[str, float]


class RunEnded(msgspec.Struct, frozen=True, kw_only=True):
    """A run ended, and its outcome is stored."""

    run: Run
    outcome: Outcome
    #: The last value of each metric.
    values: dict[str, float] = {}


class OpenedAnew(msgspec.Struct, frozen=True, kw_only=True):
    """A new experiment was made although there is one of the same command."""

    name: str
    #: What the other one is called, and in what it differs.
    other: str


class FactorsSeen(msgspec.Struct, frozen=True, kw_only=True):
    """What the first run of a call showed: which factors the program draws for, and which it does not."""

    run: Run
    present: list[str]
    absent: list[str]


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """After a round of runs it was looked whether a variant has enough of them."""

    variant: str
    #: What was seen, in a line.
    text: str


Event = LeftoverEnded | RunStarted | RunProgress | RunEnded | OpenedAnew | FactorsSeen | Looked
