"""How often the comparison of a grid claims an effect or a better cell where nothing differs, by simulation.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/statistics/grid.py > grid.json

All cells are drawn from one population. Each F test of an effect is asked alone, at 5 %; then what `deviate compare`
claims of the effects (Holm over all of them, at half of alpha), of every two cells (likewise), and of either. Nothing
is claimed with fewer than 5 runs in a cell. Of unequal numbers of runs the cells have the first and the second by
turns; a larger SD is that of a cell with the first. 10,000 repeats tell 5 % to ±0.4.

Tests are the formulas of a full factorial model, on many grids at once: the mean of a cell has the variance
SS / (n - 1)² by HC3, see `deviate.stats.factorial`, through which some grids of each kind are put as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from populations import COLLAPSING, NORMAL, SHAPES, Population
from scipy import stats
from simulation import percent, run, table
from unequal import MEANS, given

from deviate.facts.grid import FAMILIES
from deviate.stats.contrast import deciding_test
from deviate.stats.factorial import factorial_anova
from deviate.stats.results import fewest_runs
from deviate.stats.tests import test_of_means, welch_t

ALPHA = 0.05

GRIDS = ((2, 2), (3, 2))

RUNS = ((3, 3), (5, 5), (10, 10), (20, 20), (5, 20), (10, 20))

#: Of one cell, against the others.
SD_RATIO = 4

#: Grids of each kind that are also put through the library.
CHECKED = 3

ROBUST, CLASSIC, EFFECTS, PAIRS, EITHER = (
    "F, HC3", "F, equal SDs", "claim: an effect", "claim: a better cell", "**any claim**",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One share: what of, over which grids."""

    grid: str
    population: str
    what: str
    n_first: int
    n_second: int
    share: float


def main() -> None:
    """Simulate, print the table and the JSON."""
    run(__doc__, simulate)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make the table of each grid."""
    rows = list(shares(rng, repeats))
    texts = []
    for shape in GRIDS:
        chosen = [row for row in rows if row.grid == words(shape)]
        keys = dict.fromkeys((row.population, row.what) for row in chosen)
        cells = {key: [percent(row.share) for row in chosen if (row.population, row.what) == key] for key in keys}
        heads = [str(n) if n == m else f"{n}, {m}" for n, m in RUNS]
        texts.append(f"#### False alarms in {words(shape)} cells (%)\n\n{table(['data', ''], heads, cells)}")
    return "\n\n".join(texts), [asdict(row) for row in rows]


def words(shape: Sequence[int]) -> str:
    """Write the shape of a grid."""
    return " × ".join(map(str, shape))


def shares(rng: np.random.Generator, repeats: int) -> Iterator[Row]:
    """Yield every share of every table."""
    kinds = [(each.name, each, 1) for each in (*SHAPES, *COLLAPSING)]
    kinds.append((f"normal, one SD {SD_RATIO} times the others", NORMAL, SD_RATIO))
    for shape, (name, population, ratio), sizes in product(GRIDS, kinds, RUNS):
        cells = drawn(population, shape, sizes, ratio, rng, repeats)
        for what, share in alarms(cells, shape).items():
            yield Row(words(shape), name, what, *sizes, share)


def drawn(
    population: Population, shape: Sequence[int], sizes: tuple[int, int], ratio: float,
    rng: np.random.Generator, repeats: int,
) -> list[Any]:  # fmt: skip
    """Return the values of each cell, of shape ``(repeats, runs)``; those of the first have `ratio` times the SD."""
    cells = [population.draw(rng, (repeats, sizes[place % 2])) for place in range(math.prod(shape))]
    cells[0] = population.mean + ratio * (cells[0] - population.mean) if ratio != 1 else cells[0]
    return cells


def alarms(cells: Sequence[Any], shape: Sequence[int]) -> dict[str, float]:
    """Return the share of grids in which each test, and each claim, says that something differs."""
    robust, classic = f_tests(cells, shape)
    pairs = np.stack([given(a, b, MEANS)[1] for a, b in combinations(cells, 2)])
    check(cells, shape, robust, classic, pairs)
    enough = min(cell.shape[1] for cell in cells) >= fewest_runs(ALPHA)
    # Holm's procedure rejects something exactly where the smallest p is rejected at the level over the number of tests.
    effect, better = (enough & (lowest(ps) * len(ps) * FAMILIES <= ALPHA) for ps in (robust, pairs))
    found = {ROBUST: known(robust) <= ALPHA, CLASSIC: known(classic) <= ALPHA}
    found |= {EFFECTS: effect, PAIRS: better, EITHER: effect | better}
    return {what: float(np.mean(which)) for what, which in found.items()}


def known(ps: Any) -> Any:
    """Return p with 1 where it is not known."""
    return np.where(np.isfinite(ps), ps, 1.0)


def lowest(ps: Any) -> Any:
    """Return the smallest known p of each grid."""
    return known(ps).min(axis=0)


def f_tests(cells: Sequence[Any], shape: Sequence[int]) -> tuple[Any, Any]:
    """Return p of the robust and of the classic F test of every effect, each of shape ``(effects, repeats)``."""
    sizes = np.array([cell.shape[1] for cell in cells])
    means = np.stack([cell.mean(axis=1) for cell in cells], axis=1)
    squares = np.stack([np.square(cell - cell.mean(axis=1, keepdims=True)).sum(axis=1) for cell in cells], axis=1)
    # Where all runs of a cell gave one value, its mean may differ from that in the last digit.
    squares[np.stack([np.ptp(cell, axis=1) == 0 for cell in cells], axis=1)] = 0
    df = int(sizes.sum() - len(cells))
    pooled = squares.sum(axis=1, keepdims=True) / df / sizes
    robust, classic = (
        np.stack([wald(means, variances, rows, df) for rows in contrasts(shape)])
        for variances in (squares / (sizes - 1) ** 2, pooled)
    )
    # Without any spread there is no analysis of variance.
    alike = squares.sum(axis=1) == 0
    robust[:, alike] = classic[:, alike] = np.nan
    return robust, classic


def contrasts(shape: Sequence[int]) -> Iterator[Any]:
    """Yield the contrasts of the cells' means that an effect makes 0 where there is none; main effects first."""
    for order in range(1, len(shape) + 1):
        for places in combinations(range(len(shape)), order):
            rows = np.ones((1, 1))
            for place, levels in enumerate(shape):
                average = np.full((1, levels), 1 / levels)
                rows = np.kron(rows, np.eye(levels)[:-1] - average if place in places else average)
            yield rows


