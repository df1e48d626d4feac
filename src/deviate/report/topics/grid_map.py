"""The cells of a grid as maps, in text and as figures: means and SDs, and what the factors do to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from deviate.core.shell_words import typed_line
from deviate.facts.grid import Grid, GridCell, GridMetric, GridTerm
from deviate.report.escape import clean
from deviate.report.figures import Figure, chart, domain, quantity, slug, tips, view, word
from deviate.report.numbers import UNKNOWN, Numbers, mean_and_sd, metric_place, show, show_interval, show_level
from deviate.report.page import Cell, Column, Row, RunCard, Table
from deviate.report.topics.metrics import number
from deviate.report.words import count
from deviate.stats.factorial import ETA_LEVEL

#: Levels that stand side by side, and rows below each other, at most; other grids are lists.
MOST_SIDE_BY_SIDE, MOST_BELOW = 5, 8

#: How good a mean is between the worst and the best, in thirds; the best has the last.
SHADES = "░▒▓█"

#: Effects with a row each; of more, those that are shown.
EFFECTS_LISTED = 3


def mean_sd(cell: GridCell, metric: GridMetric) -> str:
    """Write mean ± SD of a cell, to the digit of all cells."""
    place = metric_place(metric.decimals, *(each.sd for each in metric.cells))
    if cell.mean is None:
        return UNKNOWN
    return mean_and_sd(cell.mean, cell.sd, place)


T = TypeVar("T")


class Laid(NamedTuple, Generic[T]):
    """The cells of a grid in rows and columns."""

    #: The factor whose levels stand side by side.
    across: str
    levels: list[str]
    #: What the rows are called.
    below: list[str]
    cells: dict[tuple[str, str], T]


def laid_out(
    cells: Sequence[tuple[T, Mapping[str, str]]], factors: Mapping[str, list[str]], most: tuple[int, int]
) -> Laid[T] | None:
    """Lay cells out by their settings, the factor with the fewest levels side by side.

    None where there are more than `most` each way, or but one row.
    """
    factors = {name: levels for name, levels in factors.items() if len(levels) > 1}
    across = min(reversed(factors), key=lambda name: len(factors[name]), default="")

    def row(settings: Mapping[str, str]) -> str:
        return ", ".join(f"{key} {settings[key]}" for key in factors if key != across)

    below = list(dict.fromkeys(row(settings) for _, settings in cells))
    if not across or len(factors[across]) > most[0] or not 1 < len(below) <= most[1]:
        return None
    placed = {(row(settings), settings[across]): cell for cell, settings in cells}
    return Laid(across, factors[across], below, placed)


def _laid(metric: GridMetric, grid: Grid, most: tuple[int, int]) -> Laid[GridCell] | None:
    return laid_out([(cell, cell.settings) for cell in metric.cells], grid.factors, most)


def grid_map(metric: GridMetric, grid: Grid) -> Table | None:
    """Return the map of one metric; None where there are too many cells for one, or but one row of them."""
    laid = _laid(metric, grid, (MOST_SIDE_BY_SIDE, MOST_BELOW))
    if laid is None:
        return None
    runs = {cell.n for cell in metric.cells}
    means = f"mean ± SD, {count(runs.pop(), 'run')}" if len(runs) == 1 else "mean ± SD"
    sds = f"SD [{show_level(metric.cells[0].ci_sd.level)} CI]"
    return Table(
        caption=metric.name,
        columns=[
            Column(head=f"{metric.name}\n", numeric=False),
            *_columns(means, laid.across, laid.levels, 1),
            *_columns(sds, laid.across, laid.levels, 2),
        ],
        rows=[
            Row(
                cells=[
                    Cell(name),
                    *(_mean_cell(laid.cells.get((name, level)), metric) for level in laid.levels),
                    *(_sd_cell(laid.cells.get((name, level)), metric) for level in laid.levels),
                ]
            )
            for name in laid.below
        ],
    )


# The same as figures: a page has room for more cells.

#: Levels side by side and rows below each other in a figure; pixels of a row.
FIGURE_ACROSS, FIGURE_BELOW, FIGURE_ROW = 8, 20, 56

#: Opacity of the smallest and the largest number: what stands on it stays readable.
PALE, FULL = 0.06, 0.6


def map_figures(metric: GridMetric, grid: Grid) -> list[Figure]:
    """Draw the means and the SDs of the cells as two maps; none where there are too many cells, or but one row."""
    laid = _laid(metric, grid, (FIGURE_ACROSS, FIGURE_BELOW))
    if laid is None:
        return []
    better = f" Higher is {'better' if metric.direction == 'higher' else 'worse'}." if metric.direction else ""
    means = {key: (cell.mean, mean_sd(cell, metric)) for key, cell in laid.cells.items()}
    sds = {key: (cell.sd, _sd_cell(cell, metric).text) for key, cell in laid.cells.items()}
    more = f" Dots: the runs of each cell, on one scale.{better}"
    return [_map(metric, laid, "mean", means, _runs(metric, laid, grid), more), _map(metric, laid, "SD", sds, [], "")]


def _runs(metric: GridMetric, laid: Laid[GridCell], grid: Grid) -> list[dict[str, Any]]:
    """Return the runs of each cell with their place across it: 0 is the smallest value of all cells, 1 the largest."""
    values = _values(metric, grid)
    every = [value for each in values.values() for value in each]
    low, high = min(every), max(every)
    # Halved before they are subtracted: the difference of two large floats may overflow.
    length = high / 2 - low / 2
    return [
        {
            "row": clean(row),
            "level": clean(level),
            "run": cell.experiment,
            "value": value,
            "lane": (value / 2 - low / 2) / length if length else 0.5,
        }
        for (row, level), cell in laid.cells.items()
        for value in values[cell.experiment]
    ]


def _values(metric: GridMetric, grid: Grid) -> dict[str, list[float]]:
    (measured,) = [match for match in grid.comparability.metrics if match[0].name == metric.name]
    return {cell.experiment: each.values for cell, each in zip(metric.cells, measured, strict=True)}


#: Digits of the values of a cell that is chosen.
CARD_DIGITS = 5


def cell_cards(grid: Grid) -> list[RunCard]:
    """Return what is shown of each cell that is chosen on a map: its runs in each metric, and how to open it."""
    facts: dict[str, list[tuple[str, str]]] = {}
    for metric in grid.metrics:
        values = _values(metric, grid)
        for cell in metric.cells:
            runs = ", ".join(show(float(f"{value:.{CARD_DIGITS}g}")) for value in values[cell.experiment])
            facts.setdefault(cell.experiment, []).append((metric.name, f"{mean_sd(cell, metric)}: {runs}"))
    return [
        RunCard(name=name, facts=[*pairs, ("Its report", typed_line(["deviate", "report", name]))])
        for name, pairs in facts.items()
    ]


#: Pixels by which the text of a cell stands above its middle, and its runs below.
_TEXT_ABOVE, _RUNS_BELOW = 9, 13


def _map(
    metric: GridMetric,
    laid: Laid[GridCell],
    what: str,
    shown: dict[tuple[str, str], tuple[float | None, str]],
    runs: list[dict[str, Any]],
    more: str,
) -> Figure:
    cells: list[dict[str, Any]] = [
        {
            "row": clean(row),
            "level": clean(level),
            "value": value,
            "text": text,
            "cell": clean(laid.cells[row, level].called),
            "run": laid.cells[row, level].experiment,
        }
        for (row, level), (value, text) in shown.items()
        if value is not None
    ]
    x = word(
        "level",
        title=clean(laid.across),
        sort=[clean(level) for level in laid.levels],
        axis={"orient": "top", "labelAngle": 0},
    )
    y = word("row", title=None, sort=[clean(name) for name in laid.below])
    ends = domain(each["value"] for each in cells)
    shade = quantity("value", scale={"domain": ends, "range": [PALE, FULL]}, legend=None)
    tip = tips(the_cell="cell", the_text="mean ± SD" if what == "mean" else what)
    named = ", ".join(f"{each['cell']}: {each['text']}" for each in cells)
    layers = [
        view("cells", "rect", {"x": x, "y": y, "opacity": shade, "tooltip": tip}),
        view("cells", "text", {"x": x, "y": y, "text": word("text")}, dy=-_TEXT_ABOVE if runs else 0),
    ]
    if runs:
        across = quantity("lane", scale={"domain": [-0.1, 1.1], "zero": False, "nice": False})
        at = {"x": x, "xOffset": across, "y": y}
        layers.append(view("runs", "point", at, style="ink", filled=True, size=14, opacity=0.7, yOffset=_RUNS_BELOW))
    return Figure(
        slug=slug("grid", what, metric.name),
        section="grid",
        title=f"{clean(metric.name)}: {what} of each cell",
        description=f"{named}.{more}",
        metric=metric.name,
        spec=chart(
            {"cells": cells, **({"runs": runs} if runs else {})},
            layers,
            FIGURE_ROW * len(laid.below),
            resolve={"scale": {"xOffset": "independent"}},
        ),
    )


def _columns(head: str, across: str, levels: Sequence[str], sacrifice: int) -> list[Column]:
    heads = [f"{head if not place else ''}\n{across} {level}" for place, level in enumerate(levels)]
    return [Column(head=each, numeric=False, sacrifice=sacrifice) for each in heads]


def _mean_cell(cell: GridCell | None, metric: GridMetric) -> Cell:
    """Return the mean of a cell with its shade; a star marks the best."""
    if cell is None or cell.mean is None:
        return Cell(UNKNOWN)
    shade, star = _shade(cell.mean, metric), " *" if cell.rank == 1 else ""
    place = metric_place(metric.decimals, *(each.sd for each in metric.cells))
    brief = f"{shade}{show(cell.mean, place)}{star}"
    return Cell(f"{shade}{mean_sd(cell, metric)}{star}", cell.mean, brief=brief)


def _shade(mean: float, metric: GridMetric) -> str:
    means = [cell.mean for cell in metric.cells if cell.mean is not None]
    low, high = min(means), max(means)
    if metric.direction is None or low == high:
        return ""
    share = (mean - low) / (high - low)
    share = share if metric.direction == "higher" else 1 - share
    return f"{SHADES[min(int(share * (len(SHADES) - 1)), len(SHADES) - 1)]} "


def _sd_cell(cell: GridCell | None, metric: GridMetric) -> Cell:
    if cell is None or cell.sd is None:
        return Cell(UNKNOWN)
    place = metric_place(metric.decimals, *(each.sd for each in metric.cells))
    ends = f" {show_interval(cell.ci_sd, place)}" if cell.ci_sd.known else ""
    return Cell(f"{show(cell.sd, place)}{ends}", cell.sd)


def effects_screen(metric: GridMetric, grid: Grid) -> Table | None:
    """Return what changes the mean, a row each; None where there is no analysis of variance."""
    if not metric.terms or metric.withheld:
        return None
    listed = metric.terms if len(metric.terms) <= EFFECTS_LISTED else [term for term in metric.terms if term.shown]
    left = [term.name for term in metric.terms if term not in listed]
    rows = [Row(cells=[Cell(term.name), Cell(_answer(term, grid)), _eta(term)]) for term in listed]
    rows += [Row(cells=[Cell("others"), Cell("not shown"), Cell("")])] if left else []
    return Table(
        caption=f"{metric.name}: effects",
        columns=[
            Column(head="changes the mean?", numeric=False),
            Column(head="", numeric=False),
            Column(head=f"partial η² [{show_level(ETA_LEVEL)}]", sacrifice=1),
        ],
        rows=rows,
        sentences=spread_sentence(metric, grid),
    )


def _answer(term: GridTerm, grid: Grid) -> str:
    p = Numbers(grid.look.alpha).equal_p(term.p_adjusted, "none", 1)
    return f"yes, {p}" if term.shown else f"not shown, {p}"


def _eta(term: GridTerm) -> Cell:
    effect = term.eta_squared
    ends = f" {show_interval(effect.interval, -2)}" if effect.interval.known else ""
    return number(f"{show(effect.value, -2)}{ends}", effect.value)


def spread_sentence(metric: GridMetric, grid: Grid) -> list[str]:
    """Say whether the SDs of the cells differ; nothing where that could not be tested."""
    p = metric.spread.p
    if p is None or metric.withheld:
        return []
    how = f"{Numbers(grid.look.alpha).equal_p(p, 'none', 1)}, Brown-Forsythe over {count(len(metric.cells), 'cell')}"
    if p > grid.look.alpha:
        return [f"changes the SD? not shown ({how})"]
    sds = {cell.called: cell.sd for cell in metric.cells if cell.sd is not None}
    most = max(sds, key=lambda name: sds[name])
    return [f"changes the SD? yes ({how}), largest with {most}"]
