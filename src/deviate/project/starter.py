"""The ``deviate.toml`` that ``deviate init`` writes: what was found, as comments to edit."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

import tomlkit

from deviate.analyse.findings import Findings
from deviate.experiment import Draw, Metric

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
