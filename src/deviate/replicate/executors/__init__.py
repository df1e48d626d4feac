"""Where the commands of runs are started. Executors differ in nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """Room for one run beside others."""

    index: int
    #: Cores a run is held to; None: not held.
    cores: tuple[int, ...] | None = None
    #: Threads its libraries are told to use; None: not told.
    threads: int | None = None
    #: CUDA_VISIBLE_DEVICES; None: not told.
    gpus: str | None = None


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """All that is needed to start the command of a run."""

    argv: list[str]
    environment: Mapping[str, str]
    cwd: Path
    stdout: Path
    stderr: Path
    slot: Slot
    #: Identifies the run's processes: it is in the environment of each.
    runtime_file: Path


class Training(Protocol):
    """A command that was started."""

    @property
    def pid(self) -> int:
        """Its process."""

    @property
    def created(self) -> float | None:
        """When the system says the process was created, which tells it from a later one with the same id."""

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""

    def signal(self, number: int) -> None:
        """Send a signal to the command and everything it started."""

    def has_followers(self) -> bool:
        """Tell whether something that the command started still runs."""


class Executor(Protocol):
    """Starts commands."""

    @property
    def name(self) -> str:
        """The word users type for it."""

    @property
    def jobs(self) -> int:
        """How many runs may go on side by side."""

    def slot(self, index: int) -> Slot:
        """Return the room for the run at place `index` of `jobs`."""

    def start(self, launch: Launch) -> Training:
        """Start a command.

        Raises
        ------
        OSError
            If the system refuses.
        """

    def wait(self, seconds: float) -> None:
        """Return when a training has ended, or after `seconds`."""

    def end_leftover(self, runtime_file: Path, pid: int | None, created: float | None) -> int:
        """End what still runs of a run whose tool was killed; return how many processes that were."""
