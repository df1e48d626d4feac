"""The metrics of an experiment as they were recorded, which values are better, and which one stands for a run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from deviate.core.errors import BadOption
from deviate.core.experiment import SCHEMA, Direction, Experiment, Kind, Metric
from deviate.lexicon.words import UNNAMED, aggregate_of, meaning_of
from deviate.source.config import read_config
from deviate.store.files import read_json, write_json
from deviate.store.folders import Workspace

#: Wall time of the whole command, start-up and evaluation included.
TIME_PER_RUN = "time per run"

#: Typical time of one iteration of the main loop: the median of the run's iterations. The median, because the first
#: iteration carries what is done once (compilation, autotuning, filling caches) and some carry a checkpoint; what all
#: of it costs together is what the time per run says.
TIME_PER_ITERATION = "time per iteration"

#: Kinds of metrics that differ between any two runs: they measure the machine.
MACHINES = ("speed", "resource")

#: Of a metric that nothing foresaw, the last value is what the run ended with.
UNFORESEEN = "last"


class MeasuredMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric with a name of its own in the records."""

    name: str
    #: One of `aggregates.SIMPLE` or ``at ITERATION``; ``median`` for the time per iteration.
    aggregate: str
    direction: Direction | None
    kind: Kind
    #: Seconds for times, ``%`` where the program writes that behind it; empty where it does not say.
    unit: str = ""
    #: Digits behind the point, as the program writes it; None where that is not known.
    decimals: int | None = None
    #: Position in the experiment's metrics; None for times and for what was not foreseen.
    source: int | None = None
    #: Whether it was seen in what runs print and write alone, and not in the source.
    observed: bool = False


#: Stands for the position of a metric in the experiment, of observed ones.
OBSERVED = -2

#: Metrics that every experiment has.
TIMES = (
    MeasuredMetric(name=TIME_PER_RUN, aggregate="last", direction="lower", kind="speed", unit="s"),
    MeasuredMetric(name=TIME_PER_ITERATION, aggregate="median", direction="lower", kind="speed", unit="s"),
)


def with_times(names: Iterable[str]) -> list[str]:
    """Return the names that a user may choose from: those of metrics, and the times that every experiment has."""
    return [*names, *(time.name for time in TIMES)]


def measured_metrics(
    experiment: Experiment,
    recorded: Iterable[tuple[str, int]],
    observed: Mapping[str, MeasuredMetric] | None = None,
    directions: Mapping[str, Direction] | None = None,
) -> list[MeasuredMetric]:
    """Return the metrics that have records: those of the training, of each evaluation, and times.

    Those of each are in the order of the experiment, unforeseen ones last.
    `recorded` are names in the records with the position of the metric they belong to, -1 for none; `observed` are
    observed metrics by name; `directions` are those that the user says, by name.
    """
    prefixes = [step.prefix for step in experiment.evaluations]

    def place(pair: tuple[str, int]) -> tuple[int, bool, int, str]:
        """Put what the training reports before its evaluations, and these in their order."""
        name, source = pair
        step = next((number for number, prefix in enumerate(prefixes, start=1) if name.startswith(prefix)), 0)
        return step, source < 0, abs(source), name

    pairs = sorted(set(recorded), key=place)
    known, metrics = observed or {}, experiment.all_metrics
    measured = {
        name: known[name] if source == OBSERVED else _measured(name, source, metrics)
        for name, source in reversed(pairs)
    }
    said = directions or {}
    return [
        msgspec.structs.replace(metric, direction=said.get(metric.name, metric.direction))
        for metric in (*reversed(measured.values()), *TIMES)
    ]


def missing_metrics(experiment: Experiment, recorded: Iterable[tuple[str, int]]) -> list[Metric]:
    """Return the selected metrics of the experiment that no record came from."""
    pairs = set(recorded)
    names, sources = {name for name, _ in pairs}, {source for _, source in pairs}
    return [
        metric
        for position, metric in enumerate(experiment.all_metrics)
        if metric.selected and position not in sources and metric.name not in names
    ]


def _measured(name: str, source: int, metrics: Sequence[Metric]) -> MeasuredMetric:
    # What a framework reports may have been foreseen by name only.
    by_name = next((position for position, metric in enumerate(metrics) if metric.name == name), -1)
    position = source if source >= 0 else by_name
    if position < 0:
        meaning = meaning_of(name) or UNNAMED
        return MeasuredMetric(
            name=name, aggregate=aggregate_of(meaning.kind, name), direction=meaning.direction, kind=meaning.kind
        )
    metric = metrics[position]
    kind, direction, aggregate = _made_at_run_time(name, metric)
    return MeasuredMetric(
        name=name, aggregate=aggregate, direction=direction, kind=kind, source=position, unit=metric.unit,
        decimals=metric.decimals,
    )  # fmt: skip


