"""What a page of a comparison shows of a run whose mark is chosen: its values in each experiment that has it."""

from __future__ import annotations

from deviate.experiment import Run
from deviate.inference.comparison.comparison import Comparison
from deviate.report.numbers import show
from deviate.report.page import RunCard
from deviate.shell_words import typed_line

#: Significant digits of the values, and metrics that are shown.
DIGITS, METRICS = 5, 3


def cards(comparison: Comparison) -> list[RunCard]:
    """Return a card for each name of a run; runs of the same name in two experiments share one."""
    facts: dict[str, dict[tuple[str, str], None]] = {}
    experiments: dict[str, dict[str, None]] = {}
    for pair in comparison.pairs:
        for metric in [metric for metric in pair.metrics if metric.kind != "speed"][:METRICS]:
            for label, variant, sample in ((pair.a, pair.variant_a, metric.a), (pair.b, pair.variant_b, metric.b)):
                for index, value in zip(sample.runs, sample.values, strict=True):
                    name = Run(variant=variant, index=index).folder
                    shown = show(float(f"{value:.{DIGITS}g}"))
                    facts.setdefault(name, {})[f"{metric.name}, {label}", shown] = None
                    experiments.setdefault(name, {})[label.partition(":")[0]] = None
    return [RunCard(name=name, facts=[*pairs, *_logs(name, list(experiments[name]))]) for name, pairs in facts.items()]


def _logs(name: str, experiments: list[str]) -> list[tuple[str, str]]:
    several = len(experiments) > 1
    return [
        (f"Whole log, {each}" if several else "Whole log", typed_line(["deviate", "logs", each, name]))
        for each in experiments
    ]
