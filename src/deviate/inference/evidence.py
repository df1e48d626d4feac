"""What fingerprints prove of a variant: which factors varied, which were held, and which promise was broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from deviate.collect.fingerprints import (
    BATCHES,
    EXAMPLES,
    IN_BATCHES,
    INPUT,
    NAMES,
    are_comparable,
    classes,
    count_example_sets,
    is_constant,
    is_of_other_examples,
    is_replaced,
)
from deviate.factors import DATA, SEEDED, Variant
from deviate.results.run import RunResult

#: What a variant wants of a factor; ``follows``: it is the outcome of others; ``left``: nothing is wanted.
Meant = Literal["varies", "held", "follows", "left"]

#: What the fingerprints show. ``partly``: some runs are equal and some are not; ``unknown``: too few runs show it.
Shown = Literal["varied", "identical", "partly", "absent", "unknown"]

#: Fingerprints of content that is computed, not only drawn.
_COMPUTED = frozenset(("init", BATCHES, EXAMPLES, INPUT))

#: What the first input of the training is made of: noise that a generator takes, for instance, is of `other`.
_IN_INPUT = IN_BATCHES | {"other"}


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What fingerprints show of one factor, of the batches or of the final weights, over the runs of a variant."""

    name: str
    meant: Meant
    found: Shown
    #: Names of the runs, those together that have the same fingerprint.
    groups: list[list[str]]
    #: The variant promised otherwise.
    broken: bool = False
    #: Some runs drew more often than others.
    unequal: bool = False


def evidence_of(variant: Variant | None, runs: Sequence[RunResult]) -> list[Evidence]:
    """Judge each fingerprint of the completed runs of a variant.

    Returns
    -------
    list of Evidence
        Empty where nothing was looked at: the program left as it is, or no run whose processes recorded anything.
    """
    completed = [run for run in runs if run.status == "completed"]
    if variant is None or not any(run.prints for run in completed):
        return []
    prints = [run.prints for run in completed]
    # Not every program shows its examples and inputs, and other ones do not always prove that examples are others.
    shown = {INPUT: any(INPUT in each for each in prints), EXAMPLES: are_comparable(prints)}
    names = [name for name in NAMES if shown.get(name, True)]
    fixed = shown[EXAMPLES] and all(EXAMPLES in each for each in prints) and count_example_sets(prints) == 1
    return [_evidence(name, variant, completed, fixed=fixed) for name in names]


def broken(evidence: Sequence[Evidence], name: str) -> Evidence | None:
    """Return what shows that a promise about `name` was broken; None where nothing does."""
    return next((each for each in evidence if each.name == name and each.broken), None)


def _evidence(name: str, variant: Variant, runs: Sequence[RunResult], *, fixed: bool) -> Evidence:
    """Judge one fingerprint; `fixed`: all runs are known to have had the same examples."""
    seen = [run for run in runs if name in run.prints]
    if is_constant([run.prints[name] for run in seen]):
        seen = []
    groups = classes([run.name for run in seen], [run.prints[name] for run in seen])
    meant, shown = _meant(name, variant), _shown(groups, len(seen), len(runs))
    # Weights that are read from a file take the place of what was drawn; an order is one of the examples there are.
    replaced = shown == "identical" and is_replaced([run.prints[name] for run in seen])
    follows = name == "shuffle" and is_of_other_examples([run.prints for run in runs], name)
    return Evidence(
        name=name,
        meant=meant,
        found=shown,
        groups=groups,
        broken=_is_broken(name, meant, shown, variant, fixed=fixed) and not replaced and not follows,
        unequal=len({(run.prints[name].count, run.prints[name].length) for run in seen}) > 1,
    )


def _meant(name: str, variant: Variant) -> Meant:
    if not variant.controlled:
        return "left"
    if name in SEEDED:
        return "varies" if name in variant.varying else "held"
    before = {BATCHES: IN_BATCHES, EXAMPLES: frozenset((DATA,)), INPUT: _IN_INPUT}.get(name)
    if before is not None:
        return "follows" if variant.varying & before else "held"
    return "follows" if variant.varying or variant.disturbed else "held"


def _shown(groups: list[list[str]], seen: int, runs: int) -> Shown:
    if not seen:
        return "absent"
    if seen < runs or runs < 2:
        return "unknown"
    if len(groups) == 1:
        return "identical"
    return "varied" if len(groups) == seen else "partly"


def _is_broken(name: str, meant: Meant, shown: Shown, variant: Variant, *, fixed: bool) -> bool:
    if meant == "held" and name in (BATCHES, INPUT) and variant.varying and not fixed:
        # A buffer of what an agent met, for instance, follows from its weights.
        return False
    if meant == "held":
        # Weights and data that another processor's instructions compute differ in their last bits, and so do weights
        # with a bit turned over.
        return shown in ("varied", "partly") and not (name in _COMPUTED and variant.disturbed)
    return meant == "varies" and shown in ("identical", "partly")
