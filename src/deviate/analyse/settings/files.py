"""Settings that stand in configuration files: YAML, JSON, or Python that assigns them."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import yaml

from deviate.analyse.settings.known import Known, literal
from deviate.analyse.source.syntax import dotted_text
from deviate.analyse.source.yaml_text import load_yaml

#: Larger files hold data.
MAX_BYTES = 1_000_000
#: As many settings are read: mappings of YAML that hold one another by aliases have any number, in few bytes.
MAX_ENTRIES = 100_000
SUFFIXES = {".yaml", ".yml", ".json", ".py"}

#: Values by the keys that lead to them.
Listed = dict[tuple[str, ...], Known]


def read_settings(path: Path) -> Listed:
    """Return the settings of a file; none where it cannot be read as one."""
    try:
        # A pipe would be waited for, and a device has no end.
        if not os.path.isfile(path) or path.stat().st_size > MAX_BYTES:
            return {}
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            return _assigned(ast.parse(text))
        loaded = json.loads(text) if path.suffix == ".json" else load_yaml(text)
        return dict(_flat(loaded, (), count()))
    except (OSError, ValueError, SyntaxError, RecursionError, yaml.YAMLError):
        return {}


def _flat(value: object, keys: tuple[str, ...], entries: Iterator[int]) -> Iterator[tuple[tuple[str, ...], Known]]:
    if next(entries) > MAX_ENTRIES:
        raise ValueError(f"more than {MAX_ENTRIES:,} settings")
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, (*keys, str(key)), entries)
    elif keys:
        yield keys, Known(value)


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
