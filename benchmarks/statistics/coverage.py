"""How often the confidence intervals cover the true value, by simulation.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/statistics/coverage.py > coverage.json

For each distribution and each number of runs, samples are drawn and each interval is asked whether it holds the true
mean or SD. At a level of 95 % the share should be 95 %; 10,000 repeats tell it to ±0.4 points. The t and chi-square
intervals are those of `deviate.stats.intervals`, called sample by sample; the bootstrap is the call that
`deviate.stats.intervals` makes, on many samples at once and with fewer resamples.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from populations import COLLAPSING, SHAPES, Population
from scipy import stats
from simulation import percent, run, table

from deviate.stats.intervals import (
    DEFAULT_LEVEL,
    FEWEST_FOR_BOOTSTRAP,
    cautious_sd_interval,
    mean_interval,
    sd_interval,
)

RUNS = (3, 5, 8, 16, 30)

#: Resamples of a simulated bootstrap; Deviate itself takes more, which steadies one interval and not their coverage.
RESAMPLES = 999

#: Samples bootstrapped at once, to bound the memory.
CHUNK = 250


POPULATIONS = (
    *SHAPES,
    Population("skewed (exponential)", lambda rng, shape: rng.standard_exponential(shape), 1.0, 1.0),
    *COLLAPSING,
)


@dataclass(frozen=True)
class Coverage:
    """How one interval did on samples of one size from one population."""

    population: str
    interval: str
    n: int
    #: Share of the given intervals that hold the true value.
    coverage: float
    #: Share of samples for which no interval was given (all values equal).
    none: float
    #: Median width in units of the true SD.
    width: float


def main() -> None:
    """Simulate, print the tables and the JSON."""
    run(__doc__, simulate)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make the table."""
    found = list(coverages(rng, repeats, DEFAULT_LEVEL))
    cells: dict[tuple[str, ...], list[str]] = {}
    for key in dict.fromkeys((row.population, row.interval) for row in found):
        shares = {row.n: row.coverage for row in found if (row.population, row.interval) == key}
        cells[key] = [percent(shares[n]) if n in shares else "–" for n in RUNS]
    return table(["data", "interval of"], RUNS, cells), [asdict(row) for row in found]


def coverages(rng: np.random.Generator, repeats: int, level: float) -> Iterator[Coverage]:
    """Yield the coverage of each interval for each population and number of runs."""
    for population in POPULATIONS:
        for n in RUNS:
            samples = population.draw(rng, (repeats, n))
            for name, truth, ends in intervals(samples, population, level, rng):
                yield judged(population, name, n, truth, ends)


def intervals(
    samples: Any, population: Population, level: float, rng: np.random.Generator
) -> Iterator[tuple[str, float, Any]]:
    """Yield name, true value and ends, shape ``(repeats, 2)`` with NaN where there is no interval."""
    yield "mean, t", population.mean, one_by_one(mean_interval, samples, level)
    yield "SD, chi-square", population.sd, one_by_one(sd_interval, samples, level)
    yield "SD, as given", population.sd, one_by_one(cautious_sd_interval, samples, level)
    if samples.shape[1] >= FEWEST_FOR_BOOTSTRAP:
        yield "mean, BCa bootstrap", population.mean, bootstrapped(np.mean, samples, level, rng)
        yield "SD, BCa bootstrap", population.sd, bootstrapped(deviation, samples, level, rng)


def one_by_one(interval_of: Callable[..., Any], samples: Any, level: float) -> Any:
    """Give the intervals of Deviate itself."""
    found = (interval_of(sample, level) for sample in samples)
    return np.array([(interval.low, interval.high) for interval in found], dtype=float)


def deviation(values: Any, axis: int = -1) -> Any:
    """Give the SD of each sample."""
    return np.std(values, axis=axis, ddof=1)


def bootstrapped(statistic: Callable[..., Any], samples: Any, level: float, rng: np.random.Generator) -> Any:
    """Give the bootstrap intervals of many samples."""
    parts = []
    for start in range(0, len(samples), CHUNK):
        with warnings.catch_warnings():
            # Samples of equal values: they are counted as having no interval.
            warnings.simplefilter("ignore")
            found = stats.bootstrap(
                (samples[start : start + CHUNK],),
                statistic,
                axis=1,
                n_resamples=RESAMPLES,
                confidence_level=level,
                method="BCa",
                rng=rng,
            ).confidence_interval
        parts.append(np.stack([found.low, found.high], axis=1))
    return np.concatenate(parts)


def judged(population: Population, name: str, n: int, truth: float, ends: Any) -> Coverage:
    """Count how many intervals hold the truth."""
    low, high = ends[np.isfinite(ends).all(axis=1)].T
    return Coverage(
        population=population.name,
        interval=name,
        n=n,
        coverage=float(np.mean((low <= truth) & (truth <= high))),
        none=1 - len(low) / len(ends),
        width=float(np.median(high - low)) / population.sd,
    )


if __name__ == "__main__":
    main()
