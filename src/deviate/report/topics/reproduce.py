"""What was controlled, and what someone else needs to do the same again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from deviate.facts.experiment import ExperimentFacts
from deviate.facts.metric import MetricSpread
from deviate.facts.variant import VariantFacts
from deviate.report.numbers import show_level
from deviate.report.page import Block, Code, Facts, Section, Sentences
from deviate.report.topics.curves import Charts
from deviate.report.topics.runs import decided_method, median_taken, until_method
from deviate.report.topics.stability import evaluation_methods
from deviate.report.topics.varied import Factors, factors_of, varied_sentences
from deviate.report.words import (
    code,
    command_text,
    count,
    disturbed,
    ended_as,
    joined,
    listed,
    reproduce_text,
    seed_text,
)
from deviate.stats.intervals import CHI_SQUARE, FEWEST_RUNS

#: Variants whose factors are listed one by one on a brief page; of more, what all of them held.
IN_FULL = 2


def brief(facts: ExperimentFacts, charts: Charts) -> Section:
    """List what varied and what was held, seeds, and the command that makes the same again."""
    return Section(slug="reproduce", blocks=[Facts(pairs=list(_pairs(facts)))])


def _pairs(facts: ExperimentFacts) -> Iterator[tuple[str, str]]:
    several = len(facts.variants) > 1
    completed = [(variant.variant, factors_of(variant)) for variant in facts.variants if variant.completed]
    if len(completed) > IN_FULL:
        first = completed[0][1]
        yield "Held in all", ", ".join(held for held in first.held if all(held in each.held for _, each in completed))
        yield from (("", text) for text in _caveats(completed))
    else:
        for name, factors in completed:
            about = f" in {name}" if several else ""
            yield f"Varied{about}", ", ".join(factors.varied) or "nothing on purpose"
            yield f"Held{about}", ", ".join(factors.held)
            yield from (("", caveat) for caveat in factors.caveats)
    yield from _disturbed(facts)
    if facts.seeds_replaced:
        yield "Seeds replaced", listed([seed_text(seed) for seed in facts.seeds_replaced])
    if facts.seeds_kept:
        kept = listed([seed_text(seed) for seed in facts.seeds_kept])
        yield "Seeds kept", f"{kept} (for the data, which is held fixed)"
    if taken := median_taken([run for variant in facts.variants for run in variant.runs]):
        yield "A run took", taken
    yield "Reproduce", reproduce_text(facts)
    for each in facts.evaluations:
        yield each.name, command_text(each.command)


def _caveats(completed: Sequence[tuple[str, Factors]]) -> Iterator[str]:
    """Yield the caveats of several variants once each; what is true of one of them only begins with its name."""
    names: dict[str, list[str]] = {}
    for name, factors in completed:
        for caveat in factors.caveats:
            names.setdefault(caveat, []).append(name)
    yield from (f"{found[0]}: {caveat}" if len(found) == 1 else caveat for caveat, found in names.items())


def _disturbed(facts: ExperimentFacts) -> Iterable[tuple[str, str]]:
    """Say which runs seemed to be on which machine, or began with which weight changed."""
    names: dict[str, list[str]] = {}
    for variant in facts.variants:
        for run in variant.runs:
            if how := disturbed(run):
                names.setdefault(how, []).append(run.name)
    for index, (how, runs) in enumerate(names.items()):
        yield "" if index else "Ran", f"{how}: {listed(runs)}"


def seeds(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """List seeds that were replaced or kept, draws left, switches, operations that warned, and environments."""
    groups: list[Block] = [
        Sentences(about=title, sentences=lines, listed=True) for title, lines in _groups(facts) if lines
    ]
    return Section(slug="seeds", title="Seeds, switches and environments", blocks=groups) if groups else None


def _groups(facts: ExperimentFacts) -> Iterator[tuple[str, list[str]]]:
    through = [f", reached from {seed.through}" if seed.through else "" for seed in facts.seeds_replaced]
    yield "Seeds replaced", [seed_text(s) + text for s, text in zip(facts.seeds_replaced, through, strict=True)]
    yield "Seeds of the data, kept", [seed_text(seed) for seed in facts.seeds_kept]
    yield "Among the draws of `other`", [f"{draw.call} at {draw.file}:{draw.line}" for draw in facts.draws_left]
    yield "Switches set", [f"{switch.name} = {switch.value}" for switch in facts.switches]
    yield (
        "Operations without a deterministic form",
        [f"{each.operation}: {listed(each.runs)}" if each.runs else each.operation for each in facts.operations],
    )
    yield (
        "Environments that differ",
        [
            f"{each.name}: " + "; ".join(f"{value} in {listed(runs)}" for value, runs in each.values.items())
            for each in facts.differences
        ],
    )


def full(facts: ExperimentFacts, charts: Charts) -> Section:
    """Return the command, source, versions and machine."""
    reproduce = facts.reproduce
    pairs = {
        "Folder": reproduce.folder,
        "Source": reproduce.source,
        "Seed": str(reproduce.seed),
        "Started": facts.created,
        **reproduce.environment,
        "Written": facts.generated,
    }
    # What a machine does not have, such as a GPU, is recorded as None.
    known = [(name, text) for name, text in pairs.items() if text not in ("", "None")]
    return Section(
        slug="reproduce", title="How to reproduce", blocks=[Code(lines=[reproduce_text(facts)]), Facts(pairs=known)]
    )


# A methods paragraph: how the numbers were made, in sentences for a paper. Only what the facts hold.

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
    "container": "container",
    "cores": "",
    "system": "system",
}

#: Digits of commits and digests in a sentence; all of them are where the report says how to reproduce it.
DIGITS = 12

METRICS_NAMED = 12

#: What an environment says where there is nothing.
_ABSENT = ("", "None", "[]", "{}")


def methods(facts: ExperimentFacts) -> list[str]:
    """Return the sentences of a methods paragraph."""
    return [*_values(facts), *_intervals(facts.variants, facts.level), *_making(facts)]


def run_methods(facts: ExperimentFacts) -> list[str]:
    """Return the same without the intervals of single metrics, for tables that show none."""
    return [*_values(facts), *_making(facts)]


def _values(facts: ExperimentFacts) -> list[str]:
    return [*_runs(facts), *varied_sentences(facts.variants), *aggregates(facts.variants), *_left_out(facts.variants)]


def _making(facts: ExperimentFacts) -> list[str]:
    return [
        *evaluation_methods(facts.evaluations),
        *until_method(facts.definition.until),
        *decided_method(facts.definition.decided),
        *_seeds(facts),
        *_versions(facts),
        *_hardware(facts),
    ]


def environment_text(environment: dict[str, str], names: dict[str, str]) -> str:
    """Return those parts of an environment that are known, as a list for a sentence.

    >>> environment_text({"python": "3.11.7", "gpu": "None"}, {"python": "Python", "gpu": "GPU"})
    'Python 3.11.7'
    """
    known = {name: value for name, value in environment.items() if name in names and value not in _ABSENT}
    return ", ".join(f"{names[name]} {known[name]}".strip() for name in names if name in known)


def software(facts: ExperimentFacts) -> str:
    """Return the versions of interpreter and libraries; empty where none is known."""
    return environment_text(facts.reproduce.environment, _SOFTWARE)


def hardware(facts: ExperimentFacts) -> str:
    """Return processor, cores of a run, GPUs and system; empty where none is known."""
    return environment_text({**facts.reproduce.environment, "cores": _cores(facts)}, _HARDWARE)


def _cores(facts: ExperimentFacts) -> str:
    """Say how many cores a run had: those it was held to, or all that it might use. The machine may have more."""
    held = sorted({len(run.cores) for variant in facts.variants for run in variant.runs if run.cores})
    if held:
        least = f"{held[0]} to " if len(held) > 1 else ""
        return f"{least}{count(held[-1], 'core')} for each run"
    usable = facts.reproduce.environment.get("cores", "")
    return f"up to {count(int(usable), 'core')} for each run" if usable.isdecimal() else ""


def source_text(facts: ExperimentFacts) -> str:
    """Return the commit, what differed from it when the runs were started, and the digest; empty without a digest."""
    source = facts.definition.source
    if not source:
        return ""
    commit, _, changes = facts.reproduce.environment.get("git", "").partition(" + ")
    known = "" if commit in _ABSENT else f"git commit {commit[:DIGITS]}"
    changed = _changed(changes.split(" + ")) if known and changes else ""
    return f"{known}{changed}{', ' if known else ''}digest {source[:DIGITS]} of the files that the runs depend on"


def _changed(changes: Sequence[str]) -> str:
    """Say what there was beside a commit; files that git does not track are no changes of it."""
    return "".join(
        f" and {count(int(each.split()[0]), 'untracked file')}"
        if each.endswith(" untracked")
        else f" with uncommitted changes ({each})"
        for each in changes
    )


def _runs(facts: ExperimentFacts) -> Iterator[str]:
    experiment, variants = facts.definition, facts.variants
    if experiment.imported:
        runs = sum(len(variant.runs) for variant in variants)
        source = experiment.imported.format
        yield f"Results of {count(runs, 'run')} were imported ({source}); Deviate did not run them."
        return
    planned = sum(variant.planned for variant in variants)
    times = "once" if planned == 1 else f"{planned} times"
    ended = all(len(variant.runs) >= variant.planned for variant in variants)
    verb = "was run" if ended else "was planned to be run"
    version = f" {facts.version}" if facts.version else ""
    command = code(command_text(experiment.command))
    yield f"The training command {command} {verb} {times} with Deviate{version}{_conditions(variants)}."
    yield _finished(variants)
    if shared := sum(bool(run.same_as) for variant in variants for run in variant.runs):
        were, each = ("was", "it") if shared == 1 else ("were", "each")
        yield (
            f"{count(shared, 'run')} {were} not trained separately: {each} used the same random numbers as another run "
            "and has its results."
        )


def _conditions(variants: Sequence[VariantFacts]) -> str:
    """Name the variants, which a reader knows from the tables; what they mean is said after."""
    if len(variants) < 2:
        return ""
    named = [f"{variant.variant} ({count(variant.planned, 'run')})" for variant in variants]
    return f" under {len(variants)} conditions that differ in what varies between runs, called {joined(named)}"


def _finished(variants: Sequence[VariantFacts]) -> str:
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


def aggregates(variants: Sequence[VariantFacts]) -> Iterator[str]:
    """Say how the values of a run became one number, for each metric but times; the main metric comes first."""
    names: dict[str, list[str]] = {}
    for variant in variants:
        for metric in variant.metrics:
            if metric.n and metric.kind != "speed" and metric.name not in names.setdefault(metric.aggregate, []):
                names[metric.aggregate].append(metric.name)
    measured = {aggregate: names for aggregate, names in names.items() if names}
    if not measured:
        return
    texts = [f"{aggregate_text(aggregate)} for {metrics}" for aggregate, metrics in _grouped(measured)]
    yield f"We report one value per run and metric: {'; '.join(texts)}."


def _grouped(measured: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Name the metrics of each aggregate; of many, those of the most frequent one together and last."""
    main = next(iter(measured.values()))[0]
    most = max(measured, key=lambda aggregate: len(measured[aggregate]))
    together = sum(map(len, measured.values())) > METRICS_NAMED
    for aggregate, names in measured.items():
        if not together or aggregate != most:
            yield aggregate, joined(names)
    if together and len(measured) == 1:
        yield most, f"all {len(measured[most])} metrics"
    elif together:
        yield most, f"all other metrics{f', {main} among them' if main in measured[most] else ''}"


