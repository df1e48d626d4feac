"""Draw the README's picture from the experiment that `make demo` made: python docs/make_pictures.py."""

import os
from pathlib import Path

from rich.console import Console

import deviate
from deviate.report.writers.terminal import print_document

ROOT = Path(__file__).parents[1]

if __name__ == "__main__":
    document = deviate.load("train", project=ROOT / "examples" / "digits_mlp").document()
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=92, file=nowhere, force_terminal=True, color_system="truecolor")
        print_document(document, console)
    picture = ROOT / "docs" / "images" / "demo.svg"
    picture.parent.mkdir(exist_ok=True)
    # No font is fetched when the picture is shown: the reader's own monospace font does.
    svg = console.export_svg(title="deviate run -n 8 -- python train.py")
    start, end = svg.index("@font-face"), svg.rindex("@font-face")
    end = svg.index("}", end) + 1
    picture.write_text(svg[:start] + svg[end:].replace("Fira Code", "monospace"))
