"""Rows that may be of several trainings: refused with each reading, and what to type; settings of runs."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from textwrap import shorten

from deviate.core.errors import NotRuns, some_of
from deviate.core.shell_words import typed_word
from deviate.imports.foreign import ForeignRun, Reading
from deviate.imports.named import without_stamps
from deviate.imports.request import TableOptions
from deviate.imports.roles import (
    FILE,
    NUMBER,
    SETTINGS,
    UNIX_SECONDS,
    Roles,
    columns_of,
    is_amount,
    is_run_name,
    is_setting,
    numeric_columns,
)
from deviate.imports.rows import ABSENT, Row, alike, is_moment, is_name, number
from deviate.imports.trainings import LONGEST_NAME, Part, each_or_one, naming_column
from deviate.lexicon.words import is_in_settings, meaning_of, plain, split_of, words_of

#: Columns that a hint names.
MOST_COLUMNS = 3


def refuse_rows(parts: Sequence[Part], roles: Roles, options: TableOptions) -> None:
    """Refuse rows (NotRuns) where neither a column nor an option says what they are."""
    part = next((part for part in parts if not _is_a_row_each(part, roles, options)), None)
    if part is None or options.rows or roles.run:
        return
    rows = f"the {len(part.rows)} rows of {part.label}"
    raise NotRuns(
        f"{rows} may be runs, or the epochs, folds, test examples or recipes of one",
        hint=f"{_type(options)} {'; '.join(_readings(part.rows, roles, options))}",
    )


def _is_a_row_each(part: Part, roles: Roles, options: TableOptions) -> bool:
    """Tell whether each row is of another metric, or of another of the parts that are averaged."""
    keys = [tuple(row.get(name) for name in (roles.metric, roles.split, *options.mean_over)) for row in part.rows]
    return len(set(keys)) == len(keys)


def _readings(rows: Sequence[Row], roles: Roles, options: TableOptions) -> Iterator[str]:
    """Yield what to type for each thing that rows may be, beside what was typed."""
    grid = _grid(rows, roles)
    naming = naming_column(rows, roles)
    if naming and not options.experiment:
        yield f"--run-column {typed_word(naming)} if {naming!r} names trainings"
        beside = numeric_columns(rows)
        if 1 < len(beside) == len(columns_of(rows)) - 1 and any(meaning_of(row[naming]) for row in rows):
            yield f"--set {typed_word(f'columns_are_runs={naming}')} if it names metrics, and each other column a run"
    of_experiment = options.experiment
    for name in list(_telling(rows, roles, grid))[:MOST_COLUMNS]:
        word = next(row[name] for row in rows if name in row)
        is_set = is_in_settings(name) or name in grid
        if not is_in_settings(name) and all(number(row[name]) is not None for row in rows if name in row):
            if not is_set and plain(name) != NUMBER:
                yield f"--set iteration_column={typed_word(name)} if {name!r} counts iterations"
            runs = " ".join(f"--run-column {typed_word(each)}" for each in (*roles.run, name))
            yield f"{runs} if {name!r} names trainings"
            if not is_set and (plain(name) != NUMBER or of_experiment):
                continue
            is_set = True
        # One column makes experiments; of the others one value is taken.
        if not of_experiment:
            of_experiment = name
            what = "was set" if is_set else "names recipes or data sets"
            yield f"--experiment-column {typed_word(name)} if {name!r} {what}"
        yield f"--set {typed_word(f'where={name}={word}')} for one of them"
    yield "--set rows=runs if each row is a training"
    yield "--set rows=iterations if they follow one another in one training"


def _type(options: TableOptions) -> str:
    return "also type" if options.experiment or options.where or options.run or options.mean_over else "type"


def _grid(rows: Sequence[Row], roles: Roles) -> list[str]:
    free = [name for name in columns_of(rows) if name not in roles.taken and not is_run_name(name)]
    numeric = [name for name in free if all(number(row[name]) is not None for row in rows if name in row)]
    return grid_columns([name for name in numeric if is_setting(name) or is_nameless(name)], rows)


def _telling(rows: Sequence[Row], roles: Roles, grid: Sequence[str]) -> Iterator[str]:
    """Yield the columns that may identify rows: of words, of whole numbers that differ in each row, and of settings."""
    for name in columns_of(rows):
        words = [row[name] for row in rows if name in row]
        is_set = (is_in_settings(name) and not is_run_name(name)) or name in grid
        free = name not in roles.taken - {roles.group} and (is_set or is_setting(name) or meaning_of(name) is None)
        if not free or len(set(words)) < 2 or max(map(len, words)) > LONGEST_NAME:
            continue
        numbers = [] if is_setting(name) else [number(word) for word in words]
        is_numbered = len(set(words)) == len(rows) and (_are_numbered(numbers) or plain(name) == NUMBER)
        if is_set or is_numbered or all(map(is_name, words)):
            yield name


def _are_numbered(values: Sequence[float | None]) -> bool:
    """Tell whether values are whole numbers at equal distances, in any order."""
    known = sorted(value for value in values if value is not None and value.is_integer())
    return len(known) == len(values) and len({later - earlier for earlier, later in pairwise(known)}) == 1


def check_names(parts: Sequence[Part], roles: Roles, options: TableOptions) -> None:
    """Refuse a list of runs, a row each, in which some have several rows of one name."""
    several = [part.label for part in parts if not _is_a_row_each(part, roles, options)]
    column = roles.run[0] if len(roles.run) == 1 and is_run_name(roles.run[0]) and not options.run else ""
    labels = {row[column] for part in parts for row in part.rows if column in row}
    words = [word for word in labels if number(word) is None]
    if 0 < 2 * len(words) < len(labels):
        raise NotRuns(
            f"{column!r} is {some_of(words, MOST_COLUMNS)} among numbers: a run, or what sums up the others",
            hint=f"remove these rows, or type --run-column {typed_word(column)} if each is a training",
        )
    if roles.run and several and 2 * len(several) < len(parts) and not (options.run or options.rows or roles.value):
        named = " ".join(f"--run-column {typed_word(name)}" for name in roles.run)
        raise NotRuns(
            f"{some_of(several, MOST_COLUMNS)} {'has' if len(several) == 1 else 'have'} several rows, and the other "
            f"{len(parts) - len(several)} runs one each: runs of one name, or the rows of one",
            hint=f"{_type(options)} --set rows=runs if each row is a training, {named} if those of one name are of one",
        )


def check_words(
    label: str, trainings: Sequence[Sequence[Row]], metrics: Sequence[str], roles: Roles, options: TableOptions
) -> None:
    """Refuse trainings that a column of words tells apart, and rows of one in which other words were set.

    A counter may tell how long each of several trainings took, or number them.
    """
    rows = [row for each in trainings for row in each]
    differing: list[str] = []
    for name in columns_of(rows):
        words = [{row[name] for row in each if name in row} for each in trainings]
        every = set().union(*words)
        are_results = meaning_of(name) is not None and all(word.startswith("[") for word in every)
        is_free = name not in roles.taken.union(metrics) - {roles.group} and len(every) > 1 and not are_results
        if is_free and len(trainings) > 1 and all(len(each) == 1 for each in words) and is_name(min(words[0])):
            raise _several_recipes(label, name, min(words[0]), options)
        if is_free and all(is_name(row.get(name, "")) for row in rows) and not _is_own(name, list(words[0])):
            differing.append(name)
    is_said = options.iteration or options.rows or options.mean_over or roles.value
    if len(trainings) > 1 or is_said or not (roles.iteration and (roles.run or roles.group)):
        return
    counted = [number(row.get(roles.iteration, "")) or 0 for row in rows]
    is_a_word_each = len(rows) >= FEWEST_HELD and len({tuple(map(row.get, differing)) for row in rows}) == len(rows)
    goes_on = all(one < two for one, two in pairwise(counted))
    for name in differing:
        is_set = name == roles.group or plain(name) in SETTINGS or is_in_settings(name)
        if is_set or (roles.run and is_a_word_each and not goes_on):
            raise NotRuns(
                f"{label} has rows of several {name!r}: they may be of several trainings, or of one",
                hint=f"{_type(options)} --experiment-column {typed_word(name)} if {name!r} was set, --run-column "
                f"{typed_word(name)} if it names trainings, --set iteration_column={typed_word(roles.iteration)} if "
                "the rows are one training",
            )


def _several_recipes(label: str, name: str, word: str, options: TableOptions, value: str = "") -> NotRuns:
    recipes = "" if options.experiment else f"--experiment-column {typed_word(name)} if {name!r} names recipes, "
    if value:
        recipes += (
            f"--set metric_column={typed_word(name)} --set value_column={typed_word(value)} if it is of metrics, "
        )
    return NotRuns(
        f"{label} has several values of column {name!r} at one iteration, so its rows are of several trainings",
        hint=f"{_type(options)} {recipes}--run-column {typed_word(name)} if {'it' if recipes else repr(name)} "
        f"names trainings, or take one: --set {typed_word(f'where={name}={word}')}",
    )


def check_repeated(
    label: str, rows: Sequence[Row], readings: Sequence[Reading], metrics: Sequence[str], roles: Roles,
    options: TableOptions, *, resumed: bool,
) -> None:  # fmt: skip
    """Refuse a run with several values of one metric at one iteration: nothing shows which one counts."""
    # One value that stands twice is no second one.
    known = dict.fromkeys((reading.metric, reading.iteration, reading.value) for reading in readings)
    times = Counter((metric, iteration) for metric, iteration, _ in known)
    (metric, iteration), most = times.most_common(1)[0] if times else (("", 0), 0)
    if most < 2 or resumed or options.in_time or options.rows == "iterations":
        return
    last = {reading.metric: reading.iteration for reading in readings}
    at_end = all(count < 2 or (count == 2 and at == last[name]) for (name, at), count in times.items())
    if at_end and len(times) >= FEWEST_IN_GRID * len(last):
        # An evaluation of the end.
        return
    if not roles.iteration:
        raise NotRuns(
            f"{label} has {most} values of {metric!r}: these may be epochs, folds, test examples or several recipes",
            hint=f"{_type(options)} {'; '.join(_readings(rows, roles, options))}",
        )
    for name, word in _mixed(rows, roles):
        value = next((each for each in metrics if plain(each) == "value"), "")
        raise _several_recipes(label, name, word, options, value)
    if _is_counted_finer(rows, metrics, roles):
        return
    raise NotRuns(
        f"{label} has {most} values of {metric!r} at {roles.iteration} {iteration}: its rows may be of several "
        "trainings, or of parts of an iteration",
        hint=_both_readings(rows, metrics, roles),
    )


def _is_counted_finer(rows: Sequence[Row], metrics: Sequence[str], roles: Roles) -> bool:
    """Whether another column counts within the iterations: the steps of an epoch, in the rows of each metric."""
    finer = [name for name in roles.counters if name != roles.iteration and any(name in row for row in rows)]
    return any(
        all(_tells_apart(name, [row for row in rows if metric in row], roles, in_all=False) for metric in metrics)
        for name in finer
    )


def _tells_apart(name: str, rows: Sequence[Row], roles: Roles, *, in_all: bool = True) -> bool:
    """Whether no two rows of one iteration have the same in a column; those of other metrics may."""
    known = [row for row in rows if name in row] if in_all else rows
    cells = {(row.get(roles.iteration), row.get(roles.metric), row.get(name)) for row in known}
    return len(cells) == len(rows)


def _both_readings(rows: Sequence[Row], metrics: Sequence[str], roles: Roles) -> str:
    """Say what to type if the rows of an iteration are trainings, and if they are parts of one."""
    names = [name for name in columns_of(rows) if name not in roles.taken.union(metrics)]
    telling = next((name for name in names if _tells_apart(name, rows, roles)), None)
    if telling is None:
        is_one = len({row.get(roles.iteration) for row in rows}) == 1 and not roles.run
        each = "--set rows=runs if each row is a training; " if is_one else ""
        return (
            f"type {each}--set rows=iterations if the rows follow one another in one training; or add a column that "
            "tells them apart, and type --run-column with its name if they are trainings, --set mean_over with it if "
            "parts of an iteration"
        )
    runs = " ".join(f"--run-column {typed_word(name)}" for name in (*roles.run, telling))
    column = typed_word(telling)
    return f"type {runs} if {telling!r} names trainings, --set mean_over={column} if it counts parts of an iteration"


def _mixed(rows: Sequence[Row], roles: Roles) -> Iterator[tuple[str, str]]:
    """Yield the columns of words that differ within one iteration, each with its first word."""
    for name in columns_of(rows):
        if name in roles.taken - {roles.group}:
            continue
        words = {(row.get(roles.iteration), row[name]) for row in rows if name in row}
        if len(words) > len({iteration for iteration, _ in words}) and all(is_name(word) for _, word in words):
            yield name, next(row[name] for row in rows if name in row)


def check_columns(metrics: Sequence[str], roles: Roles, options: TableOptions) -> None:
    """Refuse counted columns without a metric's name: each may be a training."""
    are_known = any(meaning_of(name) or split_of(name) or name in options.wanted for name in metrics)
    is_counted = roles.iteration or options.rows == "iterations"
    if are_known or len(metrics) < 2 or not is_counted or options.in_time:
        return
    raise NotRuns(
        f"none of the columns {some_of([repr(name) for name in metrics], MOST_COLUMNS)} has the name of a metric: each "
        "may be a training, or a metric of one",
        hint="type --set columns_are_runs=value if each is a training, with the name of what it holds in the place of "
        f"value; {' '.join(f'--metric {typed_word(name)}' for name in metrics[:MOST_COLUMNS])} if they are metrics",
    )


