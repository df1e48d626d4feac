"""How often a comparison of equal recipes calls any pair different, by family of tests, by simulation.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/statistics/families.py > families.json

Three equal recipes, four correlated metrics of the training and two correlated measured times, so 3 tests of the one
that is claimed, 9 of the others and 6 of times: Welch's t test of each, adjusted as `deviate compare` does it, on many
comparisons at once. Power: the claimed metric of one recipe is 2 SDs off. 10,000 repeats tell 5 % to ±0.4.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats
from simulation import percent, run, table

from deviate.facts.compared_metric import FAMILIES, adjust_families, family_of
from deviate.observe.metrics import TIMES

ALPHA, SIDES, CORRELATION = 0.05, 3, 0.5

METRICS = ["test acc", "test loss", "train acc", "train loss"]

CLAIMED = METRICS[:1]

#: Difference of one metric of one recipe, in SDs.
SHIFT = 2.0

RUNS = (5, 8, 16, 30)


def main() -> None:
    """Simulate, print the tables and the JSON."""
    run(__doc__, simulate)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make the table."""
    rows = [{"runs": n, **shares(rng, n, repeats)} for n in RUNS]
    cells = {(what,): [percent(row[what]) for row in rows] for what in list(rows[0])[1:]}
    return table([""], RUNS, cells), rows


def shares(rng: np.random.Generator, n: int, repeats: int) -> dict[str, float]:
    """Return the share of comparisons in which each family raises an alarm, and those that see a real difference."""
    names = METRICS + [metric.name for metric in TIMES]
    families = {family: np.array([family_of(name, CLAIMED) == family for name in names]) for family in FAMILIES}
    values = np.concatenate([drawn(rng, repeats, n, len(METRICS)), drawn(rng, repeats, n, len(TIMES))], axis=3)
    equal = p_values(values)
    alarms = by_family(names, equal) <= ALPHA
    values[-1, :, :, 0] += SHIFT
    apart = p_values(values)
    seen = by_family(names, apart)[:, -1, 0] <= ALPHA
    one_family = together(apart)[:, -1, 0] <= ALPHA
    return {
        "any false claim": float(alarms[:, :, families["claimed"]].any(axis=(1, 2)).mean()),
        "any false alarm among what is explored": float(alarms[:, :, families["explored"]].any(axis=(1, 2)).mean()),
        "any false alarm among measured times": float(alarms[:, :, families["times"]].any(axis=(1, 2)).mean()),
        "any of the three": float(alarms.any(axis=(1, 2)).mean()),
        "a real difference of what is claimed is shown": float(seen.mean()),
        "the same, all 18 tests adjusted together": float(one_family.mean()),
    }


def drawn(rng: np.random.Generator, repeats: int, n: int, metrics: int) -> Any:
    """Draw correlated metrics, shape (sides, repeats, n, metrics)."""
    shared, own = (rng.standard_normal((SIDES, repeats, n, many)) for many in (1, metrics))
    return math.sqrt(CORRELATION) * shared + math.sqrt(1 - CORRELATION) * own


def p_values(values: Any) -> Any:
    """Return p of Welch's test, shape (repeats, pairs, metrics)."""
    pairs = [stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue for a, b in combinations(values, 2)]
    return np.stack(pairs, axis=1)


def by_family(names: list[str], ps: Any) -> Any:
    """Adjust the tests of each comparison within their families, shape (repeats, pairs, metrics)."""
    found = np.empty_like(ps)
    for family in FAMILIES:
        which = np.array([family_of(name, CLAIMED) == family for name in names])
        found[:, :, which] = together(ps[:, :, which])
    keys = [(str(pair), name) for pair in range(ps.shape[1]) for name in names]
    one = adjust_families(dict(zip(keys, ps[0].ravel().tolist(), strict=True)), "holm", CLAIMED)
    assert np.allclose(found[0].ravel(), [each.p for each in one.values()]), "not what deviate compare does"
    return found


def together(ps: Any) -> Any:
    """Adjust all tests of each comparison as one family, by Holm's method."""
    flat = ps.reshape(len(ps), -1)
    order = np.argsort(flat, axis=1)
    steps = np.take_along_axis(flat, order, axis=1) * np.arange(flat.shape[1], 0, -1)
    found = np.empty_like(flat)
    np.put_along_axis(found, order, np.minimum(np.maximum.accumulate(steps, axis=1), 1), axis=1)
    return found.reshape(ps.shape)


if __name__ == "__main__":
    main()
