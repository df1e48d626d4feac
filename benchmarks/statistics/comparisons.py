"""How often comparisons are wrong, and how often right, by simulation.

Prints tables on standard error and one JSON object on standard output::

    python benchmarks/statistics/comparisons.py > comparisons.json

False alarms: both sides are drawn from one population, and each test and the final verdict are asked whether they call
the sides different; at alpha 5 % they should do so in 5 % of cases or fewer. Power: the sides differ by one SD, or in
their SDs by a factor of two. Coverage: how often 95 % intervals hold the true value. 10,000 repeats
tell 5 % to ±0.4.

Verdicts are those of `deviate.stats`; tests are the calls it makes, on many samples at once. The permutation test
looks at all arrangements, or 999 random ones, by one matrix product. An interval holds the values that a test does not
reject, so its coverage is how often that test does not reject the true value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from populations import COLLAPSING, SHAPES, Population
from scipy import stats
from simulation import percent, run, table
from unequal import MEANS, SPREAD, given

from deviate.stats.contrast import judge, judge_spread
from deviate.stats.effects import bias_factor, bonett_statistic, newcombe_ends
from deviate.stats.intervals import FEWEST_RUNS
from deviate.stats.results import fewest_runs

ALPHA = 0.05

#: Quantile of the normal distribution for two-sided 95 % intervals.
Z = float(stats.norm.ppf(1 - ALPHA / 2))

RUNS = ((3, 3), (5, 5), (8, 8), (16, 16), (30, 30))

#: Where the chosen test is least at home: unequal numbers of runs, and unequal SDs.
HARD = ((5, 16), (8, 30), (5, 30))

#: Metrics of a simulated experiment, and how they are correlated over its runs.
METRICS, CORRELATION = 5, 0.5

#: Arrangements of a permutation test that are all looked at; of more, so many are drawn.
EXACT_UP_TO, DRAWN = 13_000, 999

#: Samples whose arrangements are made at once, to bound the memory.
CHUNK = 50

#: Samples of each cell that are also put through the library.
CHECKED = 20

POPULATIONS = (*SHAPES, *COLLAPSING)


@dataclass(frozen=True)
class Row:
    """One share: what of, over which samples."""

    table: str
    population: str
    what: str
    n_a: int
    n_b: int
    share: float


def main() -> None:
    """Simulate, print the tables and the JSON."""
    run(__doc__, simulate)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make every table."""
    rows = list(shares(rng, repeats))
    return "\n\n".join(tables(rows)), [asdict(row) for row in rows]


def shares(rng: np.random.Generator, repeats: int) -> Iterator[Row]:
    """Yield every share of every table."""
    for population in POPULATIONS:
        truth = superiority(population, rng)
        for n, m in (*RUNS, *HARD):
            a, b = population.draw(rng, (repeats, n)), population.draw(rng, (repeats, m))
            yield from alarms("false alarms", population, a, b, rng)
            if n == m:
                yield from families(population, n, repeats, rng)
                yield from alarms("power, 1 SD apart", population, a + population.sd, b, rng, spread=False)
                stretched = population.mean + 2 * (a - population.mean)
                yield from alarms("power, SD ratio 2", population, stretched, b, rng, location=False)
            yield from coverages(population, a, b, truth)
        for n, m in ((8, 8), (16, 16), (5, 16), (16, 5)):
            a, b = population.draw(rng, (repeats, n)), population.draw(rng, (repeats, m))
            a = population.mean + 3 * (a - population.mean)
            yield from alarms("false alarms, first SD 3 times as large", population, a, b, rng, spread=False)


