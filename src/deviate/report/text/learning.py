"""How predictions went over the evaluation passes, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from deviate.inference.learning import Forgotten, LearningFacts
from deviate.report.numbers import points, show_percent, significant
from deviate.report.text.words import count


def learning_sentences(facts: LearningFacts) -> list[str]:
    """Say where runs part, and what they forget."""
    if facts.withheld:
        return [f"The course of the predictions over the evaluations is unknown: {facts.withheld}."]
    return [_parting(facts), *(_forgetting(facts.forgetting) if facts.forgetting is not None else [])]


def _parting(facts: LearningFacts) -> str:
    passes = facts.passes
    if facts.parting is None:
        return f"In all {count(len(passes), 'evaluation')} the runs give every example the same label."
    first, last = (show_percent(passes[place].churn.value) for place in (facts.parting, -1))
    where = f"Runs first differ in evaluation {facts.parting + 1} of {len(passes)}"
    return f"{where}, two of them on {first} of the examples; in the last one it is {last}."


def _forgetting(known: Forgotten) -> Iterator[str]:
    spread = f" (SD between runs {points(known.unforgettable.sd)})" if known.unforgettable.sd is not None else ""
    often, share = significant(known.mean_events.mean, 2), show_percent(known.unforgettable.mean)
    yield f"An example is forgotten {often} times on average; {share} are learnt and never forgotten{spread}."
    if known.first_learnt_sd is not None:
        sd = significant(known.first_learnt_sd, 2)
        yield f"When an example is first right differs between runs by an SD of {sd} evaluations."