def metric_names(names: Sequence[str]) -> str:
    """Name metrics in a sentence; many are only counted.

    >>> metric_names(["loss", "test acc"]), metric_names([f"acc {k}" for k in range(20)])
    ('loss and test acc', '20 metrics')
    """
    return joined(names) if len(names) <= METRICS_NAMED else count(len(names), "metric")


def aggregate_text(aggregate: str) -> str:
    """Say how the values of a run became one number.

    >>> aggregate_text("last"), aggregate_text("at 9")
    ('the last value reported', 'the value at iteration 9 (counted from 0)')
    """
    if aggregate.startswith("at "):
        return f"the value at iteration {aggregate.removeprefix('at ')} (counted from 0)"
    return _AGGREGATES.get(aggregate, aggregate)


def _left_out(variants: Sequence[VariantFacts]) -> Iterator[str]:
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


def _intervals(variants: Sequence[VariantFacts], level: float) -> Iterator[str]:
    metrics = [metric for variant in variants for metric in variant.metrics if metric.n > 1]
    if not metrics:
        return
    yield "Standard deviations have divisor n - 1 and are of single runs, not of the mean."
    if not any(metric.ci_mean.known for metric in metrics):
        return
    share = show_level(level)
    sentence = (
        f"Intervals are {share} confidence intervals over runs: of the mean by Student's t, which assumes normal "
        f"values; of the SD {sd_intervals(metrics)}"
    )
    yield f"{sentence}."