def alarms(
    title: str,
    population: Population,
    a: Any,
    b: Any,
    rng: np.random.Generator,
    *,
    location: bool = True,
    spread: bool = True,
) -> Iterator[Row]:
    """Yield the share of samples that each test, and each verdict, calls different."""
    n, m = a.shape[1], b.shape[1]
    found: dict[str, Any] = {}
    if location:
        found |= {
            "Student t": stats.ttest_ind(a, b, axis=1).pvalue,
            "**Welch t**": stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue,
            "Mann-Whitney U": stats.mannwhitneyu(a, b, axis=1).pvalue,
            "Brunner-Munzel": stats.brunnermunzel(a, b, axis=1).pvalue,
            "permutation": permuted(a, b, rng),
        }
        if n == m:
            found["paired t"] = stats.ttest_rel(a, b, axis=1).pvalue
    if spread:
        found |= {
            "**Brown-Forsythe**": levene(a, b, np.median),
            "Levene": levene(a, b, np.mean),
            "F": f_test(a, b),
            "Bartlett": stats.bartlett(a, b, axis=1).pvalue,
        }
    for what, ps in found.items():
        yield Row(title, population.name, what, n, m, float(np.mean(np.nan_to_num(ps, nan=1.0) <= ALPHA)))
    for asked, what, decides, verdict in (
        (location, "verdict on the means", means, better),
        (spread, "verdict on the spread", spreads, noisier),
    ):
        if asked:
            ps = decides(a, b)
            shown = (ps <= ALPHA) & (min(n, m) >= fewest_runs(ALPHA))
            check(a, b, ps, shown, verdict)
            yield Row(title, population.name, what, n, m, float(np.mean(shown)))


def means(a: Any, b: Any) -> Any:
    """Give p that the verdict on the means rests on."""
    return given(a, b, MEANS)[1]


def spreads(a: Any, b: Any) -> Any:
    """Give p that the verdict on the spread rests on."""
    return given(a, b, SPREAD)[1]


def check(a: Any, b: Any, ps: Any, shown: Any, verdict: Callable[..., bool]) -> None:
    """End the program where the library gives another verdict."""
    for x, y, p, wanted in list(zip(a, b, known(ps), shown, strict=True))[:CHECKED]:
        assert verdict(x, y, p) == wanted, (x, y, p)


def known(ps: Any) -> list[float | None]:
    """Write what is not a number as unknown."""
    return [float(p) if math.isfinite(p) else None for p in ps]


def better(a: Any, b: Any, p: float | None) -> bool:
    """Tell whether the verdict calls one side better."""
    difference = float(a.mean() - b.mean())
    judged = judge(n_a=a.size, n_b=b.size, alpha=ALPHA, p_adjusted=p, difference=difference, direction="higher")
    return judged.verdict in ("a better", "b better")


def noisier(a: Any, b: Any, p: float | None) -> bool:
    """Tell whether the verdict calls one side noisier."""
    sds = float(a.std(ddof=1)), float(b.std(ddof=1))
    verdict = judge_spread(n_a=a.size, n_b=b.size, alpha=ALPHA, p_adjusted=p, sd_a=sds[0], sd_b=sds[1])
    return verdict in ("a noisier", "b noisier")


def families(population: Population, n: int, repeats: int, rng: np.random.Generator) -> Iterator[Row]:
    """Yield the share of A/A comparisons of several correlated metrics with any side called better, after Holm."""
    if population.name != "normal":
        return
    shared, own = rng.standard_normal((2, repeats, n, 1)), rng.standard_normal((2, repeats, n, METRICS))
    a, b = math.sqrt(CORRELATION) * shared + math.sqrt(1 - CORRELATION) * own
    ps = stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue
    # Holm's procedure rejects something exactly where the smallest p is rejected at alpha / METRICS.
    wrong = (ps.min(axis=1) * METRICS <= ALPHA) & (n >= fewest_runs(ALPHA))
    yield Row("false alarms", population.name, f"any verdict of {METRICS} metrics, Holm", n, n, float(np.mean(wrong)))


def coverages(population: Population, a: Any, b: Any, truth: float) -> Iterator[Row]:
    """Yield the share of intervals that hold the true value, for sides 1 SD apart and for an SD ratio of 2.

    `truth` is P(A > B) of sides that are 1 SD apart.
    """
    n, m = a.shape[1], b.shape[1]
    apart, stretched = a + population.sd, population.mean + 2 * (a - population.mean)
    held = {
        "difference (Welch t)": stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue > ALPHA,
        "Hedges' g (noncentral t)": standardised_holds(apart, b, 1.0),
        "P(A > B) (Newcombe 5)": superiority_holds(apart, b, truth),
    }
    if min(n, m) >= FEWEST_RUNS:
        held["SD ratio (Bonett)"] = [
            abs(bonett_statistic(x, y, Z)(2.0)) <= Z
            for x, y in zip(stretched, b, strict=True)
            if np.ptp(x) and np.ptp(y)
        ]
    for what, which in held.items():
        yield Row("coverage", population.name, what, n, m, float(np.mean(which)))


