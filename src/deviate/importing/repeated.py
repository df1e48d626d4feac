"""Rows that may be of several trainings, or of parts of one: refused with each reading, and what to type for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from deviate.analyse.naming.words import meaning_of
from deviate.errors import NotRuns
from deviate.importing.foreign import Reading
from deviate.importing.parts import Part
from deviate.importing.request import TableOptions
from deviate.importing.roles import Roles, columns_of, is_setting
from deviate.importing.rows import Row, is_name, number
from deviate.shell_words import typed_word

#: Columns that a hint names.
MOST_COLUMNS = 2

#: A longer word is no name of a recipe, but content.
LONGEST_NAME = 100


def refuse_rows(parts: Sequence[Part], roles: Roles, options: TableOptions) -> None:
    """Make sure that a column or an option says what the rows are.

    Raises
    ------
    NotRuns
        If they may be runs or parts of one.
    """
    part = next((part for part in parts if not _is_a_row_each(part, roles, options)), None)
    if part is None or options.rows or roles.run:
        return
    rows = f"the {len(part.rows)} rows of {part.label}"
    raise NotRuns(
        f"{rows} may be runs, or the epochs, folds, test examples or recipes of one",
        hint=f"type {'; '.join(_readings(part.rows, roles))}",
    )


def _is_a_row_each(part: Part, roles: Roles, options: TableOptions) -> bool:
    """Tell whether each row is of another metric, or of another of the parts that are averaged."""
    keys = [tuple(row.get(name) for name in (roles.metric, roles.split, *options.mean_over)) for row in part.rows]
    return len(set(keys)) == len(keys)


def _readings(rows: Sequence[Row], roles: Roles) -> Iterator[str]:
    """Yield what to type for each thing that rows may be."""
    for name in list(_telling(rows, roles))[:MOST_COLUMNS]:
        column = typed_word(name)
        if all(number(row[name]) is not None for row in rows if name in row):
            yield f"--run-column {column} if {name!r} names trainings"
        else:
            word = next(row[name] for row in rows if name in row)
            yield f"--experiment-column {column} if {name!r} names recipes or data sets"
            yield f"--where {typed_word(f'{name}={word}')} for one of them"
    yield "--rows runs if each row is a training"
    yield "--rows iterations if they follow one another in one training"


def _telling(rows: Sequence[Row], roles: Roles) -> Iterator[str]:
    """Yield the columns that may identify rows: columns of words, and of whole numbers that differ from row to row."""
    for name in columns_of(rows):
        words = [row[name] for row in rows if name in row]
        free = name not in roles.taken - {roles.group} and not is_setting(name) and meaning_of(name) is None
        numbers = [number(word) for word in words]
        if not free or len(set(words)) < 2 or max(map(len, words)) > LONGEST_NAME:
            continue
        if all(map(is_name, words)) or (len(set(words)) == len(rows) and _are_numbered(numbers)):
            yield name


def _are_numbered(values: Sequence[float | None]) -> bool:
    """Tell whether values are whole numbers at equal distances, in any order."""
    known = sorted(value for value in values if value is not None and value.is_integer())
    return len(known) == len(values) and len({later - earlier for earlier, later in pairwise(known)}) == 1


def check_one_recipe(label: str, trainings: Sequence[Sequence[Row]], metrics: Sequence[str], roles: Roles) -> None:
    """Refuse trainings that a column of words tells apart: it may name their recipes.

    Raises
    ------
    NotRuns
        With the option that names the column.
    """
    rows = [row for each in trainings for row in each]
    for name in columns_of(rows):
        if name in roles.taken.union(metrics) - {roles.group}:
            continue
        words = [{row[name] for row in each if name in row} for each in trainings]
        if all(len(each) == 1 for each in words) and len(set.union(*words)) > 1:
            word = min(words[0])
            if is_name(word):
                raise _several_recipes(label, name, word)


def telling_column(trainings: Sequence[Sequence[Row]], metrics: Sequence[str]) -> str:
    """Return the column of whole numbers that is another one in each training, and the same in all of its rows."""
    for name in metrics:
        words = [{row.get(name, "") for row in each} for each in trainings]
        numbers = [number(min(each)) for each in words if len(each) == 1]
        is_other = len(numbers) == len(trainings) == len(set(numbers)) and _are_numbered(numbers)
        if is_other and meaning_of(name) is None:
            return name
    return ""


def _several_recipes(label: str, name: str, word: str) -> NotRuns:
    return NotRuns(
        f"{label} has several values of column {name!r} at one iteration, so its rows are of several trainings",
        hint=f"type --experiment-column {typed_word(name)} if {name!r} names recipes, --run-column {typed_word(name)} "
        f"if it names trainings, or take one: --where {typed_word(f'{name}={word}')}",
    )


def check_repeated(
    part: Part, readings: Sequence[Reading], metrics: Sequence[str], roles: Roles, options: TableOptions, *,
    resumed: bool,
) -> None:  # fmt: skip
    """Refuse a run with several values of one metric at one iteration: nothing shows which one counts.

    Raises
    ------
    NotRuns
        With the readings that are possible.
    """
    # One value that stands twice is no second one.
    known = {(reading.metric, reading.iteration, reading.value) for reading in readings}
    times = Counter((metric, iteration) for metric, iteration, _ in known)
    (metric, iteration), most = times.most_common(1)[0] if times else (("", 0), 0)
    if most < 2 or resumed or options.in_time or options.rows == "iterations":
        return
    if not roles.iteration:
        raise NotRuns(
            f"{part.label} has {most} values of {metric!r}: these may be epochs, folds, test examples or several "
            "recipes",
            hint=f"type {'; '.join(_readings(part.rows, roles))}",
        )
    for name, word in _mixed(part.rows, roles):
        raise _several_recipes(part.label, name, word)
    if _is_counted_finer(part.rows, roles):
        return
    raise NotRuns(
        f"{part.label} has {most} values of {metric!r} at {roles.iteration} {iteration}: its rows may be of several "
        "trainings, or of parts of an iteration",
        hint=_both_readings(part.rows, metrics, roles),
    )


def _is_counted_finer(rows: Sequence[Row], roles: Roles) -> bool:
    """Whether another column counts within the iterations: the steps of an epoch."""
    return any(_tells_apart(name, rows, roles) for name in roles.counters if name != roles.iteration)


def _tells_apart(name: str, rows: Sequence[Row], roles: Roles) -> bool:
    """Whether no two rows of one iteration have the same in a column; those of other metrics may."""
    cells = [(row.get(roles.iteration), row.get(roles.metric), row.get(name)) for row in rows if name in row]
    return len(set(cells)) == len(cells) == len(rows)


def _both_readings(rows: Sequence[Row], metrics: Sequence[str], roles: Roles) -> str:
    """Say what to type if the rows of an iteration are trainings, and if they are parts of one."""
    names = [name for name in columns_of(rows) if name not in roles.taken.union(metrics)]
    telling = next((name for name in names if _tells_apart(name, rows, roles)), None)
    if telling is None:
        is_one = len({row.get(roles.iteration) for row in rows}) == 1 and not roles.run
        each = "--rows runs if each row is a training; " if is_one else ""
        return (
            f"type {each}--rows iterations if the rows follow one another in one training; or add a column that "
            "tells them apart, and type --run-column with its name if they are trainings, --mean-over if parts of an "
            "iteration"
        )
    runs = " ".join(f"--run-column {typed_word(name)}" for name in (*roles.run, telling))
    column = typed_word(telling)
    return f"type {runs} if {telling!r} names trainings, --mean-over {column} if it counts parts of an iteration"


def _mixed(rows: Sequence[Row], roles: Roles) -> Iterator[tuple[str, str]]:
    """Yield the columns of words that differ within one iteration, each with its first word."""
    for name in columns_of(rows):
        if name in roles.taken - {roles.group}:
            continue
        words = {(row.get(roles.iteration), row[name]) for row in rows if name in row}
        if len(words) > len({iteration for iteration, _ in words}) and all(is_name(word) for _, word in words):
            yield name, next(row[name] for row in rows if name in row)
