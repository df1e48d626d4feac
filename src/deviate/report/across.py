"""The spread of each metric across variants: how much of it each source of nondeterminism brings by itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from deviate.factors import IMPLEMENTATION
from deviate.report.leading import leading_source, overlap_of_sources
from deviate.report.parts import MetricReport, SpreadAcross, VariantReport, VariantSpread

#: The variant whose SD the others are measured by.
WHOLE = "algo+impl"

#: Summers and Dinneen (ICML 2021): each source alone, even one bit, brings nearly the whole variability.
NOT_ADDITIVE = (
    "Shares do not add: one source alone often brings nearly as much spread as all of them together "
    "(Summers & Dinneen, ICML 2021), so they are no decomposition of the whole."
)


def spread_across(variants: Sequence[VariantReport], level: float) -> list[SpreadAcross]:
    """Return one table a metric, a row a variant; none where there is only one variant.

    Times are left out: they vary with the machine, whatever varies in the training. What the sentences say of two
    variants holds at the confidence level `level`, in (0, 1).
    """
    measured = [variant for variant in variants if variant.completed]
    if len(measured) < 2:
        return []
    keys = dict.fromkeys(
        (metric.name, metric.aggregate) for variant in measured for metric in variant.metrics if metric.kind != "speed"
    )
    present = _present(measured)
    return [_table(name, aggregate, measured, present, level) for name, aggregate in keys]


def _present(variants: Sequence[VariantReport]) -> set[str]:
    """Return the factors that vary where everything does: those that something was drawn for, and the kernels."""
    drawn = (each.name for report in variants if report.variant == WHOLE for each in report.evidence
             if each.meant == "varies" and each.found != "absent")  # fmt: skip
    return {*drawn, IMPLEMENTATION}


def _table(
    name: str, aggregate: str, variants: Sequence[VariantReport], present: Collection[str], level: float
) -> SpreadAcross:
    pairs = [
        (variant.variant, metric)
        for variant in variants
        for metric in variant.metrics
        if (metric.name, metric.aggregate) == (name, aggregate)
    ]
    whole = next((metric.spread.sd for variant, metric in pairs if variant == WHOLE), None)
    said = (leading_source(dict(pairs), level), overlap_of_sources(dict(pairs), WHOLE, present, level))
    return SpreadAcross(
        metric=name,
        aggregate=aggregate,
        unit=pairs[0][1].unit,
        whole=WHOLE if whole else "",
        rows=list(_rows(pairs, whole)),
        sentences=[sentence for sentence in said if sentence],
    )


def _rows(pairs: Iterable[tuple[str, MetricReport]], whole: float | None) -> Iterable[VariantSpread]:
    for variant, metric in pairs:
        sd = metric.spread.sd
        yield VariantSpread(
            variant=variant,
            n=metric.n,
            mean=metric.spread.mean,
            sd=sd,
            ci_sd=metric.ci_sd,
            relative=sd / whole if whole and sd is not None else None,
        )
