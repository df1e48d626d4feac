"""Dotted names of what configuration files ask to be called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import yaml

#: Hydra's ``_target_``, and what others call it that make objects of a dotted name.
_TARGET = re.compile(r"""(?:_target_|\btarget|\bclass_path)["']?\s*:\s*["']?([A-Za-z_]\w*(?:\.\w+)+)""")
#: Bounds that keep a huge tree from being searched for configurations or plug-ins.
MAX_CONFIG_FILES = 400
_SKIPPED_FOLDERS = {"node_modules", "__pycache__", "site-packages", "venv", "env", "data", "wandb", "runs"}


def config_texts(root: Path) -> dict[Path, str]:
    """Read the YAML files of a project."""
    return {path: _text(path) for path in config_files(root)}


def config_targets(texts: Iterable[str]) -> list[str]:
    """Return the dotted names in ``_target_`` fields of YAML files."""
    return list(dict.fromkeys(name for text in texts for name in _TARGET.findall(text)))


def unchosen_targets(texts: Mapping[Path, str], assigned: Mapping[str, str]) -> set[str]:
    """Return the dotted names that only such files ask for as a group of Hydra has beside the chosen one.

    A group's choice is what the command assigns to it, else what the ``defaults`` of the configuration above it list.
    """
    chosen, offered = set[Path](), set[Path]()
    for path, text in texts.items():
        for group, choice in _defaults(text):
            folder = path.parent / group
            named = folder / f"{assigned.get(group, choice)}{path.suffix}"
            if named in texts:
                chosen.add(named)
                offered.update(each for each in texts if each.parent == folder)
    unchosen = offered - chosen
    asked = config_targets(text for path, text in texts.items() if path not in unchosen) if unchosen else []
    return set(config_targets(texts[path] for path in unchosen)).difference(asked)


def _defaults(text: str) -> Iterator[tuple[str, str]]:
    """Yield the groups that a configuration of Hydra composes, and what it chooses of each."""
    if "defaults:" not in text:
        return
    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError:
        return
    listed = loaded.get("defaults") if isinstance(loaded, dict) else None
    for item in listed if isinstance(listed, list) else ():
        for group, choice in item.items() if isinstance(item, dict) else ():
            if isinstance(choice, str) and not str(group).startswith("override"):
                yield str(group).partition("@")[0], choice.removesuffix(".yaml")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def config_files(root: Path) -> list[Path]:
    """List the YAML files of a project."""
    files: list[Path] = []
    waiting = [root]
    while waiting and len(files) < MAX_CONFIG_FILES:
        folder = waiting.pop(0)
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue
        for path in entries:
            if path.is_dir() and path.name not in _SKIPPED_FOLDERS and not path.name.startswith("."):
                if len(path.relative_to(root).parts) <= 4:
                    waiting.append(path)
            elif path.suffix in {".yaml", ".yml"}:
                files.append(path)
    return files[:MAX_CONFIG_FILES]
