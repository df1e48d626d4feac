"""What texts in JSON and YAML hold."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from deviate.core.errors import NotImportable
from deviate.imports.rows import number
from deviate.source.configurations import compose_yaml

#: Endings of the names of YAML files.
YAML = (".yaml", ".yml")

#: Characters of YAML that are read: a megabyte takes some ten seconds.
MOST_YAML = 2 << 20

_INTEGER, _FLOAT, _NULL = (f"tag:yaml.org,2002:{name}" for name in ("int", "float", "null"))


def parsed(text: str, path: Path) -> Any:
    """Return what a JSON text holds.

    Raises
    ------
    ValueError
        If it is no JSON.
    NotImportable
        If an object has two values under one name: Python would keep the last in silence.
    """
    return json.loads(text, object_pairs_hook=partial(_object, path))


def _object(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    whole = dict(pairs)
    if len(whole) < len(pairs):
        name, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise NotImportable(f"{path}: an object has two values of {name!r}", hint="keep one of them")
    return whole


def yaml_value(text: str, path: Path) -> Any:
    """Return what a YAML text holds; its dates and truths are words.

    Raises
    ------
    NotImportable
        If it is no YAML, is too large, refers to its own parts, or an object has two values under one name.
    """
    if len(text) > MOST_YAML:
        raise NotImportable(
            f"{path} has {len(text) / (1 << 20):,.1f} MiB of YAML; at most {MOST_YAML >> 20} are read",
            hint="write it as JSON",
        )
    try:
        node = compose_yaml(text)
    except yaml.YAMLError as error:
        raise NotImportable(f"{path} is no YAML: {error}", hint="expected metrics, each with its values") from error
    return _of_node(node, path, set())


def _of_node(node: yaml.Node | None, path: Path, seen: set[int]) -> Any:
    if isinstance(node, yaml.MappingNode | yaml.SequenceNode):
        if id(node) in seen:
            raise NotImportable(f"{path} refers to its own parts", hint="write them out, or write it as JSON")
        seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        return _object(path, [(str(key.value), _of_node(value, path, seen)) for key, value in node.value])
    if isinstance(node, yaml.SequenceNode):
        return [_of_node(value, path, seen) for value in node.value]
    if node is None or node.tag == _NULL:
        return None
    value = number(node.value) if node.tag in (_INTEGER, _FLOAT) else None
    if value is None:
        return node.value
    return int(value) if node.tag == _INTEGER else value
