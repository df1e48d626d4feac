"""What a command started and left running when it ended: whether it still trains, and how it ends."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from deviate.replicate.executors.executor import Handle
from deviate.replicate.executors.limits import HELPER_QUIET, TRAINING_QUIET
from deviate.replicate.executors.processes import find_processes, scan, session_of
from deviate.replicate.executors.usage import UNIT, Usage

#: Of one core, what counts as processor time: a server that waits wakes up now and then, too.
BUSY_SHARE = 0.05


class Followers(NamedTuple):
    """What goes on after the command, at one look."""

    #: Names of the living processes.
    names: tuple[str, ...] = ()
    #: Whether one of them has recorded values, and whether the runtime was started in one of them.
    recorded: bool = False
    reported: bool = False
    #: Processor time of all that were seen, in seconds.
    cpu_seconds: float = 0.0
    #: How the first one that trained failed; 0 where none failed, or nobody tells.
    status: int = 0


class FollowerFinder:
    """Finds the processes of a command, and how those that outlived it ended.

    `leader` is the process of the command. As long as members of its session are seen, no other session has its number.
    """

    def __init__(self, handle: Handle, leader: int) -> None:
        self._handle = handle
        self._session: int | None = leader
        self._folder = handle.run.parent
        #: Processor time by process.
        self._used: dict[int, float] = {}
        #: Children of this process that were seen to have ended.
        self._ended: set[int] = set()
        self._peak = 0
        self._status = 0

    def find(self) -> list[psutil.Process]:
        """Return the living processes."""
        return find_processes(self._handle, self._session)

    def look(self) -> Followers:
        """Look at what outlived the command."""
        living, ended = scan(self._handle, self._session)
        while ended - self._ended:
            # What ended during the look may have started another process, which was not there when it began.
            self._ended |= ended
            living, ended = scan(self._handle, self._session)
        ids = {process.pid for process in living}
        for process in living:
            with suppress(psutil.Error):
                times = process.cpu_times()
                self._used[process.pid] = times.user + times.system
        recorded, reported = _pids(self._folder, "records-*"), _pids(self._folder, "events-*")
        orphans = {pid for pid in ended if pid in self._used or session_of(pid) == self._session}
        # Of a training whose records nobody wrote, each process may be the one.
        self._wait(orphans, recorded or orphans)
        if all(session_of(pid) != self._session for pid in ids):
            self._session = None
        return Followers(
            names=tuple(map(_name, living)),
            recorded=bool(ids & recorded),
            reported=bool(ids & reported),
            cpu_seconds=sum(self._used.values()),
            status=self._status,
        )

    def usage(self, command: Usage | None) -> Usage | None:
        """Return what the command took, with what outlived it."""
        if command is None or command.cpu_seconds is None:
            return command
        peak = max(command.peak_memory or 0, self._peak)
        return Usage(command.cpu_seconds + sum(self._used.values()), peak or None)

    def _wait(self, ended: Collection[int], trained: Collection[int]) -> None:
        """Hear how those ended that became children of this process; the status of those that `trained` counts."""
        for pid in ended:
            with suppress(ChildProcessError):
                waited, status, used = os.wait4(pid, os.WNOHANG)
                if waited:
                    self._used[pid] = used.ru_utime + used.ru_stime
                    self._peak = max(self._peak, used.ru_maxrss * UNIT)
                    failed = os.waitstatus_to_exitcode(status) if pid in trained else 0
                    self._status = self._status or failed


class Quiet:
    """Tells from what outlives a command when none of it trains any more.

    `recorded` and `printed` are bytes.
    """

    def __init__(self, now: float, recorded: int, printed: int) -> None:
        self._recorded, self._printed = recorded, printed
        self._since = now
        self._cpu: float | None = None
        #: When something was last recorded or printed.
        self.heard_at = now

    def is_over(self, now: float, followers: Followers, recorded: int, printed: int) -> bool:
        """Take in a look; tell whether nothing was done for as long as is waited."""
        # What a helper prints beside a training that has ended says nothing of that one.
        speaks = printed != self._printed and (followers.reported or not recorded)
        if speaks or recorded != self._recorded:
            self._recorded, self._printed, self._cpu, self.heard_at = recorded, printed, None, now
        if self._cpu is None:
            self._since, self._cpu = now, followers.cpu_seconds
        waited = now - self._since
        if waited < (TRAINING_QUIET if followers.recorded or not recorded else HELPER_QUIET):
            return False
        used, self._cpu = followers.cpu_seconds - self._cpu, None
        return used < BUSY_SHARE * waited


def _pids(folder: Path, pattern: str) -> set[int]:
    """Return the processes that have files of a kind, by the names of these."""
    words = (path.name.split("-")[1] for path in folder.glob(pattern))
    return {int(word) for word in words if word.isdecimal()}


def _name(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return process.name()
    return "a process"
