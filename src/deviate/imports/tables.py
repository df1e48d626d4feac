"""From rows to runs: which rows belong to one training, and what each of them reports.

A row finds its training by a column, by its file, or by a counter that goes back.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from deviate.core.errors import BadOption, NotImportable, NotRuns, some_of
from deviate.core.shell_words import typed_word
from deviate.imports.counting import trend_notes
from deviate.imports.foreign import ForeignResults, ForeignRun, Reading
from deviate.imports.logs import is_result
from deviate.imports.repeated import (
    check_columns,
    check_names,
    check_repeated,
    check_words,
    grid_columns,
    held_columns,
    is_nameless,
    refuse_rows,
    set_columns,
    settings_of,
)
from deviate.imports.request import TableOptions
from deviate.imports.roles import (
    CHOSEN,
    CLOCKS,
    FILE,
    METRIC_PREFIX,
    NOTED,
    OWN,
    UNIX_SECONDS,
    Roles,
    columns_of,
    counted_by,
    counted_by_values,
    find_roles,
    is_counter,
    is_setting,
    is_trackers,
    may_count,
    numeric_columns,
    refuse,
    searched,
    whole,
)
from deviate.imports.rows import SUMMARIES, Row, alike, have_commas, number, seconds
from deviate.imports.trainings import (
    Part,
    Split,
    Table,
    begun_anew,
    check_began_apart,
    check_in_turn,
    parts_of,
    split_notes,
    split_trainings,
    training_label,
)
from deviate.lexicon.words import is_in_settings, meaning_of, plain, split_of, words_of

# Which columns of a table hold the values of metrics.

#: What the name of the standard error of a metric has in it, or at its end.
_ERROR = re.compile(r"_std_?err(?:or)?|_sem?$")

#: Columns that a note names.
MOST_NAMED = 6


def metric_columns(rows: list[Row], roles: Roles, wanted: Sequence[str] = ()) -> list[str]:
    """Return the columns that hold values of metrics; those that are `wanted` by name, whatever it says.

    Raises NotImportable if there is none.
    """
    if roles.value:
        return [roles.value]
    columns = columns_of(rows)
    others = [name for name in columns if name not in roles.taken]
    metrics = [name for name in columns if name in wanted or (name in others and not why_none(name, columns))]
    numeric = [name for name in metrics if any(number(row.get(name, "")) is not None for row in rows)]
    # Of a column that has both, the values with a comma would be lost without a word.
    comma = next(_decimal_commas(numeric or others, rows), None)
    if comma is not None:
        raise NotImportable(
            f"column {comma!r} holds numbers with a comma, of thousands or before decimals",
            hint="write them without one: 1234, or 1.234",
        )
    if not numeric:
        run = f"the runs are distinguished by {', '.join(roles.run)}; " if roles.run else ""
        left = next((name for name in others if any(number(row.get(name, "")) is not None for row in rows)), "")
        option = f"; --metric {typed_word(left)} takes one in" if left else ""
        lists = [name for name in others if any(row.get(name, "").startswith("[") for row in rows)]
        named = f"write a row for each item of these lists, or each list into a file: {some_of(lists, MOST_NAMED)}"
        hint = named if lists else f"{run}other columns: {', '.join(others) or 'none'}{option}"
        raise NotImportable("no column holds the values of a metric", hint=hint)
    return numeric


def _decimal_commas(columns: Iterable[str], rows: list[Row]) -> Iterator[str]:
    """Return the columns whose commas may part thousands or decimals: ``1,234``."""
    with_one = {name for row in rows for name, word in row.items() if "," in word}
    return (name for name in columns if name in with_one and have_commas([row[name] for row in rows if name in row]))


def why_none(name: str, columns: Sequence[str]) -> str:
    """Return as what a column holds no metric; empty where its name does not tell."""
    if is_counter(name):
        return "counters"
    if is_setting(name):
        return "clocks" if plain(name) in CLOCKS else "settings"
    if words_of(name)[-1:] in (("id",), ("uuid",)):
        return "ids"
    without = _ERROR.sub("", name)
    return "standard errors" if without != name and without in columns else ""


def left_out_notes(
    rows: list[Row], roles: Roles, metrics: Sequence[str], were_set: Sequence[str]
) -> Iterator[str]:  # fmt: skip
    """Say which columns of numbers are no metrics, and why."""
    columns = columns_of(rows)
    passed = {name for name in roles.counters if name not in (roles.iteration, *metrics)}
    others = [name for name in columns if name in passed or name not in roles.taken.union(metrics)]
    commas = list(_decimal_commas(others, rows))
    for name in commas:
        yield f"Column {name!r} is left out: its commas may part thousands or decimals. Write 1234, or 1.234."
    known = numeric_columns(rows)
    numeric = [name for name in others if name in known]
    texts = [name for name in others if name not in known and plain(name) not in NOTED]
    if lists := [name for name in texts if meaning_of(name) and all(row.get(name, "[")[:1] == "[" for row in rows)]:
        yield f"Left out, as their cells are lists: {some_of(lists, MOST_NAMED)}."
    if times := [name for name in texts if all(seconds(row.get(name, "0:00")) is not None for row in rows)]:
        yield f"Left out, as their cells are times: {some_of(times, MOST_NAMED)}."
    by_values = dict.fromkeys(were_set, "settings by their values")
    yield from no_metrics_note([name for name in numeric if name not in commas], columns, by_values)


def no_metrics_note(
    names: Sequence[str], columns: Sequence[str], by_values: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Say which names are none of metrics, and why; what a tool notes of its own, or calls a setting, needs no word.

    `by_values` holds the reasons of those whose values tell.
    """
    by_reason: dict[str, list[str]] = {}
    for name in names:
        is_said = plain(name) in NOTED or name.startswith(OWN) or is_in_settings(name)
        if not is_said and (reason := why_none(name, columns) or (by_values or {}).get(name, "")):
            by_reason.setdefault(reason, []).append(name)
    if by_reason:
        parts = "; ".join(f"{some_of(names, MOST_NAMED)} ({reason})" for reason, names in by_reason.items())
        first = next(iter(by_reason.values()))[0]
        yield f"No metrics: {parts}. --metric {typed_word(first)} takes one in."


