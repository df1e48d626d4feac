"""Take pictures of whole pages, to look at: python docs/make_screens.py FOLDER [PART OF A KIND'S NAME ...].

They are of the made-up facts of the tests, at the widths of a desktop, a tablet and a phone: in light colours as the
page opens, in dark ones with all that is folded. Needs chromium and chromedriver.
"""

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "tests" / "browser")]
sys.path[:0] = [str(ROOT / "tests" / "unit" / part) for part in ("report", "inference/comparison")]

import page_cases as pages  # noqa: E402
from browsing import Browser, start  # noqa: E402
from make_page_pictures import capture  # noqa: E402

WIDTHS = (1440, 1024, 390)

#: Pixels that a browser paints in one piece.
TALLEST = 16_000


def main() -> None:
    """Write the pictures, by kind, width and colours."""
    folder, parts = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    kinds = [kind for kind in pages.KINDS if not parts or any(part in kind for part in parts)]
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        sys.exit("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    with tempfile.TemporaryDirectory() as scratch:
        started = start(chromium, driver, Path(scratch) / "profile")
        try:
            browser = Browser(started, Path(scratch))
            for kind in kinds:
                for width in WIDTHS:
                    for scheme in ("light", "dark"):
                        browser.open(pages.page_of(kind), width=width, scheme=scheme)
                        if scheme == "dark":
                            browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
                        browser.draw_all()
                        height = min(TALLEST, browser.ask("document.documentElement.scrollHeight"))
                        path = folder / f"{kind.replace(' ', '-')}-{width}-{scheme}.png"
                        capture(browser, 0, width, height).save(path)
        finally:
            started.quit()


if __name__ == "__main__":
    main()
