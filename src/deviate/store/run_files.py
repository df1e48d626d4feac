"""What is stored of a run: how it was started, how its command ended, and what became of it.

Record files: slots of a fixed size, each with a record or unused.

A process maps its file into memory and reserves room for records to come. A slot that is unused, or of a record that
was never finished, has no time and is dropped. Files that begin with a `HEAD` are such; others have records only, and
the torn end of one is dropped.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import BinaryIO, ClassVar, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from deviate.core.experiment import SCHEMA, Status
from deviate.store.files import FileSum

Cause = Literal["timeout", "cancel", "stall", "memory"]


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How the command of a run ended: ``ended.json``."""

    schema: int = SCHEMA
    #: Exit status, negative for a signal; None where it could not be ended.
    status: int | None
    #: Why it was made to end; None where it ended by itself.
    cause: Cause | None
    seconds: float
    #: See `Ending`.
    cpu_seconds: float | None = None
    peak_memory: int | None = None
    gpu_memory: int | None = None
    #: What outlived the command, did nothing any more and was ended, by name; and whether it had recorded values.
    left: list[str] = []
    left_training: bool = False


#: What the system and the driver measure of a run: fields of `Ended`, of `Ending` and of results.
TAKEN = ("cpu_seconds", "peak_memory", "gpu_memory")


class Ending(msgspec.Struct, frozen=True, kw_only=True, tag_field="status"):
    """What every outcome says."""

    status: ClassVar[Status]
    #: False where the same command makes the run again.
    done: ClassVar[bool] = True

    schema: int = SCHEMA
    #: Wall time of the command; None for a run that was imported and whose time nothing tells.
    seconds: float | None
    #: Local time of the end in ISO 8601.
    ended: str = ""
    #: What a reader of the results has to know, such as a linked input that the run wrote to.
    warnings: list[str] = []
    #: What the run recorded and reported in text, by path in its folder, as it was when the run ended; empty where that
    #: was not noted.
    files: dict[str, FileSum] = {}
    #: Seconds of all cores together that the command and all it waited for took; left out where nobody tells.
    cpu_seconds: float | msgspec.UnsetType = msgspec.UNSET
    #: Bytes of resident memory that the largest of its processes held at most; left out where nobody tells.
    peak_memory: int | msgspec.UnsetType = msgspec.UNSET
    #: Bytes of GPU memory that its processes were seen to hold together at most; left out where none was seen.
    gpu_memory: int | msgspec.UnsetType = msgspec.UNSET


class Completed(Ending, frozen=True, kw_only=True, tag="completed"):
    """The command ended by itself with a status that is accepted, and it was instrumented."""

    status: ClassVar[Status] = "completed"


class Unfinished(Ending, frozen=True, kw_only=True):
    """The run gives no sample; says why, and what to do."""

    reason: str
    hint: str = ""
    #: Exit status of the command; None where a signal ended it.
    exit_code: int | None = None
    #: Name of the signal that ended it, such as ``SIGSEGV``.
    signal: str | None = None
    #: The last lines of the run's standard error.
    stderr: list[str] = []


class Failed(Unfinished, frozen=True, kw_only=True, tag="failed"):
    """The command ended with a status that says so, or by a signal."""

    status: ClassVar[Status] = "failed"

    #: It was ended from outside, and says nothing of the training: the same command makes the run again.
    killed: bool = False


class TimedOut(Unfinished, frozen=True, kw_only=True, tag="timed-out"):
    """The command was ended because it ran for longer than allowed."""

    status: ClassVar[Status] = "timed-out"


class Cancelled(Unfinished, frozen=True, kw_only=True, tag="cancelled"):
    """The user stopped Deviate while the command ran; the same command makes the run again."""

    status: ClassVar[Status] = "cancelled"
    done: ClassVar[bool] = False


class NotInstrumented(Unfinished, frozen=True, kw_only=True, tag="not-instrumented"):
    """The command ended well, but no process of it reported, so nothing was measured."""

    status: ClassVar[Status] = "not-instrumented"


Outcome = Completed | Failed | TimedOut | Cancelled | NotInstrumented


