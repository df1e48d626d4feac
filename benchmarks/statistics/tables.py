"""Make the tables of the documentation that come from simulations, and write them where they stand.

For example::

    python benchmarks/statistics/tables.py
    python benchmarks/statistics/tables.py --only looks,plans --repeats 2000

Each table stands between ``<!-- simulated: NAME -->`` and ``<!-- /simulated -->``, with what made it.
"""

from __future__ import annotations

import argparse
import importlib
import math
import re
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from simulation import REPEATS

DOCS = Path(__file__).parents[2] / "docs"

#: Simulations by the page that their tables stand on, in the order of the page.
PAGES = {
    "statistics.md": (
        "looks",
        "decided",
        "plans",
        "widths",
        "until",
        "comparisons",
        "repeated",
        "grid",
        "families",
        "groups",
        "unequal",
        "paired_spread",
        "coverage",
        "gate",
        "gate_groups",
    ),
    "gate.md": ("collapses",),
    "predictions-measures.md": ("clusters",),
}

SEED = 1


def main() -> None:
    """Simulate and write, one table after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--only", default="", help="names of simulations, joined by commas")
    options = parser.parse_args()
    only = [name for name in options.only.split(",") if name]
    unknown = set(only) - {name for names in PAGES.values() for name in names}
    if unknown:
        parser.error(f"no simulation is named {', '.join(sorted(unknown))}")
    for page, names in PAGES.items():
        for name in (name for name in names if not only or name in only):
            write(DOCS / page, name, options.repeats)


def write(page: Path, name: str, repeats: int) -> None:
    """Make the tables of one simulation and put them into their page."""
    module = importlib.import_module(name)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text, _ = module.simulate(np.random.default_rng(SEED), repeats)
    seconds = time.perf_counter() - started
    error = 196 * math.sqrt(0.05 * 0.95 / repeats)
    made = f"`python benchmarks/statistics/{name}.py`, {repeats:,} repeats: 5 % is known to ± {error:.1f} points."
    page.write_text(replaced(page.read_text("utf-8"), name, f"{made}\n\n{text}"), "utf-8")
    print(f"{name}: {seconds:.0f} s", file=sys.stderr, flush=True)


def replaced(page: str, name: str, text: str) -> str:
    """Return a page with the tables of one simulation exchanged."""
    begin, end = f"<!-- simulated: {name} -->", "<!-- /simulated -->"
    found, count = re.subn(
        f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: f"{begin}\n{text}\n{end}", page, flags=re.DOTALL
    )
    if count != 1:
        raise SystemExit(f"{name}: its place is in the page {count} times")
    return found


if __name__ == "__main__":
    main()
