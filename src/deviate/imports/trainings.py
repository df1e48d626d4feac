"""Where a training begins among rows whose counter goes back, and where one was resumed."""

from __future__ import annotations

import math
import statistics
from bisect import bisect, insort
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, NoReturn

import msgspec

from deviate.core.errors import NotRuns
from deviate.core.shell_words import typed_word
from deviate.imports.foreign import ForeignRun, Reading
from deviate.imports.request import TableOptions
from deviate.imports.roles import FILE, Roles, columns_of, may_count, refuse, searched, whole
from deviate.imports.rows import Row, is_name, number

#: Fewest values before a counter goes back that show whether the values go on.
FEWEST_BEFORE = 4

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
    #: Values beyond the end of a resumed training, of a start before it.
    beyond: int = 0


def split_trainings(
    readings: Sequence[Sequence[Reading]], counted: Sequence[bool], label: str, counter: str, *,
    begins_anew: bool = False,
) -> Split:  # fmt: skip
    """Divide the readings of rows, in their order, into trainings; `counted` are the rows with an own iteration.

    A counter that goes back to its start is of a new training, else of a resumed one. Raises NotRuns where the values
    say the opposite, or trainings end long before the others, unless `begins_anew`: an option says that each is one.
    """
    every = [reading for row in readings for reading in row]
    is_once = len({(reading.metric, reading.iteration) for reading in every}) == len(every)
    back = _far_back(readings) if is_once else None
    if is_once and back is None:
        return Split([sorted(every, key=lambda reading: reading.iteration)], [0], [])
    if back is not None and not begins_anew:
        _refuse_unsure(label, counter, *back, "come once each")
    training = _Training()
    split = Split([training.readings], [0], [])
    for index, row in enumerate(readings):
        rest = readings[index : index + 1 + AHEAD]
        is_counted = bool(row) and counted[index]
        if is_counted and (training.stands(row, rest[1:], begins_anew=begins_anew) or training.falls(row)):
            if is_once or _is_new(training, rest, label, counter, begins_anew=begins_anew):
                training = _Training()
                split.trainings.append(training.readings)
                split.starts.append(index)
            else:
                split.resumed.append((training.at, row[0].iteration))
                training.go_back()
        training.add(row)
    if len(split.trainings) > 1 and not begins_anew:
        _check_whole(split, label, counter)
    if split.resumed and not begins_anew and (late := training.short_of(split.resumed[-1][0])):
        _refuse_unsure(label, counter, *split.resumed[-1], f"end at {late}")
    return split._replace(beyond=training.cut())


