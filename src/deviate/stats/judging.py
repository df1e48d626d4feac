"""Keep, discard or run more: one change after another against one floor of baseline runs, by ranks alone.

A change without effect has runs that are exchangeable with those of the baseline, whatever their distribution, so how
many baseline runs each of its runs beats has a known law: the probability of landing between two neighbours of the
floor is a part of a stick broken at n uniform places. The rule is the exact Mann-Whitney test after each run of a
change, with one level for all runs, such that no change without effect is kept in `tries` of them with a probability of
1 - alpha or more: many treatments against one control [1]_ [2]_, each in stages [3]_. All tries meet the same floor;
that dependence is part of the calculation. Ties count against the change.

Whether its runs differ less is a rule of the same kind: in how many pairs of baseline runs one lies below a run of the
change and one above it, a test of placements [5]_. Rules that are asked for together share alpha.

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
.. [5] J. Orban and D. A. Wolfe, "A class of distribution-free two-sample tests based on placements", JASA 77, 1982.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

import msgspec
import numpy as np

from deviate.core.experiment import Direction

Decision = Literal["keep", "discard", "run more"]

#: What a run of a change counts: baseline runs that it beats, or pairs of them that it lies between.
Counted = Literal["value", "spread"]

#: Tries against one floor, runs of a change, and the share of floors on which a change without effect is kept.
DEFAULT_TRIES, DEFAULT_MOST, DEFAULT_ALPHA = 50, 20, 0.05

#: A change whose runs count less than so many times those of one without effect goes no further: for values, 60 % of
#: the pairs. Without effect it takes 3 runs, with no such limit 7; of changes of 2 SDs as many are kept (floor of 10).
HOPEFUL = 1.2

#: Floors that are drawn: the share of false keeps is known to ± 0.3 points with 10 runs of the baseline.
DRAWS = 8192

#: Baseline runs beyond which fewer floors are drawn, since each takes longer and differs less from the others.
MANY = 12

#: The largest floor that is calculated with, and the most tries and runs of a change.
LARGEST_FLOOR, MOST_TRIES, MOST_RUNS = 50, 10_000, 100


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """When a change is kept, by what its first runs count.

    `keep` and `drop` are for 1, 2, ... runs: a change is kept from such a count on, and discarded below.
    """

    floor: int
    tries: int
    alpha: float
    #: The exact one-sided p of the test must not exceed it; None: no change can be kept.
    level: float | None
    keep: tuple[int, ...]
    drop: tuple[int, ...]
    #: Probability that any of so many changes without effect is kept.
    false_keeps: float
    #: Mean number of runs of a change without effect.
    null_runs: float
    counted: Counted = "value"

    @property
    def counts(self) -> tuple[int, ...]:
        """What a run counts that lies above 0, 1, ..., n runs of the floor."""
        n = self.floor
        return tuple(below * (n - below if self.counted == "spread" else 1) for below in range(n + 1))

    @property
    def most(self) -> int:
        """Runs of a change, after which it is kept or discarded."""
        return len(self.keep)

    @property
    def fewest(self) -> int | None:
        """Runs of a change that are kept at the earliest; None where none can be."""
        return next((m for m, bound in enumerate(self.keep, 1) if bound <= m * max(self.counts)), None)


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What the runs of a change say."""

    decision: Decision
    #: Runs that decided; those beyond count for nothing.
    runs: int
    #: Pairs of a run of the change and one of the floor in which that of the change is better; of the spread, of a run
    #: of the change and two of the floor in which it lies between them.
    beaten: int
    pairs: int
    #: One-sided p of those runs.
    p: float
    counted: Counted = "value"
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
    # Ties are neither below nor above.
    counts, above = np.searchsorted(against, ours, side="left"), rule.floor - np.searchsorted(against, ours, "right")
    beaten = np.cumsum(counts * above if rule.counted == "spread" else counts).tolist()
    stages = list(zip(beaten, rule.keep, rule.drop, strict=False))
    ended = next((m for m, (total, keep, drop) in enumerate(stages, 1) if not drop <= total < keep), None)
    m = ended or len(stages)
    total = beaten[m - 1]
    p, pairs = float(tails(rule.counts, m)[-1][total]), math.comb(rule.floor, 2 if rule.counted == "spread" else 1)
    about: Any = {"runs": m, "beaten": total, "pairs": m * pairs, "p": p, "counted": rule.counted}
    if ended:
        return Judgement(decision="keep" if total >= rule.keep[m - 1] else "discard", **about)
    left = range(1, rule.most - m + 1)
    fewest = next(k for k in left if total + k * max(rule.counts) >= rule.keep[m + k - 1])
    return Judgement(decision="run more", fewest_more=fewest, most_more=left[-1], **about)


def first_to_decide(judgements: Sequence[Judgement]) -> Judgement:
    """Return that of several rules which speaks: the first that keeps, else the first that may, else the last."""
    order = ("keep", "run more", "discard")
    later = {"keep": 1, "run more": 0, "discard": -1}
    return min(judgements, key=lambda one: (order.index(one.decision), one.fewest_more, later[one.decision] * one.runs))


