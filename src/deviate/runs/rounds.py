"""Make runs round by round until there are enough of them: ``deviate run --until``."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np

from deviate.core.experiment import Decided, Until
from deviate.core.factors import find_variant
from deviate.observe.tables import open_tables
from deviate.runs.criterion import settle_recorded
from deviate.runs.events import RunEnded, RunStarted
from deviate.runs.experiment_events import Compared, Looked, StudyEvent
from deviate.stats.multiplicity import Look, look
from deviate.store.folders import ExperimentFolder, Workspace
from deviate.store.run_files import Completed

#: Makes the runs planned of each variant that are not made yet; the flag is true in the first round.
Make = Callable[[Mapping[str, int], bool], Iterator[StudyEvent]]


class Numbered:
    """Makes rounds of runs, whose events are numbered as if they were one."""

    def __init__(self, make: Make) -> None:
        self._make, self._began, self._first = make, 0, True

    def made(self, planned: Mapping[str, int]) -> Iterator[StudyEvent]:
        """Make the runs of a round."""
        started = 0
        for event in self._make(planned, self._first):
            if isinstance(event, RunStarted):
                started = event.total
                numbers = {"number": self._began + event.number, "total": self._began + event.total}
                yield msgspec.structs.replace(event, **numbers)
            else:
                yield event
        self._began, self._first = self._began + started, False


def until_enough(
    make: Make, folder: ExperimentFolder, until: Until, variants: Sequence[str], jobs: int
) -> Generator[StudyEvent, None, None]:
    """Make runs round by round until each variant has enough; which is looked at after each round.

    Every run of a round has ended before the next one is planned, so what is looked at are always the first runs of a
    variant by their index, never those that happened to be quick.

    Raises MetricNotRecorded after the first completed run, where it did not record the metric.
    """
    if folder.completed_runs():
        until = settle_recorded(folder, until)
    already = folder.read_experiment().planned
    planned = {name: min(max(until.least, already.get(name, 0)), max(until.most, until.least)) for name in variants}
    rounds = Numbered(make)
    while planned:
        for event in rounds.made(planned):
            yield event
            if isinstance(event, RunEnded) and isinstance(event.outcome, Completed):
                until = settle_recorded(folder, until)
        looks = _looks(folder, until, list(planned))
        yield from (Looked(variant=name, look=each, until=until) for name, each in looks.items())
        planned = _next_round(looks, planned, until, jobs)


def _looks(folder: ExperimentFolder, until: Until, variants: Sequence[str]) -> dict[str, Look]:
    with open_tables(folder) as tables:
        rows = sorted((row for row in tables.samples() if row.metric == until.metric), key=lambda row: row.run)
    values = {name: np.array([row.value for row in rows if row.variant == name]) for name in variants}
    return {name: look(listed[np.isfinite(listed)], until) for name, listed in values.items()}


def _next_round(looks: Mapping[str, Look], planned: Mapping[str, int], until: Until, jobs: int) -> dict[str, int]:
    """Plan one run more of each variant that has not enough; with room for more side by side, as many as there is."""
    going = [name for name, each in looks.items() if _goes_on(name, each, planned[name], until)]
    step = max(1, jobs // max(len(going), 1))
    return {name: min(planned[name] + step, until.most) for name in going}


def _goes_on(variant: str, latest: Look, made: int, until: Until) -> bool:
    if latest.met or made >= until.most or latest.n == 0:
        return False
    known = find_variant(variant)
    # Where nothing varies between runs, equal values are what is meant, and more of them tell nothing.
    return not (latest.identical and known is not None and known.is_fixed)


# Make runs round by round until a comparison with a stored experiment is decided: ``deviate run --until``.


class Referee(Protocol):
    """Compares growing runs with a stored experiment; the layers above know how."""

    def check(self, workspace: Workspace, decided: Decided, side: str | None = None) -> None:
        """Refuse what cannot be decided; `side` is the ``EXPERIMENT:VARIANT`` that grows, once a run of it is there."""

    def look(self, workspace: Workspace, decided: Decided, side: str) -> Compared:
        """Compare once more, and record it."""


def until_decided(
    make: Make, folder: ExperimentFolder, decided: Decided, jobs: int, referee: Referee
) -> Generator[StudyEvent, None, None]:
    """Make runs of a variant round by round until it is decided which is better, or it has all that are allowed.

    Every run of a round has ended before it is looked at, so that what is compared are always the first runs by index.
    """
    variant = decided.variant
    workspace, side = Workspace(folder.project), f"{folder.name}:{variant}"
    checked = bool(folder.completed_runs())
    if checked:
        referee.check(workspace, decided, side)
    already = folder.read_experiment().planned.get(variant, 0)
    planned = min(max(decided.least, already), max(decided.most, decided.least))
    rounds = Numbered(make)
    while True:
        for event in rounds.made({variant: planned}):
            yield event
            if not checked and isinstance(event, RunEnded) and isinstance(event.outcome, Completed):
                referee.check(workspace, decided, side)
                checked = True
        if not checked:
            return
        compared = referee.look(workspace, decided, side)
        yield compared
        if compared.shown or compared.hopeless or planned >= decided.most:
            return
        planned = min(planned + max(1, jobs), decided.most)
