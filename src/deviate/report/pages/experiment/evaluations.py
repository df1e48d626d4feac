"""The evaluations after the training, and how much those of one run differ."""

from __future__ import annotations

from deviate.inference.evaluations import EvaluationFacts
from deviate.inference.experiment import ExperimentFacts
from deviate.report.figures.experiment import Charts
from deviate.report.page import Cell, Row, Section, Table
from deviate.report.pages.cells import columns, number, plain_cell
from deviate.report.text.command import command_text
from deviate.report.text.evaluations import conditions

#: What a reader has to know of the SDs.
_NOTE = (
    "SD between runs: of the means of their evaluations. SD within a run: of the evaluations of one run around their "
    "mean, pooled over runs; the evaluation alone varies there."
)


def brief(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Show how much repeated evaluations differ within a run."""
    tables = [table for each in facts.evaluations if (table := _within(each)) is not None]
    return Section(slug="evaluations", blocks=[*tables]) if tables else None


def full(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """List the evaluations, and show how much repeated ones differ within a run."""
    if not facts.evaluations:
        return None
    tables = [table for each in facts.evaluations if (table := _within(each)) is not None]
    return Section(slug="evaluations", title="Evaluations after the training", blocks=[_listed(facts), *tables])


def _listed(facts: ExperimentFacts) -> Table:
    rows = [
        Row(
            cells=[
                Cell(each.name),
                Cell(command_text(each.command)),
                Cell(conditions(each)),
                number(str(each.repeat), each.repeat),
                number(f"{each.evaluated} of {each.runs}", each.evaluated),
            ]
        )
        for each in facts.evaluations
    ]
    return Table(
        caption="Commands run in the folder of each run after its training",
        columns=columns("evaluation", "command", "otherwise than the training", "times", "runs evaluated", words=3),
        rows=rows,
    )


def _within(facts: EvaluationFacts) -> Table | None:
    if not facts.within:
        return None
    rows = [
        Row(
            cells=[
                Cell(each.metric),
                Cell(each.variant),
                number(str(each.n), each.n),
                plain_cell(each.sd_between),
                plain_cell(each.sd_within),
            ]
        )
        for each in facts.within
    ]
    return Table(
        caption=f"{facts.name}: {facts.repeat} evaluations of each run",
        columns=columns("metric", "variant", "runs", "SD between runs", "SD within a run", words=2),
        rows=rows,
        notes=[_NOTE],
    )
