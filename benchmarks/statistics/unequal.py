"""How often one recipe is called other than itself, by numbers of runs, numbers of metrics, and shape of the values.

Prints tables on standard error and one JSON object on standard output::

    python benchmarks/statistics/unequal.py --repeats 1000 > unequal.json

Both sides are drawn from one population; metrics are independent, and their tests adjusted by Holm's method, of whose
steps the first one decides whether anything is claimed. Beside what Deviate does stands the test without permutations.
1,000 repeats of 20 metrics (20,000 of one) tell 5 % to ±1.4 (±0.3). The table of shown spreads is of one metric of the
family whose SD is three times as large on one side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from populations import COLLAPSING, SHAPES, two_modes
from scipy import stats
from simulation import percent, run, table

from deviate.stats.contrast import contrast
from deviate.stats.tests import NOTHING, RESAMPLES, are_unequal, is_permuted

ALPHA = 0.05

RUNS = ((5, 5), (8, 8), (20, 20), (5, 8), (5, 20), (8, 30), (5, 30), (10, 40))

#: Metrics of a family.
FAMILIES = (1, 4, 20)

POPULATIONS = (*SHAPES, *COLLAPSING, two_modes(0.5), two_modes(0.8))

#: Arrangements drawn, samples permuted at a time, and samples of each cell that are also put through the library.
DRAWN, CHUNK, CHECKED = 4999, 100, 5

#: p of many samples, shapes ``(samples, n_a)`` and ``(samples, n_b)``.
Test = Callable[[Any, Any], Any]


def main() -> None:
    """Simulate, print the tables and the JSON."""
    run(__doc__, simulate, repeats=1000)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make both tables."""
    rows = [row for population in POPULATIONS for runs in RUNS for row in shares(population, runs, rng, repeats)]
    parts = []
    for what in dict.fromkeys(row["what"] for row in rows):
        cells: dict[tuple[str, ...], list[str]] = {}
        for row in rows:
            if row["what"] == what:
                text = " · ".join(f"{percent(alone)} → {percent(given)}" for alone, given in row["shares"])
                cells.setdefault((row["population"],), []).append(text)
        columns = [f"{n}, {m}" for n, m in RUNS if (not what.startswith("shown") and "paired" not in what) or n == m]
        parts.append(
            f"### {what} (% with 1 · 4 · 20 metrics, without → with permutations)\n\n" + table(["data"], columns, cells)
        )
    return "\n\n".join(parts), rows


def shares(population: Any, runs: tuple[int, int], rng: np.random.Generator, repeats: int) -> list[dict[str, Any]]:
    """Return the shares of families in which anything is claimed."""
    n, m = runs
    a, b = (population.draw(rng, (repeats * max(FAMILIES), size)) for size in runs)
    means = given(a, b, welch, welch_statistics, rng, when=are_unequal)
    spreads = given(a, b, brown_forsythe, spread_statistics, rng, when=is_permuted)
    check(a, b, means[1], spreads[1])
    found = [("means", means), ("spread", spreads)]
    if n == m:
        found.append(("means, paired", (paired := stats.ttest_rel(a, b, axis=1).pvalue, paired)))
        spread_out = population.mean + 3 * (a - population.mean)
        apart = given(spread_out, b, brown_forsythe, spread_statistics, rng, when=is_permuted)
        power = [tuple(float(np.mean(ps <= ALPHA / size)) for ps in apart) for size in FAMILIES]
        extra = [
            {"what": "shown spreads three times as large", "population": population.name, "runs": runs, "shares": power}
        ]
    else:
        extra = []
    return extra + [
        {"what": f"false claims of {what}", "population": population.name, "runs": runs,
         "shares": [tuple(claims(ps, size) for ps in both) for size in FAMILIES]}
        for what, both in found
    ]  # fmt: skip


def claims(ps: Any, size: int) -> float:
    """Return the share of families of so many metrics with a claim."""
    known = np.nan_to_num(ps, nan=1.0)
    return float(np.mean(known.reshape(-1, size).min(axis=1) * size <= ALPHA))


