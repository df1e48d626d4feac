"""How often loops of 50 changes without effect keep one, by ``deviate judge`` and by the rules in use, by simulation.

Prints tables on standard error and one JSON object on standard output::

    python benchmarks/statistics/judge.py > judge.json

Each loop measures a floor of baseline runs once and judges 50 changes against it; higher is better. Beside
``deviate judge``: any improvement over one run (autoresearch), 2 runs of the baseline and a difference from their mean
of 2·|b1 − b2| or more, the floor's mean + 2 SD, and autojudge 1.0.1: its loop by exit status (all but DISCARD and CRASH
is kept), and its stricter verdicts (KEEP and STRONG_KEEP alone), both for values around 1 with an SD of 0.3 %.

The last two tables are of loops in which changes are also kept because their runs differ less (``--set spread=true``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from populations import HEAVY, NORMAL, Population, collapsing, lognormal, two_modes
from simulation import percent, run, table

from deviate.stats.judging import DEFAULT_ALPHA, Rule, first_to_decide, judge, make_rule

FLOORS = (2, 3, 5, 10)

TRIES = 50

#: True improvements, in SDs.
EFFECTS = (0.5, 1, 1.5, 2, 3, 5)

ROUNDED = Population("rounded (normal, to one SD)", lambda rng, shape: np.round(rng.standard_normal(shape)), 0.0, 1.0)

SHAPES = (NORMAL, HEAVY, lognormal(1, "skewed (lognormal, 1)"), two_modes(0.9), collapsing(0.1), ROUNDED)

#: Correlation of a change's run with that of the baseline with the same seeds.
PAIRED = (0.5, 0.9)

#: SD as a share of the value, for rules that look at percent.
SHARE = 0.003

#: Kept values that autojudge takes its noise from.
AUTOJUDGE_WINDOW = 5

#: Floors, and tries with most runs of a change, of loops that judge the spread as well.
SPREAD_FLOORS, LOOPS = (3, 5, 10, 20), ((50, 20), (50, 40), (5, 20), (5, 40))

#: True SDs of the runs of a change, in those of the baseline.
RATIOS = (0.5, 0.33, 0.2, 2)

#: Draws the runs of one stage of changes, given the loop that each belongs to.
Draw = Callable[[int, Any], Any]

#: Changes that are also judged one by one.
CHECKED = 20

#: Keeps the changes of each loop: floor and first runs of the changes, of shape (loops, tries).
Folk = Callable[[Any, Any], Any]


def main() -> None:
    """Simulate, print the tables and the JSON."""
    run(__doc__, simulate)


def simulate(rng: np.random.Generator, repeats: int) -> tuple[str, Any]:
    """Make all tables."""
    rules = {n: make_rule(n, np.random.default_rng(0)) for n in FLOORS}
    null = list(false_keeps(rng, rules, repeats))
    powers = list(kept(rng, rules, repeats))
    chains = list(replaced(rng, rules[10], repeats))
    pairs = {n: with_spread(n) for n in SPREAD_FLOORS}
    spread, steadier = list(false_keeps_with_spread(rng, pairs, repeats)), list(kept_with_spread(rng, repeats))
    heads = [f"floor of {n}" for n in FLOORS]
    texts = [
        f"### Loops of {TRIES} changes without effect that keep one or more (%), and mean number of runs of a change",
        table(["data", "rule"], heads, by_floor(null, "loops")),
        "### Changes with an effect that are kept (%), and mean number of runs of a change (normal values)",
        table(["effect", "rule"], heads, by_floor(powers, "kept")),
        "### A change that is kept becomes the baseline: false keeps over 1 + all keeps (%), floors of 10",
        table(
            ["loops"],
            ["false keeps a loop", "keeps a loop", "false / (1 + keeps)"],
            {(row["loops"],): [f"{row['false']:.3f}", f"{row['keeps']:.2f}", percent(row["rate"])] for row in chains},
        ),
        f"### The spread judged too: loops of {TRIES} changes without effect that keep one or more (%), and mean runs",
        table(["data", "rule"], [f"floor of {n}" for n in SPREAD_FLOORS], by_floor(spread, "loops")),
        "### The spread judged too: changes with the same mean, another SD that are kept (%), and mean runs (normal)",
        table(["SD", "loop"], [f"floor of {n}" for n in SPREAD_FLOORS], by_floor(steadier, "kept")),
    ]
    rows = {"null": null, "power": powers, "replaced": chains, "null_spread": spread, "power_spread": steadier}
    return "\n\n".join(texts), rows


def by_floor(rows: list[dict[str, Any]], share: str) -> dict[tuple[str, ...], list[str]]:
    """Lay rows out, a column a floor."""
    cells: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        cells.setdefault((row["data"], row["rule"]), []).append(f"{percent(row[share])} ({row['runs']:.1f})")
    return cells


def false_keeps(rng: np.random.Generator, rules: dict[int, Rule], repeats: int) -> Iterator[dict[str, Any]]:
    """Yield, for each shape, rule and floor, the share of loops with a false keep."""
    for population in SHAPES:
        for n in FLOORS:
            floor = population.draw(rng, (repeats, n))
            for name, keeps, made in outcomes(rules[n], floor, drawn(rng, population), TRIES, population):
                yield row(population.name, name, n, loops=keeps.any(axis=1).mean(), runs=made)
    yield from of_paired(rng, {n: [rule] for n, rule in rules.items()}, repeats)


def of_paired(rng: np.random.Generator, rules: dict[int, list[Rule]], repeats: int) -> Iterator[dict[str, Any]]:
    """Yield the same where a change's runs share their seeds with the baseline's."""
    for correlation in PAIRED:
        for n in rules:
            floor = NORMAL.draw(rng, (repeats, n))
            _, keeps, made = by_rules(rules[n], floor, paired(rng, floor, correlation), TRIES)
            shape = f"normal, paired seeds (r = {correlation})"
            yield row(shape, "deviate judge", n, loops=keeps.any(axis=1).mean(), runs=made.mean())


def with_spread(n: int, tries: int = TRIES, most: int = 20) -> list[Rule]:
    """Return the rules for values and spread, which share alpha; that for values alone where the spread keeps none."""
    share = {"tries": tries, "most": most, "alpha": DEFAULT_ALPHA / 2}
    second = make_rule(n, np.random.default_rng(0), counted="spread", **share)
    if second.level is None:
        return [make_rule(n, np.random.default_rng(0), tries=tries, most=most)]
    return [make_rule(n, np.random.default_rng(0), **share), second]


def false_keeps_with_spread(
    rng: np.random.Generator, rules: dict[int, list[Rule]], repeats: int
) -> Iterator[dict[str, Any]]:
    """Yield, for each shape and floor, the share of loops that judge both and have a false keep."""
    for population in SHAPES:
        for n in rules:
            floor = population.draw(rng, (repeats, n))
            _, keeps, made = by_rules(rules[n], floor, drawn(rng, population), TRIES)
            yield row(population.name, "deviate judge", n, loops=keeps.any(axis=1).mean(), runs=made.mean())
    yield from of_paired(rng, rules, repeats)


def kept_with_spread(rng: np.random.Generator, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield how often changes are kept whose runs differ less, or more."""
    for tries, most in LOOPS:
        rules = {n: with_spread(n, tries, most) for n in SPREAD_FLOORS}
        for ratio in RATIOS:
            for n in rules:
                floor = NORMAL.draw(rng, (repeats, n))
                _, keeps, made = by_rules(rules[n], floor, drawn(rng, NORMAL, ratio=ratio), 1)
                loop = f"{tries} tries of at most {most} runs"
                yield row(f"{ratio:g} times", loop, n, kept=keeps.mean(), runs=made.mean())