# Columns that behave as settings, whatever they are called.

#: Fewest rows in a run that show that a column holds still, and fewest rows that show that values are of a grid.
FEWEST_HELD, FEWEST_IN_GRID = 3, 6


def is_nameless(name: str) -> bool:
    """Tell whether the name of a column leaves open whether it is a metric."""
    meaning = meaning_of(name)
    return meaning is None or (meaning.direction is None and meaning.kind == "quality")


def held_columns(names: Sequence[str], trainings: Sequence[Sequence[Row]]) -> list[str]:
    """Return the columns that hold still in each of several trainings, and not over them."""
    held = []
    for name in names:
        words = [[alike(row[name]) for row in rows if name in row] for rows in trainings]
        is_still = all(len(each) >= FEWEST_HELD and len(set(each)) == 1 for each in words)
        if is_still and len({each[0] for each in words}) > 1:
            held.append(name)
    return held


def grid_columns(names: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Return the columns of a grid: few values of each, and every row or an equal number of rows for each of all pairs.

    One column alone is none unless each of its values comes three times, one value after the other or all in turn.
    """
    values = {name: [alike(row[name]) for row in rows] for name in names if all(name in row for row in rows)}
    times = {name: Counter(words) for name, words in values.items()}
    few = [
        name for name, count in times.items()
        if len(rows) >= FEWEST_IN_GRID and 1 < len(count) < len(rows) and len(set(count.values())) == 1
    ]  # fmt: skip
    alone = [name for name in few if min(times[name].values()) > 2 and _is_in_turn(values[name], len(times[name]))]
    crossed = [
        name for name in few
        if any(_is_product(values[name], values[other]) for other in few if other != name)
    ]  # fmt: skip
    return [name for name in few if name in alone or name in crossed]


#: Digits of a number that was chosen by hand.
MOST_DIGITS = 2

#: Words of counts that come out of a training.
_REACHED = frozenset({"epoch", "ran", "step", "iteration", "best", "final", "stopped"})


def set_columns(names: Sequence[str], rows: Sequence[Row], *, of_tracker: bool) -> list[str]:
    """Return the columns that hold what was set where each row is a run.

    Few round values stand before the first known metric, each in several runs, or whole numbers some of which come
    again; or numbers among words. In a tracker's list any whole numbers are of a setting.
    """
    found: list[str] = []
    is_before = True
    for name in columns_of(rows):
        is_before = is_before and (name in names or meaning_of(name) is None or is_setting(name))
        values = [number(row[name]) for row in rows if name in row] if name in names else []
        known = [value for value in values if value is not None and math.isfinite(value)]
        # Words among numbers are no values: `variant` of 16, 32, char, bpe.
        found += [name] if known and values.count(None) > 1 else []
        if not known or len(known) < len(values) or len(set(known)) < 2:
            continue
        are_whole = all(value.is_integer() for value in known)
        most = len(rows) - 1 if are_whole else len(rows) // 2
        fewest = FEWEST_HELD if are_whole else FEWEST_IN_GRID
        is_few = is_before and len(rows) >= fewest and len(set(known)) <= most
        are_round = are_whole or all(float(f"{value:.{MOST_DIGITS}g}") == value for value in known)
        if ((is_few and are_round) or (of_tracker and are_whole)) and _REACHED.isdisjoint(words_of(name)):
            found.append(name)
    return found


def _is_in_turn(words: Sequence[str | float], count: int) -> bool:
    """Tell whether values come in blocks, each value in one, or all of them again and again in one order."""
    blocks = 1 + sum(one != two for one, two in pairwise(words))
    return blocks == count or all(word == words[index % count] for index, word in enumerate(words))


def _is_product(one: Sequence[str | float], other: Sequence[str | float]) -> bool:
    """Tell whether each pair of values comes equally often."""
    times = Counter(zip(one, other, strict=True))
    return len(set(times.values())) == 1 and len(times) == len(set(one)) * len(set(other))


# What was set in each run, as far as its source tells, and what is to be said where that differs.

#: Last words of names of what is another in each run, whatever was set, and words of what it ran on.
_OWN = frozenset({
    "seed", "id", "uuid", "date", "time", "times", "started", "ended", "created", "updated", "timestamp", "runtime",
    "device",
})  # fmt: skip
_MACHINE = frozenset({"host", "hostname", "port", "gpu", "user"})
#: Last words of names of what is called otherwise in each run: what differs there but by numbers tells recipes.
_CALLED = frozenset({
    "name", "names", "dir", "directory", "path", "file", "files", "folder", "output", "out", "log", "logs",
    "notes", "tags", "version", "commit", "url", "exp",
})  # fmt: skip
#: What is drawn, or made of all that a run has: `9f86d081`.
_HASH = re.compile(r"(?=.*[a-f])(?=.*\d)[\da-f]{6,}", re.IGNORECASE)

#: In the place of what some runs tell and others do not.
UNSAID = "not said"

#: Settings, and values of each, that a note names.
MOST_SETTINGS, MOST_VALUES = 6, 4


def settings_of(rows: Sequence[Row], metrics: Sequence[str], roles: Roles) -> dict[str, str]:
    """Return what may be settings: columns with one value in all rows of a run, but known metrics."""
    amounts = {name for name in roles.counters if is_amount(name) and name != roles.iteration}
    used = (roles.taken - {roles.group} - amounts).union(name for name in metrics if meaning_of(name) is not None)
    found: dict[str, str] = {}
    for name in columns_of(rows):
        words = {row[name] for row in rows if name in row} if name not in used else set()
        if len(words) == 1:
            found[name] = words.pop()
    return found


def setting_notes(runs: Sequence[ForeignRun], *, split: bool) -> Iterator[str]:
    """Say which settings differ between the runs of one experiment, which is one of a `split` by a column, or not."""
    differing = differing_settings(runs)
    if differing:
        settings = {tuple(alike(run.settings.get(name, "")) for name in differing) for run in runs}
        shown = {
            name: [shorten(value, LONGEST_NAME, placeholder=" …") for value in each] for name, each in differing.items()
        }
        parts = [f"{name!r} ({some_of(values, MOST_VALUES)})" for name, values in shown.items()]
        first = next((name for name, values in differing.items() if UNSAID not in values), next(iter(differing)))
        # What was taken for a metric, or is not told, may have been set as well.
        more = "at least " if len(settings) < len(runs) else ""
        one = typed_word(f"where={first}={next(iter(differing[first]))}")
        remedy = (
            f"--set {one} takes one"
            if split
            else f"--experiment-column {typed_word(first)} makes an experiment of each"
        )
        yield (
            f"{some_of(parts, MOST_SETTINGS)} {'differs' if len(differing) == 1 else 'differ'} between runs: if that "
            f"was set, these are {more}{len(settings)} settings in {len(runs)} runs, which are no identical runs. "
            f"{remedy}."
        )
    # What stands behind a name of its own is the file alone.
    if stems := recipes_in([run.label.removesuffix(f", {run.source}") for run in runs if run.readings]):
        yield (
            f"The names of the runs show {len(stems)} recipes ({some_of(stems, MOST_VALUES)}): if they are, these are "
            "no identical runs. Import one after the other."
        )


def check_recipes(runs: Sequence[ForeignRun], options: TableOptions) -> None:
    """Refuse runs of files whose names tell recipes, unless options say what tells runs or experiments apart."""
    files = list(dict.fromkeys(run.source for run in runs if run.readings))
    of_groups: dict[str, list[str]] = {}
    for run in runs:
        of_groups.setdefault(run.group, []).append(run.source)
    recipes = [] if options.run or options.experiment or not all(files) else recipes_in(files)
    if recipes and any(len(set(each)) > 1 for each in of_groups.values()):
        one = [file for file in files if recipes_in([files[0], file]) == []]
        alone = f", or name the files of one recipe: {some_of([typed_word(file) for file in one], MOST_VALUES)}"
        raise NotRuns(
            f"the names of the files show {len(recipes)} recipes ({some_of(recipes, MOST_VALUES)}): repeats of one "
            "training, or several trainings",
            hint="type --experiment-column file if each file is of its own, --run-column file if all are repeats"
            + (alone if len(one) > 1 else ""),
        )


def check_whole(runs: Sequence[ForeignRun], options: TableOptions) -> None:
    """Refuse files where one holds all of another, and more."""
    known = _a_file_each(runs, options)
    cells = {
        source: {(each.metric, each.iteration, each.value) for each in run.readings} for source, run in known.items()
    }
    whole = sorted(known, key=lambda source: len(cells[source]))
    begin: dict[tuple[str, int, float], list[str]] = {}
    for source in whole:
        begin.setdefault(min(cells[source]), []).append(source)
    for several in begin.values():
        within = [one for one, two in pairwise(several) if len(cells[one]) >= FEWEST_HELD and cells[one] < cells[two]]
        if within:
            rest = [typed_word(source) for source in known if source not in within]
            raise NotRuns(
                f"every value of {within[0]} is in another file, which has more: an earlier state of one training, or "
                "a training that did not vary up to there",
                hint=f"name whole trainings alone: {some_of(rest, MOST_VALUES)}, or type --run-column file if all are",
            )


def check_apart(runs: Sequence[ForeignRun], options: TableOptions) -> None:
    """Refuse files that share no metric."""
    known = _a_file_each(runs, options)
    names = [{reading.metric for reading in run.readings} for run in known.values()]
    one = next((source for source, own in zip(known, names, strict=True) if own.isdisjoint(names[0])), None)
    if one is not None:
        raise NotRuns(
            f"{next(iter(known))} and {one} have no metric in common: parts of one training, or several trainings",
            hint=each_or_one(FILE),
        )


def _a_file_each(runs: Sequence[ForeignRun], options: TableOptions) -> dict[str, ForeignRun]:
    """Return the runs with values by their files; none where several are of one, or options say what they are."""
    several = [run for run in runs if run.readings]
    known = {run.source: run for run in several if run.source}
    is_said = options.run or options.experiment or options.mean_over
    return known if not is_said and len(known) == len(several) else {}


def assumed(runs: Sequence[ForeignRun]) -> str:
    """Return what several runs were taken for without a proof.

    Empty where something tells that they are no repeats, or their names that they differ by a seed.
    """
    known = [run for run in runs if run.readings]
    if len(known) < 2 or next(setting_notes(runs, split=False), None) is not None:
        return ""
    ends = sorted({max(reading.iteration for reading in run.readings) for run in known})
    if len(ends) == 1 and all(_SEEDED.match(run.label) for run in known):
        return ""
    though = f", though they end at iterations {ends[0]} to {ends[-1]}" if len(ends) > 1 else ""
    what = "none of their settings differs" if any(run.settings for run in known) else "no settings of theirs are known"
    labels = some_of([run.label for run in known], MOST_VALUES)
    sort = "number" if any(map(str.isdigit, "".join(run.label for run in known))) else "letter"
    drawn = " and drawn words" if any(_DRAWN.search(run.label) for run in known) else ""
    return (
        f"Taken for repeats of one recipe{though}: {what}, and their names differ by {sort}s{drawn} alone ({labels}). "
        f"If such a {sort} was set, they are no repeats."
    )


def differing_settings(runs: Sequence[ForeignRun]) -> dict[str, list[str]]:
    """Return the settings that differ between runs, each with its values."""
    recorded = {reading.metric for run in runs for reading in run.readings}
    names = dict.fromkeys(name for run in runs for name in run.settings)
    found = {name: values for name in names if len(values := _values(name, runs, recorded)) > 1}
    return dict(sorted(found.items(), key=lambda each: UNSAID in each[1]))


def _written(name: str, runs: Sequence[ForeignRun]) -> list[str]:
    """Return the words of a setting in each run with values, those of one value all alike."""
    words = [run.settings.get(name, "") for run in runs if name in run.settings or run.readings]
    # What is said to be nothing is as good as not said.
    unsaid = next((word for word in words if word and word.lower() in ABSENT), UNSAID)
    written = [unsaid if word.lower() in ABSENT else word for word in words]
    first = {alike(word): word for word in reversed(written)}
    return [first[alike(word)] for word in written]


def _is_own(name: str, words: Sequence[str]) -> bool:
    """Tell whether what a name holds is another in each run, whatever was set."""
    numbers = [number(word) for word in words]
    are_moments = any(map(is_moment, words)) or all(value is not None and value > UNIX_SECONDS for value in numbers)
    of = words_of(name) or [""]
    are_hashes = len(set(words)) == len(words) and all(map(_HASH.fullmatch, words))
    if is_run_name(name) or are_moments or are_hashes or of[-1] in _OWN or not _MACHINE.isdisjoint(of):
        return True
    return of[-1] in _CALLED and len({_words_in(word) for word in words}) == 1


def _values(name: str, runs: Sequence[ForeignRun], recorded: Collection[str]) -> list[str]:
    """Return the values that make a setting; none where they are another in each run for another reason."""
    words = _written(name, runs)
    times = Counter(words)
    told = [word for word in words if word != UNSAID]
    are_names = all(is_name(word) and len(word) <= LONGEST_NAME for word in told)
    values = [number(word) for word in told]
    is_reached = name in recorded and not _REACHED.isdisjoint(words_of(name))
    is_result = meaning_of(name) is not None and any(word.startswith("[") for word in told)
    if (
        len(times) < 2
        or is_reached
        or is_result
        or _is_own(name, told)
        or (plain(name) == NUMBER and _are_numbered(values))
    ):
        return []
    if is_setting(name) or any(name in run.held for run in runs) or are_names:
        return list(times)
    if _are_chosen([value for value in values if value is not None]) and None not in values:
        return list(times)
    is_of_result = name in recorded and any(value is not None for value in values)
    shared = min(times.values(), default=0) > 1 if is_of_result else len(times) < len(words)
    return list(times) if shared and len(told) == len(words) else []


def _are_chosen(values: Sequence[float]) -> bool:
    """Tell whether numbers look chosen by hand: powers of two, or three and more at equal distances."""
    if all(value > 1 and math.log2(value).is_integer() for value in values):
        return True
    steps = {round(later - earlier, 9) for earlier, later in pairwise(sorted(set(values)))}
    return len(set(values)) > 2 and len(steps) == 1


def recipes_in(labels: Sequence[str]) -> list[str]:
    """Return the recipes that names tell: their words without numbers and moments, where these differ."""
    names = list(dict.fromkeys(map(_words_in, labels)))
    same = {word for word in names[0] if all(word in name for name in names)} if names else set()
    return [" ".join(word for word in name if word not in same) or "none" for name in names] if len(names) > 1 else []


#: What runs are called that differ by their seeds.
_SEEDED = re.compile(r"seed \d+$")

#: Names that wandb and MLflow draw for runs, and ids.
_DRAWN = re.compile(r"(?<![a-z])[a-z]+-[a-z]+-\d+(?!\w)|\b(?=[a-z\d]*[a-z])(?=[a-z\d]*\d)[a-z\d]{8,}\b")

#: Words of any run, and of moments; a letter alone numbers.
_OF_A_RUN = re.compile(
    r"\w?|seed|run|row|trial|train(?:ing)?|version|exp(?:eriment)?|job|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec",
    re.IGNORECASE,
)


def _words_in(label: str) -> tuple[str, ...]:
    text = _DRAWN.sub("@", without_stamps(label))
    parts = (part.strip("0123456789") for part in re.split(r"[\W_]+", text))
    return tuple(part.lower() for part in parts if not _OF_A_RUN.fullmatch(part))
