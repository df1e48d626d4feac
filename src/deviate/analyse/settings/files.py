"""Settings that stand in configuration files: YAML, JSON, or Python that assigns them."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import yaml

from deviate.analyse.settings.known import Known, literal
from deviate.analyse.source.syntax import dotted_text

#: Larger files hold data.
MAX_BYTES = 1_000_000
SUFFIXES = {".yaml", ".yml", ".json", ".py"}

#: Values by the keys that lead to them.
Listed = dict[tuple[str, ...], Known]


def read_settings(path: Path) -> Listed:
    """Return the settings of a file; none where it cannot be read as one."""
    try:
        if path.stat().st_size > MAX_BYTES:
            return {}
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            return _assigned(ast.parse(text))
        loaded = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (OSError, ValueError, SyntaxError, RecursionError, yaml.YAMLError):
        return {}
    return _flat(loaded, ())


def _flat(value: object, keys: tuple[str, ...]) -> Listed:
    if not isinstance(value, dict):
        return {keys: Known(value)} if keys else {}
    listed: Listed = {}
    for key, item in value.items():
        listed.update(_flat(item, (*keys, str(key))))
    return listed


def _assigned(tree: ast.Module) -> Listed:
    """Read ``config.model.name = "small"`` and ``name = "small"``; what is assigned twice is not known."""
    listed: Listed = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        parts = tuple(dotted_text(node.targets[0]).split("."))
        keys, value = parts[1:] or parts, literal(node.value)
        if value is not None and keys != ("",) and keys not in listed:
            listed[keys] = value
        else:
            listed.pop(keys, None)
    return listed
