"""Edits of a source as data: edits, skipped edits and the instrumented source."""

from __future__ import annotations

import msgspec

from deviate.experiment import Span


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """A call around the expression at `span`: the text `before` and the text `after` it."""

    span: Span
    #: ``__dv__(3, ``
    before: str
    #: ``)``
    after: str = ")"

    @property
    def function(self) -> str:
        """Name of the function that receives the expression."""
        return self.before.partition("(")[0]


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """An edit that was not made, and why."""

    edit: Edit
    #: One of the slugs of `SKIP_REASONS`.
    reason: str
    message: str


#: Why an edit was not made.
SKIP_REASONS = {
    "unreadable": "the file cannot be read",
    "unparsable": "the file does not parse",
    "no-expression": "no expression stands at the span",
    "not-a-value": "the expression at the span is assigned to, or is no value of its own",
    "position-inexact": "the text at the span is not the expression that the parser places there",
    "not-a-loop-header": "the span is not the iterable of a for loop or the condition of a while loop",
    "not-a-callee": "the span is not what a call calls",
    "compiled": "the code around it is compiled by a decorator, which would meet the wrap",
    "debug-field": "the f-string field shows its own text and cannot be rewritten on its line",
    "changes-meaning": "the file would not mean the same with the wrap in it",
}


#: For each line that was edited, its changes from left to right: the column in the author's line, and how many columns
#: came and how many went there, in bytes of UTF-8.
Columns = dict[int, list[tuple[int, int, int]]]


class FileCode(msgspec.Struct, frozen=True, kw_only=True):
    """A file as its author wrote it, and the text that Python is given where it runs the file."""

    source: bytes
    #: None: the file runs as it is.
    given: bytes | None = None
    columns: Columns = {}
    #: Modules that it imports before it does anything else.
    imports: list[str] = []


class Instrumented(msgspec.Struct, frozen=True, kw_only=True):
    """An instrumented source."""

    text: str
    #: How the file's bytes spell `text`.
    encoding: str
    done: list[Edit]
    skipped: list[Skipped]
    #: The file as it was.
    source: bytes = b""
    columns: Columns = {}
    #: Modules that it imports before it does anything else.
    imports: list[str] = []

    @property
    def data(self) -> bytes:
        """The bytes of the text."""
        return self.text.encode(self.encoding)

    @property
    def code(self) -> FileCode:
        """The file, and what Python is given in its place."""
        given = self.data if self.done else None
        return FileCode(source=self.source, given=given, columns=self.columns, imports=self.imports)


def skip(edit: Edit, reason: str, detail: str = "") -> Skipped:
    """Return `edit` as skipped for `reason`."""
    message = SKIP_REASONS[reason] + (f" ({detail})" if detail else "")
    return Skipped(edit=edit, reason=reason, message=message)
