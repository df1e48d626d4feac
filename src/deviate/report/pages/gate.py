"""The pages of a gate: whether it passes, metric by metric, and why."""

from __future__ import annotations

import msgspec

from deviate.inference.gate.gate import Gate
from deviate.inference.gate.metric import GateMetric
from deviate.report.figures.figure import slug
from deviate.report.numbers import Numbers, show_difference, show_level, show_signed
from deviate.report.page import AT_TERMINAL, Answer, Block, Cell, Fold, Page, Reader, Row, Section, Sentences, Table
from deviate.report.pages.cells import TRUST, caveat_blocks, columns, more_blocks, number
from deviate.report.text.caveat import is_on_screen
from deviate.report.text.gate import (
    churn_sentences,
    failure_sentences,
    gate_caveats,
    gate_methods,
    gate_reasons,
    gate_sentence,
    last_digit,
    outcome_text,
)


def gate_page(gate: Gate, reader: Reader) -> Page:
    """Make the page of a gate for a reader."""
    if reader in AT_TERMINAL:
        return Page(title="", reader=reader, sections=[_screen(gate) if reader == "screen" else _brief(gate)])
    methods = Sentences(sentences=gate_methods(gate), about="Check." if reader == "paper" else "")
    if reader == "paper":
        sections = [Section(slug="gate", blocks=[_table(gate)]), Section(slug="methods", blocks=[methods])]
    else:
        sections = [
            Section(slug="answer", title="In short", blocks=[Answer(sentences=[gate_sentence(gate)])]),
            Section(slug="trust", title=TRUST, blocks=[*caveat_blocks(gate_caveats(gate))]),
            Section(
                slug="metrics", title="Metric by metric", blocks=[_table(gate), *_reasons(gate), *_conditions(gate)]
            ),
            Section(slug="methods", title="For a paper: methods", blocks=[methods]),
        ]
    return Page(title=f"{gate.a} against {gate.b}", reader=reader, sections=sections)


def _brief(gate: Gate) -> Section:
    outcome = Sentences(sentences=[gate_sentence(gate)], emphasis="good" if gate.passed else "bad")
    return Section(
        slug="answer", blocks=[*_reasons(gate), *_conditions(gate), *caveat_blocks(gate_caveats(gate)), outcome]
    )


def _screen(gate: Gate) -> Section:
    """Return the answer, the outcomes with their reasons, conditions in short, and warnings."""
    outcome = Sentences(sentences=[gate_sentence(gate)], emphasis="good" if gate.passed else "bad")
    caveats = gate_caveats(gate)
    return Section(
        slug="answer",
        blocks=[
            outcome,
            *_reasons(gate),
            *_conditions(gate, most=1),
            *caveat_blocks(filter(is_on_screen, caveats)),
            *more_blocks(sum(not is_on_screen(each) for each in caveats), "what these runs can show of failures"),
        ],
    )


def _reasons(gate: Gate) -> list[Block]:
    return [
        Fold(
            title=f"{metric.name} ({metric.aggregate}): {outcome_text(metric)}",
            blocks=[Sentences(sentences=gate_reasons(metric, gate.look.alpha))],
            emphasis="good" if metric.passed else "bad",
        )
        for metric in gate.metrics
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
    level = show_level(1 - 2 * gate.look.alpha)
    many = " (Holm)" if len(gate.metrics) > 1 else ""
    heads = ("n", gate.a, gate.b, "max. drop", "limit", "distance", f"{level} CI", "p not worse", f"p worse{many}")
    return Table(
        caption=f"{gate.a} against {gate.b}: mean ± SD; distance: from the limit, positive where it is kept",
        slug=slug("gate", gate.a, gate.b),
        columns=columns("metric", *heads, last="outcome"),
        rows=[_row(metric, Numbers(gate.look.alpha)) for metric in gate.metrics],
    )


def _row(metric: GateMetric, numbers: Numbers) -> Row:
    place = last_digit(metric)
    name = metric.name if metric.name == metric.name_b else f"{metric.name} / {metric.name_b}"
    unit = f" ({metric.unit})" if metric.unit else ""
    sides = ((metric.mean_a, metric.sd_a), (metric.mean_b, metric.sd_b))
    return Row(
        cells=[
            Cell(f"{name}{unit}", remark=metric.aggregate),
            number(f"{metric.n_a}, {metric.n_b}", metric.n_a),
            *(number(f"{show_signed(mean, place)} ± {show_signed(sd, place)}", mean) for mean, sd in sides),
            number(metric.max_drop, metric.drop.value),
            number(show_signed(metric.limit, place), metric.limit),
            number(show_signed(metric.room, place), metric.room),
            number(show_difference(metric.ci_room, place), metric.ci_room.low if metric.ci_room.known else None),
            number(numbers.p(metric.p_not_worse), metric.p_not_worse),
            number(numbers.p(metric.p_worse_adjusted), metric.p_worse_adjusted),
            Cell(outcome_text(metric), emphasis="good" if metric.passed else "bad"),
        ]
    )
