"""The numbers of one compared metric as text, for all writers."""

from __future__ import annotations

from deviate.collect.measured import TIME_PER_RUN
from deviate.contrast.labels import EFFECT_NAMES
from deviate.measure.spread import Spread
from deviate.report.comparison.numbers import (
    show_difference,
    show_effect,
    show_factor,
    show_p,
    show_ratio,
    show_signed,
)
from deviate.report.comparison.overview import shown_verdict
from deviate.report.comparison.parts import MetricComparison, PairComparison
from deviate.report.shown import last_place


class Cells:
    """What a row of a table says about one metric.

    Parameters
    ----------
    metric : MetricComparison
        What was found.
    pair : PairComparison
        The sides.
    """

    def __init__(self, metric: MetricComparison, pair: PairComparison) -> None:
        found = metric.contrast
        known = [spread.sd for spread in (metric.spread_a, metric.spread_b) if spread.sd]
        place = last_place(min(known)) if known else None
        self.name = metric.name_a if metric.name_a == metric.name_b else f"{metric.name_a} / {metric.name_b}"
        self.unit = f" ({metric.unit})" if metric.unit else ""
        # The time of a run is one number already.
        self.aggregate = "" if metric.name_a == TIME_PER_RUN else metric.aggregate
        self.runs = f"{found.n_a}, {found.n_b}"
        self.a, self.b = _mean(metric.spread_a, place), _mean(metric.spread_b, place)
        self.mean_a, self.mean_b = show_signed(metric.spread_a.mean, place), show_signed(metric.spread_b.mean, place)
        self.difference = show_signed(found.difference.value, place)
        self.ci = show_difference(found.difference.interval, place)
        self.p = show_p(metric.p_adjusted)
        self.verdict = shown_verdict(metric, pair)
        ratio = found.sd_ratio
        self.ratio = show_factor(ratio.value)
        self.ratio_ci = show_ratio(ratio.interval)
        self.noisier = metric.noisier.replace("a noisier", f"{pair.a} noisier").replace(
            "b noisier", f"{pair.b} noisier"
        )
        self.effects = {EFFECT_NAMES[name]: show_effect(effect) for name, effect in found.effects.items()}


def _mean(spread: Spread, place: int | None) -> str:
    if spread.sd is None:
        return show_signed(spread.mean)
    return f"{show_signed(spread.mean, place)} ± {show_signed(spread.sd, place)}"
