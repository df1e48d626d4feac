"""Is the question of a gate in the unit of the metric? Percent against fractions, and limits that let anything pass."""

from __future__ import annotations

from collections.abc import Iterable

from deviate.errors import BadOption
from deviate.report.comparison.inputs import Side, SideMetric
from deviate.report.comparison.match import Matched
from deviate.report.comparison.scale import in_other_units
from deviate.report.gate_parts import Drop, GateMetric
from deviate.report.gate_sentences import last_digit
from deviate.report.parts import Warned
from deviate.report.shown import last_place, show, show_percent

#: A limit beyond either of these lets through what nobody would: it is pointed out, whatever the outcome.
WIDEST_SHARE, WIDEST_SDS = 0.2, 10


def check_units(a: Side, b: Side, metrics: Matched) -> None:
    """Refuse fractions against percent.

    Raises
    ------
    BadOption
        With which side gives which.
    """
    found = in_other_units(metrics)
    if found is None:
        return
    (fraction, percent), means = ((a, b)[place] for place in found), [metrics[place].values[0] for place in found]
    raise BadOption(
        f"{metrics[0].name!r} looks like a fraction in {fraction.label} ({show(means[0])}) and like percent in "
        f"{percent.label} ({show(means[1])})",
        hint="bring one side into the unit of the other (report the metric so in the training, or multiply the column "
        "of the table and import it again); if both are in one unit already, no test is needed to see the difference",
    )


def limit_remarks(metric: GateMetric, other: SideMetric, label: str, drop: Drop) -> Iterable[Warned]:
    """Warn where the limit is far beyond what the other side's mean and SD make plausible.

    Parameters
    ----------
    metric : GateMetric
        Numbers of the gate.
    other : SideMetric
        The metric on the side that is checked against.
    label : str
        Name of that side.
    drop : Drop
        What is allowed.
    """
    if not drop.value or metric.mean_b is None or metric.limit is None:
        return
    wide = _wide(metric, label, drop)
    if not wide:
        return
    moves = "drop" if metric.direction == "higher" else "rise"
    limit = show(metric.limit, last_digit(metric))
    message = f"{metric.name}: the limit {drop.text} is {wide}: a {moves} to {limit} would pass"
    yield Warned(slug="limit-wide", message=f"{message}{_in_fractions(metric, other, drop)}.")


def _wide(metric: GateMetric, label: str, drop: Drop) -> str:
    """Say of what the limit is too large a part; empty where it is not."""
    mean, sd = abs(metric.mean_b or 0), metric.sd_b
    allowed = drop.value * mean if drop.relative else drop.value
    if drop.relative and drop.value > WIDEST_SHARE:
        return f"more than a fifth of the mean of {label}"
    if not drop.relative and mean and allowed > WIDEST_SHARE * mean:
        share = f"{allowed / mean:.3g} times" if allowed >= 10 * mean else f"{show_percent(allowed / mean)} of"
        return f"{share} the mean of {label} ({show(metric.mean_b, last_digit(metric))})"
    if sd and allowed > WIDEST_SDS * sd:
        return f"{allowed / sd:.0f} SDs of {label} ({show(sd, last_place(sd))})"
    return ""


def _in_fractions(metric: GateMetric, other: SideMetric, drop: Drop) -> str:
    """Say how to type percent points of a metric that is a fraction."""
    fractions = other.kind == "quality" and min(other.values) >= 0 and max(other.values) <= 1
    if drop.relative or not fractions or drop.value <= WIDEST_SHARE * abs(metric.mean_b or 0):
        return ""
    return f"; if points of a percentage are meant, type --max-drop {drop.value / 100:.10g}"
