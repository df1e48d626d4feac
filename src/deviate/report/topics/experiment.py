"""The pages of an experiment: which sections each reader is shown, in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deviate.core.shell_words import typed_word
from deviate.facts.curves import Curves
from deviate.facts.experiment import ExperimentFacts
from deviate.report.page import Page, Reader, Section
from deviate.report.topics import (
    answer,
    checklist,
    experiment_screen,
    factors,
    figures,
    metrics,
    predictions,
    reported,
    reproduce,
    runs,
    stability,
)
from deviate.report.topics.command import command_text
from deviate.report.topics.curves import Charts
from deviate.report.topics.metrics import caveat_count
from deviate.report.topics.plain import plain_curves, plain_facts
from deviate.report.topics.sources import why_blocks

#: Returns nothing where there is nothing to show.
MakeSection = Callable[[ExperimentFacts, Charts], Section | None]

#: To add a section: its function in a module here, and a line for each reader that is shown it.
SECTIONS: dict[Reader, Sequence[MakeSection]] = {
    "screen": (
        experiment_screen.warnings,
        experiment_screen.answer,
        figures.curve_lines,
        experiment_screen.price,
        experiment_screen.following,
    ),
    "brief": (
        answer.brief,
        figures.curve_lines,
        factors.statements,
        factors.price,
        stability.evaluations_brief,
        predictions.brief,
        reported.brief,
        factors.fingerprints,
        answer.brief_remarks,
        reproduce.brief,
    ),
    "full": (
        answer.full,
        metrics.full,
        answer.remarks,
        figures.distribution,
        figures.curves,
        stability.evaluations_full,
        predictions.full,
        predictions.representations,
        predictions.weights,
        reported.full,
        figures.time,
        factors.price,
        factors.held,
        reproduce.seeds,
        runs.full,
        checklist.methods_and_checklist,
        reproduce.full,
    ),
    "paper": (factors.sources_for_paper, metrics.paper, checklist.methods, checklist.reproducibility, figures.paper),
}


def why_page(facts: ExperimentFacts) -> Page:
    """Make the screen that says why the runs of an experiment with several variants differ."""
    facts = plain_facts(facts)
    charts = Charts(facts)
    made = (experiment_screen.warnings(facts, charts), Section(slug="why", blocks=why_blocks(facts)))
    return Page(title="", reader="screen", sections=[section for section in made if section is not None])


def experiment_page(facts: ExperimentFacts, reader: Reader, curves: Curves | None = None) -> Page:
    """Make the page of an experiment for a reader; without `curves` no learning curve is shown."""
    facts = plain_facts(facts)
    charts = Charts(facts, plain_curves(curves))
    sections = [section for make in SECTIONS[reader] if (section := make(facts, charts)) is not None]
    command = command_text(facts.command)
    return Page(
        # Whoever looks at a screen has just typed the name.
        title="" if reader == "screen" else facts.experiment,
        subtitle=f"{command}; written {facts.generated}" if reader == "paper" else command,
        reader=reader,
        command=f"deviate report {typed_word(facts.experiment)}",
        sections=sections,
        caveats=caveat_count(sections) if reader == "full" else "",
        runs=runs.cards(facts) if reader == "full" else [],
    )
