"""Seeds that were replaced or kept, draws left, switches, operations that warned, and environments that differ."""

from __future__ import annotations

from collections.abc import Iterable

from deviate.report.parts import Document
from deviate.report.words import listed, seed_text
from deviate.report.writers.html.section import Content, Page, Section


def _content(page: Page[Document]) -> Content:
    groups = [(title, lines) for title, lines in _groups(page.said) if lines]
    return {"groups": groups} if groups else None


def _groups(document: Document) -> Iterable[tuple[str, list[str]]]:
    yield "Seeds replaced", [seed_text(seed) + _through(seed.through) for seed in document.seeds_replaced]
    yield "Seeds of the data, kept", [seed_text(seed) for seed in document.seeds_kept]
    yield "Draws of `other`", [f"{draw.call} at {draw.file}:{draw.line}" for draw in document.draws_left]
    yield "Switches set", [f"{switch.name} = {switch.value}" for switch in document.switches]
    yield (
        "Operations without a deterministic form",
        [
            f"{found.operation}: {listed(found.runs)}" if found.runs else found.operation
            for found in document.operations
        ],
    )
    yield (
        "Environments that differ",
        [
            f"{found.name}: " + "; ".join(f"{value} in {listed(runs)}" for value, runs in found.values.items())
            for found in document.differences
        ],
    )


def _through(line: str) -> str:
    return f", reached from {line}" if line else ""


SECTION = Section(slug="seeds", title="Seeds, switches and environments", content=_content)
