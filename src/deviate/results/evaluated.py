"""How evaluations of runs ended, and the values of those that were repeated."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pandas as pd

from deviate.collect.evaluated import Evaluated
from deviate.collect.runs import RunFiles
from deviate.experiment import Status, Step
from deviate.results.run import ending


class FailedPass(msgspec.Struct, frozen=True, kw_only=True):
    """An evaluation of a run that did not complete, or whose files were damaged since."""

    #: The word a user types for the run.
    run: str
    repeat: int
    status: Status
    reason: str
    #: Whether it completed, and its files were damaged since.
    damaged: bool = False


class EvaluationResult(msgspec.Struct, frozen=True, kw_only=True):
    """How often an evaluation completed over all completed runs, and its values."""

    step: Step
    #: Runs whose training completed, and those of them that were evaluated as often as asked.
    runs: int
    evaluated: int
    failed: list[FailedPass] = []
    #: By variant, metric and run, the values of its passes; empty where each run is evaluated once.
    passes: dict[str, dict[str, dict[int, list[float]]]] = {}


def evaluation_results(evaluated: Sequence[Evaluated], repeats: pd.DataFrame) -> list[EvaluationResult]:
    """Return how evaluations of completed runs ended; `repeats` is the table of `Tables.repeats`."""
    return [_result(each.step, each.every, repeats) for each in evaluated]


def _result(step: Step, every: Sequence[Sequence[RunFiles]], repeats: pd.DataFrame) -> EvaluationResult:
    ended = [
        [(repeat, run, ending(run)) for repeat, run in enumerate(of_run) if run.outcome is not None]
        for of_run in zip(*every, strict=True)
    ]
    failed = [
        FailedPass(run=run.name, repeat=repeat, status=end.status, reason=end.reason, damaged=bool(run.damage))
        for of_run in ended
        for repeat, run, end in of_run
        if end.status not in ("completed", "cancelled")
    ]
    evaluated = sum(sum(end.status == "completed" for _, _, end in of_run) == step.repeat for of_run in ended)
    rows = repeats[repeats["metric"].str.startswith(step.prefix)] if step.repeat > 1 else repeats.head(0)
    passes: dict[str, dict[str, dict[int, list[float]]]] = {}
    for variant, metric, run, value in zip(rows["variant"], rows["metric"], rows["run"], rows["value"], strict=True):
        of_metric = passes.setdefault(str(variant), {}).setdefault(str(metric), {})
        of_metric.setdefault(int(run), []).append(float(value))
    return EvaluationResult(step=step, runs=len(ended), evaluated=evaluated, failed=failed, passes=passes)
