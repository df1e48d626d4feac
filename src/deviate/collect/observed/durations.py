"""Durations as clocks show them: ``0:00:05.94``, ``1 day, 2:03:04``, ``took 01:23``. They are read as seconds."""

from __future__ import annotations

import re

from deviate.analyse.naming.words import word_lists

_LISTS = word_lists(__file__)

#: As Python and pandas print a difference of times with its days.
WITH_DAYS = r"(?<![\w.\-])\d++ days?,? \+?\d{1,2}:\d{2}:\d{2}(?:\.\d++)?+(?![\w:])"

_CLOCK = re.compile(r"(?P<hours>\d+:)?\d{2}:\d{2}(?:[.,]\d+)?|\d:\d{2}(?:[.,]\d+)?", re.ASCII)
_TIMEDELTA = re.compile(r"\d:\d{2}:\d{2}(?:\.\d+)?", re.ASCII)
_WORDS_BEFORE = re.compile(r"(?P<words>[A-Za-z][A-Za-z _\-]*?)['\"]?\s*(?:[:=]|\bis\b|\bof\b)?\s*[(\[]?\s*$")
_WORDS_AFTER = re.compile(r"\s*[)\]]?\s*(?P<word>[a-z]+)")

#: Characters before a clock in which its name is looked for.
_REACH = 40


def is_duration(clock: str, before: str, after: str) -> bool:
    """Whether what a clock shows is how long something took, and neither a time of day nor a time that is left.

    It is one by the words around it, or as Python prints a difference of times: one digit for the hours. Bars, which
    show elapsed times in brackets with what is left, are none.

    Examples
    --------
    >>> is_duration("0:00:05", "Time: ", ""), is_duration("01:23", "took ", ""), is_duration("12:30:00", "at ", "")
    (True, True, False)
    >>> is_duration("0:00:05", "ETA: ", ""), is_duration("00:05", "7/9 [", "<00:03"), is_duration("9:30:00", "", "AM")
    (False, False, False)
    """
    match = _WORDS_BEFORE.search(before[-_REACH:])
    words = re.findall(r"[a-z]+", match["words"].lower()) if match else []
    follows = _WORDS_AFTER.match(after)
    near = {*words[-3:], *([follows["word"]] if follows else [])}
    if near & _LISTS["no durations"] or not _CLOCK.fullmatch(clock) or after[:1] == "<":
        return False
    spent = near & _LISTS["durations"] or (words[-1:] == ["time"] and len(words) > 1) or words[-1:] == ["in"]
    return bool(spent) or (bool(words) and _TIMEDELTA.fullmatch(clock) is not None)


def seconds_of(text: str) -> tuple[float, int]:
    """Return the seconds of a printed duration, and its digits after the point.

    Examples
    --------
    >>> seconds_of("0:00:05.94"), seconds_of("01:23"), seconds_of("1 day, 2:03:04")
    ((5.94, 2), (83.0, 0), (93784.0, 0))
    """
    days, _, clock = text.rpartition(" ")
    *parts, last = clock.lstrip("+").replace(",", ".").split(":")
    whole, _, decimals = last.partition(".")
    minutes = int(parts[-1]) + 60 * (int(parts[-2]) if len(parts) > 1 else 0)
    minutes += 24 * 60 * (int(days.split()[0]) if days else 0)
    return float(f"{60 * minutes + int(whole)}.{decimals}"), len(decimals)
