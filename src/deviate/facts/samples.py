"""One number per run: which runs count, what they measured, and what was excluded and why."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from deviate.core.errors import BadOption
from deviate.core.experiment import Direction, Experiment, Kind, Status
from deviate.core.shell_words import typed_word
from deviate.facts.run import RunResult
from deviate.lexicon.words import find_name, same_name
from deviate.observe.metrics import TIMES, MeasuredMetric, SampleRow, check_aggregate, with_times
from deviate.stats.curves import reached_best, reached_threshold
from deviate.stats.failures import Sign, WeakRuns, weak_beyond, weak_by_mad

if TYPE_CHECKING:
    from deviate.source.config import StatisticsEntry


# Options on samples: aggregates, weak runs, times to reach a value, sizes of test sets, differences that matter.

_BAR = re.compile(r"(?P<metric>.+?)\s*(?P<sign><=|>=|<|>)\s*(?P<bar>[-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*")


class Bar(msgspec.Struct, frozen=True):
    """A metric with a bar, as users type it: ``test acc<50``; only the metric where they name no bar."""

    metric: str
    sign: Sign | None = None
    bar: float | None = None

    @property
    def text(self) -> str:
        """The bar as it is typed."""
        return self.metric if self.bar is None else f"{self.metric}{self.sign}{self.bar:g}"


class SampleOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the records of an experiment become samples, where that is not as the experiment says."""

    #: By metric.
    aggregates: dict[str, str] = {}
    #: Which values are better, by metric, where that is typed; see `deviate.observe.metrics`.
    directions: dict[str, Direction] = {}
    #: The metric that leads; empty: see `deviate.observe.headline.ranks`.
    main: str = ""
    #: Runs beyond any of these are weak; without a bar, those far from the others by the MAD.
    weak: tuple[Bar, ...] = ()
    #: When runs get there; without a bar, to their best.
    reach: tuple[Bar, ...] = ()
    #: Number of test examples, by metric.
    test_sizes: dict[str, int] = {}
    #: A difference between recipes that their spread is set beside, above 0, by metric.
    differences: dict[str, float] = {}


DEFAULTS = SampleOptions()


def read_options(
    *,
    aggregates: Mapping[str, str] | None = None,
    directions: Mapping[str, Direction] | None = None,
    main: str = "",
    weak: Iterable[str] = (),
    reach: Iterable[str] = (),
    test_sizes: Mapping[str, int] | None = None,
    differences: Mapping[str, float] | None = None,
) -> SampleOptions:
    """Read the options as users type them: bars as text, see `parse_bar`.

    Raises BadOption if a bar cannot be read, a direction is none, or a difference is not above 0.
    """
    _check_directions(directions or {})
    for metric, difference in (differences or {}).items():
        if not 0 < difference < math.inf:
            raise BadOption(
                f"the difference of {metric!r} must be above 0, found {difference:g}",
                hint="type --difference 'test acc=0.5'",
            )
    return SampleOptions(
        aggregates=dict(aggregates or {}),
        directions=dict(directions or {}),
        main=main,
        weak=tuple(parse_bar(text, "weak") for text in weak),
        reach=tuple(parse_bar(text, "reach") for text in reach),
        test_sizes=dict(test_sizes or {}),
        differences=dict(differences or {}),
    )


def _check_directions(directions: Mapping[str, Direction]) -> None:
    for metric, direction in directions.items():
        if direction not in ("higher", "lower"):
            raise BadOption(
                f"direction of {metric!r}: expected higher or lower, found {direction!r}",
                hint=f"type --set {typed_word(f'direction={metric}=higher')}",
            )


def parse_bar(text: str, key: str) -> Bar:
    """Read ``METRIC<NUMBER`` or ``METRIC``.

    Raises BadOption if a sign is followed by no number.

    >>> parse_bar("test acc < 50", "weak")
    Bar(metric='test acc', sign='<', bar=50.0)
    >>> parse_bar("test acc", "weak").bar is None
    True
    """
    match = _BAR.fullmatch(text)
    if match is None:
        if re.search(r"[<>]", text):
            raise BadOption(f"{key} {text!r} has no number after its sign", hint=f"type --set '{key}=test acc<50'")
        return Bar(text.strip())
    sign: Sign = match["sign"]  # type: ignore[assignment]
    return Bar(match["metric"].strip(), sign, float(match["bar"]))


