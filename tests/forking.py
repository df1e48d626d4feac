"""A process that has imported libraries, and programs that run in forks of it: see `zygote.py`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("zygote.py")


class Parent:
    """Runs programs in forks of a process that has their libraries."""

    def __init__(self, modules: tuple[str, ...], variables: Mapping[str, str]) -> None:
        pipe = subprocess.PIPE
        command = [sys.executable, str(PROGRAM), *modules]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=dict(variables))

    def run_jobs(self, jobs: list[dict[str, Any]]) -> list[int]:
        """Return the exit status of each job; what a job is, `zygote.py` says."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(jobs) + "\n")
        self.process.stdin.flush()
        statuses = json.loads(self.process.stdout.readline())
        assert len(statuses) == len(jobs)
        return statuses

    def close(self) -> None:
        """End the process at once: it is idle, and keeps nothing."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
