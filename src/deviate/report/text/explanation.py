"""Sentences on which lines drew for a factor."""

from __future__ import annotations

from collections.abc import Iterator

from deviate.preflight.explanation import DrawingLine, Explanation
from deviate.report.text.words import count


def explanation_answer(explanation: Explanation) -> Iterator[str]:
    """Say how many lines drew, and which one first drew something else in the second probe."""
    factor, lines = explanation.factor, explanation.lines
    if not lines:
        yield f"Nothing was seen to draw for `{factor}`."
        return
    yield f"{count(len(lines), 'line')} drew for `{factor}`."
    if explanation.first_difference is None:
        yield "The first draws of each line are the same in both probes."
    else:
        first = lines[explanation.first_difference]
        where = f"at {place_text(first)}" if first.exact else place_text(first)
        yield f"The two probes first differ {where}."
    if not explanation.complete:
        yield "The probes were stopped early: counts cover what they did until then."


def place_text(line: DrawingLine) -> str:
    """Name a line that drew."""
    if not line.file:
        return "no line of the program"
    return f"{line.file}:{line.line}" if line.exact else f"before {line.file}:{line.line}"


def what_text(line: DrawingLine) -> str:
    """Say what drew: the line as it is written, else what was called."""
    return line.text or line.call or "not known"


def counts_text(line: DrawingLine) -> str:
    """Show how often a line drew in each probe; once where it is the same."""
    texts = ["–" if number is None else str(number) for number in line.counts]
    return texts[0] if len(set(texts)) == 1 else " / ".join(texts)


def digests_text(line: DrawingLine) -> str:
    """Show the digests of a line's first draw in both probes, and whether they agree."""
    sign = "=" if len(set(line.digests)) == 1 else "≠"
    return f" {sign} ".join(digest or "–" for digest in line.digests)
