"""The interactive review: tick, rename and aggregate metrics in a terminal."""

from __future__ import annotations

import sys

import msgspec
import questionary

from deviate.analyse.findings import Findings
from deviate.errors import BadOption
from deviate.experiment import Metric
from deviate.report.escape import clean

AGGREGATES = ("last", "best", "mean", "max", "min")
DONE = "done"


def review_metrics(findings: Findings) -> Findings:
    """Ask which metrics to keep, under which names and aggregates.

    Raises
    ------
    BadOption
        If there is no terminal to ask in.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadOption(
            "--review asks questions and this is no terminal",
            hint="type --write and edit deviate.toml instead",
        )
    metrics = _tick(findings.metrics)
    while (index := _choose(metrics)) is not None:
        metrics[index] = _edit(metrics[index], {m.name for m in metrics if m.selected} - {metrics[index].name})
    return msgspec.structs.replace(findings, metrics=metrics)


def _tick(metrics: list[Metric]) -> list[Metric]:
    choices = [
        questionary.Choice(
            clean(f"{metric.name:32} {metric.file}:{metric.line}  {metric.expression}"), index, checked=metric.selected
        )
        for index, metric in enumerate(metrics)
    ]
    kept = questionary.checkbox("Keep which metrics? (space ticks, enter continues)", choices=choices).unsafe_ask()
    return [msgspec.structs.replace(metric, selected=index in kept) for index, metric in enumerate(metrics)]


def _choose(metrics: list[Metric]) -> int | None:
    choices = [
        questionary.Choice(clean(f"{metric.name:32} {metric.aggregate}"), index)
        for index, metric in enumerate(metrics)
        if metric.selected
    ]
    answer = questionary.select(
        "Change a name or an aggregate?", choices=[questionary.Choice("no, write deviate.toml", DONE), *choices]
    ).unsafe_ask()
    return None if answer == DONE else answer


def _edit(metric: Metric, taken: set[str]) -> Metric:
    name = questionary.text(
        "Name:",
        default=clean(metric.name),
        validate=lambda text: (bool(text.strip()) and text.strip() not in taken) or "a name of its own is needed",
    ).unsafe_ask()
    # An aggregate with a parameter (at 9) can be kept, not made here: deviate.toml takes it.
    choices = list(dict.fromkeys([*AGGREGATES, metric.aggregate]))
    aggregate = questionary.select("One number per run:", choices=choices, default=metric.aggregate).unsafe_ask()
    return msgspec.structs.replace(metric, name=name.strip(), aggregate=aggregate)
