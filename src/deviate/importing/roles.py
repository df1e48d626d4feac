"""The role of each column of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from deviate.analyse.naming.words import is_in_settings, is_schedule, is_settings_name, split_of
from deviate.errors import BadOption
from deviate.importing.request import TableOptions
from deviate.importing.rows import Row, is_name, number
from deviate.importing.unit import EXAMPLES, FOLDS, check_run_column, is_counter, own_name, plain

#: Columns that tell the runs apart, without case and punctuation.
_RUN = re.compile(
    r"(?:random|rng|torch|np|numpy|global|manual|train)?(?:seed|run|trial|rep|replicate|replication|repetition|repeat)s?"
    r"(?:id|uuid|name|idx|index|no|nr|num|number)?|randomstate|uuid"
)
#: Where there is none of these: how exports of trackers call a run.
NAMES = ("name", "id")
#: A column that holds the name of each row's file; options may name it though no file has it.
FILE = "file"
#: Names of settings that `analyse.words` leaves to the text around them.
SETTINGS = frozenset({
    "lr", "learningrate", "batchsize", "bs", "weightdecay", "l2", "momentum", "dropout", "dropoutrate", "dropoutp",
    "hidden", "hiddensize", "hiddendim", "embeddim", "dmodel", "width", "depth", "layers", "nlayers", "numlayers",
    "nheads", "numheads", "nunits", "kernelsize", "optimizer", "patience", "gradclip", "gamma", "temperature",
})  # fmt: skip
#: Moments and times that no name tells the unit of, and what else tools note.
CLOCKS = frozenset({"time", "t", "timestamp", "starttime", "endtime", "created"})
NOTED = frozenset({"experimentid", "user", "host", "seed", "index", "unnamed0"})
#: Prefixes of MLflow's exported tables: what is a metric, and what is not.
METRIC_PREFIX, OTHER_PREFIXES = "metrics.", ("params.", "tags.", "params_")
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
    #: Columns that count, by their names, the iterations or something else.
    counters: tuple[str, ...] = ()
    #: Columns of folds and of test examples.
    folds: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    #: Columns that the user averages over, or takes the rows of one value of.
    settled: tuple[str, ...] = ()

    @property
    def taken(self) -> set[str]:
        """All columns that are no metric."""
        single = (
            self.iteration,
            *self.counters,
            self.metric,
            self.value,
            self.time,
            self.split,
            self.state,
            self.group,
        )
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
    columns = columns_of(rows)
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
        iteration=options.iteration,
        counters=tuple(
            name for name in columns if is_counter(name) and not is_in_settings(name) and name not in listed
        ),
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
    named = sorted((name for name in columns if is_run_name(name)), key=_order)
    own = _first_of(columns, NAMES)
    if own and _first_of(columns, STATES) and _is_list_of_runs(own, named, rows):
        return (own,)
    if len(named) < 2:
        return tuple(named) or tuple(filter(None, [own]))
    together = {tuple(row.get(name, "") for name in named) for row in rows}
    return next(((name,) for name in named if len({row.get(name, "") for row in rows}) == len(together)), tuple(named))


def _is_list_of_runs(own: str, named: list[str], rows: list[Row]) -> bool:
    """Tell whether each row has a name of its own, which a seed or a number of a run is not: a tracker's list."""
    words = [row.get(own, "") for row in rows]
    numbered = {row.get(named[0], "") for row in rows} if named else set()
    return all(map(is_name, words)) and len(set(words)) == len(rows) > len(numbered) > 0


def _order(name: str) -> bool:
    """Put names of runs before seeds."""
    return "seed" in plain(name) or "state" in plain(name)


def is_run_name(name: str) -> bool:
    """Tell by its name whether a column tells runs apart.

    Examples
    --------
    >>> [is_run_name(name) for name in ("seed", "Run ID", "args/seed", "trial_number", "running_loss")]
    [True, True, True, True, False]
    """
    return _RUN.fullmatch(plain(own_name(name))) is not None


def is_setting(name: str) -> bool:
    """Tell by its name whether a column holds what was set, or what a tool notes of its own, and no result."""
    if name.startswith(METRIC_PREFIX):
        return False
    # Short forms in capitals (EOD) are results as well as settings, so the case tells nothing.
    is_named = (
        plain(name) in SETTINGS | CLOCKS | NOTED
        or is_schedule(name)
        or is_settings_name(name.lower())
        or is_in_settings(name)
    )
    return is_named or name.startswith((*OTHER_PREFIXES, "_"))


def columns_of(rows: Iterable[Row]) -> list[str]:
    """Return the names of columns, in their order."""
    return list(dict.fromkeys(name for row in rows for name in row))


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
