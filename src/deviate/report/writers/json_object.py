"""Facts as one JSON object."""

from __future__ import annotations

from typing import Any

import msgspec

from deviate.report.escape import encodable, json_shown


def facts_json(facts: msgspec.Struct) -> str:
    """Return facts whose fields are the contract as they are."""
    return json_text(msgspec.to_builtins(facts))


def json_text(contract: dict[str, Any]) -> str:
    """Return one JSON object, indented, with a final newline; lone surrogates are replaced, since UTF-8 has none."""
    return json_shown(msgspec.json.format(msgspec.json.encode(_encodable(contract)), indent=2).decode()) + "\n"


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(name): _encodable(item) for name, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value
