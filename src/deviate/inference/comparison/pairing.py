"""Do run k of one side and run k of the other belong together? Only if they provably drew the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import msgspec

from deviate.collect.fingerprints import Fingerprint, agree
from deviate.contrast.choice import FEWEST_PAIRS, LEAST_PAIRED
from deviate.factors import SEEDED
from deviate.inference.comparison.draws import repeated_draws
from deviate.inference.comparison.options import PairingMode
from deviate.inference.comparison.side import Side
from deviate.results.sample import Sample

#: Why runs are paired or not. ``off`` and ``on``: as the user says; ``few``: too few runs have a partner; ``proven``
#: and ``unproven``: fingerprints show that partners drew the same, or do not; ``alike``: those of all
#: runs did.
PairingReason = Literal["off", "on", "few", "proven", "unproven", "alike"]


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs of two sides belong together, and why."""

    #: Labels of the sides.
    a: str
    b: str
    reason: PairingReason
    #: Indices of the runs of the first side that are paired; empty where runs are not paired.
    indices: list[int] = []
    #: Factors for which runs of one index drew the same, and of different indices did not; ``alike``: for which
    #: all runs did.
    shared: list[str] = []
    #: Runs of the larger side, and those of them with a partner.
    runs: int
    partners: int
    #: Index on each side of the runs that belong together.
    pairs: list[tuple[int, int]] = []
    #: The name that two runs have in their sources, where partners were found by names; empty where by index.
    named: str = ""
    #: Runs that are in no pair, such as ``seed 4 of A``; empty where runs are not paired.
    alone: list[str] = []

    def positions(self, a: Sample, b: Sample) -> list[tuple[int, int]]:
        """Return the positions in the values of each side of the runs that belong together and have both values."""
        return self.places(a.runs, b.runs)

    def places(self, runs_a: Sequence[int], runs_b: Sequence[int]) -> list[tuple[int, int]]:
        """Return the places in two lists of indices of the runs that belong together and stand in both."""
        at_a, at_b = ({run: position for position, run in enumerate(runs)} for runs in (runs_a, runs_b))
        return [(at_a[i], at_b[j]) for i, j in self.pairs if i in at_a and j in at_b]


def pair_runs(a: Side, b: Side, mode: PairingMode) -> Pairing:
    """Find the runs that belong together.

    Partners are runs of one name where both sides were imported and share names, and runs of one index elsewhere.
    ``auto`` pairs them if fingerprints prove that for at least one factor they drew the same while runs of
    different pairs drew differently. Equal seeds alone prove nothing: another model, data set or batch size turns the
    same seed into other draws.
    """
    by_name = _namesakes(a, b)
    partners = by_name or [(index, index) for index in sorted(a.prints.keys() & b.prints.keys())]
    runs = max(len(a.prints), len(b.prints))
    shared = [] if mode == "off" else [name for name in SEEDED if _is_shared(name, a, b, partners)]
    reason = _reason(
        mode, few=len(partners) < (FEWEST_PAIRS if mode == "on" else LEAST_PAIRED * runs), shared=bool(shared)
    )
    alike = repeated_draws(a, b).shared if reason == "unproven" else []
    pairs = partners if reason in ("on", "proven") else []
    return Pairing(
        a=a.label,
        b=b.label,
        reason="alike" if alike else reason,
        indices=[i for i, _ in pairs],
        shared=alike or shared,
        runs=runs,
        partners=len(partners),
        pairs=pairs,
        named=a.labels[by_name[0][0]] if by_name and pairs else "",
        alone=[*_alone(a, {i for i, _ in pairs}), *_alone(b, {j for _, j in pairs})] if pairs else [],
    )


def _namesakes(a: Side, b: Side) -> list[tuple[int, int]]:
    """Return the runs of two imported sides that have one name; those of a name that comes twice have no partner."""
    first, second = (_by_name({run: side.labels[run] for run in side.prints if run in side.labels}) for side in (a, b))
    return sorted((first[name], second[name]) for name in first.keys() & second.keys())


def _by_name(labels: Mapping[int, str]) -> dict[tuple[str, ...], int]:
    """Return the runs of a side by what tells them apart in their names: ``("4",)`` of ``base_s4.log``.

    Examples
    --------
    >>> _by_name({0: "base_s4.log", 1: "base_s10.log"})
    {('4',): 0, ('10',): 1}
    >>> _by_name({0: "seed 1", 1: "seed 1", 2: "seed 2"})
    {('2',): 2}
    """
    parts = {run: tuple(re.findall(r"\d+|\D+", label)) for run, label in labels.items()}
    alike = len({len(each) for each in parts.values()}) == 1
    places = (
        [place for place, column in enumerate(zip(*parts.values(), strict=True)) if len(set(column)) > 1]
        if alike
        else []
    )
    names = {run: tuple(each[place] for place in places) or each for run, each in parts.items()}
    counted = Counter(names.values())
    return {name: run for run, name in names.items() if counted[name] == 1}


def _alone(side: Side, paired: Collection[int]) -> list[str]:
    return [f"{side.labels.get(run, f'run {run}')} of {side.label}" for run in side.prints if run not in paired]


def _reason(mode: PairingMode, *, few: bool, shared: bool) -> PairingReason:
    if mode == "off" or not (shared or mode == "on"):
        return "off" if mode == "off" else "unproven"
    if few:
        return "few"
    return "on" if mode == "on" else "proven"


def _is_shared(name: str, a: Side, b: Side, partners: Sequence[tuple[int, int]]) -> bool:
    first, second = [a.prints[i].get(name) for i, _ in partners], [b.prints[j].get(name) for _, j in partners]
    if len(partners) < 2 or not _varies(first) or not _varies(second):
        return False
    return all(agree(left, right) is True for left, right in zip(first, second, strict=True))


def _varies(prints: Sequence[Fingerprint | None]) -> bool:
    known = [fingerprint.first for fingerprint in prints if fingerprint is not None]
    return len(known) == len(prints) == len(set(known))
