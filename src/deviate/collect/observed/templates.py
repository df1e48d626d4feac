"""A displayed line as a template and the numbers in it."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, NamedTuple

from deviate.analyse.naming.words import is_bookkeeping, is_metric_word, word_lists
from deviate.collect.observed.durations import WITH_DAYS, is_duration
from deviate.collect.observed.printed import number_pattern

_LISTS = word_lists(__file__)

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

    Examples
    --------
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
