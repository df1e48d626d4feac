"""How often comparisons of growing experiments raise a false alarm at any look, and the runs that looking saves.

Prints tables on standard error and one JSON object on standard output::

    python benchmarks/statistics/looks.py > looks.json

Two equal recipes are compared again and again while runs are added, until a difference is shown. The levels are those
of `deviate.stats.multiplicity`; the tests are Welch's and the paired t test, on many experiments at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from populations import NORMAL, SHAPES, Population
from scipy import stats
from simulation import percent, run, table

from deviate.stats.intervals import EXTRA_RUNS
from deviate.stats.multiplicity import look_levels, stopped_level
from deviate.stats.paired_tests import paired_t
from deviate.stats.power import planned_runs
from deviate.stats.results import fewest_runs
from deviate.stats.tests import welch_t

ALPHA, POWER = 0.05, 0.8

#: Runs at the first look, between looks, and at the last look.
STEPS = ((5, 1, 30), (5, 2, 30), (5, 5, 30), (3, 1, 12), (10, 10, 30))

#: Where one side has its runs before the first look: they are 30.
FIXED = 30

CORRELATION = 0.5

#: Metrics that are claimed together.
METRICS = 4

#: Differences in SDs of the experiments that looking saves runs of.
EFFECTS = (0.7, 1.0, 1.5)

#: ``--until``: runs before the first look and at most, and runs that the width takes where the SD is known.
UNTIL = ((10, 30), (5, 30), (5, 100))
NEEDED = (6, 10, 15, 20, 30, 50)

Z = float(stats.norm.ppf(0.975))

#: What p must be below at each look, by the sizes of the sides.
Levels = Callable[[list[tuple[int, int]]], list[float]]


def main() -> None:
    """Simulate, print the tables and the JSON."""
    run(__doc__, simulate)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make every table."""
    alarms = [*false_alarms(rng, repeats), *other_alarms(rng, repeats)]
    columns = [f"{start}, {start + step}, … {most}" for start, step, most in STEPS]
    rows: dict[tuple[str, ...], list[str]] = {}
    for row in alarms:
        rows.setdefault((row["data"], row["sides"], row["rule"]), []).append(percent(row["share"]))
    saved = list(runs_saved(rng, repeats))
    cells = {(f"{row['effect']:g}", row["rule"]): [f"{row[key]:.1f}" for key in ("fixed", "runs", "null")]
             + [percent(row["power"])] for row in saved}  # fmt: skip
    stopped = list(stopped_sides(rng, repeats))
    ends: dict[tuple[str, ...], list[str]] = {}
    for row in stopped:
        ends.setdefault((row["data"], f"{row['least']}, {row['most']}", row["sides"], row["rule"]), []).append(
            percent(row["share"])
        )
    text = [
        "### False alarms over all looks (%)", table(["data", "sides", "rule"], columns, rows),
        "### Runs that looking saves, normal values",
        table(["SDs", "rule"], ["runs per recipe, one look", "mean runs", "mean runs, no difference", "power"], cells),
        "### False alarms of sides that `--until` ended (%)",
        table(["data", "first look, `--max`", "sides", "rule"], NEEDED, ends),
    ]  # fmt: skip
    return "\n\n".join(text), {"alarms": alarms, "saved": saved, "stopped": stopped}


def rules(last: tuple[int, int]) -> dict[str, Levels]:
    """Return the ways to judge looks, the last of which is at so many runs of each side."""
    return {
        "each look at 5 %": lambda sizes: [ALPHA] * len(sizes),
        "`compare`": lambda sizes: look_levels(sizes, ALPHA),
        "`compare --until decided`": lambda sizes: look_levels(sizes, ALPHA, last),
    }


