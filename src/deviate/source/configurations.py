"""Configuration files of a project, whose YAML may be hostile, and the dotted names of what they call."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from deviate.core.paths import folders_below
from deviate.source.index import ModuleIndex
from deviate.source.syntax import called_name

#: Brackets within brackets: PyYAML looks at all that are open at each word, so that thousands take minutes.
MAX_BRACKETS = 100


class _Loader(yaml.SafeLoader):
    """Refuses what nests too deeply."""

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: N803 - as it is called
        if self.flow_level >= MAX_BRACKETS:
            raise yaml.YAMLError(f"more than {MAX_BRACKETS} brackets within one another")
        super().fetch_flow_collection_start(TokenClass)


def load_yaml(text: str) -> object:
    """Return what a text holds.

    Raises yaml.YAMLError if it is no YAML, or nests too deeply.
    """
    loaded: object = yaml.load(text, _Loader)
    return loaded


def compose_yaml(text: str) -> yaml.Node | None:
    """Return the nodes of a text, in which names that stand twice and references can be seen; None where it is empty.

    Raises yaml.YAMLError if it is no YAML, or nests too deeply.
    """
    return yaml.compose(text, _Loader)


#: Hydra's ``_target_``, and what others call it that make objects of a dotted name.
_TARGET = re.compile(r"""(?:_target_|\btarget|\bclass_path|\bclass|\btype)["']?\s*:\s*["']?([A-Za-z_]\w*(?:\.\w+)+)""")
_DOTTED = re.compile(r"(?<![\w./])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?![\w./(])")
#: A choice that another one is made of.
_REFERENCE = re.compile(r"\$\{defaults\.(\d+)\.(\w+)\}")
#: Bounds that keep a huge tree from being searched for configurations or plug-ins.
MAX_CONFIG_FILES = 400
_SKIPPED_FOLDERS = {"node_modules", "__pycache__", "site-packages", "venv", "env", "data", "wandb", "runs"}


def config_texts(root: Path) -> dict[Path, str]:
    """Read the YAML files of a project."""
    return {path: _text(path) for path in config_files(root)}


def config_targets(texts: Iterable[str]) -> list[str]:
    """Return the dotted names in ``_target_`` fields of YAML files."""
    return list(dict.fromkeys(name for text in texts for name in _TARGET.findall(text)))


def config_names(texts: Iterable[str]) -> list[str]:
    """Return all dotted names in YAML files, whatever they are given for: ``run: solve work.train.main``."""
    return list(dict.fromkeys(name for text in texts for name in _DOTTED.findall(text)))


def root_configuration(entry: ModuleIndex | None, options: Mapping[str, Sequence[str]]) -> str:
    """Return the name of the configuration that Hydra composes: the command's, else that of ``@hydra.main``."""
    for flag in ("--config-name", "-cn"):
        if flag in options:
            return next(iter(options[flag]), "")
    decorators = [each for unit in (entry.units if entry is not None else ()) for each in unit.decorators]
    started = [each for each in decorators if isinstance(each, ast.Call) and called_name(each) == "main"]
    given = [key.value for call in started for key in call.keywords if key.arg == "config_name"]
    given += [call.args[1] for call in started if len(call.args) > 1]
    names = [value.value for value in given if isinstance(value, ast.Constant) and isinstance(value.value, str)]
    return names[0] if len(names) == 1 else ""


def unchosen_targets(texts: Mapping[Path, str], assigned: Mapping[str, str], root: str = "") -> set[str]:
    """Return the dotted names that only such files ask for as Hydra leaves out.

    Of a group, the choice is what the command assigns to it, else what the ``defaults`` of the configuration above it
    list. Of the configurations that compose others, and that none composes, it is the one called `root`.
    """
    lists = {path: _defaults(text) for path, text in texts.items()}
    groups = [(path, *choice) for path, listed in lists.items() for choice in _groups(listed or [])]
    folders = {path.parent / group for path, group, _ in groups}
    below = {found for path, listed in lists.items() for item in listed or [] for found in _composed(path, item, texts)}
    offered = {path for path in texts if path.parent in folders}
    roots = {path for path, listed in lists.items() if listed is not None} - offered - below
    named = {path for path in texts if _is_called(path, root)} - offered
    left = roots - named if named else set[Path]()
    chosen = {
        path.parent / group / f"{assigned.get(group, choice)}{path.suffix}"
        for path, group, choice in groups
        if path not in left or group in assigned
    }
    kept = {path.parent / group for path, group, _ in groups if path not in left}
    settled = {path.parent for path in chosen if path in texts} | (folders - kept)
    unchosen = left | {path for path in offered - chosen if path.parent in settled}
    asked = config_targets(text for path, text in texts.items() if path not in unchosen) if unchosen else []
    return set(config_targets(texts[path] for path in unchosen)).difference(asked)


def root_file(root: Path, name: str) -> Path | None:
    """Return the file of a project that a configuration's name fits: of several, the one that lies above all others."""
    files = sorted((path for path in config_files(root) if _is_called(path, name)), key=lambda path: len(path.parts))
    is_alone = len(files) == 1 or (len(files) > 1 and len(files[0].parts) < len(files[1].parts))
    return files[0] if is_alone else None


def _composed(path: Path, item: object, texts: Mapping[Path, str]) -> list[Path]:
    """Return the file that an item of a list of defaults composes; without one beside, those on a search path."""
    beside = path.parent / f"{item}{path.suffix}"
    return [beside] if beside in texts else [each for each in texts if _is_called(each, str(item)) and each != path]


def _is_called(path: Path, name: str) -> bool:
    stem = name.removesuffix(path.suffix)
    return bool(stem) and path.as_posix().endswith(f"/{stem}{path.suffix}")


def _defaults(text: str) -> list[object] | None:
    """Return the list of what a configuration of Hydra composes; None of one that composes nothing."""
    if "defaults:" not in text:
        return None
    try:
        loaded = load_yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    listed = loaded.get("defaults") if isinstance(loaded, dict) else None
    return listed if isinstance(listed, list) else None


def _groups(listed: list[object]) -> Iterator[tuple[str, str]]:
    """Yield the groups in a list of defaults, and what it chooses of each."""
    for item in listed:
        for group, choice in item.items() if isinstance(item, dict) else ():
            if isinstance(choice, str) and not str(group).startswith("override"):
                chosen = _REFERENCE.sub(lambda found: _listed_at(listed, int(found[1]), found[2]), choice)
                yield str(group).partition("@")[0], chosen.removesuffix(".yaml")


def _listed_at(listed: list[object], place: int, group: str) -> str:
    """Return what a list of defaults chooses of a group at a place: ``${defaults.0.task}``."""
    item = listed[place] if place < len(listed) else None
    return str(item.get(group, "")) if isinstance(item, dict) else ""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace") if os.path.isfile(path) else ""
    except OSError:
        return ""


def config_files(root: Path) -> list[Path]:
    """List the YAML files of a project."""
    files: list[Path] = []
    for folder, names in folders_below(root, 4, lambda name: name not in _SKIPPED_FOLDERS and name[:1] != "."):
        named = (folder / name for name in names if name.endswith((".yaml", ".yml")))
        files.extend(path for path in named if not os.path.isdir(path))
        if len(files) >= MAX_CONFIG_FILES:
            break
    return files[:MAX_CONFIG_FILES]
