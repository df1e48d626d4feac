"""Three or more experiments on a screen: a row each, beside the one that leads."""

from __future__ import annotations

from deviate.inference.comparison.comparison import Comparison
from deviate.inference.metric import MetricSpread
from deviate.report.numbers import Numbers, finest, show, show_difference
from deviate.report.page import Cell, Column, Row, Table
from deviate.report.pages.cells import number
from deviate.report.pages.comparison.rows import places_text
from deviate.report.text.comparison.cells import adjusted_text, mean_and_sd
from deviate.report.text.comparison.leading import Beside, main_sides, places, row_verdict, sides_beside

#: Names that are longer take several lines.
NAMES_FOLD_AT = 48


def sides_table(comparison: Comparison) -> Table:
    """Return one row an experiment on the main metric: its mean, its difference from the first row, and a verdict."""
    sides, beside = main_sides(comparison), {each.label: each for each in sides_beside(comparison)}
    digit = finest([side.spread.sd for side in sides.values()])
    level = Numbers(comparison.alpha).level()
    return Table(
        caption="",
        columns=[
            Column(head="experiment", numeric=False, fold_at=NAMES_FOLD_AT),
            Column(head="n", sacrifice=4, emphasis="quiet"),
            Column(head="mean ± SD", sacrifice=1),
            Column(head="− first row", sacrifice=5),
            Column(head=f"− first row, {level} CI", sacrifice=3, emphasis="quiet"),
            Column(head="p adj." if adjusted_text(comparison) else "p", sacrifice=6),
            Column(head="place", sacrifice=2),
            Column(head="verdict", numeric=False, emphasis="strong"),
        ],
        rows=[
            Row(cells=[*_side_cells(label, side, digit), *_beside_cells(beside.get(label), digit, label, comparison)])
            for label, side in sides.items()
        ],
    )


def _side_cells(label: str, side: MetricSpread, digit: int | None) -> list[Cell]:
    return [Cell(label), number(str(side.n), side.n), number(mean_and_sd(side.spread, digit), side.spread.mean)]


def _beside_cells(beside: Beside | None, digit: int | None, label: str, comparison: Comparison) -> list[Cell]:
    place = places(comparison).get(label)
    placed = Cell(places_text(place.lowest, place.highest, "–") if place else "")
    if beside is None:
        return [Cell(""), Cell(""), Cell(""), placed, Cell("")]
    metric, interval = beside.metric, beside.interval
    return [
        number(show(beside.difference, digit), beside.difference),
        number(show_difference(interval, digit), interval.low),
        number(Numbers(beside.pair.alpha).p(metric.p_adjusted), metric.p_adjusted),
        placed,
        Cell(row_verdict(beside)),
    ]
