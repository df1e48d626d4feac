"""Where two runs part: at which step, by their marks; and in what two stored runs recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from deviate.core.factors import SEEDED
from deviate.observe.fingerprints import WEIGHTS, Fingerprint, agree, equal_draws
from deviate.observe.identity import Difference, first_difference
from deviate.observe.observation import repeatable_series
from deviate.observe.records import read_run
from deviate.probes.certificate import Change, surrounding_changes
from deviate.probes.certify import environment_of
from deviate.probes.divergence.records import Mark
from deviate.store.folders import ExperimentFolder, RunFolder
from deviate.store.run_files import Completed

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


# What two runs of an experiment that are there recorded.


class OtherDraws(msgspec.Struct, frozen=True, kw_only=True):
    """A factor for which two runs drew other numbers."""

    factor: str
    #: After so many draws both are known to have drawn the same.
    equal: int


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """How the records of two runs differ."""

    #: The one that differs first comes first.
    draws: list[OtherDraws]
    #: The first value; null where all are equal.
    value: Difference | None
    #: False: draws or values were not recorded, or final weights differ, so that equal records prove nothing.
    is_equal: bool
    #: What is another in the surroundings of two runs of two experiments, and may decide how numbers come out.
    environment: list[Change] = []


#: An experiment and a run of it.
Of = tuple[ExperimentFolder, RunFolder]


def compare_recorded(first: Of, second: Of) -> Recorded:
    """Compare what two runs recorded, of one experiment or of two."""
    files = [read_run(run) for _, run in (first, second)]
    prints = [each.fingerprints for each in files]
    made = [folder.read_experiment() for folder, _ in (first, second)]
    series = [repeatable_series(run, its.metrics) for its, (_, run) in zip(made, (first, second), strict=True)]
    ended = all(isinstance(run.read_outcome(), Completed) for _, run in (first, second))
    names = [run.run.folder for _, run in (first, second)]
    value = first_difference(names[1], series[1], names[0], series[0], ended=ended, word=made[0].word)
    draws = other_draws(*prints)
    weights = agree(prints[0].get(WEIGHTS), prints[1].get(WEIGHTS))
    is_equal = value is None and not draws and ended and bool(series[0]) and weights is not False
    is_one = first[0].path == second[0].path
    environment = [] if is_one else surrounding_changes(*map(environment_of, files))
    return Recorded(draws=draws, value=value, is_equal=is_equal, environment=environment)


def other_draws(first: Mapping[str, Fingerprint], second: Mapping[str, Fingerprint]) -> list[OtherDraws]:
    """Return the factors for which two runs drew other numbers, the one that differs after the fewest draws first.

    Content that differs and was made with equal draws is none: that comes of what is not drawn.
    """
    differing = [
        OtherDraws(factor=name, equal=equal_draws(first[name], second[name]))
        for name in SEEDED
        if name in first and name in second and agree(first[name], second[name]) is False
        if first[name].drawn is None or first[name].drawn != second[name].drawn
    ]
    return sorted(differing, key=lambda each: each.equal)
