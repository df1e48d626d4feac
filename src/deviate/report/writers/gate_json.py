"""The outcome of a gate as JSON: the contract of ``deviate check --json``."""

from __future__ import annotations

from typing import Any

import msgspec

from deviate.report.escape import encodable
from deviate.report.gate_parts import Gate, GateMetric


def render_gate_json(gate: Gate) -> str:
    """Return one JSON object, indented, with a final newline; what is unknown is null."""
    found = {**msgspec.to_builtins(gate), "metrics": [_metric(metric) for metric in gate.metrics]}
    return encodable(msgspec.json.format(msgspec.json.encode(_encodable(found)), indent=2).decode()) + "\n"


def _metric(metric: GateMetric) -> dict[str, Any]:
    known = metric.ci_room
    interval = [known.low, known.high] if known.known else None
    return {**msgspec.to_builtins(metric), "ci_room": interval, "ci_level": known.level}


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(name): _encodable(item) for name, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value
