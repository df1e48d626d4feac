"""Call the tool in forks of a process that has its libraries already: starting them takes longer than most commands.

A fork has file descriptors, a folder and an environment of its own, as a process has; what it did not do is import.
Nothing that starts threads, such as a database, may be used in the process that forks.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from harness import SECONDS, judged_end

from deviate.__main__ import command as main_of_the_tool


def warm() -> None:
    """Import what a command imports, before the first fork."""
    for module in ("cli.run", "api", "runs.experiment", "report.views", "report.writers.registry", "observe.tables",
                   "facts.experiment", "report.topics.experiment"):  # fmt: skip
        importlib.import_module(f"deviate.{module}")


def command(
    project: Path, words: list[str], environment: dict[str, str], memory: int | None = None, seconds: float = SECONDS
) -> Ended:
    """Type a command; it may take so many bytes of memory more than this process has, and so many seconds."""

    def call() -> None:
        if memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + memory,) * 2)
        sys.argv = ["deviate", *words]
        main_of_the_tool()

    return forked(call, project, {**environment, "PWD": str(project)}, seconds)


def typed(project: Path, words: list[str], environment: dict[str, str], memory: int | None = None) -> dict[str, Any]:
    """Type a command, and judge how it ended."""
    began = time.perf_counter()
    ended = command(project, words, environment, memory)
    return judged_end(ended.status, ended.printed, ended.errors, began, late=ended.late)


class Ended(NamedTuple):
    """How a forked process ended."""

    status: int
    printed: str
    errors: str
    late: bool
    #: Processor time, and the most memory that it held, with what it had of its parent.
    seconds: float
    memory: int


def forked(call: Callable[[], None], folder: Path, environment: dict[str, str], seconds: float = SECONDS) -> Ended:
    """Call a function in a child of this process, at most for so many seconds."""
    return Child(call, folder, environment).wait(seconds)


class Child:
    """A child of this process that calls a function."""

    def __init__(self, call: Callable[[], None], folder: Path, environment: dict[str, str]) -> None:
        # They are closed when it was waited for.
        self._printed, self._errors = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115
        self._status: int | None = None
        self._usage: resource.struct_rusage | None = None
        self.pid = os.fork()
        if not self.pid:
            os.setsid()
            os.chdir(folder)
            os.environ.update(environment)
            # It remembers the folder of the process that forked.
            tempfile.tempdir = None
            for file, descriptor in ((self._printed, 1), (self._errors, 2)):
                os.dup2(file.fileno(), descriptor)
            os._exit(status_of(call))

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""
        if self._status is None:
            ended, status, self._usage = os.wait4(self.pid, os.WNOHANG)
            self._status = os.waitstatus_to_exitcode(status) if ended else None
        return self._status

    def kill(self) -> None:
        """Kill it, not what it started."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, seconds: float = SECONDS) -> Ended:
        """Wait for its end; kill it and its process group after so many seconds."""
        deadline, late = time.monotonic() + seconds, False
        while (status := self.poll()) is None:
            if time.monotonic() > deadline and not late:
                os.killpg(self.pid, signal.SIGKILL)
                late = True
            time.sleep(0.02)
        with self._printed, self._errors:
            for file in (self._printed, self._errors):
                file.seek(0)
            printed, errors = (file.read().decode(errors="replace") for file in (self._printed, self._errors))
        assert self._usage is not None
        used = self._usage.ru_utime + self._usage.ru_stime
        return Ended(-9 if late else status, printed, errors, late, used, self._usage.ru_maxrss * 1024)


def status_of(call: Callable[[], None]) -> int:
    """Call a function as a program, and return its exit status."""
    status = 0
    try:
        call()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        traceback.print_exc()
        status = 1
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    return status
