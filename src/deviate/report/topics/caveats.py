"""What a reader must know before trusting the numbers: failures, exclusions, limits, what lies outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import structs

from deviate.core.experiment import MainLoop, Metric
from deviate.core.factors import IMPLEMENTATION, find_variant
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.metric import MetricSpread, TrainingsFacts
from deviate.facts.run import RunResult
from deviate.facts.variant import VariantFacts
from deviate.observe.events import EnvironmentDifference, RuntimeNote
from deviate.observe.headline import main_metric
from deviate.observe.surroundings import ChangedInput, ChangedVariable, KeptState
from deviate.report.page import Severity
from deviate.report.topics.caveat import Caveat
from deviate.report.topics.explanation import repetition_caveats
from deviate.report.topics.metrics import rounded_footnotes, weak_footnotes
from deviate.report.topics.proof import promise_caveats
from deviate.report.topics.runs import decided_caveats, until_caveats
from deviate.report.topics.stability import evaluation_caveats
from deviate.report.words import count, ended_as, listed

# Caveats on what lies outside the project: inputs that changed, state that runs keep, processes that nobody saw.

#: Files that are named.
NAMED = 3

RUNS_NAMED = 3


def surrounding_caveats(facts: ExperimentFacts) -> Iterable[Caveat]:
    """Yield what makes runs no identical or independent runs, the gravest first."""
    yield from _unseen(facts)
    if facts.state_kept:
        yield Caveat(slug="state-kept", message=_kept(facts.state_kept))
    if facts.inputs_changed:
        yield Caveat(slug="input-differs", message=_changed(facts.inputs_changed))
    yield from _variables(facts.variables_changed)


def _unseen(facts: ExperimentFacts) -> Iterable[Caveat]:
    runs = [run for variant in facts.variants for run in variant.runs if run.unseen.commands]
    training, beside = ([run for run in runs if run.unseen.trains == trains] for trains in (True, False))
    if training:
        message = (
            f"{_commands(training)} ran without Deviate's instruments: nothing is known of what it drew, and nothing "
            "in it was varied or held. Start it without -I, -E and -S, with the environment that it is given."
        )
        yield Caveat(slug="process-not-instrumented", message=message)
    if beside:
        message = f"Not instrumented, beside the training: {_commands(beside)}."
        yield Caveat(slug="process-not-instrumented", message=message, severity="note")


def _commands(runs: Sequence[RunResult]) -> str:
    commands = dict.fromkeys(f"`{command}`" for run in runs for command in run.unseen.commands)
    return f"{listed(list(commands), most=NAMED)} ({listed([run.name for run in runs], most=RUNS_NAMED)})"


def _kept(kept: Sequence[KeptState]) -> str:
    first = kept[0]
    went_on = f"{listed(first.readers)} read what {listed(first.writers)} had left in {first.path}, outside the project"
    return (
        f"Runs went on from each other: {went_on}. They are not independent runs.{_others(kept)} Give each run a place "
        "of its own: `sh -c 'HOME=$PWD exec python ...'`, likewise XDG_CACHE_HOME or TMPDIR, or a relative folder by "
        "an option of the program."
    )


def _changed(changed: Sequence[ChangedInput]) -> str:
    first = changed[0]
    held = f"Runs differ in what {first.path} held when they read it: {_groups(first)}."
    return f"{held} They are not identical runs.{_others(changed)}"


def _others(files: Sequence[ChangedInput] | Sequence[KeptState]) -> str:
    others = [each.path for each in files[1:]]
    return f" The same holds for {listed(others, most=NAMED)}." if others else ""


def _groups(changed: ChangedInput) -> str:
    return " | ".join(listed(group, most=RUNS_NAMED) for group in changed.groups)


def _variables(changed: Sequence[ChangedVariable]) -> Iterable[Caveat]:
    for each in (each for each in changed if each.named):
        message = (
            f"Runs differ in the environment variable {each.path}, which the project names: {_groups(each)}. They are "
            "not identical runs in that respect."
        )
        yield Caveat(slug="environment-differs", message=message)
    if others := [each.path for each in changed if not each.named]:
        message = f"Runs differ in environment variables that the project does not name: {listed(others)}."
        yield Caveat(slug="environment-differs", message=message, severity="note")


# Of which training a number is, where a run holds several.

#: Aggregates that take one number out of all that a run reports.
_PICKED = ("last", "best", "mean", "max", "min")


def taken_from(metric: MetricSpread, facts: TrainingsFacts) -> str:
    """Return how one number is made of all that a run reported of a metric: ``last of 12 values``."""
    return _of_values(metric, facts) if facts.several or facts.unplaced else metric.aggregate


def taken_in_rounds(metric: MetricSpread, facts: TrainingsFacts) -> str:
    """Return the same; it is of as many values, too, where not each round of the main loop reported one."""
    reports = facts.reports.get(metric.name, [])
    return _of_values(metric, facts) if reports and reports[-1] < facts.rounds else taken_from(metric, facts)


def _of_values(metric: MetricSpread, facts: TrainingsFacts) -> str:
    reports = facts.reports.get(metric.name)
    of_values = f" of {_range(reports)} values" if reports and metric.aggregate in _PICKED else ""
    return f"{metric.aggregate}{of_values}"


def _range(numbers: Sequence[int]) -> str:
    """Return one number, or the least and the most.

    >>> _range([3]), _range([2, 3, 5])
    ('3', '2 to 5')
    """
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


def training_caveats(facts: VariantFacts, loops: Sequence[MainLoop]) -> Iterator[Caveat]:
    """Say that runs hold several trainings and which one each number is of, or that nothing shows whether they do."""
    known = facts.trainings
    if known.several:
        yield Caveat(slug="several-trainings", message=_several(facts, loops), variant=facts.variant)
    elif known.unplaced and (unplaced := _reported_often(facts)):
        message = (
            f"No main loop was seen, so nothing shows whether the values of {listed(unplaced)} in a run are of one "
            "training or of several (folds, trials): a last value is the last of all."
        )
        yield Caveat(slug="loop-unseen", message=message, severity="note", variant=facts.variant)


def _several(facts: VariantFacts, loops: Sequence[MainLoop]) -> str:
    """State the number of trainings in a run, and the training that each number belongs to."""
    times = _range(facts.trainings.counts)
    places = f" ({listed([f'{loop.file}:{loop.line}' for loop in loops])})" if loops else ""
    where = f"main loop{places}" if len(loops) < 2 else f"main loops{places}"
    if facts.trainings.together:
        return (
            f"In each run several processes go through the {where} at the same time, {times} times in all: these are "
            "trainings of their own, or workers of one. A last value is of whichever reported last."
        )
    once = [each.name for each in facts.metrics if each.name in facts.trainings.once]
    of_one = f" Reported once in a run, by one of them or after all: {listed(once)}." if once else ""
    return (
        f"Each run goes through its {where} {times} times: it holds {times} trainings, or stages of one, and the last "
        f"value of what each of them reports is of the last one. A best value or a mean is over all.{of_one}"
    )


def _reported_often(facts: VariantFacts) -> list[str]:
    return [each.name for each in facts.metrics if taken_from(each, facts.trainings) != each.aggregate]


def experiment_caveats(facts: ExperimentFacts) -> list[Caveat]:
    """List all caveats: those on each variant, then those on the experiment; warnings before notes."""
    caveats = [
        *surrounding_caveats(facts),
        *_merged([list(_variant(variant, facts)) for variant in facts.variants]),
        *_shared(facts),
        *evaluation_caveats(facts.evaluations),
        *repetition_caveats(facts.again, facts.definition.word),
        *_differences(facts),
        *_runtime(facts),
        *_operations(facts),
        *_draws_left(facts),
        *_draws_by_name(facts),
        *_rounded(facts),
        *_chosen(facts),
    ]
    return sorted(caveats, key=lambda caveat: caveat.severity == "note")


def _rounded(facts: ExperimentFacts) -> Iterable[Caveat]:
    for message in rounded_footnotes(metric for variant in facts.variants for metric in variant.metrics):
        yield Caveat(slug="whole-numbers-rounded", message=message)


def _shared(facts: ExperimentFacts) -> Iterable[Caveat]:
    if shared := [run for variant in facts.variants for run in variant.runs if run.same_as]:
        pairs = listed([f"{run.name} as {run.same_as}" for run in shared])
        share = "shares" if len(shared) == 1 else "share"
        message = (
            f"{count(len(shared), 'run')} used the same random numbers as another run and {share} its training "
            f"({pairs})."
        )
        yield Caveat(slug="runs-shared", message=f"{message} --set share=none trains each.", severity="note")
    if warm := [run for variant in facts.variants for run in variant.runs if run.warm]:
        message = (
            f"{count(len(warm), 'run')} were forked from a process that had imported {listed(warm[0].warm)} (`warm`): "
            "what depends on memory addresses is equal in them, and may differ between runs that start separately."
        )
        yield Caveat(slug="runs-forked", message=message, severity="note")
    for name, runs in facts.definition.needless.items():
        message = (
            f"No draw of the first run counts for what {name} varies, so {count(runs, 'more run')} would draw the same "
            "and were not trained. --set share=none trains them."
        )
        yield Caveat(slug="runs-needless", message=message, severity="note", variant=name)


def _merged(caveats: list[list[Caveat]]) -> list[Caveat]:
    messages = [{caveat.message for caveat in of_variant} for of_variant in caveats]
    common = set.intersection(*messages) if len(messages) > 1 else set()
    merged = [
        structs.replace(caveat, variant=None) if caveat.message in common else caveat
        for of_variant in caveats
        for caveat in of_variant
    ]
    return list(dict.fromkeys(merged))


def _variant(variant: VariantFacts, facts: ExperimentFacts) -> Iterable[Caveat]:
    yield from _unfinished(variant)
    yield from _warned_by_runs(variant)
    yield from _not_recorded(variant, facts)
    yield from training_caveats(variant, facts.definition.loops)
    yield from _weak(variant)
    yield from _excluded(variant)
    yield from _far(variant)
    yield from promise_caveats(variant)
    yield from _best(variant)
    yield from until_caveats(facts.definition.until, variant.stopped, variant.variant)
    yield from decided_caveats(facts.definition.decided, variant.variant)


def _unfinished(facts: VariantFacts) -> Iterable[Caveat]:
    for status in dict.fromkeys(run.status for run in facts.runs if run.status != "completed"):
        ended = [run.called for run in facts.runs if run.status == status]
        how, enter = ended_as(status, len(ended)), "it enters" if len(ended) == 1 else "they enter"
        message = f"{len(ended)} of {count(len(facts.runs), 'run')} {how} ({listed(ended)}); {enter} no mean"
        message += ": the numbers are of runs that ended well." if facts.completed else "."
        yield Caveat(slug=f"run-{status}", message=message, variant=facts.variant)
    if len(facts.runs) < facts.planned:
        have = "has" if len(facts.runs) == 1 else "have"
        message = f"{len(facts.runs)} of {facts.planned} planned runs {have} ended so far."
        yield Caveat(slug="runs-missing", message=message, variant=facts.variant)


def _warned_by_runs(facts: VariantFacts) -> Iterable[Caveat]:
    for message in dict.fromkeys(message for run in facts.runs for message in run.warnings):
        names = [run.called for run in facts.runs if message in run.warnings]
        yield Caveat(slug="run-warning", message=f"{message} ({listed(names)})", variant=facts.variant)


#: The slug of notes on values that are no number.
_REFUSED = "value-unreadable"


def _not_recorded(variant: VariantFacts, facts: ExperimentFacts) -> Iterable[Caveat]:
    """Warn of metrics without a record; only note those that these runs seem never to have been asked for."""
    if not variant.completed:
        return
    known = {metric.name: metric for metric in facts.definition.all_metrics}
    sites = {name: f"{name} ({metric.file}:{metric.line})" for name, metric in known.items()}
    # What was reported and holds no single number has a warning of its own.
    silent = [name for name in variant.silent if not any(_refuses(note, [name]) for note in facts.notes)]
    left_out = facts.notes_left_out.get(_REFUSED, 0)
    all_read = silent and not left_out and _is_all_read(facts)
    recorded = {each.name for other in facts.variants for each in other.metrics if each.n and each.kind != "speed"}
    unasked = [
        name for name in silent if all_read and recorded and name in known and _is_unasked(known[name], recorded, facts)
    ]
    if lost := [sites.get(name, name) for name in silent if name not in unasked]:
        why = "No completed run recorded a number there."
        if left_out:
            why = f"Nothing shows whether a run reached the line: notes on {left_out} or more values were left out."
        message = f"Never recorded: {listed(lost)}. {why}"
        # The others stand in no number that is shown first.
        is_main = bool(set(silent) - set(unasked) & {main_metric(known.values()).name}) if known else True
        severity: Severity = "warning" if is_main else "note"
        yield Caveat(slug="metric-silent", message=message, severity=severity, variant=variant.variant)
    if unasked:
        message = (
            f"No record of its own: {listed([sites[name] for name in unasked])}. Every printed number that differed is "
            "measured."
        )
        yield Caveat(slug="metric-silent", message=message, severity="note", variant=variant.variant)


def _refuses(note: RuntimeNote, names: Iterable[str]) -> bool:
    """Whether a note says that a value of one of these metrics is no number."""
    return note.slug == _REFUSED and note.message.startswith(tuple(f"{name}: " for name in names))


def _is_all_read(facts: ExperimentFacts) -> bool:
    unread = any(each.left or each.lines_left_out or each.unread_trackers for each in facts.reported)
    # Where no number differs, one that was not read does not show.
    return not unread and any(each.differing for each in facts.reported)


def _is_unasked(metric: Metric, recorded: set[str], facts: ExperimentFacts) -> bool:
    """Whether a metric is missing because no run reported it: neither it nor what stands beside it was `recorded`."""
    beside = [each for each in facts.definition.all_metrics if (each.file, each.line) == (metric.file, metric.line)]
    is_added = metric.sink == "added"
    is_evaluated = any(metric.name.startswith(step.prefix) for step in facts.definition.evaluations)
    was_reached = any(each.name in recorded for each in [metric, *beside])
    return not (is_added or is_evaluated or was_reached)


def _excluded(facts: VariantFacts) -> Iterable[Caveat]:
    alike: dict[tuple[str, tuple[str, ...], int], list[str]] = {}
    run_names = {run.index: run.called for run in facts.runs}
    for metric in facts.metrics:
        lost = [left for left in metric.excluded if left.status == "completed" and not left.weak]
        for reason in dict.fromkeys(left.reason for left in lost):
            runs = tuple(run_names[left.run] for left in lost if left.reason == reason)
            alike.setdefault((reason, runs, metric.n), []).append(metric.name)
    for (reason, runs, n), names in alike.items():
        message = f"{listed(names)}: {reason} in {listed(runs)}; excluded, so n is {n} there."
        yield Caveat(slug="value-excluded", message=message, variant=facts.variant)


def _weak(facts: VariantFacts) -> Iterable[Caveat]:
    weak = {left.run: left.reason for metric in facts.metrics for left in metric.excluded if left.weak}
    for reason in dict.fromkeys(weak.values()):
        names = [run.called for run in facts.runs if weak.get(run.index) == reason]
        message = f"{count(len(names), 'run')} {reason} ({listed(names)}): left out of all statistics, as requested."
        message += " Below the table is what it is with them." if list(weak_footnotes(facts.metrics)) else ""
        yield Caveat(slug="weak-runs", message=message, variant=facts.variant)


def _far(facts: VariantFacts) -> Iterable[Caveat]:
    """Say in which metrics runs lie far from the others; of times every busy machine makes some."""
    run_names = {run.index: run.called for run in facts.runs}
    alike: dict[tuple[int, ...], list[str]] = {}
    for metric in facts.metrics:
        if metric.far and metric.kind != "speed":
            alike.setdefault(tuple(metric.far), []).append(metric.name)
    for runs, names in alike.items():
        message = (
            f"Far from the other runs in {listed(names)}: {listed([run_names[run] for run in runs])}. A run "
            "that collapses is an outcome too: leave it out with --set weak only by a rule that was set before."
        )
        yield Caveat(slug="values-far", message=message, variant=facts.variant)


def _best(facts: VariantFacts) -> Iterable[Caveat]:
    chosen = [metric.name for metric in facts.metrics if metric.aggregate == "best"]
    if chosen:
        message = (
            f"Best value of each run taken for {listed(chosen)}: selected on the reported values themselves, it is "
            "optimistic. Compare it with the last value."
        )
        yield Caveat(slug="best-biased", message=message, severity="note", variant=facts.variant)


def _differences(facts: ExperimentFacts) -> Iterable[Caveat]:
    alike: dict[tuple[tuple[str, ...], ...], list[EnvironmentDifference]] = {}
    for difference in facts.differences:
        parts = tuple(sorted(tuple(runs) for runs in difference.values.values()))
        alike.setdefault(parts, []).append(difference)
    for first, *others in alike.values():
        seen = [f"{value or 'unknown'} ({listed(runs)})" for value, runs in first.values.items()]
        message = f"Runs differ in {first.name}: {listed(seen)}. They are not identical runs in that respect."
        if others:
            message += f" The same runs differ in {listed([other.name for other in others])}."
        yield Caveat(slug="environment-differs", message=message)


def _runtime(facts: ExperimentFacts) -> Iterable[Caveat]:
    known = [metric for metric in facts.definition.all_metrics if metric.selected]
    main = main_metric(known).name if known else ""
    # Where the object that was shown holds no single number, the output may show it all the same.
    names = {metric.name for metric in known if _is_shown_by_each_run(metric.name, facts)}
    for note in facts.notes:
        if _refuses(note, names):
            continue
        where = f" ({listed(note.runs)})" if note.runs else ""
        # What holds no number is no metric, unless it was to be the main one.
        is_beside = note.slug == _REFUSED and not _refuses(note, [main])
        yield Caveat(slug=note.slug, message=f"{note.message}{where}", severity="note" if is_beside else "warning")


def _is_shown_by_each_run(name: str, facts: ExperimentFacts) -> bool:
    found = [metric for variant in facts.variants for metric in variant.metrics if metric.name == name]
    counts = [metric.n for metric in found if metric.observed]
    return counts == [variant.completed for variant in facts.variants]


def _operations(facts: ExperimentFacts) -> Iterable[Caveat]:
    if not facts.operations:
        return
    named = [f"{each.operation} ({listed(each.runs, most=2)})" for each in facts.operations]
    message = (
        f"The framework warned of operations without a deterministic form: {listed(named)}. Runs may differ by "
        "them even where the implementation is held fixed; --set strict=true ends such runs."
    )
    variants = [find_variant(each.variant) for each in facts.variants]
    held = any(variant and variant.controlled and IMPLEMENTATION not in variant.varying for variant in variants)
    yield Caveat(slug="operation-not-deterministic", message=message, severity="warning" if held else "note")


def _chosen(facts: ExperimentFacts) -> Iterable[Caveat]:
    """Say how much is not reported: a metric that was picked for its result looks better than it is."""
    measured, chosen = facts.metrics_measured, facts.metrics_chosen
    left = [name for name in measured if name not in chosen]
    if chosen and left:
        kept = len(measured) - len(left)
        message = f"{kept} of {count(len(measured), 'metric')} shown, as requested; left out: {listed(left)}."
        yield Caveat(slug="metrics-chosen", message=message, severity="note")


def _draws_left(facts: ExperimentFacts) -> Iterable[Caveat]:
    left = [f"{draw.call} at {draw.file}:{draw.line}" for draw in facts.draws_left]
    if left:
        message = f"Among the random draws that count as `other`: {listed(left)}."
        yield Caveat(slug="draws-left", message=message, severity="note")


def _draws_by_name(facts: ExperimentFacts) -> Iterable[Caveat]:
    """Say of which draws the factor is a guess: it decides what a variant varies and what it holds."""
    places: dict[str, list[str]] = {}
    for draw in facts.draws_by_name:
        places.setdefault(draw.factor, []).append(f"{draw.call} at {draw.file}:{draw.line}")
    counted = [f"as `{factor}` {listed(drawn)}" for factor, drawn in places.items()]
    if counted:
        message = (
            f"By the names in the source alone count {'; '.join(counted)}. --set factor=FILE:LINE=NAME sets another."
        )
        yield Caveat(slug="named-draws", message=message, severity="note")
