"""A value that a report gives, and the text it stands in."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import takewhile

from deviate.analyse.source.index import Scope

#: Format specifications of numbers.
NUMERIC_SPEC = re.compile(r"[deEfFgGn%]$|^\.\d+$")


@dataclass(frozen=True, eq=False)
class ReportedValue:
    """A value that a report gives."""

    expr: ast.expr
    scope: Scope
    #: Format specification without its colon or percent sign.
    spec: str = ""
    #: Constant key or tag under which it is reported.
    tag: str = ""
    #: Dynamic part of the tag, where there is exactly one.
    label: ast.expr | None = None
    #: Attributes read by the format text itself: ``{loss.avg}``.
    reads: str = ""
    #: Name the value was given as text before it was reported (``total_time_str = str(total_time)``).
    known_as: str = ""
    #: The whole mapping is reported, each item under its key.
    mapping: bool = False
    #: Constant text just before and after.
    before: str = ""
    after: str = ""
    #: Stands after other values of the same text.
    position: int = 0


Part = str | ReportedValue


def surround(parts: list[Part]) -> list[ReportedValue]:
    """Give each value the constant text around it."""
    values: list[ReportedValue] = []
    before = ""
    for index, part in enumerate(parts):
        if isinstance(part, str):
            before += part
            continue
        after = "".join(takewhile(lambda part: isinstance(part, str), parts[index + 1 :]))  # type: ignore[arg-type]
        values.append(replace(part, before=part.before or before, after=part.after or after, position=len(values)))
        before = ""
    return values


def change_values(parts: list[Part], change: Callable[[ReportedValue], ReportedValue]) -> list[Part]:
    """Change the values among the parts of a text."""
    return [part if isinstance(part, str) else change(part) for part in parts]


def constant_text(node: ast.expr | None) -> str:
    """Join the constant parts of a format specification."""
    if isinstance(node, ast.JoinedStr):
        return "".join(constant_text(value) for value in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else ""


def with_spec(parts: list[Part], spec: str) -> list[Part]:
    """Give values without a format specification this one; what is shown as a number is no mapping."""
    is_number = NUMERIC_SPEC.search(spec) is not None
    return change_values(
        parts, lambda value: replace(value, spec=value.spec or spec, mapping=value.mapping and not is_number)
    )


def as_mapping(parts: list[Part]) -> list[Part]:
    """Mark the values of an argument that is a mapping as mappings, unless they were taken apart."""
    return change_values(parts, lambda value: value if value.tag else replace(value, mapping=True))


def with_label(parts: list[Part], label: ast.expr | None, *, replaces: bool = False) -> list[Part]:
    """Give values the dynamic part of their tag, in place of one they have or where they have none."""
    if label is None:
        return parts
    return change_values(parts, lambda value: replace(value, label=label if replaces else value.label or label))
