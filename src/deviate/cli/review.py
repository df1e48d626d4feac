"""The interactive review: tick, rename and aggregate metrics in a terminal, and say which values are better."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import questionary
from msgspec.structs import replace

from deviate.analyse.findings import Findings
from deviate.errors import BadOption
from deviate.experiment import Metric, ObservedWish
from deviate.report.escape import clean

if TYPE_CHECKING:
    from deviate.preflight.printed import PrintedNumber

AGGREGATES = ("last", "best", "mean", "max", "min")
UNKNOWN = "unknown"
DIRECTIONS = ("higher", "lower", UNKNOWN)
DONE = "done"

Kept = TypeVar("Kept", Metric, ObservedWish)


def require_terminal() -> None:
    """Refuse where there is nobody to ask.

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


def review_metrics(findings: Findings) -> Findings:
    """Ask which metrics to keep, under which names, with which aggregates and directions.

    Raises
    ------
    BadOption
        If there is no terminal to ask in.
    """
    require_terminal()
    kept = _tick([f"{m.name:32} {m.file}:{m.line}  {m.expression}" for m in findings.metrics],
                 [m.selected for m in findings.metrics])  # fmt: skip
    metrics = [replace(m, selected=index in kept) for index, m in enumerate(findings.metrics)]
    while (index := _choose({at: m for at, m in enumerate(metrics) if m.selected})) is not None:
        taken = {m.name for m in metrics if m.selected} - {metrics[index].name}
        metrics[index] = _edit(metrics[index], taken)
    return replace(findings, metrics=metrics)


def review_numbers(printed: Sequence[PrintedNumber]) -> list[ObservedWish]:
    """Ask which numbers of the output are metrics, and how they are called and read; return what is to be written.

    A number that was none and stays none has no entry.
    """
    was = [number.kind is not None for number in printed]
    lines = [f"{n.name:32} {n.source}: {n.first:g} ... {n.last:g}  {n.reason or 'a metric'}" for n in printed]
    kept = _tick(lines, was)
    wishes = {
        at: ObservedWish(name=number.name, metric=at in kept, direction=number.direction, kind=number.kind)
        for at, number in enumerate(printed)
        if at in kept or was[at]
    }
    names = {at: number.name for at, number in enumerate(printed) if at in kept}
    while (index := _choose({at: replace(wishes[at], name=name) for at, name in names.items()})) is not None:
        edited = _edit(replace(wishes[index], name=names[index]), {*names.values()} - {names[index]})
        names[index] = edited.name
        rename = edited.name if edited.name != printed[index].name else ""
        wishes[index] = replace(edited, name=printed[index].name, rename=rename)
    return list(wishes.values())


def _tick(lines: Sequence[str], chosen: Sequence[bool]) -> list[int]:
    choices = [
        questionary.Choice(clean(line), index, checked=checked)
        for index, (line, checked) in enumerate(zip(lines, chosen, strict=True))
    ]
    if not choices:
        return []
    kept: list[int] = questionary.checkbox(
        "Keep which metrics? (space ticks, enter continues)", choices=choices
    ).unsafe_ask()
    return kept


def _choose(metrics: Mapping[int, Metric | ObservedWish]) -> int | None:
    choices = [
        questionary.Choice(clean(f"{metric.name:32} {metric.aggregate}"), index) for index, metric in metrics.items()
    ]
    answer = questionary.select(
        "Change a name, an aggregate or a direction?",
        choices=[questionary.Choice("no, write deviate.toml", DONE), *choices],
    ).unsafe_ask()
    return None if answer == DONE else answer


def _edit(metric: Kept, taken: set[str]) -> Kept:
    name = questionary.text(
        "Name:",
        default=clean(metric.name),
        validate=lambda text: (bool(text.strip()) and text.strip() not in taken) or "a name of its own is needed",
    ).unsafe_ask()
    # An aggregate with a parameter (at 9) can be kept, not made here: deviate.toml takes it.
    choices = list(dict.fromkeys([*AGGREGATES, metric.aggregate]))
    aggregate = questionary.select("One number per run:", choices=choices, default=metric.aggregate).unsafe_ask()
    direction = questionary.select(
        "Better values:", choices=DIRECTIONS, default=metric.direction or UNKNOWN
    ).unsafe_ask()
    better = None if direction == UNKNOWN else direction
    return replace(metric, name=name.strip(), aggregate=aggregate, direction=better)