def settle_options(
    options: SampleOptions, names: Iterable[str], *, partial: bool = False, usual: StatisticsEntry | None = None
) -> SampleOptions:
    """Write every metric that the options name as it was recorded; with `partial`, leave out those that were not.

    `names` are those of the records; the times that every experiment has are known as well. Of `usual`, what a project
    says for all experiments, holds what the options do not say and what was recorded.

    Raises BadOption if a metric was not recorded, there is no such aggregate, or a time has another one.
    """
    known = sorted(set(with_times(names)))
    for aggregate in options.aggregates.values():
        check_aggregate(aggregate)
    if partial:
        options = _recorded(options, known)
    aggregates = {find_name(name, known): aggregate for name, aggregate in options.aggregates.items()}
    for time in TIMES:
        if aggregates.get(time.name, time.aggregate) != time.aggregate:
            raise BadOption(
                f"the aggregate of {time.name!r} must be {time.aggregate}, found {aggregates[time.name]!r}",
                hint="give no aggregate for it",
            )
    settled = msgspec.structs.replace(
        options,
        aggregates=aggregates,
        directions={find_name(name, known): direction for name, direction in options.directions.items()},
        main=options.main and find_name(options.main, known),
        weak=_settled(options.weak, known),
        reach=_settled(options.reach, known),
        test_sizes={find_name(name, known): size for name, size in options.test_sizes.items()},
        differences={find_name(name, known): size for name, size in options.differences.items()},
    )
    if usual is None:
        return settled
    below = settle_options(
        read_options(
            aggregates=usual.aggregates,
            main=usual.main,
            weak=usual.weak,
            reach=usual.reach,
            test_sizes=usual.test_sizes,
        ),
        known,
        partial=True,
    )
    return msgspec.structs.replace(
        settled,
        aggregates={**below.aggregates, **settled.aggregates},
        main=settled.main or below.main,
        weak=settled.weak or below.weak,
        reach=settled.reach or below.reach,
        test_sizes={**below.test_sizes, **settled.test_sizes},
    )


def option_words(options: SampleOptions) -> list[str]:
    """Return the words of a command that give the same options; reports alone have differences.

    >>> option_words(SampleOptions(aggregates={"test acc": "best"}, reach=(Bar("val acc", ">=", 90.0),)))
    ['--set', 'aggregate=test acc=best', '--set', 'reach=val acc>=90']
    """
    texts = [
        *(f"direction={metric}={direction}" for metric, direction in options.directions.items()),
        *([f"main={options.main}"] if options.main else []),
        *(f"aggregate={metric}={aggregate}" for metric, aggregate in options.aggregates.items()),
        *(f"test_size={metric}={size}" for metric, size in options.test_sizes.items()),
        *(f"weak={bar.text}" for bar in options.weak),
        *(f"reach={bar.text}" for bar in options.reach),
    ]
    return [word for text in texts for word in ("--set", text)]


def _recorded(options: SampleOptions, names: list[str]) -> SampleOptions:
    def known(metric: str) -> bool:
        return same_name(metric, names) is not None

    return SampleOptions(
        aggregates={name: aggregate for name, aggregate in options.aggregates.items() if known(name)},
        directions={name: direction for name, direction in options.directions.items() if known(name)},
        main=options.main if known(options.main) else "",
        weak=tuple(bar for bar in options.weak if known(bar.metric)),
        reach=tuple(bar for bar in options.reach if known(bar.metric)),
        test_sizes={name: size for name, size in options.test_sizes.items() if known(name)},
        differences={name: size for name, size in options.differences.items() if known(name)},
    )


def _settled(bars: Iterable[Bar], names: list[str]) -> tuple[Bar, ...]:
    return tuple(msgspec.structs.replace(bar, metric=find_name(bar.metric, names)) for bar in bars)


# When runs reached their best value, or a bar: samples like those of any metric, in iterations and in seconds.

#: What the samples are called in the column of aggregates: there is one value per run, and nothing was chosen.
FIRST = "first"


def reach_names(bar: Bar) -> tuple[str, str]:
    """Return the names of the samples: iterations and seconds."""
    where = bar.text if bar.bar is not None else f"best {bar.metric}"
    return f"iterations to {where}", f"seconds to {where}"


def reach_metrics(bars: Iterable[Bar]) -> list[MeasuredMetric]:
    """Return the metrics that the samples are of."""
    pairs = (reach_names(bar) for bar in bars)
    return [
        MeasuredMetric(name=name, aggregate=FIRST, direction="lower", kind="speed", unit=unit)
        for pair in pairs
        for name, unit in zip(pair, ("", "s"), strict=True)
    ]


