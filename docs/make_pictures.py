"""Draw the pictures of the README and the tutorial from real runs: python docs/make_pictures.py [PROJECT].

They are of the experiment `digits_mlp` of PROJECT; by default of the one that `make demo` makes of examples/digits_mlp.
"""

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

import deviate
from deviate.report.writers.terminal import print_page

ROOT = Path(__file__).parents[1]
PROJECT = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "examples" / "digits_mlp"
PICTURES = ROOT / "docs" / "images"
WIDTH = 92

#: Figures of the experiment that pages show: name of the file that `--figures` writes, name of the picture.
FIGURES = {"curves-test-acc.svg": "tutorial-test-acc.svg"}


def draw_terminal() -> None:
    """Draw what `deviate run` prints."""
    page = deviate.load("digits_mlp", project=PROJECT).report(curves=False).page("screen")
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    print_page(page, Console(width=WIDTH, file=printed, force_terminal=True, color_system="truecolor"))
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        drawn = Console(record=True, width=WIDTH, file=nowhere)
        drawn.print(Text.from_ansi(printed.buffer.getvalue().decode()))
    svg = drawn.export_svg(title="deviate run -n 8 -- python train.py")
    # No font is fetched when the picture is shown: the reader's own monospace font does.
    start, end = svg.index("@font-face"), svg.index("}", svg.rindex("@font-face")) + 1
    (PICTURES / "demo.svg").write_text(svg[:start] + svg[end:].replace("Fira Code, ", ""))


def draw_figures() -> None:
    """Copy the figures that pages show out of those that `deviate report` writes."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["report", "digits_mlp", "--figures", folder, "--set", "figure_format=svg"]
        subprocess.run([sys.executable, "-m", "deviate", *command], cwd=PROJECT, check=True)
        for written, picture in FIGURES.items():
            shutil.copyfile(Path(folder) / written, PICTURES / picture)


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    draw_terminal()
    draw_figures()
