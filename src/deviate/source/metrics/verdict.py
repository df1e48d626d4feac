"""What is said of a reported value: a metric with a meaning, or the reason against it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from deviate.lexicon.words import (
    UNNAMED,
    Meaning,
    is_bookkeeping,
    is_counting,
    is_metric_word,
    meaning_of,
    without_unit,
    word_lists,
    words_of,
)
from deviate.source.findings import Reason
from deviate.source.flow.program import Evaluator
from deviate.source.flow.values import From, Value
from deviate.source.texts import ReportedValue

# What the name of a variable says of its value.

_LISTS = word_lists("variables")
_SAMPLES = _LISTS["samples"]
FLAGS = _LISTS["flags"]
IDENTIFIERS = _LISTS["identifiers"]
NUMBERS_OF_THINGS = _LISTS["numbers of things"]
PICTURES = _LISTS["pictures"]
PREDICTIONS = _LISTS["predictions"]
#: Last words of names that hold settings, whatever the words before mean.
SETTINGS = {"args", "cfg", "config", "hparams", "kwargs", "params"}
#: Sinks that keep what was predicted, too.
FILES = {"json", "csv", "file", "kept"}


def last_name(variable: str) -> str:
    """Last part of a dotted variable, or the key of an item: its own name."""
    key = re.search(r"\[['\"]([^'\"]+)['\"]\]$", variable)
    if key is not None:
        return key[1]
    return re.sub(r"(\(\)|(\[[^\[\]]*\])+)$", "", variable).rpartition(".")[2]


def last_word(variable: str) -> str:
    """Last word of a variable's own name, a unit left out."""
    return next(reversed(words_of(without_unit(last_name(variable)))), "")


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


@dataclass(frozen=True)
class Verdict:
    """Either a metric, with how sure that is, or the reason against it."""

    confidence: float = 0.0
    why: str = ""
    meaning: Meaning | None = None
    reason: Reason | None = None


@dataclass(frozen=True)
class Case:
    """A reported value, with all that the verdict on it rests on."""

    flow: Evaluator
    reported: ReportedValue
    value: Value
    #: The expression, as metrics are called by it.
    variable: str
    #: What tag, text and the object that reports call it.
    description: str
    sink: str

    @property
    def name(self) -> str:
        """The variable's own name."""
        return last_name(self.variable)

    @property
    def meaning(self) -> Meaning:
        """What origin and names say that the value measures."""
        if self.value.has(From.MEMORY) and not self.value.has(From.LIVE):
            return Meaning("resource", "lower")
        meaning = meaning_of(self.description) or meaning_of(self.variable)
        if (
            meaning is not None
            and meaning.kind == "resource"
            and self.value.has(From.LIVE)
            and not self.value.has(From.MEMORY)
        ):
            meaning = meaning_of(self.variable)
            meaning = None if meaning is not None and meaning.kind == "resource" else meaning
        # Where chance has its part it is no time alone: a loss of random weights that the clock changes.
        is_time = self.value.has(From.DURATION) and not self.value.has(From.LIVE, From.RANDOM)
        is_speed = meaning is not None and meaning.kind == "speed"
        if is_time and not is_speed:
            return _of_unit(self.reported.after) or Meaning("speed", "lower")
        if meaning is not None and is_speed and meaning.direction == "higher":
            return _of_unit(self.reported.after) or meaning  # ``speed 0.4 s/iter``
        return meaning or UNNAMED


_UNIT = re.compile(r" ?([A-Za-z]+ ?/ ?[A-Za-z]+|fps)\b(?!\s*[:=])")


def _of_unit(after: str) -> Meaning | None:
    """Return what the unit behind a value says of it, where that is of a time or a rate."""
    unit = _UNIT.match(after)
    meaning = meaning_of(unit[1]) if unit is not None else None
    return meaning if meaning is not None and meaning.kind == "speed" else None
