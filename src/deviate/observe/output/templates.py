"""A displayed line as a template with numbers in it, and the heads of printed tables."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

from deviate.lexicon.words import is_bookkeeping, is_metric_word, word_lists
from deviate.observe.output.text import UNITS, WITH_DAYS, displayed_lines, is_duration, number_pattern, read_number

_LISTS = word_lists("templates")

#: What stands for a number, and for a list of numbers, in the text of a template.
NUMBER, LIST = "⟨n⟩", "⟨list⟩"
#: What stands for words that are other ones in each run.
TIME, PATH, IDENTIFIER = "⟨time⟩", "⟨path⟩", "⟨id⟩"

#: Longer lines hold data, not reports; what is behind this is passed over.
MOST_CHARACTERS = 20_000

#: Numbers of one line that are read; what is behind the last of them is passed over. A report has some dozens at most.
MOST_NUMBERS = 300

Span = tuple[int, int]


class Template(NamedTuple):
    """What is left of a line without its numbers: the texts around them.

    `texts` has one item more than there are fields; `lists` says of each field whether it is a list of numbers.
    """

    texts: tuple[str, ...]
    lists: tuple[bool, ...]

    @property
    def text(self) -> str:
        """The template as one text, in which `NUMBER` or `LIST` stand for the numbers."""
        marks = (LIST if is_list else NUMBER for is_list in self.lists)
        parts = [part for pair in zip(self.texts, (*marks, ""), strict=True) for part in pair]
        return "".join(parts).strip()


#: Digits by which the point moves to the left; None for the reciprocal; seconds for a duration that a clock shows.
Scale = int | Literal["seconds"] | None


class Parsed(NamedTuple):
    """A line taken apart.

    `fields` has the positions of the numbers in the line, several for a list; `kept` those of digits that belong to
    words of the template; `scales` says how the number of each field is brought into the unit of the template.
    """

    template: Template
    fields: tuple[tuple[Span, ...], ...]
    kept: tuple[Span, ...]
    scales: tuple[Scale, ...]


_EXTENSIONS = "|".join(sorted(_LISTS["file extensions"], key=len, reverse=True))
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLOCK = r"\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d++)?+"
_WORD_PART = r"[A-Za-z_][A-Za-z0-9_]*+"


#: What differs from line to line by more than digits.
_URL = r"\b[a-z]{2,8}://[^\s'\",;)\]}>]++"
_LOCATION = r"(?<![\w.)\]}])(?:[A-Za-z]:\\|~/|\.{1,2}/|/(?=[\w.\-]*[A-Za-z_]))[^\s'\",;:)\]}>]++(?::\d++)?+"
_HEX = (r"(?<![\w.])(?:0x[0-9a-fA-F]++|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|"
        r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])(?![0-9]++e[0-9]++\b)[0-9a-f]{7,})(?![\w.]|[+-]\d)")  # fmt: skip
#: All begin behind a character that is part of no word, by which they are found sooner than by their own first ones.
_VARYING = re.compile(rf"([^\w.])(?:(?P<place>File \"[^\"\n]+\", line \d+|{_URL}|{_LOCATION})|{_HEX})".encode())


def without_varying(line: bytes) -> bytes:
    """Replace what differs from line to line by more than digits: paths, addresses, hashes."""
    return _VARYING.sub(lambda found: found[1] + _STANDING_FOR[found["place"] is not None], b"\n" + line)[1:]


_STANDING_FOR = {True: PATH.encode(), False: IDENTIFIER.encode()}


@cache
def _scanner(thousands: bool) -> re.Pattern[str]:
    """Return the pattern of all that is no plain text: the first alternative that fits at a position wins.

    Digits are told apart from other characters and not from each other, so that lines that differ in digits alone are
    taken apart alike.
    """
    number = number_pattern(thousands)
    plain = number_pattern(thousands=False)
    alternatives = {
        # The prefix of absl and glog: level, time, thread, source line.
        "log": r"\b[IWEF]\d{4}\s+[\d:.]+\s+\d+\s+\S+:\d+\]",
        # Of tracebacks.
        "frame": r"File \"[^\"\n]+\", line \d+",
        "url": _URL,
        "path": _LOCATION,
        "file": rf"(?<![\w/.])[\w\-.=/]*?\w\.(?:{_EXTENSIONS})(?![\w/])(?::\d++)?+",
        "shape": r"[A-Za-z_.]*(?:Size|[Ss]hapes?['\"]?)\s*+[=:]?\s*+[(\[]{1,2}[^()\[\]]{0,100}[)\]]{1,2}",
        "days": WITH_DAYS,
        "date": rf"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?\s+)?{_MONTH}\s+\d{{1,2}},?\s+(?:{_CLOCK}\s+)?\d{{4}}\b|"
        rf"(?<![\w.])(?:\d{{4}}([-/.])\d{{1,2}}\1\d{{1,2}}|\d{{1,2}}/\d{{1,2}}/\d{{2,4}}|"
        rf"\d{{1,2}}[- ]{_MONTH}[- ]\d{{2,4}})(?:[T _,-]+\d{{1,2}}[:\-h]\d{{2}}(?:[:\-m]\d{{2}})?(?:[.,]\d++)?+)?+"
        r"(?:Z|[+-]\d{2}:?\d{2})?(?![\w])",
        "clock": rf"(?<![\w.]){_CLOCK}(?:\s?[AP]M\b)?+(?![\w:])",
        "version": r"(?<![\w.])\d+(?:\.\d+){2,}[\w.\-+]*(?::\d++)?+",
        "hex": _HEX,
        "list": rf"\[\s*+{plain}(?:\s*+,\s*+{plain}|\s++{plain})++\s*+,?+\s*+\]",
        "dimensions": r"(?<![\w.])\d+(?:[x×]\d+)+(?![\w.])",
        "hyphenated": r"(?<![\w.])\d+-[A-Za-z]\w*+",
        "number": number,
        "device": r"\b(?:cuda|cpu|gpu|tpu|xla|mps|localhost|GPU|CPU|TPU):\d++",
        "word": rf"{_WORD_PART}(?:@\d++(?:\.\d++)?+(?::[\d.]++)?+|[-./]++(?=\w)\w++)*+",
        "glued": r"\d[\w.\-]*",
    }  # fmt: skip
    # Groups inside of an alternative are counted from the start of the whole.
    whole = "|".join(f"(?P<{name}>{pattern})" for name, pattern in alternatives.items())
    return re.compile(whole.replace(r"\1", r"(?P=divider)").replace(r"([-/.])", r"(?P<divider>[-/.])"), re.ASCII)


_NUMBERS = re.compile(number_pattern(thousands=False), re.ASCII)
_DIGITS = re.compile(r"\d+", re.ASCII)

#: Characters behind a clock that say what it shows.
_BEHIND = 20

#: Units that a program chooses by the size of the number: Keras writes ``2s/step`` and ``12ms/step``.
_TIME_PER = re.compile(r"(ns|us|ms|s)/(?=(?:step|epoch|batch|sample)\b)", re.ASCII)
_POINT_MOVES = {"s": 0, "ms": 3, "us": 6, "ns": 9}
#: tqdm writes ``1.5s/it`` where it is slower than one a second, and ``8.3it/s`` else.
_SECONDS_PER = re.compile(r"s/([A-Za-z]\w*)(?=[,\]])", re.ASCII)
_RATE_OF_BAR = re.compile(r"\[[\d:.]++<[\d:.?]++,\s*$", re.ASCII)

#: Told by what they are, not by how they are written.
_STAND_INS = {
    "log": IDENTIFIER,
    "frame": PATH,
    "url": PATH,
    "path": PATH,
    "date": TIME,
    "clock": TIME,
    "version": IDENTIFIER,
    "hex": IDENTIFIER,
}
_BARS = re.compile(r"[█▉▊▋▌▍▎▏▐░▒▓■□━╸╺╌─═┄]+")
#: Bars that are drawn with characters of text: ``[==..]``.
_DRAWN = re.compile(r"\[[=\-#*._>+ ]{2,}\]")
_REPEATED = re.compile(r"([=\-#*._~+>])\1{3,}")
_SPACE = re.compile(r"\s+")
#: A number that is written at the end of a word: ``loss0.53``, ``Epoch12``.
_ENDS_IN_NUMBER = re.compile(r"(?P<word>[A-Za-z_]+?)[-_.#]?(?P<number>\d+(?:\.\d+)?)", re.ASCII)


def take_apart(line: bytes, thousands: bool = True) -> Parsed:
    """Take a displayed line apart.

    `thousands` says whether commas part thousands in this log, or values.

    >>> take_apart(b"Epoch 3 conv1 [0.1, 0.2] 12:30:00 loss=1.5e-3").template.text
    'Epoch ⟨n⟩ conv1 ⟨list⟩ ⟨time⟩ loss=⟨n⟩'
    """
    # One character a byte, so that positions are those of bytes.
    text = line[:MOST_CHARACTERS].decode("latin-1")
    texts, lists, fields, kept = [""], [], [], list[Span]()
    scales: list[Scale] = []
    at = read = 0
    for token in _scanner(thousands).finditer(text):
        if read >= MOST_NUMBERS:
            text = text[:at]
            break
        kind, start, end = token.lastgroup or "", token.start(), token.end()
        if start < at:
            # The unit of the number before.
            continue
        kind = "date" if kind == "divider" else kind
        if kind == "days" or (kind == "clock" and is_duration(token[0], text[:start], text[end : end + _BEHIND])):
            kind = "duration"
        stand_in = _stand_in(kind, token[0])
        spans = _numbers_in(kind, token[0], start)[: MOST_NUMBERS - read]
        read += len(spans)
        if spans:
            texts[-1] += text[at : spans[0][0]] if kind == "word" else text[at:start]
            texts.append("")
            lists.append(kind == "list")
            fields.append(spans)
            texts[-1], scale, end = _unit_at(text, start, end, kind)
            scales.append(scale)
        elif stand_in:
            texts[-1] += text[at:start] + stand_in.encode().decode("latin-1")
        else:
            texts[-1] += text[at:end]
            kept.extend((start + digits.start(), start + digits.end()) for digits in _DIGITS.finditer(token[0]))
        at = end
    texts[-1] += text[at:]
    return Parsed(Template(_tidy(texts), tuple(lists)), tuple(fields), tuple(kept), tuple(scales))


def _unit_at(text: str, start: int, end: int, kind: str) -> tuple[str, Scale, int]:
    """Return the unit that a number is brought to where its own goes with its size, the scale, and where it ends."""
    if kind == "duration":
        return "s", "seconds", end
    if kind != "number":
        return "", 0, end
    per = _TIME_PER.match(text, end)
    if per is not None:
        return "s/", _POINT_MOVES[per[1]], per.end()
    slow = _SECONDS_PER.match(text, end)
    if slow is not None and _RATE_OF_BAR.search(text, max(0, start - 40), start):
        return f"{slow[1]}/s", None, slow.end()
    return "", 0, end


def _stand_in(kind: str, text: str) -> str:
    """Return what stands for a token that may be another one in each run; empty for one that is kept."""
    if kind == "file":
        return PATH if _DIGITS.search(text) else ""
    return _STAND_INS.get(kind, "")


def _numbers_in(kind: str, text: str, start: int) -> tuple[Span, ...]:
    """Return the positions of the numbers of a token: one, several in a list, none in a word."""
    if kind in ("number", "duration"):
        return ((start, start + len(text)),)
    if kind == "list":
        return tuple((start + number.start(), start + number.end()) for number in _NUMBERS.finditer(text))
    match = _ENDS_IN_NUMBER.fullmatch(text) if kind == "word" else None
    if match is None:
        return ()
    decimal = "." in match["number"] and is_metric_word(match["word"])
    return ((start + match.start("number"), start + len(text)),) if decimal or _is_counter(match["word"]) else ()


def _is_counter(word: str) -> bool:
    return is_bookkeeping(word) or word.lower() in _LISTS["counters"]


def _holds_space(character: str) -> bool:
    """Whether a space between this and a number is more than padding."""
    return character.isalnum() or character in "-⟨⟩"


def _tidy(texts: list[str]) -> tuple[str, ...]:
    """Make texts free of what only lays them out: widths of white space, lengths of bars."""
    tidied = []
    for position, raw in enumerate(texts):
        text = raw.encode("latin-1").decode("utf-8", "replace").replace(NUMBER, "<n>").replace(LIST, "<list>")
        text = _REPEATED.sub(r"\1\1\1", _DRAWN.sub("[=]", _BARS.sub("━", text)))
        text = _SPACE.sub(" ", text)
        # Padding comes and goes with the width of a number; between two words there is always a space.
        if position > 0 and text[:1] == " " and not _holds_space(text[1:2]):
            text = text[1:] if text.strip() else text
        if position < len(texts) - 1 and text[-1:] == " " and text.strip() and not _holds_space(text[-2]):
            text = text[:-1]
        tidied.append(text)
    tidied[0], tidied[-1] = tidied[0].lstrip(), tidied[-1].rstrip()
    return tuple(tidied)


# Heads of tables in two rows: groups of columns above the columns, as logbooks of evolutions print them.

#: Rows above a head that may hold its groups: one of names, one that underlines them.
MOST_ROWS = 2

_GROUP = re.compile(r"[^\s|]+(?: [^\s|]+)*")
_NO_BAR = re.compile(r"[^\s|]+")
_RULE = re.compile(r"[-=─━]{2,}")
_LETTERS = re.compile(r"[^\W\d_]")
_FRAME = str.maketrans(dict.fromkeys("│┃║", "|"))

_Extent = tuple[int, int]


def in_groups(above: Sequence[str], head: str) -> list[str]:
    """Return the names of all columns of a head, each with the name of its group before it.

    Empty where no two columns have one name, and where no row above says which columns go together: by lines under its
    words, or by bars between them.

    `above`: the lines above the head; `head`: the row with the names of the columns.

    >>> in_groups(["           train       test", "       ----------  ----------"], "epoch  loss  acc   loss  acc")
    ['epoch', 'train loss', 'train acc', 'test loss', 'test acc']
    """
    # Behind a tab a cell may begin one blank after the last one.
    cell_pattern = _NO_BAR if "\t" in head else _GROUP
    columns = [(cell[0], cell.span()) for cell in cell_pattern.finditer(_even(head))]
    names = [name for name, _ in columns]
    if len(set(names)) == len(names):
        return []
    rows = [_even(text) for text in above[-MOST_ROWS:]]
    named = next((row for row in reversed(rows) if _LETTERS.search(row)), "")
    groups = _groups(named, rows[-1] if rows else "")
    return [f"{_around(extent, groups)} {name}".strip() for name, extent in columns] if groups else []


def _even(text: str) -> str:
    return text.translate(_FRAME).expandtabs()


def _groups(named: str, last: str) -> list[tuple[str, _Extent]]:
    """Return the names of groups and how far each goes: as far as the line under it, or from bar to bar."""
    extents = [rule.span() for rule in _RULE.finditer(last)]
    if not extents:
        bars = [position for position, character in enumerate(named) if character == "|"]
        extents = list(itertools.pairwise(bars))
    found = [(" ".join(_GROUP.findall(named[start:end])), (start, end)) for start, end in extents]
    return [(name, extent) for name, extent in found if name] if len(found) > 1 else []


def _around(extent: _Extent, groups: Sequence[tuple[str, _Extent]]) -> str:
    """Return the name of the group that a column stands in; empty for one that stands in none."""
    middle = sum(extent) / 2
    return next((name for name, (start, end) in groups if start <= middle < end), "")


# The heads of printed tables, and what they call the columns of a row.

#: A head is looked for this far above the first row of a table.
MOST_BYTES, MOST_LINES = 8_000, 40
#: Columns of a table that are named.
MOST_COLUMNS = 200

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

    >>> cell_name("macro avg", "recall"), cell_name("accuracy", "f1-score"), cell_name("", "loss")
    ('macro avg recall', 'accuracy', 'loss')
    """
    if label and is_metric_word(label) and is_metric_word(column):
        return label
    return f"{label} {column}".strip()