def drawn(rng: np.random.Generator, population: Population, effect: float = 0.0, ratio: float = 1.0) -> Draw:
    """Return what draws runs of changes with such an effect."""
    return lambda stage, loops: effect + ratio * population.draw(rng, loops.shape)


def paired(rng: np.random.Generator, floor: Any, correlation: float) -> Draw:
    """Return what draws runs that share their seeds with the baseline's of the same number, as far as there are any."""
    own = math.sqrt(1 - correlation**2)

    def draw(stage: int, loops: Any) -> Any:
        values = rng.standard_normal(loops.shape)
        return correlation * floor[loops, stage] + own * values if stage < floor.shape[1] else values

    return draw


def kept(rng: np.random.Generator, rules: dict[int, Rule], repeats: int) -> Iterator[dict[str, Any]]:
    """Yield how often changes with an effect are kept."""
    for effect in EFFECTS:
        for n in FLOORS:
            floor = NORMAL.draw(rng, (repeats, n))
            for name, keeps, made in outcomes(rules[n], floor, drawn(rng, NORMAL, effect), 1, NORMAL):
                yield row(f"{effect} SD", name, n, kept=keeps.mean(), runs=made)


def row(data: str, rule: str, floor: int, **numbers: float) -> dict[str, Any]:
    """Return a row of the JSON."""
    return {"data": data, "rule": rule, "floor": floor, **{name: float(value) for name, value in numbers.items()}}


def outcomes(
    rule: Rule, floor: Any, draw: Draw, tries: int, population: Population
) -> Iterator[tuple[str, Any, float]]:
    """Yield each rule with what it keeps, of shape (loops, tries), and its mean number of runs."""
    first, keeps, made = by_rules([rule], floor, draw, tries)
    yield "deviate judge", keeps, made.mean()
    for name, folk in FOLK.items():
        yield name, folk(floor, first), 1
    scaled = [1 + SHARE * (values - population.mean) / population.sd for values in (floor, first)]
    for name, strict in (("autojudge, by exit status", False), ("autojudge, KEEP alone", True)):
        yield name, autojudge(scaled[0][:, 0], scaled[1], strict=strict), 1


