"""The numbers of a metric as text, all to the digit that its SD allows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from deviate.facts.metric import MetricSpread
from deviate.facts.sources import VariantSpread
from deviate.observe.metrics import TIME_PER_RUN
from deviate.report.numbers import PLAIN_DIGITS, finest, finest_by, last_place, show, show_interval, show_percent

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
        place, digits = _precision(measured.sd, metric.name, metric.aggregate, alike)

        def text(value: float | None) -> str:
            return show(value, place, digits)

        #: Write a value of the metric like its mean.
        self.of = text
        self.name = f"{metric.name} ({metric.unit})" if metric.unit else metric.name
        # The time of a run is one number already.
        self.aggregate = "" if metric.name == TIME_PER_RUN else metric.aggregate
        self.unit = f" {metric.unit}" if metric.unit else ""
        self.n = str(measured.n)
        self.mean, self.sd, self.cv = text(measured.mean), text(measured.sd), show_percent(measured.cv)
        self.min, self.max, self.range = text(measured.min), text(measured.max), text(measured.range)
        self.median, self.iqr = text(measured.median), text(measured.iqr)
        self.ci_mean, self.ci_sd = show_interval(metric.ci_mean, place), show_interval(metric.ci_sd, place)


class SpreadText:
    """How much the runs of one variant differ in a metric, as text.

    For print, `others` are the variants beside it, whose digits it takes where its own SD says nothing.
    """

    def __init__(self, row: VariantSpread, others: Sequence[VariantSpread] | None = None) -> None:
        place, digits = last_place(row.sd), PLAIN_DIGITS
        if others is not None and place is None:
            place, digits = finest(other.sd for other in others), PRINT_DIGITS
        self.n = str(row.n)
        self.mean, self.sd = show(row.mean, place, digits), show(row.sd, place, digits)
        self.ci_sd = show_interval(row.ci_sd, place)
        self.relative = show_percent(row.relative)


def places(metrics: Iterable[MetricSpread]) -> Places:
    """Return the last place worth showing of each metric by the variants in which its runs differ."""
    return finest_by(((metric.name, metric.aggregate), metric.spread.sd) for metric in metrics)


def _precision(sd: float | None, name: str, aggregate: str, alike: Places | None) -> tuple[int | None, int]:
    """Return the place of the last digit; where there is none, how many digits are written."""
    if alike is None or sd:
        return last_place(sd), PLAIN_DIGITS
    return alike.get((name, aggregate)), PRINT_DIGITS
