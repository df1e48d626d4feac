"""The role of each column of a table."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from deviate.analyse.naming.words import split_of
from deviate.errors import BadOption
from deviate.importing.request import TableOptions
from deviate.importing.rows import Row, number
from deviate.importing.unit import EXAMPLES, FOLDS, ITERATIONS, check_run_column, plain

RUNS = ("run", "runid", "runname", "seed", "randomseed", "rngseed", "replicate", "replication", "repetition", "repeat",
        "rep")  # fmt: skip
#: Where there is none of these: how exports of trackers call a run.
NAMES = ("name", "id")
LONG = (("metric", "value"), ("tag", "value"), ("key", "value"), ("variable", "value"), ("metricname", "value"))
#: Seconds since the start, by names that say so. A column called ``time`` may be anything.
TIMES = ("elapseds", "elapsed", "elapsedtime", "elapsedseconds", "runtime", "relativetime", "walltime")
SPLITS = ("split", "phase", "subset", "mode", "stage")
STATES = ("state", "status")
GROUPS = ("experiment", "experimentname", "group", "arm", "variant", "method", "algorithm", "algo", "model", "setting",
          "config")  # fmt: skip


class Roles(msgspec.Struct, frozen=True, kw_only=True):
    """Names of columns by what they are for; empty where there is none."""

    run: tuple[str, ...] = ()
    iteration: str = ""
    metric: str = ""
    value: str = ""
    time: str = ""
    #: Holds train, val, test: makes ``acc`` to ``val acc``.
    split: str = ""
    state: str = ""
    #: Columns whose values may each be an experiment; only the user says so for sure.
    group: str = ""
    #: Columns of folds and of test examples.
    folds: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    #: Columns that the user averages over, or takes the rows of one value of.
    settled: tuple[str, ...] = ()

    @property
    def taken(self) -> set[str]:
        """All columns that are no metric."""
        single = (self.iteration, self.metric, self.value, self.time, self.split, self.state, self.group)
        return {name for name in (*single, *self.run, *self.folds, *self.examples, *self.settled) if name}


def find_roles(rows: list[Row], options: TableOptions) -> Roles:
    """Find the role of each column, from the options and from the columns' names.

    Raises
    ------
    BadOption
        If a column that an option names is not there.
    NotRuns
        If the column that shall tell the runs apart counts something else.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    for name in options.run:
        check_run_column(name)
    single = (options.iteration, options.metric, options.value, options.time, options.experiment)
    listed = (*options.run, *options.mean_over, *(name for name, _ in options.where))
    for name in (*filter(None, single), *listed):
        if name not in columns:
            raise BadOption(f"there is no column {name!r}", hint=f"columns: {', '.join(columns)}")
    metric, value = _long(columns, options)
    _check_run(options.run, metric, value, columns)
    return Roles(
        run=options.run or _runs(rows, columns),
        iteration=options.iteration or _first_of(columns, ITERATIONS),
        metric=metric,
        value=value,
        time=options.time or _first_of(columns, TIMES),
        split=_split(rows, columns),
        state=_first_of(_texts(rows, columns), STATES),
        group=options.experiment or _first_of(_texts(rows, columns), GROUPS),
        folds=_counting(columns, FOLDS, options),
        examples=_counting(columns, EXAMPLES, options),
        settled=(*options.mean_over, *(name for name, _ in options.where)),
    )


def _check_run(run: tuple[str, ...], metric: str, value: str, columns: list[str]) -> None:
    """Refuse the columns of a long table that name the metric and hold its value."""
    for name, holds in ((metric, "the names of the metrics"), (value, "the values of the metrics")):
        if name and name in run:
            others = [column for column in columns if column not in (metric, value)]
            raise BadOption(
                f"--run-column {name!r}: this column of a long table holds {holds}",
                hint=f"name the column that tells the runs apart, one of: {', '.join(others)}",
            )


def _first_of(columns: Iterable[str], words: tuple[str, ...]) -> str:
    named = {plain(name): name for name in reversed(list(columns))}
    return next((named[word] for word in words if word in named), "")


def _counting(columns: list[str], words: tuple[str, ...], options: TableOptions) -> tuple[str, ...]:
    settled = {*options.mean_over, *(name for name, _ in options.where), *options.run}
    return tuple(name for name in columns if plain(name) in words and name not in settled)


def _runs(rows: list[Row], columns: list[str]) -> tuple[str, ...]:
    """Return the column that identifies the runs; where names and seeds do not go one with one, both."""
    columns_of_runs = [name for word in RUNS for name in columns if plain(name) == word]
    if len(columns_of_runs) < 2:
        return tuple(columns_of_runs) or tuple(filter(None, [_first_of(columns, NAMES)]))
    together = {tuple(row.get(name, "") for name in columns_of_runs) for row in rows}
    alone = {row.get(columns_of_runs[0], "") for row in rows}
    return (columns_of_runs[0],) if len(alone) == len(together) else tuple(columns_of_runs)


def _long(columns: list[str], options: TableOptions) -> tuple[str, str]:
    if options.metric or options.value:
        if not (options.metric and options.value):
            raise BadOption(
                "a long table has a column of names and a column of values",
                hint="type both --metric-column and --value-column",
            )
        return options.metric, options.value
    named = {plain(name): name for name in columns}
    return next(
        ((named[first], named[second]) for first, second in LONG if first in named and second in named), ("", "")
    )


def _texts(rows: list[Row], columns: list[str]) -> list[str]:
    return [name for name in columns if all(number(row[name]) is None for row in rows if name in row)]


def _split(rows: list[Row], columns: list[str]) -> str:
    for name in _texts(rows, columns):
        words = {row[name] for row in rows if name in row}
        if plain(name) in SPLITS and words and all(split_of(word) for word in words):
            return name
    return ""
