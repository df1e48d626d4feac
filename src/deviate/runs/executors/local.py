"""Start trainings on this machine, side by side on cores of their own."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Protocol

import msgspec

from deviate.runs.executors.executor import Handle, Launch, Slot
from deviate.runs.executors.processes import (
    Started,
    Usage,
    adopt_orphans,
    end_processes,
    find_processes,
    is_of,
    name_process,
    resident,
    send,
)
from deviate.runs.executors.supervise import FollowerFinder, Followers, Supervisor
from deviate.runs.hardware import Gpus, memory_by_process, usable_cores, visible_gpus


def divide(cores: Sequence[int], jobs: int, gpus: Gpus) -> list[Slot]:
    """Divide a machine between `jobs` runs: equal numbers of cores for each, and one GPU each in turn.

    One run at a time has all GPUs.
    Cores that are left over stay idle, because runs with unequal numbers of threads are not identical runs. With more
    jobs than cores, jobs share a core.
    """
    share = max(1, len(cores) // jobs)
    return [
        Slot(
            index=index,
            cores=tuple(cores[(index * share + offset) % len(cores)] for offset in range(share)),
            threads=share,
            gpus=_share(gpus.names, index, jobs),
            gpus_by_bus=gpus.by_bus,
        )
        for index in range(jobs)
    ]


def _share(gpus: Sequence[str], index: int, jobs: int) -> str | None:
    if not gpus:
        return None
    return gpus[index % len(gpus)] if jobs > 1 else ",".join(gpus)


def _gpus_to_divide(jobs: int) -> Gpus:
    """Return the GPUs that are divided where the user does not say: none where there is nothing to divide."""
    visible = visible_gpus(os.environ) if jobs > 1 else Gpus()
    return visible if len(visible.names) > 1 else Gpus()


def _with_threads(slot: Slot, threads: int) -> Slot:
    """Return a slot for so many threads; with more cores than that, which of them are the run's is not known."""
    cores = slot.cores if slot.cores is not None and len(slot.cores) <= threads else None
    return msgspec.structs.replace(slot, cores=cores, threads=threads)


class Command(Protocol):
    """A process that was started."""

    pid: int
    returncode: int | None
    #: What it took; None as long as it runs, and where nobody tells.
    usage: Usage | None

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""


class LocalTraining:
    """A command running on this machine, in a session of its own."""

    def __init__(self, process: Command, handle: Handle, *, counted: bool = True) -> None:
        self._process = process
        self._counted = counted
        self._handle = handle
        self._finder = FollowerFinder(handle, process.pid)

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def signal(self, number: int) -> None:
        """Send a signal to the command and everything it started."""
        leader = self._process.pid
        leads = self._process.returncode is None
        outside = [each for each in self._finder.find() if not (leads and _group(each.pid) == leader)]
        # The group at once, so that a shell and its program hear it together; then whoever left the group. Once the
        # leader is waited for, the group's number may become another's.
        if leads:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(leader, number)
        send(outside, number)

    def followers(self) -> Followers:
        """Return what goes on after the command has ended."""
        return self._finder.look()

    def usage(self) -> Usage | None:
        """Return what the command took, once it has ended; None where nobody tells."""
        return self._finder.usage(self._process.usage) if self._counted else None

    def memory(self) -> int:
        """Return the bytes of memory that the command and all it started hold; shared ones count for each."""
        return resident(self._finder.find())

    def gpu_memory(self) -> int | None:
        """Return the bytes of GPU memory that the command and all it started hold; None where it holds none."""
        held = {pid: size for pid, size in memory_by_process().items() if is_of(self._handle, pid)}
        return sum(held.values()) if held else None


def _group(pid: int) -> int | None:
    with suppress(ProcessLookupError, PermissionError):
        return os.getpgid(pid)
    return None


class LocalExecutor:
    """Starts up to `jobs` trainings side by side on this machine.

    Divides the cores that this process may use, and `gpus`, by default those that the user has chosen by
    CUDA_VISIBLE_DEVICES, else those of the machine, where there are several runs and GPUs.
    `threads` of a run are as many as its cores unless they are given.
    """

    name = "local"

    def __init__(self, jobs: int, gpus: Gpus | None = None, threads: int | None = None) -> None:
        self.jobs = jobs
        self._slots = divide(usable_cores(), jobs, _gpus_to_divide(jobs) if gpus is None else gpus)
        if threads is not None:
            self._slots = [_with_threads(slot, threads) for slot in self._slots]
        self._running: list[Command] = []
        self._supervisor = Supervisor()

    def slot(self, index: int) -> Slot:
        """Return the room for a run, `index` from 0 to `jobs` - 1."""
        return self._slots[index]

    def start(self, launch: Launch) -> Handle:
        """Start a command in a session of its own, with its output in files."""
        adopt_orphans(adopt=True)
        command = self.begin(launch)
        self._running.append(command)
        handle = msgspec.structs.replace(name_process(launch.runtime_file, command.pid), warm=self.warmth(command))
        return self._supervisor.watch(handle, LocalTraining(command, handle, counted=launch.counted), launch)

    def begin(self, launch: Launch) -> Command:
        """Start the process."""
        with ExitStack() as stack:
            stdout = stack.enter_context(launch.stdout.open("wb"))
            stderr = stack.enter_context(launch.stderr.open("wb"))
            stdin = stack.enter_context((launch.stdin or Path(os.devnull)).open("rb"))
            stack.enter_context(held_to(launch.slot.cores))
            process = subprocess.Popen(
                launch.argv,
                cwd=launch.cwd,
                env=dict(launch.environment),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        return Started(process)

    def warmth(self, command: Command) -> tuple[str, ...]:
        """Return what was imported when the command was forked; nothing where it was started."""
        return ()

    def poll(self, handle: Handle) -> bool:
        """Tell whether the command, or something that it started, still runs; do what is due to end it."""
        if handle not in self._supervisor:
            return bool(find_processes(handle))
        goes_on = self._supervisor.poll(handle)
        if self._supervisor.is_idle:
            adopt_orphans(adopt=False)
        return goes_on

    def end(self, handle: Handle, *, at_once: bool = False) -> int:
        """Begin to end a command; what a killed tool left running has ended on return."""
        if handle in self._supervisor:
            return self._supervisor.end(handle, at_once=at_once)
        return end_processes(find_processes(handle))

    def wait(self, seconds: float) -> None:
        """Return when a command has ended, or after `seconds`."""
        self._running = [process for process in self._running if process.returncode is None]
        with ExitStack() as stack:
            descriptors = [stack.enter_context(_watched(process.pid)) for process in self._running]
            if not descriptors or None in descriptors:
                time.sleep(seconds)
                return
            poll = select.poll()
            for descriptor in descriptors:
                poll.register(descriptor or 0, select.POLLIN)
            poll.poll(seconds * 1000)


@contextmanager
def held_to(cores: tuple[int, ...] | None) -> Iterator[None]:
    """Hold this thread to `cores` for a moment: a child inherits them and has no moment without.

    Setting them in the child between fork and exec would not be safe where the tool has threads.
    """
    if cores is None or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def _watched(pid: int) -> Iterator[int | None]:
    """Open a descriptor that becomes readable when the child ends; None where the system has no such thing."""
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
