"""Read source files as Python reads them, and a little more: code of before 3.7, and notebook lines.

What Python 3 refuses but a reader understands is masked before parsing by text of the same length, so that every
position in the tree is a position in the file:

* ``x.cuda(async=True)``, valid until Python 3.6: the keyword ``async`` is read as ``asynx``;
* lines that only IPython knows (``%matplotlib inline``, ``!pip install x``) are read as ``pass``.

`deeply` runs a function with room for deep recursion, whatever the caller's own depth is.
"""

from __future__ import annotations

import ast
import configparser
import functools
import io
import os
import re
import shlex
import subprocess
import sys
import threading
import tokenize
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

from deviate.core.paths import folders_below, settings_text

_ASYNC_ARGUMENT = re.compile(r"(?<=[(,\s])async(?=\s*=[^=])")
_ASYNC_ATTRIBUTE = re.compile(r"(?<=\.)async(?=\s*[(.\[,)=\s])")
_MAGIC = re.compile(r"^([ \t]*)([%!][^\n\r]*)", re.MULTILINE)
_LINE_ENDS = re.compile(r"\r\n|\n|\r")

#: Larger files are data that happens to end in .py.
MAX_BYTES = 30_000_000

#: Nodes within nodes. On a large stack, Python parses what it would compile nowhere.
MAX_NESTING = 3_000


class UnreadableSourceError(Exception):
    """A file that is not Python source: the line where reading stopped, from 1, and what is wrong there."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


@dataclass(frozen=True, eq=False)
class Source:
    """A parsed file."""

    #: Without byte-order mark, line ends as they are.
    text: str
    tree: ast.Module
    #: Lines as `ast` counts them.
    lines: list[str]


def read_source(path: Path) -> Source:
    """Read and parse a file.

    Raises UnreadableSourceError when it is missing, not text, or not Python even after masking.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UnreadableSourceError(1, "larger than 30 MB")
        data = path.read_bytes()
    except OSError as problem:
        raise UnreadableSourceError(1, problem.strerror or "cannot be read") from problem
    return parse_text(decode(data))


def decode(data: bytes) -> str:
    """Decode by byte-order mark or coding cookie, UTF-8 without either; latin-1 when the file lies about it."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        pass  # Python would refuse; code without such literals is still readable
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse_text(text: str) -> Source:
    """Parse, masking what only older Pythons or notebooks accept when the text as it is does not parse."""
    try:
        return Source(text, _parse(text), split_lines(text))
    except UnreadableSourceError as problem:
        masked = mask(text)
        if masked == text:
            raise
        try:
            return Source(text, _parse(masked), split_lines(text))
        except UnreadableSourceError:
            raise problem from None


def mask(text: str) -> str:
    """Replace ``async`` keywords of old calls and notebook lines by text of the same length."""
    text = _ASYNC_ATTRIBUTE.sub("asynx", _ASYNC_ARGUMENT.sub("asynx", text))
    return _MAGIC.sub(lambda line: line[1] + "pass"[: len(line[2])].ljust(len(line[2])), text)


def split_lines(text: str) -> list[str]:
    """Split at the line ends Python knows: not at form feeds or Unicode separators."""
    return _LINE_ENDS.split(text)


def _parse(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        if sys.getrecursionlimit() >= RECURSION_LIMIT and _is_nested_too_deeply(tree):
            raise RecursionError
        return tree
    except SyntaxError as problem:
        raise UnreadableSourceError(problem.lineno or 1, _explain(text, problem)) from problem
    except (ValueError, RecursionError, MemoryError) as problem:
        reason = "nested too deeply" if isinstance(problem, (RecursionError, MemoryError)) else str(problem)
        raise UnreadableSourceError(1, reason) from problem


def _is_nested_too_deeply(tree: ast.Module) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(MAX_NESTING):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def _explain(text: str, problem: SyntaxError) -> str:
    """Say what is wrong, and that it is Python 2 when it looks so."""
    message = problem.msg or "invalid syntax"
    lines = split_lines(text)
    line = lines[problem.lineno - 1] if problem.lineno and problem.lineno <= len(lines) else ""
    python2 = re.search(r"^\s*print\s+[^\s(=]|^\s*exec\s+[\"'\w]|except\s+[\w.]+\s*,\s*\w+\s*:|<>|\bur?[\"'].*`", line)
    return f"{message} (Python 2 code)" if python2 or ("print" in message and "parentheses" in message) else message


# Texts beside the source of a project: its README, requirements and shell scripts.

#: Texts larger than this, and shell scripts beyond so many, are not read.
MAX_DOCUMENT = 500_000
MAX_SCRIPTS = 60

_ASSIGNED = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Z_a-z]\w*)=(\S+)", re.MULTILINE)
_VARIABLE = re.compile(r"\$\{?([A-Z_a-z]\w*)\}?")


def shell_scripts(root: Path) -> list[Path]:
    """Return the shell scripts of a project, up to two folders deep."""
    return sorted(home / name for home, names in folders_below(root, 2) for name in names if name.endswith(".sh"))[
        :MAX_SCRIPTS
    ]


def read_texts(paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Yield files with their text; what is no file, too large or unreadable is left out."""
    for path in paths:
        try:
            if os.path.isfile(path) and path.stat().st_size <= MAX_DOCUMENT:
                yield path, path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue


def exported_folders(root: Path) -> list[Path]:
    """Return what the shell scripts of a project put on the search path: ``export PYTHONPATH=$PWD/tools``."""
    found = [folder for script, text in read_texts(shell_scripts(root)) for folder in _exported(script.parent, text)]
    return list(dict.fromkeys(found))


