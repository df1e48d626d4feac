"""The facts about whether one side is worse than another by more than is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from deviate.core.errors import BadOption
from deviate.core.experiment import SCHEMA, Direction
from deviate.core.shell_words import typed_line, typed_word
from deviate.facts.comparable import (
    Comparability,
    Match,
    Pairing,
    RepeatedDraws,
    comparability,
    direction_of,
    match_metrics,
    pair_runs,
    repeated_draws,
    settle_names,
    units_differ,
)
from deviate.facts.compared_metric import Claimed, adjust_claims
from deviate.facts.compared_predictions import (
    ChangedPredictions,
    changed_predictions,
    group_accuracies,
    groupings_on,
    matched_predictions,
    site_text,
)
from deviate.facts.comparison_options import (
    DROP_HINT,
    ComparisonOptions,
    Drop,
    GateOptions,
    Inconclusive,
    check_command,
    check_gate_options,
)
from deviate.facts.gate_metric import GateMetric, Question, gate_metric, tested
from deviate.facts.groups import GroupOptions
from deviate.facts.looks import (
    GateLook,
    Key,
    claimed_when,
    gate_look,
    new_claims,
    read_checks,
    record_look,
    recorded_name,
)
from deviate.facts.metric import MetricSpread, measured_sample, typical_runs, with_common_collapses
from deviate.facts.predictions import Evaluation
from deviate.facts.side import Side, read_sides, remember_typed
from deviate.observe.examples import Grouping, group_label
from deviate.observe.headline import main_first
from deviate.observe.matching import Predictions, Withheld
from deviate.observe.predictions import Array
from deviate.stats.failures import failure_rate, rate_seen
from deviate.stats.gates import few_errors_p
from deviate.stats.multiplicity import claim_factor
from deviate.store.folders import Workspace
from deviate.store.locks import locked_looks
from deviate.store.looks import Claim, RecordedLooks

# What a gate checks beside its metrics: how often runs fail, and how many answers change.


class GateFailures(msgspec.Struct, frozen=True, kw_only=True):
    """How often runs of the side that is checked fail, and how often they may."""

    #: Runs that failed, or gave no finite value or collapsed in a metric that is checked.
    failed: int
    runs: int
    #: One-sided upper limit of the rate (Clopper-Pearson), at 1 - alpha.
    upper: float
    #: The smallest rate that so many runs show with a probability of 1 - alpha.
    seen: float
    #: The largest rate that is allowed; None where the user gave none.
    allowed: float | None
    passed: bool


class GateChurn(msgspec.Struct, frozen=True, kw_only=True):
    """How many answers of the other side the runs of the side that is checked change, and how many they may."""

    predictions: ChangedPredictions
    #: One-sided upper limit of the share of examples with another label, at 1 - alpha; None where it is unknown.
    upper: float | None
    #: The largest share that is allowed, in (0, 1).
    allowed: float
    passed: bool


def gate_failures(side: Side, metrics: Sequence[MetricSpread], options: GateOptions) -> GateFailures:
    """Count the runs that failed, and limit their rate."""
    failed = len({run for metric in metrics for run in metric.unsuccessful})
    runs = max((metric.tried for metric in metrics), default=side.ended)
    upper = failure_rate(failed, runs, 1 - 2 * options.alpha).interval.high
    assert upper is not None
    return GateFailures(
        failed=failed,
        runs=runs,
        upper=upper,
        seen=rate_seen(runs, 1 - options.alpha),
        allowed=options.max_failures,
        passed=options.max_failures is None or upper <= options.max_failures,
    )


def gate_churn(
    sides: tuple[Side, Side], matches: Sequence[Match], pairing: Pairing, options: GateOptions
) -> GateChurn | None:
    """Check how many answers change; what cannot be compared does not pass."""
    if options.max_churn is None:
        return None
    names = {match[0].name: match[1].name for match in matches}
    changed = changed_predictions(*sides, names, 1 - 2 * options.alpha, pairing)
    if changed is None:
        raise BadOption(
            f"max_churn: no predictions of {' and '.join(side.label for side in sides if not side.evaluations)}",
            hint="`deviate report NAME` says why; --predictions FILE of `deviate run` names a file that the program "
            "writes them to",
        )
    upper = changed.churn.between.interval.high if changed.churn is not None else None
    return GateChurn(
        predictions=changed,
        upper=upper,
        allowed=options.max_churn,
        passed=upper is not None and upper <= options.max_churn,
    )


# What a gate checks on groups of the evaluated examples: that the accuracy falls on none.


class CheckedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group of the examples that both sides evaluated, and by how much the accuracy on it may be lower."""

    #: The column that makes the group; empty where it has no name.
    column: str
    name: str
    examples: int
    question: Question


