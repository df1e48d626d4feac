"""What fingerprints prove of a variant: which factors varied, which were held, and which promise was broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from deviate.collect.fingerprints import BATCHES, NAMES, classes, is_constant, is_replaced
from deviate.factors import DATA, SEEDED, Variant
from deviate.results.run import RunResult

#: What a variant wants of a factor; ``follows``: it is the outcome of others; ``left``: nothing is wanted.
Meant = Literal["varies", "held", "follows", "left"]

#: What the fingerprints show. ``partly``: some runs are equal and some are not; ``unknown``: too few runs show it.
Shown = Literal["varied", "identical", "partly", "absent", "unknown"]

#: What the content of the first batches is made of.
_IN_BATCHES = frozenset(("shuffle", "augment", DATA))


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
    return [_evidence(name, variant, completed) for name in NAMES]


def _evidence(name: str, variant: Variant, runs: Sequence[RunResult]) -> Evidence:
    seen = [run for run in runs if name in run.prints]
    if is_constant([run.prints[name] for run in seen]):
        seen = []
    groups = classes([run.name for run in seen], [run.prints[name] for run in seen])
    meant, shown = _meant(name, variant), _shown(groups, len(seen), len(runs))
    # Weights that are read from a file take the place of what was drawn.
    replaced = shown == "identical" and is_replaced([run.prints[name] for run in seen])
    return Evidence(
        name=name,
        meant=meant,
        found=shown,
        groups=groups,
        broken=_is_broken(name, meant, shown, variant) and not replaced,
        unequal=len({(run.prints[name].count, run.prints[name].length) for run in seen}) > 1,
    )


def _meant(name: str, variant: Variant) -> Meant:
    if not variant.controlled:
        return "left"
    if name in SEEDED:
        return "varies" if name in variant.varying else "held"
    if name == BATCHES:
        return "follows" if variant.varying & _IN_BATCHES else "held"
    return "follows" if variant.varying or variant.disturbed else "held"


def _shown(groups: list[list[str]], seen: int, runs: int) -> Shown:
    if not seen:
        return "absent"
    if seen < runs or runs < 2:
        return "unknown"
    if len(groups) == 1:
        return "identical"
    return "varied" if len(groups) == seen else "partly"


def _is_broken(name: str, meant: Meant, shown: Shown, variant: Variant) -> bool:
    if name == BATCHES and variant.varying:
        # What an agent sees follows from its weights; what is drawn for batches has fingerprints of its own.
        return False
    if meant == "held":
        # Weights that another processor's instructions draw differ in their last bits, and so do those with a bit
        # turned over.
        return shown in ("varied", "partly") and not (name == "init" and variant.disturbed)
    return meant == "varies" and shown in ("identical", "partly")