#: More runs are refused: each has its folder, its record files and its line in reports.
MOST_RUNS = 2_000


def read_tables(tables: list[Table], options: TableOptions) -> ForeignResults:
    """Find the runs in tables: by a column, by the file, or by a counter that goes back.

    Raises NotRuns where rows can be read in two ways, NotImportable where no column holds values of a metric.
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
    parts = parts_of(every, roles, options, grouped=grouped)
    check_runs(len(parts))
    check_names(parts, roles, options)
    counted = counted_by_values([rows for part in parts for rows in part.by_file()], roles, options)
    roles = msgspec.structs.replace(roles, iteration=counted.column)
    is_by_clock = counted.in_order and not options.rows
    if counted.in_order:
        options = msgspec.structs.replace(options, rows="iterations")
    elif not counted.column:
        refuse_rows(parts, roles, options)
    check_in_turn(parts, roles, options)
    metrics = metric_columns(all_rows, roles, options.wanted)
    metrics, were_set = _without_set(metrics, parts, roles, options)
    if not is_by_clock:
        check_columns(metrics, roles, options)
    made = (run for part in parts for run in _runs(part, metrics, roles, options))
    runs = [msgspec.structs.replace(run, held=[*run.held, *were_set]) for run in made]
    check_runs(len(runs))
    left_out = left_out_notes(all_rows, roles, metrics, were_set)
    return ForeignResults(runs=runs, notes=[*counted.notes, *summaries, *left_out, *trend_notes(runs, roles, options)])


def _without_set(
    metrics: list[str], parts: Sequence[Part], roles: Roles, options: TableOptions
) -> tuple[list[str], list[str]]:
    """Return the metrics, and apart from them the columns that behave as what was set in runs, whatever their names."""
    if roles.value:
        return metrics, []
    free = [name for name in metrics if name not in options.wanted and is_nameless(name)]
    rows = [row for part in parts for row in part.rows]
    if len(rows) > len(parts) and (roles.iteration or options.rows == "iterations"):
        found = held_columns(free, [part.rows for part in parts])
        found += [name for name in _said_once(metrics, parts, options) if name not in found]
    else:
        found = grid_columns(free, rows)
        # Whole numbers that make the grid larger were set, whatever they are called: `time_blocks`.
        of_whole = [name for name in metrics if all(row.get(name, "").isdecimal() for row in rows)]
        crossed = grid_columns([*found, *(name for name in of_whole if name not in found)], rows) if found else []
        found += [name for name in crossed if name not in (*found, *options.wanted)]
        if len(rows) == len(parts):
            found += [name for name in set_columns(free, rows, of_tracker=is_trackers(rows)) if name not in found]
    kept = [name for name in metrics if name not in found]
    return (kept, found) if kept else (metrics, [])


def _said_once(metrics: list[str], parts: Sequence[Part], options: TableOptions) -> list[str]:
    """Return what each of several logs says once and alike, beside what differs between them."""
    cells = {name: [[row[name] for row in part.rows if name in row] for part in parts] for name in metrics}
    alike = [name for name, several in cells.items() if all(each == several[0] for each in several)]
    once = [name for name in alike if len(cells[name][0]) == 1 and name not in options.wanted]
    return once if options.in_time and len(parts) > 1 and len(alike) < len(metrics) else []


def check_runs(count: int) -> None:
    """Refuse more runs than are imported."""
    if count > MOST_RUNS:
        raise NotImportable(
            f"{count:,} runs were found; at most {MOST_RUNS:,} are imported",
            hint="take some with --set where=COLUMN=VALUE; if the rows are no trainings, name the column of the "
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
    return all(name in row and alike(row[name]) == alike(word) for name, word in options.where)


def _without_summaries(tables: list[Table], roles: Roles) -> tuple[list[Table], list[str]]:
    """Leave out the rows that summarise the others: their mean, their SD."""
    names = {word for table in tables for row in table.rows for word in _first_words(row, roles)}
    summaries = {word for word in names if word.lower().strip(" .:") in SUMMARIES}
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
        f"take one: --set {typed_word(f'where={name}={value}')}; or the mean of each run: "
        f"--set mean_over={typed_word(name)}"
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


def _runs(part: Part, metrics: list[str], roles: Roles, options: TableOptions) -> list[ForeignRun]:
    """Return the runs in the rows of one part; what is to be said of them stands in the first one's notes."""
    part = msgspec.structs.replace(part, rows=_without_standing(part.rows, roles))
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
    check_words(part.label, rows, metrics, roles, options)
    if len(rows) == 1:
        _check_searched(part, roles, options)
        _check_other_counters(part, metrics, roles, options, start)
    for each, of_training in zip(split.trainings, rows, strict=True):
        check_repeated(part.label, of_training, each, metrics, roles, options, resumed=bool(split.resumed))
    # The time in the one row of a run is that of the run; in one of several, that of a record.
    took = clocks[0] if clocks and len(part.rows) == 1 and not roles.value else None
    states = [row[roles.state] for row in part.rows if roles.state in row and not CHOSEN.match(row[roles.state])]
    run = ForeignRun(
        label=part.label, group=part.group, source=part.source, readings=[],
        seconds=took if took is not None and 0 <= took < UNIX_SECONDS else None,
        status=states[-1] if states else "",
    )  # fmt: skip
    free = [name for name in metrics if name not in options.wanted and not is_result(name)]
    still = held_columns(free, rows) if len(rows) > 1 else []
    # A whole number that is another one in each names them.
    telling = [
        name
        for name in still
        if len({each[0].get(name, ".") for each in rows if each[0].get(name, ".").isdecimal()}) == len(rows)
    ]
    labels = [
        f"{part.label}, {telling[0]} {each[0][telling[0]]}" if telling else training_label(part.label, index)
        for index, each in enumerate(rows)
    ]
    notes = list(split_notes(part.label, split, roles.iteration, " If they are one, type --set rows=iterations."))
    twice = sum(len(each) - len({(reading.metric, reading.iteration) for reading in each}) for each in split.trainings)
    if not split.resumed and twice:
        notes.append(f"Of several values at one {roles.iteration!r} the last counts: {twice:,} before it are left out.")
    return [
        msgspec.structs.replace(
            run,
            readings=[reading for reading in each if reading.metric not in still],
            label=label if len(rows) > 1 else part.label,
            settings=settings_of(of_training, [name for name in metrics if name not in still], roles),
            held=still,
            notes=[] if index else notes,
        )
        for index, (each, label, of_training) in enumerate(zip(split.trainings, labels, rows, strict=True))
    ]


