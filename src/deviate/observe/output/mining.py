"""All numbers of a log, as columns: one for each place in a template."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from deviate.observe.output.templates import MOST_CHARACTERS, Parsed, Scale, Span, Template, take_apart, without_varying
from deviate.observe.output.text import read_column, reported_lines, scaled, seconds_of

#: Lines that wait to be read as columns: about their number times their length is held.
WAITING = 50_000
#: Ways to write a template (widths of numbers, identifiers) that are remembered at once.
MOST_FORMS = 50_000
#: Templates of one log, and numbers in all of them. What lines of further ones report is not mined, and counted.
MOST_TEMPLATES = 20_000
MOST_PLACES = 100_000

_DIGITS = bytes(ord("0") if character in b"0123456789" else character for character in range(256))
_WORDED_NUMBER = re.compile(rb"nan|inf", re.IGNORECASE)
_NO_THOUSANDS = rb",(?:\d{1,2}(?!\d)|\d{4})"
#: Digits around a comma that part no thousands: then commas part values in this log.
_LISTED = re.compile(rb"(?<![\d.,])\d+(?:,\d+)*" + _NO_THOUSANDS)
#: What each of them ends in. It begins with a character, and is therefore searched for much faster.
_END_OF_LISTED = re.compile(_NO_THOUSANDS)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Decimals = NDArray[np.int16]


class Field:
    """The numbers of one place in a template: parts of columns, in the order they were read."""

    def __init__(self) -> None:
        self.values: list[Floats] = []
        self.decimals: list[Decimals] = []


class Lines:
    """All lines of one template.

    `parts` are arrays of the offsets of lines; each field has as many, of shape (lines,), or (lines, items) for a list.
    """

    def __init__(self, template: Template, first: tuple[int, bytes, Parsed]) -> None:
        self.template = template
        #: Offset, text and parts of the line that was read first.
        self.first = first
        self.parts: list[Integers] = []
        self.fields = [Field() for _ in template.lists]

    @property
    def count(self) -> int:
        """How many lines there are."""
        return sum(len(part) for part in self.parts)

    def read(self, starts: Sequence[int], texts: Sequence[bytes], parsed: Parsed) -> None:
        """Add lines that differ in digits alone; `parsed` is one of them, taken apart."""
        self.parts.append(np.array(starts, dtype=np.int64))
        for field, spans, scale in zip(self.fields, parsed.fields, parsed.scales, strict=True):
            columns = [_column(texts, start, end, scale) for start, end in spans]
            field.values.append(np.stack([values for values, _ in columns], axis=1))
            field.decimals.append(np.stack([decimals for _, decimals in columns], axis=1))

    def add(self, other: Lines) -> None:
        """Add the lines of another template with as many fields."""
        self.parts.extend(other.parts)
        for field, added in zip(self.fields, other.fields, strict=True):
            field.values.extend(added.values)
            field.decimals.extend(added.decimals)
        self.first = min(self.first, other.first)


def _column(texts: Sequence[bytes], start: int, end: int, scale: Scale) -> tuple[Floats, Decimals]:
    """Read what stands between two positions of lines that differ in digits alone."""
    if scale == "seconds":
        read = [seconds_of(text[start:end].decode("latin-1")) for text in texts]
        return np.array([value for value, _ in read]), np.array([decimals for _, decimals in read], dtype=np.int16)
    return scaled(*read_column(texts, start, end), scale)


class _Form:
    """Lines that differ in digits alone, as far as they were not read yet."""

    def __init__(self, kept: tuple[Span, ...]) -> None:
        self.kept = kept
        #: By the digits that belong to words: offsets and texts that wait, and where they go.
        self.groups: dict[bytes, _Group] = {}


class _Group:
    def __init__(self, lines: Lines | None, parsed: Parsed) -> None:
        self.lines = lines
        self.parsed = parsed
        self.starts: list[int] = []
        self.texts: list[bytes] = []


class Miner:
    """Reads displayed lines into templates and columns."""

    def __init__(self, thousands: bool) -> None:
        self._thousands = thousands
        self._forms: dict[bytes, _Form] = {}
        self._templates: dict[Template, Lines] = {}
        self._places = 0
        self._waiting = 0
        #: Lines with numbers whose template came after `MOST_TEMPLATES` others, or `MOST_PLACES` numbers.
        self.left_out = 0

    def read(self, lines: Iterator[tuple[int, bytes]]) -> list[Lines]:
        """Return the templates of all lines, in the order in which they first appear."""
        forms = self._forms
        for start, text in lines:
            skeleton = text.translate(_DIGITS)
            if b"0" not in skeleton and not _WORDED_NUMBER.search(skeleton):
                continue
            form = forms.get(skeleton)
            if form is None:
                text = without_varying(text)
                skeleton = text.translate(_DIGITS)
                form = forms.get(skeleton)
            if form is None:
                group = self._new_form(skeleton, start, text)
            else:
                key = b" ".join([text[a:b] for a, b in form.kept]) if form.kept else b""
                group = form.groups.get(key) or self._new_group(form, key, start, text, None)
            group.starts.append(start)
            group.texts.append(text)
            self._waiting += 1
            if self._waiting >= WAITING:
                self._read_waiting()
        self._read_waiting()
        return sorted(self._templates.values(), key=lambda lines: lines.first[0])

    def _new_form(self, skeleton: bytes, start: int, text: bytes) -> _Group:
        if len(self._forms) >= MOST_FORMS:
            self._read_waiting()
            self._forms.clear()
        parsed = take_apart(text, self._thousands)
        form = self._forms[skeleton] = _Form(parsed.kept)
        key = b" ".join([text[a:b] for a, b in parsed.kept])
        return self._new_group(form, key, start, text, parsed)

    def _new_group(self, form: _Form, key: bytes, start: int, text: bytes, known: Parsed | None) -> _Group:
        parsed = known or take_apart(text, self._thousands)
        lines = self._templates.get(parsed.template) if parsed.fields else None
        if parsed.fields and lines is None and self._has_room(parsed):
            self._places += len(parsed.fields)
            first = (start, text[:MOST_CHARACTERS], parsed)
            lines = self._templates[parsed.template] = Lines(parsed.template, first)
        group = form.groups[key] = _Group(lines, parsed)
        return group

    def _has_room(self, parsed: Parsed) -> bool:
        return len(self._templates) < MOST_TEMPLATES and self._places + len(parsed.fields) <= MOST_PLACES

    def _read_waiting(self) -> None:
        for form in self._forms.values():
            for group in form.groups.values():
                if not group.starts:
                    continue
                if group.lines is not None:
                    group.lines.read(group.starts, group.texts, group.parsed)
                elif group.parsed.fields:
                    self.left_out += len(group.starts)
                group.starts, group.texts = [], []
        self._waiting = 0


def mine(data: bytes) -> tuple[list[Lines], int]:
    """Return the templates of a log with their numbers, and how many lines are left out.

    Lines are left out whose template comes after `MOST_TEMPLATES` others, or the numbers of others are too many.
    """
    listed = _END_OF_LISTED.search(data) is not None and _LISTED.search(data) is not None
    miner = Miner(thousands=not listed)
    return miner.read(reported_lines(data)), miner.left_out
