"""How often ``deviate check --set max_group_drop`` is wrong about groups of examples, by simulation.

Prints tables on standard error and one JSON object on standard output::

    python benchmarks/statistics/gate_groups.py > gate_groups.json

Each check has one family of 8 groups of as many examples each, and A is as much worse on each as is allowed: not at
all, or `DROP`. A false ``worse`` is one of any group, adjusted by Holm's method; a false ``not worse`` is one of a
group alone. Beside them stands Welch's test alone. The tests are written here for many checks at once; the first
`CHECKED` of each cell are also put through the library, and a difference ends the program. 4,000 repeats tell 5 % to
±0.7.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from groups import CHUNK, DRAWN, ROUNDING, STATE
from scipy import optimize, special, stats
from simulation import percent, run, table

from deviate.stats.gates import FEW_ERRORS, noninferiority, share_noninferiority
from deviate.stats.tests import is_permuted

ALPHA = 0.05

RUNS = ((5, 5), (10, 10), (5, 10), (5, 20), (20, 5), (10, 20), (20, 10))

GROUPS, EXAMPLES, ACCURACIES = 8, (5, 20, 100, 1000), (0.5, 0.9, 0.99)

#: What is allowed where anything is, as a share of the examples.
DROP = 0.02

CHECKED = 1

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def main() -> None:
    """Simulate, print the tables and the JSON."""
    run(__doc__, simulate, 4000)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make the tables."""
    rows = [
        {"errors": errors, "accuracy": accuracy, "examples": examples, "runs": runs}
        | wrong(rng, errors, accuracy, examples, runs, repeats)
        for errors, accuracy, examples in product(ERRORS, ACCURACIES, EXAMPLES)
        for runs in RUNS
    ]
    cells: dict[str, dict[tuple[str, ...], list[str]]] = {"As Deviate tests": {}, "Welch's test alone": {}}
    for row, test in product(rows, cells):
        key = row["errors"], f"{row['accuracy']}", f"{row['examples']:,}"
        cells[test].setdefault(key, []).append(" / ".join(map(percent, row[test])))
    heads, columns = ["errors", "accuracy", "examples"], [f"{n} and {m}" for n, m in RUNS]
    return "\n\n".join(f"#### {test}\n\n{table(heads, columns, cells[test])}" for test in cells), rows


def wrong(
    rng: np.random.Generator, errors: str, accuracy: float, examples: int, runs: tuple[int, int], repeats: int
) -> dict[str, list[float]]:
    """Return the shares of false ``worse`` where no drop is allowed and where one is, and of false ``not worse``."""
    shares: dict[str, list[float]] = {"As Deviate tests": [], "Welch's test alone": []}
    for drop in (0.0, DROP):
        right, allowed = ERRORS[errors](rng, accuracy, drop, examples, runs, (repeats, GROUPS))
        a, b = right[..., : runs[0]] / examples, right[..., runs[0] :] / examples
        check(a[:CHECKED], b[:CHECKED], np.broadcast_to(allowed, (*b.shape[:2], 1))[:CHECKED], examples)
        for test, cautious in (("As Deviate tests", examples), ("Welch's test alone", None)):
            not_worse, worse = claimed(a, b, allowed, cautious, rng)
            shares[test].append(float(worse.any(axis=1).mean()))
            if drop:
                shares[test].append(float(not_worse.mean()))
    return shares


# How many examples runs are right on, A's after B's, and the drop there is: shapes (repeats, groups, runs)


def independent(
    rng: np.random.Generator, accuracy: float, drop: float, examples: int, runs: tuple[int, int], shape: tuple[int, int]
) -> tuple[Any, Any]:
    """Have all examples equally hard."""
    return rng.binomial(examples, by_side(accuracy - drop, accuracy, runs), (*shape, sum(runs))), drop


def on_few(
    rng: np.random.Generator, accuracy: float, drop: float, examples: int, runs: tuple[int, int], shape: tuple[int, int]
) -> tuple[Any, Any]:
    """Have most examples right or wrong in all runs, and the others turn like coins; the coins of A are worse."""
    few = 1 - accuracy
    always, turning, _ = np.moveaxis(rng.multinomial(examples, [1 - 1.5 * few, few, few / 2], shape)[..., None], 2, 0)
    coin = max(0.5 - drop / few, 0.0)
    right = always + rng.binomial(turning, by_side(coin, 0.5, runs), (*shape, sum(runs)))
    return right, turning * (0.5 - coin) / examples


def by_run(
    rng: np.random.Generator,
    accuracy: float,
    drop: float,
    examples: int,
    runs: tuple[int, int],
    shape: tuple[int, int],
    sd: float = STATE,
) -> tuple[Any, Any]:
    """Have runs differ as wholes, on all groups alike; `sd` is that of their logits."""
    state = sd * rng.standard_normal((shape[0], 1, sum(runs)))
    logits = by_side(logit_of(accuracy - drop, sd), logit_of(accuracy, sd), runs)
    return rng.binomial(examples, special.expit(logits + state), (*shape, sum(runs))), drop


def by_run_more(
    rng: np.random.Generator, accuracy: float, drop: float, examples: int, runs: tuple[int, int], shape: tuple[int, int]
) -> tuple[Any, Any]:
    """Have runs differ twice as much."""
    return by_run(rng, accuracy, drop, examples, runs, shape, 2 * STATE)


ERRORS = {
    "independent": independent,
    "on few examples": on_few,
    "runs differ": by_run,
    "runs differ twice as much": by_run_more,
}


def by_side(a: float, b: float, runs: tuple[int, int]) -> Any:
    """Return a number for each run."""
    return np.repeat([a, b], runs)