def _check_whole(split: Split, label: str, counter: str) -> None:
    """Refuse trainings if some end long before the longest, or were resumed: they may be none, or others."""
    ends = [max(reading.iteration for reading in each) for each in split.trainings]
    short = sum(end < NEAR * max(ends) for end in ends)
    if short or split.resumed:
        raise NotRuns(
            f"{label} holds {len(ends)} trainings, as {counter!r} begins again with each, and "
            + (f"{short} of them end before {NEAR:.0%} of the longest" if short else "goes back within some")
            + ": trainings, starts that were broken off, or parts of one",
            hint=f"type --set iteration_column={typed_word(counter)} if each is a training, --set rows=iterations if "
            "the rows are one training; the rows of starts that are none are to be removed",
        )


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
        """Whether each iteration has one value."""
        return self.count == len(self.iterations)

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

    def stands(self, row: Sequence[Reading], rest: Sequence[Sequence[Reading]], *, begins_anew: bool) -> bool:
        """Tell whether an iteration was made again: all of its values come twice, and those of no other one do."""
        if any(reading.iteration != self._last(reading) for reading in row):
            # `step:9 val_loss:3.2 time:5`, `step:9 loss:3.1 time:6`: two lines of one iteration.
            return False
        later = [each.iteration for after in rest for each in after if each.metric == row[0].metric]
        later = later[: next((place for place, (one, two) in enumerate(pairwise(later), 1) if two < one), None)]
        if begins_anew and later[-1:] > [row[0].iteration]:
            # Of starts that were broken off at once, the first iteration stands again and again.
            later = [at for at in later if at > row[0].iteration]
        goes_on = bool(later) and later[0] > row[0].iteration and len(set(later)) == len(later)
        return goes_on and self.along[row[0].metric].is_once

    def _last(self, reading: Reading) -> int | None:
        return self.along[reading.metric].last if reading.metric in self.along else None

    def short_of(self, at: int) -> int | None:
        """Return the last iteration since the counter went back, where it did not come to `at` again."""
        late = max((along.last for along in self.along.values() if along.last is not None), default=at)
        return late if late < at else None

    def cut(self) -> int:
        """Leave out what an earlier start reported beyond the end of the last one; return how many values."""
        ends = {name: along.last for name, along in self.along.items() if along.last is not None}
        kept = [each for each in self.readings if each.iteration <= ends.get(each.metric, each.iteration)]
        beyond = len(self.readings) - len(kept)
        self.readings[:] = kept
        return beyond

    def go_back(self) -> None:
        """Count anew."""
        for along in self.along.values():
            along.last = None

    def add(self, row: Sequence[Reading]) -> None:
        """Add the readings of a row."""
        self.readings.extend(row)
        for reading in row:
            self.along.setdefault(reading.metric, _Along(reading.iteration)).add(reading)


def split_stored(run: ForeignRun, counter: str, options: TableOptions) -> list[ForeignRun]:
    """Divide what a store calls one run into trainings, the first with notes; refuse (NotRuns) what no option says."""
    # A result that was sent twice is no second one.
    last: dict[str, tuple[int, str]] = {}
    once = []
    for each in run.readings:
        if last.get(each.metric) != (sent := (each.iteration, str(each.value))):
            once.append(each)
        last[each.metric] = sent
    run = msgspec.structs.replace(run, readings=once)
    in_time = sorted(run.readings, key=lambda reading: reading.elapsed_s) if has_times(run.readings) else run.readings
    chosen = bool(options.iteration or options.rows)
    rows: list[list[Reading]] = []
    for each in in_time:
        if not rows or each.iteration != rows[-1][0].iteration or each.metric in {other.metric for other in rows[-1]}:
            rows.append([])
        rows[-1].append(each)
    split = split_trainings(rows, [True] * len(rows), run.label, counter, begins_anew=chosen)
    several = len(split.trainings) - 1
    if several and not chosen:
        raise NotRuns(
            f"{run.label}: {counter!r} begins again {several} times: trainings one after the other, or parts of one",
            hint=f"type --set iteration_column={counter} if each is a training, --set rows=iterations if they "
            "are one training",
        )
    notes = list(split_notes(run.label, split, counter, ""))
    twice = len(once) - len({(each.metric, each.iteration) for each in once})
    if twice and not split.resumed and not several:
        notes.append(f"{run.label}: of several values at one {counter!r} the last counts; {twice:,} are left out.")
    if not several:
        return [msgspec.structs.replace(run, notes=[*run.notes, *notes])]
    if options.rows:
        return [msgspec.structs.replace(run, readings=_counted_on(split.trainings))]
    return [
        msgspec.structs.replace(
            run, label=training_label(run.label, number), readings=_from_its_start(each), seconds=None,
            notes=[] if number else notes,
        )
        for number, each in enumerate(split.trainings)
    ]  # fmt: skip


def _counted_on(parts: Sequence[Sequence[Reading]]) -> list[Reading]:
    """Return the parts of one training, each counted on from where the one before ended."""
    readings = list(parts[0])
    for part in parts[1:]:
        before = max(each.iteration for each in readings) + 1
        readings += [msgspec.structs.replace(each, iteration=before + each.iteration) for each in part]
    return readings


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
        beyond = f" Values beyond its end are left out: {split.beyond}." if split.beyond else ""
        yield f"{label} was resumed: {counter!r} {how}{more}. Of what stands twice, the later value counts.{beyond}"


