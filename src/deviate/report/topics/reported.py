"""What the program reported, and what became of each number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from deviate.facts.experiment import Completeness, ExperimentFacts
from deviate.observe.reported import ReportedNumber
from deviate.report.page import Block, Cell, Column, Row, Section, Sentences, Table
from deviate.report.topics.curves import Charts
from deviate.report.words import count, listed

if TYPE_CHECKING:
    from deviate.probes.trial import PrintedNumber

# How much of what a program reports is measured, in sentences.

#: Names in a sentence; of more, the number is said.
NAMED = 6


def reported_sentences(facts: Completeness) -> list[str]:
    """Name the numbers that differed between runs and are not measured, and why; numbers without words share a form."""
    missing = [missing_text(facts.missing)] if facts.missing else []
    left_out = count(facts.lines_left_out, "printed line")
    unread = [f"{left_out} of too many forms were not searched for numbers."] if facts.lines_left_out else []
    unread += [unread_text(facts.unread_trackers)] if facts.unread_trackers else []
    if not facts.differing:
        return ["No number that this program reported differed between runs.", *missing, *unread]
    # A place, not a number: the lines of one form may show the loss of the training, and once that of an evaluation.
    places = f"{count(facts.differing, 'place')} of the output differed between runs"
    shown = "shows a metric" if facts.measured == 1 else "show metrics"
    counted = f"Numbers in {places}; {facts.measured} of them {shown}."
    read = [f"Read from output or files: {_named(facts.observed)}."] if facts.observed else []
    left = [f"Not measured: {_named([left_number(each) for each in facts.left])}."] if facts.left else []
    return [counted, *read, *left, *missing, *unread]


def missing_text(names: list[str]) -> str:
    """Say that the user names numbers that were not reported."""
    return f"Named in deviate.toml under [[observed]], and not reported: {_named(names)}."


def unread_text(trackers: list[str]) -> str:
    """Say to which trackers a program may have reported numbers that are in no file of the run."""
    return f"What it may have reported to {listed(trackers)} alone is not among them: no file of the run holds it."


def left_number(number: ReportedNumber | PrintedNumber) -> str:
    """Say what was reported, where, and why it is no metric."""
    return f"{number.name} ({number.source}; {number.reason})"


def _named(names: list[str]) -> str:
    more = len(names) - NAMED
    return listed(names) if more <= 0 else f"{', '.join(names[:NAMED])} and {more} more"


#: Numbers that are listed; of more, the first ones.
LISTED = 200


def brief(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Say how much is measured, of the first variant that can tell."""
    if not facts.reported:
        return None
    about = facts.reported[0].variant if len(facts.variants) > 1 else "Output"
    return Section(slug="reported", blocks=[Sentences(sentences=reported_sentences(facts.reported[0]), about=about)])


def full(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """Say how much is measured of each variant, and list what differed and is not."""
    if not facts.reported:
        return None
    blocks: list[Block] = [
        Sentences(sentences=list(sentences), about=listed(variants) if len(facts.variants) > 1 else "Output")
        for sentences, variants in _together(facts.reported).items()
    ]
    tables = [_left(each) for each in facts.reported if each.left]
    return Section(slug="reported", title="What the program reported", blocks=[*blocks, *tables])


def _together(reported: Iterable[Completeness]) -> dict[tuple[str, ...], list[str]]:
    """Return what is said, each once, with the variants that it is said of."""
    said: dict[tuple[str, ...], list[str]] = {}
    for each in reported:
        said.setdefault(tuple(reported_sentences(each)), []).append(each.variant)
    return said


def _left(each: Completeness) -> Table:
    rows = [
        Row(cells=[Cell(number.name, remark=number.source), Cell(number.template), Cell(number.reason)])
        for number in each.left[:LISTED]
    ]
    heads = ("number", "line", "why it is not measured")
    return Table(
        caption=f"{each.variant}: numbers that differed and are not measured",
        columns=[Column(head=head, numeric=False) for head in heads],
        rows=rows,
    )
