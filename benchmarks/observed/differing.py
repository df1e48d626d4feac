"""Numbers that differ between two logs, counted without anything that Deviate knows of logs.

A place is a number's position in all lines that are equal but for their numbers. Bytes before the last carriage
return of a line are passed over, and codes of colours left out, as a terminal does; nothing else is interpreted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import NamedTuple

NUMBER = re.compile(rb"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")

#: Colours and movements of the cursor.
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")

#: What Google's log puts in front of a message: level, time, thread, line of the source.
PREFIX = re.compile(rb"[IWEF]\d{4} [^]]*\]")

#: Words whose numbers are no numbers of a training: times, dates, paths, addresses.
NO_NUMBER = re.compile(rb"\d:\d\d|\d{4}-\d\d-\d\d|/.*/|\b0x[0-9a-f]{4}|\.(?:py|cc|pth?|ckpt)\b")


class Place(NamedTuple):
    """A line with its numbers masked, and which of them."""

    masked: bytes
    position: int


class Printed(NamedTuple):
    """A number as it stands in a log, and the line it stands on, from 0."""

    text: bytes
    line: int
    #: What stands around it, up to white space.
    word: bytes


def places(log: bytes) -> dict[Place, list[Printed]]:
    """Return what is printed at each place of a log, in order."""
    printed = defaultdict(list)
    for line, text in enumerate(log.split(b"\n")):
        shown = ESCAPES.sub(b"", text.rstrip(b"\r").rpartition(b"\r")[2])
        masked = b" ".join(NUMBER.sub(b"#", shown).split())
        for position, number in enumerate(NUMBER.finditer(shown)):
            printed[Place(masked, position)].append(Printed(number.group(), line, _word_around(shown, number)))
    return printed


def _word_around(line: bytes, number: re.Match[bytes]) -> bytes:
    prefix = PREFIX.match(line)
    if prefix and number.end() <= prefix.end():
        return prefix.group()
    before, behind = line[: number.start()].split(b" ")[-1], line[number.end() :].split(b" ")[0]
    return before + number.group() + behind


def differing(one: bytes, other: bytes) -> dict[Place, tuple[list[Printed], list[Printed]]]:
    """Return the places at which two logs show different numbers, with what each shows there."""
    first, second = places(one), places(other)
    pairs = {place: (first.get(place, []), second.get(place, [])) for place in {**first, **second}}
    return {place: (a, b) for place, (a, b) in pairs.items() if [each.text for each in a] != [each.text for each in b]}
