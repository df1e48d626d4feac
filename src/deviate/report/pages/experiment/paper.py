"""For a paper: how the numbers were made, and answers to reproducibility checklists."""

from __future__ import annotations

from deviate.inference.experiment import ExperimentFacts
from deviate.report.figures.experiment import Charts
from deviate.report.page import Fold, Section, Sentences
from deviate.report.pages.checklist import checklist_table
from deviate.report.text.checklist import checklist
from deviate.report.text.methods import methods as methods_of


def _methods(facts: ExperimentFacts, about: str = "") -> Sentences:
    return Sentences(sentences=methods_of(facts), about=about)


def methods_and_checklist(facts: ExperimentFacts, charts: Charts) -> Section:
    """Return the methods paragraph and the checklist."""
    table = checklist_table(checklist(facts))
    return Section(
        slug="methods",
        title="For a paper: methods and checklist",
        blocks=[_methods(facts), Fold(title=table.caption, blocks=[table], open=False)],
    )


def methods(facts: ExperimentFacts, charts: Charts) -> Section:
    """Return the methods paragraph."""
    return Section(slug="methods", blocks=[_methods(facts, "Methods.")])


def reproducibility(facts: ExperimentFacts, charts: Charts) -> Section:
    """Return the checklist."""
    return Section(slug="reproducibility", blocks=[checklist_table(checklist(facts))])