def given(
    a: Any,
    b: Any,
    test: Test,
    statistics: Any,
    rng: np.random.Generator,
    *,
    when: Callable[[int, int], bool],
    most: float = ALPHA,
) -> tuple[Any, Any]:
    """Return p of a test alone, and the larger of it and of the permutations, as Deviate has it.

    Permuted are the samples whose p alone is `most` or less.
    """
    alone = np.nan_to_num(test(a, b), nan=1.0)
    both = alone.copy()
    if when(a.shape[1], b.shape[1]):
        order = rng.permuted(np.tile(np.arange(a.shape[1] + b.shape[1]), (DRAWN, 1)), axis=1)
        asked = np.flatnonzero(alone <= most)
        for chosen in np.array_split(asked, len(asked) // CHUNK + 1):
            if chosen.size:
                both[chosen] = np.maximum(alone[chosen], permuted(a[chosen], b[chosen], statistics, order))
    return alone, both


def permuted(a: Any, b: Any, statistics: Any, order: Any) -> Any:
    """Return twice the smaller one-sided p of the statistic over random arrangements, the same ones for all samples."""
    values = np.concatenate([a, b], axis=1)
    values = values - values.mean(axis=1, keepdims=True)
    values = values / np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e-300)
    seen = statistics(values[:, None, :], a.shape[1])
    found = []
    for row, observed in zip(values, seen[:, 0], strict=True):
        arranged = statistics(row[order], a.shape[1])
        rounding = 1e-9 * max(1.0, abs(observed))
        sides = (np.sum(arranged >= observed - rounding), np.sum(arranged <= observed + rounding))
        found.append(min(1.0, 2 * (min(sides) + 1) / (DRAWN + 1)))
    return np.array(found)


def welch(a: Any, b: Any) -> Any:
    """Give p of Welch's test."""
    return stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue


def welch_statistics(values: Any, n: int) -> Any:
    """Give t of arranged values, the first n of which are one side; large where both sides are constant."""
    a, b = values[..., :n], values[..., n:]
    error = a.var(axis=-1, ddof=1) / n + b.var(axis=-1, ddof=1) / b.shape[-1]
    return limited(a.mean(axis=-1) - b.mean(axis=-1), error)


def limited(gaps: Any, squared_errors: Any) -> Any:
    """Divide by standard errors; what has none is as large as all others that have none."""
    endless = np.where(np.abs(gaps) > NOTHING, np.sign(gaps) * 1e9, 0.0)
    return np.where(squared_errors > NOTHING, gaps / np.sqrt(np.maximum(squared_errors, NOTHING)), endless)


def brown_forsythe(a: Any, b: Any) -> Any:
    """Give p of the Brown-Forsythe test."""
    return stats.f_oneway(*(np.abs(x - np.median(x, axis=1, keepdims=True)) for x in (a, b)), axis=1).pvalue


def spread_statistics(values: Any, n: int) -> Any:
    """Give its statistic, with a sign, of arranged values."""
    a, b = (np.abs(x - np.median(x, axis=-1, keepdims=True)) for x in (values[..., :n], values[..., n:]))
    m = b.shape[-1]
    within = (a.var(axis=-1) * n + b.var(axis=-1) * m) / (n + m - 2) * (1 / n + 1 / m)
    return limited(a.mean(axis=-1) - b.mean(axis=-1), within)


def check(a: Any, b: Any, means: Any, spreads: Any) -> None:
    """End the program where the library's p is another one than random arrangements allow."""
    asked = np.flatnonzero((means <= ALPHA) | (spreads <= ALPHA))[:CHECKED]
    for place in asked:
        found = contrast(a[place], b[place], np.random.default_rng(0))
        for p, known in ((found.p, means[place]), (found.tests[found.spread.test].p, spreads[place])):
            if known <= ALPHA:
                is_near(p, known)


def is_near(p: float | None, known: float) -> None:
    """End the program where two p are farther apart than random arrangements allow; both are twice a share of them."""
    room = 8 * np.sqrt(2 * known * (1 / DRAWN + 1 / RESAMPLES))
    assert p is not None, known
    assert abs(p - known) <= room, (p, known)


if __name__ == "__main__":
    main()
