"""How often the interval covers the truth where ``deviate run --until`` decides how many runs are made, by simulation.

Prints tables on standard error and one JSON object on standard output::

    python benchmarks/statistics/until.py > until.json

For a mean: runs are drawn one after the other until `deviate.stats.intervals` has enough of them, or there are as
many as allowed; the interval that Deviate gives then is asked whether it holds the true mean. Beside it stand the
t interval of the same runs, which is not given because it was looked at until it was narrow, and the chi-square
interval of their SD. Widths are given by the runs they take where the SD is known: ``(1.96 SD / width)**2``. For an SD:
the same with `deviate.stats.multiplicity`. The rule is written here for many samples at once; the first `CHECKED`
samples of each cell are also put through the library, and a difference ends the program. 4,000 repeats tell 95 % to
±0.7 points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from populations import HEAVY, NORMAL, Population, accuracy, lognormal
from scipy import stats
from simulation import percent, run, table

from deviate.core.experiment import Until
from deviate.stats.intervals import DEFAULT_LEVEL, EXTRA_RUNS, runs_for_sd, sd_factors
from deviate.stats.multiplicity import look

Z = float(stats.norm.ppf((1 + DEFAULT_LEVEL) / 2))

#: Runs that the width takes where the SD is known.
NEEDED = (6, 10, 15, 20, 30, 50)

#: Runs before the first look, runs at most, and runs side by side.
SETTINGS = ((10, 30, 1), (10, 100, 1), (5, 100, 1), (10, 100, 4))

#: Widths of an SD, as shares of it.
SD_WIDTHS = (0.5, 0.35, 0.25)

#: Runs at most where an SD is asked for, as a multiple of those that normal values take.
SD_MOST = 1.5

#: Samples of each cell that are also put through the library.
CHECKED = 3


def moved(population: Population) -> Population:
    """Return the same 10 higher, so that a share of the mean is one."""
    return Population(
        population.name, lambda rng, shape: 10 + population.draw(rng, shape), 10 + population.mean, population.sd
    )


POPULATIONS = (
    moved(NORMAL),
    moved(HEAVY),
    accuracy(1000, 0.97),
    accuracy(100, 0.97),
    lognormal(0.5, "skewed (lognormal, 0.5)"),
    Population("skewed (exponential)", lambda rng, shape: rng.standard_exponential(shape), 1.0, 1.0),
    lognormal(1, "very skewed (lognormal, 1)"),
)


@dataclass(frozen=True)
class Row:
    """How one interval did."""

    table: str
    population: str
    interval: str
    column: str
    #: Share of the intervals that hold the truth.
    coverage: float
    #: Mean number of runs, and share of cases that ended with as many runs as allowed.
    runs: float
    at_most: float


def main() -> None:
    """Simulate, print the tables and the JSON."""
    run(__doc__, simulate)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make every table."""
    found = [row for part in (means, relative_means, sds) for row in part(rng, repeats)]
    return tables(found), [asdict(row) for row in found]


def means(rng: np.random.Generator, repeats: int) -> Iterator[Row]:
    """Yield how intervals of a mean do, for each number of runs before the first look and at most."""
    for least, most, jobs in SETTINGS:
        together = f", {jobs} side by side" if jobs > 1 else ""
        table = f"Mean, first look at {least}, at most {most}{together}"
        for population in POPULATIONS:
            for needed in NEEDED:
                width = Z * population.sd / math.sqrt(needed)
                samples = population.draw(rng, (repeats, most))
                yield from mean_rows(table, population, str(needed), samples, width, False, least, jobs)


def relative_means(rng: np.random.Generator, repeats: int) -> Iterator[Row]:
    """Yield the same where the width is a share of the mean."""
    for population in POPULATIONS:
        for needed in NEEDED:
            share = Z * population.sd / population.mean / math.sqrt(needed)
            samples = population.draw(rng, (repeats, 100))
            table = "Mean to a share of it, first look at 10, at most 100"
            yield from mean_rows(table, population, str(needed), samples, share, True, 10, 1)


def mean_rows(
    table: str, population: Population, column: str, samples: Any, width: float, relative: bool, least: int, jobs: int
) -> Iterator[Row]:
    """Stop each sample by the rule and ask the intervals."""
    most = samples.shape[1]
    mean, sd = running(samples)
    n = np.arange(1, most + 1)
    half = np.append(np.nan, stats.t.ppf((1 + DEFAULT_LEVEL) / 2, n[1:] - 1)) * sd / np.sqrt(n)
    wanted = width * np.abs(mean) if relative else np.full_like(mean, width)
    narrow = (half <= wanted) & (sd > 0) & (n >= least)
    first = np.where(narrow.any(axis=1), narrow.argmax(axis=1) + 1, most + 1)
    stopped = stop(first, least, most, jobs)
    met = first + EXTRA_RUNS <= stopped
    rows = np.arange(len(samples))
    at = stopped - 1
    given = np.where(met, wanted[rows, at], np.fmax(wanted[rows, at], half[rows, at]))
    check_means(samples, stopped, met, given, width, relative, least)
    low, high = np.array([sd_factors(int(count)) for count in n[1:]]).T
    spread = sd[rows, at]
    shares = {
        "given": np.abs(mean[rows, at] - population.mean) <= given,
        "t interval, not given": np.abs(mean[rows, at] - population.mean) <= half[rows, at],
        "SD, chi-square": (spread * low[at - 1] <= population.sd) & (population.sd <= spread * high[at - 1]),
    }
    for interval, covered in shares.items():
        yield Row(
            table, population.name, interval, column, float(covered.mean()), float(stopped.mean()),
            float(1 - met.mean()),
        )  # fmt: skip


