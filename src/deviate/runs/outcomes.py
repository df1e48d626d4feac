"""From the end of a command to the outcome of its run, with the traceback as its authors know the code."""

from __future__ import annotations

import datetime
import os
import re
import signal
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from deviate.core.secrets import mask_lines, secrets_of
from deviate.runs.environment import looks_isolated
from deviate.runs.executors.processes import HELPER_QUIET, TRAINING_QUIET
from deviate.runs.snapshot.manifest import Snapshot
from deviate.runs.snapshot.working_copy import named_in_project
from deviate.store.files import log_tail, write_json
from deviate.store.folders import RunFolder
from deviate.store.integrity import damage
from deviate.store.records import TAIL, TICK, has_values, read_events
from deviate.store.run_files import (
    TAKEN,
    Cancelled,
    Completed,
    Ended,
    Failed,
    NotInstrumented,
    Outcome,
    TimedOut,
    signal_name,
)
from deviate.store.slots import lost_count, read_tail

#: What messages about files put around a path, or a path that begins with a slash or a dot.
_PATHS = (re.compile(r"['\"]([^'\"\n]{1,500})['\"]"), re.compile(r"(?<![\w./])((?:\.{0,2}/)[\w./@+-]{1,500})"))
#: What a command did that was ended for it.
_LIMITS: dict[str | None, str] = {
    "stall": "it neither recorded nor printed anything for longer than allowed",
    "memory": "its processes held more memory than allowed",
}

#: Signals that end a training from outside: by the system where memory runs out, a scheduler, a terminal, a user.
OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT})

#: To which a shell adds the signal that ended its program.
SHELL_SIGNAL = 128

#: What is typed where nothing shows that the training itself failed.
KILLED_HINT = "the same command makes it again"

#: How the runtime says that its file went.
DELETED = "the records file was deleted"

#: How a command that leaves its training running is mended.
WAIT_HINT = "have the command end when its training has: `wait` at the end of a shell script, `join` of a process"

_MODULE = re.compile(r"No module named '([\w.]+)")


def run_outcome(
    ended: Ended,
    run: RunFolder,
    *,
    words: Sequence[str],
    copy: Path,
    cwd: Path,
    snapshot: Snapshot,
    warnings: list[str],
    expects_python: bool = True,
    accepts: Collection[int] = (0,),
) -> Outcome:
    """Return the outcome of a run; one that `expects_python` and started none was not instrumented.

    `words` are its command, `copy` is its copy of the project, `cwd` the folder it was started in;
    `warnings` are what else a reader has to know. With one of the statuses `accepts` it has ended well.
    """
    lines = log_tail(run.stderr_file)
    warned = [*warnings, *_left(ended)]
    common: dict[str, Any] = {"seconds": ended.seconds, "ended": _now(), "warnings": warned, **_taken(ended)}
    how: dict[str, Any] = {**common, **_how(ended.status), "stderr": list(named_in_project(lines, copy))}
    if ended.cause == "cancel":
        return Cancelled(**how, reason="Ctrl-C or a signal")
    if ended.cause == "timeout":
        return TimedOut(**how, reason=f"ended by the time limit; {_last_value(run)}")
    if ended.cause in _LIMITS:
        return Failed(**how, reason=f"{_LIMITS[ended.cause]} and was ended after {ended.seconds:.1f} s")
    if ended.left_training:
        return Failed(**how, reason=f"{_went_on(ended)}; whether its training was done is unknown", hint=WAIT_HINT)
    if ended.status not in accepts:
        killed = is_from_outside(ended.status)
        own = KILLED_HINT if killed else _verdict_hint(ended.status, run, lines)
        hint = missing_path_hint(lines, copy=copy, cwd=cwd, snapshot=snapshot) or own
        return Failed(**how, reason=_failure(ended.status, lines), hint=hint, killed=killed)
    events = [event for path in run.event_files() for event in read_events(path)]
    if expects_python and not has_started(events):
        return NotInstrumented(
            **how,
            reason="no Python process reported: it started none, or PYTHONPATH did not reach it or was ignored",
            hint=_uninstrumented_hint(words),
        )
    if (loss := lost_records(events) or lost_in(run)) is not None:
        lost = "records of its metrics could not be written"
        if loss == DELETED:
            return Failed(**how, reason=f"{lost}: {loss}", hint=KILLED_HINT, killed=True)
        hint = "free the disk or lift the limit, then run the same command with --retry-failed"
        return Failed(**how, reason=f"{lost}: {loss}", hint=hint)
    return Completed(**{**common, "warnings": [*warned, *_accepted(ended.status)]})


def accept_failed(run: RunFolder, accepts: Collection[int], *, expects_python: bool) -> None:
    """Have a run completed that ended with a status which is accepted by now; a lack of anything else stays."""
    outcome, ended = run.read_outcome(), run.read_ended()
    if not isinstance(outcome, Failed) or outcome.exit_code not in accepts or ended is None:
        return
    events = [event for path in run.event_files() for event in read_events(path)]
    is_whole = not damage(run, outcome) and (lost_records(events) or lost_in(run)) is None
    if not is_whole or ended.cause or ended.left_training or (expects_python and not has_started(events)):
        return
    common = {field: getattr(outcome, field) for field in Completed.__struct_fields__}
    common["warnings"] = [*outcome.warnings, *_accepted(outcome.exit_code)]
    write_json(run.outcome_file, Completed(**common), durable=True)


