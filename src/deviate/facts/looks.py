"""How often two sides were compared or checked while their runs grew, and how small p must be now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import TypeVar

import msgspec

from deviate.core.errors import BadOption
from deviate.facts.comparable import Pairing
from deviate.facts.compared_metric import Claimed
from deviate.facts.comparison_options import DEFAULT_MOST, ComparisonOptions, GateOptions
from deviate.facts.gate_metric import Question, tested
from deviate.facts.metric import MetricSpread
from deviate.facts.samples import Sample
from deviate.facts.side import Side
from deviate.stats.contrast import deciding_test
from deviate.stats.gates import Noninferiority
from deviate.stats.multiplicity import look_levels, rounded_down, share_over_all_looks, stopped_level
from deviate.stats.results import VERDICT_RUNS, fewest_runs
from deviate.store.folders import Workspace
from deviate.store.looks import Claim, ComparedSide, RecordedLooks, add_look, last_claim, read_looks

#: Labels of two sides.
Labels = tuple[str, str]

Pair = tuple[MetricSpread, MetricSpread]

#: Indices of the completed runs of two sides.
Runs = tuple[list[int], list[int]]

AnySample = TypeVar("AnySample", bound=Sample)


class GateLook(msgspec.Struct, frozen=True, kw_only=True):
    """Which look at two sides, or which check of them, it is, and what p must be below at it."""

    #: From 1.
    number: int
    #: Runs of each side at each look, this one last.
    sizes: list[tuple[int, int]]
    #: What p, of a check each one-sided p, must be below; limits and intervals have the level that goes with it.
    alpha: float
    #: Chance of any false alarm, of a check of a wrong claim of each kind, over all looks.
    whole: float
    #: The earlier look at which a difference in all that is claimed, or what is asked now, was shown; None: at none.
    settled: int | None = None
    #: Labels of the sides whose runs ``deviate run --until`` ended when their mean was known well enough, and what p
    #: must be below because of that alone.
    stopped: list[str] = []
    stopped_alpha: float | None = None
    #: Why this look could not be recorded; empty where it was, or did not have to be.
    unrecorded: str = ""


class PairLook(GateLook, frozen=True, kw_only=True):
    """A look at two sides that are compared."""

    #: Runs per side at the last look, where that was fixed before the first.
    most: int | None = None
    #: Runs of the second side at the last look, where those are not `most`: it does not grow.
    most_b: int | None = None

    @property
    def ended(self) -> bool:
        """Whether both sides have all runs that were planned."""
        runs_a, runs_b = self.sizes[-1]
        return self.most is not None and runs_a >= self.most and runs_b >= (self.most_b or self.most)


def pair_look(
    a: Side,
    b: Side,
    before: RecordedLooks | None,
    claims: Sequence[Pair],
    pairing: Pairing,
    options: ComparisonOptions,
    shares: int = 1,
) -> PairLook:
    """Find what p must be below where two sides were compared `before`; `claims` are the metrics that are claimed.

    `shares`: by what alpha is divided beside the number of claims, such as the pairs of sides of one comparison.

    A look at the same runs is no new look. Where all that is claimed was shown to differ at an earlier look, and its
    difference has the same sign still, p must be below alpha only: nothing new is claimed.
    """
    before = (before or RecordedLooks(a=recorded_side(a), b=recorded_side(b))).planned(_last(b, options))
    earlier = earlier_runs(before, a, b, options.alpha)
    sizes = [(len(runs_a), len(runs_b)) for runs_a, runs_b in [*earlier, (completed_runs(a), completed_runs(b))]]
    stopped = stopped_sides(a, b)
    alpha = stopped_alpha(stopped, options.alpha)
    enough = min(sizes[-1]) >= fewest_runs(options.alpha)
    levels = look_levels(sizes, alpha, before.last) if enough else [alpha]
    tests = len(claims) * shares if options.correction != "none" else 1
    shown = (
        number
        for number, (runs, level) in enumerate(zip(earlier, levels, strict=False), start=1)
        if claims and all(_differed(claim, runs, pairing, level / tests) for claim in claims)
    )
    settled = next(shown, None)
    return PairLook(
        number=len(sizes),
        sizes=sizes,
        alpha=alpha if settled is not None or levels[-1] == alpha else rounded_down(levels[-1]),
        whole=share_over_all_looks(options.alpha, len(sizes), planned=before.last is not None),
        most=before.most,
        most_b=before.most_b,
        settled=settled,
        stopped=list(stopped),
        stopped_alpha=alpha if stopped else None,
    )


def stopped_sides(*sides: Side) -> dict[str, int]:
    """Return the labels of the sides that ``deviate run --until`` ended, with the runs before the first look."""
    return {side.label: side.until.least for side in sides if side.until is not None and side.until.of == "mean"}


def stopped_alpha(stopped: Mapping[str, int], alpha: float) -> float:
    """Return what p must be below because of such sides alone."""
    return rounded_down(stopped_level(alpha, min(stopped.values()))) if stopped else alpha


def earlier_runs(before: RecordedLooks, a: Side, b: Side, alpha: float) -> list[Runs]:
    """Return the runs of each look that could give a verdict and had other runs than the sides have now, each once."""
    looks = {(tuple(look.runs_a), tuple(look.runs_b)): (look.runs_a, look.runs_b) for look in before.looks}
    now = completed_runs(a), completed_runs(b)
    return [runs for runs in looks.values() if runs != now and min(map(len, runs)) >= fewest_runs(alpha)]


def _differed(claim: Pair, runs: Runs, pairing: Pairing, level: float) -> bool:
    """Tell whether the first of the runs of a metric differed, and in the direction in which all do."""
    then = first_of(claim[0], runs[0]), first_of(claim[1], runs[1])
    if min(len(each.values) for each in then) < fewest_runs(level):
        return False
    p = deciding_test(then[0].values, then[1].values, pairing.positions(*then)).p
    return p is not None and p <= level and (_difference(then) > 0) == (_difference(claim) > 0)


def _difference(pair: Pair) -> float:
    a, b = (sum(each.values) / len(each.values) for each in pair)
    return a - b


def first_of(metric: AnySample, runs: Collection[int]) -> AnySample:
    """Return a sample with those of its values that the runs of an earlier look gave."""
    looked = set(runs)
    kept = [(run, value) for run, value in zip(metric.runs, metric.values, strict=True) if run in looked]
    return msgspec.structs.replace(metric, runs=[run for run, _ in kept], values=[value for _, value in kept])


def read_pair_looks(
    workspace: Workspace, sides: Sequence[Side], options: ComparisonOptions
) -> dict[Labels, RecordedLooks]:
    """Read the looks that were made at each two sides, with the plan that ``--until decided`` makes before the first.

    Raises BadOption if a plan is asked for after the first look, or another one was made before it.
    """
    looks = {}
    for a, b in combinations(sides, 2):
        before = read_looks(workspace, recorded_side(a), recorded_side(b))
        _check_plan(before, a, b, options)
        looks[a.label, b.label] = before.planned(_last(b, options))
    return looks


def _check_plan(before: RecordedLooks, a: Side, b: Side, options: ComparisonOptions) -> None:
    sides = f"{a.label} and {b.label}"
    if options.until and before.last is None and earlier_runs(before, a, b, options.alpha):
        raise BadOption(
            f"{sides} were compared before without --until: the first look had all of alpha {options.alpha:g}",
            hint="leave --until out: repeated comparisons are accounted for without it too",
        )
    if options.most is not None and before.most not in (None, options.most):
        raise BadOption(
            f"--set max={options.most}: the first look at {sides} had {before.most}",
            hint=f"type --set max={before.most}: a plan that changes after a look keeps no promise",
        )


def record_looks(
    workspace: Workspace,
    sides: Sequence[Side],
    looks: Mapping[Labels, RecordedLooks],
    claims: Mapping[Labels, Claim],
) -> dict[Labels, str]:
    """Record a comparison of every two sides, where it is a new look; return why that failed, where it did."""
    failed = {}
    for a, b in combinations(sides, 2):
        if problem := record_look(workspace, a, b, looks[a.label, b.label], claims.get((a.label, b.label))):
            failed[a.label, b.label] = problem
    return failed


def record_look(workspace: Workspace, a: Side, b: Side, before: RecordedLooks, claim: Claim | None = None) -> str:
    """Record a look at two sides, where it or its claim is a new one; return why that failed, where it did."""
    runs = completed_runs(a), completed_runs(b)
    known = any((look.runs_a, look.runs_b) == runs for look in before.looks)
    if (known and claim is None) or (min(map(len, runs)) < VERDICT_RUNS and before.last is None):
        return ""
    try:
        add_look(workspace, before, None if known else runs, claim)
    except OSError as problem:
        return problem.strerror or str(problem)
    return ""


def _last(b: Side, options: ComparisonOptions) -> tuple[int, int] | None:
    """Return the runs of each side at the last look, where a plan is asked for."""
    if not options.until:
        return None
    most = options.most or DEFAULT_MOST
    return most, len(completed_runs(b)) if options.first_grows else most


def recorded_side(side: Side) -> ComparedSide:
    """Return a side as looks are recorded of it."""
    return ComparedSide(side.experiment, side.variant, side.created)


def completed_runs(side: Side) -> list[int]:
    """Return the indices of the runs that a look at a side sees."""
    return sorted({run for sample in side.samples for run in sample.runs}.union(side.prints))


# What comparisons of the same runs claimed before, one metric or one pair after the other.

#: Labels of two sides, and the name of a metric on the first.
Key = tuple[str, str, str]


def claims_before(workspace: Workspace, sides: Sequence[Side]) -> int:
    """Return how many comparisons of any of the sides claimed something new before."""
    return last_claim(workspace, [recorded_side(side) for side in sides])


def claimed_when(
    names: Mapping[Key, str], claimed: Collection[str], looks: Mapping[Labels, RecordedLooks], before: int
) -> dict[Key, Claimed]:
    """Tell when each metric of each two sides was first claimed.

    `names` are those under which claims are recorded; `before` is the number of earlier claims about the sides.
    """
    earlier = {
        (*labels, name): Claimed(claim.number, claim.tests)
        for labels, each in looks.items()
        for claim in each.claims
        for name in claim.metrics
    }
    return {key: earlier.get((*key[:2], name), Claimed(before + 1)) for key, name in names.items() if key[2] in claimed}


def recorded_name(names: Iterable[str]) -> str:
    """Return the name under which a claim about a metric of two sides is recorded, whichever side is typed first."""
    return min(names)


def new_claims(
    tested: Mapping[Labels, Sequence[str]], looks: Mapping[Labels, RecordedLooks], before: int
) -> dict[Labels, Claim]:
    """Return what is claimed of each two sides for the first time; `tested` are the names of what could be tested."""
    known = {labels: {name for claim in each.claims for name in claim.metrics} for labels, each in looks.items()}
    fresh = {labels: [name for name in names if name not in known[labels]] for labels, names in tested.items()}
    tests = sum(map(len, fresh.values()))
    return {labels: Claim(metrics=names, number=before + 1, tests=tests) for labels, names in fresh.items() if names}


# How often a growing side was checked against another, and how small p must be now.


def gate_look(
    a: Side,
    b: Side,
    before: RecordedLooks | None,
    questions: Sequence[Question],
    pairing: Pairing,
    options: GateOptions,
    shares: int = 1,
) -> GateLook:
    """Find what one-sided p must be below where two sides were checked `before`.

    `shares`: by what alpha of being worse is divided beside the number of questions.

    The two kinds of wrong claims, of being worse and of not being worse, are the two sides of a test at twice alpha.
    A check of the same runs is no new one. Where an earlier check let pass what is within its limit still, or found
    worse what is beyond it still, p must be below alpha only: nothing new is claimed.
    """
    both = 2 * options.alpha
    earlier = earlier_runs(before, a, b, both) if before else []
    sizes = [(len(runs_a), len(runs_b)) for runs_a, runs_b in [*earlier, (completed_runs(a), completed_runs(b))]]
    stopped = stopped_sides(a, b)
    alpha = rounded_down(stopped_alpha(stopped, both) / 2) if stopped else options.alpha
    levels = [level / 2 for level in look_levels(sizes, 2 * alpha)]
    settled = _settled(questions, earlier, levels, pairing, options, shares)
    return GateLook(
        number=len(sizes),
        sizes=sizes,
        alpha=alpha if settled is not None or len(sizes) == 1 else rounded_down(levels[-1]),
        whole=share_over_all_looks(options.alpha, len(sizes)),
        settled=settled,
        stopped=list(stopped),
        stopped_alpha=alpha if stopped else None,
    )


def _settled(
    questions: Sequence[Question],
    earlier: Sequence[Runs],
    levels: Sequence[float],
    pairing: Pairing,
    options: GateOptions,
    shares: int,
) -> int | None:
    """Return the first check that showed what this one asks, by the metrics alone."""
    if not earlier or options.max_failures is not None or options.max_churn is not None or options.groups:
        return None
    now = [tested(question, pairing, options.alpha) for question in questions]
    for number, (runs, level) in enumerate(zip(earlier, levels, strict=False), start=1):
        then = [tested(_first(question, runs), pairing, level) for question in questions]
        if _passed(questions, then, now, level) or _failed(then, now, level / shares):
            return number
    return None


def _first(question: Question, runs: Runs) -> Question:
    match = [first_of(sample, looked) for sample, looked in zip(question.match, runs, strict=True)]
    return question._replace(match=match)


def _passed(
    questions: Sequence[Question], then: Sequence[Noninferiority], now: Sequence[Noninferiority], level: float
) -> bool:
    """Tell whether every metric was shown to be within its limit, and is within it still."""
    return all(
        question.drop.value and _shown(before.p_not_worse, level) and (after.room.value or 0) > 0
        for question, before, after in zip(questions, then, now, strict=True)
    )


def _failed(then: Sequence[Noninferiority], now: Sequence[Noninferiority], level: float) -> bool:
    """Tell whether a metric was shown to be beyond its limit, and is beyond it still."""
    return any(
        _shown(before.p_worse, level / len(then)) and (after.room.value or 0) < 0
        for before, after in zip(then, now, strict=True)
    )


def _shown(p: float | None, level: float) -> bool:
    return p is not None and p <= level


def read_checks(workspace: Workspace, a: Side, b: Side) -> RecordedLooks:
    """Read the earlier checks of two sides."""
    return read_looks(workspace, recorded_side(a), recorded_side(b), "check")
