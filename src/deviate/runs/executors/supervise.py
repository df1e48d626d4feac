"""Watch commands that were started as processes until they have ended, by themselves or because they are made to."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import psutil

from deviate.runs.executors.executor import Handle, Launch
from deviate.runs.executors.processes import (
    HELPER_QUIET,
    TRAINING_QUIET,
    UNIT,
    GpuPeak,
    Limit,
    Memory,
    Silence,
    Usage,
    find_processes,
    heard,
    scan,
    session_of,
)
from deviate.store.files import write_json
from deviate.store.run_files import Cause, Ended

# What a command started and left running when it ended: whether it still trains, and how it ends.

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


#: Signals sent in turn, each with the seconds that are waited for it to work.
STEPS: dict[Cause, tuple[tuple[int, float], ...]] = {
    # As if the user had pressed Ctrl-C in the training's own terminal.
    "cancel": ((signal.SIGINT, 5.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 10.0)),
    "timeout": ((signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0)),
    "stall": ((signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0)),
    # There is no time for more: the machine may be out of memory.
    "memory": ((signal.SIGKILL, 10.0),),
}

#: Seconds for what a command that failed or was ended has started to end by itself, and then after being asked to.
FOLLOWERS_PATIENCE = 1.0
FOLLOWERS_GRACE = 5.0

#: Seconds between two looks at what is waited for.
FOLLOWERS_EVERY = 0.5


class Training(Protocol):
    """A command that was started as a process."""

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""

    def signal(self, number: int) -> None:
        """Send a signal to the command and everything it started."""

    def followers(self) -> Followers:
        """Return what goes on after the command has ended."""

    def usage(self) -> Usage | None:
        """Return what the command and what outlived it took, once they have ended; None where nobody tells."""

    def memory(self) -> int:
        """Return the bytes of memory that the command and all it started hold; shared ones count for each."""

    def gpu_memory(self) -> int | None:
        """Return the bytes of GPU memory that the command and all it started hold; None where nobody tells."""


class Watch:
    """One training that goes on.

    It was started at `now`, in seconds of any clock, and is ended after `timeout` seconds, or by one of `limits`. What
    outlives a command that ended with one of the statuses `accepts` is waited for as long as it trains: `heard` returns
    how many bytes were recorded and printed.
    """

    def __init__(
        self,
        training: Training,
        now: float,
        timeout: float | None,
        limits: Sequence[Limit] = (),
        *,
        accepts: Collection[int] = (0,),
        heard: Callable[[], tuple[int, int]] = lambda: (0, 0),
    ) -> None:
        self._training = training
        self._started = now
        self._timeout = timeout
        self._limits = limits
        self._accepts = accepts
        self._heard = heard
        self._gpu = GpuPeak(training.gpu_memory)
        self._cause: Cause | None = None
        self._step = -1
        self._deadline = 0.0
        #: How the command itself ended; None while it goes on.
        self._ended: Ended | None = None
        self._heard_then = (0, 0)
        self._quiet = Quiet(now, 0, 0)
        #: What outlived the command is not waited for any more.
        self._closing = False
        self._asked_followers = False
        #: Of these, what was ended because it did nothing.
        self._left = Followers()
        self._look_at = 0.0

    def seconds(self, now: float) -> float:
        """Return for how long it has gone on."""
        return now - self._started

    def look(self, now: float, stop_requests: int = 0) -> Ended | None:
        """Do what is due, and return how the training ended; None while it goes on.

        `stop_requests` is how often the user asked to stop: from the second time on, the training is killed at once.
        """
        if self._ended is None:
            self._look_at_command(now, stop_requests)
        if self._ended is None or (now < self._look_at and not stop_requests):
            return None
        return self._look_at_followers(self._ended, now, stop_requests)

    def _look_at_command(self, now: float, stop_requests: int) -> None:
        status = self._training.poll()
        if status is None:
            self._gpu.look(now)
            self._steer(now, stop_requests)
        else:
            self._end(status, now)

    def _steer(self, now: float, stop_requests: int) -> None:
        """Begin to end it where that is due, or go on with that."""
        if self._cause is None:
            self._decide(now, stop_requests)
        elif stop_requests > 1 and not self._is_last_step():
            self._send(len(STEPS[self._cause]) - 1, now)
        elif now >= self._deadline:
            self._next(now)

    def _end(self, status: int | None, now: float) -> None:
        self._ended = Ended(status=status, cause=self._cause, seconds=self.seconds(now))
        self._deadline = now + FOLLOWERS_PATIENCE
        self._closing = self._cause is not None or status not in self._accepts
        self._heard_then = self._heard()
        self._quiet = Quiet(now, *self._heard_then)

    def _decide(self, now: float, stop_requests: int) -> None:
        if stop_requests:
            self._cause = "cancel"
        elif self._timeout is not None and self.seconds(now) >= self._timeout:
            self._cause = "timeout"
        else:
            self._cause = next((cause for limit in self._limits if (cause := limit(now))), None)
        if self._cause is not None:
            self._send(0, now)

    def _is_last_step(self) -> bool:
        return self._cause is not None and self._step == len(STEPS[self._cause]) - 1

    def _next(self, now: float) -> None:
        if self._is_last_step():
            # Not even SIGKILL ends a process that hangs in the kernel; the run must not hang with it.
            self._end(None, now)
        else:
            self._send(self._step + 1, now)

    def _send(self, step: int, now: float) -> None:
        assert self._cause is not None
        number, grace = STEPS[self._cause][step]
        self._step, self._deadline = step, now + grace
        self._training.signal(number)

    def _look_at_followers(self, ended: Ended, now: float, stop_requests: int) -> Ended | None:
        """Wait for what outlived the command as long as it trains, and end what does not."""
        followers = self._training.followers()
        if not followers.names:
            return self._concluded(ended, now, followers)
        if self._closing:
            return self._concluded(ended, now, followers) if self._are_ended(now, stop_requests) else None
        self._gpu.look(now)
        self._steer(now, stop_requests)
        if self._ended is not ended and self._ended is not None:
            return self._concluded(self._ended, now, followers)
        if self._cause is None and self._quiet.is_over(now, followers, *self._heard()):
            self._left, self._closing, self._deadline = followers, True, now
        elif self._cause is None and self.seconds(now) >= ended.seconds + FOLLOWERS_PATIENCE:
            self._look_at = now + FOLLOWERS_EVERY
        return None

    def _are_ended(self, now: float, stop_requests: int) -> bool:
        """End what the command left behind: it would go on writing, and take cores from later runs."""
        if now < self._deadline and stop_requests < 2:
            return False
        self._training.signal(signal.SIGKILL if self._asked_followers else signal.SIGTERM)
        was_asked, self._asked_followers = self._asked_followers, True
        self._deadline = now + FOLLOWERS_GRACE
        return was_asked

    def _concluded(self, ended: Ended, now: float, followers: Followers) -> Ended:
        used = self._training.usage() or Usage(None, None)
        recorded, _ = heard = self._heard()
        may_have_trained = heard != self._heard_then or not (self._closing or recorded)
        until = self._quiet.heard_at if self._left.names else now
        went_on = self._cause != ended.cause or may_have_trained
        failed = followers.status if not self._closing and followers.status not in self._accepts else 0
        return Ended(
            status=failed or ended.status,
            cause=self._cause,
            seconds=self.seconds(until) if went_on else ended.seconds,
            cpu_seconds=used.cpu_seconds,
            peak_memory=used.peak_memory,
            gpu_memory=self._gpu.bytes,
            left=sorted(set(self._left.names)),
            left_training=self._left.recorded,
        )


@dataclass
class _Watched:
    watch: Watch
    ended_file: Path
    stop_requests: int = 0


def _limits(training: Training, launch: Launch, now: float) -> list[Limit]:
    silence = [] if launch.stall is None else [Silence(launch, launch.stall, now)]
    memory = [] if launch.memory is None else [Memory(training.memory, launch.memory, now)]
    return [*silence, *memory]


class Supervisor:
    """The commands that an executor started as processes: watches each, and stores how it ended."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._watched: dict[Handle, _Watched] = {}

    def __contains__(self, handle: Handle) -> bool:
        return handle in self._watched

    @property
    def is_idle(self) -> bool:
        """Whether nothing is watched."""
        return not self._watched

    def watch(self, handle: Handle, training: Training, launch: Launch) -> Handle:
        """Watch a command that was just started."""
        now = self._clock()
        limits = _limits(training, launch, now)
        hear = partial(heard, launch)
        watch = Watch(training, now, launch.timeout, limits, accepts=launch.accepts, heard=hear)
        self._watched[handle] = _Watched(watch, launch.ended_file)
        return handle

    def poll(self, handle: Handle) -> bool:
        """Do what is due, and tell whether the command still runs; that it ended is stored before it is said."""
        watched = self._watched[handle]
        ended = watched.watch.look(self._clock(), watched.stop_requests)
        if ended is None:
            return True
        del self._watched[handle]
        write_json(watched.ended_file, ended)
        return False

    def end(self, handle: Handle, *, at_once: bool = False) -> int:
        """Have the command end: it is asked to, and killed in the end, or at once."""
        watched = self._watched[handle]
        watched.stop_requests = max(watched.stop_requests, 2 if at_once else 1)
        return 1
