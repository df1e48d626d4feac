"""How often runs with independent errors on a class seem to differ as wholes, by simulation.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/statistics/class_floor.py > class_floor.json

Each of many groups of examples is right by chance in each run; the p-values are those of `group_rates`; beside them
stand those of a chi-square test against the binomial floor, which takes all examples for equally hard.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import numpy as np
from scipy import stats

from deviate.stats.classes import group_rates

RUNS = (5, 10, 20, 100)

#: Examples of a group, and the mean probability of a right label.
GROUPS = ((20, 0.8), (20, 0.95), (50, 0.95), (50, 0.99), (500, 0.8))

ALPHAS = (0.05, 0.001)


def main() -> None:
    """Simulate, print the table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--groups", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started = time.perf_counter()
    rng = np.random.default_rng(options.seed)
    rows = [
        {"hard": hard, "examples": examples, "right": right, "runs": runs, "test": test, **alarms(ps)}
        for hard in ("equally", "unequally")
        for examples, right in GROUPS
        for runs in RUNS
        for test, ps in p_values(rng, hard, examples, right, runs, options.groups).items()
    ]
    print_table(rows)
    print(json.dumps({**vars(options), "seconds": round(time.perf_counter() - started, 1), "rows": rows}))


def p_values(
    rng: np.random.Generator, hard: str, examples: int, right: float, runs: int, groups: int
) -> dict[str, Any]:
    """Return the p-values of all groups by test; groups without one, as they are always right, raise no alarm."""
    shape = (groups * examples,)
    probability = np.full(shape, right) if hard == "equally" else rng.beta(right / 2, (1 - right) / 2, shape)
    labels = (rng.random((runs, *shape)) < probability).astype(np.int8)
    measured = group_rates(labels, np.ones(shape, int), np.repeat(np.arange(groups), examples))
    rates = [group.rates["accuracy"] for group in measured.subsets]
    ratios = np.array([(rate.sd or 0.0) / rate.floor if rate.floor else 0.0 for rate in rates])
    return {
        "given": np.array([1.0 if rate.p is None else rate.p for rate in rates]),
        "binomial floor": stats.chi2.sf((runs - 1) * ratios**2, runs - 1),
    }


def alarms(ps: Any) -> dict[str, float]:
    """Return the share of false alarms at each level."""
    return {str(alpha): float((ps <= alpha).mean()) for alpha in ALPHAS}


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print one line for each kind of group, with the alarms at 5 % and at 0.1 %."""
    print(f"| examples, mean rate | hard | test | {' | '.join(f'{runs} runs' for runs in RUNS)} |", file=sys.stderr)
    print(f"|---|---|---|{'---:|' * len(RUNS)}", file=sys.stderr)
    for key in dict.fromkeys((row["examples"], row["right"], row["hard"], row["test"]) for row in rows):
        alike = [row for row in rows if (row["examples"], row["right"], row["hard"], row["test"]) == key]
        cells = " | ".join(" / ".join(f"{100 * row[str(alpha)]:.2g}" for alpha in ALPHAS) for row in alike)
        print(f"| {key[0]}, {key[1]} | {key[2]} | {key[3]} | {cells} |", file=sys.stderr)


if __name__ == "__main__":
    main()
