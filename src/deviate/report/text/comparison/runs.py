"""How the compared runs were made, for a paper: methods and answers to checklists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from deviate.inference.comparison.comparability import Comparability
from deviate.inference.comparison.comparison import Comparison
from deviate.inference.experiment import ExperimentFacts
from deviate.report.numbers import Numbers
from deviate.report.text.checklist import COMPUTED, ERROR_BARS, NUMBER, Answer, checklist
from deviate.report.text.comparison.methods import comparison_methods
from deviate.report.text.methods import run_methods


def runs_methods(compared: Comparability, made: Mapping[str, ExperimentFacts]) -> dict[str, list[str]]:
    """Return what is true of the runs of one side alone, by its label, and under an empty one what is so for each."""
    by_side = {label: run_methods(facts) for label, facts in made.items()}
    first = next(iter(by_side.values()), [])
    common = [sentence for sentence in first if all(sentence in each for each in by_side.values())]
    own = {label: [each for each in sentences if each not in common] for label, sentences in by_side.items()}
    data = "Checksums show the same set of examples in all runs compared."
    return {**own, "": [*common, *([data] if compared.same_examples else [])]}


def comparison_checklist(comparison: Comparison, made: Mapping[str, ExperimentFacts]) -> list[Answer]:
    """Answer the questions for all sides of a comparison."""
    bars = f"{Numbers(comparison.alpha).level()} confidence intervals of the difference of the means"
    return checklist_of_all(made, bars, comparison_methods(comparison))


def checklist_of_all(made: Mapping[str, ExperimentFacts], bars: str, methods: Iterable[str]) -> list[Answer]:
    """Answer the questions for all sides; where the answers differ, each begins with the label of its side.

    `bars` are what is shown beside the standard deviation, `methods` how it was computed.
    """
    compared = {
        ERROR_BARS: f"Standard deviation over runs (of a single run, not of the mean), and {bars}.",
        COMPUTED: " ".join(methods),
    }
    return [
        msgspec.structs.replace(answers[0], answer=compared[answers[0].question], known=True)
        if answers[0].question in compared
        else _of_all(list(made), answers)
        for answers in zip(*(checklist(facts) for facts in made.values()), strict=True)
    ]


def _of_all(labels: Sequence[str], answers: Sequence[Answer]) -> Answer:
    if len({each.answer for each in answers}) == 1 and answers[0].question != NUMBER:
        return answers[0]
    text = " ".join(f"{label}: {each.answer}" for label, each in zip(labels, answers, strict=True))
    return msgspec.structs.replace(answers[0], answer=text, known=True)
