"""Pieces of Vega-Lite that all figures are put together from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: The version of Vega-Lite that Altair 6 and vl-convert 1.8 know.
SCHEMA_URL = "https://vega.github.io/schema/vega-lite/v6.json"

Rows = Sequence[Mapping[str, Any]]


def chart(data: Mapping[str, Rows], layers: Sequence[Mapping[str, Any]], height: int, **more: Any) -> dict[str, Any]:
    """Return a chart of layers upon each other, the lowest first; `height` is of the axes, in pixels.

    `data` is what the layers, see `view`, draw, by the name they call it; `more` are further properties of the chart.
    """
    return {
        "$schema": SCHEMA_URL,
        "width": "container",
        "height": height,
        "datasets": {name: list(rows) for name, rows in data.items()},
        "layer": list(layers),
        **more,
    }


def view(
    data: str, mark: str, encoding: Mapping[str, Any], *, transform: Sequence[Any] = (), **look: Any
) -> dict[str, Any]:
    """Return one layer: the marks for the rows of `data`, with the properties `look`."""
    transformed = {"transform": list(transform)} if transform else {}
    return {"data": {"name": data}, **transformed, "mark": {"type": mark, **look}, "encoding": dict(encoding)}


def interval_views(
    data: str,
    rows: Rows,
    x: Mapping[str, Any],
    position: Mapping[str, Any],
    *,
    size: int = 9,
    **look: Any,
) -> list[dict[str, Any]]:
    """Draw intervals, see `scales.cut_interval`; an arrow and a number stand for an end that is beyond the axis."""
    known = only("isValid(datum.low) && isValid(datum.high)")
    line = {"x": number("from", **x), "x2": {"field": "to"}, **position}
    views = [view(data, "rule", line, transform=[known], strokeWidth=2, **look)]
    for end, at, side in (("low", "from", "left"), ("high", "to", "right")):
        cut, where = f"{end}_cut", {"x": number(at, **x), **position}
        mark = {"orient": "vertical", "thickness": 2, "size": size, **look}
        views.append(view(data, "tick", where, transform=[known, only(f"!isValid(datum.{cut})")], **mark))
        if any(cut in row for row in rows):
            beyond = [only(f"isValid(datum.{cut})")]
            arrow = {"shape": f"triangle-{side}", "size": 60, "opacity": 1, "filled": True, **look}
            words = {"x": number(at, **x), "y": position["y"], "text": word(cut)}
            words |= {"yOffset": position["yOffset"]} if "yOffset" in position else {}
            views.append(view(data, "point", where, transform=beyond, **arrow))
            # Clear of the name of the row, which stands before the axis.
            inward = 14 if side == "left" else -14
            views.append(view(data, "text", words, transform=beyond, style="soft-text", align=side, dx=inward, dy=-12))
    return views


def says_cut(rows: Rows) -> bool:
    """Tell whether an end of an interval is beyond the axis."""
    return any(not {"low_cut", "high_cut"}.isdisjoint(row) for row in rows)


def number(field: str, **more: Any) -> dict[str, Any]:
    """Encode a number."""
    return {"field": field, "type": "quantitative", **more}


def word(field: str, **more: Any) -> dict[str, Any]:
    """Encode a word."""
    return {"field": field, "type": "nominal", **more}


def tips(**titles: str) -> list[dict[str, Any]]:
    """Say what a tooltip shows: titles by field; a field of words begins with ``the_`` here."""
    return [
        word(field.removeprefix("the_"), title=title) if field.startswith("the_") else number(field, title=title)
        for field, title in titles.items()
    ]


def flattened(*fields: str) -> dict[str, Any]:
    """Make a row of each place in lists of one length: lists are a third of the size of rows."""
    return {"flatten": list(fields)}


def only(condition: str) -> dict[str, Any]:
    """Draw only the rows for which a Vega expression is true."""
    return {"filter": condition}
