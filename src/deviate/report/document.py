"""Say everything about one experiment, as data."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from deviate.factors import GROUPS, SEEDED, find_variant
from deviate.report.across import NOT_ADDITIVE, spread_across
from deviate.report.checklist import checklist
from deviate.report.evidence import evidence_of, evidence_words
from deviate.report.footnotes import footnotes
from deviate.report.headline import headline
from deviate.report.identity import identity_statement
from deviate.report.inputs import ReportInputs, RunFacts
from deviate.report.meaning import factors_of
from deviate.report.methods import methods
from deviate.report.metrics import silent_metrics, variant_metrics
from deviate.report.order import ordered
from deviate.report.parts import Document, MetricReport, Reproduce, RunReport, Stopped, VariantReport
from deviate.report.remarks import experiment_remarks
from deviate.report.until import stopped_by, with_stopped

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
    variants = _variants(inputs)
    across = spread_across(variants, inputs.level)
    reproduce = _reproduce(inputs)
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
        reproduce=reproduce,
        across=across,
        across_notes=[NOT_ADDITIVE] if any(table.whole for table in across) else [],
        seeds_kept=inputs.seeds_kept,
        draws_left=[draw for draw in inputs.draws if draw.factor == "other"],
        operations=inputs.operations,
        metrics_chosen=list(inputs.metrics),
        methods=methods(inputs, variants, reproduce),
        checklist=checklist(inputs, variants, reproduce),
    )


def _variant_names(inputs: ReportInputs) -> list[str]:
    return list(dict.fromkeys([*inputs.experiment.planned, *(run.variant for run in inputs.runs)]))


def _variants(inputs: ReportInputs) -> list[VariantReport]:
    """Return all variants, with the metrics that are asked for, in one order."""
    facts = {name: _runs_of(inputs, name) for name in _variant_names(inputs)}
    measured = {name: variant_metrics(inputs, name, runs) for name, runs in facts.items()}
    # The metric that decided how many runs were made need not be one to tell of.
    stops = {name: stopped_by(inputs.experiment.until, metrics, len(facts[name])) for name, metrics in measured.items()}
    told = ordered({name: _told(metrics, inputs.metrics) for name, metrics in measured.items()})
    return [_variant(inputs, name, facts[name], metrics, stops[name]) for name, metrics in told.items()]


def _runs_of(inputs: ReportInputs, name: str) -> list[RunFacts]:
    return sorted((run for run in inputs.runs if run.variant == name), key=lambda run: run.index)


def _told(metrics: list[MetricReport], chosen: Sequence[str]) -> list[MetricReport]:
    return [metric for metric in metrics if not chosen or metric.name in chosen]


def _variant(
    inputs: ReportInputs, name: str, facts: list[RunFacts], metrics: list[MetricReport], stopped: Stopped | None
) -> VariantReport:
    runs = [_run(run) for run in facts]
    completed = [run for run in runs if run.status == "completed"]
    metrics = with_stopped(metrics, inputs.experiment.until, stopped)
    variant = find_variant(name)
    evidence = evidence_of(variant, facts)
    absent = [each.name for each in evidence if each.name in SEEDED and each.found == "absent"]
    factors = factors_of(name, {run.threads for run in completed}, absent)
    recorded = [metric.name for metric in metrics if _recorded_in_completed(metric)]
    return VariantReport(
        variant=name,
        factors=factors,
        planned=max(inputs.experiment.planned.get(name, 0), len(runs)),
        completed=len(completed),
        runs=runs,
        metrics=metrics,
        # Of those that were not asked for nobody looked whether they were recorded.
        silent=[] if inputs.metrics else [metric.name for metric in silent_metrics(inputs, recorded)],
        headline=[*headline(name, factors, runs, metrics), *(stopped.sentences if stopped else ())],
        footnotes=footnotes(metrics) if completed else [],
        statement=identity_statement(variant, inputs.identities.get(name), evidence, facts),
        evidence=evidence,
        proven=evidence_words(evidence, len(completed)),
        stopped=stopped,
    )


def _recorded_in_completed(metric: MetricReport) -> bool:
    return metric.n > 0 or any(left.status == "completed" and left.reported for left in metric.excluded)


def _run(run: RunFacts) -> RunReport:
    return RunReport(
        index=run.index,
        name=run.name,
        status=run.status,
        seconds=run.seconds,
        seeds=run.seeds,
        fingerprints={name: found.digest for name, found in run.prints.items()},
        reason=run.reason,
        stderr_tail=run.stderr_tail,
        warnings=run.warnings,
        threads=run.threads,
        cores=run.cores,
        platform=run.platform,
        bit=run.bit,
        started=run.started,
        host=run.host,
        slot=run.slot,
    )


def _reproduce(inputs: ReportInputs) -> Reproduce:
    experiment = inputs.experiment
    versions = {"deviate": inputs.version} if inputs.version else {}
    command = run_command(experiment.command, experiment.planned, experiment.seed)
    return Reproduce(
        command=shlex.join(experiment.command) if experiment.imported else command,
        folder=experiment.folder,
        seed=experiment.seed,
        source=experiment.source,
        environment={**versions, **inputs.environment},
    )


def _short(names: Sequence[str]) -> list[str]:
    """Name groups of variants where all of a group are there."""
    groups = [group for group, members in GROUPS.items() if set(members) <= set(names)]
    covered = {member for group in groups for member in GROUPS[group]}
    return [*groups, *(name for name in names if name not in covered)]


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
        vary = [
            word for name in _short([name for name in planned if planned[name] == runs]) for word in ("--vary", name)
        ]
        lines.append(shlex.join(["deviate", "run", "-n", str(runs), *vary, "--seed", str(seed), "--", *command]))
    return " && ".join(lines)
