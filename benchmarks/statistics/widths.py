"""How often the mean of as many runs as ``deviate plan --precision`` says lies within the width, by simulation.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/statistics/widths.py > widths.json

A pilot is drawn, its plan is made, and so many runs are drawn. Beside it: the runs that the SD of the pilot gives where
it is taken for the true one. Planned: 95 % of the means within half an SD of the true one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from plans import GRID
from populations import SHAPES, Population, two_modes
from simulation import percent, run, table

from deviate.stats.power import runs_for_precision

PILOTS = (5, 8, 16)

#: Half-width in SDs.
WIDTH = 0.5


def main() -> None:
    """Simulate, print the table and the JSON."""
    run(__doc__, simulate)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make the table."""
    rows = list(shares(rng, repeats))
    cells: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        for plan in ("`deviate plan`", "SD of the pilot alone"):
            cells.setdefault((row["data"], plan), []).append(f"{percent(row[plan][0])} ({row[plan][1]:.0f})")
    title = "### Means within the width (%), where 95 % are planned, and mean number of runs"
    return f"{title}\n\n{table(['data', 'plan'], [f'pilot of {n}' for n in PILOTS], cells)}", rows


def shares(rng: np.random.Generator, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield the share of means within the width, for each plan."""
    for population in (*SHAPES, two_modes(0.2)):
        for pilot in PILOTS:
            sds = population.draw(rng, (repeats, pilot)).std(axis=1, ddof=1) / population.sd
            rounded = np.maximum(np.exp(np.round(np.log(np.maximum(sds, 0.05)) / GRID) * GRID), 0.05)
            yield {
                "data": population.name, "pilot": pilot,
                "`deviate plan`": within(rng, population, [runs(sd, pilot - 1) for sd in rounded]),
                "SD of the pilot alone": within(rng, population, [runs(sd, None) for sd in rounded]),
            }  # fmt: skip


@cache
def runs(sd: float, freedom: int | None) -> int:
    """Return the runs that are made."""
    found = runs_for_precision(WIDTH / sd, 0.95, freedom)
    assert found is not None
    return found


def within(rng: np.random.Generator, population: Population, made: list[int]) -> tuple[float, float]:
    """Return the share of means within the width of the true one, and the mean number of runs."""
    sizes = np.array(made)
    found = 0
    for n in np.unique(sizes).tolist():
        means = population.draw(rng, (int((sizes == n).sum()), n)).mean(axis=1)
        found += int((np.abs(means - population.mean) <= WIDTH * population.sd).sum())
    return found / len(sizes), float(sizes.mean())


if __name__ == "__main__":
    main()
