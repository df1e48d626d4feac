"""The pages of a gate: whether it passes, metric by metric, and why."""

from __future__ import annotations

import msgspec

from deviate.inference.gate.gate import Gate
from deviate.inference.gate.metric import GateMetric
from deviate.report.figures.figure import slug
from deviate.report.numbers import Numbers, show, show_difference, show_level
from deviate.report.page import (
    AT_TERMINAL,
    Answer,
    Badge,
    Block,
    ByMetric,
    Cell,
    Drawing,
    Fold,
    Page,
    Panel,
    Reader,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.pages.cells import (
    TRUST,
    again_sections,
    caveat_blocks,
    caveat_count,
    columns,
    more_blocks,
    number,
)
from deviate.report.text.caveat import counted_caveats, split_caveats
from deviate.report.text.gate import (
    churn_sentences,
    failure_sentences,
    gate_caveats,
    gate_methods,
    gate_reasons,
    gate_sentence,
    group_sentences,
    last_digit,
    outcome_text,
)
from deviate.report.text.words import count

#: Metrics of a gate on a screen, and how many of them it explains where there are no more.
METRICS_ON_SCREEN, EXPLAINED = 4, 2


def gate_page(gate: Gate, reader: Reader) -> Page:
    """Make the page of a gate for a reader."""
    if reader in AT_TERMINAL:
        return Page(title="", reader=reader, sections=[_screen(gate) if reader == "screen" else _brief(gate)])
    methods = Sentences(sentences=gate_methods(gate), about="Check." if reader == "paper" else "")
    if reader == "paper":
        sections = [
            Section(slug="gate", blocks=[_table(gate), *_group_tables(gate)]),
            Section(slug="methods", blocks=[methods]),
        ]
    else:
        sections = [
            Section(slug="answer", title="In short", blocks=[_answer(gate), *_figures(gate)]),
            Section(slug="trust", title=TRUST, blocks=[*caveat_blocks(gate_caveats(gate))]),
            Section(
                slug="metrics", title="Metric by metric", blocks=[_table(gate), *_reasons(gate), *_conditions(gate)]
            ),
            *([Section(slug="groups", title="Group by group", blocks=_groups(gate))] if gate.groups else []),
            Section(slug="methods", title="For a paper: methods", blocks=[methods]),
            *again_sections(gate.command),
        ]
    caveats = caveat_count(sections)
    return Page(title=f"{gate.a} against {gate.b}", reader=reader, sections=sections, caveats=caveats)


def _answer(gate: Gate) -> Answer:
    return Answer(sentences=[gate_sentence(gate)], badge=_badge(gate))


def _badge(gate: Gate) -> Badge:
    """Return whether the side passes; a check that stops it for want of runs alone does not look like a drop."""
    if gate.passed:
        return Badge(text="passes", emphasis="good")
    conditions = [gate.failures, *(each for each in (gate.churn, gate.groups) if each is not None)]
    open_alone = all(metric.passed or metric.outcome == "inconclusive" for metric in gate.metrics)
    if open_alone and all(each.passed for each in conditions):
        return Badge(text="does not pass: inconclusive", emphasis="warning")
    return Badge(text="does not pass", emphasis="bad")


def _figures(gate: Gate) -> list[Block]:
    """Draw each metric beside its limit, the first that fails on top."""
    from deviate.report.figures.gate import gate_figures

    figures = gate_figures(gate)
    panels = [Panel(metric=figure.metric, blocks=[Drawing(figure=figure)]) for figure in figures]
    failing = [metric.name for metric in gate.metrics if not metric.passed]
    first = next((panel.metric for panel in panels if panel.metric in failing), panels[0].metric if panels else "")
    return [ByMetric(panels=panels, first=first)] if panels else []


def _brief(gate: Gate) -> Section:
    outcome = Sentences(sentences=[gate_sentence(gate)], emphasis="good" if gate.passed else "bad")
    return Section(
        slug="answer",
        blocks=[outcome, *_reasons(gate), *_conditions(gate), *_groups(gate), *caveat_blocks(gate_caveats(gate))],
    )


def _screen(gate: Gate) -> Section:
    """Return the answer, the outcomes with their reasons, what may fail beside them, and the first warnings."""
    outcome = Sentences(sentences=[gate_sentence(gate)], emphasis="good" if gate.passed else "bad")
    shown, others = split_caveats(gate_caveats(gate))
    silent = not gate.failures.failed and gate.failures.allowed is None
    return Section(
        slug="answer",
        blocks=[
            outcome,
            *_screen_reasons(gate),
            *_conditions(gate, most=1)[silent:],
            *caveat_blocks(shown),
            *more_blocks(*counted_caveats(others), "what these runs can show of failures"),
        ],
    )


def _screen_reasons(gate: Gate) -> list[Block]:
    """Explain one metric or two; of more the first that fails, with a line for the outcome of each other."""
    reasons = _reasons(gate)
    if len(reasons) <= EXPLAINED:
        return [*reasons]
    first = next((index for index, metric in enumerate(gate.metrics) if not metric.passed), None)
    ordered = [*([] if first is None else [first]), *(i for i in range(len(reasons)) if i != first)][:METRICS_ON_SCREEN]
    names = [reasons[i] if i == first else msgspec.structs.replace(reasons[i], blocks=[]) for i in ordered]
    left = len(reasons) - len(ordered)
    more = [Sentences(sentences=[f"and {count(left, 'more metric')}"], emphasis="quiet")] if left else []
    return [*names, *more]


def _reasons(gate: Gate) -> list[Fold]:
    return [_reason(metric, f"{metric.name} ({metric.aggregate})", gate.look.alpha) for metric in gate.metrics]


def _reason(metric: GateMetric, title: str, alpha: float) -> Fold:
    return Fold(
        title=f"{title}: {outcome_text(metric)}",
        blocks=[Sentences(sentences=gate_reasons(metric, alpha))],
        emphasis="good" if metric.passed else "bad",
    )


def _groups(gate: Gate) -> list[Block]:
    """Return all groups in a table, and the reasons for those that do not pass."""
    if gate.groups is None:
        return []
    failing = [group.accuracy for group in gate.groups.groups if not group.accuracy.passed]
    return [
        _condition("groups", group_sentences(gate), passed=gate.groups.passed),
        *_group_tables(gate),
        *(_reason(accuracy, accuracy.name, gate.look.alpha) for accuracy in failing),
    ]


def _conditions(gate: Gate, most: int | None = None) -> list[Block]:
    """Return what is checked beside the metrics: failures, and answers that change; `most` sentences each."""
    failures = _condition("failures", failure_sentences(gate)[:most], passed=gate.failures.passed)
    if gate.failures.allowed is None:
        failures = msgspec.structs.replace(failures, emphasis="plain")
    if gate.churn is None:
        return [failures]
    return [failures, _condition("churn", churn_sentences(gate)[:most], passed=gate.churn.passed)]


def _condition(title: str, sentences: list[str], *, passed: bool) -> Fold:
    return Fold(title=title, blocks=[Sentences(sentences=sentences)], emphasis="good" if passed else "bad")


def _table(gate: Gate) -> Table:
    return Table(
        caption=f"{gate.a} against {gate.b}: mean ± SD; distance: from the limit, positive where it is kept",
        slug=slug("gate", gate.a, gate.b),
        columns=columns("metric", *_heads(gate), last="outcome"),
        rows=[_row(_name(metric), metric, Numbers(gate.look.alpha)) for metric in gate.metrics],
    )


def _group_tables(gate: Gate) -> list[Table]:
    """Return the table of groups, where some are checked."""
    if gate.groups is None or not gate.groups.groups:
        return []
    numbers = Numbers(gate.look.alpha)
    table = Table(
        caption=f"{gate.a} against {gate.b}: accuracy on groups of the evaluated examples, mean ± SD",
        slug=slug("gate", gate.a, gate.b, "groups"),
        columns=columns("group", *_heads(gate), last="outcome"),
        rows=[
            _row(Cell(group.label, remark=count(group.examples, "example")), group.accuracy, numbers)
            for group in gate.groups.groups
        ],
    )
    return [table]


def _heads(gate: Gate) -> tuple[str, ...]:
    level = show_level(1 - 2 * gate.look.alpha)
    many = " (Holm)" if len(gate.judged) > 1 else ""
    return ("n", gate.a, gate.b, "max. drop", "limit", "distance", f"{level} CI", "p not worse", f"p worse{many}")


def _name(metric: GateMetric) -> Cell:
    name = metric.name if metric.name == metric.name_b else f"{metric.name} / {metric.name_b}"
    unit = f" ({metric.unit})" if metric.unit else ""
    return Cell(f"{name}{unit}", remark=metric.aggregate)


def _row(name: Cell, metric: GateMetric, numbers: Numbers) -> Row:
    place = last_digit(metric)
    sides = ((metric.mean_a, metric.sd_a), (metric.mean_b, metric.sd_b))
    return Row(
        cells=[
            name,
            number(f"{metric.n_a}, {metric.n_b}", metric.n_a),
            *(number(f"{show(mean, place)} ± {show(sd, place)}", mean) for mean, sd in sides),
            number(metric.max_drop, metric.drop.value),
            number(show(metric.limit, place), metric.limit),
            number(show(metric.room, place), metric.room),
            number(show_difference(metric.ci_room, place), metric.ci_room.low if metric.ci_room.known else None),
            number(numbers.p(metric.p_not_worse), metric.p_not_worse),
            number(numbers.p(metric.p_worse_adjusted), metric.p_worse_adjusted),
            Cell(outcome_text(metric), emphasis="good" if metric.passed else "bad"),
        ]
    )
