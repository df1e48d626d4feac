"""The pages of a comparison: which sections each reader is shown, in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from deviate.inference.comparison.comparison import Comparison
from deviate.inference.experiment import ExperimentFacts
from deviate.report.page import AT_TERMINAL, Page, Reader, Section
from deviate.report.pages.cells import caveat_count
from deviate.report.pages.comparison.cards import cards
from deviate.report.pages.comparison.full import again, answer, differences, methods, ranking, tests, trust, verdicts
from deviate.report.pages.comparison.paper import paper_methods, runs_for_paper, tables
from deviate.report.pages.comparison.predictions import brief_predictions, predictions, screen_predictions
from deviate.report.pages.comparison.screen import (
    brief_answer,
    brief_reasons,
    brief_tables,
    every_test,
    more,
    remarks,
    screen_answer,
    screen_reasons,
    screen_tables,
    warnings,
)
from deviate.report.pages.shared_names import shared_names, with_shared_names
from deviate.report.text.words import listed

#: To add a section: its function, and a line for each reader that is shown it.
SECTIONS: dict[Reader, Sequence[Callable[[Comparison], Section | None]]] = {
    "screen": (screen_answer, screen_tables, screen_reasons, screen_predictions, warnings, more),
    "brief": (brief_answer, brief_tables, brief_reasons, brief_predictions, remarks, every_test),
    "full": (answer, differences, trust, verdicts, ranking, predictions, tests, methods, again),
    "paper": (tables, paper_methods),
}


def comparison_page(
    comparison: Comparison, reader: Reader, made: Callable[[], Mapping[str, ExperimentFacts]] = dict
) -> Page:
    """Make the page of a comparison for a reader; a paper also says how the runs of each side were `made`."""
    sections = [section for make in SECTIONS[reader] if (section := make(comparison)) is not None]
    if reader == "paper":
        sections += runs_for_paper(comparison, made())
    page = Page(
        # On a screen the headline says which sides there are.
        title="" if reader in AT_TERMINAL else _title(comparison.labels),
        reader=reader,
        sections=sections,
        caveats=caveat_count(sections) if reader == "full" else "",
        command=comparison.command,
        runs=cards(comparison) if reader == "full" else [],
    )
    return page if reader == "paper" else with_shared_names(page, shared_names(comparison.labels))


def _title(labels: Sequence[str]) -> str:
    """Name the sides: two against each other, more in a list."""
    return " against ".join(labels) if len(labels) == 2 else listed(labels, most=len(labels))
