"""From rows to runs: which rows belong to one training, and what each of them reports.

A row finds its training by a column, by its file, or by a counter that goes back.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from deviate.analyse.naming.words import split_of
from deviate.errors import NotImportable
from deviate.importing.columns import left_out_notes, metric_columns
from deviate.importing.foreign import ForeignResults, ForeignRun, Reading
from deviate.importing.iterations import counted_by_values, whole
from deviate.importing.parts import Part, Table, check_began_apart, joined_in_turn, parts_of
from deviate.importing.repeated import check_one_recipe, check_repeated, refuse_rows, telling_column
from deviate.importing.request import TableOptions
from deviate.importing.roles import FILE, METRIC_PREFIX, Roles, find_roles
from deviate.importing.rows import Row, number, seconds
from deviate.importing.settings import settings_of
from deviate.importing.trainings import Split, split_notes, split_trainings, training_label
from deviate.importing.unit import refuse, trend
from deviate.shell_words import typed_word

#: Unix seconds begin here for our purpose (2001): a clock reading this large is no duration.
UNIX_SECONDS = 1e9

#: More runs are refused: each has its folder, its record files and its line in reports.
MOST_RUNS = 2_000

#: Resumed or divided runs that notes describe; the others are counted.
MOST_SAID = 5

#: Rows of these names summarise the others.
_SUMMARIES = frozenset(
    {"mean", "average", "avg", "std", "sd", "stddev", "sem", "median", "min", "max", "mean ± std", "mean±std", "±",
     "var", "variance", "ci", "overall"}
)  # fmt: skip


def read_tables(tables: list[Table], options: TableOptions) -> ForeignResults:
    """Find the runs in tables: by a column, by the file, or by a counter that goes back.

    Raises
    ------
    NotRuns
        If what would be counted as runs are epochs, folds or test examples, or could be.
    NotImportable
        If nothing is left, or an iteration is no whole number.
    """
    every = [
        msgspec.structs.replace(table, rows=_chosen(table.rows, options)) for table in _with_files(tables, options)
    ]
    roles = find_roles([row for table in every for row in table.rows], options)
    every, summaries = _without_summaries(every, roles)
    all_rows = [row for table in every for row in table.rows]
    _check_counted(every, roles)
    check_began_apart(every, roles, options)
    grouped = _is_grouping(every, roles, options)
    parts, notes = parts_of(every, roles, options, grouped=grouped)
    check_runs(len(parts))
    counted = counted_by_values([rows for part in parts for rows in part.by_file()], roles, options)
    roles = msgspec.structs.replace(roles, iteration=counted.column)
    if counted.in_order:
        options = msgspec.structs.replace(options, rows="iterations")
    elif not counted.column:
        refuse_rows(parts, roles, options)
    parts, in_turn = joined_in_turn(parts, roles, options)
    notes += in_turn
    metrics = metric_columns(all_rows, roles, options.wanted)
    made = [_runs(part, metrics, roles, options) for part in parts]
    runs = [run for several, _ in made for run in several]
    check_runs(len(runs))
    said = [note for _, each in made for note in each]
    notes += [*said[:MOST_SAID], *([f"So it is in {len(said) - MOST_SAID} more."] if len(said) > MOST_SAID else [])]
    left_out = left_out_notes(all_rows, roles, metrics)
    return ForeignResults(runs=runs, notes=[*counted.notes, *summaries, *notes, *left_out, *_trends(runs, options)])


def check_runs(count: int) -> None:
    """Refuse more runs than are imported.

    Raises
    ------
    NotImportable
        With both numbers.
    """
    if count > MOST_RUNS:
        raise NotImportable(
            f"{count:,} runs were found; at most {MOST_RUNS:,} are imported",
            hint="take some of them with --where COLUMN=VALUE; if the rows are no trainings, name the column of the "
            "run with --run-column",
        )


def _with_files(tables: list[Table], options: TableOptions) -> list[Table]:
    """Give each row the name of its file, where an option names that."""
    named = {*options.run, *options.mean_over, options.experiment, *(name for name, _ in options.where)}
    if FILE not in named or any(FILE in row for table in tables for row in table.rows):
        return tables
    return [
        msgspec.structs.replace(table, rows=[{FILE: table.source, **row} for row in table.rows]) for table in tables
    ]


def _chosen(rows: list[Row], options: TableOptions) -> list[Row]:
    chosen = [row for row in rows if chosen_by(row, options)]
    if not chosen and rows:
        named = " and ".join(f"{name}={word}" for name, word in options.where)
        raise NotImportable(f"no row has {named}", hint="look at the values of that column")
    return chosen


def chosen_by(row: Row, options: TableOptions) -> bool:
    """Tell whether a row is one of those that options take."""
    return all(_equal(row.get(name), word) for name, word in options.where)


def _equal(word: str | None, wanted: str) -> bool:
    return word == wanted or (word is not None and number(word) is not None and number(word) == number(wanted))


def _without_summaries(tables: list[Table], roles: Roles) -> tuple[list[Table], list[str]]:
    """Leave out the rows that summarise the others: their mean, their SD."""
    names = {word for table in tables for row in table.rows for word in _first_words(row, roles)}
    summaries = {word for word in names if word.lower().strip(" .:") in _SUMMARIES}
    if not summaries or summaries == names:
        return tables, []
    kept = [
        msgspec.structs.replace(
            table, rows=[row for row in table.rows if summaries.isdisjoint(_first_words(row, roles))]
        )
        for table in tables
    ]
    return kept, [f"Rows that summarise the others are left out: {', '.join(sorted(summaries))}."]


def _first_words(row: Row, roles: Roles) -> list[str]:
    names = [*roles.run, *roles.folds, *list(row)[:1]]
    return [row[name] for name in names if name in row and name not in (roles.metric, roles.value)]


def _check_counted(tables: list[Table], roles: Roles) -> None:
    """Refuse tables with a row for each fold or test example, unless an option says what to do with them."""
    for counted, names in (("folds", roles.folds), ("test examples", roles.examples)):
        for name in names:
            values = {row[name] for table in tables for row in table.rows if name in row}
            if len(values) > 1:
                evidence = f"column {name!r} counts {counted}, {len(values)} of them"
                raise refuse(counted, evidence, _remedy(name, min(values), roles))


def _remedy(name: str, value: str, roles: Roles) -> str:
    option = (
        f"take one: --where {typed_word(f'{name}={value}')}; or the mean of each run: --mean-over {typed_word(name)}"
    )
    return option if roles.run else f"{option} (each file is one run, because no column identifies runs)"


def _is_grouping(tables: list[Table], roles: Roles, options: TableOptions) -> bool:
    """Tell whether each group is an experiment: an option says so, or each group has several runs."""
    if options.experiment:
        return True
    if not roles.group or not roles.run:
        return False
    rows = [row for table in tables for row in table.rows]
    pairs = {(row.get(roles.group, ""), *(row.get(name, "") for name in roles.run)) for row in rows}
    groups = Counter(pair[0] for pair in pairs)
    return len(groups) > 1 and min(groups.values()) > 1


def _runs(part: Part, metrics: list[str], roles: Roles, options: TableOptions) -> tuple[list[ForeignRun], list[str]]:
    """Return the runs in the rows of one part, and what is to be said of them."""
    clocks = [clock for row in part.rows if (clock := _clock(row, roles)) is not None]
    start = min(clocks, default=0.0)
    start = start if start > UNIX_SECONDS else 0.0
    iterations = _iterations(part, roles, options)
    readings = [
        list(_readings(row, iteration, metrics, roles, start))
        for row, iteration in zip(part.rows, iterations, strict=True)
    ]
    split = _split(part, readings, roles, options)
    rows = [part.rows[start:end] for start, end in pairwise([*split.starts, len(part.rows)])]
    if len(rows) > 1:
        check_one_recipe(part.label, rows, metrics, roles)
    for each in split.trainings:
        check_repeated(part, each, metrics, roles, options, resumed=bool(split.resumed))
    # The time in the one row of a run is that of the run; in one of several, that of a record.
    took = clocks[0] if clocks and len(part.rows) == 1 and not roles.value else None
    states = [row[roles.state] for row in part.rows if roles.state in row]
    run = ForeignRun(
        label=part.label, group=part.group, readings=[],
        seconds=took if took is not None and 0 <= took < UNIX_SECONDS else None,
        status=states[-1] if states else "",
    )  # fmt: skip
    telling = telling_column(rows, metrics) if len(rows) > 1 else ""
    labels = [_training(part.label, index, each[0].get(telling), telling) for index, each in enumerate(rows)]
    return [
        msgspec.structs.replace(
            run,
            readings=[reading for reading in each if reading.metric != telling],
            label=label if len(rows) > 1 else part.label,
            settings=settings_of(of_training, metrics, roles),
        )
        for each, label, of_training in zip(split.trainings, labels, rows, strict=True)
    ], list(split_notes(part.label, split, roles.iteration, " If they are one, type --rows iterations."))


def _training(label: str, index: int, word: str | None, telling: str) -> str:
    return f"{label}, {telling} {word}" if telling else training_label(label, index)


def _split(part: Part, readings: list[list[Reading]], roles: Roles, options: TableOptions) -> Split:
    every = [reading for row in readings for reading in row]
    if options.mean_over:
        return Split([_averaged(every)], [0], [])
    if not roles.iteration or options.rows == "iterations":
        return Split([every], [0], [])
    counted = [roles.iteration in row for row in part.rows]
    return split_trainings(readings, counted, part.label, roles.iteration, begins_anew=bool(options.iteration))


def _clock(row: Row, roles: Roles) -> float | None:
    return seconds(row.get(roles.time, "")) if roles.time else None


def _iterations(part: Part, roles: Roles, options: TableOptions) -> list[int]:
    """Return the iteration of each row; one that does not tell has that of the row before."""
    if not roles.iteration:
        return part.places if options.rows == "iterations" else [-1] * len(part.rows)
    counted: list[int] = []
    for row in part.rows:
        word = row.get(roles.iteration)
        value = whole(word)
        if value is None and word is not None:
            raise NotImportable(
                f"column {roles.iteration!r} counts iterations and holds {word!r}",
                hint="leave --iteration-column away, or type --rows iterations to count the rows in their order",
            )
        counted.append(value if value is not None else counted[-1] if counted else -1)
    return list(range(len(counted))) if options.rows == "iterations" and _stalls(counted) else counted


def _stalls(counted: Sequence[int]) -> bool:
    return any(later <= earlier for earlier, later in pairwise(counted))


def _readings(row: Row, iteration: int, metrics: list[str], roles: Roles, start: float) -> Iterator[Reading]:
    clock = _clock(row, roles)
    elapsed = math.nan if clock is None else clock - start
    for column in metrics:
        value = number(row[column]) if column in row else None
        if value is not None:
            yield Reading(_metric_name(column, row, roles), iteration, value, elapsed)


def _metric_name(column: str, row: Row, roles: Roles) -> str:
    name = row.get(roles.metric, column) if roles.value else column.removeprefix(METRIC_PREFIX)
    part = row.get(roles.split, "") if roles.split else ""
    return f"{part} {name}" if part and not split_of(name) else name


def _averaged(readings: list[Reading]) -> list[Reading]:
    together: dict[tuple[str, int], list[Reading]] = {}
    for reading in readings:
        together.setdefault((reading.metric, reading.iteration), []).append(reading)
    return [
        Reading(name, iteration, math.fsum(reading.value for reading in several) / len(several), several[-1].elapsed_s)
        for (name, iteration), several in together.items()
    ]


def _trends(runs: list[ForeignRun], options: TableOptions) -> Iterator[str]:
    """Say where the rows that were called runs look like the epochs of one."""
    if options.rows != "runs":
        return
    names = dict.fromkeys(reading.metric for run in runs for reading in run.readings)
    for name in names:
        values = [reading.value for run in runs for reading in run.readings if reading.metric == name]
        slope = trend([value for value in values if math.isfinite(value)])
        if slope is not None:
            yield (
                f"{name} goes {'up' if slope > 0 else 'down'} from row to row (Spearman {slope:.2f}), as it does over "
                "the epochs of one training. If that is what the rows are, they are no runs, and the intervals below "
                "mean nothing."
            )