def by_rules(rules: Sequence[Rule], floor: Any, draw: Draw, tries: int) -> tuple[Any, Any, Any]:
    """Return first runs of the changes, what the rules keep and how many runs they take: as `judge`, all at once."""
    repeats = len(floor)
    loops = np.repeat(np.arange(repeats), tries)
    totals, goes_on = np.zeros((len(rules), len(loops)), int), np.ones((len(rules), len(loops)), bool)
    made, keeps = np.zeros(len(loops), int), np.zeros(len(loops), bool)
    checked: dict[int, list[float]] = {each: [] for each in range(min(CHECKED, len(loops)))}
    first = draw(0, loops)
    for stage in range(rules[0].most):
        live = np.flatnonzero(goes_on.any(axis=0))
        runs = draw(stage, loops[live]) if stage else first
        for each, value in zip(live[:CHECKED].tolist(), runs[:CHECKED].tolist(), strict=True):
            if each in checked:
                checked[each].append(value)
        # A run beats those of the floor that are strictly worse.
        below, above = ((sign * runs[:, None] > sign * floor[loops[live]]).sum(axis=1) for sign in (1, -1))
        made[live] += 1
        for rule, total, on in zip(rules, totals, goes_on, strict=True):
            total[live] += below * above if rule.counted == "spread" else below
            keeps |= on & (total >= rule.keep[stage])
            on &= total >= rule.drop[stage]
        goes_on &= ~keeps
    for each, values in checked.items():
        one = first_to_decide([judge(rule, floor[loops[each]].tolist(), values, "higher") for rule in rules])
        assert (one.decision == "keep", one.runs) == (keeps[each], made[each])
    shape = repeats, tries
    return first.reshape(shape), keeps.reshape(shape), made.reshape(shape)


FOLK: dict[str, Folk] = {
    "better than one run": lambda floor, first: first > floor[:, :1],
    "2·\\|b1 − b2\\|": lambda floor, first: (
        first - floor[:, :2].mean(axis=1)[:, None] >= 2 * np.abs(np.diff(floor[:, :2], axis=1))
    ),
    "mean + 2 SD": lambda floor, first: (
        first > (floor.mean(axis=1) + 2 * floor.std(axis=1, ddof=1))[:, None]
    ),
}  # fmt: skip


def autojudge(baseline: Any, first: Any, *, strict: bool) -> Any:
    """Return what autojudge 1.0.1 keeps, re-told for all loops at once; it takes lower values for better.

    Its noise is the SD of the differences of the last five kept values, from three on; before, it looks at percent.
    """
    loops = len(first)
    kept = np.full((loops, AUTOJUDGE_WINDOW), np.nan)
    kept[:, -1] = 2 - baseline
    best, keeps = kept[:, -1].copy(), np.zeros(first.shape, bool)
    for attempt, values in enumerate((2 - first).T):
        gain = best - values
        differences = np.diff(kept, axis=1)
        known = np.isfinite(differences).sum(axis=1)
        spread = differences - np.nansum(differences, axis=1, keepdims=True) / np.maximum(known, 1)[:, None]
        noise = np.sqrt(np.nansum(spread**2, axis=1) / np.maximum(known - 1, 1))
        clear = np.where(known >= 2, gain >= 1.5 * noise, gain >= 0.003 * best)
        keeps[:, attempt] = now = (gain > 0) & (clear if strict else True)
        kept[now] = np.column_stack([kept[now, 1:], values[now]])
        best[now] = values[now]
    return keeps


def replaced(rng: np.random.Generator, rule: Rule, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield how many keeps are false where what is kept becomes the baseline, its floor filled up with new runs."""
    for share, effect in ((0.0, 0.0), (0.1, 2.0), (0.5, 2.0), (0.5, 4.0)):
        false = keeps = 0
        loops = repeats // 20
        for _ in range(loops):
            mean, floor = 0.0, rng.standard_normal(rule.floor).tolist()
            for _ in range(TRIES):
                gain = effect if rng.random() < share else 0.0
                values = (mean + gain + rng.standard_normal(rule.most)).tolist()
                verdict = judge(rule, floor, values, "higher")
                if verdict.decision == "keep":
                    keeps, false, mean = keeps + 1, false + (gain == 0), mean + gain
                    more = rng.standard_normal(max(rule.floor - verdict.runs, 0))
                    floor = [*values[: verdict.runs], *(mean + more)][: rule.floor]
        name = f"{share:.0%} of changes gain {effect:g} SD" if share else "no change has an effect"
        yield {"loops": name, "false": false / loops, "keeps": keeps / loops, "rate": false / (loops + keeps)}


if __name__ == "__main__":
    main()
