"""The tables of a comparison: the means and the spreads of each metric, pair by pair."""

from __future__ import annotations

from deviate.contrast.multiplicity import CORRECTION_NAMES
from deviate.report.comparison.cells import Cells
from deviate.report.comparison.families import adjusted_as
from deviate.report.comparison.numbers import show_p
from deviate.report.comparison.pairing import pairing_sentences
from deviate.report.comparison.parts import Comparison, MetricComparison, PairComparison
from deviate.report.shown import show_level
from deviate.report.writers.html.section import Content, Page, Section
from deviate.report.writers.html.tables import Cell, Head, Table, heads, number


def _content(page: Page[Comparison]) -> Content:
    remarked = {warned.message for warned in page.said.warnings}
    pairs = page.said.pairs
    return {
        "pairs": [_pair(pair, page.said) for pair in pairs],
        "adjusted": adjusted_as(page.said),
        "pairing": [sentence for sentence in pairing_sentences(pairs) if sentence not in remarked],
    }


def _pair(pair: PairComparison, comparison: Comparison) -> dict[str, object]:
    return {
        "name": f"{pair.a} against {pair.b}",
        "means": _means(pair, comparison),
        "spreads": _spreads(pair, comparison),
    }


def _means(pair: PairComparison, comparison: Comparison) -> Table:
    ci = f"{show_level(comparison.level)} CI"
    p = f"p ({CORRECTION_NAMES[comparison.correction]})" if adjusted_as(comparison) else "p"
    names = heads("metric", "aggregate", "n", pair.a, pair.b, "difference", ci, p, words=2)
    return Table(
        caption=f"{pair.a} against {pair.b}: means ± SD, and the difference, first less second",
        heads=[*names, Head("verdict")],
        rows=[_means_row(metric, Cells(metric, pair)) for metric in pair.metrics],
    )


def _means_row(metric: MetricComparison, shown: Cells) -> list[Cell]:
    difference = metric.contrast.difference
    return [
        Cell(shown.name + shown.unit),
        Cell(shown.aggregate),
        number(shown.runs, metric.contrast.n_a),
        number(shown.a, metric.spread_a.mean),
        number(shown.b, metric.spread_b.mean),
        number(shown.difference, difference.value),
        number(shown.ci, difference.interval.low if difference.interval.known else None),
        number(shown.p, metric.p_adjusted),
        Cell(shown.verdict),
    ]


def _spreads(pair: PairComparison, comparison: Comparison) -> Table:
    ci = f"{show_level(comparison.level)} CI"
    return Table(
        caption=f"{pair.a} against {pair.b}: spread",
        heads=[*heads("metric", "SD ratio", ci, "p"), Head("verdict on the spread")],
        rows=[_spread_row(metric, Cells(metric, pair)) for metric in pair.metrics],
    )


def _spread_row(metric: MetricComparison, shown: Cells) -> list[Cell]:
    ratio = metric.contrast.sd_ratio
    return [
        Cell(shown.name),
        number(shown.ratio, ratio.value),
        number(shown.ratio_ci, ratio.interval.low if ratio.interval.known else None),
        number(show_p(metric.spread_p_adjusted), metric.spread_p_adjusted),
        Cell(shown.noisier),
    ]


SECTION = Section(slug="verdicts", title="Metric by metric", content=_content)
