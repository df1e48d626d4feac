"""How many answers change from one side to another, in sentences."""

from __future__ import annotations

from deviate.inference.comparison.predictions import ChangedPredictions
from deviate.report.numbers import show_percent
from deviate.report.text.stability import show_interval
from deviate.report.text.words import count


def changed_sentences(facts: ChangedPredictions, a: str, b: str) -> list[str]:
    """Say how many answers of B the runs of A change, beside what training B again changes."""
    if facts.churn is None:
        return [f"Predictions are not compared: {facts.withheld}."]
    measured = facts.churn
    sentences = [
        f"{a} and {b} label {show_percent(measured.between.value)} of the {facts.examples} examples differently"
        f"{show_interval(measured.between.interval)}."
    ]
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
        if excess.interval.low > 0:
            sentences.append(f"That is {show_percent(excess.value)} more than retraining changes.")
        else:
            sentences.append("These runs do not show that this is more than retraining changes.")
    if facts.groups:
        most = max(facts.groups, key=lambda group: group.between.value or 0.0)
        share, examples = show_percent(most.between.value), count(most.examples, "example")
        sentences.append(f"Most labels change in group {most.label}: {share} of its {examples}.")
    return sentences