def standardised_holds(a: Any, b: Any, truth: float) -> Any:
    """Tell for each pair of samples whether the interval of Hedges' g holds the true effect."""
    n, m = a.shape[1], b.shape[1]
    t = stats.ttest_ind(a, b, axis=1).statistic
    share = stats.nct.cdf(t, n + m - 2, truth / bias_factor(n + m - 2) / math.sqrt(1 / n + 1 / m))
    return (share >= ALPHA / 2) & (share <= 1 - ALPHA / 2)


def superiority(population: Population, rng: np.random.Generator) -> float:
    """Give P(A > B) of sides that are 1 SD apart, to ±0.001."""
    apart = population.draw(rng, (400_000,)) + population.sd - population.draw(rng, (400_000,))
    # Sums of fractions that should be equal may differ in the last digit.
    return float((1 + np.sign(np.round(apart, 9)).mean()) / 2)


def superiority_holds(a: Any, b: Any, truth: float) -> Any:
    """Tell for each pair of samples whether the interval of P(A > B) holds the true value."""
    n, m = a.shape[1], b.shape[1]
    seen = (1 + np.sign(np.round(a[:, :, None] - b[:, None, :], 9)).mean(axis=(1, 2))) / 2
    ends = {value: newcombe_ends(value, n, m, 1 - ALPHA) for value in np.unique(seen).tolist()}
    return [ends[value][0] <= truth <= ends[value][1] for value in seen.tolist()]


def levene(a: Any, b: Any, centre: Callable[..., Any]) -> Any:
    """Give p of the Levene test about a centre: an analysis of variance of the distances from it."""
    distances = [np.abs(x - centre(x, axis=1, keepdims=True)) for x in (a, b)]
    return stats.f_oneway(*distances, axis=1).pvalue


def f_test(a: Any, b: Any) -> Any:
    """Give p of the F test of two variances."""
    ratio = a.var(axis=1, ddof=1) / b.var(axis=1, ddof=1)
    null = stats.f(a.shape[1] - 1, b.shape[1] - 1)
    return 2 * np.minimum(null.cdf(ratio), null.sf(ratio))


def permuted(a: Any, b: Any, rng: np.random.Generator) -> Any:
    """Give p of the permutation test of the means of many samples at once."""
    n, m = a.shape[1], b.shape[1]
    values = np.concatenate([a, b], axis=1)
    values = values - values.mean(axis=1, keepdims=True)
    seen = np.abs(values[:, :n].sum(axis=1)) * (1 - 1e-9)
    exact = arrangements(n, m) if math.comb(n + m, n) <= EXACT_UP_TO else None
    ps = []
    for start in range(0, len(values), CHUNK):
        part = slice(start, start + CHUNK)
        masks = drawn_arrangements(n, m, rng) if exact is None else exact
        beyond = np.sum(np.abs(values[part] @ masks.T) >= seen[part, None], axis=1)
        added = exact is None
        ps.append((beyond + added) / (len(masks) + added))
    return np.concatenate(ps)


def arrangements(n: int, m: int) -> Any:
    """Give all ways to choose the first side, shape ``(arrangements, n + m)``: 1 where a value is chosen."""
    masks = np.zeros((math.comb(n + m, n), n + m))
    for row, chosen in enumerate(combinations(range(n + m), n)):
        masks[row, list(chosen)] = 1
    return masks


def drawn_arrangements(n: int, m: int, rng: np.random.Generator) -> Any:
    """Give random ways, in the same form."""
    return rng.permuted(np.tile(np.arange(n + m) < n, (DRAWN, 1)), axis=1).astype(float)


def tables(rows: list[Row]) -> Iterator[str]:
    """Lay each table out: a row for each population and test, a column for each number of runs."""
    for title in dict.fromkeys(row.table for row in rows):
        chosen = [row for row in rows if row.table == title]
        sizes = list(dict.fromkeys((row.n_a, row.n_b) for row in chosen))
        cells: dict[tuple[str, ...], list[str]] = {}
        for key in dict.fromkeys((row.population, row.what) for row in chosen):
            known = {(row.n_a, row.n_b): row.share for row in chosen if (row.population, row.what) == key}
            cells[key] = [percent(known[size]) if size in known else "–" for size in sizes]
        heads = [str(n) if n == m else f"{n}, {m}" for n, m in sizes]
        yield f"### {title[:1].upper()}{title[1:]} (%)\n\n{table(['data', ''], heads, cells)}"


if __name__ == "__main__":
    main()
