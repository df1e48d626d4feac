"""Why each verdict is what it is: the test that decides, all others beside it, and effects."""

from __future__ import annotations

from deviate.contrast.labels import TEST_NAMES
from deviate.report.comparison.cells import Cells
from deviate.report.comparison.numbers import show_p, show_statistic
from deviate.report.comparison.parts import Comparison, MetricComparison, PairComparison
from deviate.report.order import first_asked
from deviate.report.shown import UNKNOWN
from deviate.report.writers.html.section import Content, Page, Section
from deviate.report.writers.html.tables import Cell, Head, Table, heads, number


def _content(page: Page[Comparison]) -> Content:
    several = len(page.said.pairs) > 1
    return {
        "metrics": [_metric(metric, pair, several=several) for pair in page.said.pairs for metric in pair.metrics],
    }


def _metric(metric: MetricComparison, pair: PairComparison, *, several: bool) -> dict[str, object]:
    shown = Cells(metric, pair)
    about = f"{pair.a} against {pair.b}, " if several else ""
    return {
        "open": metric is first_asked(pair.metrics),
        "name": f"{about}{shown.name}: {shown.verdict}",
        "why": " ".join(metric.why),
        "why_noisier": " ".join(metric.why_noisier),
        "tests": _tests(metric, f"{about}{shown.name}: tests"),
        "effects": _effects(metric, shown, f"{about}{shown.name}: effects"),
    }


def _tests(metric: MetricComparison, caption: str) -> Table:
    found = metric.contrast
    deciding = (found.location.test, found.spread.test)
    return Table(
        caption=caption,
        heads=[*heads("test", "statistic", "p"), Head("how")],
        rows=[
            [
                Cell(TEST_NAMES[name] + (" (decides)" if name in deciding else "")),
                number(show_statistic(test), test.statistic),
                number(show_p(test.p), test.p),
                Cell(test.reason or test.method),
            ]
            for name, test in found.tests.items()
        ],
    )


def _effects(metric: MetricComparison, shown: Cells, caption: str) -> Table:
    found = metric.contrast
    effects = zip(shown.effects.items(), found.effects.values(), strict=True)
    rows = [[Cell(name), number(text, effect.value)] for (name, text), effect in effects]
    for name, order in (("first over second", found.a_over_b), ("second over first", found.b_over_a)):
        text = UNKNOWN if order.epsilon is None else f"{order.epsilon:.2g}"
        rows.append([Cell(f"almost stochastic order, {name}"), number(text, order.epsilon)])
    return Table(caption=caption, heads=heads("effect", "value (CI)"), rows=rows)


SECTION = Section(slug="tests", title="Which test decides, and all others", content=_content)
