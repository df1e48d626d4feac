"""The role of each column of a table: what counts iterations, what tells runs apart, what is measured."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import msgspec
import scipy

from deviate.core.errors import BadOption, NotImportable, NotRuns, some_of
from deviate.imports.request import TableOptions
from deviate.imports.rows import Row, is_name, number, seconds
from deviate.lexicon.words import is_in_settings, is_schedule, is_settings_name, plain, split_of

# The unit is the run: what may stand for one, and what may not.
#
# Epochs, folds and test examples of one training are not independent trainings. Counted as runs they make an interval
# that is far too narrow, of another quantity.

#: Words that count what a training has done, and words that may stand beside them in the name of a counter.
_COUNTED = frozenset({
    "epoch", "epochs", "ep", "iteration", "iterations", "iter", "iters", "itr", "itrs", "it", "step", "steps",
    "timestep", "timesteps", "globalstep", "trainstep", "totaltimesteps", "update", "updates", "round",
    "rounds", "batch", "batches", "minibatch", "minibatches", "episode", "episodes", "tick", "ticks", "kimg",
    "nimg", "frame", "frames", "interacts", "interactions", "generation", "generations",
})  # fmt: skip
_BESIDE = frozenset({
    "global", "trainer", "train", "training", "trained", "total", "num", "n", "nb", "no", "number", "of", "env",
    "environment", "agent", "learner", "current", "cur", "id", "idx", "index", "count", "counter", "so", "far",
    "grad", "gradient", "opt", "optimizer", "sampled", "this", "outer", "inner", "main", "communication", "the",
    "i",
})  # fmt: skip
#: Words that say how many.
_AMOUNTS = frozenset({"num", "n", "nb", "number", "total", "count"})
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

#: Names of columns, without case and punctuation, by what they count.
FOLDS = ("fold", "folds", "foldid", "kfold", "cvfold", "cv", "cvsplit")
EXAMPLES = ("example", "exampleid", "sample", "sampleid", "image", "imageid", "instance", "instanceid", "testexample",
            "question", "questionid", "patient", "subject")  # fmt: skip

_WHY = {
    "iterations": "the epochs or steps of one training are one run: each begins where the one before ended",
    "folds": "folds share their training data, and each is another data set: they are not identical runs",
    "test examples": "test examples tell how one model does on data; how much trainings differ they cannot tell",
}

#: Rank correlation of values with their order beyond which rows look like the epochs of one training, and the fewest
#: rows with which this can be seen.
TREND, FEWEST_FOR_TREND = 0.9, 8


def own_name(name: str) -> str:
    """Return a name without the groups that it is in: ``seed`` of ``args/seed``."""
    return re.split(r"[/.:]", name)[-1]


@lru_cache(maxsize=20_000)
def is_counter(name: str) -> bool:
    """Tell by its name whether a column counts what a training has done.

    >>> [is_counter(name) for name in ("epoch", "trainer/global_step", "TotalEnvInteracts", "epoch_id", "Step")]
    [True, True, True, True, True]
    >>> [is_counter(name) for name in ("step_time", "loss_step", "batch_size", "it/s", "time")]
    [False, False, False, False, False]
    """
    last = own_name(name.removeprefix("_"))
    words = {word.lower() for word in _PART.findall(last)}
    return plain(last) == "timestep" or (not words.isdisjoint(_COUNTED) and words <= _COUNTED | _BESIDE)


def is_amount(name: str) -> bool:
    """Tell by its name whether a counter may be how many there shall be.

    >>> [is_amount(name) for name in ("num_epochs", "epochs", "n_steps", "epoch", "global_step")]
    [True, True, True, False, False]
    """
    words = {word.lower() for word in _PART.findall(own_name(name))}
    return any(word in _COUNTED and word.endswith("s") for word in words) or not words.isdisjoint(_AMOUNTS)


def counted_by(name: str) -> str:
    """Return what a column counts that is not runs: ``iterations``, ``folds``, ``test examples``, or nothing.

    >>> counted_by("epoch"), counted_by("fold_3"), counted_by("seed")
    ('iterations', 'folds', '')
    """
    word = re.sub(r"\d+$", "", plain(name))
    if is_counter(re.sub(r"[\d_ -]+$", "", name)):
        return "iterations"
    tables = {"folds": FOLDS, "test examples": EXAMPLES}
    return next((counted for counted, words in tables.items() if word in words), "")


def check_run_column(name: str) -> None:
    """Refuse a column that cannot identify the runs."""
    counted = counted_by(name)
    if counted:
        raise NotRuns(
            f"column {name!r} counts {counted}, and these are no runs: {_WHY[counted]}",
            hint="name the column with the seed or the run: --run-column seed; or give one file a run",
        )


def refuse(counted: str, evidence: str, hint: str = "") -> NotRuns:
    """Return the error for a table that has a value for each fold, iteration or test example.

    `counted` is what the table counts, a key of `_WHY`; `evidence` the sentence that shows it; `hint` what to type, by
    default to name the iterations.
    """
    remedy = hint or "say which column counts them: --set iteration_column=COLUMN, or --set rows=iterations"
    return NotRuns(f"{evidence}; {_WHY[counted]}", hint=remedy)


def rank_correlation(order: Sequence[float], values: Sequence[float]) -> float:
    """Return Spearman's rank correlation; there are two different values or more."""
    return float(scipy.stats.spearmanr(order, values).statistic)


