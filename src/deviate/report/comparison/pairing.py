"""Do run k of one side and run k of the other belong together? Only if they provably drew the same."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from deviate.collect.fingerprints import Fingerprint, agree
from deviate.contrast.choice import LEAST_PAIRED
from deviate.factors import SEEDED
from deviate.report.comparison.inputs import Pairing, Side, SideMetric
from deviate.report.comparison.parts import PairComparison
from deviate.report.words import listed


class Partners(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that belong together."""

    #: Indices that both sides have; empty where runs are not paired.
    indices: list[int]
    #: Factors for which runs of one index drew the same, and runs of different indices did not.
    shared: list[str]
    #: What pairing rests on, or why there is none.
    reason: str

    def places(self, a: SideMetric, b: SideMetric) -> list[tuple[int, int]]:
        """Return the places in the values of each side of the runs that belong together and have both values."""
        at_a, at_b = ({run: place for place, run in enumerate(side.runs)} for side in (a, b))
        return [(at_a[index], at_b[index]) for index in self.indices if index in at_a and index in at_b]


def partners(a: Side, b: Side, wanted: Pairing) -> Partners:
    """Find the runs that belong together.

    Parameters
    ----------
    a, b : Side
        The sides, with the fingerprints of what their runs drew.
    wanted : {'auto', 'on', 'off'}
        ``auto`` pairs runs of one index if fingerprints prove that for at least one factor they drew the same while
        runs of different indices drew differently. Equal seeds alone prove nothing: another model, data set or batch
        size turns the same seed into other draws.
    """
    if wanted == "off":
        return Partners(indices=[], shared=[], reason="Runs are not paired, as asked.")
    indices = sorted(a.prints.keys() & b.prints.keys())
    shared = [name for name in SEEDED if _is_shared(name, a, b, indices)]
    most = max(len(a.prints), len(b.prints))
    if (shared or wanted == "on") and len(indices) < LEAST_PAIRED * most:
        reason = (
            f"Runs are not paired: {len(indices)} of {most} runs have a partner on the other side, too few to do so."
        )
        return Partners(indices=[], shared=shared, reason=reason)
    if wanted == "on":
        return Partners(
            indices=indices, shared=shared, reason=f"Runs of one index are paired, as asked{_proof(shared)}."
        )
    if not shared:
        return Partners(
            indices=[],
            shared=[],
            reason="Runs are not paired: nothing shows that runs of one index drew the same on both sides.",
        )
    return Partners(
        indices=indices,
        shared=shared,
        reason=f"Runs of one index are paired: fingerprints agree in {listed(shared)} and differ between indices.",
    )


def pairing_sentences(pairs: Sequence[PairComparison]) -> list[str]:
    """Say what pairing rests on, or why there is none: once, and of several pairs of which.

    Parameters
    ----------
    pairs : sequence of PairComparison
        Every two sides that are compared.
    """
    by_reason: dict[str, list[str]] = {}
    for pair in pairs:
        by_reason.setdefault(pair.pairing, []).append(f"between {pair.a} and {pair.b}")
    told = {reason: names for reason, names in by_reason.items() if reason}
    if len(pairs) < 2:
        return list(told)
    between = {
        reason: "between any two" if len(names) == len(pairs) else listed(names) for reason, names in told.items()
    }
    return [f"{where[:1].upper()}{where[1:]}, {reason[:1].lower()}{reason[1:]}" for reason, where in between.items()]


def _is_shared(name: str, a: Side, b: Side, indices: list[int]) -> bool:
    ours = [a.prints[index].get(name) for index in indices]
    theirs = [b.prints[index].get(name) for index in indices]
    if len(indices) < 2 or not _varies(ours) or not _varies(theirs):
        return False
    return all(agree(one, other) is True for one, other in zip(ours, theirs, strict=True))


def _varies(prints: list[Fingerprint | None]) -> bool:
    known = [found.first for found in prints if found is not None]
    return len(known) == len(prints) == len(set(known))


def _proof(shared: list[str]) -> str:
    if shared:
        return f"; their fingerprints agree in {listed(shared)}"
    return "; no fingerprint shows that they drew the same, so the pairing is yours to vouch for"
