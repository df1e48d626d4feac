"""Run the simulations that the documentation speaks of, and write their tables, a file each.

For example::

    python benchmarks/statistics/tables.py
    python benchmarks/statistics/tables.py --only looks,plans --repeats 2000

Whoever runs one again reads the sentences that name it, in docs/statistics.md, docs/howto and
docs/predictions.md, against the new table.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from simulation import REPEATS

TABLES = Path(__file__).parent / "tables"

#: All but `predictions` and `class_floor`, which print their tables for other numbers of repeats.
NAMES = (
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
    "crossed",
    "unequal",
    "paired_spread",
    "coverage",
    "gate",
    "gate_groups",
    "gate_levels",
    "collapses",
    "clusters",
    "judge",
)

SEED = 1


def main() -> None:
    """Simulate and write, one table after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--only", default="", help="names of simulations, joined by commas")
    options = parser.parse_args()
    only = [name for name in options.only.split(",") if name]
    if unknown := set(only) - set(NAMES):
        parser.error(f"no simulation is named {', '.join(sorted(unknown))}")
    for name in only or NAMES:
        write(name, options.repeats)


def write(name: str, repeats: int) -> None:
    """Make the tables of one simulation and write their file."""
    module = importlib.import_module(name)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text, _ = module.simulate(np.random.default_rng(SEED), repeats)
    seconds = time.perf_counter() - started
    error = 196 * math.sqrt(0.05 * 0.95 / repeats)
    made = f"`python benchmarks/statistics/{name}.py`, {repeats:,} repeats: 5 % is known to ± {error:.1f} points."
    (TABLES / f"{name}.md").write_text(f"{made}\n\n{text}\n", "utf-8")
    print(f"{name}: {seconds:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
