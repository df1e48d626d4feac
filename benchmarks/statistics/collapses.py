"""What becomes of checks where some runs collapse to chance level, by simulation.

Prints tables on standard error and one JSON object on standard output::

    python benchmarks/statistics/collapses.py > collapses.json

Typical runs have an accuracy of 97 with an SD of 0.3; a share of the candidate's runs, and of the baseline's, ends at
10. `deviate check --metric acc --max-drop 0.5` is asked with and without ``--max-failures 10%``, of candidates whose
typical runs are as good as the baseline's, or lower by just the drop. Each check is made by the library; 1,000 repeats
tell 5 % to ±1.4.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from simulation import percent, run, table

from deviate.facts.comparison_options import Drop, GateOptions
from deviate.facts.gate import check_side
from deviate.facts.samples import Sample
from deviate.facts.side import Side
from deviate.stats.failures import failure_rate

#: Shares of the baseline's and the candidate's runs that collapse.
RATES = ((0.0, 0.0), (0.0, 0.1), (0.0, 0.3), (0.0, 0.6), (0.1, 0.0), (0.1, 0.1), (0.3, 0.3), (0.6, 0.6))

#: Runs of the baseline and of the candidate.
RUNS = ((8, 5), (5, 5), (10, 10), (30, 30), (30, 5))

USUAL, SD, CHANCE = 97.0, 0.3, 10.0

#: The drop that is allowed, and the largest rate of failures that the stricter gate allows.
DROP, ALLOWED = 0.5, 0.1

PASSES, WORSE, STRICT, COUNTED, MISSED = (
    "passes", "is called worse", "--max-failures 10% passes", "collapsed runs are counted right",
    "passes though typical runs are lower by the drop",
)  # fmt: skip


def main() -> None:
    """Simulate, print the table and the JSON."""
    run(__doc__ or "", simulate, repeats=1000)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make the table."""
    drawn = list(product(RATES, RUNS))
    rows = [
        {"baseline": rates[0], "candidate": rates[1], "runs": runs, **shares(own, rates, runs, repeats)}
        for (rates, runs), own in zip(drawn, rng.spawn(len(drawn)), strict=True)
    ]
    cells = {
        (f"{baseline:.0%}", f"{candidate:.0%}", what): [
            percent(row[what]) for row in rows if (row["baseline"], row["candidate"]) == (baseline, candidate)
        ]
        for baseline, candidate in RATES
        for what in (PASSES, WORSE, STRICT, COUNTED, MISSED)
    }
    columns = [f"{n} and {m}" for n, m in RUNS]
    return table(["of the baseline", "of the candidate", "a check"], columns, cells), rows


def shares(
    rng: np.random.Generator, rates: tuple[float, float], runs: tuple[int, int], repeats: int
) -> dict[str, float]:
    """Return the share of repeats in which each happens."""
    happened = dict.fromkeys((PASSES, WORSE, STRICT, COUNTED, MISSED), 0)
    for _ in range(repeats):
        (b, _), (a, collapsed) = (sample(rng, rate, n) for rate, n in zip(rates, runs, strict=True))
        gate = check(a, b)
        happened[PASSES] += gate.passed
        happened[WORSE] += gate.metrics[0].outcome == "worse"
        happened[COUNTED] += gate.failures.failed == collapsed
        upper = failure_rate(gate.failures.failed, gate.failures.runs, 1 - 2 * gate.alpha).interval.high
        assert upper is not None
        happened[STRICT] += upper <= ALLOWED and check(a, b, max_failures=ALLOWED).passed
        happened[MISSED] += check(a - DROP, b).passed
    return {what: number / repeats for what, number in happened.items()}


def sample(rng: np.random.Generator, rate: float, n: int) -> tuple[Any, int]:
    """Return the values of n runs, and how many of them collapsed."""
    collapsed = rng.random(n) < rate
    return np.where(collapsed, CHANCE, USUAL) + SD * rng.standard_normal(n), int(collapsed.sum())


def check(a: Any, b: Any, **options: Any) -> Any:
    """Check the candidate's values against the baseline's."""
    return check_side(side("a", a), side("b", b), GateOptions(drops={"acc": Drop(DROP)}, **options))


def side(label: str, values: Any) -> Side:
    """Return a side whose runs gave these values."""
    made = Sample(
        name="acc", aggregate="last", kind="quality", unit="", direction="higher",
        runs=list(range(len(values))), values=[float(value) for value in values], excluded=[],
    )  # fmt: skip
    return Side(
        label=label, experiment=label, variant="algo+impl", completed=len(values), ended=len(values), samples=[made]
    )


if __name__ == "__main__":
    main()
