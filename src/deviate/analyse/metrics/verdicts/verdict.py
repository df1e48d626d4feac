"""What is said of a reported value: a metric with a meaning, or the reason against it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from deviate.analyse.findings import Reason
from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.values import From, Value
from deviate.analyse.metrics.verdicts.variables import last_name
from deviate.analyse.naming.words import UNNAMED, Meaning, meaning_of
from deviate.analyse.texts.reported import ReportedValue


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