class CheckedGroups(msgspec.Struct, frozen=True, kw_only=True):
    """The groups that are to be checked."""

    #: Where side A was evaluated: ``evaluate, train.py:88``.
    site: str
    groups: list[CheckedGroup] = []
    #: Why none is checked; empty where some are.
    withheld: str = ""


class GateGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group of the examples, and what was shown of the accuracy on it, a share in [0, 1]."""

    #: The column that makes the group; empty where it has no name.
    column: str
    name: str
    examples: int
    accuracy: GateMetric

    @property
    def label(self) -> str:
        """What the group is called beside those of other columns."""
        return group_label(self.column, self.name)

    def is_too_small(self, alpha: float) -> bool:
        """Tell whether not even runs without an error would pass: runs at the limit are often right on all examples."""
        accuracy = self.accuracy
        if accuracy.outcome != "inconclusive" or not accuracy.drop.value or accuracy.limit is None:
            return False
        return few_errors_p(np.ones(accuracy.n_a), self.examples, accuracy.limit) > alpha


class GateGroups(msgspec.Struct, frozen=True, kw_only=True):
    """The accuracies on groups of examples, each a metric that must not fall."""

    #: Where side A was evaluated: ``evaluate, train.py:88``.
    site: str
    #: How much lower the accuracy on a group may be; 0: only a drop that is shown fails.
    allowed: float
    groups: list[GateGroup]
    #: Why none is checked, which does not pass; empty where some are.
    withheld: str
    passed: bool


def checked_groups(a: Side, b: Side, matches: Mapping[str, str], options: GateOptions) -> CheckedGroups | None:
    """Find the accuracy of each run on each group; None where the user gave no groups.

    Parameters
    ----------
    a, b : Side
    matches : mapping of str to str
        Metrics that are checked, with their names on side B.
    options : GateOptions

    Raises
    ------
    BadOption
        If one side has no groups, because it has no predictions.
    """
    if not options.groups:
        return None
    first, second = _grouped(a), _grouped(b)
    matched = matched_predictions(first, second, matches)
    if isinstance(matched, Withheld):
        return CheckedGroups(site=site_text(first), withheld=matched.reason)
    groupings, others = (groupings_on(each, matched[0].keys) for each in (first, second))
    if [_named(each) for each in groupings] != [_named(each) for each in others]:
        return CheckedGroups(site=site_text(first), withheld="the sides have other groups for the same examples")
    if not groupings:
        return CheckedGroups(site=site_text(first), withheld="the file has clusters and no groups")
    drop = Drop(options.max_group_drop or 0.0)
    return CheckedGroups(
        site=site_text(first),
        groups=[
            _checked(grouping.name, name, grouping.members == member, matched, drop)
            for grouping in groupings
            for member, name in enumerate(grouping.groups)
            if (grouping.members == member).any()
        ],
    )


def gate_groups(checked: CheckedGroups, accuracies: list[GateMetric], options: GateOptions) -> GateGroups:
    """Return what was shown of the accuracy on each group, in their order."""
    return GateGroups(
        site=checked.site,
        allowed=options.max_group_drop or 0.0,
        groups=[
            GateGroup(column=group.column, name=group.name, examples=group.examples, accuracy=accuracy)
            for group, accuracy in zip(checked.groups, accuracies, strict=True)
        ],
        withheld=checked.withheld,
        passed=not checked.withheld and all(accuracy.passed for accuracy in accuracies),
    )


def _grouped(side: Side) -> Evaluation:
    found = next((each for each in side.evaluations if each.groups), None)
    if found is None:
        raise BadOption(
            f"groups: no predictions of {side.label} to group",
            hint="`deviate report NAME` says why; --predictions FILE of `deviate run` names a file that the program "
            "writes them to",
        )
    return found


def _named(grouping: Grouping) -> tuple[str, list[str]]:
    """Return the name of each example's group; numbers of groups depend on which groups an experiment has."""
    return grouping.name, [grouping.groups[member] for member in grouping.members]


