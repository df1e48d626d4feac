"""Settings that a program lists: a search prints those that it draws, so that runs differ in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from deviate.lexicon.words import is_in_settings, is_metric_word, is_schedule, meaning_of, word_lists, words_of
from deviate.observe.output.slots import Slot
from deviate.observe.output.templates import LIST, NUMBER
from deviate.observe.output.text import read_number

INSIDE = "it stands in a list of settings"
OBJECT = "it stands in the text of an object"
NAMED = "the name is in a list of settings that the program prints"

_HEADS = word_lists("listings")["heads of lists"]
_BRACKET = re.compile(r"[\[({]|[\])}]")
_FIELD = re.compile(f"{NUMBER}|{LIST}")
#: A line of a printed model, ``(norm): LayerNorm(``, or of the table of its layers, ``1 | acc | BinaryAccuracy | 0``.
_LAYER = re.compile(
    rf"\((?:\w[\w.]*|{NUMBER})\): [A-Z]\w*\("
    rf"|[│|]? ?{NUMBER} ?[│|] ?\w[\w.]* ?[│|] ?[A-Z](?=\w*[A-Z])(?=\w*[a-z])\w* ?[│|]"
)
#: The first numbers in the text of an object, and settings behind them: ``LayerNorm((96,), eps=1e-05)``.
_CLASS = re.compile(rf"\b[A-Z](?=\w*[a-z])\w*[A-Z]\w*\(\(?(?:{NUMBER}, ?)*$")
_SETTINGS_BEHIND = re.compile(rf"{NUMBER}(?:,? ?{NUMBER})*,?\)?, ?\w+=")
#: Characters before a bracket in which its head is looked for.
_REACH = 40

Key = tuple[str, str, int]


def listed_settings(slots: Iterable[Slot]) -> dict[Key, str]:
    """Return the slots that show settings, with the reason: those in a list of them, and others with their names.

    What is better when it is higher or lower by its name is none, but for the numbers of a layer, which have its name.
    """
    slots = list(slots)
    objects = {slot.key: OBJECT for slot in slots if _in_object(slot)}
    every = [slot for slot in slots if not _is_judged_by_name(slot.words)]
    inside = {slot.key for slot in every if _in_list(slot)}
    names = {slot.words for slot in every if slot.key in inside and slot.words}
    return objects | {
        slot.key: INSIDE if slot.key in inside else NAMED for slot in every if slot.key in inside or slot.words in names
    }


def _in_object(slot: Slot) -> bool:
    """Whether a slot stands in a line of a printed model, or is what an object was made with."""
    before = _before(slot)
    is_first = _CLASS.search(before) is not None and _SETTINGS_BEHIND.match(slot.template, len(before)) is not None
    return is_first or _LAYER.match(slot.template) is not None


def _is_judged_by_name(words: str) -> bool:
    meaning = meaning_of(words)
    return meaning is not None and meaning.direction is not None


def _in_list(slot: Slot) -> bool:
    """Whether a slot stands in brackets that are headed by a word for settings: ``parameters: {'depth': 3``."""
    before = _before(slot)
    opened: list[int] = []
    for bracket in _BRACKET.finditer(before):
        if bracket[0] in "[({":
            opened.append(bracket.start())
        elif opened:
            opened.pop()
    return any(_is_headed(before[max(0, at - _REACH) : at]) for at in opened)


def _before(slot: Slot) -> str:
    """Return the text of a template before a slot; items of lists have positions of their own."""
    fields = [field.start() for field in _FIELD.finditer(slot.template)]
    return slot.template[: fields[min(slot.position, len(fields) - 1)]] if fields else ""


def _is_headed(text: str) -> bool:
    """Whether the last word before a bracket, or the one before it, is for settings: ``args: Namespace(``."""
    ends = re.search(r"(?:(\w+)['\"]?\s*[:=]\s*)?(\w*)['\"]?\s*[:=]?\s*$", text)
    words = [word for word in (ends.groups() if ends else ()) if word]
    return any(not _HEADS.isdisjoint(words_of(word)[-1:]) for word in words)


# Settings among the values of a mapping: ``results = {"accuracy": 0.9, "learning_rate": 0.1}``.

_SETTINGS = word_lists("judge")["settings"]


def options_given(command: Sequence[str]) -> dict[str, float]:
    """Return the numbers that a command gives to options, by their names.

    Examples
    --------
    >>> options_given(["python", "train.py", "--top-k", "20", "--lr=0.1", "depth=3"])
    {'top_k': 20.0, 'lr': 0.1, 'depth': 3.0}
    """
    followed = zip(command, [*command[1:], ""], strict=True)
    pairs = (word.partition("=")[::2] if "=" in word else (word, after) for word, after in followed)
    found = ((name.lstrip("-").replace("-", "_").rpartition(".")[2], read_number(text)) for name, text in pairs)
    return {name: number[0] for name, number in found if name and number is not None}


def is_setting(name: str, value: float, given: Mapping[str, float]) -> bool:
    """Tell whether a number that never changes is a setting: by its name, or since the command gives it.

    `given` are the numbers of the command, see `options_given`.
    """
    own = name.rpartition("/")[2]
    if given.get(own.replace("-", "_")) == value or is_in_settings(name):
        return True
    return not is_metric_word(name) and (is_schedule(own) or not _SETTINGS.isdisjoint(words_of(own)))
