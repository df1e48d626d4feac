"""The spread of each metric across variants: how much of it each source of nondeterminism brings by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from deviate.collect.measured import MACHINES
from deviate.contrast.sd_ratio import sd_ratio
from deviate.factors import find_variant
from deviate.inference.metric import MetricSpread
from deviate.inference.variant import VariantFacts
from deviate.measure.intervals import Interval

#: The variant whose SD the others are measured by.
WHOLE = "algo+impl"


class VariantSpread(msgspec.Struct, frozen=True, kw_only=True):
    """How much the runs of one variant differ in a metric."""

    variant: str
    n: int
    mean: float | None
    sd: float | None
    ci_sd: Interval
    #: SD as a share of that of the variant in which everything varies; None where there is none.
    relative: float | None
    #: Whether the runs drew anything that varies in the variant; True where that is not known.
    is_drawn: bool = True


class LeadingSource(msgspec.Struct, frozen=True, kw_only=True):
    """The source that alone brings the largest SD, beside the next one."""

    source: str
    sd: float
    next_source: str
    next_sd: float
    #: SD of the first as a multiple of that of the second, with its interval; None where the second is 0.
    ratio: float | None
    ci_ratio: Interval | None


class SpreadAcross(msgspec.Struct, frozen=True, kw_only=True):
    """How much runs differ in one metric, by what varies."""

    metric: str
    aggregate: str
    unit: str
    #: The variant that shares are of; empty where there are no shares.
    whole: str
    rows: list[VariantSpread]
    #: None where fewer than two sources varied alone, or runs of none differ.
    leading: LeadingSource | None = None
    #: The variant in which nothing was to vary and whose runs differ: no source shows beside it. Empty where none does.
    broken: str = ""


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """The variants of a metric by how much their runs differ."""

    #: Those whose runs differ, the largest SD first.
    differing: list[VariantSpread]
    #: Those whose runs all have the same value.
    equal: list[VariantSpread]
    #: Those without an SD.
    unknown: list[VariantSpread]


def rank(table: SpreadAcross) -> Ranking:
    """Order the variants of a metric by their SD."""
    known = [row for row in table.rows if row.sd is not None]
    return Ranking(
        differing=sorted((row for row in known if row.sd), key=lambda row: -(row.sd or 0.0)),
        equal=[row for row in known if not row.sd],
        unknown=[row for row in table.rows if row.sd is None],
    )


def spread_across(variants: Sequence[VariantFacts], level: float) -> list[SpreadAcross]:
    """Return one table a metric, a row per variant; none where there is only one variant.

    Times are left out: they vary with the machine, whatever varies in the training. Intervals are at the confidence
    level `level`, in (0, 1).
    """
    measured = [variant for variant in variants if variant.completed]
    if len(measured) < 2:
        return []
    keys = dict.fromkeys(
        (metric.name, metric.aggregate) for variant in measured for metric in variant.metrics if metric.kind != "speed"
    )
    return [_across(name, aggregate, measured, level) for name, aggregate in keys]


def _across(name: str, aggregate: str, variants: Sequence[VariantFacts], level: float) -> SpreadAcross:
    metrics = {
        variant.variant: metric
        for variant in variants
        for metric in variant.metrics
        if (metric.name, metric.aggregate) == (name, aggregate)
    }
    whole = metrics[WHOLE].spread.sd if WHOLE in metrics else None
    broken = next((each for each, metric in metrics.items() if is_fixed(each) and _differs(metric)), "")
    return SpreadAcross(
        metric=name,
        aggregate=aggregate,
        unit=next(iter(metrics.values())).unit,
        whole=WHOLE if whole else "",
        rows=list(_rows(metrics, whole, {each.variant for each in variants if _draws_nothing(each)})),
        leading=leading_source(metrics, level) if not broken else None,
        broken=broken,
    )


def is_fixed(variant: str) -> bool:
    """Whether everything is held fixed in a variant."""
    known = find_variant(variant)
    return known is not None and known.is_fixed


def _differs(metric: MetricSpread) -> bool:
    return metric.kind not in MACHINES and metric.n > 1 and not metric.spread.identical


def _draws_nothing(facts: VariantFacts) -> bool:
    """Tell whether all that varies in a variant is drawn by factors that its runs draw nothing for."""
    varied = [each.found for each in facts.evidence if each.meant == "varies"]
    return bool(varied) and set(varied) == {"absent"}


def _rows(metrics: Mapping[str, MetricSpread], whole: float | None, undrawn: set[str]) -> Iterable[VariantSpread]:
    for variant, metric in metrics.items():
        sd = metric.spread.sd
        yield VariantSpread(
            variant=variant,
            n=metric.n,
            mean=metric.spread.mean,
            sd=sd,
            ci_sd=metric.ci_sd,
            relative=sd / whole if whole and sd is not None else None,
            is_drawn=variant not in undrawn,
        )


def leading_source(metrics: Mapping[str, MetricSpread], level: float) -> LeadingSource | None:
    """Find the source that alone brings the largest SD, and compare it with the next one.

    `metrics` is one metric in every variant that measured it; `level` is the confidence level of the ratio, in (0, 1).
    """
    alone = {name: metric for name, metric in metrics.items() if source_of(name) and metric.spread.sd is not None}
    sds = {name: metric.spread.sd or 0.0 for name, metric in alone.items()}
    first, *others = sorted(alone, key=lambda name: -sds[name]) or [""]
    if not others or not sds[first]:
        return None
    second = others[0]
    ratio = sd_ratio(alone[first].values, alone[second].values, level) if sds[second] else None
    return LeadingSource(
        source=first,
        sd=sds[first],
        next_source=second,
        next_sd=sds[second],
        ratio=ratio.value if ratio else None,
        ci_ratio=ratio.interval if ratio else None,
    )


def source_of(variant: str) -> str:
    """Return the one factor that a variant varies; empty where there is another number of them."""
    known = find_variant(variant)
    if known is None or not known.controlled or known.disturbed or len(known.varying) != 1:
        return ""
    return next(iter(known.varying))
