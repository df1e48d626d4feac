"""What all simulations share: their arguments, their output, and tables in Markdown."""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

#: Tells a share of 5 % to ± 0.4 points.
REPEATS = 10_000

#: Makes the tables of a simulation, and what the JSON object holds.
Simulation = Callable[[np.random.Generator, int], tuple[str, Any]]

#: Makes the rows of a cell of a table, from so many repeats.
Cell = Callable[[np.random.Generator, int], Iterator[dict[str, Any]]]


def rows_of(cells: Iterable[Cell], rng: np.random.Generator, repeats: int) -> list[dict[str, Any]]:
    """Make the rows of all cells, each with a generator of its own."""
    listed = list(cells)
    return [row for cell, own in zip(listed, rng.spawn(len(listed)), strict=True) for row in cell(own, repeats)]


def run(doc: str, simulate: Simulation, repeats: int = REPEATS) -> None:
    """Simulate as the arguments say, print the tables on standard error and one JSON object on standard output."""
    parser = argparse.ArgumentParser(description=doc.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=repeats)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text, rows = simulate(np.random.default_rng(options.seed), options.repeats)
    print(text, file=sys.stderr)
    print(json.dumps({**vars(options), "seconds": round(time.perf_counter() - started, 1), "rows": rows}))


def table(heads: Sequence[str], columns: Sequence[object], rows: Mapping[tuple[str, ...], Iterable[str]]) -> str:
    """Lay cells out in Markdown: `heads` name the parts of a row's key, `columns` its cells."""
    lines = [
        f"| {' | '.join([*heads, *map(str, columns)])} |",
        "|" + "---|" * len(heads) + "---:|" * len(columns),
        *(f"| {' | '.join([*key, *cells])} |" for key, cells in rows.items()),
    ]
    return "\n".join(lines)


def percent(share: float) -> str:
    """Write a share in percent, to a tenth of a point."""
    return f"{100 * share:.1f}"
