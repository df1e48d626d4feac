"""How often intervals of churn and of parts of the variance cover, and whether estimates are unbiased, by simulation.

Prints tables on standard error and one JSON object on standard output::

    python benchmarks/statistics/predictions.py > predictions.json

Run r has a state u_r, in most regimes N(0, 1). It is right on example i with probability
``1 / (1 + exp(-(d_i + s_i * u_r)))``, the examples independent given the state, and otherwise gives one of three wrong
labels. The true churn follows by quadrature over u, or from 20,000 states; true numbers of other measures over pairs
are the means over 20,000 further runs. 2,000 repeats tell 95 % to ±1 point.

The parts ``further`` and ``further-between`` have other regimes and numbers of runs: methods were chosen before on the
regimes of the other parts.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from deviate.stats.agreement import correctness_correlation, value_correlation
from deviate.stats.churn import churn, churn_between, excess_churn
from deviate.stats.ensembles import example_variance
from deviate.stats.intervals import Interval, sd_interval
from deviate.stats.pairs import Estimate, jackknife_interval

RUNS = (3, 5, 10, 20)

FURTHER_RUNS = (4, 7, 15)

#: Runs of A and of B.
FURTHER_SIZES = ((4, 12), (7, 7), (15, 6), (15, 15))

#: Runs, or states, that stand for all, where no formula gives the true number; drawn so many at a time.
MANY, CHUNK = 20_000, 1000

#: Runs that stand for all of them where each has the scores of all classes.
SCORED = 4_000

#: Nodes of the quadrature over the state of a run.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


#: How states of runs are drawn, by name; of a shape.
STATES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Any]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "two clusters": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    "three clusters": lambda rng, shape: rng.choice([-1.2, 0.0, 1.2], shape),
    "a fifth unlike": lambda rng, shape: np.where(rng.random(shape) < 0.2, -2.0, 0.5),
    "heavy tails": lambda rng, shape: np.clip(rng.standard_t(3, shape), -30, 30) / math.sqrt(3),
    "skewed": lambda rng, shape: 1 - rng.exponential(1, shape),
}


@dataclass(frozen=True)
class Regime:
    """How hard the examples are, and how they follow the state of a run."""

    name: str
    examples: int
    #: Mean and SD of d.
    hardness: tuple[float, float]
    #: Size of s.
    load: float
    #: Half of the examples follow the state in the other direction.
    mixed: bool = False
    #: Each example follows the state by a factor of its own, drawn from N(0, 1).
    own: bool = False
    state: str = "normal"
    #: Numbers that a state has.
    factors: int = 1

    def test_set(self, rng: np.random.Generator) -> TestSet:
        """Draw the examples."""
        hard = self.hardness[0] + self.hardness[1] * rng.standard_normal(self.examples)
        shape = (self.factors, self.examples)
        signs = rng.choice([-1.0, 1.0], shape) if self.mixed else np.ones(shape)
        own = rng.standard_normal(shape) / math.sqrt(self.factors) if self.own else 1.0
        return TestSet(hard, self.load * signs * own, rng.dirichlet([0.5] * 3, self.examples), self.state)

    def distribution_variance(self) -> float:
        """Return the variance over states of the accuracy on a test set without end."""
        hard = self.hardness[0] + self.hardness[1] * NODES
        loads = (-self.load, self.load) if self.mixed else (self.load,)
        accuracy = np.mean([WEIGHTS @ right(hard[:, None] + load * NODES) for load in loads], axis=0)
        return float(WEIGHTS @ (accuracy - WEIGHTS @ accuracy) ** 2)


@dataclass(frozen=True)
class TestSet:
    """The examples of one test set."""

    hard: Any
    load: Any
    #: Probabilities of the three wrong labels of each example.
    wrong: Any
    #: Name of the distribution of states.
    state: str

    def labels(self, rng: np.random.Generator, runs: int) -> Any:
        """Draw the labels of runs, shape ``(runs, examples)``; 0 is right."""
        is_right = self.correct(rng, runs)
        drawn = rng.random(is_right.shape)
        ends = self.wrong.cumsum(axis=1)
        return np.where(is_right, 0, 1 + (drawn > ends[:, 0]) + (drawn > ends[:, 1]))

    def correct(self, rng: np.random.Generator, runs: int) -> Any:
        """Draw where runs are right."""
        states = STATES[self.state](rng, (runs, len(self.load)))
        return rng.random((runs, self.hard.size)) < right(self.hard + states @ self.load)

    def shares(self) -> Any:
        """Return the probability of each label, shape ``(examples, 4)``."""
        if self.state == "normal" and len(self.load) == 1:
            mean = right(self.hard[:, None] + self.load.T * NODES) @ WEIGHTS
        else:
            # The same states for two recipes, so that one recipe differs from itself by 0.
            states = STATES[self.state](np.random.default_rng(1), (MANY, len(self.load)))
            parts = np.array_split(states, MANY // CHUNK)
            mean = sum(right(self.hard + part @ self.load).sum(axis=0) for part in parts) / MANY
        return np.column_stack([mean, (1 - mean)[:, None] * self.wrong])

    def changed(self, rng: np.random.Generator, size: float) -> TestSet:
        """Return the same examples for another recipe, to which some are harder and others easier."""
        return TestSet(self.hard + size * rng.standard_normal(self.hard.size), self.load, self.wrong, self.state)

    def truths(self, rng: np.random.Generator) -> dict[str, float]:
        """Return the numbers over pairs of all runs."""
        churn_of_all = float(np.mean(1 - (self.shares() ** 2).sum(axis=1)))
        n, total, defined, accuracies = self.hard.size, np.zeros(self.hard.size), 0, []
        for _ in range(MANY // CHUNK):
            correct = self.correct(rng, CHUNK)
            means = correct.mean(axis=1)
            accuracies.append(means)
            varied = (means > 0) & (means < 1)
            scaled = (correct - means[:, None])[varied] / np.sqrt(n * means * (1 - means))[varied, None]
            total += scaled.sum(axis=0)
            defined += int(varied.sum())
        ordered = np.sort(np.concatenate(accuracies))
        # Gini's mean difference, from the order statistics.
        forced = float(2 * (2 * np.arange(1, MANY + 1) - MANY - 1) @ ordered / (MANY * (MANY - 1)))
        return {
            "churn": churn_of_all,
            "forced by the accuracies": forced,
            "beyond the accuracies": churn_of_all - forced,
            "correlation": float((total @ total - defined) / (defined * (defined - 1))),
        }


def right(logits: Any) -> Any:
    """Return the probability of a right label."""
    return 1 / (1 + np.exp(-logits))


#: Regimes of churn.
CHURN = (
    Regime("independent errors", 500, (2, 2), 0),
    Regime("runs differ a little", 500, (2, 2), 0.1),
    Regime("runs differ", 500, (2, 2), 0.5),
    Regime("few errors, 99 %", 500, (6, 2), 0.3),
    Regime("100 examples, 96 %", 100, (5, 2), 0.3),
    Regime("opposite ways", 500, (2, 2), 0.5, mixed=True),
    Regime("opposite ways, extremely", 500, (2, 2), 1.5, mixed=True),
    Regime("runs differ extremely", 500, (1, 1), 1.5),
)

#: Regimes of churn between two sets of runs: an ordinary one, and the extreme ones.
BETWEEN = (CHURN[2], *CHURN[6:])

#: Regimes on which no method was chosen.
FURTHER = (
    Regime("two clusters of runs", 500, (2, 2), 0.7, state="two clusters"),
    Regime("a fifth of the runs unlike", 500, (2, 2), 0.6, state="a fifth unlike"),
    Regime("2,000 examples, 99.9 %", 2000, (9, 2.2), 0.3),
    Regime("50 examples, hard", 50, (0.5, 1.5), 0.3),
    Regime("skewed states", 700, (2.5, 2), 0.5, state="skewed"),
    Regime("opposite ways, 1,500 examples", 1500, (1, 2), 1.0, mixed=True),
    Regime("runs differ much, 400 examples", 400, (2.5, 1.5), 1.0),
    Regime("opposite ways, 150 examples", 150, (2, 3), 0.8, mixed=True),
    Regime("2,500 examples, 93 %", 2500, (4, 2), 0.15),
    Regime("heavy tails", 600, (1, 1.5), 0.6, state="heavy tails"),
    Regime("5 factors, 80 examples", 80, (1.5, 2), 1.0, own=True, factors=5),
    Regime("each example its own way", 1000, (3, 2), 2.0, own=True),
    Regime("three clusters, mild", 500, (2, 2), 0.3, state="three clusters"),
    Regime("350 examples, 97 %, skewed", 350, (7, 3), 0.5, state="skewed"),
    Regime("5,000 examples, nearly alike", 5000, (2, 4), 0.05),
    Regime("independent errors, 120 hard examples", 120, (0, 1), 0),
)

#: And of churn between two sets of runs.
FURTHER_BETWEEN = (FURTHER[0], *FURTHER[4:8], FURTHER[9], FURTHER[11], FURTHER[13], FURTHER[15])

#: Regimes of the distribution-wise variance; the first is exactly zero.
VARIANCE = (
    Regime("zero: independent errors", 500, (2, 2), 0),
    Regime("small", 1000, (2, 2), 0.05),
    Regime("of the size of the finite test set", 500, (2, 2), 0.15),
    Regime("large", 500, (2, 2), 0.5),
    Regime("opposite ways", 500, (2, 2), 1.0, mixed=True),
    Regime("few errors, 99 %", 500, (6, 2), 0.5),
)


def main() -> None:
    """Simulate, print the tables and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--variance-repeats", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parts", default=",".join(PARTS), help="tables to make, joined by commas")
    options = parser.parse_args()
    started = time.perf_counter()
    made = {}
    for part in options.parts.split(","):
        # Own draws for each part, so that one alone has the numbers that it has among all.
        rng = np.random.default_rng([options.seed, PARTS.index(part)])
        made[part] = PARTED[part](rng, options)
    print(json.dumps({**vars(options), "seconds": round(time.perf_counter() - started, 1), **made}))