def _is_new(
    training: _Training, rest: Sequence[Sequence[Reading]], label: str, counter: str, *, begins_anew: bool
) -> bool:
    row, back = rest[0], rest[0][0].iteration
    go_on, begin = (_says(claim, training, rest) for claim in (_goes_on, _starts_again))
    at_start = back <= training.start(row)
    goes_against = go_on if at_start else begin
    if at_start:
        is_unsure = _says(lambda ends: abs(ends.behind - ends.last) < abs(ends.behind - ends.first), training, rest)
    else:
        is_unsure = not go_on and _is_near_start(back, training, row)
    if (goes_against or is_unsure) and not begins_anew:
        values = "go on" if go_on else "begin anew" if begin else "tell neither"
        _refuse_unsure(label, counter, training.at, back, values)
    return at_start or goes_against or is_unsure


def _refuse_unsure(label: str, counter: str, at: int, back: int, values: str) -> NoReturn:
    raise NotRuns(
        f"{label}: {counter!r} goes back from {at} to {back}, and the values {values}: a second training, or the same "
        "one",
        hint=f"type --set iteration_column={typed_word(counter)} if a training begins there, --set rows=iterations if "
        "the rows are one training",
    )


#: Values that may come out of their order where several processes write.
MOST_LATE = 2
#: Share of the rows that may.
FEW_LATE = 0.1


def _far_back(readings: Sequence[Sequence[Reading]]) -> tuple[int, int] | None:
    """Return from where to where a counter goes back behind several values of most metrics; None where it does not."""
    along: dict[str, list[int]] = {}
    last: dict[str, int] = {}
    times = 0
    for row in readings:
        at = row[0].iteration if row else 0
        falls = [each.metric for each in row if along.get(each.metric, [at])[0] < last.get(each.metric, at) > at]
        late = [name for name in falls if len(along[name]) - bisect(along[name], at) > MOST_LATE]
        times += 2 * len(falls) > len(row)
        if 2 * len(late) > len(row) or (falls and times > max(MOST_LATE, FEW_LATE * len(readings))):
            return last[falls[0]], at
        for each in row:
            insort(along.setdefault(each.metric, []), at)
            last[each.metric] = at
    return None


#: Share of the way back to which a counter goes to be near where it began.
NEAR = 0.25


def _is_near_start(back: int, training: _Training, row: Sequence[Reading]) -> bool:
    """Tell whether a counter goes back to near where it began: so does one of a training that logs at other times."""
    start = training.start(row)
    return len(training.readings) >= FEWEST_BEFORE and back - start < NEAR * (training.at - start)


def begun_anew(readings: Sequence[Sequence[Reading]], counted: Sequence[bool]) -> int:
    """Count how often another counter goes back to where it began while the values begin anew.

    `readings` are those of each row, in their order, with the iterations of that counter. A counter within another
    one, which begins again and again while the values go on, begins no training: 0.
    """
    training = _Training()
    times = others = 0
    for index, row in enumerate(readings):
        if row and counted[index] and training.falls(row):
            is_new = row[0].iteration <= training.start(row)
            if is_new and _says(_starts_again, training, readings[index : index + 1 + AHEAD]):
                training = _Training()
                times += 1
            else:
                training.go_back()
                others += 1
        training.add(row)
    return times if times >= others else 0


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


# Rows grouped into candidate trainings, by column and by file.

#: Files whose programs began within these seconds of one another may be of one program.
TOGETHER = 60.0

#: The moment at which a program began, in the facts above a table.
BEGAN = ("config/t_start", "config/start_time", "config/started")


class Table(msgspec.Struct, frozen=True):
    """The rows of one file."""

    source: str
    rows: list[Row]
    #: Name of the training where the file is one of its parts; empty where the file is a whole training.
    training: str = ""


