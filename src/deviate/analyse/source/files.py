"""Read source files as Python reads them, and a little more: code of before 3.7, and notebook lines.

What Python 3 refuses but a reader understands is masked before parsing by text of the same length, so that every
position in the tree is a position in the file:

* ``x.cuda(async=True)``, valid until Python 3.6: the keyword ``async`` is read as ``asynx``;
* lines that only IPython knows (``%matplotlib inline``, ``!pip install x``) are read as ``pass``.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from dataclasses import dataclass
from pathlib import Path

from deviate.analyse.source.stack import has_deep_stack

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

    Raises
    ------
    UnreadableSourceError
        When it is missing, not text, or not Python even after masking.
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
        if has_deep_stack() and _is_nested_too_deeply(tree):
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
