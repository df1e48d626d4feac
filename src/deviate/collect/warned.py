"""Operations without a deterministic form, as frameworks warn of them: to the runtime, or on standard error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from deviate.collect.runs import RunFiles
from deviate.frameworks import FRAMEWORKS


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