def wald(means: Any, variances: Any, rows: Any, df: int) -> Any:
    """Return p of the F test that all contrasts of independent means are 0."""
    values = means @ rows.T
    covariances = np.einsum("ic,rc,jc->rij", rows, variances, rows)
    with np.errstate(all="ignore"):
        ranks = np.linalg.matrix_rank(covariances)
        statistics = np.einsum("ri,rij,rj->r", values, np.linalg.pinv(covariances), values) / ranks
        return stats.f.sf(statistics, ranks, df)


def check(cells: Sequence[Any], shape: Sequence[int], robust: Any, classic: Any, pairs: Any) -> None:
    """End the program where the library gives another p."""
    settings = [{"a": str(a), "b": str(b)} for a, b in product(*map(range, shape))]
    for k in range(min(CHECKED, len(cells[0]))):
        samples = [cell[k].tolist() for cell in cells]
        terms = factorial_anova(samples, settings).terms
        if not terms:
            assert np.isnan(robust[:, k]).all(), samples
            continue
        same([term.robust.p for term in terms], robust[:, k], samples)
        same([term.classic.p for term in terms], classic[:, k], samples)
        for (a, b), ours in zip(combinations(samples, 2), pairs[:, k], strict=True):
            if ours <= ALPHA or test_of_means(np.array(a), np.array(b)) is welch_t:
                same([deciding_test(a, b).p], [ours], samples)


def same(theirs: Sequence[float | None], ours: Any, samples: object) -> None:
    """End the program where two lists of p differ."""
    expected = [np.nan if p is None else p for p in theirs]
    assert np.allclose(known(np.array(expected)), known(ours), rtol=1e-9, atol=1e-9), (expected, ours, samples)


if __name__ == "__main__":
    main()
