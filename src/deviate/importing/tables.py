"""From rows to runs: which rows belong to one training, and what each of them reports."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import msgspec

from deviate.analyse.naming.words import split_of
from deviate.errors import NotImportable, NotRuns
from deviate.importing.columns import METRIC_PREFIX, comma_notes, metric_columns
from deviate.importing.foreign import ForeignResults, ForeignRun, Reading
from deviate.importing.request import TableOptions
from deviate.importing.roles import Roles, find_roles
from deviate.importing.rows import Row, number
from deviate.importing.unit import ITERATIONS, plain, refuse, trend
from deviate.shell_words import typed_word

#: Unix seconds begin here for our purpose (2001): a clock reading this large is no duration.
UNIX_SECONDS = 1e9

#: More runs are refused: each has its folder, its record files and its line in reports.
MOST_RUNS = 2_000


class Table(msgspec.Struct, frozen=True):
    """The rows of one file."""

    source: str
    rows: list[Row]


def read_tables(tables: list[Table], options: TableOptions) -> ForeignResults:
    """Find the runs in tables: one for each value of the run's column, or one for each file.

    Raises
    ------
    NotRuns
        If what would be counted as runs are epochs, folds or test examples, or could be.
    NotImportable
        If nothing is left, or an iteration is no whole number.
    """
    every = [Table(table.source, _chosen(table.rows, options)) for table in tables]
    all_rows = [row for table in every for row in table.rows]
    roles = find_roles(all_rows, options)
    _check_counted(every, roles)
    grouped = _is_grouping(every, roles, options)
    parts: dict[tuple[str, str], list[Row]] = {}
    for table in every:
        _check_rows_identified(table, roles, options)
        for row_number, row in enumerate(table.rows, 1):
            group = row.get(roles.group, "") if grouped else ""
            parts.setdefault((group, _label(table, row_number, row, roles, options, len(every))), []).append(row)
    check_runs(len(parts))
    metrics, notes = metric_columns(all_rows, roles), list(comma_notes(all_rows, roles))
    runs = [_run(label, group, rows, metrics, roles, options) for (group, label), rows in parts.items()]
    return ForeignResults(runs=runs, notes=[*notes, *_unused(every, roles, parts, grouped), *_trends(runs, options)])


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


def _chosen(rows: list[Row], options: TableOptions) -> list[Row]:
    chosen = [row for row in rows if all(_equal(row.get(name), word) for name, word in options.where)]
    if not chosen and rows:
        named = " and ".join(f"{name}={word}" for name, word in options.where)
        raise NotImportable(f"no row has {named}", hint="look at the values of that column")
    return chosen


def _equal(word: str | None, wanted: str) -> bool:
    return word == wanted or (word is not None and number(word) is not None and number(word) == number(wanted))


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


def _check_rows_identified(table: Table, roles: Roles, options: TableOptions) -> None:
    """Make sure that a column or an option says what the rows of a table are.

    Raises
    ------
    NotRuns
        If they may be runs or parts of one.
    """
    if roles.run or options.rows or roles.iteration or len(table.rows) < 2:
        return
    parts = {tuple(row.get(name, "") for name in options.mean_over) for row in table.rows}
    if options.mean_over and len(parts) == len(table.rows):
        return
    raise NotRuns(
        f"the {len(table.rows)} rows of {table.source} may be runs, or the epochs, folds or test examples of one run",
        hint="name the column of the run or seed with --run-column, or type --rows runs or --rows iterations; if a "
        "column names the recipe, such as model or method, add --experiment-column COLUMN",
    )


def _label(table: Table, row_number: int, row: Row, roles: Roles, options: TableOptions, files: int) -> str:
    """Return what the source calls the run that `row` belongs to.

    Raises
    ------
    NotRuns
        If the row lacks the run, or its table counts iterations although rows shall be runs.
    """
    if roles.run:
        missing = next((name for name in roles.run if name not in row), None)
        if missing:
            raise NotRuns(
                f"{table.source}: row {row_number} has no {missing!r}, so its run is not known", hint="fill it in"
            )
        return ", ".join(_named(name, row[name]) for name in roles.run)
    if options.rows == "runs":
        if roles.iteration:
            raise refuse("iterations", f"{table.source} has a column {roles.iteration!r}, so its rows are no runs")
        return f"{table.source} row {row_number}" if files > 1 else f"row {row_number}"
    return table.source


def _named(column: str, word: str) -> str:
    return f"{column} {word}" if number(word) is not None else word


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


def _run(
    label: str, group: str, rows: list[Row], metrics: list[str], roles: Roles, options: TableOptions
) -> ForeignRun:
    start = min((clock for row in rows if (clock := _clock(row, roles)) is not None), default=0.0)
    start = start if start > UNIX_SECONDS else 0.0
    readings = [
        reading for index, row in enumerate(rows) for reading in _readings(row, index, metrics, roles, start, options)
    ]
    if options.mean_over:
        readings = _averaged(readings)
    else:
        _check_repeated(label, rows, readings, metrics, roles, options)
    states = [row[roles.state] for row in rows if roles.state in row]
    # The time in the one row of a run is that of the run; in one of several, that of a record.
    took = _clock(rows[0], roles) if len(rows) == 1 and not roles.value else None
    seconds = took if took is not None and 0 <= took < UNIX_SECONDS else None
    return ForeignRun(label=label, group=group, readings=readings, seconds=seconds, status=states[-1] if states else "")


def _clock(row: Row, roles: Roles) -> float | None:
    return number(row.get(roles.time, "")) if roles.time else None


def _readings(
    row: Row, index: int, metrics: list[str], roles: Roles, start: float, options: TableOptions
) -> Iterator[Reading]:
    clock = _clock(row, roles)
    elapsed = math.nan if clock is None else clock - start
    iteration = _iteration(row, index, roles, options)
    for column in metrics:
        value = number(row[column]) if column in row else None
        if value is not None:
            yield Reading(_metric_name(column, row, roles), iteration, value, elapsed)


def _iteration(row: Row, index: int, roles: Roles, options: TableOptions) -> int:
    if not roles.iteration:
        return index if options.rows == "iterations" else -1
    counted = number(row.get(roles.iteration, ""))
    if counted is None or not counted.is_integer():
        raise NotImportable(
            f"column {roles.iteration!r} counts iterations and holds {row.get(roles.iteration, 'nothing')!r}",
            hint="name a column of whole numbers: --iteration-column step",
        )
    return int(counted)


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


def _check_repeated(
    label: str, rows: list[Row], readings: list[Reading], metrics: list[str], roles: Roles, options: TableOptions
) -> None:
    """Refuse a run with several values of one metric at one iteration: nothing shows which one counts."""
    times = Counter((reading.metric, reading.iteration) for reading in readings)
    (metric, iteration), most = times.most_common(1)[0] if times else (("", 0), 0)
    if most < 2:
        return
    if not roles.iteration and options.rows != "iterations":
        raise NotRuns(
            f"{label} has {most} values of {metric!r}: these may be epochs, folds, test examples or several recipes",
            hint="type --iteration-column COLUMN, --mean-over COLUMN, --experiment-column COLUMN, --where COLUMN=VALUE "
            "or --rows iterations",
        )
    for name, word in _mixed(rows, roles):
        raise NotRuns(
            f"{label} has several values of column {name!r} at one iteration, so its rows are of several trainings",
            hint=f"type --experiment-column {typed_word(name)}, or take one: --where {typed_word(f'{name}={word}')}",
        )
    if options.in_time or _is_counted_finer(rows, roles):
        return
    raise NotRuns(
        f"{label} has {most} values of {metric!r} at {roles.iteration} {iteration}: its rows may be of several "
        "trainings, or of parts of an iteration",
        hint=_both_readings(rows, metrics, roles),
    )


def _is_counted_finer(rows: list[Row], roles: Roles) -> bool:
    """Whether another column counts within the iterations: the steps of an epoch."""
    finer = {name for row in rows for name in row if plain(name) in ITERATIONS and name != roles.iteration}
    return any(_tells_apart(name, rows, roles) for name in finer)


def _tells_apart(name: str, rows: list[Row], roles: Roles) -> bool:
    """Whether no two rows of one iteration have the same in a column; those of other metrics may."""
    cells = [(row.get(roles.iteration), row.get(roles.metric), row.get(name)) for row in rows if name in row]
    return len(set(cells)) == len(cells) == len(rows)


def _both_readings(rows: list[Row], metrics: list[str], roles: Roles) -> str:
    """Say what to type if the rows of an iteration are trainings, and if they are parts of one."""
    names = dict.fromkeys(name for row in rows for name in row if name not in roles.taken.union(metrics))
    telling = next((name for name in names if _tells_apart(name, rows, roles)), None)
    if telling is None:
        return (
            "keep one row of each run and iteration; or add a column that tells the rows apart, and type --run-column "
            "COLUMN if it names trainings, --mean-over COLUMN if it counts parts of an iteration"
        )
    runs = " ".join(f"--run-column {typed_word(name)}" for name in (*roles.run, telling))
    column = typed_word(telling)
    return f"type {runs} if {telling!r} names trainings, --mean-over {column} if it counts parts of an iteration"


def _mixed(rows: list[Row], roles: Roles) -> Iterator[tuple[str, str]]:
    """Yield the columns of words that differ within one iteration, each with its first word."""
    names = dict.fromkeys(name for row in rows for name in row if name not in roles.taken - {roles.group})
    for name in names:
        words = {(row.get(roles.iteration), row[name]) for row in rows if name in row}
        if len(words) > len({iteration for iteration, _ in words}) and all(number(word) is None for _, word in words):
            yield name, next(row[name] for row in rows if name in row)


def _unused(tables: list[Table], roles: Roles, parts: dict[tuple[str, str], list[Row]], grouped: bool) -> Iterator[str]:
    """Say which columns of words differ between runs: they may be settings, and the runs not identical."""
    used = roles.taken if grouped else roles.taken - {roles.group}
    names = dict.fromkeys(name for table in tables for row in table.rows for name in row if name not in used)
    for name in names:
        words = {row[name] for rows in parts.values() for row in rows[:1] if name in row}
        if 1 < len(words) < len(parts) and all(number(word) is None for word in words):
            examples = ", ".join(sorted(words)[:3])
            yield (
                f"Column {name!r} differs between runs ({examples}): if it is a setting, these are no identical runs; "
                f"--experiment-column {typed_word(name)} makes an experiment of each."
            )


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