def is_from_outside(status: int | None) -> bool:
    """Tell whether a command was ended by a signal that programs do not send themselves, as shells tell it, too."""
    return status is not None and (-status in OUTSIDE or status - SHELL_SIGNAL in OUTSIDE)


def _accepted(status: int | None) -> list[str]:
    """Say that a run counts that ended with a status other than 0."""
    return [f"ended with status {status}, which accept_status takes"] if status else []


def _verdict_hint(status: int | None, run: RunFolder, lines: Sequence[str]) -> str:
    """Return how a status is accepted that may be the verdict of a training on itself; empty where it is an error."""
    if status is None or status < 1 or any(line.startswith("Traceback (most recent") for line in lines):
        return ""
    has_reported = run.stdout_file.is_file() and run.stdout_file.stat().st_size > 0
    if not (has_reported or has_values(run)):
        return ""
    return (
        f"if the training was done and {status} is its verdict, have it as an accepted status: type the same command "
        f"with --set accept_status={status}"
    )


def _went_on(ended: Ended) -> str:
    silent = "recorded, printed" if ended.left_training else "recorded"
    quiet = TRAINING_QUIET if ended.left_training else HELPER_QUIET
    return (
        f"{', '.join(ended.left)} went on after the command had ended, neither {silent} nor used the processor for "
        f"{quiet:.0f} s and more, and was ended"
    )


def _left(ended: Ended) -> list[str]:
    return [_went_on(ended)] if ended.left and not ended.left_training else []


def _last_value(run: RunFolder) -> str:
    """Say when the run recorded its last value: whether it was slow, or had stopped."""
    tails = [tail for path in run.record_files() if len(tail := read_tail(path, TAIL))]
    elapsed = [float(tail["elapsed"][tail["id"] >= TICK].max(initial=-1.0)) for tail in tails]
    last = max(elapsed, default=-1.0)
    return f"its last value was recorded after {last:.1f} s" if last >= 0 else "it recorded no value"


def _taken(ended: Ended) -> dict[str, float]:
    taken = {name: getattr(ended, name) for name in TAKEN}
    return {name: value for name, value in taken.items() if value is not None}


def without_set_up(outcome: Outcome) -> Outcome:
    """Return the outcome of a run whose set-up ended with `outcome`, so that it was not trained."""
    if isinstance(outcome, Completed):
        return outcome
    return msgspec.structs.replace(
        outcome,
        seconds=0.0,
        reason=f"its set-up did not complete: {outcome.reason}",
        files={},
        **dict.fromkeys(TAKEN, msgspec.UNSET),
    )


def without_secrets(outcome: Outcome, words: Sequence[str], environment: Mapping[str, str]) -> Outcome:
    """Return an outcome in whose texts stars stand for the secrets of the command and of its environment."""
    if isinstance(outcome, Completed):
        return outcome
    secrets = secrets_of(words, environment)
    reason, hint = mask_lines([outcome.reason, outcome.hint], secrets)
    return msgspec.structs.replace(outcome, reason=reason, hint=hint, stderr=mask_lines(outcome.stderr, secrets))


def has_started(events: Iterable[Mapping[str, Any]]) -> bool:
    """Tell by the events of a run whether the runtime was started in at least one process of it."""
    return any(event["event"] == "start" for event in events)


def lost_records(events: Iterable[Mapping[str, Any]]) -> str | None:
    """Return why records of a run with these events could not be written; None where none was lost."""
    return next((str(event.get("reason")) for event in events if event["event"] == "records-lost"), None)


def lost_in(run: RunFolder) -> str | None:
    """Say how many records a run could not write whose processes could not write an event either; None where none."""
    lost = sum(map(lost_count, run.record_files()))
    return f"{lost} were lost" if lost else None


def missing_path_hint(lines: Sequence[str], *, copy: Path, cwd: Path, snapshot: Snapshot) -> str:
    """Return how to bring a path that the run missed and the project has; empty where there is none."""
    project = Path(snapshot.project)
    for line in reversed(lines):
        for path in _named_paths(line, cwd):
            original = Path(os.path.normpath(project / os.path.relpath(path, copy)))
            if not path.exists() and original.exists() and original != project:
                return _bring(original, project, snapshot)
        module = _MODULE.search(line)
        if module is not None and (where := _beside(project, module[1])) is not None:
            return f"the module is outside the project, in {where}; start from there, or add it to PYTHONPATH"
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
    return f"{relative} {why}; if the training needs it: --set include={relative}"


def _beside(project: Path, module: str) -> Path | None:
    """Return the folder above the project that has the module: a program may have put it on its path."""
    path = module.replace(".", "/")
    files = (f"{path}/__init__.py", f"{path}.py")
    return next((folder for folder in project.parents[:2] if any((folder / file).is_file() for file in files)), None)


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


#: PYTHONPATH is set, and not to what it was and more.
_REPLACES_PATH = re.compile(r"\bPYTHONPATH=(?!\S*\$\{?PYTHONPATH)")


def _uninstrumented_hint(words: Sequence[str]) -> str:
    if looks_isolated(words):
        return "python was started with -I, -E or -S, which keeps every instrument out; leave the option out"
    if any(_REPLACES_PATH.search(word) for word in words):
        return (
            "PYTHONPATH that the command sets takes the place of the one by which Deviate reaches Python: set it "
            "before deviate, as in `PYTHONPATH=src deviate run -- python ...`, or add to it, "
            "`PYTHONPATH=src:$PYTHONPATH`"
        )
    return (
        "make sure that the command starts Python itself, with the environment it is given; for containers: "
        "--set container=IMAGE"
    )


def _now() -> str:
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")
