"""Keep, discard or run more: one change after another against one floor of baseline runs, by ranks alone.

A change without effect has runs that are exchangeable with those of the baseline, whatever their distribution, so how
many baseline runs each of its runs beats has a known law: the probability of landing between two neighbours of the
floor is a part of a stick broken at n uniform places. The rule is the exact Mann-Whitney test after each run of a
change, with one level for all runs, such that no change without effect is kept in `tries` of them with a probability of
1 - alpha or more: many treatments against one control [1]_ [2]_, each in stages [3]_. All tries meet the same floor;
that dependence is part of the calculation. Ties count against the change.

A change that is kept becomes the baseline, and its runs the beginning of a new floor, with a new alpha: as in alpha
investing [4]_, false keeps are then expected to be at most alpha times one more than all keeps.

References
----------
.. [1] R. G. D. Steel, "A multiple comparison rank sum test: treatments versus control", Biometrics 15, 1959.
.. [2] M. A. Fligner and D. A. Wolfe, "Distribution-free tests for comparing several treatments with a control",
   Statistica Neerlandica 36, 1982.
.. [3] C. Jennison and B. W. Turnbull, "Group Sequential Methods with Applications to Clinical Trials", 2000.
.. [4] D. P. Foster and R. A. Stine, "alpha-investing: a procedure for sequential control of expected false
   discoveries", JRSS B 70, 2008.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import msgspec
import numpy as np

from deviate.core.experiment import Direction

Decision = Literal["keep", "discard", "run more"]

#: Tries against one floor, runs of a change, and the share of floors on which a change without effect is kept.
DEFAULT_TRIES, DEFAULT_MOST, DEFAULT_ALPHA = 50, 20, 0.05

#: A change whose runs beat the floor's less often goes no further. Without effect it takes 3 runs, with no such limit
#: 7; of changes of 2 SDs as many are kept (floor of 10).
HOPEFUL = 0.6

#: Floors that are drawn: the share of false keeps is known to ± 0.3 points with 10 runs of the baseline.
DRAWS = 8192

#: Baseline runs beyond which fewer floors are drawn, since each takes longer and differs less from the others.
MANY = 12

#: The largest floor that is calculated with, and the most tries and runs of a change.
LARGEST_FLOOR, MOST_TRIES, MOST_RUNS = 50, 10_000, 100


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """When a change is kept, by how often its first runs beat those of the floor.

    `keep` and `drop` are for 1, 2, ... runs: a change is kept from so many beaten runs on, and discarded below.
    """

    floor: int
    tries: int
    alpha: float
    #: The exact one-sided p of the Mann-Whitney test must not exceed it; None: no change can be kept.
    level: float | None
    keep: tuple[int, ...]
    drop: tuple[int, ...]
    #: Probability that any of so many changes without effect is kept.
    false_keeps: float
    #: Mean number of runs of a change without effect.
    null_runs: float

    @property
    def most(self) -> int:
        """Runs of a change, after which it is kept or discarded."""
        return len(self.keep)

    @property
    def fewest(self) -> int | None:
        """Runs of a change that are kept at the earliest; None where none can be."""
        return next((m for m, bound in enumerate(self.keep, 1) if bound <= m * self.floor), None)


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What the runs of a change say."""

    decision: Decision
    #: Runs that decided; those beyond count for nothing.
    runs: int
    #: Pairs of a run of the change and one of the floor in which that of the change is better.
    beaten: int
    pairs: int
    #: One-sided Mann-Whitney p of those runs.
    p: float
    #: Where more are needed: how many at the fewest, and at the most.
    fewest_more: int = 0
    most_more: int = 0


def judge(rule: Rule, floor: Sequence[float | None], values: Sequence[float | None], direction: Direction) -> Judgement:
    """Judge a change by its runs, in the order in which they were made.

    Parameters
    ----------
    floor, values : sequence of float or None
        One value per run; None, for a run that failed, is worse than any. `values` has one or more.
    """
    against, ours = np.sort(_oriented(floor, direction)), _oriented(values, direction)
    beaten = np.cumsum(np.searchsorted(against, ours, side="left")).tolist()
    stages = list(zip(beaten, rule.keep, rule.drop, strict=False))
    ended = next((m for m, (total, keep, drop) in enumerate(stages, 1) if not drop <= total < keep), None)
    m = ended or len(stages)
    total = beaten[m - 1]
    about = {"runs": m, "beaten": total, "pairs": m * rule.floor, "p": float(tail(rule.floor, m)[total])}
    if ended:
        return Judgement(decision="keep" if total >= rule.keep[m - 1] else "discard", **about)
    left = range(1, rule.most - m + 1)
    fewest = next(k for k in left if total + k * rule.floor >= rule.keep[m + k - 1])
    return Judgement(decision="run more", fewest_more=fewest, most_more=left[-1], **about)


def _oriented(values: Sequence[float | None], direction: Direction) -> Any:
    """Return values of which the larger are better."""
    sign = 1 if direction == "higher" else -1
    return np.array([-math.inf if value is None else sign * value for value in values])


