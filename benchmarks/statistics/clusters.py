"""How often the interval of churn covers where runs form two clusters that label everything differently, by simulation.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/statistics/clusters.py > clusters.json

A run is in either cluster with a probability of one half, so that churn is as large as two labels allow. With an odd
number of runs the clusters are nearly as large, and leaving out a run changes next to nothing. Beside it: the jackknife
without what pairs alone bring.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from simulation import percent, run, table

from deviate.stats.churn import differing
from deviate.stats.pairs import pair_mean, share_interval, shares_estimate

RUNS = (5, 9, 21, 31, 51)

EXAMPLES = 20

#: Share of the examples on which a run has the label of its cluster.
TRUE_TO_IT = {"each example": 1.0, "95 % of the examples": 0.95}


def main() -> None:
    """Simulate, print the table and the JSON."""
    run(__doc__, simulate, repeats=2000)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make the table."""
    cells: dict[tuple[str, ...], list[str]] = {}
    for name, share in TRUE_TO_IT.items():
        for runs in RUNS:
            for method, covered in _covered(rng, share, runs, repeats).items():
                cells.setdefault((name, method), []).append(percent(covered))
    title = "### Coverage (%) of the interval of churn, two clusters of runs"
    return f"{title}\n\n{table(['label of the cluster', 'interval'], [f'{n} runs' for n in RUNS], cells)}", [
        {"label": name, "interval": method, "coverage": row} for (name, method), row in cells.items()
    ]


def _covered(rng: np.random.Generator, share: float, runs: int, repeats: int) -> dict[str, float]:
    found = {"`deviate report`": 0, "jackknife alone": 0}
    known = dict.fromkeys(found, 0)
    for _ in range(repeats):
        cluster = rng.random((runs, 1)) < 0.5
        labels = (cluster == (rng.random((runs, EXAMPLES)) < share)).astype(np.int64)
        counts = differing(labels)
        intervals = (
            shares_estimate(counts, EXAMPLES).interval,
            share_interval(*pair_mean(counts / EXAMPLES), by_chance=False),
        )
        for name, interval in zip(found, intervals, strict=True):
            if interval.low is not None and interval.high is not None:
                known[name] += 1
                found[name] += interval.low <= 0.5 <= interval.high
    return {name: found[name] / max(known[name], 1) for name in found}


if __name__ == "__main__":
    main()
