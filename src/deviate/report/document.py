"""Say everything about one experiment, as data."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from deviate.experiment import Run
from deviate.report.footnotes import footnotes
from deviate.report.headline import headline
from deviate.report.inputs import ReportInputs, RunFacts
from deviate.report.meaning import factors_of
from deviate.report.metrics import silent_metrics, variant_metrics
from deviate.report.parts import Document, MetricReport, Reproduce, RunReport, VariantReport
from deviate.report.remarks import experiment_remarks

Clock = Callable[[], datetime]


def build_document(inputs: ReportInputs, clock: Clock) -> Document:
    """Turn the facts about an experiment into the document that writers lay out.

    Parameters
    ----------
    inputs : ReportInputs
        What the earlier stages found.
    clock : callable
        Gives the time of writing.

    Returns
    -------
    Document
        Every number and every sentence; writers add none.
    """
    experiment = inputs.experiment
    variants = [_variant(inputs, name) for name in _variant_names(inputs)]
    return Document(
        experiment=experiment.name,
        command=experiment.command,
        variants=variants,
        warnings=experiment_remarks(inputs, variants),
        level=inputs.level,
        created=experiment.created,
        generated=clock().isoformat(timespec="seconds"),
        seeds_replaced=inputs.seeds,
        switches=inputs.switches,
        differences=inputs.differences,
        reproduce=_reproduce(inputs),
    )


def _variant_names(inputs: ReportInputs) -> list[str]:
    return list(dict.fromkeys([*inputs.experiment.planned, *(run.variant for run in inputs.runs)]))


def _variant(inputs: ReportInputs, name: str) -> VariantReport:
    facts = sorted((run for run in inputs.runs if run.variant == name), key=lambda run: run.index)
    runs = [_run(run) for run in facts]
    completed = [run for run in runs if run.status == "completed"]
    metrics = variant_metrics(inputs, name, facts)
    factors = factors_of(name, {run.threads for run in completed})
    recorded = [metric.name for metric in metrics if _recorded_in_completed(metric)]
    return VariantReport(
        variant=name,
        factors=factors,
        planned=max(inputs.experiment.planned.get(name, 0), len(runs)),
        completed=len(completed),
        runs=runs,
        metrics=metrics,
        silent=[metric.name for metric in silent_metrics(inputs, recorded)],
        headline=headline(name, factors, runs, metrics),
        footnotes=footnotes(metrics) if completed else [],
    )


def _recorded_in_completed(metric: MetricReport) -> bool:
    return metric.n > 0 or any(left.status == "completed" and left.reported for left in metric.excluded)


def _run(run: RunFacts) -> RunReport:
    return RunReport(
        index=run.index,
        name=Run(variant=run.variant, index=run.index).folder,
        status=run.status,
        seconds=run.seconds,
        seeds=run.seeds,
        fingerprints=run.fingerprints,
        reason=run.reason,
        stderr_tail=run.stderr_tail,
        warnings=run.warnings,
        threads=run.threads,
        cores=run.cores,
    )


def _reproduce(inputs: ReportInputs) -> Reproduce:
    experiment = inputs.experiment
    versions = {"deviate": inputs.version} if inputs.version else {}
    return Reproduce(
        command=run_command(experiment.command, experiment.planned, experiment.seed),
        folder=experiment.folder,
        seed=experiment.seed,
        source=experiment.source,
        environment={**versions, **inputs.environment},
    )


def run_command(command: Sequence[str], planned: Mapping[str, int], seed: int) -> str:
    """Return the line that makes the same experiment again.

    Parameters
    ----------
    command : sequence of str
        What trains.
    planned : mapping of str to int
        Runs by variant; variants with other numbers of runs need a command of their own.
    seed : int
        The experiment's.

    Examples
    --------
    >>> run_command(["python", "my train.py"], {"algo+impl": 8, "control": 8}, 7)
    "deviate run -n 8 --vary algo+impl --vary control --seed 7 -- python 'my train.py'"
    >>> run_command(["python", "a.py"], {"algo+impl": 8, "control": 2}, 0).partition(" && ")[2]
    'deviate run -n 2 --vary control --seed 0 -- python a.py'
    """
    lines = []
    for runs in dict.fromkeys(planned.values()):
        vary = [word for name, count in planned.items() if count == runs for word in ("--vary", name)]
        lines.append(shlex.join(["deviate", "run", "-n", str(runs), *vary, "--seed", str(seed), "--", *command]))
    return " && ".join(lines)