def false_alarms(rng: np.random.Generator, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield the share of experiments in which any look raises an alarm."""
    for population in SHAPES:
        for sides in ("both grow", "one grows, 30 runs of the other", "pairs, correlation 0.5"):
            if sides.startswith("pairs") and population is not NORMAL:
                continue
            for start, step, most in STEPS:
                a, b = drawn(rng, population, sides, repeats, most)
                sizes = [(n, FIXED if sides.startswith("one") else n) for n in range(start, most + 1, step)]
                ps = np.stack([p_values(a[:, :n], b[:, :m], paired=sides.startswith("pairs")) for n, m in sizes])
                for rule, levels in rules((most, most)).items():
                    share = float(seen(ps, sizes, levels).any(axis=0).mean())
                    yield {"data": population.name, "sides": sides, "rule": rule, "step": step, "share": share}


def other_alarms(rng: np.random.Generator, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield the same of several metrics that are claimed, and of equivalence where the means are a margin apart."""
    shape = repeats, METRICS
    for start, step, most in STEPS:
        looks = range(start, most + 1, step)
        a, b = correlated(rng, (*shape, most)), correlated(rng, (*shape, most))
        several = [np.minimum(METRICS * p_of(a[:, :, :n], b[:, :, :n]).min(axis=1), 1) for n in looks]
        first, second = a[:, 0] + 1.0, b[:, 0]
        tost = [equivalence(first[:, :n], second[:, :n], 1.0) for n in looks]
        for sides, ps in ((f"both grow, {METRICS} metrics, Holm", several), ("both grow, equivalence", tost)):
            for rule, levels in rules((most, most)).items():
                share = float(seen(np.stack(ps), [(n, n) for n in looks], levels).any(axis=0).mean())
                yield {"data": NORMAL.name, "sides": sides, "rule": rule, "step": step, "share": share}


def correlated(rng: np.random.Generator, shape: tuple[int, int, int]) -> Any:
    """Draw metrics that the runs have in common in part."""
    common = rng.standard_normal((shape[0], 1, shape[2]))
    return math.sqrt(CORRELATION) * common + math.sqrt(1 - CORRELATION) * rng.standard_normal(shape)


def p_of(a: Any, b: Any, alternative: str = "two-sided") -> Any:
    """Return p of Welch's test over the last axis."""
    return stats.ttest_ind(a, b, axis=-1, equal_var=False, alternative=alternative).pvalue


def equivalence(a: Any, b: Any, margin: float) -> Any:
    """Return p of the two one-sided tests."""
    return np.maximum(p_of(a + margin, b, "greater"), p_of(a - margin, b, "less"))


def drawn(rng: np.random.Generator, population: Population, sides: str, repeats: int, most: int) -> tuple[Any, Any]:
    """Draw the runs of both sides, in the order in which they are made."""
    a = population.draw(rng, (repeats, most))
    b = population.draw(rng, (repeats, FIXED if sides.startswith("one") else most))
    if sides.startswith("pairs"):
        b = CORRELATION * a + math.sqrt(1 - CORRELATION**2) * b
    return a, b


def p_values(a: Any, b: Any, *, paired: bool = False) -> Any:
    """Return p of the test that decides, and make sure that it is the one of the library."""
    found = stats.ttest_rel(a, b, axis=1) if paired else stats.ttest_ind(a, b, axis=1, equal_var=False)
    ps = np.nan_to_num(found.pvalue, nan=1.0)
    one = (paired_t if paired else welch_t)(a[0], b[0]).p
    assert one is None or math.isclose(one, ps[0], rel_tol=1e-6), (one, ps[0])
    return ps


def seen(ps: Any, sizes: list[tuple[int, int]], levels: Levels) -> Any:
    """Tell for each look and experiment whether a difference is shown; looks of too few runs are none."""
    counted = [min(size) >= fewest_runs(ALPHA) for size in sizes]
    found = iter(levels([size for size, counts in zip(sizes, counted, strict=True) if counts]))
    each = [next(found) if counts else 0.0 for counts in counted]
    few = [min(size) < fewest_runs(level or ALPHA) for size, level in zip(sizes, each, strict=True)]
    return (ps <= np.array(each)[:, None]) & ~np.array(few)[:, None]


def runs_saved(rng: np.random.Generator, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield the mean number of runs a side where looks are after every 1, 2 or 5 runs, at the power of one look."""
    for effect in EFFECTS:
        fixed = planned_runs(effect, ALPHA, POWER)
        assert fixed is not None
        for step in (1, 2, 5):
            most = smallest_most(rng, effect, step, fixed, repeats)
            power, runs = ended(rng, effect, step, most, repeats)
            _, null = ended(rng, 0.0, step, most, repeats)
            yield {
                "effect": effect, "rule": f"a look each {step} runs, `--max {most}`", "fixed": fixed, "runs": runs,
                "null": null, "power": power,
            }  # fmt: skip


def smallest_most(rng: np.random.Generator, effect: float, step: int, fixed: int, repeats: int) -> int:
    """Return the runs at the last look that give the power of one look at `fixed` runs."""
    wanted, _ = ended(rng, effect, fixed, fixed, repeats, start=fixed)
    return next(most for most in range(fixed, 2 * fixed) if ended(rng, effect, step, most, repeats)[0] >= wanted)


def ended(
    rng: np.random.Generator, effect: float, step: int, most: int, repeats: int, start: int = 5
) -> tuple[float, float]:
    """Return the power, and the mean number of runs a side at which the looking ends."""
    a, b = NORMAL.draw(rng, (repeats, most)) + effect, NORMAL.draw(rng, (repeats, most))
    looks = [*range(start, most, step), most]
    ps = np.stack([p_values(a[:, :n], b[:, :n]) for n in looks])
    shown = seen(ps, [(n, n) for n in looks], lambda sizes: look_levels(sizes, ALPHA, (most, most)))
    first = np.where(shown.any(axis=0), shown.argmax(axis=0), len(looks) - 1)
    return float(shown.any(axis=0).mean()), float(np.array(looks)[first].mean())


def stopped_sides(rng: np.random.Generator, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield false alarms where ``--until`` ended both sides, or one and the other has as many runs on average."""
    for population in SHAPES:
        for least, most in UNTIL:
            for needed in NEEDED:
                first = collected(rng, population, needed, least, most, repeats)
                other = collected(rng, population, needed, least, most, repeats)
                fixed = int(first[2].mean())
                values = population.draw(rng, (repeats, fixed))
                plain = values.mean(axis=1), values.std(axis=1, ddof=1), np.full(repeats, fixed)
                for sides, against in (("both", other), ("one", plain)):
                    ps = welch(first, against)
                    levels = {"p ≤ 0.05": ALPHA, "`compare`": stopped_level(ALPHA, least)}
                    for rule, level in levels.items():
                        yield {"data": population.name, "least": least, "most": most, "needed": needed,
                               "sides": sides, "rule": rule, "share": float((ps <= level).mean())}  # fmt: skip


def collected(
    rng: np.random.Generator, population: Population, needed: int, least: int, most: int, repeats: int
) -> Any:
    """Return mean, SD and number of the runs that ``--until`` ends, see ``until.py``."""
    samples, n = population.draw(rng, (repeats, most)), np.arange(1, most + 1)
    moved = samples - samples[:, :1]
    total, squares = moved.cumsum(axis=1), (moved**2).cumsum(axis=1)
    sd = np.sqrt(np.maximum(squares - total**2 / n, 0) / np.maximum(n - 1, 1))
    half = np.append(np.nan, stats.t.ppf(0.975, n[1:] - 1)) * sd / np.sqrt(n)
    narrow = (half <= Z * population.sd / math.sqrt(needed)) & (n >= least) & (sd > 1e-12 * np.abs(samples[:, :1]))
    enough = np.where(narrow.any(axis=1), narrow.argmax(axis=1) + 1 + EXTRA_RUNS, most)
    ends = np.minimum(enough, most)
    rows = np.arange(repeats)
    return samples[:, 0] + (total / n)[rows, ends - 1], sd[rows, ends - 1], ends


def welch(a: Any, b: Any) -> Any:
    """Return p of Welch's test from means, SDs and numbers of runs."""
    return np.nan_to_num(stats.ttest_ind_from_stats(*a, *b, equal_var=False).pvalue, nan=1.0)


if __name__ == "__main__":
    main()
