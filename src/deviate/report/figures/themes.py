"""Colours and sizes of figures, as data: charts hold none, so that one chart serves page, phone and paper."""

from __future__ import annotations

import textwrap
from typing import Any, Literal

from deviate.report.figures.figure import Figure

Theme = Literal["light", "dark", "print"]

#: Colours that readers with any kind of colour blindness tell apart [1]_, without the yellow, which is too faint for
#: a line on white. Charts never tell by colour alone: place, shape or dashes say the same.
#:
#: .. [1] M. Okabe and K. Ito, "Color universal design", 2008, https://jfly.uni-koeln.de/color/
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#555555")

#: The same, on a dark ground: blue lighter, yellow for grey.
ON_DARK = ("#56B4E9", "#E69F00", "#00B98A", "#E58FC0", "#4F9BE0", "#FF7A33", "#F0E442")

#: Colours of a heat map, whose largest values stand out from the ground.
PALE_FIRST, DARK_FIRST = "yellowgreenblue", "viridis"

#: Shapes and dashes by place of a variant; seven, so that colour, shape and dash together repeat after 42 only.
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 1])

#: Single-column width of most two-column papers: 3.4 in at 72 points an inch.
PAPER_WIDTH = 245

#: Mean width of a letter as a share of the size of its font.
LETTER = 0.6

_SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def _config(
    ink: str, soft: str, grid: str, ground: str, colours: tuple[str, ...], ramp: str, size: int, font: str
) -> dict[str, Any]:
    """Return a Vega-Lite configuration; `size` is that of labels, in pixels, `ramp` the colours of a heat map."""
    return {
        "background": ground,
        "font": font,
        "padding": 4 if ground == "transparent" else 2,
        "view": {"stroke": None},
        "axis": {
            "labelFontSize": size,
            "titleFontSize": size,
            "titleFontWeight": "normal",
            "labelColor": ink,
            "titleColor": ink,
            "domainColor": soft,
            "tickColor": soft,
            "gridColor": grid,
            "labelLimit": 160 if size > 9 else 90,
            "labelOverlap": True,
            "tickCount": 5,
        },
        "axisY": {"grid": True},
        "axisBand": {"grid": False, "domain": False, "ticks": False, "labelPadding": 6},
        "legend": {
            "labelFontSize": size,
            "titleFontSize": size,
            "labelColor": ink,
            "titleColor": ink,
            "titleFontWeight": "normal",
            "orient": "top",
            "direction": "horizontal",
            "columns": 3,
            "offset": 6,
            "symbolStrokeWidth": 2,
            "symbolSize": 60,
            "labelLimit": 160,
        },
        "title": {"fontSize": size + 2, "color": ink, "anchor": "start", "fontWeight": 600},
        "text": {"fontSize": size, "color": ink},
        "range": {"category": list(colours), "symbol": list(SHAPES), "heatmap": {"scheme": ramp}},
        "mark": {"color": colours[0]},
        # Marks of no variant: `ink` is as dark as text, `soft` is a hint.
        "style": {
            "ink": {"stroke": ink, "color": ink, "fill": ink},
            "ink-line": {"stroke": ink, "color": ink, "fill": None},
            "soft": {"stroke": soft, "color": soft, "fill": soft},
            "soft-text": {"fill": soft, "stroke": None, "fontSize": size},
        },
    }


THEMES: dict[Theme, dict[str, Any]] = {
    "light": _config("#1f2328", "#6a737d", "#e3e6ea", "transparent", OKABE_ITO, PALE_FIRST, 12, _SANS),
    "dark": _config("#e6edf3", "#9aa4af", "#333b45", "transparent", ON_DARK, DARK_FIRST, 12, _SANS),
    "print": _config(
        "#000000", "#595959", "#dddddd", "#ffffff", OKABE_ITO, PALE_FIRST, 8, "Helvetica, Arial, sans-serif"
    ),
}


def wrapped(title: str, width: int | None, size: int) -> list[str]:
    """Break a title into lines that fit a picture `width` pixels wide; one line where its width is not known.

    Examples
    --------
    >>> wrapped("How much test acc differs between runs", 200, 14)
    ['How much test acc', 'differs between runs']
    """
    return [title] if width is None else textwrap.wrap(title, max(int(width / (size * LETTER)), 8)) or [title]


def themed(figure: Figure, theme: Theme = "light", width: int | None = None, *, title: bool = False) -> dict[str, Any]:
    """Return the Vega-Lite specification of a figure, for a page or, as ``print``, for white paper with small print.

    `width` is of the whole picture, in pixels; left out, it fills what holds it, which needs a browser. `title`: write
    the title into the picture.
    """
    spec = dict(figure.spec)
    spec["config"] = THEMES[theme]
    spec["width"] = "container" if width is None else width
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    spec["description"] = figure.description
    if title:
        spec["title"] = wrapped(figure.title, width, THEMES[theme]["title"]["fontSize"])
    return spec
