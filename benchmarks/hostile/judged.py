"""Say what differs between a bare run and those under Deviate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from catalogue import Program
from started import Left, Run, Started

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\b(?:nan|inf)\b")


def judge(program: Program, bare: Left, under: Started) -> dict[str, Any]:
    """Return what is wrong in each variant, and what else was said."""
    common = [f"the project's {name} was changed" for name in under.changed]
    common += [f"still running: {command}" for command in under.running]
    result: dict[str, Any] = {"seconds": round(under.seconds, 1), "status": under.status}
    for variant, runs in under.runs.items():
        refused = refusal(bare, under, runs)
        if refused:
            faults = [] if program.refused and re.search(program.refused, refused) else [f"refused: {refused}"]
        else:
            faults = [
                f"run {k}: {fault}" for k, run in enumerate(runs) for fault in differences(program, variant, bare, run)
            ]
            faults += [f"runs 0 and 1: {fault}" for fault in unequal(*runs)] if variant == "control" else []
        notes = sorted({note for run in runs for note in notes_on(run)})
        result[variant] = {"faults": merged(faults) + common, "refused": refused, "notes": notes}
    result["warnings"] = [
        f"{w['variant'] or 'all'}: {w['slug']}: {w['message']}" for w in under.report.get("warnings", [])
    ]
    return result


def refusal(bare: Left, under: Started, runs: list[Run]) -> str:
    """Return the reason with which Deviate refused; empty where the runs were made and ended as the bare one did."""
    if all(run.ended == "no run" for run in runs):
        lines = [line for line in under.stderr.splitlines() if line.startswith(("error", "Error"))]
        return "; ".join(lines) or f"no run, status {under.status}, no reason: {under.stderr[-300:]}"
    as_bare = bare.status != 0 and {(run.ended, run.status) for run in runs} == {("failed", bare.status)}
    if all(run.ended != "completed" for run in runs) and not as_bare:
        return f"{runs[0].ended}: {runs[0].reason}"
    return ""


def differences(program: Program, variant: str, bare: Left, run: Run) -> Iterator[str]:
    """Yield what differs between the bare run and one under Deviate."""
    if run.status != bare.status:
        yield f"ended with {run.status} ({run.ended}: {run.reason[:200]}), bare with {bare.status}"
    if run.ended == "no run":
        return
    yield from (unequal(bare, run) if variant == "as-is" else unequal(masked(bare), masked(run)))
    if not run.losses:
        yield "wrote no losses"
    elif not any(values == run.losses for values in run.recorded.values()):
        printed = as_printed(run)
        if printed and not program.digits:
            yield f"losses recorded with the printed digits alone, as {printed}"
        elif not printed:
            yield unrecorded(run)


def unequal(one: Left, other: Left) -> list[str]:
    """Return what differs between two trainings: output, and names and bytes of files."""
    faults = [
        f"{name} differs: {first_difference(getattr(one, name), getattr(other, name))}"
        for name in ("stdout", "stderr")
        if getattr(one, name) != getattr(other, name)
    ]
    ours, theirs = own_files(one), own_files(other)
    if missing := sorted(ours.keys() - theirs.keys()):
        faults.append(f"not written: {missing}")
    if more := sorted(theirs.keys() - ours.keys()):
        faults.append(f"written beside: {more}")
    if other_bytes := sorted(name for name in ours.keys() & theirs.keys() if ours[name] != theirs[name]):
        faults.append(f"other bytes in {other_bytes}")
    return faults


def own_files(left: Left) -> dict[str, bytes]:
    """Return what a training wrote, without source on the disk that it left alone."""
    return {name: data for name, data in left.written.items() if name not in left.edited}


def masked(left: Left) -> Left:
    """Return a training with a sign for each number, a line once, and no bytes: what control may change is gone."""
    stdout, stderr = ("\n".join(sorted({*NUMBER.sub("#", text).splitlines()})) for text in (left.stdout, left.stderr))
    return Left(left.status, stdout, stderr, dict.fromkeys(own_files(left), b""))


def first_difference(one: str, other: str) -> str:
    """Return the first lines in which two texts differ."""
    ours, theirs = one.splitlines(), other.splitlines()
    at = next((k for k, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    return " for ".join(repr(lines[at][:160]) if at < len(lines) else "nothing" for lines in (theirs, ours))


def as_printed(run: Run) -> str:
    """Return the metric that holds the losses with fewer digits; empty where none does."""
    for name, values in run.recorded.items():
        pairs = zip(values, run.losses, strict=False)
        if len(values) == len(run.losses) and all(abs(a - b) <= 1e-2 * max(1, abs(b)) for a, b in pairs):
            return name
    return ""


def unrecorded(run: Run) -> str:
    """Say how what was recorded differs from the losses that the program wrote down."""
    named = {name: values for name, values in run.recorded.items() if not name.startswith("time per")}
    seen = ", ".join(f"{name} ({len(values)}, last {values[-1]:.6g})" for name, values in named.items())
    return f"losses not recorded: {len(run.losses)}, last {run.losses[-1]:.6g}; recorded: {seen or 'nothing'}"


def notes_on(run: Run) -> Iterator[str]:
    """Yield what is no fault by itself."""
    yield from (f"other text on the disk: {name}" for name in run.edited)


def merged(faults: list[str]) -> list[str]:
    """Return faults with those that both runs have said once."""
    both = {fault[7:] for fault in faults if fault.startswith("run 0: ")} & {
        fault[7:] for fault in faults if fault.startswith("run 1: ")
    }
    rest = [fault for fault in faults if fault[7:] not in both or not fault.startswith("run ")]
    return [f"both runs: {fault}" for fault in dict.fromkeys(f[7:] for f in faults if f[7:] in both)] + rest
