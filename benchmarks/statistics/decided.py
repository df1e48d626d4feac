"""How often ``deviate run --until 'decided against B'`` decides wrongly, and what it does to what is reported.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/statistics/decided.py > decided.json

B has its runs. Runs of A are added one by one, from the first look up to `MOST`, until Welch's test shows a difference
from B. The levels are those of `deviate.stats.multiplicity`. False alarms are those of equal recipes. Of A the t
interval of its mean is reported then, and A is compared with a third experiment that equals it: the table has the worst
of either over all differences from B.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from looks import ALPHA, p_values, seen, welch
from populations import SHAPES, Population
from scipy import stats
from simulation import percent, run, table

from deviate.stats.multiplicity import look_levels

#: Runs of B, runs of A at the first look, and at the last.
OTHERS, LEAST, MOST = (5, 8, 30), (5, 10), 30

#: Differences of A from B in SDs; power is that of `SHOWN`.
EFFECTS, SHOWN = (0.0, 0.5, 1.0, 2.0), 1.0

#: Runs of a third experiment.
THIRD = 10

COLUMNS = {
    "naive": "each look at 5 %", "alarms": "false alarms", "power": "1 SD is shown", "runs": "mean runs, 1 SD",
    "covered": "t interval covers, at least", "third": "false alarms against another, at most",
}  # fmt: skip


def main() -> None:
    """Simulate, print the table and the JSON."""
    run(__doc__, simulate)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make the table."""
    rows = [
        {"data": population.name, "other": other, "least": least, **decided(rng, population, other, least, repeats)}
        for population in SHAPES
        for other in OTHERS
        for least in LEAST
    ]
    cells = {
        (row["data"], str(row["other"]), str(row["least"])): [
            f"{row[key]:.1f}" if key == "runs" else percent(row[key]) for key in COLUMNS
        ]
        for row in rows
    }
    return table(["data", "runs of B", "first look"], list(COLUMNS.values()), cells), rows


def decided(rng: np.random.Generator, population: Population, other: int, least: int, repeats: int) -> dict[str, float]:
    """Return the numbers of a row."""
    found = {effect: grown(rng, population, effect, other, least, repeats) for effect in EFFECTS}
    return {
        "naive": found[0.0]["naive"],
        "alarms": found[0.0]["shown"],
        "power": found[SHOWN]["shown"],
        "runs": found[SHOWN]["runs"],
        "covered": min(each["covered"] for each in found.values()),
        "third": max(each["third"] for each in found.values()),
    }


def grown(
    rng: np.random.Generator, population: Population, effect: float, other: int, least: int, repeats: int
) -> dict[str, float]:
    """Return what comes of growing A, whose mean is so many SDs above that of B."""
    a = population.draw(rng, (repeats, MOST)) + effect * population.sd
    b = population.draw(rng, (repeats, other))
    sizes = [(n, other) for n in range(least, MOST + 1)]
    ps = np.stack([p_values(a[:, :n], b) for n, _ in sizes])
    shown = seen(ps, sizes, lambda sizes: look_levels(sizes, ALPHA, (MOST, other)))
    ends = least + np.where(shown.any(axis=0), shown.argmax(axis=0), len(sizes) - 1)
    mean, sd = moments(a, ends)
    half = stats.t.ppf(0.975, ends - 1) * sd / np.sqrt(ends)
    third = population.draw(rng, (repeats, THIRD)) + effect * population.sd
    against = third.mean(axis=1), third.std(axis=1, ddof=1), np.full(repeats, THIRD)
    return {
        "naive": float((ps <= ALPHA).any(axis=0).mean()),
        "shown": float(shown.any(axis=0).mean()),
        "runs": float(ends.mean()),
        "covered": float((np.abs(mean - population.mean - effect * population.sd) <= half).mean()),
        "third": float((welch((mean, sd, ends), against) <= ALPHA).mean()),
    }


def moments(samples: Any, ends: Any) -> tuple[Any, Any]:
    """Return mean and SD of the first values of each sample."""
    first = np.arange(samples.shape[1]) < ends[:, None]
    mean = (samples * first).sum(axis=1) / ends
    squares = ((samples - mean[:, None]) ** 2 * first).sum(axis=1)
    return mean, np.sqrt(squares / (ends - 1))


if __name__ == "__main__":
    main()
