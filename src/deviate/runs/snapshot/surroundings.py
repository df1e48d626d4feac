"""What a project reaches beyond itself: relative paths like ``../data`` in its source, its settings and its command.

Paths that its source computes from where it lies or is started (``Path(__file__).parents[2]``) are such paths, too.

Each run's copy of the project gets the same surroundings, by links, so that such paths mean there what they mean in the
project. Whatever else a program builds its paths from cannot be seen here; a run that then fails names the path.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from deviate.core.paths import TEXT_SUFFIXES
from deviate.source.files import UnreadableSourceError, deeply, parse_text
from deviate.source.index import Scope
from deviate.source.indexer import index_module
from deviate.source.syntax import named_path
from deviate.store.snapshot_rules import SnapshotRules, is_checkpoint_like, is_output_name, matches

# Paths that source computes from where it lies or is started: ``join(pardir, "data")``, ``Path.cwd().parent``.

#: Text without any of these computes no such path.
_MARKS = ("__file__", "cwd(", "pardir", '".."', "'..'", ".parent", "dirname(")

#: Another place of a file: what follows from where it lies or is started is another path there.
_ELSEWHERE = Path("/elsewhere") / "/".join("abcdefgh") / "file.py"


@deeply
def computed_paths(text: str, file: Path, start: Path) -> list[Path]:
    """Return the paths, absolute and relative, that expressions of a Python file evaluate to, where that is known.

    `start` is the folder in which the program is started. An absolute path that is written out is none of them: it
    means the same in every copy.
    """
    if not any(mark in text for mark in _MARKS):
        return []
    try:
        source = parse_text(text)
    except UnreadableSourceError:
        return []
    module = index_module(file.name, "", source.tree, source.lines)
    return [path for unit in module.units for path in _of(unit.node, unit, file, start)]


def _of(node: ast.AST, scope: Scope, file: Path, start: Path) -> Iterator[Path]:
    """Yield the paths of the outermost expressions in a part of a file that give one."""
    if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
        path = named_path(node, scope, file, start)
        if path is not None:
            elsewhere = named_path(node, scope, _ELSEWHERE, _ELSEWHERE.parent)
            if path != elsewhere if os.path.isabs(path) else os.pardir in Path(path).parts:
                yield Path(path)
            return
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _of(child, scope, file, start)


#: Where ``..`` alone is named, everything beside the project is linked, unless there is more.
SIBLINGS_LIMIT = 1000

#: ``../a/b``; also without what follows, if it is quoted (``sys.path.append("..")``).
_RELATIVE = re.compile(r"(?<![\w./\\-])((?:\.\./)+(?:[\w.+@-]+(?:/[\w.+@-]+)*)?)")
_QUOTED = re.compile(r"""["']((?:\.\./)*\.\.)/?["']""")

#: A step from a path to the folder that it lies in.
_PARENT = re.compile(r"\.parents\[(\d)\]|\.parent\b|\bdirname\(")


class Outside(msgspec.Struct, frozen=True, kw_only=True):
    """A file or folder beside the project that its runs get, too."""

    #: Relative to the project: ``../data``.
    path: str
    target: str
    #: False: an empty folder stands for it, because runs would meet each other's results there.
    linked: bool = True
    #: False for what merely lies beside the project and may be anybody's.
    named: bool = True
    reason: str = ""


def named_outside(
    project: Path,
    files: Iterable[str],
    *,
    folder: str,
    words: Iterable[str],
    rules: SnapshotRules,
    imported: Collection[str] | None = None,
) -> set[Path]:
    """Return the paths that are named relative to `project`, wherever they lie.

    `files` are the project's, relative to it, and so is `folder`, in which the command `words` is started. A pattern of
    ``include`` in the rules that begins with ``../`` adds what it names. A folder above the project, which brings all
    that lies beside it, is not taken from Python files that are not `imported`; None: it is not known which ones are.
    """
    start = project / folder
    named = {path for word in words for path in _paths(word, (start,))}
    named |= {Path(os.path.normpath(project / pattern)) for pattern in rules.include if pattern.startswith("../")}
    for name, text in _texts(project, files):
        found = set(_named_in(project, name, text, start))
        if name.endswith(".py") and imported is not None and name not in imported:
            found = {path for path in found if not project.is_relative_to(path)}
        named |= found
    return named


def _named_in(project: Path, name: str, text: str, start: Path) -> Iterator[Path]:
    """Yield the paths that the text of one file names."""
    bases = (start, project, (project / name).parent)
    yield from _paths(text, bases)
    yield from _above_file(text, project / name)
    if name.endswith(".py"):
        computed = computed_paths(text, project / name, start)
        yield from (Path(os.path.normpath(base / path)) for path in computed for base in bases)


def outside_reach(project: Path, named: Iterable[Path], rules: SnapshotRules) -> list[Outside]:
    """Return what has to exist beside a copy of `project` so that the `named` paths do."""
    direct = {link for path in named for link in _links(project, path)}
    beside = {link for path in named for link in _siblings(project, path)} - direct
    return [
        *(_outside(project, path, rules) for path in sorted(direct)),
        *(msgspec.structs.replace(_outside(project, path, rules), named=False) for path in sorted(beside)),
    ]


def levels_above(project: Path, named: Iterable[Path], outside: Iterable[Outside]) -> int:
    """Return how many folders above itself a copy of `project` has as the project has them; at least one.

    A program that puts a folder above the project on its search path imports the project by the names of the folders
    in between, whether anything else lies in them or not.
    """
    above = [len(project.relative_to(path).parts) for path in named if project.is_relative_to(path)]
    return max([1, *above, *(Path(one.path).parts.count("..") for one in outside)])


def pinned_files(project: Path, files: Iterable[str]) -> list[str]:
    """Return the files in which the absolute path of `project` stands."""
    pattern = re.compile(rf"(?<![\w./-]){re.escape(str(project))}(?![\w.-])")
    return [name for name, text in _texts(project, files) if str(project) in text and pattern.search(text)]


def _texts(project: Path, files: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in files:
        # A file that is gone since it was listed names nothing.
        with suppress(OSError):
            if Path(name).suffix in TEXT_SUFFIXES and os.path.isfile(project / name):
                yield name, (project / name).read_text(encoding="utf-8", errors="replace")


def _paths(text: str, bases: Iterable[Path]) -> Iterator[Path]:
    """Yield the absolute paths that relative ones in `text` would mean from each of `bases`."""
    # Looking for the plain text first is a hundred times faster, and most files name no such path.
    named = {match[1] for match in _RELATIVE.finditer(text)} if "../" in text else set()
    named |= {match[1] for match in _QUOTED.finditer(text)} if "'.." in text or '"..' in text else set()
    if re.fullmatch(r"(?:\.\./)*\.\./?", text):
        named.add(text)
    for base in bases:
        yield from (Path(os.path.normpath(base / name)) for name in named)


def _above_file(text: str, file: Path) -> Iterator[Path]:
    """Yield the folders above a source file that it reaches from its own path, a line at a time.

    `computed_paths` follows whole expressions, in files that parse; a folder that another file imports counts, too.
    """
    for line in text.splitlines() if "__file__" in text else ():
        if "__file__" in line:
            levels = [int(match[1]) + 1 if match[1] else 1 for match in _PARENT.finditer(line)]
            if 0 < sum(levels) <= len(file.parents):
                yield file.parents[sum(levels) - 1]


def _links(project: Path, path: Path) -> Iterator[Path]:
    """Yield what has to be linked so that `path` exists beside a copy of the project."""
    if path.is_relative_to(project) or project.is_relative_to(path):
        return
    # Link the highest folder that is not above the project: what lies beside the path is often wanted, too, and the
    # path itself may not be there yet (`../data/cache.npz`).
    common = Path(os.path.commonpath([project, path]))
    highest = common / path.relative_to(common).parts[0]
    if os.path.exists(highest):
        yield highest


def _siblings(project: Path, above: Path) -> list[Path]:
    """Return what lies beside the project, up to a folder `above` it that is named (``sys.path.append("../..")``).

    Each folder in between is made anew for a run, so it gets its other members, too.
    """
    if project == above or not project.is_relative_to(above):
        return []
    between = [folder for folder in project.parents if folder.is_relative_to(above)]
    beside = [path for folder in between for path in _members(folder) if not project.is_relative_to(path)]
    return beside if len(beside) <= SIBLINGS_LIMIT else []


def _members(folder: Path) -> list[Path]:
    try:
        return [folder / name for name in os.listdir(folder) if not name.startswith(".")]
    except OSError:
        return []


def _outside(project: Path, path: Path, rules: SnapshotRules) -> Outside:
    relative = os.path.relpath(path, project)
    if matches(relative, rules.include) or any(pattern.startswith(f"{relative}/") for pattern in rules.include):
        return Outside(path=relative, target=str(path), reason="included by you")
    if os.path.isdir(path) and is_output_name(path.name):
        reason = "its name says results: each run gets an empty folder of its own"
        return Outside(path=relative, target=str(path), linked=False, reason=reason)
    if os.path.isfile(path) and is_checkpoint_like(path.name):
        reason = "looks like a checkpoint of a former training"
        return Outside(path=relative, target=str(path), linked=False, reason=reason)
    return Outside(path=relative, target=str(path))
