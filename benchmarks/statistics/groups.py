"""How often ``deviate compare --set groups`` calls equal recipes different on any group of examples, by simulation.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/statistics/groups.py > groups.json

Both sides are drawn from one recipe, and each comparison has one family of groups: Welch's t test of each, and where
the numbers of runs are unequal a permutation of the runs, adjusted by Holm's method over those that can
be tested, on many comparisons at once. Beside it stands Welch's test alone. A group whose accuracy is one value in all
runs of each side has no test. 10,000 repeats tell 5 % to ±0.4.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy import special, stats
from simulation import percent, run, table
from unequal import MEANS, given

from deviate.facts.samples import Sample
from deviate.stats.contrast import deciding_test
from deviate.stats.multiplicity import adjust
from deviate.stats.tests import EQUAL_UP_TO

ALPHA = 0.05

RUNS = ((5, 5), (7, 7), (10, 10), (20, 20), (5, 10), (5, 20), (10, 20))

#: Examples of each group of a family, by what the family is called.
FAMILIES = {**{f"{size:,}": (size,) * 8 for size in (5, 20, 100, 1000)}, "5 to 1,000": (5, 20, 100, 1000) * 2}

ACCURACIES = (0.5, 0.9, 0.99)

#: SD between runs of the logit of the probability to be right, shared by all groups: 6 points at an accuracy of 90 %.
STATE = 0.5

#: Comparisons of each cell that are also put through the library.
CHECKED = 2


def main() -> None:
    """Simulate, print the table and the JSON."""
    run(__doc__, simulate)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make the table."""
    rows = [
        {"errors": errors, "accuracy": accuracy, "examples": examples, "runs": runs}
        | false_claims(rng, errors, accuracy, FAMILIES[examples], runs, repeats)
        for errors, accuracy, examples in product(ERRORS, ACCURACIES, FAMILIES)
        for runs in RUNS
    ]
    cells: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        shares = [percent(row[test]) for test in ("given", "Welch alone")]
        cells.setdefault((row["errors"], f"{row['accuracy']}", row["examples"]), []).append(
            " / ".join(shares if max(row["runs"]) > EQUAL_UP_TO * min(row["runs"]) else shares[:1])
        )
    return table(["errors", "accuracy", "examples"], [f"{n} and {m}" for n, m in RUNS], cells), rows


def false_claims(
    rng: np.random.Generator, errors: str, accuracy: float, sizes: tuple[int, ...], runs: tuple[int, int], repeats: int
) -> dict[str, float]:
    """Return the share of comparisons of one recipe with itself that call any group different, by test."""
    right = ERRORS[errors](rng, accuracy, np.array(sizes)[:, None], (repeats, len(sizes), sum(runs)))
    accuracies = right / np.array(sizes)[:, None]
    a, b = accuracies[..., : runs[0]], accuracies[..., runs[0] :]
    by_welch, given = claimed(a, b)
    by_library = np.array([claims_of_library(*sides) for sides in zip(a[:CHECKED], b, strict=False)])
    # The library draws other permutations, so that where these decide only one bound of its claims is known.
    assert (by_library <= by_welch[:CHECKED]).all()
    assert max(runs) > EQUAL_UP_TO * min(runs) or (by_library == given[:CHECKED]).all()
    return {"given": float(given.mean()), "Welch alone": float(by_welch.mean())}


# How many examples of each group a run is right on: arrays of the shape (repeats, groups, runs)


def independent(rng: np.random.Generator, accuracy: float, sizes: Any, shape: tuple[int, ...]) -> Any:
    """Have all examples equally hard."""
    return rng.binomial(sizes, accuracy, shape)


def on_few(rng: np.random.Generator, accuracy: float, sizes: Any, shape: tuple[int, ...]) -> Any:
    """Have most examples right or wrong in all runs, and the others turn like coins."""
    wrong = 1 - accuracy
    always, turning, _ = np.moveaxis(rng.multinomial(sizes[:, 0], [1 - 1.5 * wrong, wrong, wrong / 2], shape[:2]), 2, 0)
    return always[..., None] + rng.binomial(turning[..., None], 0.5, shape)


def by_run(rng: np.random.Generator, accuracy: float, sizes: Any, shape: tuple[int, ...]) -> Any:
    """Have runs differ as wholes, on all groups alike."""
    state = STATE * rng.standard_normal((shape[0], 1, shape[2]))
    return rng.binomial(sizes, special.expit(special.logit(accuracy) + state), shape)


ERRORS = {"independent": independent, "on few examples": on_few, "runs differ": by_run}


def claimed(a: Any, b: Any) -> tuple[Any, Any]:
    """Tell which comparisons call a group different, by Welch's test alone and as Deviate does.

    Shapes ``(repeats, groups, runs)``. Of Holm's steps the first one decides whether any test is claimed.
    """
    ps = stats.ttest_ind(a, b, axis=2, equal_var=False).pvalue
    ps[(np.ptp(a, axis=2) == 0) & (np.ptp(b, axis=2) == 0)] = np.nan
    limits = ALPHA / np.maximum(np.sum(~np.isnan(ps), axis=1, keepdims=True), 1)
    by_welch = ps <= limits
    by_both = by_welch.copy()
    by_both[by_welch] = given(a[by_welch], b[by_welch], MEANS)[1] <= np.broadcast_to(limits, ps.shape)[by_welch]
    return by_welch.any(axis=1), by_both.any(axis=1)


def claims_of_library(a: Any, b: Any) -> bool:
    """Tell whether Deviate claims a difference on any group; shapes ``(groups, runs)``."""
    samples = [[sample_of(values) for values in sides] for sides in zip(a, b, strict=True)]
    adjusted = adjust([deciding_test(*(side.values for side in sides)).p for sides in samples], "holm")
    return any(p is not None and p <= ALPHA for p in adjusted)


def sample_of(values: Any) -> Sample:
    """Return the accuracies of runs as Deviate has them."""
    return Sample(name="", aggregate="last", values=values.tolist(), runs=list(range(len(values))), direction="higher")


if __name__ == "__main__":
    main()
