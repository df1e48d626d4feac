"""The numbers of a metric as text, all to the digit that its SD allows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from deviate.facts.metric import MetricSpread
from deviate.facts.sources import SpreadAcross, VariantSpread
from deviate.observe.metrics import TIME_PER_RUN
from deviate.report.numbers import (
    PLAIN_DIGITS,
    metric_place,
    show,
    show_interval,
    show_percent,
    unit_in_name,
    unit_text,
)

#: Digits of a number in a table for print, where neither its own SD nor another row says how many.
PRINT_DIGITS = 4

#: Power of ten of the last digit worth showing, by name and aggregate of a metric; None: nothing says.
Places = Mapping[Hashable, int | None]


class MetricText:
    """The numbers of one metric as text, all to the digit its SD allows.

    For print, `alike` says to which digit the same metric is written elsewhere, where its own SD says nothing.
    """

    def __init__(self, metric: MetricSpread, alike: Places | None = None) -> None:
        measured = metric.spread
        place, digits = _precision(metric, alike)

        def text(value: float | None) -> str:
            return show(value, place, digits)

        #: Write a value of the metric like its mean.
        self.of = text
        self.name = metric.name + unit_in_name(metric.unit)
        # The time of a run is one number already.
        self.aggregate = "" if metric.name == TIME_PER_RUN else metric.aggregate
        self.unit = unit_text(metric.unit)
        self.n = str(measured.n)
        self.mean, self.sd, self.cv = text(measured.mean), text(measured.sd), show_percent(measured.cv)
        self.min, self.max, self.range = text(measured.min), text(measured.max), text(measured.range)
        self.median, self.iqr = text(measured.median), text(measured.iqr)
        self.ci_mean, self.ci_sd = show_interval(metric.ci_mean, place), show_interval(metric.ci_sd, place)
        #: Mean ± SD, the value of a single run.
        self.summary = f"{self.mean}{f' ± {self.sd}' if measured.n > 1 else ''}{self.unit}"


class SpreadText:
    """How much the runs of one variant differ in the metric of a table, as text, to the digits of all of its rows."""

    def __init__(self, row: VariantSpread, table: SpreadAcross) -> None:
        place = metric_place(table.decimals, *(each.sd for each in table.rows))
        self.n = str(row.n)
        self.mean, self.sd, self.range = show(row.mean, place), show(row.sd, place), show(row.range, place)
        self.ci_sd = show_interval(row.ci_sd, place)
        self.relative = show_percent(row.relative)


def places(metrics: Iterable[MetricSpread]) -> Places:
    """Return the last place worth showing of each metric by the variants in which its runs differ."""
    by_name: dict[Hashable, list[MetricSpread]] = {}
    for metric in metrics:
        by_name.setdefault((metric.name, metric.aggregate), []).append(metric)
    return {
        key: metric_place(alike[0].decimals, *(metric.spread.sd for metric in alike)) for key, alike in by_name.items()
    }


def _precision(metric: MetricSpread, alike: Places | None) -> tuple[int | None, int]:
    """Return the place of the last digit; where there is none, how many digits are written."""
    if alike is None or metric.spread.sd:
        return metric_place(metric.decimals, metric.spread.sd), PLAIN_DIGITS
    return alike.get((metric.name, metric.aggregate)), PRINT_DIGITS