def _without_standing(rows: list[Row], roles: Roles) -> list[Row]:
    """Return rows without the counter of a part of the data in which it stands still: the batches of an evaluation."""
    counted: dict[str, list[str]] = {}
    for row in rows:
        counted.setdefault(row.get(roles.split, ""), []).append(row.get(roles.iteration, ""))
    still = {part for part, words in counted.items() if len(words) > len(set(words)) == 1}
    if len(still) in (0, len(counted)):
        return rows
    return [
        {name: word for name, word in row.items() if name != roles.iteration}
        if row.get(roles.split, "") in still
        else row
        for row in rows
    ]


def _check_searched(part: Part, roles: Roles, options: TableOptions) -> None:
    """Refuse rows of one training in which a setting jumps: a search numbers its trainings."""
    name = "" if options.iteration or options.rows or not roles.iteration else searched(part.rows)
    if name:
        raise NotRuns(
            f"{part.label}: {name!r} jumps from row to row, as in a search: {roles.iteration!r} may number trainings",
            hint="type --set rows=runs if each row is a training, --set "
            f"iteration_column={typed_word(roles.iteration)} if the rows are one training",
        )


def _check_other_counters(
    part: Part, metrics: list[str], roles: Roles, options: TableOptions, start: float
) -> None:  # fmt: skip
    """Refuse rows of what counts as one training in which another counter begins again, and the values with it."""
    if not roles.iteration or options.iteration or options.rows or options.mean_over:
        return
    for name in roles.counters:
        if name == roles.iteration or not may_count(name, [part.rows], roles):
            continue
        counted = [whole(row.get(name)) for row in part.rows]
        at = [value if value is not None else -1 for value in counted]
        readings = [list(_readings(*each, metrics, roles, start)) for each in zip(part.rows, at, strict=True)]
        known = [each if value is not None else [] for each, value in zip(readings, counted, strict=True)]
        if times := begun_anew(known, [value is not None for value in counted]):
            raise NotRuns(
                f"{part.label}: {name!r} begins again {times} times and the values begin anew with it, while "
                f"{roles.iteration!r} goes on: {times + 1} trainings, or one",
                hint=f"type --set iteration_column={typed_word(name)} if a training begins there, --set "
                f"iteration_column={typed_word(roles.iteration)} if the rows are one training",
            )


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
                hint="type --set rows=iterations to count the rows in their order, and no iteration_column",
            )
        counted.append(value if value is not None else counted[-1] if counted else -1)
    stalls = any(later <= earlier for earlier, later in pairwise(counted))
    return list(range(len(counted))) if options.rows == "iterations" and stalls else counted


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


