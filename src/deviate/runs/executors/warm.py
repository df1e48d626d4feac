"""Start trainings by forking them from a process that has imported their frameworks, where that changes nothing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from deviate.core.factors import OTHER
from deviate.runs.environment import INJECTED, RUNTIME_VARIABLE
from deviate.runs.executors.executor import Launch
from deviate.runs.executors.forking import Cold, Forked, Parent, Words
from deviate.runs.executors.local import Command, LocalExecutor
from deviate.runs.hardware import Gpus

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

    Raises
    ------
    Cold
        If it is not that of one script or module.

    Examples
    --------
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
    head, forked = tuple(argv[: count + 1]), (*argv[:count], str(INJECTED / "deviate_runtime" / "forked.py"))
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
