"""What a study says while its runs go on, beside what the replicate stage says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from deviate.core.experiment import Decided, Experiment, Placement, Run, Until
from deviate.observe.headline import main_first
from deviate.observe.metrics import measured_metrics
from deviate.runs.events import Event, RunEnded, RunProgress

if TYPE_CHECKING:
    from deviate.runs.packing import Packing
    from deviate.stats.multiplicity import Look


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of an experiment are about to be made."""

    experiment: Experiment
    #: Runs that go on side by side at most.
    jobs: int
    #: The last values of each run that has completed before.
    values: dict[Run, dict[str, float]]


class OpenedAnew(msgspec.Struct, frozen=True, kw_only=True):
    """A new experiment was made although there is one of the same command."""

    name: str
    #: What the other one is called, and in what it differs.
    other: str


class RunsPlaced(msgspec.Struct, frozen=True, kw_only=True):
    """Where runs are made, although the command does not say so."""

    placement: Placement
    #: Who says so.
    by: str


class GoesOn(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment is continued although files of the project differ from its copy, or no standard input was given."""

    name: str
    #: Files that nothing which the training reads names.
    aside: list[str]
    #: With ``--edited``: what changed in the source.
    changed: list[str]
    #: Runs read the standard input that it was made with.
    stdin: bool = False


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """After a round of runs: whether a variant has enough of them."""

    variant: str
    look: Look
    until: Until


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """After a round of runs: whether it is decided which of two experiments is better."""

    decided: Decided
    metric: str
    #: Runs of each side.
    runs: tuple[int, int]
    p: float | None
    #: What p must be below at this look.
    limit: float
    verdict: str
    #: Why no number of runs decides it; empty where runs may.
    hopeless: str = ""
    #: A difference is shown.
    shown: bool


class PackingTried(msgspec.Struct, frozen=True, kw_only=True):
    """Before runs share GPUs: what a trial of that showed; said when it begins, without a result, and when it ends."""

    per_gpu: int
    result: Packing | None = None


StudyEvent = Event | Begun | RunsPlaced | OpenedAnew | GoesOn | Looked | Compared | PackingTried


def values_ordered(values: Mapping[str, float], experiment: Experiment) -> dict[str, float]:
    """Return the values by name of the metric, the main metric first; those alike as they were."""
    measured = measured_metrics(experiment, [(name, -1) for name in values])
    known = {metric.name: metric for metric in measured}
    return {metric.name: values[metric.name] for metric in main_first([known[name] for name in values])}


def with_ordered_values(event: Event, experiment: Experiment) -> Event:
    """Return the event with the values it carries in the order of `values_ordered`."""
    if isinstance(event, RunProgress | RunEnded):
        return msgspec.structs.replace(event, values=values_ordered(event.values, experiment))
    return event
