"""Start trainings by forking them from a process that has imported their frameworks, where that changes nothing."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from deviate.core.factors import OTHER
from deviate.runs.environment import INJECTED, RUNTIME_VARIABLE
from deviate.runs.executors.executor import Launch
from deviate.runs.executors.local import Command, LocalExecutor, held_to
from deviate.runs.executors.processes import Usage, is_process, name_process
from deviate.runs.hardware import Gpus
from deviate.store.files import write_json

#: Packages with which forked runs were seen to record what started ones do; others are imported by each run.
PACKAGES = frozenset({"numpy", "torch"})

#: Variables in which runs that are forked from one process may differ: they are set in each child.
_OWN = (RUNTIME_VARIABLE, "PWD", "PYTHONPATH")

#: What of ``runtime.json`` decides how libraries are patched while they are imported.
_PATCHING = ("control", "hold_impl", "strict", "threads", "predictions", "weights")

#: Options of Python that change nothing of what is said here, and that take no value.
_OPTIONS = re.compile(r"-[uBOqv]+")


def split(argv: Sequence[str]) -> Words:
    """Return the command line of a program of Python.

    Raises Cold if it is not that of one script or module.

    >>> words = split(["/usr/bin/python3", "-u", "src/train.py", "--lr", "1"])
    >>> words.head, words.program, words.folder
    (('/usr/bin/python3', '-u', 'src/train.py'), ('src/train.py', '--lr', '1'), 'src')
    """
    if not re.fullmatch(r"python[\d.]*", Path(argv[0]).name):
        raise Cold("the command does not begin with python")
    count = 1
    while count < len(argv) and _OPTIONS.fullmatch(argv[count]):
        count += 1
    rest = argv[count:]
    if rest[:1] == ["-m"] and len(rest) > 1:
        head = tuple(argv[: count + 2])
        return Words(head, head, ("-m", *rest[2:]), "")
    if not rest or rest[0].startswith("-"):
        raise Cold("the command is not that of a script or a module")
    if os.path.isabs(rest[0]):
        raise Cold("the script is named by an absolute path")
    head, forked = tuple(argv[: count + 1]), (*argv[:count], str(INJECTED / "deviate_runtime" / "warm.py"))
    return Words(head, forked, tuple(rest), os.path.dirname(rest[0]))


class WarmExecutor(LocalExecutor):
    """Starts trainings as `LocalExecutor` does, and forks those that a process with `packages` may stand for.

    `words` is the command of the training: what is run beside it has other imports.
    """

    def __init__(self, jobs: int, words: Sequence[str], packages: Sequence[str], gpus: Gpus | None = None) -> None:
        super().__init__(jobs, gpus=gpus)
        self._words = list(words[1:])
        self._packages = list(packages)
        self._parents: dict[object, Parent | Cold] = {}
        #: Why runs were not forked, and whether that was said.
        self._reasons: dict[str, bool] = {}

    def close(self) -> None:
        """End the processes that were forked from; what was forked goes on."""
        for parent in self._parents.values():
            if isinstance(parent, Parent):
                parent.close()
        self._parents = {}

    def begin(self, launch: Launch) -> Command:
        """Fork the command, or start it where that cannot be."""
        try:
            return self._fork(launch)
        except Cold as cold:
            self._reasons.setdefault(str(cold), False)
            return super().begin(launch)

    def new_reasons(self) -> list[str]:
        """Return why runs were not forked, each reason once."""
        new = [reason for reason, said in self._reasons.items() if not said]
        self._reasons.update(dict.fromkeys(new, True))
        return new

    def warmth(self, command: Command) -> tuple[str, ...]:
        """Return what was imported when the command was forked."""
        return tuple(self._packages) if isinstance(command, Forked) else ()

    def _fork(self, launch: Launch) -> Forked:
        if launch.stdin is not None:
            raise Cold("the command reads its standard input")
        words = split(launch.argv)
        if launch.argv[1 : len(words.head)] != self._words[: len(words.head) - 1]:
            raise Cold("evaluations are started in the ordinary way")
        order = json.loads(launch.runtime_file.read_text())
        _require_held(order)
        if not self._packages:
            raise Cold(f"the program imports none of {', '.join(sorted(PACKAGES))} before it does anything else")
        key = (words.head, *_key(launch, order))
        if key not in self._parents:
            self._parents[key] = self._make(launch, words, order)
        parent = self._parents[key]
        if isinstance(parent, Cold):
            raise parent
        own = _modules(launch, words.folder) & parent.modules
        if own:
            raise Cold(f"the project has a module {min(own)}, which would be imported in the place of a library's")
        return parent.fork(launch, words)

    def _make(self, launch: Launch, words: Words, order: dict[str, Any]) -> Parent | Cold:
        try:
            return Parent(launch, words, order, self._packages)
        except Cold as cold:
            return cold
        except OSError as error:
            return Cold(str(error))


def _require_held(order: dict[str, Any]) -> None:
    """Refuse runs that must not have in common what a process that forks hands down."""
    if order["control"] != "streams":
        raise Cold("runs that are not controlled draw what the system gives each process")
    if not order["hold_impl"]:
        raise Cold("the implementation varies, and with it the addresses in memory, which forked runs have in common")
    if OTHER in order["varying"]:
        raise Cold("the factor other varies, and with it the seed of hashes, which is that of a whole process")


def _key(launch: Launch, order: dict[str, Any]) -> tuple[object, ...]:
    """Return what runs have in common that are forked from one process."""
    variables = sorted((name, value) for name, value in launch.environment.items() if name not in _OWN)
    return (tuple(variables), launch.slot.cores, *(order.get(name) for name in _PATCHING))


def _modules(launch: Launch, folder: str) -> set[str]:
    """Return the names of modules in the folders that come before those of libraries."""
    others = launch.environment["PYTHONPATH"].split(os.pathsep)[1:]
    folders = [launch.cwd / folder, *(launch.cwd / other for other in others)]
    return {name for each in folders if each.is_dir() for path in each.iterdir() for name in _module(path)}


def _module(path: Path) -> Iterable[str]:
    return [path.stem] if path.suffix == ".py" or (path / "__init__.py").is_file() else []


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

        Raises Cold if it cannot be any more.
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
