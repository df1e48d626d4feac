"""Processes that have imported the frameworks of trainings, and the trainings that are forked from them."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from deviate.runs.environment import INJECTED, RUNTIME_VARIABLE
from deviate.runs.executors.executor import Launch
from deviate.runs.executors.local import held_to
from deviate.runs.executors.processes import is_process, name_process
from deviate.runs.executors.usage import Usage
from deviate.store.files import write_json

#: Bytes of the path of a run's ``runtime.json``, as long as a path may be.
_ROOM = 4096

#: Seconds for the imports, and for a fork.
IMPORT_PATIENCE = 120.0
FORK_PATIENCE = 30.0


class Cold(Exception):  # noqa: N818
    """A run is to be started in the ordinary way; says why."""


class Words(NamedTuple):
    """A command line of Python."""

    #: Up to the script or the module.
    head: tuple[str, ...]
    #: With which a process is started that forks it.
    parent: tuple[str, ...]
    #: What the program finds in `sys.argv` when it is started.
    program: tuple[str, ...]
    #: What is first searched for modules, relative to the folder that the command is started in.
    folder: str


class Parent:
    """A process that has imported what runs need, and forks them."""

    def __init__(self, launch: Launch, words: Words, order: dict[str, Any], packages: Sequence[str]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="deviate-"))
        self._text = b""
        #: Its answers on children that have ended.
        self._ended: dict[int, dict[str, Any]] = {}
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        try:
            self._process = self._start(launch, words, order, packages, (orders, answers))
        finally:
            os.close(orders)
            os.close(answers)
        first = self._read(IMPORT_PATIENCE)
        if first is None or not first.get("ready"):
            self.close()
            raise Cold(f"no run can be forked: {(first or {}).get('cold', 'the imports did not end')}")
        #: First names of the modules that it has loaded.
        self.modules = {name.partition(".")[0] for name in first["modules"]}

    def _start(
        self, launch: Launch, words: Words, order: dict[str, Any], packages: Sequence[str], pipes: tuple[int, int]
    ) -> subprocess.Popen[bytes]:
        runtime_file = self._folder / "runtime.json"
        nowhere = {"original": "", "overlay": "", "kept": [], "instrumented": {}, "read": []}
        write_json(runtime_file, {**order, **nowhere, "records": str(self._folder)})
        environment = {
            **launch.environment,
            RUNTIME_VARIABLE: str(runtime_file),
            "PWD": str(self._folder),
            "PYTHONPATH": str(INJECTED),
            "DEVIATE_WARM": ",".join(map(str, pipes)),
            "DEVIATE_WARM_IMPORTS": ",".join(packages),
        }
        # The last of all, so that what takes its place counts.
        environment["DEVIATE_ROOM"] = "-" * _ROOM
        with (
            (self._folder / "stdout").open("wb") as stdout,
            (self._folder / "stderr").open("wb") as stderr,
            held_to(launch.slot.cores),
        ):
            return subprocess.Popen(
                words.parent,
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                pass_fds=pipes,
                start_new_session=True,
            )

    def fork(self, launch: Launch, words: Words) -> Forked:
        """Fork a command.

        Raises
        ------
        Cold
            If it cannot be any more.
        """
        order = {
            "argv": launch.argv,
            "words": words.program,
            "environment": dict(launch.environment),
            "cwd": str(launch.cwd),
            "cores": launch.slot.cores,
            "stdout": str(launch.stdout),
            "stderr": str(launch.stderr),
        }
        try:
            os.write(self._orders, json.dumps(order).encode() + b"\n")
        except OSError:
            raise Cold("the process with the imports has ended") from None
        answer = self._read(FORK_PATIENCE)
        while answer is not None and "status" in answer:
            self._ended[answer["pid"]] = answer
            answer = self._read(FORK_PATIENCE)
        if answer is None:
            self.close()
            raise Cold("the process with the imports has ended")
        return Forked(self, answer["pid"], launch)

    def ended(self, pid: int) -> dict[str, Any] | None:
        """Return the answer on a child that has ended; None where there is none."""
        while pid not in self._ended and (answer := self._read(FORK_PATIENCE)) is not None:
            self._ended[answer["pid"]] = answer
        return self._ended.pop(pid, None)

    @property
    def is_gone(self) -> bool:
        """Whether it answers no more."""
        return self._answers < 0

    def _read(self, seconds: float) -> dict[str, Any] | None:
        """Return the next answer; None where none comes in time, or the process has ended."""
        until = time.monotonic() + seconds
        while b"\n" not in self._text:
            left = max(0.0, until - time.monotonic())
            if self.is_gone or not select.select([self._answers], [], [], left)[0]:
                return None
            if not (read := os.read(self._answers, 1 << 16)):
                self._leave()
                return None
            self._text += read
        line, _, self._text = self._text.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _leave(self) -> None:
        os.close(self._answers)
        self._answers = -1

    def close(self) -> None:
        """End it."""
        if self._orders < 0:
            return
        os.close(self._orders)
        self._orders = -1
        if not self.is_gone:
            self._leave()
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


class Forked:
    """A command that was forked; its parent reports how it ended."""

    def __init__(self, parent: Parent, pid: int, launch: Launch) -> None:
        self._parent = parent
        self.pid = pid
        self.returncode: int | None = None
        self.usage: Usage | None = None
        self._created = name_process(launch.runtime_file, pid).created

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""
        if self.returncode is None and not is_process(self.pid, self._created):
            answer = self._parent.ended(self.pid)
            # Where the parent has ended too, memory is likely to have run out.
            self.returncode = -signal.SIGKILL if answer is None else answer["status"]
            self.usage = None if answer is None else Usage(answer["cpu_seconds"], answer["peak_memory"])
        return self.returncode
