"""Take the right halves of the pictures in decisions/first-screens.md anew: python docs/make_first_screens.py FOLDER.

The left halves show the first screens of an earlier version, so they stay. FOLDER has examples/numpy_loop/spirals.py
and its experiments `baseline` (`-n 8`), `slower` (`-n 8`, with `lr` 0.1 in the script) and `why` (`-n 5 --vary arms
--vary sources`): the same runs as on the left.
Needs chromium and chromedriver.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from make_page_pictures import COLOURS, PICTURES, Browser, capture, start
from PIL import Image

from deviate import api
from deviate.report.page import Page
from deviate.report.writers.html.page import render_html

#: Pixels of a half and of what parts the two, and of the page that a half shows.
HALF, GAP, SCREEN = (860, 573), 20, (1290, 860)


def pages() -> Iterator[tuple[str, Page]]:
    """Yield each page with the name of its picture."""
    yield "report", api.load("baseline").report().page()
    yield "why", api.load("why").report().page()
    yield "compare", api.compare("baseline", "slower").page()
    yield "gate", api.check("slower", "baseline", {"test acc": 0.5}).page()
    yield "plan", api.plan("baseline", metric="test acc", difference=0.5).page()
    yield "audit", api.audit("python spirals.py").page()


def main() -> None:
    """Replace the right half of each picture."""
    os.chdir(sys.argv[1])
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        sys.exit("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    with tempfile.TemporaryDirectory() as folder:
        started = start(chromium, driver, Path(folder) / "profile")
        try:
            browser = Browser(started, Path(folder))
            browser.command("Emulation.setScrollbarsHidden", hidden=True)
            for name, page in pages():
                width, height = SCREEN
                browser.open(render_html(page), width=width, height=height)
                browser.draw_all()
                picture = Image.open(PICTURES / f"screens-{name}.png").convert("RGB")
                half = capture(browser, 0, width, height).convert("RGB").resize(HALF, Image.Resampling.LANCZOS)
                picture.paste(half, (HALF[0] + GAP, 0))
                picture.quantize(COLOURS, kmeans=3).save(PICTURES / f"screens-{name}.png", optimize=True)
        finally:
            started.quit()


if __name__ == "__main__":
    main()
