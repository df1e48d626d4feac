"""What fingerprints prove of a variant, in signs and sentences."""

from __future__ import annotations

from deviate.factors import SEEDED
from deviate.inference.evidence import Evidence, Shown
from deviate.inference.proof import VariantProof

#: Signs of a table for what a fingerprint shows.
MARKS: dict[Shown, str] = {"varied": "≠", "identical": "=", "partly": "≈", "absent": "–", "unknown": "?"}

LEGEND = "= same in all runs, ≠ differs, ≈ in some, – none seen, ? unknown, ! broken"


def mark(evidence: Evidence) -> str:
    """Return the sign for what a fingerprint shows."""
    return f"{MARKS[evidence.found]}{'!' if evidence.broken else ''}"


def evidence_sentences(facts: VariantProof) -> list[str]:
    """Say what the fingerprints prove; what was not as it was to be, or not drawn, is left to others."""
    if facts.completed < 2:
        return []
    kept = [each for each in facts.evidence if each.name in SEEDED and not each.broken]
    names_by_result = {
        "Varied": [each.name for each in kept if each.meant == "varies" and each.found == "varied"],
        "Held": [each.name for each in kept if each.meant == "held" and each.found in ("identical", "varied")],
        "As it is, varied": [each.name for each in kept if each.meant == "left" and each.found in ("varied", "partly")],
        "As it is, the same": [each.name for each in kept if each.meant == "left" and each.found == "identical"],
        "Unknown": [each.name for each in kept if each.found == "unknown"],
    }
    sentences = [f"{what}: {', '.join(names)}." for what, names in names_by_result.items() if names]
    return [f"By fingerprints of {facts.completed} runs: {' '.join(sentences)}"] if sentences else []
