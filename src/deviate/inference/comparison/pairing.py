"""Do run k of one side and run k of the other belong together? Only if they provably drew the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from deviate.collect.fingerprints import Fingerprint, agree
from deviate.contrast.choice import LEAST_PAIRED
from deviate.factors import SEEDED
from deviate.inference.comparison.draws import repeated_draws
from deviate.inference.comparison.options import PairingMode
from deviate.inference.comparison.side import Side
from deviate.results.sample import Sample

#: Why runs are paired or not. ``off`` and ``on``: as the user says; ``few``: too few runs have a partner; ``proven``
#: and ``unproven``: fingerprints show that runs of one index drew the same, or do not; ``alike``: those of all
#: indices did.
PairingReason = Literal["off", "on", "few", "proven", "unproven", "alike"]


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs of two sides belong together, and why."""

    #: Labels of the sides.
    a: str
    b: str
    reason: PairingReason
    #: Indices that both sides have; empty where runs are not paired.
    indices: list[int] = []
    #: Factors for which runs of one index drew the same, and of different indices did not; ``alike``: for which
    #: all runs did.
    shared: list[str] = []
    #: Runs of the larger side, and those of them with a partner.
    runs: int
    partners: int

    def positions(self, a: Sample, b: Sample) -> list[tuple[int, int]]:
        """Return the positions in the values of each side of the runs that belong together and have both values."""
        return self.places(a.runs, b.runs)

    def places(self, runs_a: Sequence[int], runs_b: Sequence[int]) -> list[tuple[int, int]]:
        """Return the places in two lists of indices of the runs that belong together and stand in both."""
        at_a, at_b = ({run: position for position, run in enumerate(runs)} for runs in (runs_a, runs_b))
        return [(at_a[index], at_b[index]) for index in self.indices if index in at_a and index in at_b]


def pair_runs(a: Side, b: Side, mode: PairingMode) -> Pairing:
    """Find the runs that belong together.

    ``auto`` pairs runs of one index if fingerprints prove that for at least one factor they drew the same while runs of
    different indices drew differently. Equal seeds alone prove nothing: another model, data set or batch size turns the
    same seed into other draws.
    """
    common = sorted(a.prints.keys() & b.prints.keys())
    runs = max(len(a.prints), len(b.prints))
    shared = [] if mode == "off" else [name for name in SEEDED if _is_shared(name, a, b, common)]
    reason = _reason(mode, few=len(common) < LEAST_PAIRED * runs, shared=bool(shared))
    alike = repeated_draws(a, b).shared if reason == "unproven" else []
    return Pairing(
        a=a.label,
        b=b.label,
        reason="alike" if alike else reason,
        indices=common if reason in ("on", "proven") else [],
        shared=alike or shared,
        runs=runs,
        partners=len(common),
    )


def _reason(mode: PairingMode, *, few: bool, shared: bool) -> PairingReason:
    if mode == "off" or not (shared or mode == "on"):
        return "off" if mode == "off" else "unproven"
    if few:
        return "few"
    return "on" if mode == "on" else "proven"


def _is_shared(name: str, a: Side, b: Side, indices: Sequence[int]) -> bool:
    first, second = ([side.prints[index].get(name) for index in indices] for side in (a, b))
    if len(indices) < 2 or not _varies(first) or not _varies(second):
        return False
    return all(agree(left, right) is True for left, right in zip(first, second, strict=True))


def _varies(prints: Sequence[Fingerprint | None]) -> bool:
    known = [fingerprint.first for fingerprint in prints if fingerprint is not None]
    return len(known) == len(prints) == len(set(known))
