"""Make runs round by round until there are enough of them: ``deviate run --until``."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from deviate.collect.tables import open_tables
from deviate.contrast.stopping import Look, look
from deviate.experiment import Until
from deviate.factors import find_variant
from deviate.replicate.events import RunEnded, RunStarted
from deviate.replicate.workspace.folders import ExperimentFolder
from deviate.replicate.workspace.run_files import Completed
from deviate.study.criterion import settle_recorded
from deviate.study.events import Looked, StudyEvent

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

    Raises
    ------
    MetricNotRecorded
        After the first completed run, where it did not record the metric.
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
        table = tables.samples()
    rows = table[table["metric"] == until.metric].sort_values("run")
    values = {name: rows[rows["variant"] == name]["value"].to_numpy(dtype=float) for name in variants}
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