def signal_name(number: int) -> str:
    """Return ``SIGKILL`` for 9, and ``signal 99`` for a number without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Hardware(msgspec.Struct, frozen=True, kw_only=True):
    """What of a machine decides how its numbers come out, as a program sees it."""

    #: ``x86_64``.
    architecture: str
    #: Name of the processor; empty where the system does not tell.
    cpu: str
    #: Names of the GPUs, sorted.
    gpus: list[str]


class ContainerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was started in."""

    #: Its engine: docker, podman or apptainer.
    engine: str
    image: str
    #: What no other image has; empty where nobody tells.
    identity: str


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """How a run was started: ``run.json``."""

    schema: int = SCHEMA
    variant: str
    index: int
    #: The seed of each factor; None where the program's own seeds are left alone.
    seeds: dict[str, int] | None
    hold_impl: bool
    #: Operations without a deterministic form end the run instead of being noted.
    strict: bool = False
    #: The machine that was emulated for it; None: none was.
    platform: str | None = None
    argv: list[str]
    cwd: str
    #: Variables that differ from the environment Deviate was started in; None: taken away.
    environment: dict[str, str | None]
    executor: str
    host: str
    #: Place among the runs that go on side by side, from 0.
    slot: int
    #: Runs that could go on side by side.
    jobs: int
    #: Cores the run was held to; None: not held.
    cores: list[int] | None = None
    #: Threads that were set for its numerical libraries; None: not set.
    threads: int | None = None
    gpus: str | None = None
    #: Variables that numerical libraries read, as they were set for the run.
    variables: dict[str, str] = {}
    #: The project's commit and what was changed since; None where git does not know it.
    git: str | None = None
    #: GPUs of the machine with their driver, whether or not the run uses them.
    installed_gpus: list[str] = []
    #: Operating system with its version.
    system: str = ""
    #: Local time of the start in ISO 8601.
    started: str
    #: The process of `host` that the command began with, and when it was created, in seconds since the boot; None until
    #: it runs, and where the executor started none here.
    pid: int | None = None
    created: float | None = None
    #: What the executor calls the command, where that is no such process.
    job: str | msgspec.UnsetType = msgspec.UNSET
    #: The run whose training this is, too, since both draw the same; empty where it has its own.
    same_as: str = ""
    #: Packages that had been imported by the process that it was forked from; left out where it was started.
    warm: list[str] | msgspec.UnsetType = msgspec.UNSET
    #: The GPUs that it saw, each with its name and UUID; left out where there was none, or it is not known which.
    devices: list[str] | msgspec.UnsetType = msgspec.UNSET
    #: Left out by versions that did not note it.
    hardware: Hardware | msgspec.UnsetType = msgspec.UNSET
    #: Left out where it was started in none.
    container: ContainerInfo | msgspec.UnsetType = msgspec.UNSET
    #: A checksum of each variable of the environment that it was started from, see `inherited`; left out by versions
    #: that did not note it.
    inherited: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    #: The folder of `host` in which it was made, see `deviate.runs.scratch`; left out where that is this one.
    scratch: str | msgspec.UnsetType = msgspec.UNSET


#: Metric id, iteration, seconds since the process's runtime started, exact value.
RECORD = np.dtype([("id", "<i4"), ("iteration", "<i4"), ("elapsed", "<f8"), ("value", "<f8")])

#: Id of the first record of a file with unused slots; its value is how many records could not be written.
HEAD = -4

#: Bytes looked through at once for the end of what is used.
_BLOCK = 4096 * RECORD.itemsize


def parse_records(data: bytes) -> NDArray[np.void]:
    """Return the whole records in `data`, in the order they were written; a torn end is dropped."""
    return np.frombuffer(data, dtype=RECORD, count=len(data) // RECORD.itemsize)


def read_records(path: Path, size: int | None = None) -> NDArray[np.void]:
    """Return the records of the first `size` bytes of a file, of all by default, in the order they were written."""
    return read_on(path, 0, -1 if size is None else size // RECORD.itemsize)[0]


def read_on(path: Path, begin: int, most: int = -1) -> tuple[NDArray[np.void], int]:
    """Return the records of a file that may grow from byte `begin` on, and the byte to read on from.

    `most` is how many slots are read; all by default.
    """
    with path.open("rb") as file:
        has_unused = _has_unused(file)
        file.seek(begin)
        slots = parse_records(file.read(most * RECORD.itemsize if most >= 0 else -1))
    if not has_unused:
        return slots, begin + slots.nbytes
    used = np.flatnonzero(slots["elapsed"])
    taken = slots[used]
    return taken[taken["id"] != HEAD], begin + (int(used[-1]) + 1 if used.size else 0) * RECORD.itemsize


def _has_unused(file: BinaryIO) -> bool:
    head = parse_records(file.read(RECORD.itemsize))
    return bool(len(head) and head["id"][0] == HEAD)


def used_size(path: Path) -> int:
    """Return how many bytes of a record file are records: it grows with each of them."""
    with path.open("rb") as file:
        has_unused = _has_unused(file)
        size = file.seek(0, 2) // RECORD.itemsize * RECORD.itemsize
        while has_unused and size:
            begin = max(0, size - _BLOCK)
            file.seek(begin)
            used = np.flatnonzero(parse_records(file.read(size - begin))["elapsed"])
            if used.size:
                return begin + (int(used[-1]) + 1) * RECORD.itemsize
            size = begin
    return size


def lost_count(path: Path) -> int:
    """Return how many records a process could not write, by what it could say in their file."""
    with path.open("rb") as file:
        head = parse_records(file.read(RECORD.itemsize))
    return int(head["value"][0]) if len(head) and head["id"][0] == HEAD else 0


def read_tail(path: Path, count: int) -> NDArray[np.void]:
    """Return the last whole records of a file that may still grow, at most `count` of them."""
    begin = max(0, used_size(path) - count * RECORD.itemsize)
    return read_on(path, begin, count)[0]