def _checked(
    column: str, name: str, chosen: Array, matched: tuple[Predictions, Predictions], drop: Drop
) -> CheckedGroup:
    label = f"accuracy of {group_label(column, name)}"
    samples = [group_accuracies(label, predicted, chosen) for predicted in matched]
    examples = int(chosen.sum())
    question = Question(samples, "higher", drop, examples)
    return CheckedGroup(column=column, name=name, examples=examples, question=question)


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """All facts about whether one side may pass."""

    schema: int = SCHEMA
    a: str
    b: str
    passed: bool
    alpha: float
    inconclusive: Inconclusive
    metrics: list[GateMetric]
    failures: GateFailures
    comparability: Comparability
    #: What to type for the same.
    command: str
    #: Which check of these sides it is, and what p must be below at it.
    look: GateLook
    #: None where the user allowed no churn and so none is checked.
    churn: GateChurn | None = None
    #: None where the user gave no groups.
    groups: GateGroups | None = None

    @property
    def judged(self) -> list[GateMetric]:
        """All that p-values are adjusted over: the metrics, and the accuracies on groups."""
        return [*self.metrics, *(group.accuracy for group in (self.groups.groups if self.groups else []))]


def _without_metric(side: Side) -> BadOption:
    """Return the error for a check without a metric, with those there are; the main one stands in the example."""
    names = [sample.name for sample in main_first(side.samples)]
    example = f"type for example --metric {typed_word(names[0])} --max-drop 0.5" if names else DROP_HINT
    return BadOption("a check needs a metric", hint=f"{example}; metrics: {', '.join(names) or 'none'}")


def read_gate(workspace: Workspace, a: str, against: str, options: GateOptions) -> Gate:
    """Infer whether one experiment is worse than another, each ``NAME`` or ``NAME:VARIANT``, by more than is allowed.

    The check is recorded as a look at the two, and what it is the first to ask of them as a claim.

    Raises UnknownExperiment if a name is none. Raises BadOption if the options do not fit each other or the
    experiments.
    """
    check_gate_options(options)
    with locked_looks(workspace):
        checked, other = read_sides(workspace, (a, against), options.samples, GroupOptions(sources=options.groups))
        if not options.drops:
            raise _without_metric(checked)
        before = read_checks(workspace, checked, other)
        gate = check_side(checked, other, options, typed_line(check_command(a, against, options)), before)
        unrecorded = record_look(workspace, checked, other, before, _claim(gate, before))
        remember_typed(workspace, (checked, other), options.samples)
    return msgspec.structs.replace(gate, look=msgspec.structs.replace(gate.look, unrecorded=unrecorded))


def _claim(gate: Gate, before: RecordedLooks) -> Claim | None:
    """Return what the check is the first to ask of its two sides.

    Checks of another candidate against the same side do not count: a gate asks every candidate the same.
    """
    labels = gate.a, gate.b
    tested = [recorded_name((metric.name, metric.name_b)) for metric in gate.judged if metric.p_worse is not None]
    return new_claims({labels: tested}, {labels: before}, before.claimed).get(labels)


def check_side(a: Side, b: Side, options: GateOptions, command: str = "", before: RecordedLooks | None = None) -> Gate:
    """Check side `a` against side `b`, which it must not fall behind.

    `command` is what to type for the same; `before` are the earlier checks of these sides.

    Raises BadOption if one side alone repeats a draw in all its runs, a metric is missing, the better values of a
    metric are not known, one side gives percent and the other fractions, or a share is asked for that means nothing.
    """
    asked = _questions(a, b, options)
    every = [_measured(question, 1 - options.alpha) for question in asked]
    # Collapsed runs count as lost ones: they are the worst there are, and would make any limit look kept.
    questions = [
        question._replace(
            match=list(typical_runs(*match)),
            collapsed=(len(match[0].collapsed), len(match[1].collapsed)),
        )
        for question, match in zip(asked, every, strict=True)
    ]
    draws = repeated_draws(a, b)
    _check_draws(draws)
    pairing = pair_runs(a, b, options.pairing)
    matches = [question.match for question in asked]
    grouped = checked_groups(a, b, {match[0].name: match[1].name for match in matches}, options)
    # One family: a false `worse` on a group fails the gate as one of a metric does.
    family = [*questions, *(group.question for group in grouped.groups)] if grouped else questions
    claims = _claimed(a, b, family, before)
    latest = claim_factor(max(each.number for each in claims.values()))
    look = gate_look(a, b, before, questions, pairing, options, latest)
    judged = msgspec.structs.replace(options, alpha=look.alpha)
    measured = [[measured_sample(sample, 1 - look.alpha) for sample in question.match] for question in family]
    outcomes = _judge((a, b), family, measured, pairing, judged, claims)
    metrics, accuracies = outcomes[: len(questions)], outcomes[len(questions) :]
    measured = measured[: len(questions)]
    failures = gate_failures(a, [match[0] for match in every], judged)
    churn = gate_churn((a, b), matches, pairing, judged)
    groups = gate_groups(grouped, accuracies, judged) if grouped else None
    conditions = [failures, *(each for each in (churn, groups) if each is not None)]
    return Gate(
        a=a.label,
        b=b.label,
        passed=all(each.passed for each in [*metrics, *conditions]),
        alpha=options.alpha,
        inconclusive=options.inconclusive,
        metrics=metrics,
        failures=failures,
        comparability=comparability([a, b], measured, [pairing], [draws], chosen=True),
        command=command,
        look=look,
        churn=churn,
        groups=groups,
    )


