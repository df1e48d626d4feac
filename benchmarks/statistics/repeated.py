"""How often runs that repeat one draw make a recipe look better than itself, by simulation.

Prints a table on standard error and one JSON object on standard output::

    python benchmarks/statistics/repeated.py > repeated.json

A run's value is the effect of its draw of one factor plus what else varies; both recipes are the same. Welch's t test
alone is set against what `deviate compare` says of sides with such fingerprints. 10,000 repeats tell 5 % to ±0.4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats
from simulation import percent, run, table

from deviate.facts.comparison import compare_sides
from deviate.facts.comparison_options import ComparisonOptions
from deviate.facts.samples import Sample
from deviate.facts.side import Side
from deviate.observe.fingerprints import Fingerprint
from deviate.report.topics.comparison_answer import comparison_headline

ALPHA = 0.05

RUNS = (5, 10, 20)

#: Share of the variance that the repeated factor brings, and whether A and B repeat a draw of it.
CASES = {
    "A repeats a draw that brings 80 % of the variance, B varies": (0.8, True, False),
    "both repeat draws of their own, which bring 80 %": (0.8, True, True),
    "both repeat draws of their own, which bring 30 %": (0.3, True, True),
    "both vary in everything": (0.8, False, False),
}


def main() -> None:
    """Simulate, print the tables and the JSON."""
    run(__doc__, simulate)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make the table."""
    rows: list[dict[str, Any]] = []
    for case, (share, *repeated) in CASES.items():
        values = [simulated(rng, share, repeated, n, repeats) for n in RUNS]
        alarms = [float((stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue <= ALPHA).mean()) for a, b in values]
        said = [headline(a[0], b[0], repeated) for a, b in values]
        silent = all("no verdict" in sentence for sentence in said)
        rows.append({"case": case, "welch": alarms, "deviate": [0.0] * len(RUNS) if silent else alarms, "said": said})
    tests = (("Welch's test alone", "welch"), ("`deviate compare`", "deviate"))
    cells = {(row["case"], label): map(percent, row[test]) for row in rows for label, test in tests}
    return table(["", "test"], RUNS, cells), rows


def simulated(rng: np.random.Generator, share: float, repeated: list[bool], n: int, repeats: int) -> list[Any]:
    """Draw the values of two equal recipes, each of shape (repeats, n)."""
    values = []
    for one_draw in repeated:
        draws = rng.standard_normal((repeats, 1 if one_draw else n))
        values.append(math.sqrt(share) * draws + math.sqrt(1 - share) * rng.standard_normal((repeats, n)))
    return values


def headline(a: Any, b: Any, repeated: list[bool]) -> str:
    """Return what `deviate compare` says of two sides with these values, and with the fingerprints of such draws."""
    sides = [side(label, values, one_draw) for label, values, one_draw in zip("ab", (a, b), repeated, strict=True)]
    return comparison_headline(compare_sides(sides, ComparisonOptions()))[0]


def side(label: str, values: Any, one_draw: bool) -> Side:
    """Return a side whose runs repeat one draw of the data order, or draw it anew."""
    sample = Sample(
        name="acc", aggregate="last", kind="quality", unit="", direction="higher",
        runs=list(range(len(values))), values=[float(value) for value in values], excluded=[],
    )  # fmt: skip
    digests = [label if one_draw else f"{label}{run}" for run in sample.runs]
    prints = {
        run: {"shuffle": Fingerprint(name="shuffle", digest=digest, first=digest, count=1, processes=1, ended=1)}
        for run, digest in enumerate(digests)
    }
    return Side(
        label=label, experiment=label, variant="algo+impl", completed=len(values), ended=len(values),
        samples=[sample], prints=prints,
    )  # fmt: skip


if __name__ == "__main__":
    main()