def stop(first: Any, least: int, most: int, jobs: int) -> Any:
    """Return at how many runs each sample ends: looks are after the first `least`, then after every `jobs` runs."""
    enough = first + EXTRA_RUNS
    rounds = np.ceil(np.maximum(enough - least, 0) / jobs)
    return np.minimum(least + rounds * jobs, most).astype(int)


def running(samples: Any) -> tuple[Any, Any]:
    """Give mean and SD of the first 1, 2, ... values of each sample; an SD of equal values is exactly 0."""
    n = np.arange(1, samples.shape[1] + 1)
    start = samples[:, :1]
    moved = samples - start
    total, squares = moved.cumsum(axis=1), (moved**2).cumsum(axis=1)
    variance = np.maximum(squares - total**2 / n, 0) / np.maximum(n - 1, 1)
    same = np.maximum.accumulate(np.abs(moved), axis=1) == 0
    return start + total / n, np.where(same, 0.0, np.sqrt(variance))


def check_means(samples: Any, stopped: Any, met: Any, given: Any, width: float, relative: bool, least: int) -> None:
    """End the program where the library stops elsewhere or gives another interval."""
    most = samples.shape[1]
    until = Until(metric="m", width=width, relative=relative, least=least, most=most)
    for sample, n, enough, half in list(zip(samples, stopped, met, given, strict=True))[:CHECKED]:
        found = look(sample[:n], until)
        assert found.met == enough, (found, n)
        if math.isfinite(half) and found.interval.known:
            assert math.isclose((found.interval.high - found.interval.low) / 2, half, rel_tol=1e-6), (found, half)


def sds(rng: np.random.Generator, repeats: int) -> Iterator[Row]:
    """Yield how intervals of an SD do."""
    for population in POPULATIONS:
        for width in SD_WIDTHS:
            needed = runs_for_sd(width)
            assert needed is not None
            most = math.ceil(SD_MOST * needed)
            until = Until(metric="m", of="sd", width=width, relative=True, least=10, most=most)
            yield from sd_rows(population, until, needed, population.draw(rng, (repeats, most)))


def sd_rows(population: Population, until: Until, needed: int, samples: Any) -> Iterator[Row]:
    """Stop each sample by the rule and ask the intervals."""
    stopped = np.full(len(samples), until.most)
    covered, met = np.zeros(len(samples), bool), np.zeros(len(samples), bool)
    going = np.ones(len(samples), bool)
    for n in range(needed, until.most + 1):
        sd = samples[:, :n].std(axis=1, ddof=1)
        normal = np.array(sd_factors(n))
        robust = bonett_factors(samples[:, :n])
        low, high = np.minimum(normal[0], robust[0]), np.maximum(normal[1], robust[1])
        enough = going & (np.maximum(high - 1, 1 - low) <= until.width)
        ends = enough | (going & (n == until.most))
        stopped[ends], met[enough] = n, True
        covered[ends] = ((low * sd <= population.sd) & (population.sd <= high * sd))[ends]
        going &= ~ends
    check_sds(samples, stopped, met, until)
    column = f"±{until.width:.0%}"
    yield Row(
        "SD", population.name, "given", column, float(covered.mean()), float(stopped.mean()), float(1 - met.mean())
    )
    first, (low_end, high_end) = samples[:, :needed].std(axis=1, ddof=1), sd_factors(needed)
    alone = (low_end * first <= population.sd) & (population.sd <= high_end * first)
    name = "chi-square, not given"
    yield Row("SD", population.name, name, column, float(alone.mean()), float(needed), 0.0)


def bonett_factors(samples: Any) -> tuple[Any, Any]:
    """Give the ends of Bonett's interval as multiples of the SD, for many samples."""
    n = samples.shape[1]
    centre = stats.trim_mean(samples, 1 / (2 * math.sqrt(n - 4)), axis=1)[:, None]
    squares = ((samples - samples.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        kurtosis = n * ((samples - centre) ** 4).sum(axis=1) / squares**2
    c = n / (n - Z)
    half = Z * c * np.sqrt(np.maximum(kurtosis - (n - 3) / n, 0) / (n - 1))
    return np.exp((math.log(c) - half) / 2), np.exp((math.log(c) + half) / 2)


def check_sds(samples: Any, stopped: Any, met: Any, until: Until) -> None:
    """End the program where the library stops elsewhere."""
    for sample, n, enough in list(zip(samples, stopped, met, strict=True))[:CHECKED]:
        assert look(sample[:n], until).met == enough
        assert n == stopped.min() or not look(sample[: n - 1], until).met


def tables(found: list[Row]) -> str:
    """Lay the rows out: coverage in %, and the runs that were made with the share of cases that ended at most."""
    parts = []
    for title in dict.fromkeys(row.table for row in found):
        cells: dict[tuple[str, ...], list[str]] = {}
        for row in (row for row in found if row.table == title):
            cells.setdefault((row.population, row.interval), []).append(percent(row.coverage))
            if row.interval == "given":
                runs = f"{row.runs:.0f} ({row.at_most:.0%})"
                cells.setdefault((row.population, "runs (not met)"), []).append(runs)
        columns = list(dict.fromkeys(row.column for row in found if row.table == title))
        parts += [f"### {title}", table(["data", ""], columns, cells)]
    return "\n\n".join(parts)


if __name__ == "__main__":
    main()
