"""What was identical between the runs of a variant, bit by bit, and where the first difference is: one statement."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.collect.fingerprints import WEIGHTS
from deviate.collect.identity import Difference, Identity
from deviate.factors import IMPLEMENTATION, find_variant
from deviate.inference.evidence import Evidence
from deviate.inference.proof import VariantProof
from deviate.report.text.words import count, listed, ordinal
from deviate.results.run import RunResult

#: Runs on a machine without a GPU, with the threads pinned.
NO_NOISE = "With pinned threads and no GPU no implementation noise was expected."


def identity_statement(facts: VariantProof) -> str:
    """Say what the completed runs of a variant share, and where they first part; empty where there are not two."""
    variant, identity = find_variant(facts.variant), facts.identity
    if identity is None or variant is None:
        return ""
    weights = next((each for each in facts.evidence if each.name == WEIGHTS), None)
    if variant.disturbed == "platform":
        return _platforms(identity, facts.runs)
    if not identity.identical or (weights is not None and weights.found in ("varied", "partly")):
        return _parted(identity, weights, expected=bool(variant.drawn or variant.disturbed))
    noiseless = IMPLEMENTATION in variant.varying and facts.without_noise
    return f"{_same(identity, weights)}{f' {NO_NOISE}' if noiseless else ''}"


def _same(identity: Identity, weights: Evidence | None) -> str:
    if not identity.values:
        return f"{count(len(identity.runs), 'run')} recorded no value that could be compared."
    seen = weights is not None and weights.found == "identical"
    end = " and final weights" if seen else "; their final weights were not seen"
    return f"{count(len(identity.runs), 'run')} bit-identical in {count(identity.values, 'recorded value')}{end}."


def _parted(identity: Identity, weights: Evidence | None, *, expected: bool) -> str:
    total = len(identity.runs)
    if identity.identical:
        groups = len(weights.groups) if weights else 0
        return (
            f"{count(total, 'run')} bit-identical in {count(identity.values, 'recorded value')}, yet with {groups} "
            "different final weights."
        )
    apart = len(identity.classes)
    first = min(identity.differences, key=lambda each: (not each.placed, each.iteration, identity.runs.index(each.run)))
    text = f"{count(total, 'run')} with {apart} different results"
    if expected and not first.placed:
        return f"{text}."
    return f"{text}, from {place_text(first)} on." if expected else f"{text}; {difference_text(first)}."


def difference_text(first: Difference) -> str:
    """Say where one run leaves another; what has no iteration is not known to be the first difference."""
    place = f"{'the first' if first.placed else 'one'} difference: {place_text(first)}"
    if first.value is None or first.other_value is None:
        ends, goes = (first.run, first.other) if first.value is None else (first.other, first.run)
        return f"{place}, which {goes} reports and {ends} does not"
    return f"{place}: {first.value!r} in {first.run}, {first.other_value!r} in {first.other}"


def place_text(first: Difference) -> str:
    """Name the record in which one run leaves another."""
    if not first.placed:
        return first.metric
    return f"{first.metric} {iteration_text(first.iteration)}"


def iteration_text(iteration: int) -> str:
    """Name an iteration of the main loop, counted from 0, in words that suit programs which count from 1 too.

    Examples
    --------
    >>> iteration_text(-1), iteration_text(0), iteration_text(3)
    ('before the main loop', 'in the 1st iteration', 'in the 4th iteration')
    """
    return "before the main loop" if iteration < 0 else f"in the {ordinal(iteration + 1)} iteration"


def _platforms(identity: Identity, runs: Sequence[RunResult]) -> str:
    """Say whether runs on equal platforms agree, and how many results the platforms gave."""
    named = {run.name: run.platform for run in runs if run.name in identity.runs and run.platform}
    by_platform: dict[str, list[str]] = {}
    for run, platform in named.items():
        by_platform.setdefault(platform, []).append(run)
    results = {run: result for result, group in enumerate(identity.classes) for run in group}
    repeated = {platform: group for platform, group in by_platform.items() if len(group) > 1}
    broken = [platform for platform, group in repeated.items() if len({results[run] for run in group}) > 1]
    text = f"{count(len(by_platform), 'platform')}, {count(len(identity.classes), 'different result')}."
    if broken:
        return f"{text} Runs on the same platform differ: {listed(broken)}."
    if repeated:
        twice = count(len(repeated), "platform")
        return f"{text} Runs on the same platform are bit-identical ({twice} ran more than once)."
    return f"{text} No platform ran twice; more runs (-n) show whether one repeats."
