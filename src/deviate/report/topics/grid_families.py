"""What a grid says beside the means: which factors change the SD, and which cells differ from the first."""

from __future__ import annotations

from deviate.facts.grid import Grid, GridMetric
from deviate.facts.grid_families import GridSpread
from deviate.report.numbers import Numbers, metric_place, show, show_effect, unit_text
from deviate.report.words import count, listed


def family_sentences(metric: GridMetric, grid: Grid) -> list[str]:
    """Say which factors change the SD, and which cells differ from the first; nothing where nothing is claimed."""
    if metric.withheld:
        return []
    return [*_spreads(metric, grid), *_against(metric)]


def _spreads(metric: GridMetric, grid: Grid) -> list[str]:
    shown = [_spread(each, metric, grid) for each in metric.spreads if each.shown]
    if shown:
        return [f"{text}." for text in shown]
    names = [each.effect.factor for each in metric.spreads]
    return [f"No factor is shown to change the SD: {_listed(names)}."] if names else []


def _spread(spread: GridSpread, metric: GridMetric, grid: Grid) -> str:
    effect, unit = spread.effect, unit_text(metric.unit)
    place = metric_place(metric.decimals, *effect.sds.values())
    high, low = (f"{show(effect.sds[name], place)}{unit} with {name}" for name in (effect.largest, effect.smallest))
    p = Numbers(grid.look.alpha).equal_p(spread.p_adjusted, "none", 1)
    return f"{effect.factor} changes the SD ({p} adjusted): {high}, {low}, ratio {show_effect(effect.ratio)}"


def _against(metric: GridMetric) -> list[str]:
    if not metric.against_first:
        return []
    called = {cell.experiment: cell.called for cell in metric.cells}
    shown = [called[each.experiment] for each in metric.against_first if each.shown]
    others = count(len(metric.against_first), "other")
    what = f"{len(shown)} of {others}" if shown else f"none of {others}"
    names = f": {_listed(shown)}" if shown else ""
    first = metric.cells[0].called
    return [f"If {first} is a baseline and no more is claimed, a difference from it is shown for {what}{names}."]


def _listed(names: list[str]) -> str:
    return listed(names, most=len(names))