def _exported(home: Path, text: str) -> Iterator[Path]:
    """Yield the folders of ``PYTHONPATH`` in a script that is started where it stands; unknown variables are empty."""
    known = {"PWD": str(home)}
    for name, value in _ASSIGNED.findall(text) if "PYTHONPATH" in text else ():
        filled = _VARIABLE.sub(lambda part: known.get(part[1], ""), value.strip("\"'"))
        if name == "PYTHONPATH":
            yield from (home / part for part in filled.split(":") if part)
        known[name] = filled


# The simple commands of a shell script or a makefile, as far as they can be read without running it.

#: Words of the shell that a command may follow.
_KEYWORDS = {"if", "then", "elif", "else", "do", "while", "until", "!", "{", "("}

#: Seconds that ``make --just-print`` may take.
_MAKE_SECONDS = 20


def simple_commands(text: str, folder: Path) -> Iterator[tuple[list[str], Path]]:
    """Yield the words of each command, with the folder that the ``cd`` before it leads to."""
    for part in _parts(text):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:
            continue
        while words and words[0] in _KEYWORDS:
            words = words[1:]
        if words[:1] == ["cd"]:
            folder = folder / words[1] if len(words) == 2 and os.path.isdir(folder / words[1]) else folder
        elif words:
            yield words, folder


def _parts(text: str) -> list[str]:
    joined = re.sub(r"\\\r?\n", " ", text)
    return [
        part.strip()
        for line in joined.splitlines()
        for part in re.split(r"&&|\|\||;|\||(?<![>&])&(?!>)", line)
        if part.strip()
    ]


def made_commands(words: list[str], folder: Path) -> str:
    """Return the lines that ``make`` would run, as it prints them itself; empty where it prints none."""
    command = [*words, "--just-print", "--no-print-directory"]
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_MAKE_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


# Programs that a project installs of its functions: ``train = "package.cli:main"`` in ``pyproject.toml``.

#: The project's own files are looked for in so many folders, from the one the user stands in upwards.
MAX_ABOVE = 3
_TARGET = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)")
#: In ``setup.py``: a text that gives a program's name and its function.
_IN_SETUP = re.compile(r"""["']([\w.-]+)\s*=\s*([A-Za-z_][\w.]*:[A-Za-z_]\w*)["']""")


class ConsoleScript(NamedTuple):
    """A program, the file that holds its function, and the function."""

    name: str
    file: Path
    function: str


def console_scripts(folder: Path) -> list[ConsoleScript]:
    """Return the programs that the project around a folder installs of files that it holds."""
    found = []
    for home in [folder, *folder.parents][:MAX_ABOVE]:
        for name, target in _declared(home):
            match = _TARGET.match(target)
            file = _file_of(home, match[1]) if match is not None else None
            if match is not None and file is not None:
                found.append(ConsoleScript(name, file, match[2]))
        if found or os.path.exists(home / ".git"):
            break
    return found


def _declared(home: Path) -> Iterator[tuple[str, str]]:
    """Yield names and targets in the files of a folder that say how it is installed."""
    try:
        loaded = tomllib.loads(settings_text(home / "pyproject.toml"))
    except (OSError, ValueError, RecursionError):
        loaded = {}
    tools = loaded.get("tool", {})
    for table in (loaded.get("project", {}), tools.get("poetry", {}) if isinstance(tools, dict) else {}):
        scripts = table.get("scripts", {}) if isinstance(table, dict) else {}
        for name, target in scripts.items() if isinstance(scripts, dict) else ():
            yield name, str(target)
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(settings_text(home / "setup.cfg"))
    except (OSError, ValueError, configparser.Error):
        parser.clear()
    for line in parser.get("options.entry_points", "console_scripts", fallback="").splitlines():
        name, sign, target = line.partition("=")
        if sign:
            yield name.strip(), target.strip()
    try:
        yield from _IN_SETUP.findall(settings_text(home / "setup.py"))
    except (OSError, ValueError):
        return


def _file_of(home: Path, module: str) -> Path | None:
    parts = module.split(".")
    for base in (home, home / "src"):
        at = base.joinpath(*parts)
        for path in (at.with_name(at.name + ".py"), at / "__init__.py"):
            if os.path.isfile(path):
                return path.resolve()
    return None


Given = ParamSpec("Given")
Result = TypeVar("Result")

#: Data flow through many functions nests deeply; each level takes a handful of Python frames.
STACK_BYTES = 512 * 1024 * 1024
RECURSION_LIMIT = 30_000


def with_deep_stack(function: Callable[[], Result]) -> Result:
    """Call a function in a thread of its own with a large stack; its result or exception is passed on."""
    results: list[Result] = []
    problems: list[BaseException] = []

    def work() -> None:
        try:
            results.append(function())
        except BaseException as problem:  # noqa: BLE001 - raised again in the caller's thread
            problems.append(problem)

    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
    sys.setrecursionlimit(max(limit, RECURSION_LIMIT))
    try:
        thread = threading.Thread(target=work, name="deviate-analyse")
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if problems:
        raise problems[0]
    return results[0]


def deeply(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Make a function of one that changes nothing, which starts anew on a large stack where the usual one is too small.

    Source may nest as deeply as Python parses it: some 3,000 operands of one sum, branches of one ``if``.
    """

    @functools.wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except RecursionError:
            return with_deep_stack(lambda: function(*args, **kwargs))

    return call
