"""How often tests of spread of paired runs are wrong, and what they see, by simulation.

Prints two tables on standard error and one JSON object on standard output::

    python benchmarks/statistics/paired_spread.py > paired_spread.json

Runs of one index share draws, so the values of a pair are correlated. False alarms: both sides have one distribution.
Power: the SD of one side is twice that of the other. 10,000 repeats tell 5 % to ±0.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats
from simulation import percent, run, table

from deviate.stats.paired_tests import paired_brown_forsythe, pitman_morgan
from deviate.stats.tests import brown_forsythe

ALPHA = 0.05

RUNS = (5, 8, 16, 30)

CORRELATIONS = (0.3, 0.8)

RATIO = 2.0

SHAPES: dict[str, Callable[[Any], Any]] = {
    "normal": lambda z: z,
    "accuracy (97 % of 1000)": lambda z: np.round(5.4 * z),
    "skewed (lognormal, 0.5)": lambda z: np.exp(0.5 * z) - math.exp(0.125),
    "very skewed (lognormal, 1)": lambda z: np.exp(z) - math.exp(0.5),
}

HEAVY = "heavy-tailed (t, 3 df)"


def main() -> None:
    """Simulate, print the tables and the JSON."""
    run(__doc__, simulate)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make both tables."""
    rows = [
        {"correlation": rho, "data": shape, "ratio": ratio, "runs": n, **shares(rng, shape, rho, ratio, n, repeats)}
        for ratio in (1.0, RATIO)
        for rho in CORRELATIONS
        for shape in (*SHAPES, HEAVY)
        for n in RUNS
    ]
    return "\n\n".join(laid_out([row for row in rows if row["ratio"] == ratio]) for ratio in (1.0, RATIO)), rows


def shares(rng: np.random.Generator, shape: str, rho: float, ratio: float, n: int, repeats: int) -> dict[str, float]:
    """Return the share of comparisons in which each test sees a difference."""
    a, b = drawn(rng, shape, rho, n, repeats)
    a = a * ratio
    tests = {name: test(a, b) for name, test in TESTS.items()}
    # The vectors are those of the tests that Deviate makes.
    for name, function in (("within pairs", paired_brown_forsythe), ("Pitman-Morgan", pitman_morgan)):
        assert np.isclose(function(a[0], b[0]).p, tests[name][0]), name
    assert np.isclose(brown_forsythe(a[0], b[0]).p, tests["Brown-Forsythe"][0])
    return {name: float((p <= ALPHA).mean()) for name, p in tests.items()}


def drawn(rng: np.random.Generator, shape: str, rho: float, n: int, repeats: int) -> tuple[Any, Any]:
    """Draw correlated pairs, each side of shape (repeats, n)."""
    draw = (lambda: rng.standard_t(3, (repeats, n))) if shape == HEAVY else (lambda: rng.standard_normal((repeats, n)))
    common = draw()
    sides = [math.sqrt(rho) * common + math.sqrt(1 - rho) * draw() for _ in "ab"]
    made = SHAPES.get(shape, SHAPES["normal"])
    return made(sides[0]), made(sides[1])


def distances(values: Any) -> Any:
    """Return the distances from the median of each row."""
    return np.abs(values - np.median(values, axis=1, keepdims=True))


def within_pairs(a: Any, b: Any) -> Any:
    """Return p of `paired_brown_forsythe` of each row."""
    return stats.ttest_rel(distances(a), distances(b), axis=1).pvalue


def independent(a: Any, b: Any) -> Any:
    """Return p of `brown_forsythe` of each row."""
    return stats.ttest_ind(distances(a), distances(b), axis=1).pvalue


def sums_and_differences(a: Any, b: Any) -> Any:
    """Return p of `pitman_morgan` of each row."""
    return stats.pearsonr(a + b, a - b, axis=1).pvalue


TESTS = {"Brown-Forsythe": independent, "within pairs": within_pairs, "Pitman-Morgan": sums_and_differences}


def laid_out(rows: list[dict[str, Any]]) -> str:
    """Lay out one line a shape, correlation and test."""
    what = "false alarms" if rows[0]["ratio"] == 1 else f"an SD ratio of {rows[0]['ratio']:g} is seen"
    cells: dict[tuple[str, ...], list[str]] = {}
    for shape in dict.fromkeys(row["data"] for row in rows):
        for row in (row for row in rows if row["data"] == shape):
            for test in TESTS:
                cells.setdefault((shape, str(row["correlation"]), test), []).append(percent(row[test]))
    return table([f"{what} (%): data", "correlation", "test"], RUNS, cells)


if __name__ == "__main__":
    main()