def _made_at_run_time(name: str, metric: Metric) -> tuple[Kind, Direction | None, str]:
    """Return kind, direction and aggregate of a name that the source has only a part of: a key says what its value is.

    What the source or the user says otherwise than the metric's own name goes on to hold.
    """
    listed, meaning = meaning_of(metric.name) or UNNAMED, meaning_of(name)
    is_by_name = (metric.kind, metric.direction) == (listed.kind, listed.direction)
    if meaning is None or name == metric.name or not is_by_name:
        return metric.kind, metric.direction, metric.aggregate
    is_usual = metric.aggregate == aggregate_of(metric.kind, metric.name)
    return meaning.kind, meaning.direction, aggregate_of(meaning.kind, name) if is_usual else metric.aggregate


# Which values of a metric are better, as the user says: in ``deviate.toml``, or typed in a command before.
#
# One list for all experiments of a project, which whatever reads results asks.

#: By metric.
Directions = Mapping[str, Direction]


class TypedDirections(msgspec.Struct, frozen=True, kw_only=True):
    """What ``--set direction`` said."""

    schema: int = SCHEMA
    directions: dict[str, Direction] = {}


def listed_directions(project: Path) -> dict[str, Direction]:
    """Return what the user says of metrics, by name: what is written in ``deviate.toml`` before what was typed.

    Raises BadConfig if ``deviate.toml`` cannot be read.
    """
    config = read_config(project)
    entries = [
        *((metric.name, metric.direction) for metric in config.metric or []),
        *((wish.rename or wish.name, wish.direction) for wish in config.observed),
    ]
    written = {**{name: direction for name, direction in entries if direction}, **config.direction}
    own = {name.casefold() for name in written}
    typed = _typed(Workspace(project)).directions
    return {**{name: direction for name, direction in typed.items() if name.casefold() not in own}, **written}


def remember_directions(workspace: Workspace, directions: Directions) -> None:
    """Add what was typed to the list; where the workspace cannot be written, it holds for this command alone."""
    known = _typed(workspace).directions
    if all(known.get(name) == direction for name, direction in directions.items()):
        return
    with suppress(OSError):
        write_json(workspace.directions_file, TypedDirections(directions={**known, **directions}))


def directions_of(names: Iterable[str], said: Directions) -> dict[str, Direction]:
    """Return what is said of each of the names; upper and lower case are one where a name is not there as it is.

    >>> directions_of(["Score", "loss"], {"score": "higher"})
    {'Score': 'higher'}
    """
    folded = {name.casefold(): direction for name, direction in said.items()}
    found = ((name, said.get(name) or folded.get(name.casefold())) for name in names)
    return {name: direction for name, direction in found if direction}


def _typed(workspace: Workspace) -> TypedDirections:
    path = workspace.directions_file
    return read_json(path, TypedDirections) if path.is_file() else TypedDirections()


#: Aggregates without a parameter; ``at ITERATION`` takes the last value reported in that iteration. ``area`` is the
#: area under the learning curve by the trapezium rule, divided by its length in iterations: a mean height, in the unit
#: of the metric, that rewards learning early and that runs of unequal length can be compared by.
SIMPLE = ("last", "best", "mean", "max", "min", "area")

_AT = re.compile(r"at \d+")


class Aggregated(NamedTuple):
    """The records of a metric in a run, or in a pass of its evaluation; `max` and `min` pass over NaN."""

    variant: str
    run: int
    metric: str
    source: int
    last: float
    mean: float
    max: float | None
    min: float | None
    reports: int


class SampleRow(NamedTuple):
    """The number of a metric in one run."""

    variant: str
    run: int
    metric: str
    aggregate: str
    value: float


def check_aggregate(text: str) -> str:
    """Return `text` if it is an aggregate.

    Raises BadOption if it is not.
    """
    if text in SIMPLE or _AT.fullmatch(text):
        return text
    raise BadOption(
        f"{text!r} is no aggregate; expected {', '.join(SIMPLE)} or 'at ITERATION'",
        hint="type for example: best, or: at 9",
    )


def pick(rows: Iterable[Aggregated], aggregate: str, direction: Direction | None) -> Iterator[SampleRow]:
    """Yield one number per run, by ``last``, ``best``, ``mean``, ``max`` or ``min``.

    ``best`` is the maximum or minimum by the direction, and NaN where none is known: then no value is better than
    another.
    """
    best = None if direction is None else {"higher": "max", "lower": "min"}[direction]
    column = best if aggregate == "best" else check_aggregate(aggregate)
    for row in rows:
        value = None if column is None else getattr(row, column)
        yield SampleRow(row.variant, row.run, row.metric, aggregate, math.nan if value is None else value)
