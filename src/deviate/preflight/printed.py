"""What trial runs reported in text and the source does not show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from deviate.analyse.naming.words import meaning_of
from deviate.collect.columns import run_table
from deviate.collect.identity import Series, table_series
from deviate.collect.measured import MACHINES
from deviate.collect.mined import RunSeries, mined_run
from deviate.collect.reported import ReportedNumber, reported_numbers
from deviate.experiment import Direction, Experiment, Kind
from deviate.replicate.workspace.folders import RunFolder


class PrintedNumber(msgspec.Struct, frozen=True, kw_only=True):
    """A number in the text that a program reports, which is no value of a metric found in the source."""

    #: Of the observed metric, or of the number where it is none.
    name: str
    #: ``stdout``, ``stderr`` or a file.
    source: str
    #: The line with its numbers taken out, or the column or key of a file.
    line: str
    unit: str = ""
    #: How often it was reported in the first run, and its first and last value there.
    count: int
    first: float
    last: float
    #: Whether runs reported other values; null after one run.
    varies: bool | None = None
    #: Of an observed metric; null where it is none.
    kind: Kind | None = None
    direction: Direction | None = None
    #: Why it is no metric; empty where it is one.
    reason: str = ""


def printed_numbers(folders: Sequence[RunFolder], experiment: Experiment) -> list[PrintedNumber]:
    """Return what the trial runs in `folders` reported in text beside the metrics of the source, metrics first.

    A metric that is reported in several places is listed once. What the user says in ``deviate.toml`` has been obeyed.
    """
    names = [metric.name for metric in experiment.metrics]
    mined = {folder.run.folder: mined_run(folder).series for folder in folders}
    recorded = {
        folder.run.folder: {name: each.values for name, each in table_series(run_table(folder, names)).items()}
        for folder in folders
    }
    series: dict[tuple[str, str, int], RunSeries] = {}
    for each in (one for every in mined.values() for one in every):
        series.setdefault(each.series.slot.key, each)
    numbers = reported_numbers(mined, recorded, experiment.observed)
    return [
        _printed(number, series[number.key], compared=len(folders) > 1)
        for number in sorted(_once(numbers).values(), key=lambda each: not each.observed)
    ]


def printed_series(folder: RunFolder, experiment: Experiment) -> dict[str, Series]:
    """Return the values of metrics that one run reported in text alone, under a name that says what they are."""
    mined = mined_run(folder).series
    recorded = table_series(run_table(folder, [metric.name for metric in experiment.metrics]))
    run = folder.run.folder
    numbers = reported_numbers({run: mined}, {run: {name: each.values for name, each in recorded.items()}})
    known = {
        number.key: number.metric
        for number in _once(numbers).values()
        if number.observed and number.kind not in MACHINES and meaning_of(number.name) is not None
    }
    return {
        known[each.series.slot.key]: Series(
            each.iterations.astype(np.int32), each.series.values, each.series.offsets.astype(np.int32)
        )
        for each in mined
        if each.series.slot.key in known
    }


def _once(numbers: Sequence[ReportedNumber]) -> Mapping[object, ReportedNumber]:
    """Return the numbers that show no metric of the source, of those that show one observed metric the first."""
    once: dict[object, ReportedNumber] = {}
    for number in numbers:
        if number.observed or not number.metric:
            once.setdefault(number.metric or number.key, number)
    return once


def _printed(number: ReportedNumber, seen: RunSeries, *, compared: bool) -> PrintedNumber:
    values = seen.series.values
    return PrintedNumber(
        name=number.metric or number.name,
        source=number.source,
        line=number.template,
        unit=number.unit,
        count=len(values),
        first=float(values[0]),
        last=float(values[-1]),
        varies=number.varies if compared else None,
        kind=number.kind,
        direction=number.direction,
        reason=number.reason,
    )
