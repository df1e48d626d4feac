"""Which templates are one, and which rows belong to which printed table."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from deviate.observe.output.mining import Lines
from deviate.observe.output.templates import Columns, Template, columns_above, take_apart

#: Words in one place of otherwise equal templates, above which the word is no name: a run has fewer classes, splits
#: and layers to tell apart than this, and more names of files or samples.
MOST_NAMES = 50

#: What stands for a word that varies.
WORD = "⟨word⟩"

#: Templates with more words are left as they are.
MOST_WORDS = 60

_WORD = re.compile(r"[^\s⟨⟩]*[A-Za-z_][^\s⟨⟩]*")


def merged(templates: list[Lines]) -> list[Lines]:
    """Merge the templates that differ in one word, where it takes more than `MOST_NAMES` forms."""
    if len(templates) <= MOST_NAMES:
        return templates
    places: dict[Template, list[Lines]] = {}
    for lines in templates:
        for template in _without_a_word(lines.template):
            places.setdefault(template, []).append(lines)
    gone: set[int] = set()
    result: list[Lines] = []
    for template, alike in sorted(places.items(), key=lambda item: -len(item[1])):
        fresh = [lines for lines in alike if id(lines) not in gone]
        if len(fresh) > MOST_NAMES:
            gone.update(map(id, fresh))
            result.append(_joined(template, fresh))
    result.extend(lines for lines in templates if id(lines) not in gone)
    return sorted(result, key=lambda lines: lines.first[0])


def _without_a_word(template: Template) -> Iterator[Template]:
    """Yield a template with each of its words in turn replaced by `WORD`."""
    words = [(place, word) for place, text in enumerate(template.texts) for word in _WORD.finditer(text)]
    for place, word in words[:MOST_WORDS]:
        text = template.texts[place]
        changed = f"{text[: word.start()]}{WORD}{text[word.end() :]}"
        yield Template((*template.texts[:place], changed, *template.texts[place + 1 :]), template.lists)


def _joined(template: Template, alike: list[Lines]) -> Lines:
    joined = Lines(template, min(lines.first for lines in alike))
    for lines in alike:
        joined.add(lines)
    return joined


# Which rows of a template belong to which printed table.

#: Heads that are looked for among the rows of one template; rows behind that many belong to the last table.
MOST_HEADS = 500


def tables_of(
    data: bytes, offsets: NDArray[np.int64], lines: Lines, label: str
) -> Iterator[tuple[Columns | None, NDArray[np.int64]]]:
    """Yield the heads above the rows of a template, each with the positions of the rows below it.

    `offsets` are those of the rows in the log, in order. Tables with one head are one; rows that follow other lines
    belong to the table before where no head is above them. Rows with a label are not told apart by their head.
    """
    if label:
        yield _head_above(data, int(offsets[0]), label), np.arange(len(offsets))
        return
    heads: dict[Columns | None, list[NDArray[np.int64]]] = {}
    begins = _beginnings(data, offsets)
    current: Columns | None = None
    for begin, end in zip(begins, [*begins[1:], len(offsets)], strict=True):
        current = _head_above(data, int(offsets[begin]), label) or current
        heads.setdefault(current, []).append(np.arange(begin, end))
    for head, rows in heads.items():
        yield head, np.concatenate(rows)


def _beginnings(data: bytes, offsets: NDArray[np.int64]) -> list[int]:
    """Return the positions of the rows that do not follow directly on another one."""
    begins = [0]
    ends = data.find(b"\n", int(offsets[0]))
    for position, offset in enumerate(offsets[1:].tolist(), 1):
        if offset != ends + 1:
            begins.append(position)
            if len(begins) == MOST_HEADS:
                break
        ends = data.find(b"\n", offset)
    return begins


def _head_above(data: bytes, start: int, label: str) -> Columns | None:
    end = data.find(b"\n", start)
    line = data[start : end if end >= 0 else len(data)].rstrip(b"\r")
    parsed = take_apart(line)
    fields = [spans[0] for spans in parsed.fields]
    return columns_above(data, start, line, fields, label) if fields else None
