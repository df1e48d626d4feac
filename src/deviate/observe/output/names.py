"""What the numbers of a template are called: by the words before them, their key, or the words after them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from deviate.lexicon.words import (
    ARTICLES,
    LINKING,
    MAX_WORDS,
    clauses_of,
    is_bookkeeping,
    is_counting,
    is_metric_word,
    is_time_or_rate,
    meaning_of,
    split_of,
    without_links,
    word_lists,
)
from deviate.observe.output.templates import LIST, NUMBER, Template
from deviate.observe.output.text import UNITS

_LISTS = word_lists("printed_names")
DURATIONS, RATES = _LISTS["durations"], _LISTS["rates"]
#: The last word of a phrase that goes on behind a whole number: ``of the last 10 games``.
_BEFORE_NUMBERS = LINKING | ARTICLES | _LISTS["before numbers"]

#: What a time is called that nothing names but its unit; the second where the first is taken.
UNNAMED_TIMES = ("time", "time in brackets")

#: What a whole number is called between the name and the value of a metric.
STEP = "step"

#: What a number is beside others: a value; the whole of a fraction; a number of a progress bar; padded with zeros.
Role = Literal["value", "total", "progress", "padded"]


class Name(NamedTuple):
    """The name of a number; empty where nothing names it."""

    name: str
    unit: str = ""
    role: Role = "value"


_FAR_UNITS = "|".join(sorted(map(re.escape, _LISTS["units apart"]), key=len, reverse=True))
_NEAR_UNITS = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_UNIT = re.compile(rf"(?P<near>{_NEAR_UNITS})(?![\w/])|(?P<gap> ?)(?P<far>{_FAR_UNITS})(?![\w/])(?!\s*[:=])")
#: A full stop ends a clause, but not behind ``Avg``.
_BREAKS = re.compile(
    r"[|;,\[\]{}<>()*#\t│┃║━╺]+|\s[-–—~]+\s|={2,}|-{2,}|(?<!vg)\.\s|:\s*(?=\S)|⟨(?:time|path|id|word|n|list)⟩|→|\s/\s|\b(?:INFO|DEBUG|WARN(?:ING)?|ERROR|CRITICAL)\b"
)
_TRIM = " :=-_/\\.,;'\"~+@!?&%$^`→()[]{}<>|│┃║≈"
_WRAPPERS = re.compile(
    r"(?:\b(?:np|numpy|torch|jnp|tf|jax)\.)?\b(?:tensor|array|Array|Tensor|DeviceArray|(?:float|int|uint)\d+|float_|str)"
    r"[(\[]*$|<tf\.\w+:[^⟨]*numpy=$"
)
_LETTERS = re.compile(r"[^\W\d_]")
_DEVIATION = re.compile(r"\s*(?:\(?\s*(?:±|\+/-|\+-|\\pm)\s*)")
_FRACTION = re.compile(r"\s*(?:/|of|out of)\s*")
_ROW_OF_DICTIONARY = re.compile(r"['\"]([^'\"]*)['\"]\s*:|[{}]")
_REMARK_BEGINS = re.compile(r" ?\([^()⟨⟩;|]*$")
_ENDS_LABEL = re.compile(r" [\w/ -]*\w ?[:=] ?")
_REMARK_ENDS = re.compile(r"[^()⟨⟩]*\)\s*[:=]\s*")
#: The speed of a bar stands in brackets behind the time that is left.
_BAR = re.compile(
    rf"{NUMBER}%\s?\|.*?{NUMBER}/\s?{NUMBER}(?:\S* ?\[[^\],]*<[^\],]*, ?{NUMBER})?"
    rf"|{NUMBER}/{NUMBER}\s?(?:━|\[[=>.\-]*\])|━\s?{NUMBER}%|{NUMBER}it \["
)
_LIST_OF_TUPLES = re.compile(r"\[\s*\(\s*$")
_AFTER = re.compile(r"[%)\]]*[ -]?(?P<words>[^\W\d_][\w /%-]*)(?P<end>.?)")


def names_in(template: Template, whole: Sequence[bool] = (), rising: Sequence[bool] = ()) -> list[Name]:
    """Name the fields of a template.

    `whole` says of each field whether its number is printed without a point, and `rising` whether it goes up from line
    to line.

    >>> from deviate.observe.output.templates import take_apart
    >>> [one.name for one in names_in(take_apart(b"Epoch 3 | val acc 97.1% | took 12 s").template)]
    ['Epoch', 'val acc', 'time']
    """
    lefts, units = _sides(template)
    whole = whole or [True] * len(lefts)
    rising = rising or [False] * len(lefts)
    keys = _keys(template)
    lead = _lead(template.texts[0])
    named: list[Name] = []
    consumed = False
    for position, left in enumerate(lefts):
        unit, last = units[position], position == len(lefts) - 1
        right = template.texts[position + 1].removeprefix(" ").removeprefix(unit) if last else lefts[position + 1]
        after = _words_after(right) if last or _ends_clause(right) else ""
        inside = position > 0 and lefts[position - 1].endswith(("(", "["))
        if position and _is_behind_step(
            left, named[-1], whole[position - 1], rising[position - 1], whole=whole[position]
        ):
            # ``loss 250 tensor(0.5)``
            named.append(named[-1]._replace(unit=unit))
            named[-2] = Name(STEP if whole[position - 1] else "")
            continue
        part = _part_of_earlier(left, named[-1], unit, whole[position], after, inside) if named else None
        if part is not None:
            if part.role == "total" and not named[-1].name:
                named[-1] = named[-1]._replace(name=after)
            named.append(part)
            continue
        lead = _lead(left) or lead if position else lead
        words = keys[position] or ("" if consumed or (after and _links(left, position)) else words_of_clause(left))
        is_pair = all(whole[position : position + 2]) and _LIST_OF_TUPLES.search(left)
        is_tuple = left.endswith(" (") and lefts[position + 1 : position + 2] == [","] and not is_metric_word(words)
        if not keys[position] and (is_pair or is_tuple):
            # ``wrong (actual, guess): [(6, 8), (8, 1)]``, ``best (2, 0.1)``: the words name all of it.
            words = after = ""
        phrase = ""
        if position and (whole[position - 1] or _REMARK_ENDS.fullmatch(left)) and not keys[position]:
            phrase = _phrase_around(lefts[:position], left, whole[: position + 1])
        if phrase:
            words = phrase
            named[-1] = Name(_words_after(left) or _inside_remark(lefts[position - 1]), units[position - 1])
        named.append(Name(_with_context(words or after, lead, unit), unit))
        # The words between two numbers name one of them.
        consumed = not words and bool(after)
    return _with_bars(template, _told_apart(named, lefts))


def _told_apart(named: list[Name], lefts: Sequence[str]) -> list[Name]:
    """Call a time in brackets so where another number of the template is the time already."""
    times = [one.name for one in named]
    return [
        one._replace(name=UNNAMED_TIMES[1])
        if one.unit in DURATIONS
        and one.name == UNNAMED_TIMES[0]
        and times.count(one.name) > 1
        and left.rstrip().endswith(("(", "["))
        else one
        for one, left in zip(named, lefts, strict=True)
    ]


def _sides(template: Template) -> tuple[list[str], list[str]]:
    """Return the text to the left of each field, without the unit of the field before, and the units."""
    lefts, units = [template.texts[0]], []
    for position, text in enumerate(template.texts[1:], 1):
        match = _UNIT.match(text)
        # ``acc 0.9 seconds 1.2``: words between two numbers and nothing else name the second.
        if match and match["far"] and position < len(template.lists) and re.fullmatch(r" [a-z]{3,} ", text):
            match = None
        units.append((match["near"] or match["far"]) if match else "")
        lefts.append(text[match.end() :] if match else text)
    return lefts[:-1], units


def _part_of_earlier(left: str, earlier: Name, unit: str, whole: bool, after: str, inside: bool) -> Name | None:
    """Name a number that belongs to the one before: its deviation, its whole, its average in brackets."""
    if _LETTERS.search(_FRACTION.sub("", left)):
        return None
    mark = left.strip()
    if _DEVIATION.fullmatch(left):
        return Name(f"{earlier.name} ±" if earlier.name else "", unit or earlier.unit)
    if _FRACTION.fullmatch(left):
        return Name(f"{earlier.name} total".strip(), unit, "total") if whole else Name(_next_of(earlier.name), unit)
    if mark in {"(", "["} and earlier.name and not _counts(earlier.name):
        # A percentage in brackets behind a fraction is what the fraction is called.
        base = earlier.name.removesuffix(" total") if earlier.role == "total" else earlier.name
        if unit in DURATIONS | RATES and earlier.unit not in DURATIONS | RATES and not is_time_or_rate(base):
            # ``acc 0.93 (0.4s)``: a time beside a value of another kind is named by itself.
            return None
        return Name(f"{base} %" if unit == "%" else f"{base} (in brackets)", unit)
    if mark in {"->", "-->", "=>", "→"} and earlier.name:
        return Name(f"{earlier.name} (new)", unit or earlier.unit)
    goes_on = mark in {"", ","} and earlier.role == "value" and (inside or not _counts(earlier.name))
    return (
        Name(_next_of(earlier.name), unit) if goes_on and earlier.name and unit == earlier.unit and not after else None
    )


def _is_behind_step(left: str, earlier: Name, is_step: bool, rising: bool, *, whole: bool) -> bool:
    """Whether a number has the name before the number in front of it: ``loss 250 tensor(0.5)``, ``F1 @ 0.5: 0.8``.

    It is behind a colon, or wrapped behind a whole number, which `is_step`, or that goes up, which it must in front of
    a `whole` one.
    """
    if earlier.unit or earlier.role != "value" or not is_metric_word(earlier.name):
        return False
    mark = _WRAPPERS.sub("", left).strip()
    if mark in {":", "="}:
        return rising or not whole
    return is_step and not mark and not whole and (rising or bool(left.strip()))


def _next_of(name: str) -> str:
    """``loss``, ``loss (2)``, ``loss (3)``."""
    match = re.fullmatch(r"(.*) \((\d+)\)", name)
    return f"{match[1]} ({int(match[2]) + 1})" if match else f"{name} (2)"


def _counts(name: str) -> bool:
    return is_bookkeeping(name) or is_counting(name)


def _phrase_around(lefts: Sequence[str], left: str, whole: Sequence[bool]) -> str:
    """Return the name that a phrase with a whole number in it gives to the number behind it; empty where there is none.

    ``Accuracy on the 10000 test images: 53``, ``mean reward (100 episodes): 23.4``, ``reward of 5 games (seed 3): 8``.
    `whole` says of each number whether it is printed without a point, as a counter is: ``Correct 53 total: 100``.
    """
    before = lefts[-1]
    if _REMARK_ENDS.fullmatch(left) and _REMARK_BEGINS.search(before):
        outside = _REMARK_BEGINS.sub("", before)
        is_nested = len(lefts) > 1 and whole[-3]
        nested = _phrase_around(lefts[:-1], f"{outside}: ", [*whole[:-2], whole[-1]]) if is_nested else ""
        return nested or _without_ends(words_of_clause(outside))
    phrase, own = words_of_clause(before), words_of_clause(left)
    if not own or is_metric_word(own) or not meaning_of(phrase):
        return ""
    ending = re.search(r"([A-Za-z]+) ?$", before)
    is_joined = ending is not None and ending[1].lower() in _BEFORE_NUMBERS
    is_label = not whole[-1] and _ENDS_LABEL.fullmatch(left) is not None and not is_bookkeeping(own)
    if not is_joined and not (is_label and is_metric_word(phrase)):
        return ""
    phrase = _without_ends(phrase)
    return phrase if split_of(phrase) or not split_of(own) else f"{_split_word(own)} {phrase}"


def _without_ends(phrase: str) -> str:
    """Leave out the last words of a phrase that are of the number behind them: ``mean score of the last``."""
    words = phrase.split()
    while words and words[-1].lower() in _BEFORE_NUMBERS:
        words.pop()
    return " ".join(words)


def _inside_remark(before: str) -> str:
    """Return the words of a remark before its number: ``fold`` of ``accuracy (fold 3)``."""
    match = _REMARK_BEGINS.search(before)
    return words_of_clause(match[0]) if match else ""


def words_of_clause(text: str) -> str:
    """Return the words at the end of a text that can name what follows it.

    >>> words_of_clause("Epoch done, the average loss is "), words_of_clause("Test set: Accuracy:")
    ('average loss', 'Test Accuracy')
    """
    clauses = clauses_of(_WRAPPERS.sub("", text), _BREAKS, _TRIM)
    named = [clause for clause in clauses if _LETTERS.search(clause)]
    if not named or not _LETTERS.search(clauses[-1]):
        return ""
    if len(named) > 1 and named[-1] in UNITS:
        named.pop()
    words = " ".join(named[-1].split()[-MAX_WORDS:])
    name = without_links(words).strip("'\"")  # a quote that stood before a linking word: ``'compile' took``
    split = next((clause for clause in reversed(named[:-1]) if split_of(clause) and len(clause.split()) <= 2), "")
    return f"{_split_word(split)} {name}" if split and name and not split_of(name) else name


def _split_word(clause: str) -> str:
    """Return the word of a clause that says which part of the data it speaks of."""
    return next((word for word in re.findall(r"[A-Za-z]+", clause) if split_of(word)), clause)


def _words_after(right: str) -> str:
    """First words after a number, unless they introduce the next one (``loss: ``)."""
    match = _AFTER.match(right)
    if match is None or (match["end"] in {":", "="} and match.end() < len(right.rstrip())):
        return ""
    words = [word for word in match["words"].strip(_TRIM).split() if word.lower() not in LINKING | ARTICLES]
    return " ".join(words) if 0 < len(words) <= 3 and len("".join(words)) > 1 else ""


def _links(left: str, position: int) -> bool:
    """Whether a text between two numbers says what the first counts, and leads to the second: ``members in``."""
    match = re.fullmatch(r" [A-Za-z ]+? ([a-z]+) ", left) if position else None
    return match is not None and match[1] in LINKING and meaning_of(left) is None


def _ends_clause(right: str) -> bool:
    """Whether the words after a number end before the next one begins."""
    return re.match(r"[%)\]]*[ -]?[^\W\d_][\w /%-]*[,;|)\]]", right) is not None


def _lead(text: str) -> str:
    """Return the part of the data that a text speaks of from there on: ``Test:``, ``[val]``, ``Train Epoch``."""
    clauses = [clause.strip(_TRIM) for clause in _BREAKS.split(re.sub(r"⟨\w+⟩", " ", text))]
    for index, clause in enumerate(clauses):
        is_own = index < len(clauses) - 1 or is_bookkeeping(clause)
        if is_own and split_of(clause) and len(clause.split()) <= 3:
            return _split_word(clause)
    return ""


def _with_context(words: str, lead: str, unit: str) -> str:
    """Complete a name by its unit, where that says more, and by the part of the data."""
    if unit in RATES:
        rate = f"time per {unit.partition('/')[2]}" if unit.startswith(("s/", "ms/", "us/")) else "speed"
        words = words if meaning_of(words) is not None else f"{words} {rate}".strip()
    elif unit in DURATIONS and not is_time_or_rate(words):
        words = f"{words} time" if words and not LINKING.issuperset(words.lower().split()) else "time"
    if not lead or not words or split_of(words) or _counts(words):
        return words
    return f"{lead} {words}"


def _keys(template: Template) -> list[str]:
    """Name the fields of a printed dictionary by the keys that lead to them; empty for other lines."""
    if not re.search(r"['\"]\s*:\s*\{", template.text):
        return [""] * len(template.lists)
    path: list[str] = []
    key, keys = "", []
    for text in template.texts[:-1]:
        for token in _ROW_OF_DICTIONARY.finditer(text):
            if token[0] == "{":
                path.append(key)
            elif token[0] == "}":
                del path[-1:]
            else:
                key = token[1]
        keys.append("/".join(filter(None, [*path, key])) if path else "")
    return keys


def _with_bars(template: Template, named: list[Name]) -> list[Name]:
    """Mark what a progress bar says of how far it is: its percentage, count and whole, and how fast it moves."""
    text = template.text
    bar = _BAR.search(text)
    if bar is None:
        return named
    before = len(re.findall(f"{NUMBER}|{LIST}", text[: bar.start()]))
    inside = before + len(re.findall(f"{NUMBER}|{LIST}", bar[0]))
    return [one._replace(role="progress") if before <= index < inside else one for index, one in enumerate(named)]
