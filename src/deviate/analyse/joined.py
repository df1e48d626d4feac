"""The findings of several scripts that one command starts, as those of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath
from typing import TypeVar

import msgspec

from deviate.analyse.findings import Findings
from deviate.experiment import MainLoop, Metric, Script

Found = TypeVar("Found")


def join_findings(each: Sequence[Findings]) -> Findings:
    """Return what several scripts report and draw, each thing once.

    The script that trains comes first: its main loop is that of the whole. A metric that two scripts report at
    different places under one name gets the script before its name.
    """
    if len(each) == 1:
        return each[0]
    ranked = sorted(each, key=lambda found: (not found.trains, found.main_loop is None))
    first = ranked[0]
    return Findings(
        entry=first.entry,
        main_loop=first.main_loop,
        trains=first.trains,
        metrics=_metrics(ranked),
        rejected=_once((one for found in ranked for one in found.rejected), lambda one: one),
        draws=_once((draw for found in ranked for draw in found.draws), lambda draw: (draw.file, draw.span, draw.line)),
        unreadable=_once((one for found in ranked for one in found.unreadable), lambda one: one),
        files=_once((file for found in ranked for file in found.files), lambda file: file),
        outside=_once((file for found in ranked for file in found.outside), lambda file: file),
        comparisons=_once(
            (one for found in ranked for one in found.comparisons), lambda one: (one.file, one.left, one.right)
        ),
        scripts=[Script(entry=found.entry, main_loop=_own_loop(found, each)) for found in each],
    )


def _own_loop(found: Findings, each: Sequence[Findings]) -> MainLoop | None:
    """Return the main loop of a script, unless another reads its file: there, it may be any loop."""
    loop = found.main_loop
    others = [other for other in each if other is not found and loop is not None and loop.file in other.files]
    return loop if all(other.main_loop == loop for other in others) else None


def _metrics(ranked: Sequence[Findings]) -> list[Metric]:
    owners: dict[tuple[object, ...], str] = {}
    metrics: dict[tuple[object, ...], Metric] = {}
    for found in ranked:
        for metric in found.metrics:
            key: tuple[object, ...] = metric.file, metric.line, metric.expression, metric.capture
            if key not in metrics or (metric.selected and not metrics[key].selected):
                owners[key], metrics[key] = found.entry, metric
    owners_of: dict[str, set[str]] = {}
    for key, metric in metrics.items():
        owners_of.setdefault(metric.name, set()).add(owners[key])
    stems = _stems({found.entry for found in ranked})
    return [
        msgspec.structs.replace(metric, name=f"{stems[owners[key]]}: {metric.name}")
        if len(owners_of[metric.name]) > 1
        else metric
        for key, metric in metrics.items()
    ]


def _stems(entries: set[str]) -> dict[str, str]:
    """Return what tells scripts apart: the name of the file, or the path where two files have one name."""
    paths = {entry: PurePosixPath(entry).with_suffix("") for entry in entries}
    names = [path.name for path in paths.values()]
    return {entry: path.name if names.count(path.name) == 1 else path.as_posix() for entry, path in paths.items()}


def _once(things: Iterable[Found], key: Callable[[Found], object]) -> list[Found]:
    """Return the first of each that are equal by `key`."""
    known: dict[object, Found] = {}
    for thing in things:
        known.setdefault(key(thing), thing)
    return list(known.values())
