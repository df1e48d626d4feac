"""What no process of a run reported: programs that were not reached, operations that frameworks warn of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

import msgspec

from deviate.core.frameworks import FRAMEWORKS
from deviate.observe.records import RunFiles
from deviate.store.records import has_values


class UnseenPrograms(msgspec.Struct, frozen=True, kw_only=True):
    """Python programs of one run in which the runtime was not started."""

    #: Commands up to their program, ``python -I train.py``.
    commands: list[str] = []
    #: The training may be among them: what the run drew is not known.
    trains: bool = False


def unseen_programs(run: RunFiles, entries: Sequence[str]) -> UnseenPrograms:
    """Return the Python programs that a run started and that never reported.

    `entries` are the scripts that the command was seen to start. Where no process of a completed run recorded or drew
    anything and none of them reported, it ran where nobody saw it.
    """
    starts = [event for process in run.processes for event in process.events if event["event"] == "start"]
    children = [event for process in run.processes for event in process.events if event["event"] == "child"]
    unseen = [each for index, each in enumerate(children) if not _has_reported(each, children[:index], starts)]
    commands = list(dict.fromkeys(_command(each) for each in unseen))
    named = run.completed and any(_words(start)[-1] for start in starts)
    missed = [entry for entry in entries if not _is_among(entry, starts)] if named and not commands else []
    if (commands or missed) and not _did_anything(run):
        return UnseenPrograms(commands=[*commands, *missed], trains=True)
    return UnseenPrograms(commands=commands, trains=any(_is_own(each, run) for each in unseen))


def _did_anything(run: RunFiles) -> bool:
    """Tell whether a process that reported recorded a value or drew a random number."""
    return has_values(run.folder) or any(not each.is_undrawn for each in run.fingerprints.values())


def _has_reported(child: dict[str, Any], before: Iterable[dict[str, Any]], starts: Sequence[dict[str, Any]]) -> bool:
    pid = child.get("pid")
    if child.get("how") == "replace":
        # A process that became another program is the same process: each time it starts once more.
        becomes = [each for each in before if each.get("how") == "replace" and each.get("pid") == pid]
        return len([start for start in starts if start.get("pid") == pid]) > len(becomes) + 1
    if pid is not None and any(pid in (start.get("pid"), start.get("ppid")) for start in starts):
        return True
    return bool(pid is None or child.get("through")) and _is_among(_words(child)[-1], starts)


def _is_among(program: str, starts: Iterable[dict[str, Any]]) -> bool:
    """Tell whether a program reported, by its name: others may have started it from elsewhere."""
    names = {PurePath(words[-1]).stem for start in starts if (words := _words(start))}
    stem: str = PurePath(program).stem
    return stem in names or any(name.rpartition(".")[2] == stem for name in names)


def _words(event: dict[str, Any]) -> list[str]:
    words = event.get("argv")
    return [str(word) for word in words] if isinstance(words, list) and words else [""]


def _command(child: dict[str, Any]) -> str:
    first, *others = _words(child)
    return " ".join([os.path.basename(first), *(os.path.basename(word) for word in others)])


def _is_own(child: dict[str, Any], run: RunFiles) -> bool:
    """Tell whether a program is code of the project."""
    words = _words(child)
    if len(words) < 2 or words[-1] == "-c":
        return False
    snapshot = run.folder.path.parents[1] / "snapshot"
    if words[-2] == "-m":
        path = words[-1].replace(".", "/")
        return any((snapshot / name).exists() for name in (f"{path}.py", path, f"src/{path}.py", f"src/{path}"))
    script = Path(words[-1])
    return not script.is_absolute() or script.is_relative_to(run.folder.path)


# Operations without a deterministic form, as frameworks warn of them: to the runtime, or on standard error.


class WarnedOperation(msgspec.Struct, frozen=True, kw_only=True):
    """An operation whose result may differ although the implementation is held fixed."""

    operation: str
    #: Names of the runs that warned of it.
    runs: list[str] = []


#: The warnings of all frameworks.
_WARNINGS = tuple(re.compile(pattern) for framework in FRAMEWORKS for pattern in framework.warnings)

#: In every one of them; most lines are passed over by it.
_MARK = "eterministic"


def warned_operations(runs: Iterable[RunFiles]) -> list[WarnedOperation]:
    """Return the operations that runs warned of, by name."""
    by_operation: dict[str, list[str]] = {}
    for run in runs:
        for operation in sorted({*_recorded_operations(run), *operations_in(run.folder.stderr_file)}):
            by_operation.setdefault(operation, []).append(run.name)
    return [WarnedOperation(operation=name, runs=by_operation[name]) for name in sorted(by_operation)]


def _recorded_operations(run: RunFiles) -> Iterator[str]:
    """Yield the operations that the runtime recorded, whose warnings it does not show (torch)."""
    for process in run.processes:
        for event in process.events:
            if event["event"] == "nondeterministic":
                yield str(event["operation"])


def operations_in(path: Path) -> Iterator[str]:
    """Yield the operations that a log names, each time it does."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if _MARK in line:
                yield from (match[1].strip("'\"`") for pattern in _WARNINGS for match in pattern.finditer(line))
