"""What became of the evaluations of runs, and the values of those that were made several times."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pandas as pd

from deviate.collect.runs import RunFiles
from deviate.experiment import Experiment, Status, Step
from deviate.replicate.workspace.run_files import Unfinished


class FailedPass(msgspec.Struct, frozen=True, kw_only=True):
    """An evaluation of a run that did not complete."""

    #: The word a user types for the run.
    run: str
    repeat: int
    status: Status
    reason: str


class EvaluationResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an evaluation over all completed runs."""

    step: Step
    #: Runs whose training completed, and those of them that were evaluated as often as asked.
    runs: int
    evaluated: int
    failed: list[FailedPass] = []
    #: By variant, metric and run, the values of its passes; empty where each run is evaluated once.
    passes: dict[str, dict[str, dict[int, list[float]]]] = {}


def evaluation_results(
    experiment: Experiment, runs: Sequence[RunFiles], repeats: pd.DataFrame
) -> list[EvaluationResult]:
    """Return what became of each evaluation; `repeats` is the table of `Tables.repeats`."""
    completed = [run for run in runs if run.completed]
    return [_result(step, completed, repeats) for step in experiment.evaluations]


def _result(step: Step, runs: Sequence[RunFiles], repeats: pd.DataFrame) -> EvaluationResult:
    failed: list[FailedPass] = []
    evaluated = 0
    for run in runs:
        outcomes = [run.folder.step(step.name, repeat).read_outcome() for repeat in range(step.repeat)]
        failed += [
            FailedPass(
                run=run.name,
                repeat=repeat,
                status=outcome.status,
                reason=outcome.reason,
            )
            for repeat, outcome in enumerate(outcomes)
            if isinstance(outcome, Unfinished) and outcome.done
        ]
        evaluated += all(outcome is not None and outcome.status == "completed" for outcome in outcomes)
    rows = repeats[repeats["metric"].str.startswith(step.prefix)] if step.repeat > 1 else repeats.head(0)
    passes: dict[str, dict[str, dict[int, list[float]]]] = {}
    for variant, metric, run, value in zip(rows["variant"], rows["metric"], rows["run"], rows["value"], strict=True):
        of_metric = passes.setdefault(str(variant), {}).setdefault(str(metric), {})
        of_metric.setdefault(int(run), []).append(float(value))
    return EvaluationResult(step=step, runs=len(runs), evaluated=evaluated, failed=failed, passes=passes)
