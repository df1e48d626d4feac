"""Take the pictures of the report's page: python docs/make_page_pictures.py PROJECT EXPERIMENT.

They are of an experiment like the one that `make demo` makes of examples/digits_mlp. Needs chromium and chromedriver.
"""

import base64
import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image

from deviate import api
from deviate.report.writers.html.page import render_html

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "images"

sys.path.insert(0, str(ROOT / "tests" / "browser"))

from browsing import Browser, start  # noqa: E402

#: Name, section at the top, width and height in pixels of the page, and pixels of the picture for each of them.
SHOTS = (
    ("report-first.png", "", 1280, 820, 1),
    ("report-desktop.png", "", 1280, 2900, 1),
    ("report-phone.png", "distribution", 360, 780, 2),
)

#: Colours of a picture, as many as a palette holds.
COLOURS = 256


def shoot(browser: Browser, page: str, section: str, width: int, height: int, scale: int) -> Image.Image:
    """Return a picture of a part of a page."""
    browser.command("Emulation.setScrollbarsHidden", hidden=True)
    browser.open(page, width=width, height=height)
    browser.draw_all()
    top = browser.ask("document.getElementById(arguments[0])?.getBoundingClientRect().top ?? 0", section)
    return capture(browser, max(0, top - 16), width, height, scale)


def capture(browser: Browser, top: float, width: int, height: int, scale: int = 1) -> Image.Image:
    """Return a picture of what the page has from `top` on, beyond the window too."""
    clip = {"x": 0, "y": top, "width": width, "height": height, "scale": scale}
    data = browser.command("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"]
    return Image.open(io.BytesIO(base64.b64decode(data)))


def main() -> None:
    """Write the pictures."""
    project, name = sys.argv[1:]
    page = render_html(api.load(name, project=project).report().page())
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        sys.exit("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    with tempfile.TemporaryDirectory() as folder:
        started = start(chromium, driver, Path(folder) / "profile")
        try:
            browser = Browser(started, Path(folder))
            for picture, *shown in SHOTS:
                shot = shoot(browser, page, *shown).convert("RGB").quantize(COLOURS, kmeans=3)
                shot.save(PICTURES / picture, optimize=True)
        finally:
            started.quit()


if __name__ == "__main__":
    main()
