"""Runs over time, and beside which others."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from deviate.experiment import Status
from deviate.results.run import RunResult


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """One run on the timeline; times in seconds since the first run started, pauses left out."""

    run: str
    variant: str
    status: Status
    #: Where it went on: ``slot 0``, with the machine where there are several.
    lane: str
    start_s: float
    end_s: float


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """All runs whose start is known."""

    slices: list[Slice]
    #: From the first start to the last end, pauses left out.
    length_s: float
    #: Stretches without any run that are longer than the longest run: the experiment was stopped and continued.
    pauses: int
    #: Seconds of all of them.
    paused_s: float
    #: Runs whose start or time is not known.
    unknown: int


def timeline_of(runs: Iterable[RunResult]) -> Timeline:
    """Lay runs on one axis of time."""
    every = list(runs)
    timed: list[tuple[float, float, RunResult]] = []
    for run in every:
        begun = _instant(run.started)
        if begun is not None and run.seconds is not None:
            timed.append((begun, begun + run.seconds, run))
    timed.sort(key=lambda each: (each[0], each[2].name))
    shifts, pauses, paused = _shifts([(begun, ended) for begun, ended, _ in timed])
    several = len({run.host for _, _, run in timed}) > 1
    slices = [
        Slice(
            run=run.name,
            variant=run.variant,
            status=run.status,
            lane=_lane(run, several),
            start_s=begun - shift,
            end_s=ended - shift,
        )
        for (begun, ended, run), shift in zip(timed, shifts, strict=True)
    ]
    return Timeline(
        slices=sorted(slices, key=lambda each: (each.lane, each.start_s)),
        length_s=max((each.end_s for each in slices), default=0.0),
        pauses=pauses,
        paused_s=paused,
        unknown=len(every) - len(slices),
    )


def _lane(run: RunResult, several: bool) -> str:
    slot = "slot" if run.slot is None else f"slot {run.slot}"
    return f"{run.host} {slot}" if several and run.host else slot


def _instant(text: str) -> float | None:
    """Return seconds since the epoch; None where the text is no time."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def _shifts(spans: Iterable[tuple[float, float]]) -> tuple[list[float], int, float]:
    """Return what is taken off the times of each span, by start; the number of pauses and their seconds."""
    ordered = list(spans)
    if not ordered:
        return [], 0, 0.0
    longest = max(ended - begun for begun, ended in ordered)
    shift, until, pauses = ordered[0][0], ordered[0][0], 0
    shifts = []
    for begun, ended in ordered:
        if begun - until > max(longest, 1.0):
            shift, pauses = shift + begun - until, pauses + 1
        shifts.append(shift)
        until = max(until, ended)
    return shifts, pauses, shift - ordered[0][0]
