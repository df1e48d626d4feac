"""Operations that a framework said have no deterministic form: to the runtime, or on standard error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from deviate.collect.processes import processes
from deviate.replicate.workspace import RunFolder


class WarnedOperation(msgspec.Struct, frozen=True, kw_only=True):
    """An operation whose result may differ although the implementation is held fixed."""

    operation: str
    #: Names of the runs that warned of it.
    runs: list[str] = []


#: What the frameworks say. Torch: ``alertNotDeterministic`` and the attention kernels (2.13); TensorFlow raises
#: ``UnimplementedError`` instead of warning (2.8 on), and so does XLA (jaxlib 0.10), so that the run has failed.
_SAID = (
    re.compile(r"(\S+) does not have a deterministic implementation, but you set"),
    re.compile(r"((?:Flash|Memory[ -]Efficient|cuDNN)\s?[Aa]ttention) defaults to a non-deterministic algorithm"),
    re.compile(r"A deterministic GPU implementation of (\S+) is not currently available"),
    re.compile(r"(?:Deterministic|deterministic) GPU implementation of (\S+) not available"),
    re.compile(r"HLO instruction (\S+) does not have a deterministic implementation"),
    re.compile(r"this operation is not deterministic because it uses (CuBLAS)"),
)

#: In every one of them; most lines are passed over by it.
_MARK = "eterministic"


def warned_operations(runs: Iterable[RunFolder]) -> list[WarnedOperation]:
    """Return the operations that runs warned of, by name."""
    found: dict[str, list[str]] = {}
    for run in runs:
        for operation in sorted({*told_operations(run), *operations_in(run.stderr_file)}):
            found.setdefault(operation, []).append(run.run.folder)
    return [WarnedOperation(operation=name, runs=found[name]) for name in sorted(found)]


def told_operations(run: RunFolder) -> Iterator[str]:
    """Yield the operations that the runtime was told of, whose warnings it does not show (torch)."""
    for process in processes(run):
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
                yield from (match[1].strip("'\"`") for pattern in _SAID for match in pattern.finditer(line))
