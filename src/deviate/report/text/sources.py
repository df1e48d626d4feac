"""Which source makes runs differ most in a metric, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from deviate.inference.sources import LeadingSource, SpreadAcross
from deviate.report.numbers import last_place, show, show_interval, show_level

#: Summers and Dinneen (ICML 2021): each source alone, even one bit, brings nearly the whole variability.
NOT_ADDITIVE = (
    "Shares do not add: one source alone often brings nearly as much spread as all of them together "
    "(Summers & Dinneen, ICML 2021), so they are no decomposition of the whole."
)


def across_notes(tables: list[SpreadAcross]) -> list[str]:
    """Return what to know to read the spread by variant."""
    return [NOT_ADDITIVE] if any(table.whole for table in tables) else []


def source_sentences(table: SpreadAcross, level: float) -> list[str]:
    """Say which source brings most, as far as that is known.

    `level` is the confidence level of the intervals, in (0, 1).
    """
    return list(_leading(table.leading, level))


def _leading(leading: LeadingSource | None, level: float) -> Iterator[str]:
    if leading is None:
        return
    sds = [show(sd, last_place(sd)) for sd in (leading.sd, leading.next_sd)]
    text = (
        f"Of the sources alone, {leading.source} brings the largest SD ({sds[0]}), before {leading.next_source} "
        f"({sds[1]})"
    )
    ratio = leading.ci_ratio
    if ratio is None:
        yield f"{text}."
    elif not ratio.known:
        yield f"{text}; whether it is really larger cannot be told: {ratio.reason}."
    else:
        ends = f"{show_level(level)} CI of the ratio {show_interval(ratio, last_place(ratio.low))}"
        apart = ratio.low is not None and ratio.low > 1
        yield (
            f"{text}, and the two can be told apart ({ends})."
            if apart
            else f"{text}; which of the two is larger cannot be told from these runs ({ends})."
        )
