"""Which files of a project a training can be about: those that git tracks, and those that its source leads to.

Beginning with the files that the entry imports and the words of the command, each name in a file's text leads on: to a
file of that name, to a folder with all that is in it, to what a pattern (``"fold_{k}.csv"``) stands for. What nothing
leads to (notes, logs, a plot) may come, change and go without making another experiment.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import translate
from pathlib import Path, PurePosixPath

from deviate.core.paths import TEXT_SUFFIXES
from deviate.store.snapshot_rules import OUTPUTS

#: Files that programs load by their name without the suffix: modules, and the settings of Hydra and its like.
_STEM_SUFFIXES = frozenset({".py", ".pyx", ".so", ".yaml", ".yml", ".toml", ".gin", ".ini", ".cfg", ".conf"})

#: Files that Python, pip or python-dotenv read although no source names them.
_READ_UNNAMED = frozenset({".env", "sitecustomize.py", "usercustomize.py", "pyproject.toml", "setup.cfg", "setup.py"})

#: Logs of shells, of schedulers (``slurm-12.out``, ``train.o4711``) and of trainings: written, not read.
_LOG = re.compile(r".*\.(log|out|err)|nohup\.out|.+\.[oe]\d+", re.IGNORECASE)

#: Larger texts are data, not source or settings.
TEXT_LIMIT = 1 << 20

#: What separates names in a settings file, a script or a command.
_BETWEEN = re.compile(r"""[\s"'`=:,;()\[\]{}<>|&#$!]+""")

#: What a value is put in place of at run time: ``{}``, ``{name}``, ``%d``, ``%(name)s``.
_FILLED = re.compile(r"\{[^{}]*\}|%(?:\(\w+\))?[-+ #0]*\d*(?:\.\d+)?[sdifgrx]")

#: A pattern needs more than wildcards and signs to name anything.
_TELLING = re.compile(r"[^\W_]")


def unnamed_files(project: Path, files: Iterable[str], tracked: frozenset[str], roots: Iterable[str]) -> list[str]:
    """Return those of `files` that git does not track and nothing leads to from the `roots`.

    `files` are relative to the project. `roots` are words: paths of files, and the words of the command.
    """
    names = _Names()
    for root in roots:
        if not os.path.isabs(root):
            names.add_tokens(root)
        elif Path(root).is_relative_to(project):
            names.add_tokens(os.path.relpath(root, project))
    # Of a folder that is linked whole the files below are not listed.
    folders = {str(folder) for path in tracked for folder in PurePosixPath(path).parents}
    left = set(files)
    leading = {path for path in left if path in tracked or path in folders or names.lead_to(path)}
    while leading:
        for path in leading:
            names.read(project / path)
        left -= leading
        leading = {path for path in left if names.lead_to(path)}
    return sorted(left)


def is_log(path: str) -> bool:
    """Tell whether a file's name is one of logs."""
    return _LOG.fullmatch(PurePosixPath(path).name) is not None


@dataclass
class _Names:
    """The names in the texts that were read so far."""

    literal: set[str] = field(default_factory=set)
    patterns: set[str] = field(default_factory=set)
    compiled: tuple[int, re.Pattern[str] | None] = (0, None)

    def read(self, path: Path) -> None:
        """Take in the names in a file's text."""
        if path.suffix not in TEXT_SUFFIXES:
            return
        try:
            if not os.path.isfile(path) or path.stat().st_size > TEXT_LIMIT:
                return
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        for string in _strings(text) if path.suffix == ".py" else ():
            self.add_string(string)
        if path.suffix != ".py":
            self.add_tokens(text)

    def add_string(self, text: str) -> None:
        """Take in a string of a Python file: each part of it as a path is a name."""
        # What begins with a dot is added to a name: `stem + ".csv"`.
        joined = f"*{text}" if re.match(r"\.\w", text) else text
        for part in re.split(r"[/\\]", _FILLED.sub("*", joined)):
            wild = set(part) & set("*?[")
            if wild and _TELLING.search(part):
                self.patterns.add(part)
            elif part and not wild:
                self.literal.add(part)
        if "." in text and re.fullmatch(r"[\w.]+", text):
            self.literal.update(text.split("."))
        if text.startswith("."):
            self.literal.add(text)

    def add_tokens(self, text: str) -> None:
        """Take in a text whose words may be paths."""
        for word in _BETWEEN.split(text):
            self.add_string(word)

    def lead_to(self, path: str) -> bool:
        """Tell whether a name leads to the file at `path`, or to a folder that it lies in."""
        pure = PurePosixPath(path)
        if pure.name in _READ_UNNAMED:
            return True
        folders = [part for part in pure.parts[:-1] if not OUTPUTS.fullmatch(part.lower())]
        if any(self._has(folder) for folder in folders):
            return not is_log(path)
        if is_log(path):
            return False
        return self._has(pure.name) or (pure.suffix in _STEM_SUFFIXES and pure.stem.partition(".")[0] in self.literal)

    def _has(self, name: str) -> bool:
        if name in self.literal:
            return True
        if self.compiled[0] != len(self.patterns):
            joined = "|".join(translate(pattern) for pattern in sorted(self.patterns))
            self.compiled = (len(self.patterns), re.compile(joined))
        pattern = self.compiled[1]
        return pattern is not None and pattern.match(name) is not None


def _strings(text: str) -> Iterator[str]:
    """Yield the strings of a Python file without its docstrings; those of an f-string joined by ``*``."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # A file of another Python: every quoted text counts.
        yield from (match[2] for match in re.finditer(r"""(["'])(.*?)\1""", text))
        return
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield getattr(node, "module", None) or ""
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(each.value) if isinstance(each, ast.Constant) else "*" for each in node.values)
            todo += [each for each in node.values if not isinstance(each, ast.Constant)]
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            todo += ast.iter_child_nodes(node)
