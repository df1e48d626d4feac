"""How often the interval of a difference in accuracy for other runs on other examples covers it, by simulation.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/statistics/crossed.py > crossed.json

Whether a run is right on an example is drawn from how hard the example is, which both sides share, from what the recipe
makes of it, from a state of the run and from chance. Both recipes are alike on average over all runs and all examples,
so the difference is 0. Each cell is the share of intervals at 95 % that hold it: with runs and examples crossed, as
Deviate does; of the runs alone (Welch); and of the examples alone, as evaluations of one model do. 10,000 repeats tell
95 % to ±0.4.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy import stats
from simulation import percent, run, table

from deviate.stats.factorial import crossed_difference

RUNS, EXAMPLES = (3, 5, 8, 20), (100, 1000)

#: Hard for both recipes: SD of the latent score of examples, beside 1 of chance, and its mean: 76 % are right.
HARD, EASE = 1.0, 1.0

#: SD of what a recipe makes of an example, where examples are a source.
TASTE = 0.5

#: SD of the state of a run, where runs are a source, by number of examples: about as large as the noise of the means.
STATE = {100: 0.15, 1000: 0.05}

#: Scores that are drawn at once.
AT_ONCE = 2_000_000

#: Data sets of each cell that are also put through the library.
CHECKED = 3


def main() -> None:
    """Simulate, print the table and the JSON."""
    run(__doc__, simulate)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make the table."""
    rows = [
        {"sources": name, "examples": examples, "runs": runs}
        | coverage(rng, runs, examples, STATE[examples] * by_run, TASTE * by_example, repeats)
        for (name, by_run, by_example), examples in product(SOURCES, EXAMPLES)
        for runs in RUNS
    ]
    cells: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        shares = " / ".join(percent(row[kind]) for kind in ("crossed", "runs alone", "examples alone"))
        cells.setdefault((row["sources"], f"{row['examples']:,}"), []).append(shares)
    return table(["sources", "examples"], [f"{runs} runs each" for runs in RUNS], cells), rows


SOURCES = (("chance alone", 0, 0), ("runs", 1, 0), ("examples", 0, 1), ("runs and examples", 1, 1))


def coverage(
    rng: np.random.Generator, runs: int, examples: int, state: float, taste: float, repeats: int
) -> dict[str, float]:
    """Return the share of intervals that hold 0, by how they are made."""
    held: dict[str, list[Any]] = {}
    left = repeats
    while left:
        sets = min(left, max(1, AT_ONCE // (runs * examples)))
        a, b = drawn(rng, (sets, runs, examples), state, taste)
        for kind, holds in intervals(a, b).items():
            held.setdefault(kind, []).append(holds)
        if left == repeats:
            some = zip(a[:CHECKED], b[:CHECKED], strict=True)
            by_library = [crossed_difference(*sides).difference.interval for sides in some]
            ours = held["crossed"][0][:CHECKED].tolist()
            assert [each.low <= 0 <= each.high for each in by_library] == ours
        left -= sets
    return {kind: float(np.concatenate(parts).mean()) for kind, parts in held.items()}


def drawn(rng: np.random.Generator, shape: tuple[int, int, int], state: float, taste: float) -> tuple[Any, Any]:
    """Return where the runs of both sides are right; shapes ``(data sets, runs, examples)``."""
    sets, runs, examples = shape
    hard = EASE + HARD * rng.standard_normal((sets, 1, examples), np.float32)

    def side() -> Any:
        latent = hard + rng.standard_normal(shape, np.float32)
        latent += np.float32(taste) * rng.standard_normal((sets, 1, examples), np.float32)
        latent += np.float32(state) * rng.standard_normal((sets, runs, 1), np.float32)
        return (latent > 0).astype(np.float32)

    return side(), side()


def intervals(a: Any, b: Any) -> dict[str, Any]:
    """Tell by kind of interval which hold 0."""
    runs, examples = a.shape[1:]
    of_runs_a, rest_a, by_example_a = parts(a)
    of_runs_b, rest_b, by_example_b = parts(b)
    differences = by_example_a - by_example_b
    value, of_examples = differences.mean(axis=1), differences.var(axis=1, ddof=1) / examples
    of_runs, rest = of_runs_a + of_runs_b, rest_a + rest_b
    variance = np.maximum.reduce([of_runs + of_examples - rest, of_runs, of_examples])
    of_means = of_runs_a**2 + of_runs_b**2
    squares = of_means / (runs - 1) + of_examples**2 / (examples - 1)
    squares += (rest_a**2 + rest_b**2) / ((runs - 1) * (examples - 1))
    return {
        "crossed": holds(value, variance, variance**2 / squares),
        "runs alone": holds(value, of_runs, of_runs**2 * (runs - 1) / of_means),
        "examples alone": holds(value, of_examples, examples - 1),
    }


def holds(value: Any, variance: Any, df: Any) -> Any:
    """Tell which intervals of Student's t hold 0."""
    return np.abs(value) <= stats.t.ppf(0.975, df) * np.sqrt(variance)


def parts(scores: Any) -> tuple[Any, Any, Any]:
    """Return what the means of runs and the rest add to the variance of the mean, and the mean of each example."""
    _, runs, examples = scores.shape
    by_run, by_example = scores.mean(axis=2, dtype=float), scores.mean(axis=1, dtype=float)
    mean = by_run.mean(axis=1)
    # Scores are 0 or 1, so that each is its own square.
    rest = runs * examples * (mean + mean**2) - examples * (by_run**2).sum(axis=1) - runs * (by_example**2).sum(axis=1)
    return by_run.var(axis=1, ddof=1) / runs, rest / ((runs - 1) * (examples - 1)) / (runs * examples), by_example


if __name__ == "__main__":
    main()
