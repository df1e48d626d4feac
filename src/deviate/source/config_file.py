"""Write ``deviate.toml``: the metrics of a review, and the file that ``deviate init`` begins with."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import tomlkit

from deviate.core.experiment import Draw, Findings, Metric, ObservedWish
from deviate.core.paths import settings_text
from deviate.source.config import FILE_NAME, read_config

#: What is written of a metric, and of a number in the output.
METRIC_KEYS = ("name", "file", "line", "expression", "aggregate", "direction", "kind")
OBSERVED_KEYS = ("name", "rename", "metric", "aggregate", "direction", "kind")


def write_metrics(project: Path, entry: str, metrics: Sequence[Metric]) -> Path:
    """Put `entry` and the selected `metrics` into ``deviate.toml``, whose path is returned; what else it says stays."""
    tables = tomlkit.aot()
    for metric in metrics:
        if metric.selected:
            tables.append(_table(metric, METRIC_KEYS))
    return _write(project, {"entry": entry, "metric": tables})


def write_observed(project: Path, wishes: Sequence[ObservedWish], *, replaces: bool = False) -> Path:
    """Put what is said of numbers in the output into ``deviate.toml``, whose path is returned; what else it says stays.

    What the file says of other numbers stays, too, and what it says of the same ones unless `wishes` replace it.
    """
    own = read_config(project).observed
    known = {name for wish in own for name in (wish.name, wish.rename)}
    if replaces:
        said = {wish.name: wish for wish in wishes}
        own = [_replaced(wish, said.get(wish.rename or wish.name, wish)) for wish in own]
    tables = tomlkit.aot()
    for wish in [*own, *(wish for wish in wishes if wish.name not in known)]:
        tables.append(_table(wish, OBSERVED_KEYS))
    return _write(project, {"observed": tables})


def _replaced(own: ObservedWish, said: ObservedWish) -> ObservedWish:
    """Return what is said of a number now, under the name that it has where nothing is said of it."""
    return msgspec.structs.replace(said, name=own.name, rename=said.rename or own.rename)


def _write(project: Path, values: Mapping[str, Any]) -> Path:
    path = project / FILE_NAME
    document = tomlkit.parse(settings_text(path)) if os.path.exists(path) else tomlkit.document()
    document.update(values)
    aside = path.with_suffix(".toml.new")
    aside.write_text(tomlkit.dumps(document), encoding="utf-8")
    aside.replace(path)
    return path


def _table(entry: Metric | ObservedWish, keys: Sequence[str]) -> tomlkit.items.Table:
    table = tomlkit.table()
    for key in keys:
        value = getattr(entry, key)
        if value not in (None, ""):
            table[key] = value
    return table


#: What is in effect, and how the rest is.
_HEAD = """\
# Settings of Deviate for this project. Everything here is optional: what is commented out shows what Deviate does by
# itself. Remove the # in front of a line to change it.
"""

_METRICS = """
# The metrics that were found in the source. If you list one, list all that you want: metrics that are not listed
# are not recorded.
# aggregate: last | best | mean | max | min | area | at ITERATION; direction: higher | lower
"""

_DRAWS = """
# Random draws in your own code, each with the factor that it belongs to:
# init | shuffle | augment | layers | other | data
"""

_LOOP = """
# The main loop: its iterations are what records count.
"""

_SNAPSHOT = """
# What the folder of each run holds, as glob patterns.
# [snapshot]
# include = ["pretrained.pt"]   # copy what is left out otherwise
# exclude = ["notes/**"]        # leave out more
# link = ["features/**"]        # link instead of copying
"""

#: Under its own heading: an example that cannot know what the command takes.
_EXPERIMENT = """
# What `deviate run` makes without a command: each {key} of the grid takes each of its values.
# [[experiment]]
# name = "grid"
# command = "python ENTRY --lr {lr} --width {width}"
# n = 8
# [experiment.grid]
# lr = [0.1, 0.01]
# width = [32, 64]
"""


def starter_config(findings: Findings) -> str:
    """Return the text of a ``deviate.toml`` that changes nothing until it is edited, but for the entry that it names.

    With the ``# `` before its tables removed, it sets what `findings` hold.
    """
    metrics = [metric for metric in findings.metrics if metric.selected]
    parts = [_HEAD, f"\nentry = {_value(findings.entry)}\n"]
    if metrics:
        parts += [_METRICS, *_commented("metric", map(_metric_keys, metrics))]
    # A call of a framework counts its own iterations.
    if findings.main_loop is not None and findings.main_loop.kind != "call":
        loop = findings.main_loop
        parts += [_LOOP, _commented_table("[main_loop]", {"file": loop.file, "line": loop.line})]
    if findings.draws:
        parts += [_DRAWS, *_commented("draw", _draw_keys(findings.draws))]
    experiment = _EXPERIMENT.replace('"python ENTRY --lr', _value(f"python {shlex.quote(findings.entry)} --lr")[:-1])
    return "".join([*parts, experiment, _SNAPSHOT])


def _metric_keys(metric: Metric) -> dict[str, str | int]:
    keys: dict[str, str | int | None] = {
        "name": metric.name,
        "file": metric.file,
        "line": metric.line,
        "expression": metric.expression,
        "aggregate": metric.aggregate,
        "direction": metric.direction,
        "kind": metric.kind,
    }
    return {key: value for key, value in keys.items() if value is not None}


def _draw_keys(draws: Sequence[Draw]) -> Iterable[dict[str, str | int]]:
    # Equal calls on one line cannot be told apart, so one table stands for them.
    seen = {(draw.file, draw.line, draw.call): draw for draw in draws}
    return ({"file": d.file, "line": d.line, "call": d.call, "factor": d.factor} for d in seen.values())


def _commented(table: str, entries: Iterable[dict[str, str | int]]) -> list[str]:
    return [_commented_table(f"[[{table}]]", keys) + "\n" for keys in entries]


def _commented_table(head: str, keys: dict[str, str | int]) -> str:
    lines = [head, *(f"{key} = {_value(value)}" for key, value in keys.items())]
    return "".join(f"# {line}\n" for line in lines)


def _value(value: str | int) -> str:
    return tomlkit.item(value).as_string()
