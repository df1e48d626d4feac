"""Axes and colours that all figures share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from deviate.report.escape import clean
from deviate.report.figures.themes import DASHES, LETTER, PAPER_WIDTH, SHAPES, THEMES
from deviate.report.figures.views import number, word
from deviate.report.numbers import show

#: Ends of an axis beyond which the length of the axis is no float.
_FARTHEST = 8e307

#: Share of the length of an axis that is left free at each end.
PADDING = 0.04

#: From this ratio of the largest to the smallest value on, a loss has a logarithmic axis.
LOG_RATIO = 100.0


#: Outside these magnitudes the numbers of an axis are written with an exponent.
PLAIN_FROM, PLAIN_BELOW = 1e-4, 1e6

#: Pixels of a line in a legend: in it the longest dash is seen to be one. Behind it and its label some are free.
LEGEND_LINE = 22
_GAP = 12

#: Letters of the name of a row for which there is room on a phone.
LONGEST_ROW = 22

#: A label such as ``lr=0.1,width=64`` without its keys.
_VALUES_ALONE = "replace(datum.label, regexp('[^,=]+=', 'g'), ' ')"

#: Ticks of a logarithmic axis.
MOST_DECADES = 8


def domain(values: Iterable[float | None]) -> list[float]:
    """Return the ends of an axis on which all finite values lie, with some room.

    Examples
    --------
    >>> domain([1.0, 3.0, None]), domain([5.0]), domain([])
    ([0.92, 3.08], [4.95, 5.05], [0.0, 1.0])
    """
    finite = [min(max(value, -_FARTHEST), _FARTHEST) for value in values if value is not None and math.isfinite(value)]
    if not finite:
        return [0.0, 1.0]
    low, high = min(finite), max(finite)
    room = (high - low) * PADDING if high > low else abs(low) * 0.01 or 1.0
    return [low - room, high + room]


def points_domain(points: Iterable[float | None], intervals: Iterable[float | None]) -> list[float]:
    """Return the ends of an axis on which all points lie, and intervals as far as they leave the points apart.

    The interval of two runs is so wide that on an axis as long the runs would lie upon each other: it may lengthen the
    axis at each end by half the length that the points take, and `interval_views` marks what is cut.

    Examples
    --------
    >>> points_domain([1.0, 2.0], [0.5, 2.5]), points_domain([1.0, 2.0], [-9.0, 2.5])
    ([0.42, 2.58], [0.42, 2.58])
    """
    known = [value for value in points if value is not None and math.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    if not low < high or not math.isfinite(high - low):
        return domain([*known, *intervals])
    room = (high - low) / 2
    within = [min(max(end, low - room), high + room) for end in intervals if end is not None]
    return domain([*known, *within])


def cut_interval(low: float | None, high: float | None, ends: Sequence[float], place: int | None) -> dict[str, Any]:
    """Return what `interval_views` draws of an interval on an axis from the one end to the other.

    An end that is cut has its number as text, down to the digit of weight ``10**place``.
    """
    if low is None or high is None:
        return {"low": low, "high": high}
    shown = {"low": low, "high": high, "from": max(low, ends[0]), "to": min(high, ends[1])}
    return {
        **shown,
        **({"low_cut": show(low, place)} if low < ends[0] else {}),
        **({"high_cut": show(high, place)} if high > ends[1] else {}),
    }


def wants_log(kind: str, values: Iterable[float | None]) -> bool:
    """Tell whether a loss falls so far that only a logarithmic axis shows its end."""
    finite = np.array([value for value in values if value is not None], dtype=float)
    return bool(kind == "loss" and finite.size and finite.min() > 0 and finite.max() / LOG_RATIO > finite.min())


def number_format(ends: Sequence[float]) -> dict[str, Any]:
    """Return how the numbers of an axis are written; nothing where Vega's own way is good.

    Vega writes 0.000000000001 in full. With an exponent it takes as many digits as the length of the axis asks for.

    Examples
    --------
    >>> number_format([1e12, 1.01e12]), number_format([96.0, 97.0])
    ({'format': '.5~g'}, {})
    """
    largest = max(map(abs, ends))
    if largest == 0 or PLAIN_FROM <= largest < PLAIN_BELOW:
        return {}
    length = ends[1] / largest - ends[0] / largest
    return {"format": f".{2 + max(math.ceil(-math.log10(length)), 0) if length else 6}~g"}


def quantitative(ends: Sequence[float], title: str, **axis: Any) -> dict[str, Any]:
    """Return scale, axis and title of an axis from the one end to the other."""
    return {
        "scale": {"domain": list(ends), "nice": False, "zero": False},
        "axis": {**number_format(ends), **axis},
        "title": title,
    }


def decades(values: Iterable[float | None]) -> list[float]:
    """Return the powers of ten between the smallest and the largest positive value: the ticks of a logarithmic axis.

    Examples
    --------
    >>> decades([0.02, 30.0])
    [0.1, 1.0, 10.0]
    """
    positive = [value for value in values if value is not None and value > 0]
    if not positive:
        return []
    first, last = math.ceil(math.log10(min(positive))), math.floor(math.log10(max(positive)))
    step = max(-(-(last - first) // MOST_DECADES), 1)
    return [float(f"1e{power}") for power in range(first, last + 1, step)]


def axis_title(name: str, unit: str = "", remark: str = "") -> str:
    """Name a quantity with its unit.

    Examples
    --------
    >>> axis_title("time per run", "s"), axis_title("loss", remark="log scale")
    ('time per run (s)', 'loss (log scale)')
    """
    inside = ", ".join(part for part in (clean(unit), remark) if part)
    return f"{clean(name)} ({inside})" if inside else clean(name)


def coloured(variants: Sequence[str], named: Sequence[str] = (), symbol: str = "stroke") -> dict[str, Any]:
    """Give each variant the same colour in every figure; those `named` are in the legend, of two or more.

    All layers of a chart must ask for the same legend: one that asks for none takes it from the others.
    """
    return word("variant", scale={"domain": list(variants)}, legend=_legend(named, symbol))


#: The first colour for every mark: some kinds of marks are black where they have none.
ONE_COLOUR: dict[str, Any] = {"datum": "run", "type": "nominal", "scale": {"domain": ["run"]}, "legend": None}


def shaped(variants: Sequence[str]) -> dict[str, Any]:
    """Give each variant a shape."""
    return word("variant", scale={"domain": list(variants), "range": _cycled(SHAPES, variants)}, legend=None)


def dashed(variants: Sequence[str], named: Sequence[str] = ()) -> dict[str, Any]:
    """Give each variant a dash; the legend as for `coloured`."""
    scale = {"domain": list(variants), "range": _cycled(DASHES, variants)}
    return word("variant", scale=scale, legend=_legend(named, "stroke"))


def rows(names: Sequence[str], field: str = "variant") -> dict[str, Any]:
    """Return an axis with a row for each name, in their order; long names of cells are those of their values alone."""
    keys = shared_keys(names) if any(len(name) > LONGEST_ROW for name in names) else []
    axis = {"axis": {"labelExpr": _VALUES_ALONE}} if keys else {}
    return word(field, sort=None, scale={"domain": list(names)}, title=", ".join(keys) or None, **axis)


def shared_keys(names: Sequence[str]) -> list[str]:
    """Return the keys of cells of a grid; none where the names are no cells, or cells of several grids.

    Examples
    --------
    >>> shared_keys(["lr=0.1,width=64", "lr=0.01,width=64"]), shared_keys(["algo", "lr=0.1"])
    (['lr', 'width'], [])
    """
    keys = {tuple(part.partition("=")[0] for part in name.split(",")) for name in names}
    paired = all("=" in part for name in names for part in name.split(","))
    return list(keys.pop()) if paired and len(keys) == 1 else []


def offset() -> dict[str, Any]:
    """Place marks within their row: `lane` is 0 at its top and 1 at its bottom."""
    return number("lane", scale={"domain": [0, 1], "zero": False, "nice": False})


def whole(field: str, title: str) -> dict[str, Any]:
    """Return an axis of whole numbers.

    No tick lies between two of them: of few there are no more ticks than steps, which `tickMinStep` alone does not
    bring about in layers.
    """
    ticks = {"expr": "max(1, min(5, domain('x')[1] - domain('x')[0]))"}
    return number(
        field,
        title=title,
        scale={"zero": False, "nice": False},
        axis={"tickMinStep": 1, "format": ",d", "tickCount": ticks},
    )


def _cycled(values: Sequence[Any], variants: Sequence[str]) -> list[Any]:
    return [values[index % len(values)] for index in range(len(variants))]


def _legend(named: Sequence[str], symbol: str) -> dict[str, Any] | None:
    if len(named) < 2:
        return None
    # Without the faintness of what is drawn.
    look = {"symbolType": symbol, "symbolSize": LEGEND_LINE**2, "symbolOpacity": 1, "symbolStrokeWidth": 2.2}
    # A row is as high as its line is long, were it not for the padding.
    return {"title": None, "values": list(named), "columns": _columns(named), "rowPadding": 12 - LEGEND_LINE, **look}


def _columns(names: Sequence[str]) -> int:
    """Return how many entries of a legend stand beside each other in a column of a paper."""
    entry = LEGEND_LINE + _GAP + LETTER * THEMES["print"]["legend"]["labelFontSize"] * max(map(len, names))
    return max(1, min(3, int(PAPER_WIDTH / entry)))
