"""What the JSON contracts share: facts and objects as text, fields by name, and an interval as two numbers."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from deviate.measure.intervals import Interval
from deviate.report.escape import encodable, json_shown


def facts_json(facts: msgspec.Struct) -> str:
    """Return facts whose fields are the contract as they are."""
    return json_text(msgspec.to_builtins(facts))


def json_text(contract: dict[str, Any]) -> str:
    """Return one JSON object, indented, with a final newline; lone surrogates are replaced, since UTF-8 has none."""
    return json_shown(msgspec.json.format(msgspec.json.encode(_encodable(contract)), indent=2).decode()) + "\n"


def fields(facts: object, *names: str) -> dict[str, Any]:
    """Return the values of fields and properties as JSON has them, in the order of `names`; intervals as `bounds`."""
    values = {name: getattr(facts, name) for name in names}
    return {
        name: bounds(value)
        if isinstance(value, Interval)
        else msgspec.to_builtins(value, str_keys=True, enc_hook=_listed)
        for name, value in values.items()
    }


def _listed(value: object) -> list[Any]:
    """Return an array, which facts may hold, as lists; what is neither is refused, as without this."""
    if isinstance(value, np.ndarray):
        return list(value.tolist())
    raise NotImplementedError(f"{type(value).__name__} has no form in JSON")


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(name): _encodable(item) for name, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value


def bounds(interval: Interval) -> list[float | None] | None:
    """Return ``[low, high]``, or None where the interval is not known."""
    return [interval.low, interval.high] if interval.known else None
