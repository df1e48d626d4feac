"""Options of the form ``NAME=VALUE``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from deviate.errors import BadOption

Value = TypeVar("Value")


def named_values(option: str, texts: tuple[str, ...], read: Callable[[str], Value], example: str) -> dict[str, Value]:
    """Read what was given for a repeatable option, by name; names may hold ``=``.

    Raises
    ------
    BadOption
        If a text has no name or no value.
    """
    values: dict[str, Value] = {}
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not sign or not name.strip() or not value.strip():
            raise BadOption(f"{option} {text!r} is not NAME=VALUE", hint=f"type for example {option} {example}")
        values[name.strip()] = read(value.strip())
    return values
