"""How much spread each source of nondeterminism brings, and what it costs to hold the implementation."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from deviate.core.experiment import Experiment
from deviate.core.factors import IMPLEMENTATION, Variant, find_variant
from deviate.facts.metric import MetricSpread
from deviate.facts.run import RunResult
from deviate.facts.samples import Sample
from deviate.facts.variant import VariantFacts
from deviate.observe.metrics import MACHINES, TIME_PER_ITERATION, TIME_PER_RUN
from deviate.stats.effects import LEAST_PAIRS, TOO_FEW, HeldPrice, paired_price, sd_ratio
from deviate.stats.intervals import DEFAULT_LEVEL, Interval
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


# What holding the implementation costs: the time of runs that hold it, as a multiple of that of runs that do not.

#: Why there is no ratio.
NO_NOISE = "with pinned threads and no GPU kernels have no effect"
NOT_IN_TURN = "their runs were not made in turn, and the machine may have been busier during those of one"


def held_prices(
    experiment: Experiment,
    runs: Mapping[str, Sequence[RunResult]],
    samples: Mapping[str, Sequence[Sample]],
    without_noise: Mapping[str, bool],
    level: float = DEFAULT_LEVEL,
) -> list[HeldPrice]:
    """Compare the times of every two variants that differ in whether the implementation is held.

    `runs`, `samples`: by variant, the runs that have ended and what they measured; `without_noise`: whether nothing of
    the implementation could vary in the runs of a variant.
    """
    pairs = _pairs([name for name in experiment.planned if runs.get(name)])
    return [
        HeldPrice(held=held, free=free, reason=NO_NOISE)
        if without_noise.get(free)
        else _price(held, free, runs, samples, level)
        for held, free in pairs
    ]


def _pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return names of variants, each with one that has the implementation free and is alike in all else."""
    known = {name: variant for name in names if (variant := find_variant(name)) is not None and not variant.disturbed}
    return [
        (held, free)
        for free, variant in known.items()
        for held, other in known.items()
        if other.controlled and IMPLEMENTATION not in other.varying and _freed(variant) == other.varying
    ]


def _freed(variant: Variant) -> frozenset[str] | None:
    """Return what else varies where the implementation is free; of the command untouched nothing is known to."""
    if not variant.controlled:
        return frozenset()
    return frozenset(variant.varying - {IMPLEMENTATION}) if IMPLEMENTATION in variant.varying else None


def _price(
    held: str,
    free: str,
    runs: Mapping[str, Sequence[RunResult]],
    samples: Mapping[str, Sequence[Sample]],
    level: float,
) -> HeldPrice:
    # A run that shares another one's training took no time of its own.
    own = {name: {run.index: run for run in runs[name] if not run.same_as} for name in (held, free)}
    for metric in (TIME_PER_ITERATION, TIME_PER_RUN):
        times = {name: _times(samples.get(name, ()), metric, own[name]) for name in (held, free)}
        common = sorted(times[held].keys() & times[free].keys())
        if len(common) < LEAST_PAIRS:
            continue
        if not _in_turn([own[name][index] for index in common for name in (held, free)]):
            return HeldPrice(held=held, free=free, metric=metric, pairs=len(common), reason=NOT_IN_TURN)
        pairs = [(times[held][index], times[free][index]) for index in common]
        return paired_price(held, free, metric, pairs, level)
    return HeldPrice(held=held, free=free, reason=TOO_FEW)


def _times(samples: Sequence[Sample], metric: str, own: Mapping[int, RunResult]) -> dict[int, float]:
    sample = next((each for each in samples if each.name == metric), None)
    if sample is None:
        return {}
    return {run: value for run, value in zip(sample.runs, sample.values, strict=True) if run in own and value > 0}


def _in_turn(runs: Sequence[RunResult]) -> bool:
    """Tell whether runs of two variants alternated: on the average no more than two of one follow each other."""
    if not all(run.started for run in runs):
        return False
    order = [run.variant for run in sorted(runs, key=lambda run: (run.started, run.index))]
    turns = sum(first != second for first, second in itertools.pairwise(order))
    return 2 * (turns + 1) >= len(order)


# How much of what a program reports is measured.