class Part(msgspec.Struct, frozen=True):
    """Rows of one run, as far as columns and files tell, in their order."""

    label: str
    group: str
    rows: list[Row]
    places: list[int]
    #: The file of all rows; empty where they are of several.
    source: str = ""

    def by_file(self) -> list[list[Row]]:
        """Return the rows of each file."""
        starts = [index for index, place in enumerate(self.places) if place == 0]
        return [self.rows[start:end] for start, end in pairwise([*starts, len(self.rows)])]


def parts_of(tables: Sequence[Table], roles: Roles, options: TableOptions, *, grouped: bool) -> list[Part]:
    """Return the rows by what the source calls their run; refuse rows as runs (NotRuns) that a counter counts."""
    found: dict[tuple[str, str], dict[str, Part]] = {}
    naming = "" if roles.run or options.rows != "runs" else naming_column([r for t in tables for r in t.rows], roles)
    for table in tables:
        rises = options.rows == "runs" and _counts(table.rows, roles)
        if rises and not roles.run and not searched(table.rows):
            raise refuse("iterations", f"{table.source} has a column {rises!r}, so its rows are no runs")
        # A file in which no row tells its run is a run.
        told = tuple(name for name in roles.run if options.run or any(name in row for row in table.rows))
        known = msgspec.structs.replace(roles, run=told)
        for place, row in enumerate(_headed(table.rows, known)):
            if known.run and known.taken.isdisjoint(row) and all(number(word) is None for word in row.values()):
                # A remark between the rows of runs.
                continue
            group = row.get(roles.group, "") if grouped else ""
            label = row[naming] if naming else _label(table, place, row, known, options, len(tables))
            by_source = found.setdefault((group, label), {})
            part = by_source.setdefault(table.source, Part(label, group, [], [], table.source))
            part.rows.append(row)
            part.places.append(len(part.places))
    parts: list[Part] = []
    for by_source in found.values():
        several = list(by_source.items())
        if len(several) > 1 and not options.mean_over and _overlap([part for _, part in several], roles):
            parts += [msgspec.structs.replace(part, label=f"{part.label}, {source}") for source, part in several]
        else:
            parts.append(_joined([part for _, part in several]))
    return parts


def _headed(rows: Sequence[Row], roles: Roles) -> Iterator[Row]:
    """Yield the rows; what one that no counter counts tells of its run, as a log's head does, holds for those below."""
    held: Row = {}
    for row in rows:
        if roles.counters and not any(map(row.get, roles.counters)):
            held = {name: row[name] for name in roles.run if name in row} or held
        yield {**held, **row}


#: A longer word is no name, but content.
LONGEST_NAME = 100


def naming_column(rows: Sequence[Row], roles: Roles) -> str:
    """Return the column with another name in each row; empty where none has."""
    for name in columns_of(rows):
        words = {row.get(name, "") for row in rows} if name not in roles.taken - {roles.group} else set()
        if len(words) == len(rows) > 1 and all(word and is_name(word) and len(word) <= LONGEST_NAME for word in words):
            return name
    return ""


def _joined(parts: Sequence[Part]) -> Part:
    rows = [row for part in parts for row in part.rows]
    places = [place for part in parts for place in part.places]
    source = parts[0].source if len(parts) == 1 else ""
    return msgspec.structs.replace(parts[0], rows=rows, places=places, source=source)


def _overlap(parts: Sequence[Part], roles: Roles) -> bool:
    """Tell whether two files have a value for the same: they are not the parts of one run."""
    known: set[tuple[str, ...]] = set()
    rows = [row for part in parts for row in part.rows]
    # The epochs of `0.25` and `0.5` are no places at which two files could meet.
    sound = tuple(name for name in roles.counters if all(whole(row.get(name, "0")) is not None for row in rows))
    roles = msgspec.structs.replace(roles, counters=sound)
    for part in parts:
        keys = {key for row in part.rows for key in _keys(row, roles)}
        if not known.isdisjoint(keys):
            return True
        known |= keys
    return False


