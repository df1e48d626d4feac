"""How a run went, as its files say, and runs over time."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

import msgspec

from deviate.core.experiment import Experiment, Run, Status
from deviate.core.secrets import mask_lines, secrets_of
from deviate.observe.events import (
    TurnedBit,
    UnseenPrograms,
    reached_draws,
    threads,
    turned_bit,
    unseen_programs,
    used_gpu,
)
from deviate.observe.fingerprints import Fingerprint
from deviate.observe.processes import Trainings, reporting, trainings_of
from deviate.observe.records import RunFiles
from deviate.store.files import log_tail
from deviate.store.run_files import Unfinished


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """How one run went."""

    variant: str
    index: int
    status: Status
    #: Wall time of the command; None where it never started.
    seconds: float | None = None
    #: Why it did not complete: ``exit status 1``, ``killed by signal 9``, ``no start was heard``.
    reason: str = ""
    #: Last lines the command wrote to its standard error.
    stderr_tail: list[str] = []
    #: Last lines the command wrote to its standard output, with stars for secrets.
    stdout_tail: list[str] = []
    seeds: dict[str, int] = {}
    #: What the run drew, its batches and its final weights, by name.
    prints: dict[str, Fingerprint] = {}
    #: Things worth telling that went otherwise than planned in this run.
    warnings: list[str] = []
    threads: int | None = None
    cores: list[int] = []
    #: The machine that the run was made to believe to be on; empty: this one.
    platform: str = ""
    has_gpu: bool = False
    #: The weight that was moved by one unit in the last place.
    bit: TurnedBit | None = None
    #: Local time of the start in ISO 8601; empty where it is not known.
    started: str = ""
    host: str = ""
    #: Index among the runs that went on side by side, from 0; None: not known.
    slot: int | None = None
    #: The run whose training this is, too; empty where it has its own.
    same_as: str = ""
    #: Seconds of all cores together, and bytes of resident memory that the largest process held at most; None: not
    #: known.
    cpu_seconds: float | None = None
    peak_memory: int | None = None
    #: Bytes of GPU memory that its processes were seen to hold together at most; None: not known.
    gpu_memory: int | None = None
    #: The GPUs that it saw, each with its name and UUID; empty where it is not known.
    devices: list[str] = []
    #: What had been imported by the process that it was forked from; empty where it was started.
    warm: list[str] = []
    #: Python programs of it that no process reported from.
    unseen: UnseenPrograms = UnseenPrograms()
    trainings: Trainings = Trainings()
    #: What the source of imported results calls it; empty where Deviate ran it.
    label: str = ""
    #: Factors for which lines of the project drew.
    drawn: list[str] = []
    #: A process of it came to its end under Deviate's eyes, so that what it drew would have been seen.
    watched: bool = False

    @property
    def name(self) -> str:
        """The word a user types for the run."""
        return Run(variant=self.variant, index=self.index).folder

    @property
    def called(self) -> str:
        """What a reader knows it by, where the variant is said or there is one."""
        return self.label or f"run {self.index}"


class Ending(NamedTuple):
    """How a command ended, and why it did not complete."""

    status: Status
    reason: str


def ending(run: RunFiles) -> Ending:
    """Return how a command ended that has ended; one whose files were damaged since has failed."""
    assert run.outcome is not None
    if run.damage and run.outcome.done:
        return Ending("failed", f"its files were damaged after it ended: {run.damage}")
    return Ending(run.outcome.status, run.outcome.reason if isinstance(run.outcome, Unfinished) else "")


def run_result(run: RunFiles, experiment: Experiment) -> RunResult:
    """Return how a run of an experiment went that has ended."""
    info, outcome, (status, reason) = run.info, run.outcome, ending(run)
    assert outcome is not None
    unfinished = outcome if isinstance(outcome, Unfinished) else None
    hints = [unfinished.hint] if unfinished and unfinished.hint else []
    return RunResult(
        variant=run.variant,
        index=run.index,
        status=status,
        seconds=outcome.seconds,
        reason=reason,
        stderr_tail=unfinished.stderr if unfinished else [],
        stdout_tail=_printed(run),
        seeds=(info.seeds or {}) if info else {},
        prints=run.fingerprints,
        warnings=[*outcome.warnings, *hints],
        threads=threads(run),
        cores=(info.cores or []) if info else [],
        platform=(info.platform or "") if info else "",
        has_gpu=used_gpu(run),
        bit=turned_bit(run),
        started=info.started if info else "",
        host=info.host if info else "",
        slot=info.slot if info else None,
        same_as=info.same_as if info else "",
        cpu_seconds=outcome.cpu_seconds or None,
        peak_memory=outcome.peak_memory or None,
        gpu_memory=outcome.gpu_memory or None,
        devices=(info.devices or []) if info else [],
        warm=(info.warm or []) if info else [],
        unseen=unseen_programs(run, experiment.entries),
        trainings=trainings_of(reporting(run.processes)),
        label=experiment.imported.labels.get(str(run.index), "") if experiment.imported else "",
        drawn=sorted({draw.factor for draw in reached_draws([run], experiment.draws)}),
        watched=any(event["event"] == "end" for process in run.processes for event in process.events),
    )


def _printed(run: RunFiles) -> list[str]:
    words = run.info.argv if run.info else []
    return mask_lines(log_tail(run.folder.stdout_file), secrets_of(words, os.environ))


# Runs over time, and beside which others.


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
