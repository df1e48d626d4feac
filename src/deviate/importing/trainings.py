"""Where a training begins among rows whose counter goes back, and where one was resumed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from deviate.errors import NotRuns
from deviate.importing.foreign import ForeignRun, Reading
from deviate.shell_words import typed_word

#: Fewest values before a counter goes back that show whether the values go on.
FEWEST_BEFORE = 4

#: Fewest iterations with one value each beside which a second value is that of a training that was resumed.
FEWEST_ONCE = 3

#: Rows after it in which no iteration may come twice: numbers that are printed with few digits do again and again.
AHEAD = 20

#: How many times nearer the values are to one end of what was before than to the other.
NEARER = 3.0

#: Values before the counter goes back whose differences are its noise.
MOST_COMPARED = 100

#: Values at either end whose mean is compared.
AT_ENDS = 3


class Split(NamedTuple):
    """The trainings in the readings of one part, and what was found."""

    trainings: list[list[Reading]]
    #: The row with which each begins.
    starts: list[int]
    #: Iteration from which, and to which, the counter went back in a training that was resumed.
    resumed: list[tuple[int, int]]


def split_trainings(
    readings: Sequence[Sequence[Reading]], counted: Sequence[bool], label: str, counter: str, *,
    begins_anew: bool = False, values_decide: bool = False,
) -> Split:  # fmt: skip
    """Divide the readings of rows, in their order, into trainings.

    `counted` tells which rows have an iteration of their own, and not that of the row before.

    A counter that goes back to where it began is that of a new training; one that goes back less was resumed. Values
    that say the opposite leave two readings, unless `begins_anew` says that a training begins there, or `values_decide`
    that they are right.

    Raises
    ------
    NotRuns
        With both readings.
    """
    every = [reading for row in readings for reading in row]
    if len({(reading.metric, reading.iteration) for reading in every}) == len(every):
        return Split([sorted(every, key=lambda reading: reading.iteration)], [0], [])
    training = _Training()
    split = Split([training.readings], [0], [])
    for index, row in enumerate(readings):
        rest = readings[index : index + 1 + AHEAD]
        is_counted = bool(row) and counted[index]
        stands = is_counted and not values_decide and training.stands(row, rest[1:])
        if stands or (is_counted and training.falls(row)):
            if _is_new(training, rest, label, counter, begins_anew=begins_anew, values_decide=values_decide):
                training = _Training()
                split.trainings.append(training.readings)
                split.starts.append(index)
            else:
                split.resumed.append((training.at, row[0].iteration))
                training.go_back()
        training.add(row)
    return split


class _Along:
    """What one training reported of one metric so far."""

    def __init__(self, first: int) -> None:
        #: The least iteration, and the last one since the counter last went back.
        self.first = first
        self.last: int | None = None
        self.count = 0
        self.iterations: set[int] = set()
        #: Those that are finite.
        self.values: list[float] = []

    @property
    def is_once(self) -> bool:
        """Whether several iterations have one value each."""
        return self.count >= FEWEST_ONCE and self.count == len(self.iterations)

    def add(self, reading: Reading) -> None:
        """Add a reading."""
        self.first, self.last = min(self.first, reading.iteration), reading.iteration
        self.count += 1
        self.iterations.add(reading.iteration)
        if math.isfinite(reading.value):
            self.values.append(reading.value)


class _Training:
    """The readings of one training so far."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []
        self.along: dict[str, _Along] = {}

    @property
    def at(self) -> int:
        """The last iteration."""
        return self.readings[-1].iteration

    def start(self, row: Sequence[Reading]) -> int:
        """Return the first iteration of the metrics in a row."""
        known = (self.along[reading.metric].first for reading in row if reading.metric in self.along)
        return min(known, default=row[0].iteration)

    def falls(self, row: Sequence[Reading]) -> bool:
        """Tell whether the counter goes back for one of the metrics in a row; those of two splits count apart."""
        return any(last is not None and each.iteration < last for each in row for last in [self._last(each)])

    def stands(self, row: Sequence[Reading], rest: Sequence[Sequence[Reading]]) -> bool:
        """Tell whether an iteration was made again: all of its values come twice, and those of no other one do."""
        if any(reading.iteration != self._last(reading) for reading in row):
            # `step:9 val_loss:3.2 time:5`, `step:9 loss:3.1 time:6`: two lines of one iteration.
            return False
        later = [each.iteration for after in rest for each in after if each.metric == row[0].metric]
        goes_on = bool(later) and later[0] > row[0].iteration and len(set(later)) == len(later)
        return goes_on and self.along[row[0].metric].is_once

    def _last(self, reading: Reading) -> int | None:
        return self.along[reading.metric].last if reading.metric in self.along else None

    def go_back(self) -> None:
        """Count anew."""
        for along in self.along.values():
            along.last = None

    def add(self, row: Sequence[Reading]) -> None:
        """Add the readings of a row."""
        self.readings.extend(row)
        for reading in row:
            self.along.setdefault(reading.metric, _Along(reading.iteration)).add(reading)


