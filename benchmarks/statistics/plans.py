"""How often comparisons with as many runs as ``deviate plan`` says show a difference that is there, by simulation.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/statistics/plans.py > plans.json

A pilot is drawn, its plan is made, so many runs of both sides are drawn with the planned difference, some of them fail,
and the deciding test is made, corrected for the number of claimed metrics. Beside it: the runs that the SD of the pilot
alone would give, with Student's test, as if nothing failed and nothing were corrected. Planned power: 80 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from populations import COLLAPSING, NORMAL, SHAPES, Population
from scipy import stats
from simulation import percent, run, table

from deviate.stats.power import planned_runs, runs_to_make
from deviate.stats.results import fewest_runs

ALPHA, POWER = 0.05, 0.8

#: Runs of the pilot; 0: the SD is known.
PILOTS = (0, 5, 8, 16, 30)

#: Difference that is planned for, in SDs.
DIFFERENCE = 1.0

#: What is planned for: claimed metrics, share of runs that fail, correlation within pairs.
CASES: dict[str, tuple[int, float, float | None]] = {
    "one metric": (1, 0.0, None),
    "4 metrics, Holm": (4, 0.0, None),
    "10 % of runs fail": (1, 0.1, None),
    "pairs, correlation 0.3": (1, 0.0, 0.3),
    "pairs, correlation 0.8": (1, 0.0, 0.8),
    "pairs, 4 metrics, 10 % fail": (4, 0.1, 0.8),
}

#: Plans are made for pilot SDs that are rounded to this share, so that equal ones are made once.
GRID = 0.02


def main() -> None:
    """Simulate, print the table and the JSON."""
    run(__doc__, simulate)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make the table."""
    rows = list(powers(rng, repeats))
    cells: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        for plan in ("`deviate plan`", "SD of the pilot alone"):
            text = f"{percent(row[plan][0])} ({row[plan][1]:.0f})"
            cells.setdefault((row["data"], row["case"], plan), []).append(text)
    heads = ["SD known", *(f"pilot of {n}" for n in PILOTS[1:])]
    title = "### Power that is reached (%), where 80 % is planned, and mean number of runs per recipe"
    return f"{title}\n\n{table(['data', 'planned for', 'plan'], heads, cells)}", rows


def powers(rng: np.random.Generator, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield the power that each plan reaches."""
    for population in (*SHAPES, COLLAPSING[1]):
        for case, (tests, lost, correlation) in CASES.items():
            if population is not NORMAL and case != "one metric":
                continue
            for pilot in PILOTS:
                sds = pilot_sds(rng, population, correlation, pilot, repeats)
                planned = np.array([planned_for(sd, case, pilot) for sd in sds])
                plain = np.array([alone(sd) for sd in sds])
                yield {
                    "data": population.name, "case": case, "pilot": pilot,
                    "`deviate plan`": shown(rng, population, planned, tests, lost, correlation),
                    "SD of the pilot alone": shown(rng, population, plain, tests, lost, correlation),
                }  # fmt: skip


def pilot_sds(
    rng: np.random.Generator, population: Population, correlation: float | None, pilot: int, repeats: int
) -> Any:
    """Return the SD that each pilot tells, in true SDs; of differences within pairs where there are any."""
    factor = 1.0 if correlation is None else math.sqrt(2 * (1 - correlation))
    if not pilot:
        return np.full(repeats, factor)
    a, b = drawn(rng, population, correlation, (repeats, pilot))
    values = a if correlation is None else a - b
    sds = values.std(axis=1, ddof=1) / population.sd
    # A pilot whose runs are all equal tells no SD, and `deviate plan` refuses it.
    return np.maximum(np.exp(np.round(np.log(np.maximum(sds, 0.05)) / GRID) * GRID), 0.05)


def drawn(
    rng: np.random.Generator, population: Population, correlation: float | None, shape: tuple[int, ...]
) -> tuple[Any, Any]:
    """Draw both sides, correlated where runs are paired."""
    a, b = population.draw(rng, shape), population.draw(rng, shape)
    return (a, b) if correlation is None else (a, correlation * a + math.sqrt(1 - correlation**2) * b)


@cache
def planned_for(sd: float, case: str, pilot: int) -> int:
    """Return the runs a side that are made."""
    tests, lost, correlation = CASES[case]
    freedom = pilot - 1 if pilot else None
    runs = planned_runs(DIFFERENCE / sd, ALPHA / tests, POWER, paired=correlation is not None, freedom=freedom)
    assert runs is not None
    return runs_to_make(max(runs, fewest_runs(ALPHA)), lost, paired=correlation is not None)


@cache
def alone(sd: float) -> int:
    """Return the runs that the SD alone gives."""
    return max(planned_runs(DIFFERENCE / sd, ALPHA, POWER) or 0, fewest_runs(ALPHA))


def shown(
    rng: np.random.Generator, population: Population, runs: Any, tests: int, lost: float, correlation: float | None
) -> tuple[float, float]:
    """Return the share of comparisons with so many runs that show the difference, and the mean number of runs."""
    found = 0
    for n in np.unique(runs).tolist():
        repeats = int((runs == n).sum())
        a, b = drawn(rng, population, correlation, (repeats, n))
        kept_a, kept_b = rng.random((2, repeats, n)) >= lost
        a = a + DIFFERENCE * population.sd
        p = welch(a, b, kept_a, kept_b) if correlation is None else one_sample(a - b, kept_a & kept_b)
        found += int((p <= ALPHA / tests).sum())
    return found / len(runs), float(runs.mean())


def welch(a: Any, b: Any, kept_a: Any, kept_b: Any) -> Any:
    """Return p of Welch's test of the values that are kept."""
    parts = [moments(a, kept_a), moments(b, kept_b)]
    test = stats.ttest_ind_from_stats(*parts[0], *parts[1], equal_var=False)
    return np.nan_to_num(test.pvalue, nan=1.0)


def one_sample(differences: Any, kept: Any) -> Any:
    """Return p of the t test of the differences that are kept."""
    mean, sd, n = moments(differences, kept)
    return np.nan_to_num(2 * stats.t.sf(np.abs(mean) / (sd / np.sqrt(n)), n - 1), nan=1.0)


def moments(values: Any, kept: Any) -> tuple[Any, Any, Any]:
    """Return mean, SD and number of the values that are kept, row by row."""
    n = kept.sum(axis=1)
    mean = (values * kept).sum(axis=1) / n
    return mean, np.sqrt((((values - mean[:, None]) * kept) ** 2).sum(axis=1) / (n - 1)), n


if __name__ == "__main__":
    main()