def reach_samples(
    records: Mapping[str, NDArray[Any]], bars: Iterable[Bar], directions: Mapping[str, Direction | None]
) -> list[SampleRow]:
    """Return the samples; a run that never got there has NaN, and the report says which these are.

    `records` have the columns of `deviate.observe.tables.RECORD_COLUMNS`, those of a run one after the other.
    Iterations are counted as they were recorded: the first one is 0, and a value reported in it is reached "at 0".

    Raises BadOption if for a metric without a bar no direction is known.
    """
    rows = []
    for bar in bars:
        direction = _direction(bar, directions.get(bar.metric))
        chosen = {name: column[records["metric"] == bar.metric] for name, column in records.items()}
        variants, runs = chosen["variant"], chosen["run"]
        news = np.flatnonzero((variants[1:] != variants[:-1]) | (runs[1:] != runs[:-1])) + 1
        for start, end in pairwise([0, *news.tolist(), *([len(runs)] if len(runs) else [])]):
            iterations, values, elapsed = (chosen[name][start:end] for name in ("iteration", "value", "elapsed_s"))
            if bar.bar is None:
                reached = reached_best(iterations, values, direction, elapsed)
            else:
                reached = reached_threshold(iterations, values, bar.bar, direction, elapsed)
            for name, value in zip(reach_names(bar), (reached.iteration, reached.seconds), strict=True):
                if not (name.startswith("seconds") and np.isnan(elapsed).all()):
                    number = math.nan if value is None else float(value)
                    rows.append(SampleRow(variants[start], int(runs[start]), name, FIRST, number))
    return rows


def _direction(bar: Bar, known: Direction | None) -> Direction:
    if bar.sign is not None:
        return "higher" if bar.sign.startswith(">") else "lower"
    if known is None:
        raise BadOption(
            f"no direction is known for {bar.metric!r}, so no value is its best",
            hint=f"type a bar: --set {typed_word(f'reach={bar.metric}>=0.9')}",
        )
    return known


#: How a run ended, in the words of a reason.
_ENDED: dict[Status, str] = {
    "failed": "failed",
    "timed-out": "timed out",
    "cancelled": "was cancelled",
    "not-instrumented": "was not instrumented",
}