def split_stored(run: ForeignRun, counter: str) -> list[ForeignRun]:
    """Divide what a store calls one run into trainings; what is to be said of them stands in the first one's notes.

    Nobody can say more of a store than it holds, so where the counter goes back the values decide.
    """
    in_time = sorted(run.readings, key=lambda reading: reading.elapsed_s) if has_times(run.readings) else run.readings
    rows = [[reading] for reading in in_time]
    split = split_trainings(rows, [True] * len(rows), run.label, counter, values_decide=True)
    notes = list(split_notes(run.label, split, counter, ""))
    if len(split.trainings) == 1:
        return [msgspec.structs.replace(run, notes=notes)]
    return [
        msgspec.structs.replace(
            run, label=training_label(run.label, number), readings=_from_its_start(each), seconds=None,
            notes=[] if number else notes,
        )
        for number, each in enumerate(split.trainings)
    ]  # fmt: skip


def has_times(readings: Sequence[Reading]) -> bool:
    """Tell whether every reading has a time."""
    return not any(math.isnan(reading.elapsed_s) for reading in readings)


def _from_its_start(readings: Sequence[Reading]) -> list[Reading]:
    start = min(reading.elapsed_s for reading in readings)
    return [msgspec.structs.replace(each, elapsed_s=each.elapsed_s - start) for each in readings]


def training_label(label: str, index: int) -> str:
    """Return how one of several trainings is called that are one after the other in a place."""
    return f"{label}, training {index + 1}"


def split_notes(label: str, split: Split, counter: str, remedy: str) -> Iterator[str]:
    """Say how many trainings there are, and where one was resumed."""
    if len(split.trainings) > 1:
        yield f"{label} holds {len(split.trainings)} trainings: {counter!r} begins again with each.{remedy}"
    if split.resumed:
        at, back = split.resumed[0]
        how = f"goes back from {at} to {back}" if back < at else f"is {at} again"
        more = f", and {len(split.resumed) - 1} times more" if len(split.resumed) > 1 else ""
        yield f"{label} was resumed: {counter!r} {how}{more}. Of what stands twice, the later value counts."


def _is_new(
    training: _Training, rest: Sequence[Sequence[Reading]], label: str, counter: str, *,
    begins_anew: bool, values_decide: bool,
) -> bool:  # fmt: skip
    row, back = rest[0], rest[0][0].iteration
    at_start = back <= training.start(row)
    against = _goes_on if at_start else _starts_again
    if not _says(against, training, rest):
        return at_start
    if begins_anew or values_decide:
        return begins_anew or not at_start
    values = "go on" if at_start else "begin anew"
    raise NotRuns(
        f"{label}: {counter!r} goes back from {training.at} to {back}, and the values {values}: a second training, or "
        "the same one",
        hint=f"type --iteration-column {typed_word(counter)} if a training begins there, --rows iterations if the rows "
        "are one training",
    )


class _Ends(NamedTuple):
    """Means of a metric: where it began, where it was when the counter went back, and behind that."""

    first: float
    last: float
    behind: float


def _says(claim: Callable[[_Ends], bool], training: _Training, rest: Sequence[Sequence[Reading]]) -> bool:
    """Tell whether most of the metrics that can tell make a claim."""
    names = dict.fromkeys(reading.metric for row in rest[:1] for reading in row)
    told = [claim(ends) for name in names if (ends := _ends(name, training, rest)) is not None]
    return bool(told) and 2 * sum(told) > len(told)


def _goes_on(ends: _Ends) -> bool:
    return NEARER * abs(ends.behind - ends.last) < abs(ends.behind - ends.first)


def _starts_again(ends: _Ends) -> bool:
    return NEARER * abs(ends.behind - ends.first) < abs(ends.behind - ends.last)


def _ends(metric: str, training: _Training, rest: Sequence[Sequence[Reading]]) -> _Ends | None:
    """Return the means of a metric; None where it had not moved beyond its noise."""
    before = training.along[metric].values if metric in training.along else []
    if len(before) < FEWEST_BEFORE:
        return None
    size = min(AT_ENDS, len(before) // 2)
    behind: list[float] = []
    for row in rest[: 4 * size]:
        behind += [each.value for each in row if each.metric == metric and math.isfinite(each.value)]
    first, last = statistics.fmean(before[:size]), statistics.fmean(before[-size:])
    noise = statistics.median(abs(later - earlier) for earlier, later in pairwise(before[-MOST_COMPARED:]))
    moved = abs(last - first) > 2 * noise
    return _Ends(first, last, statistics.fmean(behind[:size])) if moved and behind else None