def _measured(question: Question, level: float) -> tuple[MetricSpread, MetricSpread]:
    a, b = (measured_sample(sample, level) for sample in question.match)
    return with_common_collapses(a, b, question.direction)


def _judge(
    sides: tuple[Side, Side],
    questions: Sequence[Question],
    measured: Sequence[Sequence[MetricSpread]],
    pairing: Pairing,
    options: GateOptions,
    claims: Mapping[Key, Claimed],
) -> list[GateMetric]:
    """Judge several metrics as one family; the alpha of `options` is that of this look."""
    tests = [tested(question, pairing, options.alpha) for question in questions]
    adjusted = adjust_claims({key: test.p_worse for key, test in zip(claims, tests, strict=True)}, "holm", claims)
    return [
        gate_metric(sides, each, question, test, p, options)
        for each, question, test, p in zip(measured, questions, tests, (adjusted[key] for key in claims), strict=True)
    ]


def _claimed(a: Side, b: Side, questions: Sequence[Question], before: RecordedLooks | None) -> dict[Key, Claimed]:
    """Tell when each question was first asked of two sides, by its place."""
    labels = a.label, b.label
    names = {(*labels, str(n)): recorded_name(each.name for each in q.match) for n, q in enumerate(questions)}
    if before is None:
        return dict.fromkeys(names, Claimed())
    return claimed_when(names, [key[2] for key in names], {labels: before}, before.claimed)


def _questions(a: Side, b: Side, options: GateOptions) -> list[Question]:
    names = ComparisonOptions(metrics=list(options.drops), matches=options.matches, samples=options.samples)
    names = settle_names([a, b], names)
    if len(names.metrics) < len(options.drops):
        raise BadOption("a metric is named twice", hint=f"metrics that are checked: {', '.join(names.metrics)}")
    drops = dict(zip(names.metrics, options.drops.values(), strict=True))
    matches = match_metrics([a, b], names)
    directions = [_direction(match, names) for match in matches]
    for match in matches:
        _check_units((a, b), match)
    return [Question(match, way, drops[match[0].name]) for match, way in zip(matches, directions, strict=True)]


def _direction(match: Match, options: ComparisonOptions) -> Direction:
    direction = direction_of(match, options)
    if direction is None:
        name = match[0].name
        raise BadOption(
            f"it is unknown whether higher or lower values of {name!r} are better",
            hint=f"type --set {typed_word(f'direction={name}=higher')}",
        )
    return direction


def _check_draws(draws: RepeatedDraws) -> None:
    """Refuse runs that are one run of their recipe."""
    for label, factors in draws.unshared.items():
        raise BadOption(
            f"all runs of {label} used the same random numbers for {', '.join(factors)}, unlike the other experiment: "
            "they count as one run of the recipe",
            hint=f"make the runs of both experiments with: {draws.remedy}",
        )
    for label, factors in draws.unknown.items():
        other = draws.b if label == draws.a else draws.a
        raise BadOption(
            f"all runs of {other} used the same random numbers for {', '.join(factors)}, and what varied in {label}, "
            "which was imported, is not known",
            hint=f"make the runs of {other} with: {draws.remedy}",
        )


def _check_units(sides: Sequence[Side], match: Match) -> None:
    """Refuse fractions against percent."""
    indices = units_differ(match)
    if indices is None:
        return
    (fraction, percent), values = (sides[index] for index in indices), [match[index].values[0] for index in indices]
    raise BadOption(
        f"{match[0].name!r} looks like a fraction in {fraction.label} ({values[0]:.6g}) and like percent in "
        f"{percent.label} ({values[1]:.6g})",
        hint="bring one into the unit of the other (report the metric so in the training, or multiply the column "
        "of the table and import it again); if both are in one unit already, no test is needed to see the difference",
    )
