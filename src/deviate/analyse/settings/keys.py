"""How an expression reads a setting: by keys, or by the place of a word in the command."""

from __future__ import annotations

import ast

from deviate.analyse.settings.known import literal
from deviate.analyse.settings.lookup import holds_settings
from deviate.analyse.source.index import Scope, only_binding
from deviate.analyse.source.syntax import called_name, dotted_text


def word_position(node: ast.expr) -> int:
    """Return which word of the command an expression reads by its place: 1 for ``sys.argv[1]``; 0 for none."""
    if not isinstance(node, ast.Subscript) or dotted_text(node.value) not in {"sys.argv", "argv"}:
        return 0
    at = node.slice.value if isinstance(node.slice, ast.Constant) else 0
    return at if isinstance(at, int) else 0


def flag_held(node: ast.expr, scope: Scope) -> str:
    """Return the flag that is read through what declares it, as absl's may be: ``_MODE.value``."""
    if not isinstance(node, ast.Attribute) or node.attr != "value" or not isinstance(node.value, ast.Name):
        return ""
    held = only_binding(node.value.id, scope)
    call = held.value if held is not None else None
    if not isinstance(call, ast.Call) or not called_name(call).startswith("DEFINE_") or not call.args:
        return ""
    name = literal(call.args[0])
    return name.value if name is not None and isinstance(name.value, str) else ""


def setting_keys(node: ast.expr) -> tuple[str, ...]:
    """Return the keys by which an expression reads a setting: ``args.model``, ``config["model"]["name"]``."""
    keys: list[str] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            keys.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            keys.append(str(node.slice.value))
            node = node.value
        elif isinstance(node, ast.Call) and called_name(node) == "vars" and len(node.args) == 1:
            node = node.args[0]
        else:
            return ()
    names = [node.id, *reversed(keys)]
    last = max((at for at, name in enumerate(names[:-1]) if holds_settings(name)), default=-1)
    return tuple(names[last + 1 :]) if last >= 0 else ()
