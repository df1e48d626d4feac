"""How often ``deviate check`` makes a wrong claim, by numbers of runs, numbers of metrics, and shape of the values.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/statistics/gate_levels.py > gate_levels.json

The candidate is as much worse as is allowed, in each metric; metrics are independent. Wrong are ``worse`` (adjusted by
Holm's method over the metrics of a check; or of any of twenty checks of a metric each, as later claims), and ``not
worse``, of one metric, with the rule that a candidate that lost more of its runs does not pass, and with
``--max-failures 100%``, which judges the runs that did not collapse. Which runs collapsed, and the p of their
permutations, are the library's.
2,000 repeats of four metrics (of one: four times as many; of twenty: a fifth) tell 5 % to ±1.0 (0.5, 2.1). Series of
twenty checks are drawn from the p of all single ones, which their first check decides most of.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from collapses import side
from populations import COLLAPSING, HEAVY, NORMAL, Population, accuracy, lognormal, two_modes
from scipy import special
from simulation import Cell, percent, rows_of, run, table
from unequal import one_by_one

from deviate.core.experiment import Direction
from deviate.facts.comparison_options import Drop, GateOptions
from deviate.facts.gate import check_side
from deviate.stats.failures import collapsed_runs, far_from_others
from deviate.stats.results import fewest_runs
from deviate.stats.tests import test_of_means

ALPHA = 0.05

#: Runs of the candidate and of the baseline.
RUNS = ((5, 5), (8, 8), (20, 20), (5, 20), (20, 5), (8, 30), (5, 30), (30, 5), (10, 40))

#: Metrics of a check, and of as many repeats as there are; twenty take five repeats.
METRICS, MANY = 4, 20

#: Populations, which of their values are better, and the drop that is allowed, in their unit.
CASES: tuple[tuple[Population, Direction, float], ...] = (
    *((each, "higher", each.sd) for each in (NORMAL, HEAVY, accuracy(1000, 0.97), accuracy(100, 0.99))),
    *((each, way, each.sd)
      for each in (lognormal(0.5, "skewed (lognormal, 0.5)"), lognormal(1, "very skewed (lognormal, 1)"))
      for way in ("higher", "lower")),
    *((each, "higher", 0.3) for each in COLLAPSING),
    (two_modes(0.5), "higher", 1.0),
    (two_modes(0.8), "higher", 1.0),
    (two_modes(0.8), "lower", 1.0),
)  # fmt: skip

#: Samples of each cell that the whole check is made of.
CHECKED = 5


def main() -> None:
    """Simulate, print the table and the JSON."""
    run(__doc__, simulate, repeats=2000)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make the table; each cell has a generator of its own."""
    rows = rows_of(all_cells(), rng, repeats)
    return laid_out(rows), rows


def all_cells() -> Iterator[Cell]:
    """Yield what makes the row of each cell."""
    return (partial(shares, *case, runs) for case in CASES for runs in RUNS)


def shares(
    population: Population, better: Direction, allowed: float, runs: tuple[int, int],
    rng: np.random.Generator, repeats: int,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the row of a cell."""
    a, b = (population.draw(rng, (repeats * METRICS, size)) for size in runs)
    sign = 1 if better == "higher" else -1
    # Higher is better from here on, and the limit is moved instead of the candidate.
    a, b = sign * a - allowed, sign * b
    found = [judged(x, y, allowed) for x, y in zip(a, b, strict=True)]
    for k in range(CHECKED):
        check(a[k], b[k], allowed, found[k])
    worse, passes, kept = np.array(found).T
    families = worse.reshape(-1, METRICS), worse[: len(worse) // MANY * MANY].reshape(-1, MANY)
    yield {
        "population": population.name, "better": better, "runs": f"{runs[0]} against {runs[1]}",
        "worse": [float((each.min(axis=1) * each.shape[1] <= ALPHA).mean()) for each in (worse[:, None], *families)],
        "one by one": one_by_one(rng.choice(worse, (len(worse), MANY))),
        "not worse": float((passes <= ALPHA).mean()), "typical not worse": float((kept <= ALPHA).mean()),
    }  # fmt: skip


def judged(a: Any, b: Any, allowed: float) -> tuple[float, float, float]:
    """Return p of being worse, of not being worse, and of the latter by typical runs alone; 1 where nothing is said."""
    lost_a, lost_b = collapsed(a, b)
    if len(b) - lost_b.sum() < 2:
        lost_a, lost_b = np.zeros_like(lost_a), np.zeros_like(lost_b)
    typical, limit = a[~lost_a], b[~lost_b] - allowed
    if min(len(typical), len(limit)) < fewest_runs(2 * ALPHA) or (np.ptp(typical) == 0 and np.ptp(limit) == 0):
        return 1.0, 1.0, 1.0
    t, p = welch(typical, limit)
    if p <= 2 * ALPHA:
        p = test_of_means(typical, limit)(typical, limit).p or 0.0
    above, below = (p / 2, 1 - p / 2) if t > 0 else (1 - p / 2, p / 2)
    return below, 1.0 if lost_a.any() else above, above


def welch(a: Any, b: Any) -> tuple[float, float]:
    """Return t and p of Welch's test."""
    va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    t = (a.mean() - b.mean()) / np.sqrt(va + vb)
    freedom = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    return float(t), float(2 * special.stdtr(freedom, -abs(t)))


def collapsed(a: Any, b: Any) -> tuple[Any, Any]:
    """Tell which runs of each side collapsed: no better than one that is far behind its side, or behind both sides."""
    together = collapsed_runs([a, b], "higher")
    lost = [behind(values, places) for values, places in zip((a, b), together, strict=True)]
    if a.max() < b.min() or b.max() < a.min():
        return np.isin(a, lost[0]), np.isin(b, lost[1])
    bar = max([*lost[0], *lost[1]], default=-np.inf)
    return a <= bar, b <= bar


def behind(values: Any, places: list[int]) -> Any:
    """Return the values at these places, and those far on the worse side of the others of their side."""
    (own,) = collapsed_runs([values], "higher")
    own = own or [place for place in far_from_others(values) if values[place] < np.median(values)]
    return values[[*places, *own]]


def check(a: Any, b: Any, allowed: float, found: tuple[float, float, float]) -> None:
    """End the program where a check says something else."""
    gate = check_side(side("a", a), side("b", b), GateOptions(drops={"acc": Drop(allowed)})).metrics[0]
    worse, passes, _ = found
    wanted = {"worse"} if worse <= ALPHA else {"not worse"} if passes <= ALPHA else {"inconclusive", "runs lost"}
    assert gate.outcome in wanted, (a, b, found, gate.outcome)


def laid_out(rows: list[dict[str, Any]]) -> str:
    """Write the table."""
    cells: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        name = row["population"] if row["better"] == "higher" else f"{row['population']}, lower is better"
        texts = [*row["worse"], row["one by one"]], [row["not worse"], row["typical not worse"]]
        cells.setdefault((name,), []).append("; ".join(" · ".join(map(percent, each)) for each in texts))
    heads = list(dict.fromkeys(row["runs"] for row in rows))
    title = (
        f"### A candidate as much worse as allowed (%: `worse` with 1 · {METRICS} · {MANY} metrics · {MANY} checks "
        "of one; `not worse` · with --max-failures 100%)"
    )
    return f"{title}\n\n{table(['data'], heads, cells)}"


if __name__ == "__main__":
    main()
