"""Weak runs of a variant: which they are, and what to say of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from deviate.experiment import Direction
from deviate.measure.weak import WeakRuns, weak_beyond, weak_by_mad
from deviate.report.asked import Bar
from deviate.report.parts import MetricReport, VariantReport, Warned
from deviate.report.shown import Shown
from deviate.report.words import count, listed


def weak_runs(
    bars: Iterable[Bar], samples: Mapping[str, Mapping[int, float]], directions: Mapping[str, Direction | None]
) -> dict[int, str]:
    """Return the indices of weak runs, each with the rule that says so.

    Parameters
    ----------
    bars : iterable of Bar
        Rules by the user.
    samples : mapping of str to mapping of int to float
        By metric the completed runs' values, by index. A run without a value of the metric is not judged by it.
    directions : mapping of str to {'higher', 'lower'} or None
        Which values are better.
    """
    found: dict[int, str] = {}
    for bar in bars:
        values = samples.get(bar.metric, {})
        indices = list(values)
        judged = _judged(bar, [values[index] for index in indices], directions.get(bar.metric))
        for place in judged.places:
            no_number = bar.bar is None and not math.isfinite(values[indices[place]])
            rule = "its value is no number" if no_number else judged.rule
            found.setdefault(indices[place], f"weak by {bar.metric}: {rule}")
    return found


def _judged(bar: Bar, values: list[float], direction: Direction | None) -> WeakRuns:
    if bar.sign is None or bar.bar is None:
        return weak_by_mad(np.array(values), direction)
    return weak_beyond(np.array(values), bar.sign, bar.bar)


def weak_remarks(report: VariantReport) -> Iterable[Warned]:
    """Say once which runs are weak, and that the statistics are without them."""
    weak = {left.run: left.reason for metric in report.metrics for left in metric.excluded if left.weak}
    for reason in dict.fromkeys(weak.values()):
        names = [run.name for run in report.runs if weak.get(run.index) == reason]
        message = f"{count(len(names), 'run')} {reason} ({listed(names)}). Left out of every statistic as was asked"
        message += "; below the table is what it is with them." if list(weak_footnotes(report.metrics)) else "."
        yield Warned(slug="weak-runs", message=message, variant=report.variant)


def weak_footnotes(metrics: Iterable[MetricReport]) -> Iterable[str]:
    """Say of each metric what its statistics are with the weak runs."""
    for metric in metrics:
        whole = metric.including_weak
        if whole is None or metric.kind == "speed":
            continue
        shown, without = Shown(whole), Shown(metric)
        yield (
            f"{metric.name} {metric.aggregate} with the weak runs: n {shown.n}, mean {shown.mean}, SD {shown.sd}, min "
            f"{shown.min}, max {shown.max}; without them: n {without.n}, mean {without.mean}, SD {without.sd}."
        )
