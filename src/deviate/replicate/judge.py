"""Turn the end of a command into the outcome of a run."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from deviate.replicate.command import looks_isolated
from deviate.replicate.outcome import Cancelled, Completed, Failed, NotInstrumented, Outcome, TimedOut, signal_name
from deviate.replicate.records import read_events
from deviate.replicate.snapshot import Snapshot
from deviate.replicate.supervise import Ended
from deviate.replicate.tracebacks import own_traceback
from deviate.replicate.workspace import RunFolder

#: Lines of standard error kept with the outcome, and the longest one.
STDERR_LINES = 20
LINE_LENGTH = 500

#: Read from the end of the file: more than those lines.
_TAIL_BYTES = 64 * 1024

#: What messages about files put around a path, or a path that begins with a slash or a dot.
_PATHS = (re.compile(r"['\"]([^'\"\n]{1,500})['\"]"), re.compile(r"(?<![\w./])((?:\.{0,2}/)[\w./@+-]{1,500})"))
_MODULE = re.compile(r"No module named '([\w]+)")


def judge(
    ended: Ended,
    run: RunFolder,
    *,
    words: Sequence[str],
    copy: Path,
    cwd: Path,
    source: Path,
    snapshot: Snapshot,
    warnings: list[str],
) -> Outcome:
    """Return the outcome of a run.

    Parameters
    ----------
    ended : Ended
        How its command ended.
    run : RunFolder
        What it wrote.
    words : sequence of str
        The command.
    copy, cwd : Path
        Its copy of the project, and the folder it was started in.
    source : Path
        The project as it was: the snapshot's folder.
    snapshot : Snapshot
        What is in it.
    warnings : list of str
        What else a reader has to know.
    """
    lines = stderr_tail(run.stderr_file)
    common: dict[str, Any] = {"seconds": ended.seconds, "ended": _now(), "warnings": warnings}
    how: dict[str, Any] = {**common, **_how(ended.status), "stderr": own_traceback(lines, copy, source)}
    if ended.cause == "cancel":
        return Cancelled(**how, reason="you stopped it")
    if ended.cause == "timeout":
        return TimedOut(**how, reason=f"it ran for longer than allowed and was ended after {ended.seconds:.1f} s")
    if ended.status != 0:
        hint = missing_path_hint(lines, copy=copy, cwd=cwd, snapshot=snapshot)
        return Failed(**how, reason=_failure(ended.status, lines), hint=hint)
    if not has_started(run):
        return NotInstrumented(
            **how,
            reason="nothing was heard from it: no Python that it started was instrumented",
            hint=_uninstrumented_hint(words),
        )
    return Completed(**common)


def has_started(run: RunFolder) -> bool:
    """Tell whether the runtime was started in at least one process of the run."""
    return any(event["event"] == "start" for path in run.event_files() for event in read_events(path))


def stderr_tail(path: Path) -> list[str]:
    """Return the last lines of a log, without the states a progress bar overwrote."""
    if not path.is_file():
        return []
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
        text = file.read().decode(errors="replace")
    lines = [line.rstrip().rpartition("\r")[2] for line in text.split("\n")]
    return [line[:LINE_LENGTH] for line in lines if line.strip()][-STDERR_LINES:]


def missing_path_hint(lines: Sequence[str], *, copy: Path, cwd: Path, snapshot: Snapshot) -> str:
    """Return how to bring a path that the run missed and the project has; empty where there is none."""
    project = Path(snapshot.project)
    for line in reversed(lines):
        for path in _named_paths(line, cwd):
            original = Path(os.path.normpath(project / os.path.relpath(path, copy)))
            if not path.exists() and original.exists() and original != project:
                return _bring(original, project, snapshot)
        module = _MODULE.search(line)
        if module is not None and (found := _beside(project, module[1])) is not None:
            return f"the module is outside the project, at {found}; start from {found.parent}, or add it to PYTHONPATH"
    return ""


def _named_paths(line: str, cwd: Path) -> Iterator[Path]:
    for pattern in _PATHS:
        for match in pattern.finditer(line):
            if "\0" not in match[1]:
                yield Path(os.path.normpath(cwd / match[1]))


def _bring(original: Path, project: Path, snapshot: Snapshot) -> str:
    relative = os.path.relpath(original, project)
    reasons = [
        item.reason for item in snapshot.left_out if relative == item.path or relative.startswith(f"{item.path}/")
    ]
    reasons += [outside.reason for outside in snapshot.outside if not outside.linked and outside.path == relative]
    why = f"was left out of the run's copy of the project ({reasons[0]})" if reasons else "is not in the run's copy"
    return f"{relative} {why}; if the training needs it: --include {relative}"


def _beside(project: Path, module: str) -> Path | None:
    """Return the module in the folders above the project that a program may have put on its path."""
    for folder in project.parents[:2]:
        for found in (folder / module / "__init__.py", folder / f"{module}.py"):
            if found.is_file():
                return folder / module if found.name == "__init__.py" else found
    return None


def _how(status: int | None) -> dict[str, Any]:
    ended_by_signal = status is not None and status < 0
    return {
        "exit_code": None if ended_by_signal else status,
        "signal": signal_name(-status) if status is not None and ended_by_signal else None,
    }


def _failure(status: int | None, lines: Sequence[str]) -> str:
    if status is None:
        return "it could not be ended"
    how = f"it was ended by {signal_name(-status)}" if status < 0 else f"it ended with status {status}"
    if status == -9:
        how += " (the system does that when memory runs out)"
    return f"{how}: {lines[-1]}" if lines else how


def _uninstrumented_hint(words: Sequence[str]) -> str:
    if looks_isolated(words):
        return "python was started with -I, -E or -S, which keeps every instrument out; leave the option away"
    return "make sure that the command starts Python itself, with the environment it is given (not in a container)"


def _now() -> str:
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")
