"""How often one recipe is called other than itself, by numbers of runs, numbers of metrics, and shape of the values.

Prints tables on standard error and one JSON object on standard output::

    python benchmarks/statistics/unequal.py > unequal.json

Both sides are drawn from one population; metrics are independent. Metrics asked together are adjusted by Holm's
method, of whose steps the first one decides whether anything is claimed; asked one by one, each in a comparison of its
own, the later ones are multiplied as later claims. p is that of the tests that decide in `deviate compare`; those of
the permutations are made by the library where p alone is small. Runs that are paired correlate as normal values of
such a correlation would, at their ranks. Where one of a pair of numbers is the larger, runs are paired by
``--pairing on`` alone, and the pairs are as many as the smaller one. 2,000 repeats tell 5 % to ±1.0, those of one
metric (of which there are twice as many) to ±0.7.

Recipes compared two by two are eight. The tables of shown spreads are of metrics whose SD is three times as large on
one side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from populations import COLLAPSING, SHAPES, Population, two_modes
from scipy import special, stats
from simulation import Cell, percent, rows_of, run, table

from deviate.stats.multiplicity import claim_factor
from deviate.stats.paired_tests import ROUNDING, paired_brown_forsythe, paired_t
from deviate.stats.results import Tested
from deviate.stats.tests import PERMUTED_FROM, brown_forsythe_permutation, is_permuted, test_of_means
from deviate.stats.tests import brown_forsythe as brown_forsythe_of_one

ALPHA = 0.05

RUNS = ((5, 5), (8, 8), (20, 20), (8, 10), (20, 25), (5, 8), (5, 20), (8, 30), (5, 30), (10, 40))

#: Pairs of runs, and how their values correlate.
PAIRS, CORRELATIONS = (5, 8, 10, 20), (0.0, 0.5)

#: Metrics of a comparison, and of how many of them each family is made: one by two families of one.
METRICS, SINGLE, FEW = 20, 2, 4

#: Numbers of runs of eight recipes.
RECIPES = ((5,) * 8, (8,) * 8, (20,) * 8, (5, 5, 8, 8, 20, 20, 30, 30))

POPULATIONS = (*SHAPES, *COLLAPSING, two_modes(0.5), two_modes(0.8))

#: SD of one side as a multiple of the other's, for power.
RATIO = 3.0

#: Samples of each cell that are also put through the library where it permutes no runs.
CHECKED = 5

#: Draws of a population that stand for its quantiles.
QUANTILES = 100_000

#: What p must not exceed for any claim: of one metric, of a few and of all together, and of each when it is asked alone
#: after those before it. Shape ``(METRICS,)``.
NEEDED = ALPHA / np.array([1.0] * SINGLE + [FEW] * (FEW - SINGLE) + [METRICS] * (METRICS - FEW))

#: What p is multiplied by at each claim, from the first one on; more than there ever are here.
LATER = np.array([claim_factor(number) for number in range(1, 101)])


class Test(NamedTuple):
    """A test of many samples at once, the library's that decides, and where that permutes the runs."""

    alone: Callable[..., Any]
    decides: Callable[[Any, Any], Tested]
    when: Callable[[int, int], bool]


def main() -> None:
    """Simulate, print the tables and the JSON."""
    run(__doc__, simulate, repeats=2000)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make all tables; each cell has a generator of its own."""
    rows = rows_of(all_cells(), rng, repeats)
    return laid_out(rows), rows


def all_cells() -> Iterator[Cell]:
    """Yield what makes the rows of each cell."""
    equal = [runs for runs in RUNS if runs[0] == runs[1]]
    for population in POPULATIONS:
        yield from (partial(paired, population, pairs) for pairs in PAIRS)
        yield from (partial(recipes, population, runs) for runs in RECIPES)
        yield from (partial(independent, population, runs, what) for what in ("means", "spread") for runs in RUNS)
        yield from (partial(power, population, runs) for runs in equal)


def independent(
    population: Population, runs: tuple[int, int], what: str, rng: np.random.Generator, repeats: int
) -> Iterator[dict[str, Any]]:
    """Yield the row of two sides whose runs are not paired, asked for their means or their spread."""
    a, b = (population.draw(rng, (repeats * METRICS, size)) for size in runs)
    ps = given(a, b, MEANS if what == "means" else SPREAD, most=np.tile(NEEDED, repeats))
    yield {**about(population, runs), "what": f"false claims of {what}", **shares(*ps)}


def power(
    population: Population, runs: tuple[int, int], rng: np.random.Generator, repeats: int
) -> Iterator[dict[str, Any]]:
    """Yield the row of a spread that differs, in half as many metrics as there are repeats."""
    a, b = (population.draw(rng, (repeats // 2, size)) for size in runs)
    ps = given(population.mean + RATIO * (a - population.mean), b, SPREAD)
    steps = [[float((each <= ALPHA / size).mean()) for size in (1, FEW, METRICS)] for each in ps]
    yield {**about(population, runs), "what": "shown spreads three times as large", "together": steps}


def about(population: Population, runs: tuple[int, int]) -> dict[str, Any]:
    """Name a cell."""
    return {"population": population.name, "runs": f"{runs[0]}, {runs[1]}"}


def paired(population: Population, pairs: int, rng: np.random.Generator, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of two sides whose runs are paired."""
    quantiles = np.sort(population.draw(rng, (QUANTILES,)))
    for correlation in CORRELATIONS:
        a, b = correlated(quantiles, correlation, (repeats * METRICS, pairs), rng)
        for what, test in (("means", PAIRED_MEANS), ("spread", PAIRED_SPREAD)):
            yield {
                "population": population.name, "runs": f"{pairs} pairs",
                "what": f"false claims of {what}, pairs with a correlation of {correlation:g}",
                **shares(*given(a, b, test, most=np.tile(NEEDED, repeats))),
            }  # fmt: skip


