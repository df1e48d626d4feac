"""Which source makes runs differ most in a metric, and how far the sources overlap, in sentences."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from deviate.contrast.additivity import added_variances
from deviate.contrast.sd_ratio import sd_ratio
from deviate.factors import find_variant
from deviate.report.parts import MetricReport
from deviate.report.shown import last_place, show, show_interval, show_level

#: Digits after the point of a ratio of variances.
_RATIO_PLACE = -1


def leading_source(metrics: Mapping[str, MetricReport], level: float) -> str:
    """Say which source alone brings the largest SD, and whether it can be told from the next one.

    Parameters
    ----------
    metrics : mapping from variant to MetricReport
        One metric in every variant that measured it.
    level : float
        Confidence level of the ratio to the next one, in (0, 1).

    Returns
    -------
    str
        Empty where fewer than two sources varied alone, or runs of none differ.
    """
    alone = {name: metric for name, metric in metrics.items() if source_of(name) and metric.spread.sd is not None}
    first, *others = sorted(alone, key=lambda name: -(alone[name].spread.sd or 0.0)) or [""]
    if not others or not alone[first].spread.sd:
        return ""
    second = others[0]
    sds = [_sd(alone[name]) for name in (first, second)]
    said = f"Of the sources alone, {first} brings the largest SD ({sds[0]}), before {second} ({sds[1]})"
    if not alone[second].spread.sd:
        return f"{said}."
    ratio = sd_ratio(alone[first].values, alone[second].values, level).interval
    if not ratio.known:
        return f"{said}; whether it is really larger cannot be told: {ratio.reason}."
    ends = f"{show_level(level)} CI of the ratio {show_interval(ratio, last_place(ratio.low))}"
    if ratio.low is not None and ratio.low > 1:
        return f"{said}, and the two can be told apart ({ends})."
    return f"{said}; which of the two is larger cannot be told from these runs ({ends})."


def overlap_of_sources(metrics: Mapping[str, MetricReport], whole: str, present: Collection[str], level: float) -> str:
    """Say what the variances of the sources alone add up to, beside that of all of them together.

    Parameters
    ----------
    metrics : mapping from variant to MetricReport
        One metric in every variant that measured it.
    whole : str
        The variant in which every source varied.
    present : collection of str
        Sources that draw in this program; empty text where one of them did not vary alone.
    level : float
        Confidence level in (0, 1).
    """
    alone = {source: metric for name, metric in metrics.items() if (source := source_of(name)) in present}
    if whole not in metrics or set(alone) != set(present) or len(alone) < 2:
        return ""
    found = added_variances([metric.values for metric in alone.values()], metrics[whole].values, level)
    if found.value is None:
        return ""
    ends = f"{show_level(level)} CI, for normal values, {show_interval(found.interval, _RATIO_PLACE)}"
    low, high = found.interval.low, found.interval.high
    said = (
        f"The variances of the sources alone add up to {show(found.value, _RATIO_PLACE)} times that of all of them "
        f"together ({ends}): "
    )
    if low is not None and low > 1:
        return f"{said}they overlap, each bringing spread that another brings too."
    if high is not None and high < 1:
        return f"{said}part of the spread needs several sources at once."
    return f"{said}these runs cannot tell whether the sources overlap."


def source_of(variant: str) -> str:
    """Return the one factor that a variant varies; empty where there is another number of them."""
    known = find_variant(variant)
    if known is None or not known.controlled or known.disturbed or len(known.varying) != 1:
        return ""
    return next(iter(known.varying))


def _sd(metric: MetricReport) -> str:
    return show(metric.spread.sd, last_place(metric.spread.sd))