def _keys(row: Row, roles: Roles) -> list[tuple[str, ...]]:
    at = tuple(row.get(name, "") for name in (*roles.counters, roles.metric, roles.split))
    taken = roles.taken - {roles.value}
    return [(name, *at) for name in row if name not in taken]


def _counts(rows: Sequence[Row], roles: Roles) -> str:
    """Return the column of a counter that rises from row to row; empty where none does."""
    for name in roles.counters:
        numbers = [whole(row.get(name)) for row in rows]
        known = [value for value in numbers if value is not None]
        rises = len(known) == len(rows) > 1 and all(one < two for one, two in pairwise(known))
        if rises and may_count(name, [rows], roles):
            return name
    return ""


def _label(table: Table, place: int, row: Row, roles: Roles, options: TableOptions, files: int) -> str:
    if roles.run:
        missing = next((name for name in roles.run if name not in row), None)
        if missing and options.rows != "runs":
            raise NotRuns(
                f"{table.source}: row {place + 1} has no {missing!r}, so its run is not known",
                hint="fill it in, or type --set rows=runs if each row is a training",
            )
        of_row = [(name.rpartition("/")[2], row[name]) for name in roles.run if name in row]
        named = [word if number(word) is None else f"{name} {word}" for name, word in of_row]
        return ", ".join([*named, f"row {place + 1}"] if options.rows == "runs" else named)
    if options.rows == "runs":
        return f"{table.source} row {place + 1}" if files > 1 else f"row {place + 1}"
    return table.training or ("mean of the files" if FILE in options.mean_over else table.source)


def check_in_turn(parts: Sequence[Part], roles: Roles, options: TableOptions) -> None:
    """Refuse runs that no option names whose counter continues from one to the next, or stands once at equal steps."""
    is_said = options.run or options.rows == "runs" or FILE in options.mean_over
    if not roles.iteration or is_said or len(parts) < 2:
        return
    spans = sorted((_span(part, roles.iteration), index) for index, part in enumerate(parts))
    first, last = (parts[index] for _, index in (spans[0], spans[-1]))
    distances = {two[0] - one[0] for (one, _), (two, _) in pairwise(spans)}
    in_turn = all(one[1] < two[0] for (one, _), (two, _) in pairwise(spans))
    are_rows = all(len(part.rows) == 1 for part in parts) and len(parts) > 2 and len(distances) == 1
    if in_turn and len({part.group for part in parts}) == 1 and (are_rows or all(len(part.rows) > 1 for part in parts)):
        raise NotRuns(
            f"{first.label} to {last.label} "
            + ("have one row each, at equal distances" if are_rows else "count on from one to the next")
            + f" in {roles.iteration!r}: they may be trainings, or one",
            hint=each_or_one(roles.run[0] if roles.run else FILE),
        )


def each_or_one(column: str) -> str:
    """Say what to type if each value of a column is a training, and if all are parts of one."""
    named = typed_word(column)
    return f"type --run-column {named} if each is a training, --set mean_over={named} if they are parts of one"


def _span(part: Part, counter: str) -> tuple[int, int]:
    numbers = [number for row in part.rows if (number := whole(row.get(counter))) is not None]
    return min(numbers, default=-1), max(numbers, default=-1)


def check_began_apart(tables: Sequence[Table], roles: Roles, options: TableOptions) -> None:
    """Refuse files of programs that began together: they may be the parallel parts of one training."""
    if len(tables) < 2 or roles.run or FILE in options.mean_over:
        return
    for name in BEGAN:
        moments = [number(table.rows[0].get(name, "")) for table in tables if table.rows]
        known = [moment for moment in moments if moment is not None]
        if len(known) == len(tables) and max(known) - min(known) < TOGETHER:
            raise NotRuns(
                f"{tables[0].source} to {tables[-1].source} began together: they may be trainings, or the parallel "
                "environments of one",
                hint=each_or_one(FILE),
            )
