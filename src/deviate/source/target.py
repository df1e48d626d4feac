"""The target of a command: the project, the working directory, and the entry script."""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from deviate.core.errors import BadOption, EntryNotFound
from deviate.core.paths import real_path
from deviate.source.entry import PYTHON, Start, find_starts

#: A file or folder that marks the root of a repository.
REPOSITORY_MARK = ".git"


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """A script that a command starts."""

    #: Relative to the project, with forward slashes.
    entry: str
    #: Empty where it is started several times.
    command: list[str]


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A command and the project it trains."""

    command: list[str]
    #: Root of the project, absolute.
    project: Path
    #: The folder the user stands in, relative to the project.
    folder: str
    #: The script that trains, relative to the project, with forward slashes; empty where none is known. Of several, the
    #: first one.
    entry: str
    #: The scripts that are started, with the words that start each; none where none is known.
    starts: list[Started] = []


def find_target(command: Sequence[str], cwd: Path, entry: str | None, project: Path | None) -> Target:
    """Find the project and the entry of `command`, typed in the folder `cwd`.

    Without `project`, the project is `cwd`, or the folder of the same repository that also holds the entry and
    what PYTHONPATH brings in: code outside the project is read where imports lead there, and never copied.

    Raises EntryNotFound or EntryNotPython if there is no entry, or it lies outside the project. Raises CommandNotFound
    if the program is not there. Raises BadOption if `cwd` lies outside `project`.
    """
    cwd = cwd.resolve()
    # Not resolve(): an entry that is a link belongs where the link is.
    starts = [Start(Path(os.path.abspath(s)), words) for s, words in find_starts(command, cwd, entry)]
    scripts = [start.script for start in starts]
    root = project.resolve() if project else project_root(cwd, *scripts)
    _require_inside(cwd, root)
    if script := next((script for script in scripts if not script.is_relative_to(root)), None):
        raise EntryNotFound(
            f"the entry {script} lies outside the project {root}",
            hint=f"type: cd {script.parent}, or name a folder that holds both with --project",
        )
    return Target(
        command=list(command),
        project=root,
        folder=cwd.relative_to(root).as_posix(),
        entry=scripts[0].relative_to(root).as_posix(),
        starts=[Started(entry=s.relative_to(root).as_posix(), command=words) for s, words in starts],
    )


def unscripted_target(command: Sequence[str], cwd: Path, project: Path | None) -> Target:
    """Return the target of a command that starts no Python script that is known.

    Raises BadOption if `cwd` lies outside `project`.
    """
    cwd = cwd.resolve()
    root = project.resolve() if project else project_root(cwd, cwd / command[0])
    _require_inside(cwd, root)
    return Target(command=list(command), project=root, folder=cwd.relative_to(root).as_posix(), entry="")


def _require_inside(cwd: Path, root: Path) -> None:
    if not cwd.is_relative_to(root):
        raise BadOption(f"you stand in {cwd}, outside the project {root}", hint=f"type: cd {root}")


def project_root(cwd: Path, *scripts: Path) -> Path:
    """Return the project of scripts started in `cwd`: that folder, or one above it in the same repository."""
    repository = next((folder for folder in (cwd, *cwd.parents) if os.path.exists(folder / REPOSITORY_MARK)), None)
    if repository is None:
        return cwd
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sources = [*(script.parent for script in scripts), *(Path(real_path(cwd / entry)) for entry in entries if entry)]
    inside = [folder for folder in sources if folder.is_relative_to(repository) and os.path.isdir(folder)]
    return Path(os.path.commonpath([cwd, *inside]))


# Folders beside the project that its imports may lead to: PYTHONPATH, and what is installed to be edited.

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
