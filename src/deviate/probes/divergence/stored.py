"""What two runs of an experiment that are there recorded, and where it first differs."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from deviate.core.factors import SEEDED
from deviate.observe.fingerprints import WEIGHTS, Fingerprint, agree, equal_draws
from deviate.observe.identity import Difference, first_difference
from deviate.observe.observation import repeatable_series
from deviate.observe.records import read_run
from deviate.probes.certificate import Change, surrounding_changes
from deviate.probes.certify import environment_of
from deviate.store.folders import ExperimentFolder, RunFolder
from deviate.store.run_files import Completed


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
