"""The processes of one run, found again whatever became of their parents."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

from deviate.replicate.environment.command import RUNTIME_VARIABLE
from deviate.replicate.executors.executor import Handle

#: Seconds that processes of a killed tool get to end by themselves.
GRACE = 3.0

#: Systems say in whole seconds when they were booted. None gives a process id out again within this time.
TOLERANCE = 2.0


def name_process(run: Path, pid: int) -> Handle:
    """Return the handle of a run by the process it began with."""
    # A child that is not yet waited for is there, if only as a zombie.
    with suppress(psutil.Error):
        return Handle(run, pid=pid, created=created_at(pid))
    return Handle(run, pid=pid)


def created_at(pid: int) -> float:
    """Return when a process was created, in seconds since the boot: a clock that is set moves the time of day alone."""
    boot = psutil.boot_time()
    return psutil.Process(pid).create_time() - boot


def find_processes(handle: Handle) -> list[psutil.Process]:
    """Return the living processes of a run.

    The run's own variable is in the environment of each process it starts, also of those whose parent is gone or that
    made a session of their own. A process that cleared its environment is found by the session it is in, as long as the
    leader of the session lives to prove whose it is.
    """
    session = handle.pid if is_process(handle.pid, handle.created) else None
    own = os.getpid()
    return [
        process
        for process in psutil.process_iter()
        if process.pid != own and _belongs(process, str(handle.run), session)
    ]


def is_of(handle: Handle, pid: int) -> bool:
    """Tell whether a living process is one of a run, see `find_processes`."""
    session = handle.pid if is_process(handle.pid, handle.created) else None
    with suppress(psutil.Error):
        return _belongs(psutil.Process(pid), str(handle.run), session)
    return False


def is_process(pid: int | None, created: float | None) -> bool:
    """Tell whether process `pid` is the one that was created at `created`, not a later one with its id, and lives."""
    if pid is None or created is None:
        return False
    with suppress(psutil.Error):
        return abs(created_at(pid) - created) <= TOLERANCE and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def is_alive(host: str, pid: int | None, created: float | None) -> bool | None:
    """Tell whether the process that a run began with lives; None where that cannot be seen from here."""
    if pid is None or created is None or host != socket.gethostname():
        return None
    return is_process(pid, created)


def _belongs(process: psutil.Process, runtime_file: str, session: int | None) -> bool:
    # Processes of others cannot be looked into, and any may end while it is looked at: neither is the run's.
    with suppress(psutil.Error, OSError):
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        if session is not None and os.getsid(process.pid) == session:
            return True
        return process.environ().get(RUNTIME_VARIABLE) == runtime_file
    return False


def end_processes(processes: Iterable[psutil.Process], grace: float = GRACE) -> int:
    """End `processes`, kindly at first; return how many there were."""
    listed = list(processes)
    send(listed, signal.SIGTERM)
    _, living = psutil.wait_procs(listed, timeout=grace)
    send(living, signal.SIGKILL)
    psutil.wait_procs(living, timeout=grace)
    return len(listed)


def resident(processes: Iterable[psutil.Process]) -> int:
    """Return the bytes of resident memory of `processes` together; what they share counts for each."""
    total = 0
    for process in processes:
        with suppress(psutil.Error):
            total += process.memory_info().rss
    return total


def send(processes: Iterable[psutil.Process], number: int) -> None:
    """Send a signal to each of `processes` that is still there."""
    for process in processes:
        # psutil makes sure that the id has not been given to another process.
        with suppress(psutil.Error):
            process.send_signal(number)
