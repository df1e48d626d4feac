"""Why two probes report other values though they drew the same: a cause that no fingerprint shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from deviate.analyse.unseen import Hidden, Suspect
from deviate.collect.fingerprints import WEIGHTS, Fingerprint, agree, is_made_otherwise
from deviate.collect.identity import Difference, Series, first_difference

#: ``unknown``: holding still what can be held still does not help, or it was not tried.
CauseKind = Literal[Hidden, "unknown"]


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """What makes runs report other values though they draw the same."""

    kind: CauseKind
    #: Lines where it may enter; empty where the source shows none.
    lines: list[Suspect] = []
    #: The first value that differs; None where only the final weights do.
    difference: Difference | None = None
    #: True: runs of the program as it is differ by it; False: they would on another machine, or in a used folder.
    here: bool = True
    #: False: runs differ by it under control, too; null: not tried.
    held: bool | None = None
    #: False: what helps was not tried.
    tried: bool = True
    #: Files that an earlier run left, which later ones find.
    files: list[str] = []
    #: What could not be held still: the probes of it failed, or were ended before values could differ.
    failed: list[Hidden] = []
    #: The files are in the project, so that each run begins with them.
    in_project: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a probe showed."""

    name: str
    prints: Mapping[str, Fingerprint]
    series: Mapping[str, Series]
    #: It ran to its end.
    ended: bool
    #: It ran, and did not fail.
    usable: bool
    #: Its copy of the project, and the files that it left there, relative to it.
    copy: Path | None = None
    left: tuple[str, ...] = ()
    #: Values of metrics that it reported in text alone.
    printed: Mapping[str, Series] = field(default_factory=dict)

    def beside(self, other: Outcome) -> dict[str, Series]:
        """Return the values to compare with those of another probe: of text, what both reported."""
        return {**{name: each for name, each in self.printed.items() if name in other.printed}, **self.series}


@dataclass(frozen=True)
class Conditions:
    """What is held still, or turned round, in a probe."""

    #: Kinds of causes, and what the runtime calls turned round: ``files-reversed``, ``memory-filled``.
    fixed: frozenset[str] = frozenset()
    #: PYTHONHASHSEED; empty: as the program has it.
    hash_seed: str = ""
    #: Begin with the files that this probe left.
    after: Outcome | None = None
    #: Draw otherwise than other probes under control: what they left may count only then, as a best value does.
    varied: bool = False
    #: Files of the project, relative to it, that the probe begins without.
    without: tuple[str, ...] = ()


#: Outcome of a probe that was not made, or from which nothing follows.
NOTHING = Outcome("", {}, {}, ended=False, usable=False)


@dataclass(frozen=True)
class Place:
    """How far a probe has to come to show that something makes it equal to another."""

    #: Where values differ, and how many of them a probe has to record; empty: it has to come to its end.
    metric: str = ""
    values: int = 0

    def is_passed(self, outcome: Outcome) -> bool:
        """Tell whether a probe came so far; one that failed did not."""
        series = outcome.beside(outcome).get(self.metric)
        return outcome.usable and (outcome.ended or (series is not None and len(series.values) >= self.values > 0))


def difference_place(pair: Sequence[Outcome], difference: Difference | None) -> Place:
    """Return the place of the first difference between two probes."""
    if difference is None:
        return Place()
    first, second = (outcome.beside(outcome).get(difference.metric) for outcome in pair)
    index = None if first is None or second is None else first.first_difference(second)
    return Place() if index is None else Place(difference.metric, index + 1)


def value_difference(one: Outcome, other: Outcome) -> Difference | None:
    """Return the first value in which two probes differ, as far as both went."""
    whole = one.ended and other.ended
    return first_difference(other.name, other.beside(one), one.name, one.beside(other), ended=whole)


def differ(one: Outcome, other: Outcome) -> bool:
    """Tell whether two probes reported other values, or have other weights; False where nothing tells."""
    if not (one.usable and other.usable):
        return False
    if value_difference(one, other) is not None:
        return True
    if any(is_made_otherwise(each, other.prints.get(name)) for name, each in one.prints.items()):
        return True
    return one.ended and other.ended and agree(one.prints.get(WEIGHTS), other.prints.get(WEIGHTS)) is False
