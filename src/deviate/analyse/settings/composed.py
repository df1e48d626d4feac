"""Settings that Hydra composes of several files, by the list of ``defaults`` in each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from deviate.analyse.settings.files import Listed, read_settings
from deviate.analyse.settings.known import Known

#: Files that compose files that compose files are followed this far.
MAX_DEPTH = 4
#: A value that is another setting's.
_REFERENCE = re.compile(r"\$\{([\w.]+)\}")
#: What a file that is chosen of a group is merged into the whole for, and not below the group's name.
_GLOBAL = re.compile(r"^#\s*@package\s+_global_", re.MULTILINE)


def composed_settings(root: Path, assigned: Mapping[str, str]) -> Listed:
    """Return the settings that Hydra composes, starting from the file `root`.

    `assigned` is what a command assigns: of a group of files, the choice. A setting that two of the files give
    different values is left out: which of them wins differs from version to version.
    """
    own = {keys: value.value for keys, value in read_settings(root).items() if isinstance(value.value, str)}
    words = {**{".".join(keys): str(value) for keys, value in own.items()}, **assigned}
    listed: Listed = {}
    differing: set[tuple[str, ...]] = set()
    for group, path in _composing(root, words, 0):
        for keys, value in read_settings(path).items():
            if keys[0] != "defaults" and value.value != "???" and listed.setdefault((*group, *keys), value) != value:
                differing.add((*group, *keys))
    return {keys: _resolved(value, listed) for keys, value in listed.items() if keys not in differing}


def _composing(path: Path, words: Mapping[str, str], depth: int) -> Iterator[tuple[tuple[str, ...], Path]]:
    """Yield the files that a file composes, itself first, each with the keys below which its settings are merged."""
    yield (), path
    defaults = read_settings(path).get(("defaults",), Known(None)).value
    for item in defaults if isinstance(defaults, list) and depth < MAX_DEPTH else ():
        for group, name, package in _chosen(item, words):
            found = path.parent / group / f"{name.removesuffix(path.suffix)}{path.suffix}"
            if not os.path.isfile(found):
                continue
            above = (
                () if _is_global(found) or package == "_global_" else tuple((package or group.strip("/")).split("/"))
            )
            for below, each in _composing(found, words, depth + 1):
                yield tuple(key for key in (*above, *below) if key), each


def _chosen(item: object, words: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield group, name and package of the files that an item of a list of defaults asks for."""
    if isinstance(item, str) and item != "_self_":
        yield "", _filled(item, words), ""
    for key, choice in item.items() if isinstance(item, dict) else ():
        group, _, package = str(key).removeprefix("optional ").partition("@")
        if not group.startswith("override ") and isinstance(choice, str):
            yield group, words.get(group, _filled(choice, words)), package


def _filled(text: str, words: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda found: words.get(found[1], found[0]), text)


def _is_global(path: Path) -> bool:
    return os.path.isfile(path) and _GLOBAL.search(path.read_text(encoding="utf-8", errors="replace")) is not None


def _resolved(value: Known, listed: Listed) -> Known:
    """Return the setting that a value refers to as a whole (``${model.name}``), any other value as it is."""
    found = _REFERENCE.fullmatch(value.value) if isinstance(value.value, str) else None
    return listed.get(tuple(found[1].split(".")), value) if found is not None else value
