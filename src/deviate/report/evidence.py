"""What fingerprints prove of a variant: which factors varied, which were held, and which promise was broken."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.collect.fingerprints import BATCHES, NAMES, classes
from deviate.factors import DATA, SEEDED, Variant
from deviate.report.inputs import RunFacts
from deviate.report.parts import Evidence, Found, Meant

#: What the content of the first batches is made of.
_IN_BATCHES = frozenset(("shuffle", "augment", DATA))


def evidence_of(variant: Variant | None, runs: Sequence[RunFacts]) -> list[Evidence]:
    """Judge each fingerprint of the completed runs of a variant.

    Returns
    -------
    list of Evidence
        Empty where nothing was looked at: the program left as it is, or no run whose processes said anything.
    """
    completed = [run for run in runs if run.status == "completed"]
    if variant is None or not any(run.prints for run in completed):
        return []
    return [_judge(name, variant, completed) for name in NAMES]


def _judge(name: str, variant: Variant, runs: Sequence[RunFacts]) -> Evidence:
    seen = [run for run in runs if name in run.prints]
    groups = classes([run.name for run in seen], [run.prints[name] for run in seen])
    meant, found = _meant(name, variant), _found(groups, len(seen), len(runs))
    return Evidence(
        name=name,
        meant=meant,
        found=found,
        groups=groups,
        broken=_is_broken(name, meant, found, variant),
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


def _found(groups: list[list[str]], seen: int, runs: int) -> Found:
    if not seen:
        return "absent"
    if seen < runs or runs < 2:
        return "unknown"
    if len(groups) == 1:
        return "identical"
    return "varied" if len(groups) == seen else "partly"


def _is_broken(name: str, meant: Meant, found: Found, variant: Variant) -> bool:
    if meant == "held":
        # Weights that another processor's instructions draw differ in their last bits, and so do those with a bit
        # turned over.
        return found in ("varied", "partly") and not (name == "init" and variant.disturbed)
    return meant == "varies" and found in ("identical", "partly")


def evidence_words(evidence: Sequence[Evidence], runs: int) -> list[str]:
    """Say what the fingerprints prove, in sentences; what was not as it was to be is left to the warnings."""
    if runs < 2:
        return []
    factors = [each for each in evidence if each.name in SEEDED]
    kept = [each for each in factors if not each.broken]
    told = {
        "Varied": [each.name for each in kept if each.meant == "varies" and each.found == "varied"],
        "Held": [each.name for each in kept if each.meant == "held" and each.found in ("identical", "varied")],
        "As it is, varied": [each.name for each in kept if each.meant == "left" and each.found in ("varied", "partly")],
        "As it is, the same": [each.name for each in kept if each.meant == "left" and each.found == "identical"],
        "Not present": [each.name for each in factors if each.found == "absent"],
        "Cannot be told": [each.name for each in kept if each.found == "unknown"],
    }
    sentences = [f"{what}: {', '.join(names)}." for what, names in told.items() if names]
    return [f"By fingerprints of {runs} runs: {' '.join(sentences)}"] if sentences else []
