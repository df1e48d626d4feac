"""Runs that completed although their loss did not stay finite: which they are, and what to say of them."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.report.parts import MetricReport, RunReport
from deviate.report.words import count, listed


def diverged(metrics: Sequence[MetricReport]) -> dict[int, str]:
    """Return the indices of completed runs with a loss that is NaN or infinite, each with the loss's name."""
    found: dict[int, str] = {}
    for metric in metrics:
        for left in metric.excluded if metric.kind == "loss" else ():
            if left.not_finite:
                found.setdefault(left.run, metric.name)
    return found


def diverged_sentence(metrics: Sequence[MetricReport], runs: Sequence[RunReport]) -> list[str]:
    """Say how many runs diverged, and whether their other values are counted; nothing where none did."""
    found = diverged(metrics)
    if not found:
        return []
    completed = sum(run.status == "completed" for run in runs)
    names = listed([run.name for run in runs if run.index in found])
    loss = next(iter(found.values()))
    text = f"{len(found)} of {count(completed, 'completed run')} ended with a {loss} that is no number ({names})"
    counted = [metric.name for metric in metrics if metric.kind != "speed" and not found.keys().isdisjoint(metric.runs)]
    if not counted:
        return [f"{text}."]
    return [f"{text}; their {listed(counted)} still count here, which --weak '{loss}' changes."]
