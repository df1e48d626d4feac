"""The numbers that a program printed, as series, one for each place in a template; which templates are one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from deviate.lexicon.words import unique
from deviate.observe.output.names import Name, Role, names_in, words_of_clause
from deviate.observe.output.templates import (
    LIST,
    MOST_CHARACTERS,
    NUMBER,
    Columns,
    Parsed,
    Scale,
    Span,
    Template,
    cell_name,
    columns_above,
    has_label,
    is_row,
    names_its_row,
    take_apart,
    without_varying,
)
from deviate.observe.output.text import read_column, reported_lines, scaled, seconds_of

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


#: Lists of one length up to this have a slot for each item; longer ones, and those of several lengths, have one slot.
MOST_ITEMS = 20

#: Stands in the name of such a slot for the place of an item.
ITEMS = "items"

#: Labels of a table whose rows are told apart by a number.
MOST_LABELS = 200


#: Lines from which on a whole number that goes up is a step: four go up by chance once in 24.
FEWEST_RISING = 4

_PADDED = re.compile(rb"0\d+")


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """A place in what a program reports where a number stands."""

    #: ``stdout``, ``stderr`` or the path of a file, relative to the run's folder.
    source: str
    #: The line with its numbers replaced, or the column or key of a file.
    template: str
    #: Which number of the template, from 0.
    position: int
    #: Unique in the run.
    name: str
    #: Digits after the point in all values; None where they differ.
    decimals: int | None = None
    #: As printed behind the number; empty where there is none.
    unit: str = ""
    #: What the number is beside others.
    role: Role = "value"
    #: The name without what makes it unique; empty where nothing but its position names it.
    words: str = ""
    #: Whether values are as they were computed, in 32 or 64 bits: a tracker stored them.
    exact: bool = False
    #: Whether it is one of several numbers that stand in brackets: ``[0.1, 0.2]``.
    item: bool = False

    @property
    def key(self) -> tuple[str, str, int]:
        """What a slot has in common with that of another run."""
        return self.source, self.template, self.position


#: Beyond half a unit of the last digit: the relative error of a float32, which one of the two may have been stored as.
SLACK = 2.0**-24 * (1 + 1e-6)


class SlotSeries(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The values of a slot in one run, in the order of the log.

    `values` and `offsets` have one item for each occurrence; an offset is where the line begins. `precision` has the
    digits after the point of each value: it was rounded to 10**-precision.
    """

    slot: Slot
    values: Floats
    offsets: Integers
    precision: Decimals

    @cached_property
    def halves(self) -> Floats:
        """Half a unit of the last digit of each value, with what 32 bits take off."""
        halves: Floats = 0.5 * 10.0 ** -self.precision.astype(np.float64) * (1 + 1e-6) + SLACK * np.abs(self.values)
        return halves


def exact_precision(values: Floats) -> Decimals:
    """Return the digits after the point that float64 values are known to."""
    with np.errstate(invalid="ignore"):
        digits = np.floor(-np.log10(np.spacing(np.abs(values))))
    return np.where(np.isfinite(digits), digits, 0).astype(np.int16)


class Mined(NamedTuple):
    """The series of a log, and how many of its lines with numbers were left out."""

    series: list[SlotSeries]
    left_out: int


class _Column(NamedTuple):
    """A series before it has a unique name."""

    template: str
    position: int
    name: Name
    words: str
    #: Words of the line that may tell its name from others.
    hints: list[str]
    values: Floats
    offsets: Integers
    precision: Decimals
    #: Whether it is an item of a list.
    item: bool = False

    def only(self, rows: NDArray[np.int64]) -> _Column:
        """Return the column with these occurrences alone."""
        return self._replace(values=self.values[rows], offsets=self.offsets[rows], precision=self.precision[rows])

    def under(self, head: Columns, position: int, label: str) -> _Column:
        """Return the column with its name in the head of a table, which is told apart from tables with other heads."""
        own = cell_name(label, head.names[position])
        name = own or self.name.name
        template = self.template if label else f"{' '.join(filter(None, head.names))}: {self.template}"
        return self._replace(name=Name(name, self.name.unit), words=own, template=template)


def mine_log(data: bytes, source: str) -> Mined:
    """Return every number of a log as a series of its slot, and how many lines were left out.

    `data`: all that was written, with escape sequences; `source`: what the slots are said to be of.
    """
    templates, left_out = mine(data)
    columns = [column for lines in merged(templates) for column in _columns(lines, data, source)]
    names = unique([column.name.name for column in columns], [column.hints for column in columns])
    return Mined([_series(column, name, source) for column, name in zip(columns, names, strict=True)], left_out)


def _series(column: _Column, name: str, source: str) -> SlotSeries:
    first = int(column.precision[0])
    slot = Slot(
        source=source,
        template=column.template,
        position=column.position,
        name=name,
        decimals=first if bool(np.all(column.precision == first)) else None,
        unit=column.name.unit,
        role=column.name.role,
        words=column.words,
        item=column.item,
    )
    return SlotSeries(slot, column.values, column.offsets, column.precision)


