"""Dotted names of what configuration files ask to be called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

#: Hydra's ``_target_``, and what others call it that make objects of a dotted name.
_TARGET = re.compile(r"""(?:_target_|\btarget|\bclass_path)["']?\s*:\s*["']?([A-Za-z_]\w*(?:\.\w+)+)""")
#: Bounds that keep a huge tree from being searched for configurations or plug-ins.
MAX_CONFIG_FILES = 400
_SKIPPED_FOLDERS = {"node_modules", "__pycache__", "site-packages", "venv", "env", "data", "wandb", "runs"}


def config_targets(root: Path) -> list[str]:
    """Return the dotted names in ``_target_`` fields of the project's YAML files."""
    targets: dict[str, None] = {}
    for path in config_files(root):
        targets.update(dict.fromkeys(_TARGET.findall(_text(path))))
    return list(targets)


def unchosen_targets(root: Path, assigned: Mapping[str, str]) -> set[str]:
    """Return the dotted names that only such files ask for as a group of Hydra has beside the chosen one.

    A group's choice is what the command assigns to it, else what the ``defaults`` of the configuration above it list.
    """
    files = config_files(root)
    chosen, offered = set[Path](), set[Path]()
    for path in files:
        for group, choice in _defaults(path):
            folder = path.parent / group
            named = folder / f"{assigned.get(group, choice)}{path.suffix}"
            if named.is_file():
                chosen.add(named)
                offered.update(each for each in files if each.parent == folder)
    unchosen = offered - chosen
    asked = {name for path in files if path not in unchosen for name in _TARGET.findall(_text(path))}
    return {name for path in unchosen for name in _TARGET.findall(_text(path))} - asked


def _defaults(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the groups that a configuration of Hydra composes, and what it chooses of each."""
    text = _text(path)
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
