"""All records of an experiment as tidy tables.

Only completed runs enter unless asked otherwise: a run that failed half-way has records, but no sample.
The view `record` has those in the files of runs and of their evaluations, and observed metrics.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deviate.core.experiment import Direction, Experiment
from deviate.observe.database import (
    AGGREGATES,
    AREA,
    AT,
    FILES,
    HELD,
    ITERATION_TIMES,
    LAST_REPORTS,
    LOOPED,
    NO_RECORDS,
    RECORDS,
    STORED,
    VALUES_AT,
    Table,
    connected,
    listed,
    quoted,
    selected,
)
from deviate.observe.derived import DerivedTable, RunRecords
from deviate.observe.identity import Identity, RunValues, Series
from deviate.observe.metrics import (
    OBSERVED,
    TIME_PER_ITERATION,
    TIME_PER_RUN,
    Aggregated,
    Directions,
    MeasuredMetric,
    SampleRow,
    directions_of,
    listed_directions,
    measured_metrics,
    pick,
    with_times,
)
from deviate.observe.observation import (
    Evaluated,
    Observation,
    ObservedSeries,
    Printed,
    identities,
    observe,
    read_evaluated,
    record_tables,
    recorded_names,
)
from deviate.observe.output.judge import is_setting, options_given
from deviate.observe.records import TICK_NAME, RunFiles, in_order, read_ended_runs
from deviate.observe.reported import ReportedNumber
from deviate.store.folders import ExperimentFolder

if TYPE_CHECKING:
    import pandas as pd
    from duckdb import DuckDBPyConnection


#: Variant and index of a run, and the other columns of its records.
RecordPart = tuple[str, int, dict[str, NDArray[Any]]]

RECORD_COLUMNS = ("variant", "run", "metric", "iteration", "elapsed_s", "value")

#: Stands for the iteration of a run's last values, whichever it is.
LAST_VALUES = -2


@dataclass(frozen=True, eq=False)
class Tables:
    """The records of runs, open for questions. Made by `open_tables`."""

    #: Says what the metrics are.
    experiment: Experiment
    #: Those whose records are in the tables, in the order of the experiment's variants.
    runs: list[RunFiles]
    #: What runs were seen to report.
    observation: Observation
    #: What their evaluations recorded.
    evaluated: list[Evaluated]
    #: What the user says of metrics, see `listed_directions`.
    listed: Directions
    _recordings: list[RunRecords]
    #: The files that the view of records reads, with the run of each.
    _listed: list[ViewedFile]
    _database: DuckDBPyConnection

    def records(self) -> pd.DataFrame:
        """Return every record, in the order each run wrote them; then those of its evaluations, and what was only seen.

        Columns ``variant``, ``run``, ``metric``, ``iteration`` (of the main loop, from 0; -1 before it), ``elapsed_s``
        (since the run's first process started) and ``value``.
        """
        return self._records("record", "metric <> $tick").df()  # type: ignore[no-any-return]

    def records_of(self, metrics: Collection[str]) -> dict[str, NDArray[Any]]:
        """Return the records of some metrics as columns like those of `records`, and in its order."""
        chosen = "metric IN (SELECT unnest($metrics))"
        return self._records("record", chosen, metrics=list(metrics)).fetchnumpy()  # type: ignore[no-any-return]

    def parts(self) -> Iterator[RecordPart]:
        """Yield variant, run and the other columns of `records` run by run: no more than those of one are in memory."""
        for place, run in enumerate(self.runs):
            source = f"({view_of([file for file in self._listed if file.place == place])})"
            chosen = "metric <> $tick AND place = $place"
            rows = self._records(source, chosen, columns=RECORD_COLUMNS[2:], place=place)
            yield run.variant, run.index, rows.fetchnumpy()

    def _records(self, source: str, chosen: str, columns: Sequence[str] = RECORD_COLUMNS, **parameters: object) -> Any:
        given = parameters if "$tick" not in chosen else {"tick": TICK_NAME, **parameters}
        order = "place, part, repeat, position, metric"
        query = f"SELECT {', '.join(columns)} FROM {source} AS record WHERE {chosen} ORDER BY {order}"
        return self._database.execute(query, given)

    @cached_property
    def observed(self) -> dict[str, MeasuredMetric]:
        """What is known of the observed metrics, by name: of the training, and of evaluations."""
        evaluated = {name: metric for each in self.evaluated for name, metric in each.observed.items()}
        return {**evaluated, **self.observation.metrics}

    @property
    def printed(self) -> dict[str, Printed]:
        """How metrics of the source are written, by name: of the training, and of evaluations."""
        evaluated = {name: each for step in self.evaluated for name, each in step.printed.items()}
        return {**evaluated, **self.observation.printed}

    @cached_property
    def names(self) -> list[tuple[str, int]]:
        """The names of metrics that have records, see `recorded_names`; observed ones come last."""
        later = [
            (each.step.prefix, each.offset, recorded_names(one.records for one in each.passes))
            for each in self.evaluated
        ]
        observed = [(each.metric, OBSERVED) for evaluated in self.evaluated for each in evaluated.series]
        return [
            *(pair for pair in self._recorded if pair[0] not in self.settings),
            *(
                (prefix + name, source + offset if source >= 0 else source)
                for prefix, offset, names in later
                for name, source in names
            ),
            *self.observation.names,
            *dict.fromkeys(observed),
        ]

    @cached_property
    def settings(self) -> set[str]:
        """Names made at run time of what is no metric: one value in all runs, and that of a setting."""
        listed = {metric.name for metric in self.experiment.all_metrics}
        given = options_given(self.experiment.command)
        found = set[str]()
        for name, rows in self._aggregates.items():
            ends = [end for row in rows if row.source != OBSERVED for end in (row.min, row.max) if end is not None]
            if ends and name not in listed and min(ends) == max(ends) and is_setting(name, ends[0], given):
                found.add(name)
        # A mapping of settings alone was reported, and is not said to be missing.
        kept = {source for name, source in self._recorded if name not in found}
        return found - {name for name, source in self._recorded if source not in kept}

    @property
    def reported(self) -> dict[str, list[ReportedNumber]]:
        """Every number that runs and their evaluations reported in text, by variant."""
        parts = [self.observation.numbers, *(each.numbers for each in self.evaluated)]
        variants = dict.fromkeys(variant for part in parts for variant in part)
        return {variant: [each for part in parts for each in part.get(variant, [])] for variant in variants}

    @cached_property
    def _recorded(self) -> list[tuple[str, int]]:
        return recorded_names(self._recordings)

    def directions(self, typed: Directions | None = None) -> dict[str, Direction]:
        """Return which values are better of the metrics that the user says it of, `typed` now or before."""
        return directions_of(with_times(name for name, _ in self.names), {**self.listed, **(typed or {})})

    def samples(
        self, aggregates: Mapping[str, str] | None = None, directions: Directions | None = None
    ) -> list[SampleRow]:
        """Return one number per run and metric, times included; a run without a record of a metric has no row for it.

        The metrics are in the order of `measured_metrics`. `aggregates` and `directions`, by metric, take the place of
        the experiment's. Where an evaluation was run several times, the number is the mean of those of its passes.
        """
        rows = self.repeats(aggregates, directions)
        if all(step.repeat == 1 for step in self.experiment.evaluations):
            return rows
        repeated = (list(same) for _, same in groupby(rows, lambda row: row[:-1]))
        return [same[0]._replace(value=_mean([row.value for row in same])) for same in repeated]

    def repeats(
        self, aggregates: Mapping[str, str] | None = None, directions: Directions | None = None
    ) -> list[SampleRow]:
        """Return the same rows as `samples`, but one number per run, metric and pass of an evaluation."""
        recorded = self._aggregates.items()
        known = [(name, row.source) for name, rows in recorded if name not in self.settings for row in rows]
        measured = measured_metrics(self.experiment, known, self.observed, self.directions(directions))
        chosen = [(metric, (aggregates or {}).get(metric.name, metric.aggregate)) for metric in measured]
        rows = [row for metric, aggregate in chosen for row in self._sample(metric, aggregate)]
        return [*rows, *_run_times(self.runs)]

    @cached_property
    def _aggregates(self) -> dict[str, list[Aggregated]]:
        """By metric, in the order of the runs."""
        by_metric: dict[str, list[Aggregated]] = {}
        for row in self._database.execute(AGGREGATES, {"tick": TICK_NAME}).fetchall():
            by_metric.setdefault(row[2], []).append(Aggregated(*row))
        return by_metric

    def reports(self) -> dict[str, dict[str, list[int]]]:
        """Return how often runs reported each metric of the training, by variant: each number, ascending."""
        prefixes = tuple(step.prefix for step in self.experiment.evaluations)
        counts: dict[str, dict[str, list[int]]] = {}
        for row in (row for rows in self._aggregates.values() for row in rows):
            known = counts.setdefault(row.variant, {}).setdefault(row.metric, [])
            if not row.metric.startswith(prefixes) and row.reports not in known:
                insort(known, row.reports)
        return counts

    @cached_property
    def looped(self) -> dict[str, int]:
        """Variants whose runs counted iterations, with the smallest number of them in a run."""
        return dict(self._database.execute(LOOPED, {"tick": TICK_NAME}).fetchall())

    def values_at(self, variant: str, places: Sequence[tuple[int, int]]) -> list[tuple[int, int, str, float]]:
        """Return run, iteration, metric and value of what runs of a variant recorded at `places`: runs and iterations.

        The last values of all its runs are there too, as of iteration `LAST_VALUES`.
        """
        runs, iterations = [run for run, _ in places], [iteration for _, iteration in places]
        return self._database.execute(
            VALUES_AT,
            {"variant": variant, "tick": TICK_NAME, "runs": runs, "iterations": iterations, "last": LAST_VALUES},
        ).fetchall()

    def last_reports(self, variant: str, metric: str, most: int) -> dict[int, list[float]]:
        """Return by run the last values of a metric that its training reported, `most` or fewer, the last one last."""
        given = {"variant": variant, "metric": metric, "most": most}
        return dict(self._database.execute(LAST_REPORTS, given).fetchall())

    def identities(self) -> dict[str, Identity]:
        """Return, by variant, how far its runs agree in what they reported, see `agreement.identities`."""
        return identities(self.experiment, self.runs, self._recorded, self.observation)

    def _sample(self, metric: MeasuredMetric, aggregate: str) -> Iterable[SampleRow]:
        name = metric.name
        if name == TIME_PER_RUN:
            return ()
        if name == TIME_PER_ITERATION:
            found = self._database.execute(ITERATION_TIMES, {"tick": TICK_NAME})
        elif aggregate.startswith("at "):
            found = self._database.execute(AT, {"metric": name, "iteration": int(aggregate.removeprefix("at "))})
        elif aggregate == "area":
            found = self._database.execute(AREA, {"metric": name})
        else:
            return pick(self._aggregates.get(name, []), aggregate, metric.direction)
        return [SampleRow(variant, run, name, aggregate, value) for variant, run, value in found.fetchall()]


@contextmanager
def open_tables(
    folder: ExperimentFolder,
    *,
    runs: Sequence[RunFiles] | None = None,
    experiment: Experiment | None = None,
    include_failed: bool = False,
) -> Iterator[Tables]:
    """Open the records of an experiment in one database in memory.

    `runs` and `experiment` are those of `folder`, where they were read already. With `include_failed` runs are taken
    too that ended in another way than by completing.
    """
    experiment = folder.read_experiment() if experiment is None else experiment
    ended = read_ended_runs(folder) if runs is None else runs
    taken = in_order((run for run in ended if run.completed or include_failed), experiment)
    with connected() as database:
        records = record_tables(experiment, taken)
        observation = observe(taken, records, experiment.observed, metrics=experiment.metrics)
        evaluated = read_evaluated(experiment, taken)
        series = [*observation.series, *(one for each in evaluated for one in each.series)]
        files = create_view(database, records, taken, evaluated, series)
        yield Tables(
            experiment, taken, observation, evaluated, listed_directions(folder.project), records, files, database
        )


def _mean(values: list[float]) -> float:
    """Return the mean; of equal values this value, without a rounding."""
    with np.errstate(all="ignore"):
        return values[0] if values.count(values[0]) == len(values) else float(np.mean(values))


def _run_times(runs: Iterable[RunFiles]) -> list[SampleRow]:
    return [
        SampleRow(run.variant, run.index, TIME_PER_RUN, "last", run.outcome.seconds)
        for run in runs
        if run.completed and run.outcome is not None and run.outcome.seconds is not None
    ]


#: Place of observed metrics among the files of a run: after all of them, since no record says when they came.
AFTER_FILES = 2**31


class ViewedFile(NamedTuple):
    """A file that the view reads, and the run that it is of."""

    filename: str
    #: Whether its table is in memory.
    held: bool
    variant: str
    run: int
    #: Of the run among those in the view.
    place: int
    #: Of its metrics' names and positions in the experiment; not 0 for an evaluation.
    prefix: str
    first: int
    repeat: int
    #: Its own place among all files.
    part: int


def create_view(
    database: DuckDBPyConnection,
    records: Sequence[RunRecords],
    runs: Sequence[RunFiles],
    evaluated: Sequence[Evaluated],
    series: Sequence[ObservedSeries],
) -> list[ViewedFile]:
    """Create the view and return the files that it reads.

    `records` are those of `runs`, `series` the values of observed metrics.
    """
    every = [*records, *(one.records for each in evaluated for one in each.passes)]
    files = _viewed([each.stored() for each in every], runs, evaluated, database)
    database.execute(FILES, [[file._asdict() for file in files]])
    query, words = selected(database, _observed_rows(series))
    database.execute(f"CREATE TEMP TABLE observed AS {query}", words)
    database.execute(f"CREATE TEMP VIEW record AS {view_of(files) if records else NO_RECORDS}")
    return files


def view_of(files: Sequence[ViewedFile]) -> str:
    """Return the query of the records that are in some of the files."""
    stored = [file.filename for file in files if not file.held]
    parts = [STORED.format(files=listed(stored))] if stored else []
    parts += [HELD] if len(stored) < len(files) else []
    return RECORDS.format(stored=" UNION ALL BY NAME ".join(parts), tick=TICK_NAME)


def _hold(file: DerivedTable, table: Table, database: DuckDBPyConnection) -> None:
    """Add a table that is in memory to those that are, with the columns that DuckDB gives those of files."""
    numbered = Table({**table.columns, "file_row_number": np.arange(len(table))}, table.words)
    query, words = selected(database, numbered)
    rows = f"SELECT *, {quoted(file.path)} AS filename FROM ({query})"
    database.execute(f"CREATE TEMP TABLE IF NOT EXISTS held AS {rows} LIMIT 0", words)
    database.execute(f"INSERT INTO held {rows}", words)


def _observed_rows(series: Sequence[ObservedSeries]) -> Table:
    """Return the values of observed metrics with the columns of the view of records."""
    counts = np.array([len(each.mined.iterations) for each in series], np.int64)
    words = {
        "variant": list(dict.fromkeys(each.run.variant for each in series)),
        "metric": list(dict.fromkeys(each.metric for each in series)),
        "process": [""],
    }

    def repeated(numbers: Iterable[int], kind: type = np.int64) -> NDArray[Any]:
        return np.repeat(np.array(list(numbers), kind), counts)

    def joined(parts: Iterable[NDArray[Any]], kind: type) -> NDArray[Any]:
        return np.concatenate([np.empty(0, kind), *parts]).astype(kind)

    columns = {
        "variant": repeated(words["variant"].index(each.run.variant) for each in series),
        "run": repeated(each.run.index for each in series),
        "place": repeated(each.place for each in series),
        "part": repeated(AFTER_FILES for _ in series),
        "metric": repeated(words["metric"].index(each.metric) for each in series),
        "source": repeated((OBSERVED for _ in series), np.int32),
        "iteration": joined((each.mined.iterations for each in series), np.int32),
        "elapsed_s": joined((each.mined.seconds for each in series), np.float64),
        "value": joined((each.mined.series.values for each in series), np.float64),
        "process": repeated(0 for _ in series),
        "position": joined((np.arange(count) for count in counts), np.int64),
        "repeat": repeated(each.repeat for each in series),
    }
    return Table(columns, words)


def _viewed(
    files: Sequence[DerivedTable],
    runs: Sequence[RunFiles],
    evaluated: Iterable[Evaluated],
    database: DuckDBPyConnection,
) -> list[ViewedFile]:
    """Return what files there are; those that are in memory are made known to the database."""
    rows = [(run, place, "", 0, 0) for place, run in enumerate(runs)]
    rows += [
        (one.run, one.place, each.step.prefix, each.offset, one.repeat) for each in evaluated for one in each.passes
    ]
    for file in files:
        if file.held is not None:
            _hold(file, file.held, database)
    return [
        ViewedFile(str(file.path), file.held is not None, run.variant, run.index, place, prefix, first, repeat, part)
        for part, (file, (run, place, prefix, first, repeat)) in enumerate(zip(files, rows, strict=True))
    ]


def values_by_run(tables: Tables) -> dict[str, dict[int, RunValues]]:
    """Return what each run recorded, by variant and index: its training, and its evaluations, pass after pass."""
    evaluated = _evaluated(tables)
    by_variant: dict[str, dict[int, RunValues]] = {}
    for run in tables.runs:
        values = {**tables.observation.values_of(run.name), **evaluated.get(run.name, {})}
        by_variant.setdefault(run.variant, {})[run.index] = values
    return by_variant


def _evaluated(tables: Tables) -> dict[str, dict[str, Series]]:
    passes: dict[str, dict[str, list[Series]]] = {}
    for each in tables.evaluated:
        recorded = [
            (one.place, each.step.prefix + metric, series)
            for one in each.passes
            for metric, series in one.records.series.items()
        ]
        for place, metric, series in [*recorded, *((one.place, one.metric, one.recorded) for one in each.series)]:
            passes.setdefault(tables.runs[place].name, {}).setdefault(metric, []).append(series)
    return {run: {metric: _joined(parts) for metric, parts in every.items()} for run, every in passes.items()}


def _joined(parts: Sequence[Series]) -> Series:
    return Series(
        iterations=np.concatenate([part.iterations for part in parts]),
        values=np.concatenate([part.values for part in parts]),
        positions=np.concatenate([part.positions for part in parts]),
    )