def logit_of(accuracy: float, sd: float) -> float:
    """Return the logit about which runs scatter that have this accuracy on average."""
    return float(optimize.brentq(lambda logit: WEIGHTS @ special.expit(logit + sd * NODES) - accuracy, -9, 12))


def claimed(a: Any, b: Any, allowed: Any, examples: int | None, rng: np.random.Generator) -> tuple[Any, Any]:
    """Tell which groups are called not worse and, adjusted over the groups of a check, worse."""
    limit = b - allowed
    not_worse_p, worse_p = p_values(a, b, allowed, examples)
    not_worse = not_worse_p <= ALPHA
    # The first step of Holm's procedure decides whether any group is called worse.
    levels = ALPHA / np.maximum(np.sum(~np.isnan(worse_p), axis=1, keepdims=True), 1)
    worse = worse_p <= levels
    if examples and is_permuted(a.shape[2], limit.shape[2]):
        both = np.concatenate([a, limit], axis=2)
        not_worse[not_worse] = permuted(both[not_worse], a.shape[2], rng) <= ALPHA
        worse[worse] = permuted(-both[worse], a.shape[2], rng) <= np.broadcast_to(levels, worse.shape)[worse]
    return not_worse, worse


def p_values(a: Any, b: Any, allowed: Any, examples: int | None) -> tuple[Any, Any]:
    """Give p of being not worse and of being worse, without permutations; with Deviate's cautions where `examples`."""
    limit = b - allowed
    not_worse, worse = welch(a, limit, 1 / examples if examples else 0.0)
    if not examples:
        return not_worse, worse
    spread = spread_at_the_limit(limit, examples, b.mean(axis=-1))
    cautious = welch(a, limit, 1 / examples, spread)[0]
    trials, rate = a.shape[-1] * examples, np.clip(1 - limit.mean(axis=-1), 0, 1)
    few = stats.binom.cdf(np.rint((1 - a).sum(axis=-1) * examples), trials, rate)
    few[trials * np.minimum(rate, 1 - rate) >= FEW_ERRORS] = 0
    return np.maximum(cautious, few), worse


def spread_at_the_limit(limit: Any, examples: int, baseline: Any) -> Any:
    """Return the least variance of A: that of B where logits have moved to the limit."""
    room = 0.5 / (limit.shape[-1] * examples)
    rate, at = np.clip(baseline, room, 1 - room), np.clip(limit.mean(axis=-1), room, 1 - room)
    by_chance = rate * (1 - rate) / examples
    as_wholes = limit.var(axis=-1, ddof=1) - by_chance
    wider = np.maximum(at * (1 - at) / (rate * (1 - rate)), 1) ** 2
    return np.where(as_wholes > 0, by_chance + as_wholes * wider, 0.0)


def welch(a: Any, limit: Any, floor: float, at_least: Any = 0.0) -> tuple[Any, Any]:
    """Give p against a difference of at most zero, and of at least zero; NaN where no run differs on either side."""
    sizes = a.shape[-1], limit.shape[-1]
    variances = [side.var(axis=-1, ddof=1) for side in (a, limit)]
    untold = np.maximum(*(np.ptp(side, axis=-1) for side in (a, limit))) < ROUNDING
    errors = [
        np.maximum(np.maximum(variance, floor**2 * n / (n + 1) ** 2), least) / n
        for variance, n, least in zip(variances, sizes, (at_least, 0.0), strict=True)
    ]
    freedom = sum(errors) ** 2 / sum(error**2 / (n - 1) for error, n in zip(errors, sizes, strict=True))
    t = np.where(untold, np.nan, (a.mean(axis=-1) - limit.mean(axis=-1)) / np.sqrt(sum(errors)))
    return stats.t.sf(t, freedom), stats.t.cdf(t, freedom)


def permuted(values: Any, first: int, rng: np.random.Generator) -> Any:
    """Return one-sided p of random permutations, the same ones for all samples; shape ``(samples, runs)``."""
    order = rng.permuted(np.tile(np.arange(values.shape[1]), (DRAWN, 1)), axis=1)
    masks = (np.argsort(order, axis=1) < first).astype(float)
    ps = [
        (np.sum(chunk @ masks.T / first >= chunk[:, :first].mean(axis=1, keepdims=True) - ROUNDING, axis=1) + 1)
        / (DRAWN + 1)
        for chunk in np.array_split(values, max(1, len(values) // CHUNK))
    ]
    return np.concatenate(ps)


def check(a: Any, b: Any, allowed: Any, examples: int) -> None:
    """End the program where the library says something else of these tests; it draws other permutations."""
    sides = [side.reshape(-1, side.shape[-1]) for side in (a, b, allowed)]
    for cautious in (None, examples):
        ps = np.stack(p_values(a, b, allowed, cautious), axis=-1).reshape(-1, 2)
        for p, first, second, drop in zip(ps, *sides, strict=True):
            test = noninferiority(first, second - drop, "higher", ALPHA)
            if cautious and not np.isnan(p[1]):
                rng, baseline = np.random.default_rng(0), float(second.mean())
                test = share_noninferiority(first, second - drop, ALPHA, examples=examples, baseline=baseline, rng=rng)
            library = [np.nan if each is None else each for each in (test.p_not_worse, test.p_worse)]
            if cautious and is_permuted(len(first), len(second)):
                assert np.isnan(p[1]) or (np.array(library) >= p - ROUNDING).all()
            else:
                assert np.allclose(library, p, rtol=1e-6, equal_nan=True), (library, p)


if __name__ == "__main__":
    main()
