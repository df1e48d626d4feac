"""The facts about whether one side is worse than another by more than is allowed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from deviate.contrast.multiplicity import adjust
from deviate.errors import BadOption
from deviate.experiment import SCHEMA, Direction
from deviate.inference.comparison.comparability import Comparability, comparability
from deviate.inference.comparison.draws import RepeatedDraws, repeated_draws
from deviate.inference.comparison.looks import record_look
from deviate.inference.comparison.match import Match, direction_of, match_metrics, settle_names, units_differ
from deviate.inference.comparison.options import ComparisonOptions
from deviate.inference.comparison.pairing import Pairing, pair_runs
from deviate.inference.comparison.side import Side, read_sides, remember_typed
from deviate.inference.drops import DROP_HINT
from deviate.inference.gate.conditions import GateChurn, GateFailures, gate_churn, gate_failures
from deviate.inference.gate.groups import GateGroups, checked_groups, gate_groups
from deviate.inference.gate.looks import GateLook, gate_look, read_checks
from deviate.inference.gate.metric import GateMetric, Question, gate_metric, tested
from deviate.inference.gate.options import GateOptions, Inconclusive, check_command, check_options
from deviate.inference.metric import MetricSpread, measured_sample, typical_runs, with_common_collapses
from deviate.replicate.workspace.folders import Workspace
from deviate.replicate.workspace.lock import locked_looks
from deviate.replicate.workspace.looks import RecordedLooks
from deviate.results.groups import GroupOptions
from deviate.results.order import main_first
from deviate.shell_words import typed_line, typed_word


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

    The check is recorded as a look at the two.

    Raises
    ------
    UnknownExperiment
        If a name is none.
    BadOption
        If the options do not fit each other or the experiments.
    """
    check_options(options)
    with locked_looks(workspace):
        checked, other = read_sides(workspace, (a, against), options.samples, GroupOptions(sources=options.groups))
        if not options.drops:
            raise _without_metric(checked)
        before = read_checks(workspace, checked, other)
        gate = check_side(checked, other, options, typed_line(check_command(a, against, options)), before)
        unrecorded = record_look(workspace, checked, other, before)
        remember_typed(workspace, (checked, other), options.samples)
    return msgspec.structs.replace(gate, look=msgspec.structs.replace(gate.look, unrecorded=unrecorded))


def check_side(a: Side, b: Side, options: GateOptions, command: str = "", before: RecordedLooks | None = None) -> Gate:
    """Check side `a` against side `b`, which it must not fall behind.

    `command` is what to type for the same; `before` are the earlier checks of these sides.

    Raises
    ------
    BadOption
        If the runs of a side repeat a draw that those of the other do not, a metric is not there, it is not known which
        of its values are better, one side gives percent and the other fractions, or a share is asked for that means
        nothing.
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
    look = gate_look(a, b, before, questions, pairing, options)
    judged = msgspec.structs.replace(options, alpha=look.alpha)
    matches = [question.match for question in asked]
    grouped = checked_groups(a, b, {match[0].name: match[1].name for match in matches}, options)
    # One family: a false `worse` on a group fails the gate as one of a metric does.
    family = [*questions, *(group.question for group in grouped.groups)] if grouped else questions
    measured = [[measured_sample(sample, 1 - look.alpha) for sample in question.match] for question in family]
    outcomes = _judge((a, b), family, measured, pairing, judged)
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
) -> list[GateMetric]:
    """Judge several metrics as one family; the alpha of `options` is that of this look."""
    tests = [tested(question, pairing, options.alpha) for question in questions]
    adjusted = adjust([test.p_worse for test in tests], "holm")
    return [
        gate_metric(sides, each, question, test, p, options)
        for each, question, test, p in zip(measured, questions, tests, adjusted, strict=True)
    ]


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
            hint=f"type --direction {typed_word(f'{name}=higher')}",
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
