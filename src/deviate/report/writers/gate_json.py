"""The outcome of a gate as JSON: the contract of ``deviate check --json``."""

from __future__ import annotations

from typing import Any

import msgspec

from deviate.report.gate_parts import Gate, GateMetric
from deviate.report.writers.json_values import bounds, json_text


def render_gate_json(gate: Gate) -> str:
    """Return one JSON object, indented, with a final newline; what is unknown is null."""
    found = {**msgspec.to_builtins(gate), "metrics": [_metric(metric) for metric in gate.metrics]}
    return json_text(found)


def _metric(metric: GateMetric) -> dict[str, Any]:
    return {**msgspec.to_builtins(metric), "ci_room": bounds(metric.ci_room), "ci_level": metric.ci_room.level}
