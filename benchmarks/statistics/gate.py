"""How often ``deviate check`` is wrong, by simulation.

Prints tables on standard error and one JSON object on standard output::

    python benchmarks/statistics/gate.py > gate.json

Both sides have n runs; A's mean is a number of SDs worse than B's, and a drop of 1 or 2 SDs is allowed, or none. Wrong
are: ``worse`` where A is no worse than allowed (a false alarm), and ``not worse`` where it is as much worse as allowed
or more (a miss). At alpha 5 % each should happen in 5 % of the checks or fewer. With `METRICS` metrics the gate fails
falsely if any of them is called worse, and misses if all of them pass although one is at the limit.

Checks are made again while runs are added, too: a claim is wrong then if any check makes it. And sides are checked
whose runs ``deviate run --until`` ended.

The tests are written here for many samples at once; the first `CHECKED` of each cell are also put through the library,
and a difference ends the program. 10,000 repeats tell 5 % to ±0.4 points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import populations
from looks import NEEDED, STEPS, UNTIL, collected
from scipy import stats
from simulation import percent, run, table
from unequal import MEANS, given

from deviate.stats.gates import judge_gate, moved, noninferiority
from deviate.stats.multiplicity import look_levels, rounded_down, stopped_level
from deviate.stats.results import fewest_runs

ALPHA = 0.05

RUNS = (3, 5, 8, 16)

#: Allowed drop in SDs, and true drops as multiples of it; with none allowed, in SDs.
ALLOWED = (0.0, 1.0, 2.0)
TRUE = (0.0, 0.5, 1.0, 1.5, 2.0)

#: Metrics of a simulated gate, and how they are correlated over its runs.
METRICS, CORRELATION = 4, 0.5

#: Test examples and accuracy of the accuracy-like data.
EXAMPLES, ACCURACY = 1000, 0.97

CHECKED = 5

#: Runs of B where only A grows.
OTHERS = (8, 30)


@dataclass(frozen=True)
class Population:
    """What samples are drawn from, standardised to mean 0 and SD 1; higher is better."""

    name: str
    draw: Callable[[np.random.Generator, tuple[int, ...]], Any]


def lognormal(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Draw losses: the tail is on the bad side, which is the low one here."""
    return -(rng.lognormal(0, 1, shape) - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e)