# Bring tables of known tools, and tables with runs in their columns, into the shape of one row a report.

#: Column names of the tables made here.
RUN, METRIC, VALUE, STEP = "run", "metric", "value", "step"

#: A chart of wandb, exported: a column for each run, and two more with its band.
_WANDB_COLUMN = re.compile(r"(?P<run>.+) - (?P<metric>.+?)(?P<band>__MIN|__MAX)?")

#: TensorBoard's download of one curve: ``run-NAME-tag-TAG.csv``.
_TENSORBOARD_NAME = re.compile(r"run-(?P<run>.+?)-tag-(?P<tag>.+)")
_TENSORBOARD_HEAD = {"walltime", "step", "value"}

#: A metric of one of several runs: ``acc_seed1``, ``run2/loss``.
_OF_RUN = re.compile(r"(?:(.+)[ _/.-])?((?:run|seed|trial|replicate)[ _-]?\d+)(?:[ _/.-](.+))?", re.IGNORECASE)
_OF_FOLD = re.compile(r"(?<![a-z])(?:fold|split)[ _-]?\d+(?:[ _/.-]|$)", re.IGNORECASE)
_OF_SETTING = re.compile(r"(.+?)[ _=-]((?:\d*\.)?\d+(?:e-?\d+)?)", re.IGNORECASE)
_RUN_COLUMN = re.compile(r"(?:run|seed|rep|replicate|repeat|trial)[ _-]?\d+", re.IGNORECASE)


