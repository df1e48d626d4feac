"""Dotted names of what configuration files ask to be called."""

from __future__ import annotations

import re
from pathlib import Path

#: Hydra's ``_target_``, and what others call it that make objects of a dotted name.
_TARGET = re.compile(r"""(?:_target_|\btarget|\bclass_path)["']?\s*:\s*["']?([A-Za-z_]\w*(?:\.\w+)+)""")
#: Bounds that keep a huge tree from being searched for configurations or plug-ins.
MAX_CONFIG_FILES = 400
_SKIPPED_FOLDERS = {"node_modules", "__pycache__", "site-packages", "venv", "env", "data", "wandb", "runs"}


def config_targets(root: Path) -> list[str]:
    """Return the dotted names in ``_target_`` fields of the project's YAML files."""
    targets: dict[str, None] = {}
    for path in config_files(root):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        targets.update(dict.fromkeys(_TARGET.findall(text)))
    return list(targets)


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