def correlated(quantiles: Any, correlation: float, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[Any, Any]:
    """Draw two sides whose values correlate, from a population with these quantiles."""
    shared, *own = rng.standard_normal((3, *shape))
    normal = [np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * each for each in own]
    a, b = (quantiles[(special.ndtr(each) * len(quantiles)).astype(int)] for each in normal)
    return a, b


def recipes(
    population: Population, runs: tuple[int, ...], rng: np.random.Generator, repeats: int
) -> Iterator[dict[str, Any]]:
    """Yield the row of several equal recipes, every two of which are compared in one metric."""
    sides = [population.draw(rng, (repeats, size)) for size in runs]
    pairs = list(combinations(sides, 2))
    # Asked one by one, the first pair has all of alpha.
    limits = np.maximum(ALPHA / len(pairs), ALPHA / LATER[: len(pairs)])
    both = [given(a, b, MEANS, most=most) for (a, b), most in zip(pairs, limits, strict=True)]
    alone, decides = (np.column_stack(each) for each in zip(*both, strict=True))
    text = f"eight of {runs[0]}" if len(set(runs)) == 1 else "two of 5, 8, 20, 30"
    yield {
        "population": population.name, "runs": text, "what": "false claims of means, every two of eight recipes",
        "together": [claims(ps) for ps in (alone, decides)], "one by one": one_by_one(decides),
        "unadjusted": float((alone <= ALPHA).any(axis=1).mean()),
    }  # fmt: skip


def shares(alone: Any, decides: Any) -> dict[str, Any]:
    """Return the shares of families in which anything is claimed, by p of a test alone and by p that decides."""
    both = [ps.reshape(-1, METRICS) for ps in (alone, decides)]
    return {
        "together": [
            [claims(ps[:, :SINGLE].reshape(-1, 1)), claims(ps[:, :FEW]), claims(ps)] for ps in both
        ],
        "one by one": [one_by_one(both[1][:, :FEW]), one_by_one(both[1])],
    }  # fmt: skip


def claims(ps: Any) -> float:
    """Return the share of families with a claim; a test that cannot be made is none of the family."""
    tests = np.isfinite(ps).sum(axis=1)
    return float((np.nan_to_num(ps, nan=1.0).min(axis=1) * tests <= ALPHA).mean())


def one_by_one(ps: Any) -> float:
    """Return the share of families with a claim where each metric is asked in a comparison of its own.

    One that cannot be tested is no claim, and the next one takes its number.
    """
    earlier = np.isfinite(ps).cumsum(axis=1) - 1
    return float((np.nan_to_num(ps, nan=1.0) * LATER[np.maximum(earlier, 0)] <= ALPHA).any(axis=1).mean())


def given(a: Any, b: Any, test: Test, *, most: Any = ALPHA) -> tuple[Any, Any]:
    """Return p of a test alone, and p that decides: the larger of it and of the permutations, where runs are permuted.

    Permuted, by the library, are the samples whose p alone is `most` or less.
    """
    alone = known(test.alone, a, b)
    if not test.when(a.shape[1], b.shape[1]):
        check(a, b, alone, test.decides)
        return alone, alone
    decides = alone.copy()
    for place in np.flatnonzero(alone <= most):
        p = test.decides(a[place], b[place]).p
        assert p is None or p >= alone[place] * (1 - 1e-6), (a[place], b[place], p, alone[place])
        decides[place] = np.nan if p is None else p
    return alone, decides


def known(test: Callable[..., Any], a: Any, b: Any) -> Any:
    """Return p of each sample; not a number where each side has one value, which tells nothing of how runs vary."""
    found = test(a, b, axis=1)
    ps = np.array(getattr(found, "pvalue", found))
    ps[(np.ptp(a, axis=1) == 0) & (np.ptp(b, axis=1) == 0)] = np.nan
    return ps


def check(a: Any, b: Any, ps: Any, test: Callable[[Any, Any], Tested]) -> None:
    """End the program where the library has another p."""
    for x, y, p in list(zip(a, b, ps, strict=True))[:CHECKED]:
        of_one = test(x, y).p
        assert np.isclose(np.nan if of_one is None else of_one, p, atol=1e-12, equal_nan=True), (x, y, p, of_one)


def welch(a: Any, b: Any, axis: int = 1) -> Any:
    """Give p of Welch's test."""
    return stats.ttest_ind(a, b, axis=axis, equal_var=False).pvalue


def brown_forsythe(a: Any, b: Any, axis: int = 1) -> Any:
    """Give p of the Brown-Forsythe test."""
    return stats.f_oneway(*(np.abs(x - np.median(x, axis=axis, keepdims=True)) for x in (a, b)), axis=axis).pvalue


def welch_by_numbers(a: Any, b: Any) -> Tested:
    """Test the means as the numbers of runs and the values ask for."""
    return test_of_means(a, b)(a, b)


def brown_forsythe_by_numbers(a: Any, b: Any) -> Tested:
    """Test the spread as the numbers of runs ask for."""
    return (brown_forsythe_permutation if is_permuted(len(a), len(b)) else brown_forsythe_of_one)(a, b)


def brown_forsythe_in_pairs(a: Any, b: Any, axis: int = 1) -> Any:
    """Give p of the Brown-Forsythe test within pairs: 1 where no distance differs, unknown where all do by as much."""
    from_a, from_b = (np.abs(x - np.median(x, axis=axis, keepdims=True)) for x in (a, b))
    largest = np.maximum(np.abs(a), np.abs(b)).max(axis=axis, keepdims=True)
    gaps = np.where(np.abs(from_a - from_b) <= 2 * ROUNDING * largest, 0.0, from_a - from_b)
    ps = np.where(np.ptp(gaps, axis=axis) == 0, np.nan, stats.ttest_1samp(gaps, 0.0, axis=axis).pvalue)
    return np.where((gaps == 0).all(axis=axis), 1.0, ps)


MEANS = Test(welch, welch_by_numbers, lambda n, m: True)

SPREAD = Test(brown_forsythe, brown_forsythe_by_numbers, is_permuted)

PAIRED_MEANS = Test(stats.ttest_rel, paired_t, lambda n, m: False)

PAIRED_SPREAD = Test(brown_forsythe_in_pairs, paired_brown_forsythe, lambda n, m: n >= PERMUTED_FROM)


def laid_out(rows: list[dict[str, Any]]) -> str:
    """Write a table for each question."""
    parts = []
    for what in dict.fromkeys(row["what"] for row in rows):
        chosen = [row for row in rows if row["what"] == what]
        cells: dict[tuple[str, ...], list[str]] = {}
        for row in chosen:
            cells.setdefault((row["population"],), []).append(written(row))
        heads = dict.fromkeys(row["runs"] for row in chosen)
        parts.append(f"### {what[:1].upper()}{what[1:]} ({units(chosen[0])})\n\n{table(['data'], list(heads), cells)}")
    return "\n\n".join(parts)


def units(row: dict[str, Any]) -> str:
    """Say what the numbers of a cell are."""
    if "unadjusted" in row:
        return "%: not adjusted · together · one by one"
    ways = "" if row["together"][0] == row["together"][1] else ", without → with permutations"
    return f"%: {1} · {FEW} · {METRICS} metrics{ways}" + ("; one by one, of 20" if "one by one" in row else "")


def written(row: dict[str, Any]) -> str:
    """Write the numbers of a cell."""
    alone, decides = row["together"]
    if "unadjusted" in row:
        return " · ".join(map(percent, (row["unadjusted"], decides, row["one by one"])))
    texts = [percent(q) if p == q else f"{percent(p)} → {percent(q)}" for p, q in zip(alone, decides, strict=True)]
    later = f"; {percent(row['one by one'][1])}" if "one by one" in row else ""
    return " · ".join(texts) + later


if __name__ == "__main__":
    main()
