"""Rows grouped into candidate trainings, by column and by file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from deviate.errors import NotRuns, some_of
from deviate.importing.iterations import whole
from deviate.importing.request import TableOptions
from deviate.importing.roles import FILE, Roles
from deviate.importing.rows import Row, number
from deviate.importing.unit import refuse

#: Files whose programs began within these seconds of one another may be of one program.
TOGETHER = 60.0

#: Runs that a note names.
MOST_NAMED = 3

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
    #: The place of each row among those of its file, from 0.
    places: list[int]

    def by_file(self) -> list[list[Row]]:
        """Return the rows of each file."""
        starts = [index for index, place in enumerate(self.places) if place == 0]
        return [self.rows[start:end] for start, end in pairwise([*starts, len(self.rows)])]


def parts_of(
    tables: Sequence[Table], roles: Roles, options: TableOptions, *, grouped: bool
) -> tuple[list[Part], list[str]]:
    """Return the rows by what the source calls their run, and what is to be said of that.

    Raises
    ------
    NotRuns
        If a row lacks its run, or its table counts iterations although rows shall be runs.
    """
    found: dict[tuple[str, str], dict[str, Part]] = {}
    for table in tables:
        rises = options.rows == "runs" and _counts(table.rows, roles)
        if rises and not roles.run:
            raise refuse("iterations", f"{table.source} has a column {rises!r}, so its rows are no runs")
        # A file in which no row tells its run is a run.
        tells = bool(options.run) or any(name in row for name in roles.run for row in table.rows)
        known = roles if tells else msgspec.structs.replace(roles, run=())
        for place, row in enumerate(table.rows):
            group = row.get(roles.group, "") if grouped else ""
            label = _label(table, place, row, known, options, len(tables))
            by_source = found.setdefault((group, label), {})
            part = by_source.setdefault(table.source, Part(label, group, [], []))
            part.rows.append(row)
            part.places.append(len(part.places))
    parts: list[Part] = []
    twice: dict[str, int] = {}
    for by_source in found.values():
        several = list(by_source.items())
        if len(several) > 1 and not options.mean_over and _overlap([part for _, part in several], roles):
            twice[several[0][1].label] = len(several)
            parts += [msgspec.structs.replace(part, label=f"{part.label}, {source}") for source, part in several]
        else:
            parts.append(_joined([part for _, part in several]))
    return _by_files(parts, twice, tables), _twice_notes(twice)


def _joined(parts: Sequence[Part]) -> Part:
    rows = [row for part in parts for row in part.rows]
    return msgspec.structs.replace(parts[0], rows=rows, places=[place for part in parts for place in part.places])


def _by_files(parts: list[Part], twice: dict[str, int], tables: Sequence[Table]) -> list[Part]:
    """Call runs by their files alone where their column is the same in every file."""
    if len(parts) != len(tables) or len(twice) != 1:
        return parts
    return [msgspec.structs.replace(part, label=part.label.partition(", ")[2]) for part in parts]


def _twice_notes(twice: dict[str, int]) -> list[str]:
    if not twice:
        return []
    named = some_of(list(twice), MOST_NAMED)
    stand = "stands" if len(twice) == 1 else "stand"
    return [
        f"{named} {stand} in several files, with values of their own, so each file has a run of it. If the files are "
        "of several recipes, type --experiment-column file."
    ]


def _overlap(parts: Sequence[Part], roles: Roles) -> bool:
    """Tell whether two files have a value for the same: they are not the parts of one run."""
    known: set[tuple[str, ...]] = set()
    for part in parts:
        keys = {key for row in part.rows for key in _keys(row, roles)}
        if not known.isdisjoint(keys):
            return True
        known |= keys
    return False


def _keys(row: Row, roles: Roles) -> list[tuple[str, ...]]:
    at = tuple(row.get(name, "") for name in (*roles.counters, roles.metric, roles.split))
    return [(name, *at) for name in row if name not in roles.taken or name == roles.value]


def _counts(rows: Sequence[Row], roles: Roles) -> str:
    """Return the column of a counter that rises from row to row; empty where none does."""
    for name in roles.counters:
        numbers = [whole(row.get(name)) for row in rows]
        known = [value for value in numbers if value is not None]
        if len(known) == len(rows) > 1 and all(one < two for one, two in pairwise(known)):
            return name
    return ""


def _label(table: Table, place: int, row: Row, roles: Roles, options: TableOptions, files: int) -> str:
    if roles.run:
        missing = next((name for name in roles.run if name not in row), None)
        if missing:
            raise NotRuns(
                f"{table.source}: row {place + 1} has no {missing!r}, so its run is not known", hint="fill it in"
            )
        label = ", ".join(_named(name, row[name]) for name in roles.run)
        return f"{label}, row {place + 1}" if options.rows == "runs" else label
    if options.rows == "runs":
        return f"{table.source} row {place + 1}" if files > 1 else f"row {place + 1}"
    return table.training or "mean of the files" if FILE in options.mean_over else table.source


def _named(column: str, word: str) -> str:
    return f"{column.rpartition('/')[2]} {word}" if number(word) is not None else word


def joined_in_turn(parts: list[Part], roles: Roles, options: TableOptions) -> tuple[list[Part], list[str]]:
    """Join files whose counter continues from one file to the next.

    Raises
    ------
    NotRuns
        If each has one row, at equal distances: they may be trainings as well.
    """
    named = {FILE, *roles.run}
    if not roles.iteration or not named.isdisjoint(options.run + options.mean_over) or roles.run or len(parts) < 2:
        return parts, []
    spans = sorted((_span(part, roles.iteration), index) for index, part in enumerate(parts))
    ordered = [parts[index] for _, index in spans]
    in_turn = (
        all(one[1] < two[0] for (one, _), (two, _) in pairwise(spans)) and len({part.group for part in parts}) == 1
    )
    names = f"{ordered[0].label} to {ordered[-1].label}"
    if in_turn and all(len(part.rows) > 1 for part in parts):
        note = f"{names} were read as one training: {roles.iteration!r} continues over the files."
        return [_joined(ordered)], [f"{note} If each is a training, type --run-column file."]
    distances = {two[0] - one[0] for (one, _), (two, _) in pairwise(spans)}
    if in_turn and len(parts) > 2 and len(distances) == 1 and all(len(part.rows) == 1 for part in parts):
        raise NotRuns(
            f"{names} have one row each, at equal distances in {roles.iteration!r}: they may be trainings, or one",
            hint="type --run-column file if each file is a training, --mean-over file if they are parts of one",
        )
    return parts, []


def _span(part: Part, counter: str) -> tuple[int, int]:
    numbers = [number for row in part.rows if (number := whole(row.get(counter))) is not None]
    return min(numbers, default=-1), max(numbers, default=-1)


def check_began_apart(tables: Sequence[Table], roles: Roles, options: TableOptions) -> None:
    """Refuse files of programs that began together: they may be the parallel parts of one training.

    Raises
    ------
    NotRuns
        With both readings.
    """
    if len(tables) < 2 or roles.run or FILE in options.mean_over:
        return
    for name in BEGAN:
        moments = [number(table.rows[0].get(name, "")) for table in tables if table.rows]
        known = [moment for moment in moments if moment is not None]
        if len(known) == len(tables) and max(known) - min(known) < TOGETHER:
            raise NotRuns(
                f"{tables[0].source} to {tables[-1].source} began together: they may be trainings, or the parallel "
                "environments of one",
                hint="type --run-column file if each file is a training, --mean-over file if they are parts of one",
            )