def shaped(rows: list[Row], stem: str, runs_of: str) -> list[Row]:
    """Return the rows of a table, whose file is `stem`, in a shape that its columns explain.

    `runs_of` is the metric whose columns are runs, the column that names the metrics beside them, or empty. Raises
    BadOption where columns look like runs of an unnamed metric, NotRuns where they are epochs, folds or means.
    """
    columns = columns_of(rows)
    if {plain(name) for name in columns} == _TENSORBOARD_HEAD:
        return _tensorboard(rows, stem)
    if any(name.endswith(("__MIN", "__MAX")) for name in columns):
        _check_bands(rows, runs_of)
        return _wandb_chart(rows, [name for name in columns if not _WANDB_COLUMN.fullmatch(name)][:1])
    _check_columns(columns)
    if len({run for name in columns if (run := _run_and_metric(name)[0])}) > 1:
        return list(_by_runs(rows))
    if runs_of and runs_of not in columns:
        return _unpivoted(rows, runs_of)
    beside = [name for name in columns if name != runs_of and plain(name) not in SUMMARIES]
    numbered = beside if runs_of else [name for name in columns if _RUN_COLUMN.fullmatch(name)]
    if all(is_counter(name) or _set_in(name) for name in columns):
        numbered = [name for name in columns if not is_counter(name)]
    named = [name for name in columns if name not in numbered and plain(name) not in SUMMARIES]
    if len(numbered) > 1 and len(named) == 1 and _name_rows(named[0], rows):
        return [
            {RUN: name, METRIC: row[named[0]], VALUE: row[name]} for row in rows for name in numbered if name in row
        ]
    if len(numbered) > 1:
        raise BadOption(
            f"the columns {numbered[0]!r} to {numbered[-1]!r} look like runs",
            hint="name their metric: --set 'columns_are_runs=val acc'"
            + "".join(f", with --experiment-column {typed_word(name)}" for name in named[:1] if not is_counter(name)),
        )
    return rows


def _run_and_metric(name: str) -> tuple[str, str]:
    match = _OF_RUN.fullmatch(name)
    metric = " ".join(filter(None, (match[1], match[3]))) if match and not is_in_settings(name) else ""
    return (match[2], metric) if match and metric else ("", name)


def _by_runs(rows: list[Row]) -> Iterator[Row]:
    """Yield a row for each run of columns that have it in their names: ``acc_seed1``, ``acc_seed2``."""
    for row in rows:
        of_runs: dict[str, Row] = {}
        for name, word in row.items():
            run, metric = _run_and_metric(name)
            of_runs.setdefault(run, {})[metric] = word
        of_all = of_runs.pop("", {})
        yield from ({RUN: run, **of_all, **values} for run, values in of_runs.items())