def make_rule(
    floor: int,
    rng: np.random.Generator,
    *,
    tries: int = DEFAULT_TRIES,
    most: int = DEFAULT_MOST,
    alpha: float = DEFAULT_ALPHA,
) -> Rule:
    """Find the rule for a floor of so many runs with the highest level at which false keeps are rare enough.

    Parameters
    ----------
    floor : int
        Runs of the baseline, from 1 to `LARGEST_FLOOR`.
    tries : int, optional
        Changes that are judged against the floor.
    most : int, optional
        Runs of a change after which it is discarded if it is not kept.
    """
    if not (1 <= floor <= LARGEST_FLOOR and 1 <= tries <= MOST_TRIES and 1 <= most <= MOST_RUNS):
        raise ValueError(f"floor, tries, most: {floor, tries, most}")
    draws = int(DRAWS / max(floor / MANY, 1) ** 2)
    gaps = np.ascontiguousarray(rng.dirichlet(np.ones(floor + 1), draws).T)
    tails = [tail(floor, m) for m in range(1, most + 1)]
    levels = np.unique(np.concatenate([each[each <= alpha] for each in tails]))[1:]
    never = Rule(
        floor=floor, tries=tries, alpha=alpha, level=None, keep=tuple(m * floor + 1 for m in range(1, most + 1)),
        drop=tuple(m * floor + 1 for m in range(1, most + 1)), false_keeps=0.0, null_runs=1.0,
    )  # fmt: skip
    best, low, high = never, 0, len(levels)
    while low < high:
        middle = (low + high) // 2
        tried = _with_level(never, float(levels[middle]), tails, gaps)
        if tried.false_keeps <= alpha:
            best, low = tried, middle + 1
        else:
            high = middle
    return best


@lru_cache(maxsize=1_000)
def tail(floor: int, m: int) -> Any:
    """Return P(U >= u) for u = 0, 1, ..., ``floor * m + 1``, of the Mann-Whitney U without ties.

    Examples
    --------
    >>> tail(2, 1).tolist()
    [1.0, 0.6666666666666666, 0.3333333333333333, 0.0]
    """
    size = floor * m + 1
    # The Gaussian binomial coefficient, whose terms count the arrangements with each U: exact in whole numbers.
    ways = [1] + [0] * (size - 1)
    for i in range(1, m + 1):
        for u in range(size - 1, floor + i - 1, -1):
            ways[u] -= ways[u - floor - i]
        for u in range(i, size):
            ways[u] += ways[u - i]
    upper = np.cumsum([0, *reversed(ways)], dtype=object)[::-1]
    every = math.comb(floor + m, m)
    shares = np.array([count / every for count in upper])
    shares.setflags(write=False)
    return shares


def _with_level(rule: Rule, level: float, tails: Sequence[Any], gaps: Any) -> Rule:
    """Return the rule with this level, and how often it keeps a change without effect."""
    n = rule.floor
    # A p above the level by rounding alone is not above it.
    keep = tuple(int(np.argmax(each <= level * (1 + 1e-12))) for each in tails)
    drop = tuple(_drop(keep, m, n) for m in range(1, len(keep) + 1))
    kept, runs = kept_without_effect(keep, drop, gaps)
    any_kept = float(np.mean(-np.expm1(rule.tries * np.log1p(-np.minimum(kept, 1 - 1e-15)))))
    return msgspec.structs.replace(
        rule, level=level, keep=keep, drop=drop, false_keeps=any_kept, null_runs=float(runs.mean())
    )


def _drop(keep: Sequence[int], m: int, n: int) -> int:
    """Return the fewest beaten runs with which a change goes on: it is hopeful, and can still be kept."""
    reachable = min((bound - n * k for k, bound in enumerate(keep[m:], 1)), default=keep[m - 1])
    return max(math.ceil(HOPEFUL * n * m), reachable)


def kept_without_effect(keep: Sequence[int], drop: Sequence[int], gaps: Any) -> tuple[Any, Any]:
    """Return how probably a change is kept, and how many runs it has on average, for each floor.

    Parameters
    ----------
    keep, drop : sequence of int
        As in `Rule`.
    gaps : array of float, shape (n + 1, floors)
        Probability that a run of the change beats 0, 1, ..., n runs of the floor.
    """
    floors = gaps.shape[1]
    kept, runs = np.zeros(floors), np.zeros(floors)
    # Of the floors: the probability that a change goes on with `low`, `low` + 1, ... beaten runs.
    state, low = np.ones((1, floors)), 0
    for bound, least in zip(keep, drop, strict=True):
        runs += state.sum(axis=0)
        wider = np.zeros((len(state) + len(gaps) - 1, floors))
        for beaten, share in enumerate(gaps):
            wider[beaten : beaten + len(state)] += state * share
        kept += wider[max(bound - low, 0) :].sum(axis=0)
        state, low = wider[max(least - low, 0) : max(bound - low, 0)], max(least, low)
        if not len(state):
            break
    return kept, runs
