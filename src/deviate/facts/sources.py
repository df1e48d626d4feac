"""How much spread each source of nondeterminism brings, and runs over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from deviate.core.experiment import Status
from deviate.core.factors import find_variant
from deviate.facts.metric import MetricSpread
from deviate.facts.run import RunResult
from deviate.facts.variant import VariantFacts
from deviate.observe.metrics import MACHINES
from deviate.stats.effects import sd_ratio
from deviate.stats.intervals import Interval
from deviate.stats.results import Effect

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
    #: The largest value less the smallest.
    range: float | None = None
    #: Interval of `relative`; None where there is none.
    ci_relative: Interval | None = None


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
    #: Digits behind the point, as the program writes the metric; None where that is not known.
    decimals: int | None = None
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
    whole = metrics[WHOLE] if WHOLE in metrics and metrics[WHOLE].spread.sd else None
    broken = next((each for each, metric in metrics.items() if is_fixed(each) and _differs(metric)), "")
    return SpreadAcross(
        metric=name,
        aggregate=aggregate,
        unit=next(iter(metrics.values())).unit,
        decimals=next(iter(metrics.values())).decimals,
        whole=WHOLE if whole else "",
        rows=list(_rows(metrics, whole, {each.variant for each in variants if _draws_nothing(each)}, level)),
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


def _rows(
    metrics: Mapping[str, MetricSpread], whole: MetricSpread | None, undrawn: set[str], level: float
) -> Iterable[VariantSpread]:
    for variant, metric in metrics.items():
        share = _share(metric, whole, level) if whole else None
        yield VariantSpread(
            variant=variant,
            n=metric.n,
            mean=metric.spread.mean,
            sd=metric.spread.sd,
            ci_sd=metric.ci_sd,
            relative=share.value if share else None,
            is_drawn=variant not in undrawn,
            range=metric.spread.range,
            ci_relative=share.interval if share and share.interval.known and metric is not whole else None,
        )


def _share(metric: MetricSpread, whole: MetricSpread, level: float) -> Effect | None:
    """Give the SD of a variant as a share of that of the whole; None where it is not known."""
    if metric.spread.sd is None:
        return None
    if metric.spread.sd and metric is not whole:
        return sd_ratio(metric.values, whole.values, level)
    return Effect(
        value=float(metric is whole), interval=Interval(level=level, method="", reason="it is known without a test")
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


# Runs over time, and beside which others.


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """One run on the timeline; times in seconds since the first run started, pauses left out."""

    run: str
    variant: str
    status: Status
    #: Where it went on: ``slot 0``, with the machine where there are several.
    lane: str
    start_s: float
    end_s: float


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """All runs whose start is known."""

    slices: list[Slice]
    #: From the first start to the last end, pauses left out.
    length_s: float
    #: Stretches without any run that are longer than the longest run: the experiment was stopped and continued.
    pauses: int
    #: Seconds of all of them.
    paused_s: float
    #: Runs whose start or time is not known.
    unknown: int


def timeline_of(runs: Iterable[RunResult]) -> Timeline:
    """Lay runs on one axis of time."""
    every = list(runs)
    timed: list[tuple[float, float, RunResult]] = []
    for run in every:
        begun = _instant(run.started)
        if begun is not None and run.seconds is not None:
            timed.append((begun, begun + run.seconds, run))
    timed.sort(key=lambda each: (each[0], each[2].name))
    shifts, pauses, paused = _shifts([(begun, ended) for begun, ended, _ in timed])
    several = len({run.host for _, _, run in timed}) > 1
    slices = [
        Slice(
            run=run.name,
            variant=run.variant,
            status=run.status,
            lane=_lane(run, several),
            start_s=begun - shift,
            end_s=ended - shift,
        )
        for (begun, ended, run), shift in zip(timed, shifts, strict=True)
    ]
    return Timeline(
        slices=sorted(slices, key=lambda each: (each.lane, each.start_s)),
        length_s=max((each.end_s for each in slices), default=0.0),
        pauses=pauses,
        paused_s=paused,
        unknown=len(every) - len(slices),
    )


def _lane(run: RunResult, several: bool) -> str:
    slot = "slot" if run.slot is None else f"slot {run.slot}"
    return f"{run.host} {slot}" if several and run.host else slot


def _instant(text: str) -> float | None:
    """Return seconds since the epoch; None where the text is no time."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def _shifts(spans: Iterable[tuple[float, float]]) -> tuple[list[float], int, float]:
    """Return what is taken off the times of each span, by start; the number of pauses and their seconds."""
    ordered = list(spans)
    if not ordered:
        return [], 0, 0.0
    longest = max(ended - begun for begun, ended in ordered)
    shift, until, pauses = ordered[0][0], ordered[0][0], 0
    shifts = []
    for begun, ended in ordered:
        if begun - until > max(longest, 1.0):
            shift, pauses = shift + begun - until, pauses + 1
        shifts.append(shift)
        until = max(until, ended)
    return shifts, pauses, shift - ordered[0][0]