def _name_rows(column: str, rows: list[Row]) -> bool:
    """Tell whether a column has another word in each row: the names of metrics."""
    words = [row.get(column, "") for row in rows]
    known = "metric" in plain(column) or any(meaning_of(word) is not None for word in words)
    return known and len(set(words)) == len(words) and all(number(word or "0") is None for word in words)


def _check_columns(columns: list[str]) -> None:
    """Refuse a table that has folds, epochs or examples side by side."""
    for counted in ("folds", "iterations", "test examples"):
        side_by_side = [
            name
            for name in columns
            if (re.search(r"\d$", name) and counted_by(name) == counted)
            or (counted == "folds" and _OF_FOLD.search(name) and not is_in_settings(name))
        ]
        if len(side_by_side) > 1:
            evidence = f"the columns {side_by_side[0]!r} to {side_by_side[-1]!r} are {counted}"
            if counted == "iterations":
                raise NotRuns(f"{evidence} of one training each row", hint="write a row for each epoch: seed,epoch,acc")
            head = f"seed,{'fold' if counted == 'folds' else 'example'},acc"
            option = f"--set mean_over={head.split(',')[1]}"
            raise refuse(counted, evidence, f"write a row for each of them ({head}), and type {option}")


def _unpivoted(rows: list[Row], metric: str) -> list[Row]:
    runs = [name for name in columns_of(rows) if _RUN_COLUMN.fullmatch(name)]
    # Beside columns of runs, the others are of each row: recipes, settings and what summarises the runs.
    beside = [name for name in columns_of(rows) if is_counter(name) or (len(runs) > 1 and name not in runs)]
    of_row = [name for name in beside if plain(name) not in SUMMARIES]
    return [
        {RUN: name, METRIC: metric, VALUE: word, **{key: row[key] for key in of_row if key in row}, **_set_in(name)}
        for row in rows
        for name, word in row.items()
        if name not in beside
    ]


def _set_in(name: str) -> Row:
    """Return the setting that the name of a column tells: ``lr_0.1``."""
    match = _OF_SETTING.fullmatch(name)
    return {f"config/{match[1]}": match[2]} if match and is_setting(match[1]) else {}


def _check_bands(rows: list[Row], runs_of: str) -> None:
    """Refuse a chart whose values lie between two others: means of several runs, or of several steps."""
    ends = [(row, name.removesuffix("__MIN")) for row in rows for name in row if name.endswith("__MIN")]
    within = [name for row, name in ends if row[f"{name}__MIN"] != row.get(name) != row.get(f"{name}__MAX")]
    if 2 * len(within) > len(ends) and not runs_of:
        raise NotRuns(
            "the values of the chart lie between their __MIN and __MAX: they are means of several runs, or of steps",
            hint="export the runs themselves; or type --set columns_are_runs=value if each column is one run",
        )


def _wandb_chart(rows: list[Row], axis: list[str]) -> list[Row]:
    """Return the points of a chart: its axis counts where it is of whole numbers, else the order of the points."""
    words = [row.get(name, "") for row in rows for name in axis]
    counts = bool(words) and all((number(word) or 0.5).is_integer() or number(word) == 0 for word in words)
    return [
        {RUN: match["run"], METRIC: match["metric"], VALUE: word, STEP: row[axis[0]] if counts else str(place)}
        for place, row in enumerate(rows)
        for name, word in row.items()
        if (match := _WANDB_COLUMN.fullmatch(name)) and not match["band"] and not match["metric"].startswith("_")
    ]


def _tensorboard(rows: list[Row], stem: str) -> list[Row]:
    match = _TENSORBOARD_NAME.fullmatch(stem)
    run, tag = (match["run"], match["tag"]) if match else ("", stem)
    named = {RUN: run} if run else {}
    return [{**named, METRIC: tag, **{plain(name): word for name, word in row.items()}} for row in rows]
