"""Start trainings on this machine, side by side on cores of their own."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

from deviate.replicate.executors import Launch, Slot
from deviate.replicate.executors.processes import end_processes, find_processes, send


def divide(cores: Sequence[int], jobs: int, gpus: Sequence[str]) -> list[Slot]:
    """Divide a machine between `jobs` runs: equal numbers of cores for each, and one GPU each in turn.

    Cores that are left over stay idle, because runs with unequal numbers of threads are not identical runs. With more
    jobs than cores, jobs share a core.
    """
    share = max(1, len(cores) // jobs)
    return [
        Slot(
            index=index,
            cores=tuple(cores[(index * share + place) % len(cores)] for place in range(share)),
            threads=share,
            gpus=gpus[index % len(gpus)] if jobs > 1 and len(gpus) > 1 else None,
        )
        for index in range(jobs)
    ]


def usable_cores() -> list[int]:
    """Return the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def visible_gpus() -> list[str]:
    """Return the indices of the NVIDIA GPUs; none where there is no driver, or the user has chosen already."""
    if "CUDA_VISIBLE_DEVICES" in os.environ or shutil.which("nvidia-smi") is None:
        return []
    command = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    with suppress(OSError, subprocess.TimeoutExpired):
        listed = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        return listed.stdout.split() if listed.returncode == 0 else []
    return []


class LocalTraining:
    """A command running on this machine, in a session of its own."""

    def __init__(self, process: subprocess.Popen[bytes], runtime_file: Path) -> None:
        self._process = process
        self._runtime_file = runtime_file
        self._created = _created(process.pid)

    @property
    def pid(self) -> int:
        """Its process, which leads its session and group."""
        return self._process.pid

    @property
    def created(self) -> float | None:
        """When the system says the process was created."""
        return self._created

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def signal(self, number: int) -> None:
        """Send a signal to the command and everything it started."""
        leads = self._process.returncode is None
        outside = [each for each in self._members() if not (leads and _group(each.pid) == self.pid)]
        # The group at once, so that a shell and its program hear it together; then whoever left the group. Once the
        # leader is waited for, the group's number may become another's.
        if leads:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
        send(outside, number)

    def has_followers(self) -> bool:
        """Tell whether something that the command started still runs."""
        return any(member.pid != self.pid for member in self._members())

    def _members(self) -> list[psutil.Process]:
        return find_processes(self._runtime_file, self.pid, self._created)


def _created(pid: int) -> float | None:
    # A child that is not yet waited for is there, if only as a zombie.
    with suppress(psutil.Error):
        return psutil.Process(pid).create_time()
    return None


def _group(pid: int) -> int | None:
    with suppress(ProcessLookupError, PermissionError):
        return os.getpgid(pid)
    return None


class LocalExecutor:
    """Starts up to `jobs` trainings side by side on this machine.

    Parameters
    ----------
    jobs : int
        At least 1.
    cores : sequence of int, optional
        Cores to divide; by default those this process may use.
    gpus : sequence of str, optional
        Indices of GPUs to divide; by default those of the machine, unless the user has set CUDA_VISIBLE_DEVICES.
    """

    name = "local"

    def __init__(self, jobs: int, cores: Sequence[int] | None = None, gpus: Sequence[str] | None = None) -> None:
        self.jobs = jobs
        found = visible_gpus() if gpus is None and jobs > 1 else gpus or []
        self._slots = divide(cores or usable_cores(), jobs, found)
        self._running: list[subprocess.Popen[bytes]] = []

    def slot(self, index: int) -> Slot:
        """Return the room for the run at place `index` of `jobs`."""
        return self._slots[index]

    def start(self, launch: Launch) -> LocalTraining:
        """Start a command in a session of its own, with nothing to read and its output in files."""
        with ExitStack() as stack:
            stdout = stack.enter_context(launch.stdout.open("wb"))
            stderr = stack.enter_context(launch.stderr.open("wb"))
            stack.enter_context(_held_to(launch.slot.cores))
            process = subprocess.Popen(
                launch.argv,
                cwd=launch.cwd,
                env=dict(launch.environment),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        self._running.append(process)
        return LocalTraining(process, launch.runtime_file)

    def wait(self, seconds: float) -> None:
        """Return when a training has ended, or after `seconds`."""
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

    def end_leftover(self, runtime_file: Path, pid: int | None, created: float | None) -> int:
        """End what still runs of a run whose tool was killed; return how many processes that were."""
        return end_processes(find_processes(runtime_file, pid, created))


@contextmanager
def _held_to(cores: tuple[int, ...] | None) -> Iterator[None]:
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
