"""Every metric of every variant with its statistics."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.report.order import ORDER
from deviate.report.parts import Document, MetricReport, VariantReport
from deviate.report.shown import Shown, show_level
from deviate.report.words import count
from deviate.report.writers.html.section import Content, Page, Section
from deviate.report.writers.html.tables import Cell, Table, heads, number


def _content(page: Page[Document]) -> Content:
    document = page.said
    told = [variant for variant in document.variants if variant.completed and variant.metrics]
    if not told:
        return None
    several = len(document.variants) > 1
    return {
        "order": f"{ORDER} A click on a column's name sorts by it.",
        "variants": [
            {
                "name": variant.variant if several else "",
                "table": metric_table(variant.metrics, document.level, _caption(variant)),
                "footnotes": variant.footnotes,
            }
            for variant in told
        ],
    }


def _caption(variant: VariantReport) -> str:
    return f"{variant.variant}: {count(len(variant.metrics), 'metric')} over {count(variant.completed, 'run')}"


def metric_table(metrics: Sequence[MetricReport], level: float, caption: str) -> Table:
    """Return the table of the metrics of one variant, in the order of the document."""
    share = show_level(level)
    names = ("metric", "aggregate", "n", "mean", "SD", "CV", "min", "max", "range", "median", "IQR")
    return Table(
        caption=caption,
        heads=heads(*names, f"{share} CI of the mean", f"{share} CI of the SD", words=2),
        rows=[_row(metric) for metric in metrics],
    )


def _row(metric: MetricReport) -> list[Cell]:
    shown, found = Shown(metric), metric.spread
    return [
        Cell(shown.name, remark=metric.site),
        Cell(shown.aggregate),
        number(shown.n, found.n),
        number(shown.mean, found.mean),
        number(shown.sd, found.sd),
        number(shown.cv, found.cv),
        number(shown.min, found.min),
        number(shown.max, found.max),
        number(shown.range, found.range),
        number(shown.median, found.median),
        number(shown.iqr, found.iqr),
        number(shown.ci_mean, metric.ci_mean.low if metric.ci_mean.known else None),
        number(shown.ci_sd, metric.ci_sd.low if metric.ci_sd.known else None),
    ]


SECTION = Section(slug="metrics", title="Metrics over runs", content=_content)
