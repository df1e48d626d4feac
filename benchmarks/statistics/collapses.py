"""What becomes of comparisons where some runs collapse to chance level, by simulation.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/statistics/collapses.py > collapses.json

No run of the baseline collapses. A share of the candidate's runs ends at chance level, with an accuracy of 10; all
others are as good as the baseline's, 97 with an SD of 0.3. `deviate check --metric acc --max-drop 0.5` is asked with
and without ``--max-failures 10%``, and what a report says before any mean. 10,000 repeats tell 5 % to ±0.4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gate import ALPHA, judged
from scipy import stats
from simulation import percent, run, table

from deviate.inference.comparison.side import Side
from deviate.inference.drops import Drop
from deviate.inference.gate.gate import check_side
from deviate.inference.gate.options import GateOptions
from deviate.measure.failures import failure_rate
from deviate.measure.weak import FAR_CUTOFF, far_from_others
from deviate.results.sample import Sample

RATES = (0.0, 0.05, 0.1)

RUNS = (5, 10, 30, 60)

USUAL, SD, CHANCE = 97.0, 0.3, 10.0

#: The largest rate of failures that the stricter gate allows.
ALLOWED = 0.1

#: The drop that is allowed.
DROP = 0.5

#: Samples of each cell that are also put through the library.
CHECKED = 20

PASSES, STRICT, NAMED, COVERED = (
    "check passes", "check --max-failures 10% passes", "a run is named as far from the others",
    "the limits of the rate of failures hold it",
)  # fmt: skip


def main() -> None:
    """Simulate, print the tables and the JSON."""
    run(__doc__, simulate)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make the table."""
    rows = [{"rate": rate, "runs": n, **shares(rng, rate, n, repeats)} for rate in RATES for n in RUNS]
    cells = {
        (f"{rate:.0%}", what): [percent(row[what]) for row in rows if row["rate"] == rate]
        for rate in RATES
        for what in (PASSES, STRICT, NAMED, COVERED)
    }
    return table(["share that collapses", ""], RUNS, cells), rows


def shares(rng: np.random.Generator, rate: float, n: int, repeats: int) -> dict[str, float]:
    """Return the share of repeats in which each of the four happens."""
    collapsed = rng.random((repeats, n)) < rate
    a = np.where(collapsed, CHANCE, USUAL) + SD * rng.standard_normal((repeats, n))
    b = USUAL + SD * rng.standard_normal((repeats, n))
    passed, _ = judged(a, b, DROP)
    low, high = far(a)
    uppers = np.array([failure_rate(failed, n, 1 - 2 * ALPHA).interval.high for failed in range(n + 1)])
    strict = passed & (uppers[low.sum(axis=1)] <= ALLOWED)
    named = (low | high).any(axis=1)
    for k in range(CHECKED):
        check(a[k], b[k], passed=passed[k], strict=strict[k], named=named[k])
    limits = [failure_rate(failed, n).interval for failed in range(n + 1)]
    covered = np.array([each.low <= rate <= each.high for each in limits])[collapsed.sum(axis=1)]
    return {
        what: float(np.mean(which))
        for what, which in ((PASSES, passed), (STRICT, strict), (NAMED, named), (COVERED, covered))
    }


def far(values: Any) -> tuple[Any, Any]:
    """Tell which values are far below the others of their sample, and which far above, as the library does."""
    centre = np.median(values, axis=1, keepdims=True)
    scale = stats.median_abs_deviation(values, axis=1, scale="normal")[:, None]
    scores = (values - centre) / scale
    return scores < -FAR_CUTOFF, scores > FAR_CUTOFF


def check(a: Any, b: Any, *, passed: bool, strict: bool, named: bool) -> None:
    """End the program where the library says something else."""
    sides, drops = (side("a", a), side("b", b)), {"acc": Drop(DROP)}
    assert passed == check_side(*sides, GateOptions(drops=drops)).passed
    assert strict == check_side(*sides, GateOptions(drops=drops, max_failures=ALLOWED)).passed
    assert named == bool(far_from_others(a))


def side(label: str, values: Any) -> Side:
    """Return a side whose runs gave these values."""
    sample = Sample(
        name="acc", aggregate="last", kind="quality", unit="", direction="higher",
        runs=list(range(len(values))), values=[float(value) for value in values], excluded=[],
    )  # fmt: skip
    return Side(
        label=label, experiment=label, variant="algo+impl", completed=len(values), ended=len(values), samples=[sample]
    )


if __name__ == "__main__":
    main()