def sd_intervals(metrics: Sequence[MetricSpread]) -> str:
    """Say how intervals of the SD were made; below five runs nothing shows how heavy tails are."""
    methods = {metric.ci_sd.method for metric in metrics if metric.ci_sd.known}
    few = "by the chi-square distribution, which assumes normal values"
    if methods <= {CHI_SQUARE}:
        return few
    wider = "the wider of the chi-square interval and Bonett's, which allows for heavy tails"
    return f"{wider}; with fewer than {FEWEST_RUNS} runs {few}" if CHI_SQUARE in methods else wider


def _seeds(facts: ExperimentFacts) -> Iterator[str]:
    seeded = [variant.variant for variant in facts.variants if any(run.seeds for run in variant.runs)]
    if not seeded:
        return
    of = "" if len(seeded) == len(facts.variants) else f" of {joined(seeded)}"
    yield (
        f"The seed of each source of randomness in each run{of} derives from the experiment's seed "
        f"{facts.definition.seed} by SHA-256; sources that were held fixed have the same seed in all runs."
    )
    if own := [seed for seed in facts.seeds_replaced if not seed.library]:
        yield f"Seeds that the program sets itself were replaced in {count(len(own), 'place')}."


def _versions(facts: ExperimentFacts) -> Iterator[str]:
    if known := software(facts):
        yield f"Software: {known}."
    if source := source_text(facts):
        yield f"Source code: {source}."


def _hardware(facts: ExperimentFacts) -> Iterator[str]:
    if known := hardware(facts):
        yield f"Hardware: {known}."
    if facts.differences:
        names = joined(list(dict.fromkeys(difference.name for difference in facts.differences)))
        yield f"The environment was not the same for all runs: {names}."
