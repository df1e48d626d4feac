"""Figures as files, without a browser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from deviate.report.drawing import drawing_module
from deviate.report.figures.charts import PAPER_WIDTH, themed
from deviate.report.figures.figure import Figure
from deviate.store.files import write_whole

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

    Raises
    ------
    OSError
        If the folder or a file in it cannot be written.
    NotInstalled
        If the package that draws is not installed; then nothing is written.
    """
    drawing_module("vl_convert")
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        path = folder / f"{figure.slug}.{format_name}"
        write_whole(path, render_figure(figure, format_name))
        yield path
