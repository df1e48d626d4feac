"""What two runs of an experiment that are there recorded, and where it first differs."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from deviate.core.experiment import Experiment
from deviate.core.factors import SEEDED
from deviate.observe.fingerprints import WEIGHTS, Fingerprint, agree, equal_draws
from deviate.observe.identity import Difference, first_difference
from deviate.observe.observation import repeatable_series
from deviate.observe.records import read_run
from deviate.store.folders import RunFolder
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


def compare_recorded(experiment: Experiment, first: RunFolder, second: RunFolder) -> Recorded:
    """Compare what two runs of an experiment recorded."""
    prints = [read_run(folder).fingerprints for folder in (first, second)]
    series = [repeatable_series(folder, experiment.metrics) for folder in (first, second)]
    ended = all(isinstance(folder.read_outcome(), Completed) for folder in (first, second))
    value = first_difference(second.run.folder, series[1], first.run.folder, series[0], ended=ended)
    draws = other_draws(*prints)
    weights = agree(prints[0].get(WEIGHTS), prints[1].get(WEIGHTS))
    is_equal = value is None and not draws and ended and bool(series[0]) and weights is not False
    return Recorded(draws=draws, value=value, is_equal=is_equal)


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
