"""How soon the page of an experiment with many runs and metrics is there in a browser, and how large it is.

    python benchmarks/report/open.py --runs 1000 --metrics 100

The page is that of `size.py`. Times are from the start of loading, medians over `--repeats`: until the browser has
loaded the page (tables can be read and sorted), until every chart that is shown is drawn, and how long it takes to draw
the charts of another metric. Needs chromium and chromedriver. Prints a table, and one JSON object with --json.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import size

from deviate.facts.curves import curves_of

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "browser"))

from browsing import Browser, start

LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd / 1000"

#: All charts that are shown have been drawn.
DRAWN = "[...document.querySelectorAll('.chart')].every(c => c.offsetParent === null || c.dataset.drawn)"

#: Chooses the last metric.
CHOOSE = """(() => {
  const select = document.querySelector('.picker select');
  select.selectedIndex = select.options.length - 1;
  select.dispatchEvent(new Event('change'));
})()"""


def page_of(runs: int, metrics: int, iterations: int) -> str:
    """Return the page of a generated experiment."""
    known = size.metrics_of(metrics)
    records = size.records_of(known, runs, iterations, size.VARIANTS[:1])
    facts = size.facts_of(known, records, iterations)
    return size.page_of(facts, curves_of(facts, size.by_run(records)))


def opened(browser: Browser, page: str) -> dict[str, float]:
    """Open the page and return seconds."""
    browser.open(page)
    browser.wait_for(DRAWN)
    drawn = browser.ask("performance.now() / 1000")
    found = {"loaded": browser.wait_for(LOADED), "charts drawn": drawn}
    begun = time.perf_counter()
    browser.ask(CHOOSE)
    browser.wait_for(DRAWN)
    return {**found, "other metric drawn": time.perf_counter() - begun}


def measure(page: str, repeats: int) -> dict[str, float]:
    """Return the median of each time."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        sys.exit("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        started = start(chromium, driver, place / "profile")
        try:
            browser = Browser(started, place)
            times = [opened(browser, page) for _ in range(repeats)]
        finally:
            started.quit()
    return {name: round(statistics.median(each[name] for each in times), 2) for name in times[0]}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--metrics", type=int, default=100)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    page = page_of(options.runs, options.metrics, options.iterations)
    found = {"runs": options.runs, "metrics": options.metrics, "megabytes": round(len(page.encode()) / 1e6, 2)}
    found |= {f"seconds until {name}": value for name, value in measure(page, options.repeats).items()}
    if options.json:
        json.dump(found, sys.stdout)
        return
    for name, value in found.items():
        print(f"{name:32} {value}")


if __name__ == "__main__":
    main()