class Excluded(msgspec.Struct, frozen=True, kw_only=True):
    """A run that does not enter the statistics of a metric, and why."""

    run: int
    status: Status
    #: The finite value of a run that did not complete; None where there is none.
    value: float | None = None
    #: The value as text, also for NaN and infinities; empty where nothing was recorded.
    reported: str = ""
    reason: str
    #: It completed with a value, and is left out because the user's rule calls it weak.
    weak: bool = False

    @property
    def not_finite(self) -> bool:
        """Whether the run completed with a value that is NaN or infinite."""
        return self.status == "completed" and self.reported in ("nan", "inf", "-inf")


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One metric under one aggregate over the runs of one variant."""

    name: str
    aggregate: str
    #: Finite values of the completed runs, in the order of `runs`.
    values: list[float]
    #: Index of the run of each value.
    runs: list[int]
    excluded: list[Excluded] = []
    unit: str = ""
    #: Digits behind the point, as the program writes it; None where that is not known.
    decimals: int | None = None
    kind: Kind = "quality"
    direction: Direction | None = None
    #: Whether the user said that it leads.
    main: bool = False
    #: ``file:line`` where the program reports it; empty where a framework or the clock does.
    site: str = ""
    #: Index of the metric in the experiment; None for times and for what was not foreseen.
    source: int | None = None
    #: Whether it was seen in what runs print and write alone, and not in the source.
    observed: bool = False
    #: Number of test examples, where the user gave it.
    test_size: int | None = None
    #: The difference between recipes that the user sets the spread beside, above 0.
    difference: float | None = None
    #: The same with weak runs; None where none was left out.
    including_weak: Sample | None = None

    @property
    def n(self) -> int:
        """Number of values."""
        return len(self.values)

    @property
    def without_value(self) -> int:
        """Number of completed runs that gave no finite value."""
        return sum(left.status == "completed" and not left.weak for left in self.excluded)


#: Values of a metric by run index.
Values = Mapping[int, float]


def samples_of(
    rows: Iterable[SampleRow],
    runs: Sequence[RunResult],
    metrics: Mapping[str, MeasuredMetric],
    experiment: Experiment,
    options: SampleOptions,
) -> list[Sample]:
    """Return the samples of one variant, in the order of `rows`.

    Parameters
    ----------
    rows : iterable of SampleRow
        One number per completed run of the variant and metric, not finite ones included.
    runs, metrics, experiment, options
        All runs of the variant that have ended; what is known of each name in `rows`; where metrics are reported; and
        options in which metrics are named as they were recorded.
    """
    values: dict[tuple[str, str], dict[int, float]] = {}
    for row in rows:
        values.setdefault((row.metric, row.aggregate), {})[row.run] = row.value
    completed = {run.index for run in runs if run.status == "completed"}
    finished = {
        name: {run: value for run, value in each.items() if run in completed} for (name, _), each in values.items()
    }
    weak = weak_runs(options.weak, finished, {name: metrics[name].direction for name in finished})
    return [
        _sample(metrics[name], aggregate, each, runs, experiment, options, weak)
        for (name, aggregate), each in values.items()
    ]


def _sample(
    metric: MeasuredMetric, aggregate: str, values: Values, runs: Sequence[RunResult], experiment: Experiment,
    options: SampleOptions, weak: Mapping[int, str],
) -> Sample:  # fmt: skip
    """Make the sample without weak runs; where there are some, also with them."""
    included = {
        run.index: values[run.index]
        for run in runs
        if run.status == "completed" and math.isfinite(values.get(run.index, math.nan))
    }
    undirected = aggregate == "best" and metric.direction is None
    whole = Sample(
        name=metric.name,
        aggregate=aggregate,
        values=list(included.values()),
        runs=list(included),
        excluded=[
            _excluded(run, values.get(run.index), undirected, aggregate) for run in runs if run.index not in included
        ],
        unit=metric.unit,
        decimals=metric.decimals,
        kind=metric.kind,
        direction=metric.direction,
        main=metric.name == options.main,
        site=_site(metric, experiment),
        source=metric.source,
        observed=metric.observed,
        test_size=options.test_sizes.get(metric.name),
        difference=options.differences.get(metric.name),
    )
    lost = [run for run in whole.runs if run in weak]
    if not lost:
        return whole
    kept = {run: value for run, value in included.items() if run not in lost}
    left = [
        Excluded(
            run=run, status="completed", value=values[run], reported=repr(values[run]), reason=weak[run], weak=True
        )
        for run in lost
    ]
    return msgspec.structs.replace(
        whole,
        values=list(kept.values()),
        runs=list(kept),
        excluded=[*whole.excluded, *left],
        including_weak=whole,
    )


def _site(metric: MeasuredMetric, experiment: Experiment) -> str:
    reported = None if metric.source is None else experiment.all_metrics[metric.source]
    return f"{reported.file}:{reported.line}" if reported and reported.file else ""


def _excluded(run: RunResult, value: float | None, undirected: bool, aggregate: str) -> Excluded:
    return Excluded(
        run=run.index,
        status=run.status,
        value=value if value is not None and math.isfinite(value) else None,
        reported="" if value is None or undirected else repr(value),
        reason=_reason(run, value, undirected, aggregate),
    )


def _reason(run: RunResult, value: float | None, undirected: bool, aggregate: str) -> str:
    if run.status != "completed":
        return f"the run {_ENDED[run.status]}"
    if value is None:
        return "no record of this metric"
    if undirected:
        return "no direction is known, so no value is the best"
    if aggregate == FIRST and math.isnan(value):
        return "it never got there"
    return "the value is NaN" if math.isnan(value) else "the value is infinite"


def weak_runs(
    bars: Iterable[Bar], samples: Mapping[str, Values], directions: Mapping[str, Direction | None]
) -> dict[int, str]:
    """Return the indices of weak runs, each with the user's rule that says so.

    `samples` are by metric the completed runs' values, by index. A run without one is not judged by it.
    """
    reasons: dict[int, str] = {}
    for bar in bars:
        values = samples.get(bar.metric, {})
        indices = list(values)
        weak = _weak(bar, [values[index] for index in indices], directions.get(bar.metric))
        for position in weak.places:
            no_number = bar.bar is None and not math.isfinite(values[indices[position]])
            rule = "its value is no number" if no_number else weak.rule
            reasons.setdefault(indices[position], f"weak by {bar.metric}: {rule}")
    return reasons


def _weak(bar: Bar, values: list[float], direction: Direction | None) -> WeakRuns:
    if bar.sign is None or bar.bar is None:
        return weak_by_mad(np.array(values), direction)
    return weak_beyond(np.array(values), bar.sign, bar.bar)
