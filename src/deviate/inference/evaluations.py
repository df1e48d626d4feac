"""How evaluations ended, and how much those of one run differ beside how much runs do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from deviate.measure.spread import spread
from deviate.measure.within import within_sd
from deviate.results.evaluated import EvaluationResult, FailedPass


class WithinRuns(msgspec.Struct, frozen=True, kw_only=True):
    """How much the evaluations of one run differ in a metric, and how much runs do."""

    variant: str
    metric: str
    #: Runs with finite values.
    n: int
    #: Of the means of the runs; None with fewer than two.
    sd_between: float | None
    #: Pooled over the runs; None where no run has two values.
    sd_within: float | None


class EvaluationFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How often an evaluation was made, and what its runs say."""

    name: str
    command: list[str]
    repeat: int
    #: What it has otherwise than the training.
    threads: int | None
    device: str | None
    environment: dict[str, str]
    python: str
    #: Runs whose training completed, and those of them that were evaluated as often as asked.
    runs: int
    evaluated: int
    failed: list[FailedPass]
    #: Empty where each run is evaluated once.
    within: list[WithinRuns]


def evaluation_facts(results: Sequence[EvaluationResult]) -> list[EvaluationFacts]:
    """Infer how much evaluations differ, one by one."""
    return [
        EvaluationFacts(
            name=each.step.name,
            command=each.step.command,
            repeat=each.step.repeat,
            threads=each.step.threads,
            device=each.step.device,
            environment=each.step.environment,
            python=each.step.python,
            runs=each.runs,
            evaluated=each.evaluated,
            failed=each.failed,
            within=[
                _within(variant, metric, runs)
                for variant, metrics in each.passes.items()
                for metric, runs in metrics.items()
            ],
        )
        for each in results
    ]


def _within(variant: str, metric: str, runs: Mapping[int, Sequence[float]]) -> WithinRuns:
    finite = [values for values in runs.values() if np.isfinite(values).all()]
    return WithinRuns(
        variant=variant,
        metric=metric,
        n=len(finite),
        sd_between=spread([float(np.mean(values)) for values in finite]).sd if finite else None,
        sd_within=within_sd(finite),
    )