def within(rng: np.random.Generator, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Simulate one set of runs."""
    rows = [row for regime in CHURN for row in pairs_within(rng, regime, RUNS, options.repeats)]
    coverage_table("one set of runs", rows)
    return rows


def further(rng: np.random.Generator, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Simulate one set of runs in further regimes."""
    rows = [row for regime in FURTHER for row in pairs_within(rng, regime, FURTHER_RUNS, options.repeats)]
    coverage_table("one set of runs", rows)
    return rows


def between(rng: np.random.Generator, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Simulate two sets of runs."""
    cases = [(regime, change) for regime in BETWEEN for change in (0.0, 0.5, 2.0)]
    sizes = tuple((runs, runs) for runs in RUNS)
    rows = [row for case in cases for row in pairs_between(rng, *case, sizes, options.repeats)]
    coverage_table("two sets of runs", rows)
    return rows


def further_between(rng: np.random.Generator, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Simulate two sets of runs in further regimes."""
    cases = [(regime, change) for regime in FURTHER_BETWEEN for change in (0.0, 1.0)]
    rows = [row for case in cases for row in pairs_between(rng, *case, FURTHER_SIZES, options.repeats)]
    coverage_table("two sets of runs", rows)
    return rows


def variance(rng: np.random.Generator, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Simulate parts of the variance."""
    rows = [row for regime in VARIANCE for row in variances(rng, regime, options.variance_repeats)]
    variance_tables(rows)
    return rows


@dataclass(frozen=True)
class Scores:
    """Scores of classes: the softmax of normal logits, of which a run moves `load` by its state and `noise` alone."""

    name: str
    examples: int
    classes: int
    load: float
    noise: float
    state: str = "normal"

    def draws(self, rng: np.random.Generator) -> Callable[[int], Any]:
        """Draw the examples; return what draws the scores of runs, shape ``(runs, examples * classes)``."""
        mean, follow = 2 * rng.standard_normal((2, self.examples, self.classes))
        follow *= self.load / 2

        def of_runs(runs: int) -> Any:
            states = STATES[self.state](rng, (runs, 1))[..., None]
            logits = mean + follow * states + self.noise * rng.standard_normal((runs, *mean.shape))
            odds = np.exp(logits - logits.max(axis=2, keepdims=True))
            return (odds / odds.sum(axis=2, keepdims=True)).reshape(runs, -1)

        return of_runs


#: Regimes of scores.
SCORES = (
    Scores("noise alone", 500, 3, 0, 1),
    Scores("runs differ a little", 500, 3, 0.1, 0.3),
    Scores("runs differ", 500, 3, 0.3, 0.3),
    Scores("runs differ, 10 classes", 100, 10, 0.3, 1),
    Scores("runs differ much", 500, 3, 1, 0.3),
    Scores("runs differ extremely", 100, 3, 2, 0.1),
    Scores("two clusters of runs", 500, 3, 1, 0.3, "two clusters"),
)


def scores(rng: np.random.Generator, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Simulate the correlation of scores."""
    rows = [row for regime in SCORES for row in scores_within(regime, regime.draws(rng), RUNS, options.repeats)]
    coverage_table("scores of one set of runs", rows)
    return rows


def scores_within(
    regime: Scores, draw: Callable[[int], Any], runs: tuple[int, ...], repeats: int
) -> Iterator[dict[str, Any]]:
    """Yield the coverage of the correlation of scores over pairs of one set of runs."""
    many = np.concatenate([draw(CHUNK) for _ in range(SCORED // CHUNK)])
    many -= many.mean(axis=1, keepdims=True)
    total = (many / np.linalg.norm(many, axis=1, keepdims=True)).sum(axis=0)
    truths = {"correlation of scores": float((total @ total - SCORED) / (SCORED * (SCORED - 1)))}
    yield from coverages(
        regime.name, truths, lambda n: {"correlation of scores": value_correlation(draw(n))}, runs, repeats
    )


PARTED = {
    "within": within,
    "between": between,
    "variance": variance,
    "further": further,
    "further-between": further_between,
    "scores": scores,
}
PARTS = tuple(PARTED)


def pairs_within(
    rng: np.random.Generator, regime: Regime, runs: tuple[int, ...], repeats: int
) -> Iterator[dict[str, Any]]:
    """Yield the coverage of each measure over pairs of one set of runs."""
    test_set = regime.test_set(rng)
    truths = test_set.truths(rng)
    name = regime.name
    if regime in CHURN:
        name += f" ({100 * math.sqrt(regime.distribution_variance()):.1f} points)"
    yield from coverages(name, truths, lambda n: of_runs(test_set.labels(rng, n)), runs, repeats)


def of_runs(labels: Any) -> dict[str, Estimate]:
    """Measure runs whose right label is 0."""
    targets = np.zeros(labels.shape[1], int)
    parts = excess_churn(labels, targets)
    return {
        "churn": churn(labels).mean,
        "forced by the accuracies": parts.forced,
        "beyond the accuracies": parts.beyond,
        "correlation": correctness_correlation(labels, targets).mean,
    }


def pairs_between(
    rng: np.random.Generator, regime: Regime, change: float, sizes: tuple[tuple[int, int], ...], repeats: int
) -> Iterator[dict[str, Any]]:
    """Yield the coverage of each measure between two sets of runs."""
    test_set = regime.test_set(rng)
    other = test_set.changed(rng, change)
    a, b = test_set.shares(), other.shares()
    truths = {
        "between": float(np.mean(1 - (a * b).sum(axis=1))),
        "over A": float(np.mean((a * a - a * b).sum(axis=1))),
        "excess": float(np.mean(((a - b) ** 2).sum(axis=1))) / 2,
    }

    def measured(runs: tuple[int, int]) -> dict[str, Estimate]:
        measured_pairs = churn_between(test_set.labels(rng, runs[0]), other.labels(rng, runs[1]))
        return {"between": measured_pairs.between, "over A": measured_pairs.over_a, "excess": measured_pairs.excess}

    yield from coverages(f"{regime.name}, excess {100 * truths['excess']:.2f} %", truths, measured, sizes, repeats)


def coverages(
    regime: str,
    truths: dict[str, float],
    measured: Callable[[Any], dict[str, Estimate]],
    sizes: tuple[Any, ...],
    repeats: int,
) -> Iterator[dict[str, Any]]:
    """Yield for each number of runs and measure how often its interval covers."""
    for runs in sizes:
        drawn = [measured(runs) for _ in range(repeats)]
        for name, truth in truths.items():
            yield {
                "regime": regime,
                "measure": name,
                "runs": runs,
                "truth": truth,
                "mean": float(
                    np.mean([estimates[name].value for estimates in drawn if estimates[name].value is not None])
                ),
                **covered([estimates[name].interval for estimates in drawn], truth),
            }


def covered(intervals: list[Interval], truth: float) -> dict[str, float | None]:
    """Count the intervals that hold the truth, among those that are known."""
    ends = np.array([(interval.low, interval.high) for interval in intervals if interval.known]).reshape(-1, 2)
    inside = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    return {"coverage": float(inside.mean()) if len(ends) else None, "none": 1 - len(ends) / len(intervals)}


def variances(rng: np.random.Generator, regime: Regime, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield bias and coverage of the distribution-wise variance; each repeat has a test set of its own."""
    truth = regime.distribution_variance()
    for runs in RUNS[1:]:
        drawn = [regime.test_set(rng).correct(rng, runs) for _ in range(repeats)]
        parts_of_all = [example_variance(table) for table in drawn]
        estimates = np.array([parts.distribution for parts in parts_of_all])
        observed = float(np.mean([parts.between_runs for parts in parts_of_all]))
        few = drawn[: max(1, repeats // 10)]
        yield {
            "regime": regime.name,
            "examples": regime.examples,
            "runs": runs,
            "truth": truth,
            "mean": float(estimates.mean()),
            "standard_error": float(estimates.std(ddof=1)) / math.sqrt(repeats),
            "sd_of_one": float(estimates.std(ddof=1)),
            "observed": observed,
            "negative": float((estimates < 0).mean()),
            "told_from_0": float(np.mean([parts.distribution_sd is not None for parts in parts_of_all])),
            "given": covered([parts.interval for parts in parts_of_all], truth),
            "chi-square": covered([by_chi_square(table) for table in few], truth),
            "jackknife": covered([by_jackknife(table) for table in few], truth),
        }


def by_chi_square(correct: Any) -> Interval:
    """Give the interval that knows of no tails."""
    of_sd, parts = sd_interval(correct.mean(axis=1)), example_variance(correct)
    if not of_sd.known:
        return of_sd
    return Interval(low=of_sd.low**2 - parts.finite_test, high=of_sd.high**2 - parts.finite_test, level=0.95, method="")


def by_jackknife(correct: Any) -> Interval:
    """Give the interval by leaving out runs."""
    left_out = [example_variance(np.delete(correct, run, axis=0)).distribution for run in range(len(correct))]
    return jackknife_interval(example_variance(correct).distribution, np.array(left_out))


def coverage_table(title: str, rows: list[dict[str, Any]]) -> None:
    """Print a line for each regime, with the SD of the accuracy on a test set without end, and measure."""
    sizes = list(dict.fromkeys(row["runs"] for row in rows))
    print(f"\n| {title}: regime | measure | truth (%) | {' | '.join(map(written, sizes))} |", file=sys.stderr)
    print(f"|---|---|---:|{'---:|' * len(sizes)}", file=sys.stderr)
    for key in dict.fromkeys((row["regime"], row["measure"]) for row in rows):
        alike = [row for row in rows if (row["regime"], row["measure"]) == key]
        cells = " | ".join(percent(row) for row in alike)
        print(f"| {key[0]} | {key[1]} | {100 * alike[0]['truth']:.2f} | {cells} |", file=sys.stderr)


def written(runs: int | tuple[int, int]) -> str:
    """Write a number of runs, or those of A and of B where they differ."""
    if isinstance(runs, int):
        return str(runs)
    return f"{runs[0]} and {runs[1]}" if runs[0] != runs[1] else str(runs[0])


def percent(row: dict[str, Any]) -> str:
    """Write a coverage, and the share of repeats without an interval where there are any."""
    if row["coverage"] is None:
        return "–"
    return f"{100 * row['coverage']:.1f}" + (f" ({100 * row['none']:.0f} % none)" if row["none"] >= 0.005 else "")


def variance_tables(rows: list[dict[str, Any]]) -> None:
    """Print bias and coverage of the distribution-wise variance, variances in squared points of accuracy."""
    head = "runs | truth | mean ± SE | bias/observed (%) | SD of one | < 0 (%) | seen (%) | given | χ² | jackknife"
    print(f"\n| regime | {head} |", file=sys.stderr)
    print(f"|---|{'---:|' * 10}", file=sys.stderr)
    for row in rows:
        truth, mean, error, of_single, observed = (
            1e4 * row[name] for name in ("truth", "mean", "standard_error", "sd_of_one", "observed")
        )
        bias = f"{100 * (mean - truth) / observed:+.1f} ± {100 * error / observed:.1f}"
        cells = " | ".join(percent(row[name]) for name in ("given", "chi-square", "jackknife"))
        print(
            f"| {row['regime']} | {row['runs']} | {truth:.3f} | {mean:.3f} ± {error:.3f} | {bias} | {of_single:.3f} "
            f"| {100 * row['negative']:.0f} | {100 * row['told_from_0']:.0f} | {cells} |",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
