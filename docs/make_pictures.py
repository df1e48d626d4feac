"""Draw the README's picture from the experiment that `make demo` made: python docs/make_pictures.py."""

import io
import os
from pathlib import Path

from rich.console import Console
from rich.text import Text

import deviate
from deviate.report.writers.terminal import print_document

ROOT = Path(__file__).parents[1]
WIDTH = 92

if __name__ == "__main__":
    document = deviate.load("train", project=ROOT / "examples" / "digits_mlp").document()
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    print_document(document, Console(width=WIDTH, file=printed, force_terminal=True, color_system="truecolor"))
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        drawn = Console(record=True, width=WIDTH, file=nowhere)
        drawn.print(Text.from_ansi(printed.buffer.getvalue().decode()))
    svg = drawn.export_svg(title="deviate run -n 8 -- python train.py")
    # No font is fetched when the picture is shown: the reader's own monospace font does.
    start, end = svg.index("@font-face"), svg.index("}", svg.rindex("@font-face")) + 1
    picture = ROOT / "docs" / "images" / "demo.svg"
    picture.parent.mkdir(exist_ok=True)
    picture.write_text(svg[:start] + svg[end:].replace("Fira Code, ", ""))