def _columns(lines: Lines, data: bytes, source: str) -> Iterator[_Column]:
    """Yield the columns of a template; of rows without words, those of each table."""
    offsets, plain = _in_order(lines, data, source)
    if not is_row(lines.template):
        yield from plain
        return
    label = words_of_clause(lines.template.texts[0]) if has_label(lines.template) else ""
    for head, rows in tables_of(data, offsets, lines, label):
        columns = [column.only(rows) for column in plain]
        # A line that a carriage return cut may have fewer numbers than the rows that it is counted with.
        if head is not None and len(head.names) == len(columns) and not names_its_row(lines.template):
            columns = [column.under(head, position, label) for position, column in enumerate(columns)]
        yield from _told_apart(columns) if head is not None and head.by_class and not label else columns


def _in_order(lines: Lines, data: bytes, source: str) -> tuple[Integers, list[_Column]]:
    """Return the offsets of a template's lines, and its columns in the order of the log."""
    offsets = np.concatenate(lines.parts)
    order = np.argsort(offsets, kind="stable")
    _, line, parsed = lines.first
    printed = [line[spans[0][0] : spans[0][1]] for spans in parsed.fields]
    whole = [b"." not in each for each in printed]
    rising = [_rises(field, order) for field in lines.fields]
    text = lines.template.text
    hints = _hints(lines)
    columns: list[_Column] = []
    names = [
        one._replace(role="padded") if one.role == "value" and _PADDED.fullmatch(each) else one
        for one, each in zip(names_in(lines.template, whole, rising), printed, strict=True)
    ]
    for name, field, is_list in zip(names, lines.fields, lines.template.lists, strict=True):
        for item, (values, decimals, repeats) in enumerate(_items(field)):
            starts = offsets if repeats is None else np.repeat(offsets, repeats)
            # Items of lists of several lengths follow one another as their lines do.
            chosen = order if repeats is None else np.argsort(starts, kind="stable")
            place = item if repeats is None else ITEMS
            own = name._replace(name=f"{name.name} [{place}]") if is_list and name.name else name
            shown = own if own.name else own._replace(name=_by_position(len(columns), text, source))
            found = values[chosen], starts[chosen], decimals[chosen]
            columns.append(_Column(text, len(columns), shown, own.name, hints, *found, item=is_list))
    return offsets[order], columns


def _rises(field: Field, order: NDArray[np.int64]) -> bool:
    """Whether a number goes up from line to line, over so many lines that it is no chance."""
    if len(order) < FEWEST_RISING or any(part.shape[1] != 1 for part in field.values):
        return False
    values = np.concatenate(field.values)[order, 0]
    return bool(np.all(values[1:] > values[:-1]))


def _items(field: Field) -> Iterator[tuple[Floats, Decimals, NDArray[np.int64] | None]]:
    """Yield values and decimals of the items of a field; with their number per line where that differs."""
    widths = {part.shape[1] for part in field.values}
    width = max(widths)
    if len(widths) == 1 and (width <= MOST_ITEMS):
        values, decimals = np.concatenate(field.values), np.concatenate(field.decimals)
        for item in range(width):
            yield values[:, item], decimals[:, item], None
        return
    repeats = np.concatenate([np.full(len(part), part.shape[1]) for part in field.values])
    yield (
        np.concatenate([p.ravel() for p in field.values]),
        np.concatenate([p.ravel() for p in field.decimals]),
        repeats,
    )


def _told_apart(columns: list[_Column]) -> Iterator[_Column]:
    """Yield the columns of a table of classes for each class, whose label is the first column."""
    labels = list(dict.fromkeys(columns[0].values.tolist()))
    if len(labels) > MOST_LABELS:
        yield from columns
        return
    for label in labels:
        rows = np.flatnonzero(columns[0].values == label)
        for column in columns[1:]:
            named = column.name._replace(name=f"{label:g} {column.name.name}")
            template = column.template.replace(NUMBER, f"{label:g}", 1)
            row = column.only(rows)
            yield row._replace(template=template, position=column.position - 1, name=named, words=named.name)


def _by_position(position: int, template: str, source: str) -> str:
    """Name a number that nothing names."""
    shown = template.replace(NUMBER, "N").replace(LIST, "[N]")
    return f"column {position + 1} of {source} line '{shown if len(shown) <= 40 else shown[:39] + '…'}'"


def _hints(lines: Lines) -> list[str]:
    """Return what may tell the numbers of a line from those of others with the same name: its first words."""
    text = re.sub(r"⟨\w+⟩", " ", lines.template.texts[0])
    words = re.findall(r"[^\W\d_][\w/@.\-]*", text)
    # The first is for the part of the data, which names have already.
    return ["", " ".join(words[:1]), " ".join(words[:3])]


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