def accuracies(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Draw accuracies with ties."""
    drawn = rng.binomial(EXAMPLES, ACCURACY, shape) / EXAMPLES
    return (drawn - ACCURACY) / math.sqrt(ACCURACY * (1 - ACCURACY) / EXAMPLES)


POPULATIONS = (
    Population("normal", lambda rng, shape: rng.standard_normal(shape)),
    Population("heavy-tailed (t, 3 df)", lambda rng, shape: rng.standard_t(3, shape) / math.sqrt(3)),
    Population(f"accuracy ({ACCURACY:.0%} of {EXAMPLES})", accuracies),
    Population("skewed (lognormal), tail to the bad side", lognormal),
)


@dataclass(frozen=True)
class Row:
    """Shares of the outcomes of one case."""

    table: str
    population: str
    allowed: float
    #: True drop in SDs.
    drop: float
    n: int
    not_worse: float
    worse: float
    inconclusive: float


def main() -> None:
    """Simulate, print the tables and the JSON."""
    run(__doc__, simulate)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make every table."""
    found = [*single(rng, repeats), *unequal(rng, repeats), *several(rng, repeats)]
    again, stopped = list(checked_again(rng, repeats)), list(stopped_sides(rng, repeats))
    looks = [f"{start}, {start + step}, … {most}" for start, step, most in STEPS]
    text = [
        tables(found),
        "### Checked again while runs are added, a drop as large as allowed",
        table(["data", "sides", "rule"], looks, cells(again, "data", "sides", "rule")),
        "### Sides that `--until` ended, a drop as large as allowed",
        table(["data", "first look, `--max`", "rule"], NEEDED, cells(stopped, "data", "until", "rule")),
    ]
    return "\n\n".join(text), [*(asdict(row) for row in found), *again, *stopped]


def single(rng: np.random.Generator, repeats: int) -> Iterator[Row]:
    """Yield the outcomes of one metric."""
    for population in POPULATIONS:
        for allowed in ALLOWED:
            for times in TRUE:
                drop = times * (allowed or 1.0)
                for n in RUNS:
                    a = population.draw(rng, (repeats, n)) - drop
                    b = population.draw(rng, (repeats, n))
                    yield outcome("One metric", population.name, a, b, allowed, drop)


def unequal(rng: np.random.Generator, repeats: int) -> Iterator[Row]:
    """Yield the outcomes where the new side is noisier, and B has more runs."""
    for population in POPULATIONS:
        for times in (1.0, 2.0):
            for n, m in ((5, 16), (8, 8), (8, 30)):
                a = 3 * population.draw(rng, (repeats, n)) - times * 2
                b = population.draw(rng, (repeats, m))
                yield outcome(f"A noisier (SD 3), {n} against {m} runs", population.name, a, b, 2.0, times * 2)


def outcome(table: str, population: str, a: Any, b: Any, allowed: float, drop: float) -> Row:
    """Judge many checks of one metric."""
    not_worse, worse = judged(a, b, allowed)
    check(a, b, allowed, not_worse, worse)
    decided = not_worse | worse
    return Row(
        table, population, allowed, drop, a.shape[1], float(not_worse.mean()), float(worse.mean()),
        float(1 - decided.mean()),
    )  # fmt: skip


def p_values(a: Any, b: Any, allowed: float) -> tuple[Any, Any]:
    """Give p against being beyond the limit, and against being within it."""
    shape, rows = a.shape[:-1], (-1, a.shape[-1])
    limit = (b - allowed).reshape(-1, b.shape[-1])
    p = np.nan_to_num(given(a.reshape(rows), limit, MEANS, most=2 * ALPHA)[1], nan=1.0)
    half = p.reshape(shape) / 2
    above = a.mean(axis=-1) > (b - allowed).mean(axis=-1)
    return np.where(above, half, 1 - half), np.where(above, 1 - half, half)


def judged(a: Any, b: Any, allowed: float) -> tuple[Any, Any]:
    """Give which checks say ``not worse`` (or ``no drop shown``), and which ``worse``."""
    p_not_worse, p_worse = p_values(a, b, allowed)
    enough = min(a.shape[-1], b.shape[-1]) >= fewest_runs(2 * ALPHA)
    worse = enough & (p_worse <= ALPHA)
    return enough & ~worse & ((p_not_worse <= ALPHA) | (allowed == 0)), worse


def check(a: Any, b: Any, allowed: float, not_worse: Any, worse: Any) -> None:
    """End the program where the library says something else."""
    for k in range(CHECKED):
        found = noninferiority(a[k], moved(b[k], allowed, "higher", relative=False), "higher", ALPHA)
        said = judge_gate(found, alpha=ALPHA, p_worse_adjusted=found.p_worse, allowed=allowed > 0)
        wanted = "worse" if worse[k] else ("not worse" if allowed else "no drop shown")
        assert said == (wanted if worse[k] or not_worse[k] else "inconclusive"), (said, wanted)


def several(rng: np.random.Generator, repeats: int) -> Iterator[Row]:
    """Yield the outcomes of a gate of several correlated normal metrics; 1 SD is allowed."""
    for label, drops in (
        ("all at the limit", (1.0,) * METRICS),
        ("one at the limit, the others as good as B", (1.0,) + (0.0,) * (METRICS - 1)),
        ("all as good as B", (0.0,) * METRICS),
        ("one 2 SDs worse, the others as good as B", (2.0,) + (0.0,) * (METRICS - 1)),
    ):
        for n in RUNS:
            a = correlated(rng, repeats, n) - np.array(drops)[:, None]
            p_not_worse, p_worse = p_values(a, correlated(rng, repeats, n), 1.0)
            enough = n >= fewest_runs(2 * ALPHA)
            # The first step of Holm's procedure decides whether any metric is called worse.
            worse = enough & (p_worse.min(axis=1) * METRICS <= ALPHA)
            passed = enough & ~worse & (p_not_worse <= ALPHA).all(axis=1)
            yield Row(
                f"{METRICS} metrics", label, 1.0, max(drops), n, float(passed.mean()), float(worse.mean()),
                float(1 - (worse | passed).mean()),
            )  # fmt: skip


def checked_again(rng: np.random.Generator, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield the shares of candidates, each as much worse as allowed, about which any check makes either claim."""
    for population in POPULATIONS:
        for other in (None, *OTHERS):
            for start, step, most in STEPS:
                a, b = population.draw(rng, (repeats, most)), population.draw(rng, (repeats, other or most))
                sizes = [(n, other or n) for n in range(start, most + 1, step) if n >= fewest_runs(2 * ALPHA)]
                ps = np.array([p_values(a[:, :n], b[:, :m], 0.0) for n, m in sizes])
                levels = np.array(look_levels(sizes, 2 * ALPHA)) / 2
                few = [min(size) < fewest_runs(2 * level) for size, level in zip(sizes, levels, strict=True)]
                sides = f"A grows, {other} runs of B" if other else "both grow"
                for rule, limits in (("each check at 5 %", ALPHA), ("`deviate check`", np.where(few, -1, levels))):
                    claimed = (ps <= np.reshape(limits, (-1, 1, 1))).any(axis=0).mean(axis=1)
                    yield {"data": population.name, "sides": sides, "rule": rule, "claims": claimed.tolist()}


def stopped_sides(rng: np.random.Generator, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield the same of one check where ``--until`` ended both sides."""
    for population in populations.SHAPES:
        for least, most in UNTIL:
            for needed in NEEDED:
                a, b = (collected(rng, population, needed, least, most, repeats) for _ in range(2))
                found = stats.ttest_ind_from_stats(*a, *b, equal_var=False)
                half = np.nan_to_num(found.pvalue, nan=1.0) / 2
                ps = np.where(found.statistic > 0, [half, 1 - half], [1 - half, half])
                rules = {"p ≤ 0.05": ALPHA, "`deviate check`": rounded_down(stopped_level(2 * ALPHA, least) / 2)}
                for rule, level in rules.items():
                    claimed = (ps <= level).mean(axis=1).tolist()
                    yield {"data": population.name, "until": f"{least}, {most}", "rule": rule, "claims": claimed}


def cells(rows: list[dict[str, Any]], *keys: str) -> dict[tuple[str, ...], list[str]]:
    """Lay out in a row what shares the keys: not worse / worse in %."""
    found: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(" / ".join(map(percent, row["claims"])))
    return found


def correlated(rng: np.random.Generator, repeats: int, n: int) -> Any:
    """Draw normal metrics of shape ``(repeats, METRICS, n)`` that a run has in common in part."""
    common = rng.standard_normal((repeats, 1, n))
    own = rng.standard_normal((repeats, METRICS, n))
    return math.sqrt(CORRELATION) * common + math.sqrt(1 - CORRELATION) * own


def tables(found: list[Row]) -> str:
    """Lay the rows out: a row a case, a column a number of runs; not worse / worse / inconclusive in %."""
    parts = []
    for title in dict.fromkeys(row.table for row in found):
        cells: dict[tuple[str, ...], list[str]] = {}
        for row in (row for row in found if row.table == title):
            key = row.population, f"{row.allowed:g} SD", f"{row.drop:g} SD"
            cells.setdefault(key, []).append(" / ".join(map(percent, (row.not_worse, row.worse, row.inconclusive))))
        heads = [f"n = {n}" for n in dict.fromkeys(row.n for row in found if row.table == title)]
        parts += [f"### {title}", table(["data", "allowed", "true drop"], heads, cells)]
    return "\n\n".join(parts)


if __name__ == "__main__":
    main()
