"""What all figures are put together from: pieces of Vega-Lite, axes, colours.

What a figure is: a chart with the words that go with it, and a name that every file system and every page takes.
"""

from __future__ import annotations

import math
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import numpy as np

from deviate.core.errors import NotInstalled
from deviate.report.escape import clean
from deviate.report.numbers import show
from deviate.store.files import write_whole

#: By module, the distribution that it is of; both are of the extra ``pages``.
DISTRIBUTIONS = {"altair": "altair", "vl_convert": "vl-convert-python"}


#: What to type to have charts.
WITHOUT_CHARTS = f"To have them, type: pip install {' '.join(DISTRIBUTIONS.values())}"


def drawing_module(name: str) -> Any:
    """Import a module of `DISTRIBUTIONS`.

    Raises NotInstalled if it is not installed; the hint has what to type.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name != name:
            raise
        raise NotInstalled(
            f"charts and figures need the package {DISTRIBUTIONS[name]!r}, which is not installed",
            hint=f"type: pip install {' '.join(DISTRIBUTIONS.values())}",
        ) from missing


Section = Literal["distribution", "curves", "factors", "comparison", "predictions", "weights", "gate", "plan", "grid"]

#: Characters of a slug, less what makes it unique.
LONGEST = 80


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One picture of a report."""

    #: Safe as a file name and as an HTML id, and unique in its list: ``distribution-test-acc``.
    slug: str
    section: Section
    title: str
    #: The numbers it shows in a sentence or two: a caption, and what a screen reader reads.
    description: str
    #: Empty where it is about no single metric.
    metric: str = ""
    #: Vega-Lite: one view or layers, as wide as what holds it, without the title, colours and sizes of a theme;
    #: `themes.themed` adds them. Plain data, because Altair takes a quarter of a second to build and check a chart, and
    #: a report may have hundreds.
    spec: dict[str, Any]

    @property
    def chart(self) -> Any:
        """The same as an Altair chart, checked against the schema of Vega-Lite."""
        alt = drawing_module("altair")
        return alt.Chart.from_dict({**self.spec, "description": self.description})


def slug(*words: str) -> str:
    """Join words to lower-case ASCII with hyphens.

    >>> slug("distribution", "test acc@1"), slug("curves", "потери"), slug("curves", "Précision")
    ('distribution-test-acc-1', 'curves', 'curves-precision')
    """
    text = unicodedata.normalize("NFKD", "-".join(words)).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", text)[:LONGEST].strip("-")


def unique(figures: Iterable[Figure]) -> list[Figure]:
    """Give each figure a slug of its own, numbering those alike: ``curves``, then ``curves-2``."""
    taken: set[str] = set()
    distinct = []
    for figure in figures:
        name, number = figure.slug, 2
        while name in taken:
            name, number = f"{figure.slug}-{number}", number + 1
        taken.add(name)
        distinct.append(figure if name == figure.slug else msgspec.structs.replace(figure, slug=name))
    return distinct


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
    data: str, rows: Rows, x: Mapping[str, Any], position: Mapping[str, Any], *, size: int = 9, **look: Any
) -> list[dict[str, Any]]:
    """Draw intervals, see `scales.cut_interval`; an arrow and a number stand for an end that is beyond the axis."""
    known = only("isValid(datum.low) && isValid(datum.high)")
    line = {"x": quantity("from", **x), "x2": {"field": "to"}, **position}
    views = [view(data, "rule", line, transform=[known], strokeWidth=2, **look)]
    for end, at, side in (("low", "from", "left"), ("high", "to", "right")):
        cut, where = f"{end}_cut", {"x": quantity(at, **x), **position}
        mark = {"orient": "vertical", "thickness": 2, "size": size, **look}
        views.append(view(data, "tick", where, transform=[known, only(f"!isValid(datum.{cut})")], **mark))
        if any(cut in row for row in rows):
            beyond = [only(f"isValid(datum.{cut})")]
            arrow = {"shape": f"triangle-{side}", "size": 60, "opacity": 1, "filled": True, **look}
            words = {"x": quantity(at, **x), "y": position["y"], "text": word(cut)}
            words |= {"yOffset": position["yOffset"]} if "yOffset" in position else {}
            views.append(view(data, "point", where, transform=beyond, **arrow))
            # Clear of the name of the row, which stands before the axis.
            inward = 14 if side == "left" else -14
            views.append(view(data, "text", words, transform=beyond, style="soft-text", align=side, dx=inward, dy=-12))
    return views


