"""Experiments at a glance, each from its own files alone, and mean and SD of each, in a file made when needed.

Whoever lists experiments imports it: nothing here is long to import.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from deviate.core.errors import DeviateError
from deviate.core.experiment import Direction, Kind
from deviate.core.shell_words import typed_word
from deviate.store.files import write_whole
from deviate.store.folders import ExperimentFolder, RunFolder, Workspace
from deviate.store.looks import comparisons
from deviate.store.run_files import Completed, Unfinished

if TYPE_CHECKING:
    from deviate.facts.live import LiveExperiment


class Unreadable(NamedTuple):
    """An experiment with a file that cannot be read, and what to do about it."""

    name: str
    problem: str
    hint: str


def overviews(workspace: Workspace) -> tuple[list[dict[str, Any]], list[Unreadable]]:
    """Return the overview of each experiment that can be read, and what is wrong with each of the others.

    Each says beside its own facts which others it was compared with.
    """
    found, unreadable = [], []
    for name in workspace.names():
        try:
            found.append(overview(workspace.experiment(name)))
        except DeviateError as error:
            hint = f"{error.hint}; to remove the experiment: deviate rm {typed_word(name)}"
            unreadable.append(Unreadable(name, error.message, hint))
    partners = _partners(workspace, found)
    return [{**each, "compared_with": sorted(partners[each["name"]])} for each in found], unreadable


def _partners(workspace: Workspace, found: Iterable[Mapping[str, Any]]) -> Mapping[str, set[str]]:
    """Return the other ones of these experiments that each was compared with."""
    partners: defaultdict[str, set[str]] = defaultdict(set)
    # Of imported results it is not recorded when they were made.
    known = {(each["name"], created) for each in found for created in (each["created"], "")}
    for looks in comparisons(workspace):
        for side, other in permutations((looks.a, looks.b)):
            names = side.experiment, other.experiment
            if names[0] != names[1] and {(names[0], side.created), (names[1], other.created)} <= known:
                partners[names[0]].add(names[1])
    return partners


def overview(folder: ExperimentFolder) -> dict[str, Any]:
    """Return name, command, how many runs of each variant are planned and completed, and what goes on now."""
    experiment, every = folder.read_experiment(), folder.runs()
    runs = [run for run in every if isinstance(run.read_outcome(), Completed)]
    completed = Counter(run.run.variant for run in runs)
    # Only where a worker may live: looking at processes takes a library that is long to import.
    held = [run for run in every if run.worker.is_dir()]
    return {
        "name": experiment.name,
        "command": experiment.command,
        "created": experiment.created,
        "planned": experiment.planned,
        "completed": {variant: completed[variant] for variant in experiment.planned},
        "evaluating": _evaluated(held),
        "seconds_left": live.seconds_left if (live := _going(folder, held)) else None,
        "running": live is not None,
        "problem": "" if runs else _problem(folder),
    }


def _problem(folder: ExperimentFolder) -> str:
    """Return why the first run that ended did not complete; empty where none has ended."""
    outcomes = (run.read_outcome() for run in folder.runs())
    return next((outcome.reason for outcome in outcomes if isinstance(outcome, Unfinished)), "")


def _going(folder: ExperimentFolder, held: Sequence[RunFolder]) -> LiveExperiment | None:
    """Return what `deviate watch` shows; None where no run is under way."""
    if all(run.outcome_file.is_file() for run in held):
        return None
    from deviate.facts.live import LiveReader

    live = LiveReader(folder).read()
    return live if live.going else None


def _evaluated(held: Sequence[RunFolder]) -> int:
    """Count the completed runs that a worker evaluates."""
    if not held:
        return 0
    from deviate.facts.live import is_evaluated

    return sum(isinstance(run.read_outcome(), Completed) and is_evaluated(run) for run in held)


#: In the folder of an experiment.
SUMMARY_FILE = "summary.json"

#: Raised when the file has something else: older ones are made anew.
VERSION = 2


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of the completed runs of a variant."""

    name: str
    #: As people say it: ``last epoch``.
    taken: str
    kind: Kind
    direction: Direction | None
    unit: str = ""
    decimals: int | None = None
    #: By run, in the order of their indices.
    values: list[float]
    mean: float | None
    sd: float | None
    #: Ends of the interval of the mean, at 95 %; None where one run tells none.
    low: float | None
    high: float | None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """All metrics of each variant of an experiment, the main one first."""

    made_from: str
    variants: dict[str, list[Standing]]


def summary_of(folder: ExperimentFolder) -> Summary:
    """Return the summary of an experiment, made anew where runs ended or settings changed since it was written."""
    stamp, path = _stamp(folder), folder.path / SUMMARY_FILE
    with suppress(OSError, msgspec.DecodeError):
        summary = msgspec.json.decode(path.read_bytes(), type=Summary)
        if summary.made_from == stamp:
            return summary
    summary = Summary(made_from=stamp, variants=_variants(folder))
    # It spares making it again, and nothing else.
    with suppress(OSError):
        write_whole(path, msgspec.json.encode(summary))
    return summary


def _variants(folder: ExperimentFolder) -> dict[str, list[Standing]]:
    from deviate.facts.metric import measured_sample
    from deviate.facts.samples import read_options
    from deviate.facts.stored import read_results
    from deviate.observe.headline import main_first

    results = read_results(folder, read_options())
    loop = results.experiment.main_loop

    def in_rounds(metric: str, variant: str) -> bool:
        """Whether each round of the main loop, as far as is known, reported a metric."""
        reports = results.reports.get(variant, {}).get(metric)
        return not reports or reports[-1] >= results.looped.get(variant, 0)

    return {
        variant: [
            Standing(
                name=each.name,
                taken=loop.value_taken(each.aggregate) if loop and in_rounds(each.name, variant) else each.aggregate,
                kind=each.kind,
                direction=each.direction,
                unit=each.unit,
                decimals=each.decimals,
                values=list(each.values),
                mean=each.spread.mean,
                sd=each.spread.sd,
                low=each.ci_mean.low if each.ci_mean.known else None,
                high=each.ci_mean.high if each.ci_mean.known else None,
            )
            for each in (measured_sample(sample, LEVEL) for sample in main_first(samples) if sample.n)
        ]
        for variant, samples in results.samples.items()
    }


#: Confidence level of the intervals.
LEVEL = 0.95


def _stamp(folder: ExperimentFolder) -> str:
    """List what a summary is made from: size and time of the files of the experiment, of settings and directions."""
    settings = [folder.project / "deviate.toml", Workspace(folder.project).directions_file]
    files = [folder.experiment_file, *settings, *_outcomes(folder)]
    lines = [f"{VERSION}"]
    for path in files:
        with suppress(OSError):
            status = path.stat()
            lines.append(f"{path.parent.name}/{path.name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(lines)


def _outcomes(folder: ExperimentFolder) -> Iterable[Path]:
    for run in folder.runs():
        yield from (step.outcome_file for step in (run, *run.steps()))
