"""What varied on purpose, what was held, and what fingerprints prove of it."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.report.parts import Document, VariantReport
from deviate.report.writers.html.section import Content, Page, Section
from deviate.report.writers.html.tables import Cell, Table, heads
from deviate.report.writers.variant_tables import LEGEND, mark


def _content(page: Page[Document]) -> Content:
    told = page.said.variants
    return {
        "evidence": _evidence([variant for variant in told if variant.evidence and variant.completed > 1]),
        "legend": LEGEND,
        "variants": [_variant(variant) for variant in told],
    }


def _variant(variant: VariantReport) -> dict[str, object]:
    factors = variant.factors
    facts = [("Varied", ", ".join(factors.varied) or "nothing on purpose"), ("Held", ", ".join(factors.held))]
    said = [variant.statement] if variant.statement else []
    disturbed = [f"{run.name} ran {run.disturbed}." for run in variant.runs if run.disturbed]
    return {
        "name": f"{variant.variant}: {factors.gloss}",
        "facts": [(name, text) for name, text in facts if text],
        "sentences": [*said, *variant.proven, *disturbed, *factors.caveats],
    }


def _evidence(variants: Sequence[VariantReport]) -> Table | None:
    """Return what the fingerprints show, a row a variant; None where none were taken."""
    if not variants:
        return None
    return Table(
        caption="What fingerprints show",
        heads=heads("variant", *(each.name for each in variants[0].evidence), words=len(variants[0].evidence) + 1),
        rows=[[Cell(variant.variant), *(Cell(mark(each)) for each in variant.evidence)] for variant in variants],
    )


SECTION = Section(slug="held", title="What varied, and what was held fixed", content=_content)
