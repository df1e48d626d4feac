"""Which source makes runs differ most in a metric, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deviate.inference.sources import LeadingSource, Ranking, SpreadAcross, VariantSpread, rank
from deviate.report.numbers import last_place, show, show_interval, show_level
from deviate.report.text.footnotes import FEW_THEN_BOTH, sd_methods
from deviate.report.text.words import joined

#: Summers and Dinneen (ICML 2021): each source alone, even one bit, brings nearly the whole variability.
NOT_ADDITIVE = (
    "Shares do not add up: one source alone often causes nearly as much spread as all together "
    "(Summers & Dinneen, ICML 2021)."
)

#: The same on a screen.
NOT_ADDITIVE_SHORT = "Shares do not add up: one source alone often causes most of the spread."

#: Said of shares above 100 %.
BY_CHANCE = "With few runs, a source alone can come out larger than all together by chance."


def across_notes(tables: Sequence[SpreadAcross]) -> list[str]:
    """Return what to know to read the spread by variant."""
    larger = any(row.relative is not None and row.relative > 1 for table in tables for row in table.rows)
    # Variants of one experiment may have fewer runs than others.
    mixed = len(sd_methods(row.ci_sd for table in tables for row in table.rows)) > 1
    return [
        *([NOT_ADDITIVE] if any(table.whole for table in tables) else []),
        *([BY_CHANCE] if larger else []),
        *([FEW_THEN_BOTH] if mixed else []),
    ]


def source_sentences(table: SpreadAcross, level: float, *, brief: bool = False) -> list[str]:
    """Rank what varies by the SD, and say whether the first source is known to matter more than the second.

    `level` is the confidence level of the intervals, in (0, 1). The `brief` ranking names the largest SD alone.
    """
    if table.broken:
        return [f"{table.metric}: no source can be ranked, as the runs of {table.broken} differ."]
    return [*_ranked(table, rank(table), brief=brief), *_leading(table.leading, level, brief=brief)]


def _ranked(table: SpreadAcross, ranking: Ranking, *, brief: bool) -> Iterator[str]:
    if ranking.differing:
        unit = f" {table.unit}" if table.unit else ""
        parts = [f"{row.variant} {show(row.sd, last_place(row.sd))}{unit}" for row in ranking.differing]
        equal = f"; {no_effect(ranking.equal)}" if ranking.equal else ""
        if brief and len(parts) > 1:
            first = ranking.differing[0]
            sd = f"{show(first.sd, last_place(first.sd))}{unit}"
            yield f"The SD of {table.metric} is largest with {first.variant} ({sd}){equal}."
        else:
            yield f"SD of {table.metric} by what varies: {', '.join(parts)}{equal}."
    elif ranking.equal:
        yield f"{table.metric}: {no_effect(ranking.equal)}."


def no_effect(rows: Sequence[VariantSpread]) -> str:
    """Name the variants whose runs are all equal; those that nothing was drawn for cannot have had an effect."""
    drawn, undrawn = ([row.variant for row in rows if row.is_drawn is each] for each in (True, False))
    parts = [f"no effect in these runs: {joined(drawn)}"] if drawn else []
    return "; ".join([*parts, *([f"no draws for {joined(undrawn)}"] if undrawn else [])])


def _leading(leading: LeadingSource | None, level: float, *, brief: bool) -> Iterator[str]:
    if leading is None or leading.ci_ratio is None:
        return
    first, second, ratio = leading.source, leading.next_source, leading.ci_ratio
    if not ratio.known:
        yield f"Unknown whether {first} or {second} matters more{'' if brief else f': {ratio.reason}'}."
        return
    ends = f"{show_level(level)} CI of the ratio of their SDs {show_interval(ratio, last_place(ratio.low))}"
    apart = ratio.low is not None and ratio.low > 1
    yield (
        f"{first} matters more than {second} ({ends})."
        if apart
        else f"These runs do not show whether {first} or {second} matters more ({ends})."
    )
