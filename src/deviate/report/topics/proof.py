"""Did runs vary and agree as their variant promises? Caveats where they did not, and where nothing proves it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from deviate.core.factors import IMPLEMENTATION, SEEDED, Variant, find_variant, plain_name
from deviate.facts.proof import Evidence, Shown, VariantProof
from deviate.facts.run import RunResult
from deviate.observe.fingerprints import BATCHES, EXAMPLES, INPUT, WEIGHTS
from deviate.observe.identity import Difference, Identity
from deviate.observe.metrics import MACHINES
from deviate.report.page import Severity
from deviate.report.topics.caveat import Caveat
from deviate.report.words import all_runs, capital, count, listed, ordinal

if TYPE_CHECKING:
    from deviate.facts.variant import VariantFacts
    from deviate.observe.events import EnvironmentDifference


# What was identical between the runs of a variant, bit by bit, and where the first difference is: one statement.

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


def identity_text(facts: VariantProof) -> str:
    """Return what is bit-identical in all completed runs; empty where not all of it that was seen is."""
    identity, weights = facts.identity, next((each for each in facts.evidence if each.name == WEIGHTS), None)
    if identity is None or not identity.identical or not identity.values:
        return ""
    found = "unknown" if weights is None else weights.found
    if found in ("varied", "partly"):
        return ""
    seen = " and the final weights" if found == "identical" else ""
    return f"{count(len(identity.runs), 'run')}, {count(identity.values, 'value')}{seen}"


def shows_weights(variants: Iterable[VariantProof]) -> bool:
    """Tell whether the final weights of any run were seen: of other programs none can be kept."""
    return any(each.name == WEIGHTS and each.groups for variant in variants for each in variant.evidence)


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
    text = f"All {total} runs differ" if apart == total > 2 else f"{count(total, 'run')} with {apart} different results"
    if expected and not first.placed:
        return f"{text}."
    if not expected:
        return f"{text}; {difference_text(first)}."
    # What is not reported may differ from the beginning on.
    is_later = first.opening and first.iteration > 0 and not first.last
    return f"{text}, first {'in their first values' if is_later else _place(first)} ({first.metric})."


def _place(first: Difference) -> str:
    text = iteration_text(first.iteration, first.word)
    # What is reported after the loop has the last iteration.
    return text.replace("in", "in or after", 1) if first.last else text


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
    return f"{first.metric} {_place(first)}"


def iteration_text(iteration: int, word: str = "iteration") -> str:
    """Name an iteration of the main loop, counted from 0, in words that suit programs which count from 1 too.

    >>> iteration_text(-1), iteration_text(0), iteration_text(3)
    ('before the main loop', 'in the 1st iteration', 'in the 4th iteration')
    """
    return "before the main loop" if iteration < 0 else f"in the {ordinal(iteration + 1)} {word}"


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


_NAMED = {BATCHES: "content of the first batches", WEIGHTS: "final weights", INPUT: "the first input of the training"}


#: What is known of runs in which nothing was to vary.
_FIXED = "Everything was held fixed"
_NOTHING = "Nothing was to vary and no random draws were seen"


def promise_caveats(facts: VariantFacts) -> Iterable[Caveat]:
    """Yield the caveats on what was to vary and what was to stay the same between the runs of one variant."""
    variant = find_variant(facts.variant)
    if variant is None or facts.completed < 2:
        return
    yield from broken_promises(facts)
    if facts.unseen:
        return
    yield from _absent(facts, variant)
    yield from _sameness(facts, variant)
    if variant.disturbed == "bit" and not any(run.bit for run in facts.runs):
        message = f"No weight was changed: no framework showed the model's weights; {_seen(facts)}"
        yield Caveat(slug="bit-not-turned", message=message, variant=facts.variant)
    if variant.controlled and not facts.evidence:
        message = "No fingerprint was taken, so nothing proves what was held fixed and what varied."
        yield Caveat(slug="no-fingerprint", message=message, severity="note", variant=facts.variant)


def broken_promises(facts: VariantProof) -> Iterable[Caveat]:
    """Yield a caveat for each factor that did not vary, or was not held, as the variant promises."""
    for each in facts.evidence:
        if not each.broken or each.name == WEIGHTS:
            continue
        if each.name == EXAMPLES:
            yield Caveat(slug="data-differ", message=_other_data(each), variant=facts.variant)
            continue
        named = _NAMED.get(each.name) or f"randomness of {plain_name(each.name)}"
        if each.meant == "held":
            yield Caveat(slug="factor-leaked", message=_leaked(named, each), variant=facts.variant)
        elif each.found == "identical":
            message = (
                f"{named} was to vary, yet all runs drew the same: a generator that Deviate does not reach decides it, "
                "or a seed that is pinned. `deviate audit` looks for the line."
            )
            yield Caveat(slug="factor-pinned", message=message, variant=facts.variant)
        else:
            equal = "; ".join(listed(group) for group in each.groups if len(group) > 1)
            message = f"{named} was to vary, yet some runs drew the same: {equal}."
            yield Caveat(slug="factor-repeats", message=message, variant=facts.variant)


def _other_data(each: Evidence) -> str:
    return (
        f"Data were to be held fixed, yet runs trained or were evaluated on different examples: {_groups(each)}. "
        "Draws that Deviate does not take for data make them, or something without a seed: `deviate extract` lists the "
        "draws, and `--set factor=FILE:LINE=data` makes one draw for `data`."
    )


def _groups(each: Evidence) -> str:
    groups = " | ".join(listed(group, most=3) for group in each.groups[:3])
    return groups + (f" | and {len(each.groups) - 3} more" if len(each.groups) > 3 else "")


def _leaked(named: str, each: Evidence) -> str:
    why = " Some runs drew more often than others." if each.unequal else ""
    return f"{named} was to be held fixed, yet differs between runs: {_groups(each)}.{why}"


def _absent(facts: VariantFacts, variant: Variant) -> Iterable[Caveat]:
    if not facts.evidence or variant.disturbed or not variant.controlled:
        return
    absent = [each.name for each in facts.evidence if each.name in variant.drawn and each.found == "absent"]
    if not absent or set(absent) != set(variant.varying):
        return
    # In the same words for each variant, so that they can be said together.
    nothing = "Deviate sees no randomness of the kind that was to vary"
    if facts.identity is None or facts.identity.identical:
        message = f"{nothing}; {_seen(facts)}"
        yield Caveat(slug="factor-absent", message=message, severity="note", variant=facts.variant)
        return
    hashes = " Sets of strings have another order in each of them (PYTHONHASHSEED)." if "other" in absent else ""
    message = f"{nothing}, yet {_seen(facts)}{hashes} `deviate audit` looks for the cause."
    yield Caveat(slug="unseen-cause", message=message, variant=facts.variant)


def _seen(facts: VariantProof) -> str:
    identity = facts.identity
    if identity is None or not identity.values:
        return "whether these runs are equal is not known."
    if identity.identical:
        return "these runs are bit-identical in every recorded value."
    return f"these runs differ: {difference_text(identity.differences[0])}."


def _sameness(facts: VariantFacts, variant: Variant) -> Iterable[Caveat]:
    measured = [metric for metric in facts.metrics if metric.kind not in MACHINES and metric.n > 1]
    same = [f"{metric.name} ({metric.aggregate})" for metric in measured if metric.spread.identical]
    if variant.is_fixed:
        if broken := broken_control(facts):
            yield Caveat(slug="control-differs", message=" ".join(broken), variant=facts.variant)
    elif measured and len(same) == len(measured):
        yield from _all_identical(facts, variant)
    elif not variant.controlled:
        yield from _as_they_are(facts, same)
    elif same and variant.drawn:
        why = "What varies does not reach them, or they are too coarse to show it."
        if _drew_otherwise(facts, variant):
            why = f"Fingerprints show that other numbers were drawn. {why}"
        message = f"The same value in all runs although seeds vary: {listed(same)}. {why}"
        yield Caveat(slug="metric-identical", message=message, severity="note", variant=facts.variant)


def _as_they_are(facts: VariantFacts, same: list[str]) -> Iterable[Caveat]:
    """Say of runs of the program as it is, whose draws are not looked at, that some metrics are equal."""
    if same:
        why = "They may be too coarse to show a difference, or depend on nothing that is drawn."
        message = f"The same value in all runs: {listed(same)}; not so the other metrics. {why}"
        yield Caveat(slug="metric-identical", message=message, severity="note", variant=facts.variant)


def broken_control(facts: VariantFacts) -> list[str]:
    """Say that runs differ in which nothing was to vary, and what may be why; nothing where they do not."""
    variant = find_variant(facts.variant)
    if variant is None or not variant.is_fixed or facts.completed < 2:
        return []
    if facts.unseen:
        return []  # nobody saw what varied
    measured = [metric for metric in facts.metrics if metric.kind not in MACHINES and metric.n > 1]
    differing = [metric.name for metric in measured if not metric.spread.identical]
    weights = any(each.name == WEIGHTS and each.broken for each in facts.evidence)
    if not differing and not weights:
        return []
    verb = "differs" if len(differing) == 1 else "differ"
    what = f"{len(differing)} of {count(len(measured), 'metric')} {verb} between runs: {listed(differing)}"
    seen = what if differing else "the final weights differ between runs"
    broken = f"{_NOTHING if facts.draws is False else _FIXED}, yet {seen}."
    if surroundings := _other_surroundings(facts):
        return [broken, surroundings]
    why = "The implementation is not deterministic, or something draws without a seed"
    return [broken, f"{why}: `deviate audit` looks for the cause."]


def _other_surroundings(facts: VariantFacts) -> str:
    """Name what differs in the environment of runs whose results differ, first that by which the results go."""
    if not facts.differences:
        return ""
    first, *others = sorted(facts.differences, key=lambda each: not _explains(each, facts))
    values = [f"{value or 'unknown'} ({listed(runs, most=3)})" for value, runs in first.values.items()]
    text = f"These runs differ in {first.name}, too: {listed(values)}"
    text += "; runs that agree in it are equal" if _explains(first, facts) else ""
    return f"{text}. They also differ in {listed([each.name for each in others])}." if others else f"{text}."


def _explains(difference: EnvironmentDifference, facts: VariantFacts) -> bool:
    """Whether runs that agree in a part of the environment have the same results."""
    classes = [set(equal) for equal in facts.identity.classes] if facts.identity is not None else []
    return bool(classes) and all(
        any(equal.issuperset(runs) for equal in classes) for runs in difference.values.values()
    )


def _drew_otherwise(facts: VariantFacts, variant: Variant) -> bool:
    """Tell whether fingerprints prove that all that was drawn for and was to vary did so."""
    drawn = [each for each in facts.evidence if each.name in variant.drawn and each.found != "absent"]
    return bool(drawn) and all(each.found == "varied" for each in drawn)


def _all_identical(facts: VariantFacts, variant: Variant) -> Iterable[Caveat]:
    severity: Severity = "note"
    absent = (each.name in SEEDED and each.found == "absent" and each.meant == "varies" for each in facts.evidence)
    if not variant.controlled:
        why = "Deviate did not look at their random numbers; --vary everything shows what other seeds would change."
    elif variant.disturbed == "bit":
        if not any(run.bit for run in facts.runs):
            return  # that no weight was changed is said elsewhere
        why = "One unit in the last place of one weight changed nothing that is reported."
    elif variant.disturbed:
        why = "No emulated processor changed anything that is reported."
    elif variant.varying == {IMPLEMENTATION} or any(absent):
        return  # there was nothing to vary, or no noise: said elsewhere
    elif _drew_otherwise(facts, variant):
        why = "What they drew differs, as fingerprints show; nothing that is reported depends on it."
    else:
        why = "No draw was seen that varies between them."
        severity = "warning"
    runs = capital(all_runs(facts.completed))
    if facts.identity is not None and not facts.identity.identical:
        message = f"{runs} have the same value of every metric, time aside, yet {_seen(facts)}"
        yield Caveat(slug="metric-identical", message=message, severity="note", variant=facts.variant)
        return
    message = f"{runs} are bit-identical in every metric, time aside. {why}"
    yield Caveat(slug="runs-identical", message=message, severity=severity, variant=facts.variant)


# What fingerprints prove of a variant, in signs and sentences.

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
    sentences = [f"{what}: {', '.join(map(plain_name, names))}." for what, names in names_by_result.items() if names]
    return [f"By fingerprints of {facts.completed} runs: {' '.join(sentences)}"] if sentences else []
