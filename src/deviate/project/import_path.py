"""Folders beside the project that its imports may lead to: PYTHONPATH, and what is installed to be edited."""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from deviate.analyse.source.programs import PYTHON

#: Where an interpreter keeps libraries, from the folder above its own.
_SITES = ("lib/python3*/site-packages", "lib/python3*/dist-packages", "Lib/site-packages")


def import_folders(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return the folders that a command's imports may come from, other than its own and those of libraries.

    `cwd` is the folder that the command is started in. Without a command, or with one that names no interpreter, the
    ``python`` of the search path counts.
    """
    entries = [Path(cwd, entry) for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    folders = [*entries, *(folder for site in _sites(command, cwd, environment) for folder in _editable(site))]
    return list(dict.fromkeys(Path(os.path.abspath(folder)) for folder in folders if os.path.isdir(folder)))


def file_digests(files: Iterable[str]) -> dict[str, str]:
    """Return the digest of each file that can be read."""
    digests = {}
    for file in files:
        try:
            digests[file] = hashlib.sha256(Path(file).read_bytes()).hexdigest()
        except OSError:
            continue
    return digests


def _sites(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> list[Path]:
    named = next((word for word in command if PYTHON.match(word.rpartition("/")[2])), "python")
    path = str(cwd / named) if "/" in named else named
    program = shutil.which(path, path=environment.get("PATH")) or sys.executable
    # A virtual environment is known by where its interpreter lies, not by what that is a link to.
    prefixes = [Path(program).parent.parent, Path(os.path.realpath(program)).parent.parent]
    return next((sites for prefix in prefixes if (sites := [s for way in _SITES for s in prefix.glob(way)])), [])


def _editable(site: Path) -> Iterator[Path]:
    """Yield the folders that ``.pth`` files add, and those of packages that setuptools' finders map."""
    for file in sorted(site.glob("*.pth")):
        for line in _text(file).splitlines():
            if line.strip() and not line.startswith(("import ", "import\t", "#")):
                yield site / line.strip()
    for file in sorted(site.glob("__editable__*_finder.py")):
        for package, folder in _mapping(_text(file)).items():
            path = Path(folder)
            if path.name in {package.rpartition(".")[2], f"{package}.py"}:
                yield path.parents[package.count(".")]


def _mapping(text: str) -> dict[str, str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    for node in tree.body:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        if any(isinstance(target, ast.Name) and target.id == "MAPPING" for target in targets):
            try:
                return {str(key): str(folder) for key, folder in ast.literal_eval(getattr(node, "value", node)).items()}
            except (ValueError, TypeError, AttributeError):
                return {}
    return {}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
