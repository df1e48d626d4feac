"""At which step two runs part: the marks of one set against those of the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from deviate.probes.divergence.records import Mark

Unit = Literal["update", "iteration"]


class Bracket(msgspec.Struct, frozen=True, kw_only=True):
    """Between which marks two runs part."""

    unit: Unit
    #: The last step whose mark is equal, -1 where none is; and the first whose mark differs.
    equal: int
    differs: int
    #: The parts of the step that differ, in the order in which they come about.
    parts: list[str]
    #: What differs is what the program ended with.
    at_end: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether no step lies between."""
        return self.differs - self.equal == 1


#: Parts of a step in the order in which they come about; states of generators are last, as draws show in other parts.
GENERATOR = "generator "
ORDER = ("weights", "batch", "loss", "gradients", "state")


def unit_of(first: Sequence[Mark], second: Sequence[Mark]) -> Unit:
    """Return what steps are counted in: updates where both runs make some."""
    updates = all(any(mark.unit == "update" and not mark.end for mark in marks) for marks in (first, second))
    return "update" if updates else "iteration"


def compare_marks(first: Sequence[Mark], second: Sequence[Mark], unit: Unit) -> Bracket | None:
    """Return between which marks two runs part; None where all that both have are equal."""
    theirs = {mark.step: mark for mark in second if mark.unit == unit}
    equal, unseeded = -1, set[str]()
    for mark in first:
        other = theirs.get(mark.step) if mark.unit == unit else None
        if other is None:
            continue
        parts = [part for part in differing_parts(mark, other) if part not in unseeded]
        if equal < 0:
            # Nobody seeds them; what was drawn from them shows in other parts.
            unseeded.update(part for part in parts if part.startswith(GENERATOR))
            parts = [part for part in parts if part not in unseeded]
        if parts:
            return Bracket(unit=unit, equal=equal, differs=mark.step, parts=parts, at_end=mark.end)
        equal = mark.step
    return None


def differing_parts(first: Mark, second: Mark) -> list[str]:
    """Return the parts of a step that differ."""
    if first.end != second.end:
        return ["number of steps"]
    names = [name for name in first.parts if name in second.parts and first.parts[name] != second.parts[name]]
    return sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


def common_steps(first: Sequence[Mark], second: Sequence[Mark], unit: Unit) -> int:
    """Return how many steps both runs are known to have made, of those in which something can be compared."""
    made = ([mark.step - mark.end for mark in marks if mark.unit == unit and mark.parts] for marks in (first, second))
    return min(max(steps, default=-1) for steps in made) + 1
