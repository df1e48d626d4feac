"""A source text, and offsets into it from the lines and columns of `ast`."""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass

from deviate.experiment import Span

#: What the tokenizer takes for the end of a line; a form feed is none.
NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Source:
    """Decoded text with its newlines as they are, and the offsets at which its lines start."""

    text: str
    encoding: str
    line_starts: tuple[int, ...]

    def offset(self, line: int, column: int) -> int:
        """Return the offset into `text` of a line (from 1) and a column in UTF-8 bytes."""
        start = self.line_starts[line - 1]
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        content = self.text[start:end]
        if content.isascii():
            return start + column
        return start + len(content.encode()[:column].decode())

    def range(self, span: Span) -> tuple[int, int]:
        """Return the offsets into `text` of the start and the end of `span`."""
        return self.offset(span.line, span.column), self.offset(span.end_line, span.end_column)

    def line(self, number: int) -> str:
        """Return line `number` (from 1) without its newline."""
        end = self.line_starts[number] if number < len(self.line_starts) else len(self.text)
        return self.text[self.line_starts[number - 1] : end].rstrip("\r\n")


def read_source(source: bytes | str) -> Source:
    """Decode `source` as the interpreter does; newlines stay as they are.

    Raises
    ------
    SyntaxError, UnicodeDecodeError
        If the bytes are not in the encoding that they declare.
    """
    encoding = "utf-8"
    if isinstance(source, bytes):
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        source = source.decode(encoding)
    starts = (0, *(match.end() for match in NEWLINE.finditer(source)))
    return Source(text=source, encoding=encoding, line_starts=starts)
