"""The command of one run: its words, environment and folder, as they have to be inside the run's own copy."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from deviate.analyse.source.programs import missing_hint
from deviate.errors import CommandNotFound
from deviate.replicate.workspace.folders import FOLDER

#: The folder that is put on PYTHONPATH: it starts the runtime.
INJECTED = Path(__file__).resolve().parents[2] / "runtime" / "injected"

#: Where the runtime finds what it has to do; it does nothing without.
RUNTIME_VARIABLE = "DEVIATE_RUNTIME"


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """A project and the copy that stands for it."""

    #: Ways to write the project's path: as the user came there, and with symbolic links resolved.
    project: tuple[str, ...]
    copy: str
    #: Folders of the project, relative to it, that stay where they are (virtual environments).
    kept: tuple[str, ...] = ()


def spellings(project: Path, folder: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the ways in which words of the user may write the project's path, longest first.

    Who came to the project through a symbolic link has that way in PWD, and types it.
    """
    ways = {str(project), os.path.realpath(project)}
    logical = Path(environment.get("PWD", ""))
    depth = len(Path(folder).parts)
    if logical.is_absolute() and _is_same(logical, project / folder) and depth < len(logical.parts):
        ways.add(str(logical.parents[depth - 1] if depth else logical))
    return tuple(sorted((way for way in ways if way != "/"), key=lambda way: (-len(way), way)))


def _is_same(first: Path, second: Path) -> bool:
    return os.path.isdir(first) and os.path.isdir(second) and first.samefile(second)


def map_paths(text: str, moved: Moved) -> str:
    """Return `text` with absolute paths into the project turned into paths into its copy.

    A path begins where `text` does or after a character that no path holds unquoted, so that
    ``--data=/home/me/project/data`` is mapped and ``/mnt/home/me/project`` is not.
    """
    # All ways at once: the copy lies below the project, so its path must not be looked through again.
    ways = "|".join(re.escape(way) for way in moved.project)
    pattern = re.compile(rf"(?<![\w./+@-])(?:{ways})(?=$|[/:;,'\"\])}}\s])(?P<rest>[^:;,'\"\])}}\s]*)")
    return pattern.sub(lambda match: match[0] if _stays(match["rest"], moved) else moved.copy + match["rest"], text)


def _stays(rest: str, moved: Moved) -> bool:
    below = Path(os.path.normpath(rest.strip("/")))
    leads_out = below.parts[:1] == (os.pardir,)
    return leads_out or any(below.is_relative_to(kept) for kept in (*moved.kept, FOLDER))


def find_program(word: str, folder: Path, environment: Mapping[str, str]) -> Path:
    """Return the program that the user's shell would start for `word`.

    The user stands in `folder`; the PATH of `environment` is searched.

    Raises
    ------
    CommandNotFound
        If there is none.
    """
    if "/" in word:
        path = Path(os.path.normpath(folder / word))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
        raise CommandNotFound(_missing(word, path), hint=_hint(word, path))
    # Relative entries of PATH mean the folder the user stands in, not the one the run will be started in.
    folders = [str(folder / entry) for entry in environment.get("PATH", os.defpath).split(os.pathsep)]
    searched = os.pathsep.join(folders)
    program = shutil.which(word, path=searched)
    if program is None:
        raise CommandNotFound(f"command not found: {word}", hint=_hint(word, folder / word, searched))
    return Path(os.path.normpath(program))


def named_program(word: str, folder: Path) -> Path:
    """Return the program that `word` stands for on another machine: a path from `folder` on, or a name of its PATH."""
    return Path(os.path.normpath(folder / word)) if "/" in word else Path(word)


def _missing(word: str, path: Path) -> str:
    return f"{word} is not executable" if os.path.isfile(path) else f"command not found: {word}"


def _hint(word: str, path: Path, searched: str | None = None) -> str:
    if os.path.isfile(path) and path.suffix == ".py":
        return f"start it with python: python {word}"
    if os.path.isfile(path):
        return f"make it executable (chmod +x {word}), or start it with its interpreter: bash {word}"
    if re.fullmatch(r"python[\d.]*", word):
        return f"activate your environment, or name the interpreter: {sys.executable}"
    return missing_hint(word, searched)


def run_words(command: Sequence[str], program: Path, moved: Moved) -> list[str]:
    """Return the words a run is started with.

    `program` is what the first word of `command` stands for; one inside the project is taken from the copy, unless it
    stays where it is.
    """
    return [map_paths(str(program), moved), *(map_paths(word, moved) for word in command[1:])]


def python_path(value: str | None, folder: Path, moved: Moved) -> str:
    """Return PYTHONPATH for a run: the runtime first, then the user's with the project's folders in the copy.

    `value` is the user's. Relative entries that lead out of the project still mean the same place: `folder` is where
    the user stands.
    """
    entries = value.split(os.pathsep) if value else []
    return os.pathsep.join([str(INJECTED), *(_python_entry(entry, folder, moved) for entry in entries)])


def _python_entry(entry: str, folder: Path, moved: Moved) -> str:
    if not entry or os.path.isabs(entry):
        return map_paths(entry, moved)
    absolute = os.path.normpath(folder / entry)
    inside = any(Path(absolute).is_relative_to(way) for way in moved.project)
    return entry if inside else absolute


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str | None]:
    """Return the variables in which two environments differ, None for those that were taken away."""
    return {name: after.get(name) for name in sorted({*before, *after}) if before.get(name) != after.get(name)}


def looks_isolated(words: Iterable[str]) -> bool:
    """Tell whether the command starts Python so that it heeds neither PYTHONPATH nor sitecustomize."""
    listed = list(words)
    if not listed or not Path(listed[0]).name.startswith(("python", "pypy")):
        return False
    options = []
    for word in listed[1:]:
        if not word.startswith("-") or word in ("-", "-c", "-m"):
            break
        options.append(word)
    return any(not word.startswith("--") and set(word[1:]) & set("IES") for word in options)
