"""How much of what a program reports is measured, in sentences."""

from __future__ import annotations

from deviate.collect.reported import ReportedNumber
from deviate.inference.reported import Completeness
from deviate.report.text.words import count, listed

#: Names in a sentence; of more, the number is said.
NAMED = 6


def reported_sentences(facts: Completeness) -> list[str]:
    """Say how many of the numbers that differed between runs are measured, and why others are not."""
    missing = [missing_text(facts.missing)] if facts.missing else []
    left_out = count(facts.lines_left_out, "printed line")
    unread = [f"{left_out} of too many forms were not searched for numbers."] if facts.lines_left_out else []
    unread += [unread_text(facts.unread_trackers)] if facts.unread_trackers else []
    if not facts.differing:
        return ["No number that this program reported differed between runs.", *missing, *unread]
    sentences = [measured_text(facts.differing, facts.measured)]
    if facts.observed:
        sentences.append(f"Seen in the output alone: {_named(facts.observed)}.")
    if facts.left:
        sentences.append(f"Not measured: {_named([left_number(each) for each in facts.left])}.")
    return [*sentences, *missing, *unread]


def measured_text(differing: int, measured: int) -> str:
    """Say how many of the numbers that differed between runs are measured.

    Examples
    --------
    >>> measured_text(5, 5)
    'All 5 numbers that differed between runs are measured.'
    """
    if measured == differing:
        them = {1: "The only number", 2: "Both numbers"}.get(differing, f"All {differing} numbers")
        are = "is" if differing == 1 else "are"
        return f"{them} that differed between runs {are} measured."
    verb = "is" if measured == 1 else "are"
    return f"Of {count(differing, 'reported number')} that differed between runs, {measured} {verb} measured."


def missing_text(names: list[str]) -> str:
    """Say that the user names numbers that were not reported."""
    return f"Named in deviate.toml under [[observed]], and not reported: {_named(names)}."


def unread_text(trackers: list[str]) -> str:
    """Say to which trackers a program may have reported numbers that are in no file of the run."""
    return f"What it may have reported to {listed(trackers)} alone is not among them: no file of the run holds it."


def left_number(number: ReportedNumber) -> str:
    """Say what was reported, where, and why it is no metric."""
    return f"{number.name} ({number.source}; {number.reason})"


def _named(names: list[str]) -> str:
    more = len(names) - NAMED
    return listed(names) if more <= 0 else f"{', '.join(names[:NAMED])} and {more} more"
