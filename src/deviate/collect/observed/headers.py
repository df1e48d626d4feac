"""The heads of printed tables, and what they call the columns of a row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from deviate.analyse.naming.words import is_metric_word
from deviate.collect.observed.groups import in_groups
from deviate.collect.observed.lines import displayed_lines
from deviate.collect.observed.printed import UNITS, read_number
from deviate.collect.observed.templates import Span, Template, take_apart

#: A head is looked for this far above the first row of a table.
MOST_BYTES, MOST_LINES = 8_000, 40
#: Columns of a table that are named.
MOST_COLUMNS = 200

_LETTERS = re.compile(r"[^\W\d_]")
_FRAME = str.maketrans(dict.fromkeys("│┃║", "|"))
_CELL = re.compile(r"\S+(?: \S+)*")
_WORD = re.compile(r"\S+")


class Columns(NamedTuple):
    """What the columns of a table are called; empty for one without a head."""

    names: tuple[str, ...]

    @property
    def by_class(self) -> bool:
        """Whether the first column is a label, as in scikit-learn's report on classes, also where it is a number."""
        return self.names[0] == "" and {"precision", "recall", "support"} <= set(self.names)


def has_label(template: Template) -> bool:
    """Whether a row begins with words."""
    return _LETTERS.search(template.texts[0]) is not None


def is_row(template: Template) -> bool:
    """Whether a line may be the row of a table: numbers without words between them, behind a label or none."""
    fields = len(template.lists)
    if any(_LETTERS.search(text) and text.strip(" |,;") not in UNITS for text in template.texts[1:]) or any(
        template.lists
    ):
        return False
    return fields >= 2 or (fields == 1 and names_its_row(template))


def names_its_row(template: Template) -> bool:
    """Whether a row is a name and its one value, in a frame: ``| test_acc | 0.95 |``."""
    return len(template.lists) == 1 and has_label(template) and "|" in template.texts[0].translate(_FRAME)[1:]


def columns_above(data: bytes, start: int, line: bytes, fields: Sequence[Span], label: str) -> Columns | None:
    """Return the names of the columns of a row, from the head of its table; None where there is no head.

    `start` is the offset of the row in the log, `line` its text, `fields` the positions of its numbers, and `label` the
    words at its beginning.
    """
    above = [text for _, text in displayed_lines(data[max(0, start - MOST_BYTES) : start])]
    if len(fields) > MOST_COLUMNS:
        return None
    near = above[-MOST_LINES:]
    for position in reversed(range(len(near))):
        text = near[position]
        if not re.search(rb"[A-Za-z0-9]", text):
            continue
        parsed = take_apart(text)
        if parsed.template.lists and is_row(parsed.template):
            continue
        head = text.decode("utf-8", "replace")
        grouped = in_groups([each.decode("utf-8", "replace") for each in near[:position]], head)
        names = _matched(head, line, fields, label, grouped)
        return Columns(tuple(names)) if names else None
    return None


def _matched(head: str, line: bytes, fields: Sequence[Span], label: str, grouped: Sequence[str]) -> list[str]:
    """Give each number the cell of the head that it stands under; empty where head and row do not go together.

    `grouped` are the names of all columns where the head has groups above it, and empty where it has none.
    """
    row = line.decode("utf-8", "replace")
    if len(row) != len(line):
        # Positions in bytes and in characters differ.
        fields = [
            (len(line[:a].decode("utf-8", "replace")), len(line[:b].decode("utf-8", "replace"))) for a, b in fields
        ]
    head, row = head.translate(_FRAME), row.translate(_FRAME)
    if grouped:
        return _checked(list(grouped)) if len(grouped) == len(fields) and not label else []
    for divider in "|,;\t":
        if divider in row and head.count(divider) == row.count(divider):
            cells = [cell.strip(" '\"") for cell in head.split(divider)]
            return _checked([cells[row[:start].count(divider)] for start, _ in fields])
    if ":" in head or "=" in head:
        return []
    found = list(_CELL.finditer(head))
    if len(found) == 1 and not any(found[0].end() == end for _, end in fields):
        return []
    aligned = [_cell_of(span, found) for span in fields]
    if len(set(filter(None, aligned))) == len(fields) - aligned.count("") and aligned.count("") <= 1:
        return _checked(aligned)
    words = _WORD.findall(head)
    missing = len(fields) - len(words)
    if missing in {0, 1} and not label:
        return _checked([*[""] * missing, *words])
    return []


def _cell_of(span: Span, cells: Sequence[re.Match[str]]) -> str:
    """Return the cell of a head with the same edge as a number, or above it; empty where there is none."""
    for position in (1, 0):
        same = [cell[0] for cell in cells if cell.span()[position] == span[position]]
        if same:
            return same[0]
    above = [cell[0] for cell in cells if cell.start() < span[1] and span[0] < cell.end()]
    return above[0] if len(above) == 1 else ""


def _checked(names: list[str]) -> list[str]:
    """Return the names if they are those of columns: words, and no two alike."""
    words = [name for name in names if name]
    is_head = bool(words) and len(set(words)) == len(words) and names.count("") <= 1
    return names if is_head and all(_LETTERS.search(name) and read_number(name) is None for name in words) else []


def cell_name(label: str, column: str) -> str:
    """Name a cell by its row and column; the row alone where it is a metric under the head of another.

    Examples
    --------
    >>> cell_name("macro avg", "recall"), cell_name("accuracy", "f1-score"), cell_name("", "loss")
    ('macro avg recall', 'accuracy', 'loss')
    """
    if label and is_metric_word(label) and is_metric_word(column):
        return label
    return f"{label} {column}".strip()
