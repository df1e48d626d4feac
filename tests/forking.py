"""A process that has imported libraries, and programs that run in forks of it: see `zygote.py`."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("zygote.py")


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a session of tests, which is the same for all its workers."""
    folder = factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


class Parent:
    """Runs programs in forks of a process that has their libraries.

    All that give the same path share the process: a framework takes seconds to import. It ends with the last of them.
    """

    def __init__(self, modules: tuple[str, ...], variables: Mapping[str, str], path: Path) -> None:
        self.connection = socket.socket(socket.AF_UNIX)
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                self.connection.connect(str(path))
            except OSError:
                start(path, modules, variables)
                self.connection.connect(str(path))
        self.lines = self.connection.makefile("rw", encoding="utf-8")

    def run_jobs(self, jobs: list[dict[str, Any]]) -> list[int]:
        """Return the exit status of each job; what a job is, `zygote.py` says."""
        self.lines.write(json.dumps(jobs) + "\n")
        self.lines.flush()
        statuses = json.loads(self.lines.readline())
        assert len(statuses) == len(jobs)
        return statuses

    def close(self) -> None:
        """Need the process no more."""
        self.connection.shutdown(socket.SHUT_RDWR)
        self.lines.close()
        self.connection.close()


def start(path: Path, modules: tuple[str, ...], variables: Mapping[str, str]) -> None:
    """Start a process that listens at `path`, also while it still imports."""
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        command = [sys.executable, str(PROGRAM), str(listener.fileno()), *modules]
        nothing = subprocess.DEVNULL
        subprocess.run(
            command, env=dict(variables), pass_fds=[listener.fileno()], stdin=nothing, stdout=nothing, check=True
        )