def _oriented(values: Sequence[float | None], direction: Direction) -> Any:
    sign = 1 if direction == "higher" else -1
    return np.array([-math.inf if value is None else sign * value for value in values])


def make_rule(
    floor: int,
    rng: np.random.Generator,
    *,
    tries: int = DEFAULT_TRIES,
    most: int = DEFAULT_MOST,
    alpha: float = DEFAULT_ALPHA,
    counted: Counted = "value",
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
    # Of a spread each takes longer by another factor of n.
    draws = int(DRAWS / max(floor / MANY, 1) ** (3 if counted == "spread" else 2))
    gaps = np.ascontiguousarray(rng.dirichlet(np.ones(floor + 1), draws).T)
    beyond = tuple(m * (floor * floor // 4 if counted == "spread" else floor) + 1 for m in range(1, most + 1))
    never = Rule(
        floor=floor, tries=tries, alpha=alpha, level=None, keep=beyond, drop=beyond, false_keeps=0.0, null_runs=1.0,
        counted=counted,
    )  # fmt: skip
    upper = tails(never.counts, most)
    levels = np.unique(np.concatenate([each[each <= alpha] for each in upper]))[1:]
    best, low, high = never, 0, len(levels)
    while low < high:
        middle = (low + high) // 2
        tried = _with_level(never, float(levels[middle]), upper, gaps)
        if tried.false_keeps <= alpha:
            best, low = tried, middle + 1
        else:
            high = middle
    return best


@lru_cache(maxsize=100)
def tails(counts: tuple[int, ...], most: int) -> list[Any]:
    """Return P(total >= 0, 1, ..., the greatest + 1) of 1, 2, ..., `most` runs, all their orders being equally likely.

    Parameters
    ----------
    counts : tuple of int
        What a run counts that lies above 0, 1, ..., n runs of the floor, without ties.

    Examples
    --------
    >>> tails((0, 1, 2), 1)[0].tolist()
    [1.0, 0.6666666666666666, 0.3333333333333333, 0.0]
    """
    top = max(counts)
    # Orders of m runs and the floor, by their total: exact in whole numbers.
    ways = [np.array([1 - min(m, 1)] + [0] * (top * m), dtype=object) for m in range(most + 1)]
    for count in counts:
        for fewer, more in pairwise(ways):
            more[count : count + len(fewer)] += fewer
    upper = [np.cumsum([0, *reversed(orders)], dtype=object)[::-1] for orders in ways]
    return [np.array([count / each[0] for count in each]) for each in upper[1:]]


def _with_level(rule: Rule, level: float, upper: Sequence[Any], gaps: Any) -> Rule:
    """Return the rule with this level, and how often it keeps a change without effect."""
    # A p above the level by rounding alone is not above it.
    keep = tuple(int(np.argmax(each <= level * (1 + 1e-12))) for each in upper)
    drop = tuple(_drop(keep, m, rule.counts) for m in range(1, len(keep) + 1))
    tried = msgspec.structs.replace(rule, level=level, keep=keep, drop=drop)
    kept, runs = kept_without_effect(tried, gaps)
    any_kept = float(np.mean(-np.expm1(rule.tries * np.log1p(-np.minimum(kept, 1 - 1e-15)))))
    return msgspec.structs.replace(tried, false_keeps=any_kept, null_runs=float(runs.mean()))


def _drop(keep: Sequence[int], m: int, counts: Sequence[int]) -> int:
    """Return the least total with which a change goes on: it is hopeful, and can still be kept."""
    reachable = min((bound - max(counts) * k for k, bound in enumerate(keep[m:], 1)), default=keep[m - 1])
    return max(math.ceil(HOPEFUL * m * sum(counts) / len(counts) - 1e-9), reachable)


def kept_without_effect(rule: Rule, gaps: Any) -> tuple[Any, Any]:
    """Return how probably a change is kept, and how many runs it has on average, for each floor.

    Parameters
    ----------
    gaps : array of float, shape (n + 1, floors)
        Probability that a run of the change lies above 0, 1, ..., n runs of the floor.
    """
    floors, counts = gaps.shape[1], np.array(rule.counts)
    shares = [(int(count), gaps[counts == count].sum(axis=0)) for count in np.unique(counts)]
    kept, runs = np.zeros(floors), np.zeros(floors)
    # Of the floors: the probability that a change goes on with a total of `low`, `low` + 1, ...
    state, low = np.ones((1, floors)), 0
    for bound, least in zip(rule.keep, rule.drop, strict=True):
        runs += state.sum(axis=0)
        wider = np.zeros((len(state) + shares[-1][0], floors))
        for count, share in shares:
            wider[count : count + len(state)] += state * share
        kept += wider[max(bound - low, 0) :].sum(axis=0)
        state, low = wider[max(least - low, 0) : max(bound - low, 0)], max(least, low)
        if not len(state):
            break
    return kept, runs