def says_cut(rows: Rows) -> bool:
    """Tell whether an end of an interval is beyond the axis."""
    return any(not {"low_cut", "high_cut"}.isdisjoint(row) for row in rows)


def quantity(field: str, **more: Any) -> dict[str, Any]:
    """Encode a number."""
    return {"field": field, "type": "quantitative", **more}


def word(field: str, **more: Any) -> dict[str, Any]:
    """Encode a word."""
    return {"field": field, "type": "nominal", **more}


def tips(**titles: str) -> list[dict[str, Any]]:
    """Say what a tooltip shows: titles by field; a field of words begins with ``the_`` here."""
    return [
        word(field.removeprefix("the_"), title=title) if field.startswith("the_") else quantity(field, title=title)
        for field, title in titles.items()
    ]


def flattened(*fields: str) -> dict[str, Any]:
    """Make a row of each place in lists of one length: lists are a third of the size of rows."""
    return {"flatten": list(fields)}


def only(condition: str) -> dict[str, Any]:
    """Draw only the rows for which a Vega expression is true."""
    return {"filter": condition}


# Colours and sizes of figures, as data: charts hold none, so that one chart serves page, phone and paper.

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


# Axes and colours that all figures share.

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

    >>> shared_keys(["lr=0.1,width=64", "lr=0.01,width=64"]), shared_keys(["algo", "lr=0.1"])
    (['lr', 'width'], [])
    """
    keys = {tuple(part.partition("=")[0] for part in name.split(",")) for name in names}
    paired = all("=" in part for name in names for part in name.split(","))
    return list(keys.pop()) if paired and len(keys) == 1 else []


def offset() -> dict[str, Any]:
    """Place marks within their row: `lane` is 0 at its top and 1 at its bottom."""
    return quantity("lane", scale={"domain": [0, 1], "zero": False, "nice": False})


def whole(field: str, title: str) -> dict[str, Any]:
    """Return an axis of whole numbers.

    No tick lies between two of them: of few there are no more ticks than steps, which `tickMinStep` alone does not
    bring about in layers.
    """
    ticks = {"expr": "max(1, min(5, domain('x')[1] - domain('x')[0]))"}
    return quantity(
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


# Figures as files.

FigureFormat = Literal["pdf", "svg", "png"]

FIGURE_FORMATS: tuple[FigureFormat, ...] = get_args(FigureFormat)

#: Dots of a PNG for each point of its size: 300 an inch in a single column.
DOTS = 300 / 72


def render_figure(figure: Figure, format_name: FigureFormat = "pdf", width: int = PAPER_WIDTH) -> bytes:
    """Return a figure as the bytes of a file, in the size and the fonts of a paper.

    PNG has 300 dots an inch; `width` is in points of 1/72 inch.
    """
    library = drawing_module("vl_convert")
    # Encoded by msgspec, which writes a number as Python does; NaN and infinities are not in a figure.
    spec: Any = msgspec.json.encode(themed(figure, "print", width)).decode()
    if format_name == "svg":
        return bytes(library.vegalite_to_svg(spec).encode())
    if format_name == "png":
        return bytes(library.vegalite_to_png(spec, scale=DOTS))
    return bytes(library.vegalite_to_pdf(spec))


def write_figures(figures: Sequence[Figure], folder: Path, format_name: FigureFormat = "pdf") -> Iterator[Path]:
    """Write each figure into `folder`, which is made, and yield what was written; old files of the name are replaced.

    Raises OSError if the folder or a file in it cannot be written. Raises NotInstalled if the package that draws is not
    installed; then nothing is written.
    """
    drawing_module("vl_convert")
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        path = folder / f"{figure.slug}.{format_name}"
        write_whole(path, render_figure(figure, format_name))
        yield path
