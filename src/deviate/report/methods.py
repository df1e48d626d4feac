"""A methods paragraph: how the numbers were made, in sentences for a paper. Only what the document knows."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from deviate.measure.bootstrap import RESAMPLES
from deviate.report.inputs import ReportInputs
from deviate.report.parts import MetricReport, Reproduce, VariantReport
from deviate.report.shown import show_level
from deviate.report.until import until_method
from deviate.report.varied import varied_sentences
from deviate.report.words import code, count, ended_as, joined

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
    "cores": "",
    "system": "system",
}

#: Digits of commits and digests in a sentence; all of them are where the report says how to reproduce it.
DIGITS = 12

#: Metrics that a sentence names one by one.
METRICS_NAMED = 12

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
        *varied_sentences(variants),
        *aggregates(variants),
        *_left_out(variants),
        *_intervals(variants, inputs.level),
        *until_method(inputs.experiment.until),
        *_seeds(inputs, variants),
        *_versions(reproduce, inputs),
        *_hardware(reproduce, inputs, variants),
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


def hardware(reproduce: Reproduce, variants: Sequence[VariantReport]) -> str:
    """Return processor, cores of a run, GPUs and system; empty where none is known."""
    return environment_text({**reproduce.environment, "cores": _cores(reproduce, variants)}, _HARDWARE)


def _cores(reproduce: Reproduce, variants: Sequence[VariantReport]) -> str:
    """Say how many cores a run had: those it was held to, or all that it might use. The machine may have more."""
    held = sorted({len(run.cores) for variant in variants for run in variant.runs if run.cores})
    if held:
        least = f"{held[0]} to " if len(held) > 1 else ""
        return f"{least}{count(held[-1], 'core')} for each run"
    usable = reproduce.environment.get("cores", "")
    return f"up to {count(int(usable), 'core')} for each run" if usable.isdecimal() else ""


def source_text(inputs: ReportInputs, reproduce: Reproduce) -> str:
    """Return the commit, what differed from it when the runs were started, and the digest; empty without a digest."""
    source = inputs.experiment.source
    if not source:
        return ""
    commit, _, changes = reproduce.environment.get("git", "").partition(" + ")
    known = "" if commit in _ABSENT else f"git commit {commit[:DIGITS]}"
    changed = f" with uncommitted changes ({changes.replace(' + ', ' and ')})" if known and changes else ""
    return f"{known}{changed}{', ' if known else ''}digest {source[:DIGITS]} of all files"


def _runs(inputs: ReportInputs, variants: Sequence[VariantReport]) -> Iterator[str]:
    experiment = inputs.experiment
    if experiment.imported:
        runs = sum(len(variant.runs) for variant in variants)
        source = experiment.imported.format
        yield f"Results of {count(runs, 'run')} were imported ({source}); Deviate did not run them."
        return
    planned = sum(variant.planned for variant in variants)
    times = "once" if planned == 1 else f"{planned} times"
    ended = all(len(variant.runs) >= variant.planned for variant in variants)
    verb = "was run" if ended else "was planned to be run"
    version = f" {inputs.version}" if inputs.version else ""
    command = code(shlex.join(experiment.command))
    yield f"The training command {command} {verb} {times} with Deviate{version}{_conditions(variants)}."
    yield _finished(variants)


def _conditions(variants: Sequence[VariantReport]) -> str:
    """Name the variants, which a reader knows from the tables; what they mean is said after."""
    if len(variants) < 2:
        return ""
    named = [f"{variant.variant} ({count(variant.planned, 'run')})" for variant in variants]
    return f" under {len(variants)} conditions that differ in what varies between runs, called {joined(named)}"


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
    return f"Of {count(planned, 'run')}, {entered}; {joined(parts)}."


def aggregates(variants: Sequence[VariantReport]) -> Iterator[str]:
    """Say how the values of a run became one number, for each metric but times; the main metric comes first."""
    names: dict[str, list[str]] = {}
    for variant in variants:
        for metric in variant.metrics:
            if metric.n and metric.kind != "speed" and metric.name not in names.setdefault(metric.aggregate, []):
                names[metric.aggregate].append(metric.name)
    found = {aggregate: names for aggregate, names in names.items() if names}
    if not found:
        return
    told = [f"{aggregate_text(aggregate)} for {metrics}" for aggregate, metrics in _grouped(found)]
    yield f"Each run gives one number a metric: {'; '.join(told)}."


def _grouped(found: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Name the metrics of each aggregate; of many, those of the most frequent one together and last."""
    main = next(iter(found.values()))[0]
    most = max(found, key=lambda aggregate: len(found[aggregate]))
    together = sum(map(len, found.values())) > METRICS_NAMED
    for aggregate, names in found.items():
        if not together or aggregate != most:
            yield aggregate, joined(names)
    if together and len(found) == 1:
        yield most, f"all {len(found[most])} metrics"
    elif together:
        yield most, f"all other metrics{f', {main} among them' if main in found[most] else ''}"


def metric_names(names: Sequence[str]) -> str:
    """Name metrics in a sentence; many are only counted.

    Examples
    --------
    >>> metric_names(["loss", "test acc"]), metric_names([f"acc {k}" for k in range(20)])
    ('loss and test acc', '20 metrics')
    """
    return joined(names) if len(names) <= METRICS_NAMED else count(len(names), "metric")


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
        names = metric_names(list(dict.fromkeys(metric.name for metric in odd)))
        yield f"Completed runs without a finite value are left out of {names}."
    weak = {
        (variant.variant, left.run): left.reason
        for variant in variants
        for metric in variant.metrics
        for left in metric.excluded
        if left.weak
    }
    if weak:
        runs = f"{count(len(weak), 'completed run')} {'was' if len(weak) == 1 else 'were'}"
        # A rule may be chosen when the results are known: nothing is said of when it was.
        yield f"{runs} left out as not converged, by a rule of the authors ({'; '.join(dict.fromkeys(weak.values()))})."


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
        f"The seed of each source of randomness in each run derives from the experiment's seed "
        f"{inputs.experiment.seed} by SHA-256; sources that were held fixed have the same seed in all runs."
    )
    if inputs.seeds:
        yield f"Seeds that the program sets itself were replaced in {count(len(inputs.seeds), 'place')}."


def _versions(reproduce: Reproduce, inputs: ReportInputs) -> Iterator[str]:
    known = software(reproduce)
    if known:
        yield f"Software: {known}."
    if source := source_text(inputs, reproduce):
        yield f"Source code: {source}."


def _hardware(reproduce: Reproduce, inputs: ReportInputs, variants: Sequence[VariantReport]) -> Iterator[str]:
    known = hardware(reproduce, variants)
    if known:
        yield f"Hardware: {known}."
    if inputs.differences:
        names = joined(list(dict.fromkeys(difference.name for difference in inputs.differences)))
        yield f"The environment was not the same for all runs: {names}."