def trend(values: list[float]) -> float | None:
    """Return Spearman's rank correlation of values with their order; None where it is too little to look like a curve.

    >>> trend([0.1, 0.4, 0.6, 0.7, 0.75, 0.78, 0.8, 0.81])
    1.0
    >>> trend([0.8, 0.7]) is None
    True
    """
    if len(values) < FEWEST_FOR_TREND or len(set(values)) < 2:
        return None
    correlation = round(rank_correlation(range(len(values)), values), 9)
    return correlation if abs(correlation) > TREND else None


#: Columns that tell the runs apart, without case and punctuation.
_RUN = re.compile(
    r"(?:random|rng|torch|np|numpy|global|manual|train)?(?:seed|run|trial|rep|replicate|replication|repetition|repeat)s?"
    r"(?:id|uuid|name|idx|index|no|nr|num|number)?|randomstate|uuid"
)
#: Where there is none of these: how exports of trackers call a run.
NAMES = ("name", "id")
#: A column that holds the name of each row's file; options may name it though no file has it.
FILE = "file"
#: Unix seconds begin here for our purpose (2001): a clock reading this large is no duration.
UNIX_SECONDS = 1e9
#: Names of settings that `lexicon.words` leaves to the text around them.
SETTINGS = frozenset({
    "lr", "learningrate", "batchsize", "bs", "weightdecay", "l2", "momentum", "dropout", "dropoutrate", "dropoutp",
    "hidden", "hiddensize", "hiddendim", "embeddim", "dmodel", "width", "depth", "layers", "nlayers", "numlayers",
    "nheads", "numheads", "nlayer", "nhead", "nembd", "dff", "nunits",
    "kernelsize", "optimizer", "patience", "gradclip", "gamma", "temperature", "nestimators", "maxdepth", "numleaves",
})  # fmt: skip
#: A column of numbers that may name trainings or hold what was set; keys of an object that are numbers are called so.
NUMBER = "number"
#: Moments and times that no name tells the unit of, and what else tools note.
CLOCKS = frozenset({"time", "t", "timestamp", "starttime", "endtime", "created", "date"})
NOTED = frozenset({"experimentid", "user", "host", "seed", "index", "idx", "unnamed0", "version", "githash", NUMBER})
#: Prefixes of MLflow's exported tables: what is a metric, and what is not.
#: How names of what wandb notes of its own begin.
OWN = ("_step", "_runtime", "_timestamp", "_wandb")
METRIC_PREFIX, OTHER_PREFIXES = "metrics.", ("params.", "tags.", "params_")
LONG = (("metric", "value"), ("tag", "value"), ("key", "value"), ("variable", "value"), ("metricname", "value"))
#: Seconds since the start, by names that say so. A column called ``time`` may be anything.
TIMES = ("elapseds", "elapsed", "elapsedtime", "elapsedseconds", "runtime", "relativetime", "walltime")
SPLITS = ("split", "phase", "subset", "mode", "stage")
STATES = ("state", "status")
#: What was made of a run that ended is no state of it.
CHOSEN = re.compile(r"keep|kept|discard|accept|reject|promot|improve|baseline|best|worse", re.IGNORECASE)
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
    """Return what each column is by options and names; refuse options (BadOption) that name none or contradict."""
    columns = columns_of(rows)
    for name in options.run:
        check_run_column(name)
    single = (options.iteration, options.metric, options.value, options.time, options.experiment)
    listed = (*options.run, *options.mean_over, *(name for name, _ in options.where))
    for name in (*filter(None, single), *listed):
        if name not in columns:
            raise BadOption(f"there is no column {name!r}", hint=f"type one of: {', '.join(columns)}")
    metric, value = _long(columns, options)
    # What a model wrote is a long text.
    short = [name for name in columns if plain(name) in EXAMPLES and all(len(row.get(name, "")) < 99 for row in rows)]
    _check_run(options.run, metric, value, columns)
    return Roles(
        run=options.run or _runs(rows, [name for name in columns if name not in options.mean_over]),
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
        examples=_counting(short, EXAMPLES, options),
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
    # Names of runs come before seeds.
    named = sorted(filter(is_run_name, columns), key=lambda name: "seed" in plain(name) or "state" in plain(name))
    own = _first_of(columns, NAMES)
    # Numbers of rows are no names of trainings.
    own = own if any(is_name(row.get(own, "0")) for row in rows) else ""
    if own and is_trackers(rows) and _is_list_of_runs(own, named, rows):
        return (own,)
    if len(named) < 2:
        return tuple(named) or tuple(filter(None, [own]))
    together = {tuple(row.get(name, "") for name in named) for row in rows}
    return next(((name,) for name in named if len({row.get(name, "") for row in rows}) == len(together)), tuple(named))


#: Columns of the lists that wandb exports.
_OF_TRACKERS = frozenset({"Name", "Runtime", "Created", "Notes", "Tags", "Sweep", "_runtime", "_timestamp", "_wandb"})


def is_trackers(rows: list[Row]) -> bool:
    """Tell whether a table is a tracker's list of runs, which has their states or what only a tracker notes."""
    columns = columns_of(rows)
    return bool(_first_of(_texts(rows, columns), STATES)) or not _OF_TRACKERS.isdisjoint(columns)


def _is_list_of_runs(own: str, named: list[str], rows: list[Row]) -> bool:
    """Tell whether each row has a name of its own, which a seed or a number of a run is not: a tracker's list."""
    words = [row.get(own, "") for row in rows]
    numbered = {row.get(named[0], "") for row in rows} if named else set()
    return all(map(is_name, words)) and len(set(words)) == len(rows) > len(numbered) > 0


def is_run_name(name: str) -> bool:
    """Tell by its name whether a column tells runs apart; `config/repeats` is how many there shall be.

    >>> [is_run_name(name) for name in ("seed", "Run ID", "args/seed", "trial_number", "running_loss")]
    [True, True, True, True, False]
    """
    return _RUN.fullmatch(plain(own_name(name))) is not None and not (is_in_settings(name) and name.endswith("s"))


@lru_cache(maxsize=20_000)
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
    return is_named or name.startswith((*OTHER_PREFIXES, *OWN))


def searched(rows: Sequence[Row]) -> str:
    """Return a setting that jumps to and fro over most of the rows, as in a search; that of a schedule does not."""
    for name in columns_of(rows):
        if is_setting(name) and plain(name) not in CLOCKS | NOTED and not name.startswith(OWN):
            known = [value for row in rows if (value := number(row.get(name, ""))) is not None]
            steps = [two - one for one, two in pairwise(known) if two != one]
            if sum(one * two < 0 for one, two in pairwise(steps)) > max(FEWEST_COUNTED - 1, len(rows) / 4):
                return name
    return ""


def columns_of(rows: Iterable[Row]) -> list[str]:
    """Return the names of columns, in their order."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _long(columns: list[str], options: TableOptions) -> tuple[str, str]:
    if options.metric or options.value:
        if not (options.metric and options.value):
            raise BadOption(
                "a long table has a column of names and a column of values",
                hint="type both --set metric_column=COLUMN and --set value_column=COLUMN",
            )
        return options.metric, options.value
    named = {plain(name): name for name in columns}
    return next(
        ((named[first], named[second]) for first, second in LONG if first in named and second in named), ("", "")
    )


def _texts(rows: list[Row], columns: list[str]) -> list[str]:
    numeric = numeric_columns(rows)
    return [name for name in columns if name not in numeric]


def numeric_columns(rows: Iterable[Row]) -> set[str]:
    """Return the columns that hold a number; each cell is looked at once, as a table may have thousands of columns."""
    found: set[str] = set()
    last: Row = {}
    for row in rows:
        new = {name: word for name, word in row.items() if name not in found and last.get(name) != word}
        last |= new
        found.update(name for name, word in new.items() if number(word) is not None)
    return found


def _split(rows: list[Row], columns: list[str]) -> str:
    for name in _texts(rows, columns):
        words = {row[name] for row in rows if name in row}
        if plain(name) in SPLITS and words and all(split_of(word) for word in words):
            return name
    return ""


# Which column counts the iterations: its values decide, since a table may have several that are called so.

#: What 32 bits hold, as records do.
LARGEST = 2**31 - 1


class Counted(NamedTuple):
    """What counts the iterations of the rows."""

    #: Empty where nothing does, or their order.
    column: str = ""
    #: Whether the rows follow one another in time, so that their order counts where no column does.
    in_order: bool = False
    notes: tuple[str, ...] = ()


def counted_by_values(parts: Sequence[Sequence[Row]], roles: Roles, options: TableOptions) -> Counted:
    """Find what counts the iterations of the rows of each part, which is of one file and one run.

    Of the columns whose names count, that of whole numbers which least often begins again while another one goes on,
    then that which counts most rows, in the smallest steps.
    """
    if roles.iteration:
        return Counted(roles.iteration)
    sound = [name for name in roles.counters if may_count(name, parts, roles)]
    broken = [name for name in roles.counters if not _is_whole(name, parts)]
    if not options.rows:
        for name in broken:
            _check_few_bad(name, parts)
    if sound:
        return Counted(min(sound, key=lambda name: _faults(name, parts, roles)))
    if max(map(len, parts), default=0) < 2 or options.rows == "runs":
        return Counted()
    if broken and not options.rows:
        name = broken[0]
        _check_goes_on(name, parts, roles)
        return Counted(
            in_order=True,
            notes=(f"Rows are counted in their order: {name!r} holds no whole numbers, or too large ones.",),
        )
    return Counted(in_order=bool(options.rows or _has_clock(parts)))


def whole(word: str | None) -> int | None:
    """Return the whole number a cell holds."""
    value = number(word) if word is not None else None
    return int(value) if value is not None and value.is_integer() else None


def _is_whole(name: str, parts: Sequence[Sequence[Row]]) -> bool:
    words = {row[name] for rows in parts for row in rows if name in row}
    return bool(words) and all((count := whole(word)) is not None and -1 <= count <= LARGEST for word in words)


#: Fewest rows of a run whose numbers show that a column counts.
FEWEST_COUNTED = 4

#: Share of the cells of a counter that may be words by mistake.
FEW_BAD = 0.1


def _check_few_bad(name: str, parts: Sequence[Sequence[Row]]) -> None:
    """Refuse a counter some few of whose cells are words: without it its rows would pass for something else."""
    words = [row[name] for rows in parts for row in rows if name in row]
    bad = [word for word in words if number(word) is None]
    rest = [word for word in words if number(word) is not None]
    if 0 < len(bad) <= FEW_BAD * len(words) and _is_whole(name, [[{name: word} for word in rest]]):
        raise NotImportable(
            f"column {name!r} counts iterations, and {len(bad)} of its {len(words)} cells hold words: "
            f"{some_of([repr(word) for word in dict.fromkeys(bad)], 3)}",
            hint="mend or remove these rows, or type --set rows=iterations to count all rows in their order",
        )


def _check_goes_on(name: str, parts: Sequence[Sequence[Row]], roles: Roles) -> None:
    """Refuse rows that cannot be counted by a column, and not in their order where that column goes back."""
    back = next((step for step in _steps(name, parts, roles) if step.after < step.before), None)
    if back is not None:
        raise NotRuns(
            f"column {name!r} goes back from {back.earlier[name]} to {back.later[name]}: its rows may be of several "
            "trainings, and which ones, only whole numbers would show",
            hint="type --set rows=iterations if the rows follow one another in one training; or add a column that "
            "tells the trainings apart, and type --run-column with its name",
        )


class _Step(NamedTuple):
    """Two rows with values of one metric, the later one next after the earlier, and what a column holds in them."""

    earlier: Row
    later: Row
    before: float
    after: float


def _steps(name: str, parts: Sequence[Sequence[Row]], roles: Roles) -> list[_Step]:
    """Return the steps of a column along each metric: those of training and of validation count apart."""
    others = {*roles.counters, roles.time, roles.split, roles.group, roles.metric}
    steps: list[_Step] = []
    for rows in parts:
        along: dict[tuple[str | None, ...], Row] = {}
        for row in rows:
            if name not in row:
                continue
            for metric in row.keys() - others if not roles.value else {roles.value}:
                key = (metric, row.get(roles.metric), row.get(roles.split), row.get(roles.group))
                if (last := along.get(key)) is not None:
                    steps.append(_Step(last, row, number(last[name]) or 0.0, number(row[name]) or 0.0))
                along[key] = row
    return steps


def may_count(name: str, parts: Sequence[Sequence[Row]], roles: Roles) -> bool:
    """Tell whether a column may count: it holds whole numbers that do not rise and fall by chance.

    One that may be an amount that is set rises.
    """
    if not _is_whole(name, parts):
        return False
    steps = _steps(name, parts, roles)
    rises = Counter(step.after - step.before for step in steps if step.after > step.before)
    falls = sum(step.after < step.before for step in steps)
    is_even = 2 * max(rises.values(), default=0) > rises.total()
    if not is_amount(name):
        return is_even or rises.total() >= 2 * falls or len(steps) < FEWEST_FOR_TREND
    # `epochs` of 5, 10, 15 may be how long each of three trainings took.
    is_even = is_even if "total" in name.lower() else set(rises) == {1}
    return rises.total() > 2 * falls and (is_even or len(steps) >= FEWEST_FOR_TREND)


def _faults(name: str, parts: Sequence[Sequence[Row]], roles: Roles) -> tuple[int, int, float]:
    """Count how often a column begins again while another one goes on, and else the rows that it does not count."""
    steps = _steps(name, parts, roles)
    falls = [step for step in steps if step.after < step.before]
    within = sum(any(_rises(other, step) for other in roles.counters) for step in falls)
    stalls = sum(step.after == step.before for step in steps)
    missing = sum(name not in row for rows in parts for row in rows)
    largest = max((number(row[name]) or 0.0 for rows in parts for row in rows if name in row), default=0.0)
    return within, len(falls) - within + stalls + missing, largest


def _rises(name: str, step: _Step) -> bool:
    before, after = (number(row.get(name, "")) for row in (step.earlier, step.later))
    return before is not None and after is not None and before < after


def _has_clock(parts: Sequence[Sequence[Row]]) -> bool:
    """Tell whether seconds since a start rise in every part; dates may be those of a training in each row."""
    names = [name for name in columns_of(row for rows in parts for row in rows[:1]) if plain(name) in CLOCKS]
    long = [rows for rows in parts if len(rows) > 1]
    if sum(map(len, long)) < FEWEST_FOR_TREND:
        return False
    return any(all(_goes_up([seconds(row.get(name, "")) for row in rows]) for rows in long) for name in names)


def _goes_up(values: Sequence[float | None]) -> bool:
    known = [value for value in values if value is not None]
    rises = len(known) == len(values) and known[0] < known[-1] < UNIX_SECONDS
    return rises and all(one <= two for one, two in pairwise(known))
