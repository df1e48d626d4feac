"""Did runs vary and agree as their variant promises? Caveats where they did not, and where nothing proves it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from deviate.collect.fingerprints import BATCHES, EXAMPLES, INPUT, WEIGHTS
from deviate.collect.measured import MACHINES
from deviate.factors import DESCRIBED, IMPLEMENTATION, SEEDED, Variant, find_variant
from deviate.inference.evidence import Evidence
from deviate.inference.proof import VariantProof
from deviate.report.text.caveat import Caveat, Severity
from deviate.report.text.identity import difference_text
from deviate.report.text.words import count, listed

if TYPE_CHECKING:
    from deviate.collect.events import EnvironmentDifference
    from deviate.inference.variant import VariantFacts

_NAMED = {
    BATCHES: "content of the first batches",
    WEIGHTS: "final weights",
    INPUT: "the first input of the training",
}


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
        named = _NAMED.get(each.name) or f"{each.name} ({DESCRIBED[each.name]})"
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
        "draws, and `--factor FILE:LINE=data` makes one draw for `data`."
    )


def _groups(each: Evidence) -> str:
    groups = " | ".join(listed(group, most=3) for group in each.groups[:3])
    return groups + (f" | and {len(each.groups) - 3} more" if len(each.groups) > 3 else "")


def _leaked(named: str, each: Evidence) -> str:
    why = " Some runs drew more often than others." if each.unequal else ""
    return f"{named} was held fixed, yet differs between runs: {_groups(each)}.{why}"


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
    """Say whether runs are equal, by the values that they reported."""
    identity = facts.identity
    if identity is None or not identity.values:
        return "whether these runs are equal is not known."
    if identity.identical:
        return "these runs are bit-identical in every recorded value."
    return f"these runs differ: {difference_text(identity.differences[0])}."


def _sameness(facts: VariantFacts, variant: Variant) -> Iterable[Caveat]:
    measured = [metric for metric in facts.metrics if metric.kind not in MACHINES and metric.n > 1]
    same = [metric.name for metric in measured if metric.spread.identical]
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
        message = f"Bit-identical in all runs although seeds vary: {listed(same)}. {why}"
        yield Caveat(slug="metric-identical", message=message, severity="note", variant=facts.variant)


def _as_they_are(facts: VariantFacts, same: list[str]) -> Iterable[Caveat]:
    """Say of runs of the program as it is, whose draws are not looked at, that some metrics are equal."""
    if same:
        why = "They may be too coarse to show a difference, or depend on nothing that is drawn."
        message = f"Bit-identical in all runs: {listed(same)}; the other metrics are not. {why}"
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
        why = "Deviate did not look at their random numbers; --vary algo+impl shows what other seeds would change."
    elif variant.disturbed == "bit":
        if not any(run.bit for run in facts.runs):
            return  # that no weight was changed is said elsewhere
        why = "One unit in the last place of one weight changed nothing that is reported."
    elif variant.disturbed:
        why = "No emulated processor changed anything that is reported."
    elif variant.varying == {IMPLEMENTATION} or any(absent):
        return  # there was nothing to vary, or no noise: said elsewhere
    elif variant.varying == {"other"} and not facts.evidence:
        why = "No draw was seen that varies between them."
    elif _drew_otherwise(facts, variant):
        why = "What they drew differs, as fingerprints show; nothing that is reported depends on it."
    else:
        why = "Runs that were to vary did not: a seed seems to be pinned where Deviate does not reach."
        severity = "warning"
    if facts.identity is not None and not facts.identity.identical:
        message = f"All {facts.completed} runs have the same value of every metric, time aside, yet {_seen(facts)}"
        yield Caveat(slug="metric-identical", message=message, severity="note", variant=facts.variant)
        return
    message = f"All {facts.completed} runs are bit-identical in every metric, time aside. {why}"
    yield Caveat(slug="runs-identical", message=message, severity=severity, variant=facts.variant)
