"""A value that a report shows, and the text it stands in."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from deviate.analyse.index import Scope


@dataclass(frozen=True, eq=False)
class Shown:
    """A value that a report shows."""

    expr: ast.expr
    scope: Scope
    #: Format specification without its colon or percent sign.
    spec: str = ""
    #: Constant key or tag under which it is shown.
    tag: str = ""
    #: Dynamic part of the tag, where there is exactly one.
    label: ast.expr | None = None
    #: Attributes read by the format text itself: ``{loss.avg}``.
    reads: str = ""
    #: Name the value was given as text before it was shown (``total_time_str = str(total_time)``).
    known_as: str = ""
    #: The whole mapping is shown, each item under its key.
    mapping: bool = False
    #: Constant text just before and after.
    before: str = ""
    after: str = ""
    #: Stands after other shown values of the same text.
    position: int = 0


Part = str | Shown


def dotted_text(node: ast.expr) -> str:
    """``a.b.c`` as text; empty for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def surround(parts: list[Part]) -> list[Shown]:
    """Give each shown value the constant text around it."""
    found: list[Shown] = []
    before = ""
    position = 0
    for index, part in enumerate(parts):
        if isinstance(part, str):
            before += part
            continue
        after = "".join(_until_value(parts[index + 1 :]))
        found.append(replace(part, before=part.before or before, after=part.after or after, position=position))
        before = ""
        position += 1
    return found


def _until_value(parts: list[Part]) -> list[str]:
    found = []
    for part in parts:
        if not isinstance(part, str):
            break
        found.append(part)
    return found


def constant_text(node: ast.expr | None) -> str:
    """Join the constant parts of a format specification."""
    if isinstance(node, ast.JoinedStr):
        return "".join(constant_text(one) for one in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else ""


def with_spec(parts: list[Part], spec: str) -> list[Part]:
    """Give values without a format specification this one."""
    return [replace(one, spec=spec) if isinstance(one, Shown) and spec and not one.spec else one for one in parts]
