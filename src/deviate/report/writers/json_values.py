"""What the JSON contracts share: one object as text, and an interval as two numbers."""

from __future__ import annotations

from typing import Any

import msgspec

from deviate.measure.intervals import Interval
from deviate.report.escape import encodable


def json_text(contract: dict[str, Any]) -> str:
    """Return one JSON object, indented, with a final newline; lone surrogates are replaced, since UTF-8 has none."""
    return msgspec.json.format(msgspec.json.encode(_encodable(contract)), indent=2).decode() + "\n"


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(name): _encodable(item) for name, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value


def bounds(interval: Interval) -> list[float | None] | None:
    """Return ``[low, high]``, or None where the interval is not known."""
    return [interval.low, interval.high] if interval.known else None
