"""What comparisons of the same runs claimed before, one metric or one pair after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from deviate.inference.comparison.families import Claimed
from deviate.inference.comparison.looks import Labels, recorded_side
from deviate.inference.comparison.side import Side
from deviate.replicate.workspace.folders import Workspace
from deviate.replicate.workspace.looks import Claim, RecordedLooks, last_claim

#: Labels of two sides, and the name of a metric on the first.
Key = tuple[str, str, str]


def claims_before(workspace: Workspace, sides: Sequence[Side]) -> int:
    """Return how many comparisons of any of the sides claimed something new before."""
    return last_claim(workspace, [recorded_side(side) for side in sides])


def claimed_when(
    names: Mapping[Key, str], claimed: Collection[str], looks: Mapping[Labels, RecordedLooks], before: int
) -> dict[Key, Claimed]:
    """Tell when each metric of each two sides was first claimed.

    `names` are those under which claims are recorded; `before` is the number of earlier claims about the sides.
    """
    earlier = {
        (*labels, name): Claimed(claim.number, claim.tests)
        for labels, each in looks.items()
        for claim in each.claims
        for name in claim.metrics
    }
    return {key: earlier.get((*key[:2], name), Claimed(before + 1)) for key, name in names.items() if key[2] in claimed}


def recorded_name(names: Iterable[str]) -> str:
    """Return the name under which a claim about a metric of two sides is recorded, whichever side is typed first."""
    return min(names)


def new_claims(
    tested: Mapping[Labels, Sequence[str]], looks: Mapping[Labels, RecordedLooks], before: int
) -> dict[Labels, Claim]:
    """Return what is claimed of each two sides for the first time; `tested` are the names of what could be tested."""
    known = {labels: {name for claim in each.claims for name in claim.metrics} for labels, each in looks.items()}
    fresh = {labels: [name for name in names if name not in known[labels]] for labels, names in tested.items()}
    tests = sum(map(len, fresh.values()))
    return {labels: Claim(metrics=names, number=before + 1, tests=tests) for labels, names in fresh.items() if names}
