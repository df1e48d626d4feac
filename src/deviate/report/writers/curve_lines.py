"""Learning curves for terminals: the median of the runs as a line of blocks, a row a metric and variant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.box import Box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from deviate.report.curves import Curves, MetricCurves, VariantCurves
from deviate.report.escape import clean
from deviate.report.shown import show
from deviate.report.words import count
from deviate.report.writers.blocks import block_line
from deviate.report.writers.metric_table import GAP, METRICS_SHOWN, NAME_WIDTH

#: Most cells of a curve; a wider one says no more to the eye.
CURVE_WIDTH = 40

#: Fewest cells of a curve, however narrow the terminal is.
LEAST_WIDTH = 8

#: Digits of the first and the last value: the curve itself has but eight levels.
_DIGITS = 4

_RULED = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")

#: Heads of the columns whose width depends on what is in them.
_HEADS = ("median curve", "first", "last")

_LEGEND = "Median of the runs by iteration, each metric on a scale of its own from its smallest to its largest median."


def curve_lines(curves: Curves, width: int) -> RenderableType | None:
    """Lay the median curves out as a table; None where no metric was reported more than once."""
    shown = curves.metrics[:METRICS_SHOWN]
    rows = [(metric, variant) for metric in shown for variant in metric.variants if variant.band.median]
    if not rows:
        return None
    several = any(len(metric.variants) > 1 for metric in shown)
    texts = [(_name(metric, variant, several), *_ends(variant)) for metric, variant in rows]
    taken = [GAP + max(map(cell_len, column)) for column in zip(_HEADS, *texts, strict=True)]
    room = width - min(taken[0], GAP + NAME_WIDTH) - sum(taken[1:]) - len("iterations")
    room = min(CURVE_WIDTH, max(LEAST_WIDTH, room - GAP))
    table = Table(box=_RULED, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0), border_style="dim")
    table.add_column(_HEADS[0], header_style="dim", overflow="fold", min_width=8)
    table.add_column(_HEADS[1], header_style="dim", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column(_HEADS[2], header_style="dim", justify="right", no_wrap=True)
    table.add_column("iterations", header_style="dim", justify="right", no_wrap=True)
    for (metric, variant), (name, first, last) in zip(rows, texts, strict=True):
        line = Text(_line(metric, variant, room), style="cyan")
        table.add_row(Text(clean(name)), first, line, last, Text(str(variant.longest), style="dim"))
    notes = [Text(_LEGEND, style="dim")]
    if len(curves.metrics) > len(shown):
        notes.append(Text(f"and {count(len(curves.metrics) - len(shown), 'more curve')}", style="dim"))
    return Group(table, *notes)


def _name(metric: MetricCurves, variant: VariantCurves, several: bool) -> str:
    unit = f" ({metric.unit})" if metric.unit else ""
    return f"{metric.metric}{unit}{f' {variant.variant}' if several else ''}"


def _ends(variant: VariantCurves) -> tuple[str, str]:
    return _rough(variant.band.median[0]), _rough(variant.band.median[-1])


def _rough(value: float) -> str:
    return show(float(f"{value:.{_DIGITS}g}"))


def _line(metric: MetricCurves, variant: VariantCurves, width: int) -> str:
    every = [value for each in metric.variants for value in each.band.median]
    low, high = min(every), max(every)
    if low == high:
        return block_line([0.0] * min(width, len(variant.band.median)))
    # Halved before they are subtracted: the difference of two large floats may overflow.
    heights = (np.asarray(variant.band.median) / 2 - low / 2) / (high / 2 - low / 2)
    return block_line(sampled(variant.band.iterations, heights, width))


def sampled(
    iterations: Sequence[int], heights: Sequence[float] | NDArray[np.float64], width: int
) -> NDArray[np.float64]:
    """Return the curve at `width` evenly spaced iterations, or as many as it has, from the first to the last.

    Parameters
    ----------
    iterations : sequence of int
        Rising.
    heights : sequence of float
        One an iteration.
    width : int
        At least 2.

    Returns
    -------
    ndarray, shape (min(width, len(iterations)),)
        Interpolated linearly between the iterations that were reported.

    Examples
    --------
    >>> [float(height) for height in sampled([0, 1, 4], [0.0, 1.0, 4.0], 3)]
    [0.0, 2.0, 4.0]
    """
    places = np.linspace(iterations[0], iterations[-1], min(width, len(iterations)))
    return np.interp(places, iterations, heights)
