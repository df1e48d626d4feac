"""What a command yielded while it was tried out."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

import msgspec

from deviate.collect.tally import Tally
from deviate.experiment import SCHEMA, Experiment
from deviate.trial import Ending

Found = Mapping[tuple[str, int], Tally]


class Came(msgspec.Struct, frozen=True, kw_only=True):
    """A selected metric that yielded values."""

    name: str
    count: int
    first: float
    last: float


class Unforeseen(msgspec.Struct, frozen=True, kw_only=True):
    """A name that was learnt at run time: a key, a label, or what a framework logs."""

    name: str
    #: The selected metric it belongs to; None: reported by a framework.
    metric: str | None
    count: int
    first: float
    last: float


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What a command yielded while it was tried out."""

    schema: int = SCHEMA
    #: Selected metrics in the order they were found, and the names of those of which nothing came.
    verified: list[Came]
    silent: list[str]
    unforeseen: list[Unforeseen]
    ended: Ending
    seconds: float
    #: Iterations of the main loop that were begun.
    iterations: int
    #: Why the program failed or was not measured; empty where it was.
    reason: str = ""
    #: What to do where a metric is silent.
    hint: str = ""
    #: The last lines of the standard error of a program that failed.
    stderr: list[str] = []
    #: What could not be instrumented or read.
    notes: list[str] = []


def came(experiment: Experiment, found: Found) -> Iterator[Came]:
    """Yield the selected metrics that yielded values."""
    for position, metric in enumerate(experiment.metrics):
        # What a framework reports may have been foreseen by name only.
        tallies = [tally for key, tally in found.items() if key[1] == position or key == (metric.name, -1)]
        if tallies:
            whole = functools.reduce(Tally.joined, tallies)
            yield Came(name=metric.name, count=whole.count, first=whole.first, last=whole.last)


def unforeseen(experiment: Experiment, found: Found) -> list[Unforeseen]:
    """Return the names in the records that are no selected metric's."""
    names = [metric.name for metric in experiment.metrics]
    return [
        Unforeseen(
            name=name,
            metric=names[source] if source >= 0 else None,
            count=tally.count,
            first=tally.first,
            last=tally.last,
        )
        for (name, source), tally in found.items()
        if name not in names
    ]
