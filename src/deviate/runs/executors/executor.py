"""What starts the commands of runs.

An executor starts a command, says whether it still runs, and ends it. All else is read from the files of the run: what
it recorded, and how its command ended (``ended.json``, written by whatever watches the command). Users name one by a
word; its module is imported when it is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from deviate.core.errors import BadOption

if TYPE_CHECKING:
    from deviate.runs.hardware import Gpus


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """Room for one run beside others."""

    index: int
    #: Cores a run is held to; None: not held.
    cores: tuple[int, ...] | None = None
    #: Threads that are set for its libraries; None: not set.
    threads: int | None = None
    #: CUDA_VISIBLE_DEVICES; None: not set.
    gpus: str | None = None
    #: These are numbers of the driver's.
    gpus_by_bus: bool = False


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """All that is needed to start the command of a run."""

    argv: list[str]
    environment: Mapping[str, str]
    cwd: Path
    stdout: Path
    stderr: Path
    slot: Slot
    #: What it reads from standard input; None: nothing.
    stdin: Path | None = None
    #: Identifies the run's processes: it is in the environment of each.
    runtime_file: Path
    #: Where it is written how the command ended, see `deviate.store.run_files.Ended`.
    ended_file: Path
    #: Seconds the command may take; None: as long as it likes.
    timeout: float | None = None
    #: Seconds it may neither record nor print anything; None: as long as it likes.
    stall: float | None = None
    #: False: what the system counts of the command is not what its processes take, which a service starts.
    counted: bool = True
    #: Bytes of memory that its processes may hold together; None: as many as there are.
    memory: float | None = None
    #: Exit statuses with which it has ended well.
    accepts: tuple[int, ...] = (0,)


class Handle(msgspec.Struct, frozen=True):
    """A command that an executor started; only that executor knows what it means.

    Of a run whose tool was killed before it could store more, there is the runtime file alone.
    """

    #: The run's runtime file, which is known before anything is started.
    run: Path
    #: What the executor calls the command, where that is no process of this machine.
    job: str = ""
    #: The process of this machine that the command began with, and when it was created, in seconds since the boot,
    #: which tells it from a later one with the same id.
    pid: int | None = None
    created: float | None = None
    #: Packages that were imported when the command was forked; none where it was started.
    warm: tuple[str, ...] = ()


class Places:
    """Which slots of this machine have a run, of all experiments that are made side by side."""

    def __init__(self, *, shared: bool = False) -> None:
        #: Whether several experiments take places here.
        self.shared = shared
        self._taken: dict[int, int] = {}

    def free(self, jobs: int) -> int | None:
        """Return the first free slot where the machine is divided between `jobs` runs, if no run has another share."""
        if any(other != jobs for other in self._taken.values()):
            return None
        return next((index for index in range(jobs) if index not in self._taken), None)

    def take(self, index: int, jobs: int) -> None:
        """Note that a run has a slot."""
        self._taken[index] = jobs

    def leave(self, index: int) -> None:
        """Note that a slot is free again."""
        del self._taken[index]


class Executor(Protocol):
    """Starts commands; a handle may come from an earlier process of this tool, which was killed."""

    @property
    def name(self) -> str:
        """The word users type for it."""

    @property
    def jobs(self) -> int:
        """How many runs may go on side by side."""

    def slot(self, index: int) -> Slot:
        """Return the room for a run, `index` from 0 to `jobs` - 1."""

    def start(self, launch: Launch) -> Handle:
        """Start a command.

        Raises OSError if the system refuses.
        """

    def poll(self, handle: Handle) -> bool:
        """Tell whether the command, or something that it started, still runs; do what is due to end it."""

    def end(self, handle: Handle, *, at_once: bool = False) -> int:
        """Begin to end a command with all it started, `at_once` without time to clean up; may be called again.

        What an earlier process of this tool started has ended on return.

        Returns how many processes or jobs were there.
        """

    def wait(self, seconds: float) -> None:
        """Return when a command has ended, or after `seconds`."""


#: Those that start commands on this machine. Module and class; made with the number of runs side by side.
EXECUTORS = {
    "local": ("deviate.runs.executors.local", "LocalExecutor"),
}

DEFAULT_EXECUTOR = "local"

#: Those that start workers elsewhere, see `deviate.runs.engines`.
ENGINES = ("slurm", "ray", "workers")

#: Of these, the one whose commands are printed, and never started or followed from here.
EXPORTED = "workers"

WORDS = (*EXECUTORS, *ENGINES)


def check_executor(name: str) -> None:
    """Refuse a name that no executor has.

    Raises BadOption with the names there are.
    """
    if name not in WORDS:
        raise BadOption(f"no executor is named {name!r}", hint=f"type one of: {', '.join(WORDS)}")


def make_executor(name: str, jobs: int, gpus: Gpus | None = None) -> Executor:
    """Return the executor of a name, for `jobs` runs side by side that share `gpus`; None: those that are visible."""
    module, kind = EXECUTORS[name]
    executor: Executor = getattr(importlib.import_module(module), kind)(jobs, gpus=gpus)
    return executor
