"""What the name of a variable says of its value."""

from __future__ import annotations

import re

from deviate.analyse.naming.words import (
    is_bookkeeping,
    is_counting,
    is_metric_word,
    meaning_of,
    without_unit,
    word_lists,
    words_of,
)

_LISTS = word_lists(__file__)
_SAMPLES = _LISTS["samples"]
COEFFICIENTS = _LISTS["coefficients"]
FLAGS = _LISTS["flags"]
IDENTIFIERS = _LISTS["identifiers"]
NUMBERS_OF_THINGS = _LISTS["numbers of things"]
PICTURES = _LISTS["pictures"]
PREDICTIONS = _LISTS["predictions"]
#: Last words of names that hold settings, whatever the words before mean.
SETTINGS = {"args", "cfg", "config", "hparams", "kwargs", "params"}
#: Sinks that keep what was predicted, too.
FILES = {"json", "csv", "file", "kept"}
#: What looks something up, or has a value for each place: no mean average precision.
_LOOK_UP = re.compile(
    r"(^|_)(label|id|idx|index|name|token|word|char|colou?r|feat(ure)?|att(ention|n)|heat|depth|saliency)s?_?maps?$"
)


def last_name(variable: str) -> str:
    """Last part of a dotted variable, or the key of an item: its own name."""
    key = re.search(r"\[['\"]([^'\"]+)['\"]\]$", variable)
    if key is not None:
        return key[1]
    return re.sub(r"(\(\)|(\[[^\[\]]*\])+)$", "", variable).rpartition(".")[2]


def last_word(variable: str) -> str:
    """Last word of a variable's own name, a unit left out."""
    return next(reversed(words_of(without_unit(last_name(variable)))), "")


def looks_up(name: str) -> bool:
    """Whether a name is of what maps things to others, or places to values: ``label_map``."""
    return _LOOK_UP.search(name.lower()) is not None


def names_quality(name: str) -> bool:
    """Whether a name is of a quality that is better higher or lower, be it by a word that also means other things."""
    meaning = meaning_of(name) if not is_counting(name) else None
    is_clear = meaning is not None and (meaning.direction is not None or is_metric_word(name))
    return is_clear and meaning is not None and meaning.kind == "quality"


def names_samples(variable: str) -> bool:
    """Whether a variable is called after samples, models or files."""
    words = words_of(last_name(variable))
    return bool(words) and words[-1] in _SAMPLES


def names_count(name: str) -> bool:
    """Whether a name begins like that of a number of things: ``num_steps``."""
    return bool(re.match(r"(num|n|total|max|min)_", name)) and not is_metric_word(name)


def names_position(name: str) -> bool:
    """Whether a name says how far something is, and cannot be of a sum or a share: ``epoch``, ``i``."""
    return is_bookkeeping(name) or name in {"i", "j", "k", "n"}


def weighs_loss(name: str) -> bool:
    """Whether a name is of what a part of the loss is multiplied with: ``loss_weights``."""
    words = words_of(name)
    return words[-1:] in {("weight",), ("weights",)} and "loss" in words[:-1]
