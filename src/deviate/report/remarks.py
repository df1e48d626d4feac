"""What a reader must know before trusting the numbers: failures, exclusions, limits of the sample."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from deviate.collect.events import EnvironmentDifference
from deviate.experiment import Metric
from deviate.measure.intervals import sd_factors
from deviate.report.inputs import ReportInputs
from deviate.report.parts import RunReport, VariantReport, Warned
from deviate.report.promises import promise_remarks
from deviate.report.shown import show_level
from deviate.report.until import until_remarks
from deviate.report.weak import weak_remarks
from deviate.report.words import count, ended_as, listed

#: Below this many runs the report says how little the SD is known. Pham et al. (ASE 2020) ran 16 runs a setting.
FEW_RUNS = 16


def experiment_remarks(inputs: ReportInputs, variants: list[VariantReport]) -> list[Warned]:
    """List all remarks: those on each variant, then those on the experiment; warnings before notes."""
    found = _merged([list(variant_remarks(variant, inputs)) for variant in variants])
    found += [*_differences(inputs), *_runtime(inputs), *_operations(inputs), *_draws_left(inputs)]
    found += _chosen(inputs)
    return sorted(found, key=lambda remark: remark.severity == "note")


def _merged(remarks: list[list[Warned]]) -> list[Warned]:
    """Say once what is said of every variant in the same words."""
    messages = [{remark.message for remark in of_variant} for of_variant in remarks]
    common = set.intersection(*messages) if len(messages) > 1 else set()
    merged = [
        structs.replace(remark, variant=None) if remark.message in common else remark
        for of_variant in remarks
        for remark in of_variant
    ]
    return list(dict.fromkeys(merged))


def variant_remarks(report: VariantReport, inputs: ReportInputs) -> Iterable[Warned]:
    """Yield the remarks on the runs of one variant."""
    yield from _unfinished(report)
    yield from _said_by_runs(report)
    yield from _not_recorded(report, inputs.experiment.metrics)
    yield from weak_remarks(report)
    yield from _excluded(report)
    yield from promise_remarks(report)
    yield from _few_runs(report, inputs.level)
    yield from _best(report)
    yield from until_remarks(inputs.experiment.until, report.stopped, report.variant)


def _unfinished(report: VariantReport) -> Iterable[Warned]:
    for status in dict.fromkeys(run.status for run in report.runs if run.status != "completed"):
        ended = [run.name for run in report.runs if run.status == status]
        how, enter = ended_as(status, len(ended)), "it enters" if len(ended) == 1 else "they enter"
        message = f"{len(ended)} of {count(len(report.runs), 'run')} {how} ({listed(ended)}); {enter} no statistic."
        yield Warned(slug=f"run-{status}", message=message, variant=report.variant)
    if len(report.runs) < report.planned:
        message = f"{len(report.runs)} of {report.planned} planned runs have ended so far."
        yield Warned(slug="runs-missing", message=message, variant=report.variant)


def _said_by_runs(report: VariantReport) -> Iterable[Warned]:
    for message in dict.fromkeys(message for run in report.runs for message in run.warnings):
        told = [run.name for run in report.runs if message in run.warnings]
        yield Warned(slug="run-warning", message=f"{message} ({listed(told)})", variant=report.variant)


def _not_recorded(report: VariantReport, metrics: list[Metric]) -> Iterable[Warned]:
    sites = {metric.name: f"{metric.name} ({metric.file}:{metric.line})" for metric in metrics}
    if report.silent and report.completed:
        named = listed([sites.get(name, name) for name in report.silent])
        message = f"Never recorded in a completed run: {named}. The line was not reached, or reported no number."
        yield Warned(slug="metric-silent", message=message, variant=report.variant)


def _excluded(report: VariantReport) -> Iterable[Warned]:
    alike: dict[tuple[str, tuple[str, ...], int], list[str]] = {}
    for metric in report.metrics:
        lost = [left for left in metric.excluded if left.status == "completed" and not left.weak]
        for reason in dict.fromkeys(left.reason for left in lost):
            runs = tuple(_run_name(report.runs, left.run) for left in lost if left.reason == reason)
            alike.setdefault((reason, runs, metric.n), []).append(metric.name)
    for (reason, runs, n), names in alike.items():
        message = f"{listed(names)}: {reason} in {listed(runs)}; excluded, so n is {n} there."
        yield Warned(slug="value-excluded", message=message, variant=report.variant)


def _run_name(runs: list[RunReport], index: int) -> str:
    return next(run.name for run in runs if run.index == index)


def _few_runs(report: VariantReport, level: float) -> Iterable[Warned]:
    differing = [metric for metric in report.metrics if metric.kind != "speed" and not metric.spread.identical]
    few = sorted({metric.n for metric in differing if 1 < metric.n < FEW_RUNS})
    if max((metric.n for metric in report.metrics), default=0) == 1:
        message = "With one run nothing is known about how much runs differ; 10 runs give a first look."
        yield Warned(slug="few-runs", message=message, severity="warning", variant=report.variant)
    elif few:
        more = "".join(f", with {n} within {_factors(n, level)}" for n in few[1:])
        message = (
            f"With {few[0]} runs the SD is known only within a factor of {_factors(few[0], level)}{more} "
            f"({show_level(level)} CI, if values are normal); with {FEW_RUNS} within {_factors(FEW_RUNS, level)}."
        )
        yield Warned(slug="few-runs", message=message, severity="note", variant=report.variant)


def _factors(n: int, level: float) -> str:
    low, high = sd_factors(n, level)
    return f"{low:.2f}–{high:.2f}"


def _best(report: VariantReport) -> Iterable[Warned]:
    chosen = [metric.name for metric in report.metrics if metric.aggregate == "best"]
    if chosen:
        message = (
            f"Best value of each run taken for {listed(chosen)}: picked by the reported values themselves, it looks "
            "better than a model chosen without them would. Compare it with the last value."
        )
        yield Warned(slug="best-biased", message=message, severity="note", variant=report.variant)


def _differences(inputs: ReportInputs) -> Iterable[Warned]:
    alike: dict[tuple[tuple[str, ...], ...], list[EnvironmentDifference]] = {}
    for difference in inputs.differences:
        parts = tuple(sorted(tuple(runs) for runs in difference.values.values()))
        alike.setdefault(parts, []).append(difference)
    for first, *others in alike.values():
        seen = [f"{value or 'unknown'} ({listed(runs)})" for value, runs in first.values.items()]
        message = f"Runs differ in {first.name}: {listed(seen)}. They are not identical runs in that respect."
        if others:
            message += f" The same runs differ in {listed([other.name for other in others])}."
        yield Warned(slug="environment-differs", message=message)


def _runtime(inputs: ReportInputs) -> Iterable[Warned]:
    for note in inputs.notes:
        where = f" ({listed(note.runs)})" if note.runs else ""
        yield Warned(slug=note.slug, message=f"{note.message}{where}")


def _operations(inputs: ReportInputs) -> Iterable[Warned]:
    if inputs.operations:
        named = [f"{each.operation} ({listed(each.runs, most=2)})" for each in inputs.operations]
        message = (
            f"Operations without a deterministic form, as the framework warned: {listed(named)}. Where the "
            "implementation is held fixed, runs may still differ by them; --strict makes them end a run."
        )
        yield Warned(slug="operation-not-deterministic", message=message)


def _chosen(inputs: ReportInputs) -> Iterable[Warned]:
    """Say how much is not told: a metric that was picked for its result looks better than it is."""
    measured = list(dict.fromkeys(inputs.samples["metric"]))
    left = [name for name in measured if name not in inputs.metrics]
    if inputs.metrics and left:
        shown = len(measured) - len(left)
        message = f"{shown} of {count(len(measured), 'metric')} shown, as asked for; left out: {listed(left)}."
        yield Warned(slug="metrics-chosen", message=message, severity="note")


def _draws_left(inputs: ReportInputs) -> Iterable[Warned]:
    left = [f"{draw.call} at {draw.file}:{draw.line}" for draw in inputs.draws if draw.factor == "other"]
    if left:
        message = f"Draws that show no other purpose are of `other`: {listed(left)}."
        yield Warned(slug="draws-left", message=message, severity="note")
