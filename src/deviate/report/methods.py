"""A methods paragraph: how the numbers were made, in sentences for a paper. Only what the document knows."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from deviate.collect.measured import TIME_PER_RUN
from deviate.experiment import IMPORTED
from deviate.factors import DESCRIBED, find_variant
from deviate.measure.bootstrap import RESAMPLES
from deviate.report.inputs import ReportInputs
from deviate.report.parts import Factors, MetricReport, Reproduce, VariantReport
from deviate.report.shown import show_level
from deviate.report.until import until_method
from deviate.report.words import count, ended_as, listed

#: How an aggregate is called in a sentence.
_AGGREGATES = {
    "last": "the last value reported",
    "best": "the best value of all iterations",
    "mean": "the mean over all values reported",
    "max": "the largest value of all iterations",
    "min": "the smallest value of all iterations",
    "area": "the mean height of the learning curve (area under it by the trapezium rule, divided by its length)",
}

#: Parts of an environment that a paper names, in order, and what they are called there.
_SOFTWARE = {"python": "Python", "libraries": ""}
_HARDWARE = {
    "gpu": "GPU",
    "installed_gpus": "installed GPUs",
    "cpu": "CPU",
    "cores": "cores",
    "system": "system",
}

#: What an environment says where there is nothing.
_ABSENT = ("", "None", "[]", "{}")


def methods(inputs: ReportInputs, variants: Sequence[VariantReport], reproduce: Reproduce) -> list[str]:
    """Return the sentences of a methods paragraph.

    Parameters
    ----------
    inputs : ReportInputs
        What was asked for.
    variants : sequence of VariantReport
        What was measured.
    reproduce : Reproduce
        Versions and machine.
    """
    return [
        *_runs(inputs, variants),
        *_factors(variants),
        *aggregates(variants),
        *_left_out(variants),
        *_intervals(variants, inputs.level),
        *until_method(inputs.experiment.until),
        *_seeds(inputs, variants),
        *_versions(reproduce, inputs),
        *_hardware(reproduce, inputs),
    ]


def environment_text(environment: dict[str, str], names: dict[str, str]) -> str:
    """Return those parts of an environment that are known, as a list for a sentence.

    Examples
    --------
    >>> environment_text({"python": "3.11.7", "gpu": "None"}, {"python": "Python", "gpu": "GPU"})
    'Python 3.11.7'
    """
    known = {name: value for name, value in environment.items() if name in names and value not in _ABSENT}
    return ", ".join(f"{names[name]} {known[name]}".strip() for name in names if name in known)


def software(reproduce: Reproduce) -> str:
    """Return the versions of interpreter and libraries; empty where none is known."""
    return environment_text(reproduce.environment, _SOFTWARE)


def hardware(reproduce: Reproduce) -> str:
    """Return processor, cores, GPUs and system; empty where none is known."""
    return environment_text(reproduce.environment, _HARDWARE)


def _runs(inputs: ReportInputs, variants: Sequence[VariantReport]) -> Iterator[str]:
    experiment = inputs.experiment
    if experiment.imported:
        runs = sum(len(variant.runs) for variant in variants)
        source = experiment.imported.format
        yield f"Results of {count(runs, 'run')} were imported ({source}); Deviate did not run them."
        return
    plans = {variant.planned for variant in variants}
    each = " of each variant" if len(variants) > 1 else ""
    if len(plans) == 1:
        times = f"{count(plans.pop(), 'time')}{each}"
    else:
        times = listed(
            [f"{count(variant.planned, 'time')} as {variant.variant}" for variant in variants], len(variants)
        )
    ended = all(len(variant.runs) >= variant.planned for variant in variants)
    verb = "was run" if ended else "was planned to be run"
    version = f" {inputs.version}" if inputs.version else ""
    yield f"The training command ({shlex.join(experiment.command)}) {verb} {times} with Deviate{version}."
    yield _finished(variants)


def _finished(variants: Sequence[VariantReport]) -> str:
    planned = sum(variant.planned for variant in variants)
    runs = [run for variant in variants for run in variant.runs]
    completed = sum(run.status == "completed" for run in runs)
    if completed == planned:
        return "All runs completed." if planned > 1 else "It completed."
    ends = [run.status for run in runs if run.status != "completed"]
    parts = [f"{ends.count(status)} {ended_as(status, ends.count(status))}" for status in dict.fromkeys(ends)]
    missing = planned - len(runs)
    parts += [f"{missing} {'was' if missing == 1 else 'were'} not run"] if missing > 0 else []
    verb = "enters" if completed == 1 else "enter"
    entered = f"{completed} completed and {verb} the statistics" if completed else "none completed"
    return f"Of {count(planned, 'run')}, {entered}; {listed(parts, len(parts))}."


def _factors(variants: Sequence[VariantReport]) -> Iterator[str]:
    told = [variant for variant in variants if variant.variant != IMPORTED]
    if len(told) < len(variants):
        yield "What varied between the imported runs is not known."
    for variant in [variant for variant in told if not _controlled(variant)]:
        yield f"Nothing was controlled in the runs of {variant.variant}: the program's own seeds were left as they are."
    controlled = [variant for variant in told if _controlled(variant)]
    if len(controlled) == 1:
        factors = controlled[0].factors
        yield f"Between runs {_varied(factors)}; held: {listed(factors.held, len(factors.held))}."
    elif controlled:
        each = "; ".join(f"of {variant.variant} {_varied(variant.factors)}" for variant in controlled)
        common = [held for held in controlled[0].factors.held if all(held in v.factors.held for v in controlled)]
        yield f"Between the runs {each}. Held in all of them: {listed(common, len(common))}."
    yield from _broken(variants)


def _controlled(variant: VariantReport) -> bool:
    known = find_variant(variant.variant)
    return known is not None and known.controlled


def _varied(factors: Factors) -> str:
    return f"these varied on purpose: {', '.join(factors.varied)}" if factors.varied else "nothing varied on purpose"


def _broken(variants: Sequence[VariantReport]) -> Iterator[str]:
    """Say where fingerprints show otherwise than the variant promises."""
    for variant in variants:
        broken = [DESCRIBED.get(each.name, each.name) for each in variant.evidence if each.broken]
        if broken:
            yield f"Fingerprints show otherwise in {variant.variant} for: {', '.join(broken)}."


def aggregates(variants: Sequence[VariantReport]) -> Iterator[str]:
    """Say how the values of a run became one number, for each metric but times."""
    names: dict[str, list[str]] = {}
    for variant in variants:
        for metric in variant.metrics:
            if metric.n and metric.kind != "speed" and metric.name not in names.setdefault(metric.aggregate, []):
                names[metric.aggregate].append(metric.name)
    told = [f"{aggregate_text(aggregate)} for {listed(found)}" for aggregate, found in names.items() if found]
    if told:
        yield f"Each run gives one number a metric: {'; '.join(told)}."


def aggregate_text(aggregate: str) -> str:
    """Say how the values of a run became one number.

    Examples
    --------
    >>> aggregate_text("last"), aggregate_text("at 9")
    ('the last value reported', 'the value at iteration 9 (counted from 0)')
    """
    if aggregate.startswith("at "):
        return f"the value at iteration {aggregate.removeprefix('at ')} (counted from 0)"
    return _AGGREGATES.get(aggregate, aggregate)


def _left_out(variants: Sequence[VariantReport]) -> Iterator[str]:
    metrics = [metric for variant in variants for metric in variant.metrics if metric.kind != "speed"]
    odd = [
        metric for metric in metrics if any(left.status == "completed" and not left.weak for left in metric.excluded)
    ]
    if odd:
        names = listed(list(dict.fromkeys(metric.name for metric in odd)))
        yield f"Completed runs without a finite value are left out of {names}."
    weak = [left for metric in metrics for left in metric.excluded if left.weak]
    if weak:
        rules = listed(list(dict.fromkeys(left.reason for left in weak)))
        yield f"Runs that did not converge by a rule given beforehand were left out ({rules})."


def _intervals(variants: Sequence[VariantReport], level: float) -> Iterator[str]:
    metrics = [metric for variant in variants for metric in variant.metrics if metric.n > 1]
    if not metrics:
        return
    yield "Standard deviations have divisor n - 1 and are of single runs, not of the mean."
    if not any(metric.ci_mean.known for metric in metrics):
        return
    share = show_level(level)
    sentence = (
        f"Intervals are {share} confidence intervals over runs: of the mean by Student's t, of the SD by the "
        "chi-square distribution, both exact for normal values"
    )
    yield f"{sentence}{_bootstrapped(metrics)}."


def _bootstrapped(metrics: Sequence[MetricReport]) -> str:
    known = [metric.ci_mean_bootstrap for metric in metrics if metric.ci_mean_bootstrap is not None]
    found = next((interval for interval in known if interval.known), None)
    return f"; beside them {found.method} intervals of {RESAMPLES:,} resamples" if found else ""


def _seeds(inputs: ReportInputs, variants: Sequence[VariantReport]) -> Iterator[str]:
    if not any(run.seeds for variant in variants for run in variant.runs):
        return
    yield (
        f"The seed of each factor in each run derives from the experiment's seed {inputs.experiment.seed} by SHA-256; "
        "factors that were held have the same seed in all runs."
    )
    if inputs.seeds:
        yield f"Seeds that the program sets itself were replaced in {count(len(inputs.seeds), 'place')}."


def _versions(reproduce: Reproduce, inputs: ReportInputs) -> Iterator[str]:
    known = software(reproduce)
    if known:
        yield f"Software: {known}."
    if inputs.experiment.source:
        commit = reproduce.environment.get("git", "")
        at = f", commit {commit}" if commit not in _ABSENT else ""
        yield f"The source is that with digest {inputs.experiment.source[:12]}{at}."


def _hardware(reproduce: Reproduce, inputs: ReportInputs) -> Iterator[str]:
    known = hardware(reproduce)
    if known:
        yield f"Hardware: {known}."
    if inputs.differences:
        names = listed([difference.name for difference in inputs.differences])
        yield f"The environment was not the same for all runs: {names}."


def run_times(variants: Sequence[VariantReport]) -> list[MetricReport]:
    """Return the times per run that were measured, one a variant."""
    return [metric for variant in variants for metric in variant.metrics if metric.name == TIME_PER_RUN and metric.n]
