"""How many answers change from one side to another, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from deviate.contrast.choice import WELCH_AND_PERMUTATION
from deviate.contrast.multiplicity import CORRECTION_NAMES
from deviate.inference.comparison.groups import ChangedGroup
from deviate.inference.comparison.predictions import ChangedPredictions
from deviate.report.numbers import points, show_percent
from deviate.report.text.stability import show_interval
from deviate.report.text.words import count, listed


def changed_sentences(facts: ChangedPredictions, a: str, b: str) -> list[str]:
    """Say how many answers of B the runs of A change, beside what training B again changes."""
    if facts.churn is None:
        return [f"Predictions are not compared: {facts.withheld}."]
    measured = facts.churn
    share, interval = show_percent(measured.between.value), show_interval(measured.between.interval)
    examples = f"of the {facts.examples} examples differently"
    sentences = [f"{a} and {b} label {share} {examples}{interval}."]
    if measured.paired is not None:
        same = f"Runs with the same random numbers label {show_percent(measured.paired)} {examples}"
        sentences = [f"{same}, other runs of {a} and {b} {share}{interval}."]
    within = [
        f"two runs of {label} differ on {show_percent(estimate.value)}"
        for label, estimate in ((b, measured.within_b), (a, measured.within_a))
        if estimate.value is not None
    ]
    if within:
        text = ", ".join(within)
        sentences.append(f"{text[:1].upper()}{text[1:]}.")
    excess = measured.excess
    if excess.value is not None and excess.interval.low is not None and excess.interval.high is not None:
        sentences.append(
            f"The share between {a} and {b} is {points(excess.value)} above that of retraining alone (mean of both)."
            if excess.interval.low > 0
            else f"These runs do not show that the share between {a} and {b} is above that of retraining alone."
        )
    if facts.groups:
        most = max(facts.groups, key=lambda group: group.between.value or 0.0)
        share, examples = show_percent(most.between.value), count(most.examples, "example")
        sentences.append(f"Most labels change in group {most.label}: {share} of its {examples}.")
    return sentences


def screen_changed(facts: ChangedPredictions, a: str, b: str) -> list[str]:
    """Say in one sentence how many answers of B the runs of A change, and whether retraining changes fewer."""
    if facts.churn is None:
        return changed_sentences(facts, a, b)
    measured, excess = facts.churn, facts.churn.excess
    beyond = ""
    if excess.value is not None and excess.interval.low is not None and excess.interval.high is not None:
        shown = excess.interval.low > 0
        beyond = f", {points(excess.value)} beyond retraining" if shown else ", not shown to exceed retraining"
    share, interval = show_percent(measured.between.value), show_interval(measured.between.interval)
    return [f"Changed predictions: {share}{interval}{beyond}."]


def group_sentences(groups: Sequence[ChangedGroup], a: str, b: str, *, one_draw: bool) -> list[str]:
    """Say on which groups the accuracy of one side is shown to be higher; nothing where no verdict is possible."""
    if not groups or one_draw:
        return []
    if all(group.verdict == "too few runs" for group in groups):
        return ["So few runs give no verdict on groups."]
    higher = {
        side: [group.label for group in groups if group.verdict == verdict]
        for side, verdict in ((a, "a better"), (b, "b better"))
    }
    if not any(higher.values()):
        return [f"On none of {count(len(groups), 'group')} another accuracy is shown."]
    return [
        f"The accuracy of {side} is higher on {listed(labels)} ({len(labels)} of {count(len(groups), 'group')}; "
        "exploratory)."
        for side, labels in higher.items()
        if labels
    ]


def group_note(family: int, correction: str, test: str) -> str:
    """Say what the p-values of groups are of."""
    what = "p: of the difference of the accuracies"
    if test == WELCH_AND_PERMUTATION.test:
        what += " by Welch's t test and by permuting the runs, the greater one of both"
    if correction == "none" or family < 2:
        return f"{what}."
    return f"{what}, adjusted over {family} tests of groups ({CORRECTION_NAMES[correction]})."
