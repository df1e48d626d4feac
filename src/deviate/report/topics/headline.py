"""The first sentences: how much the runs differ, in plain words with numbers.

The main metric of one variant as the number to read first: mean, SD, their intervals, and each run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from deviate.core.experiment import IMPORTED, Experiment
from deviate.core.factors import FACTORS, IMPLEMENTATION, PLAIN, find_variant
from deviate.core.shell_words import typed_word
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.metric import MetricSpread, by_cv, reported_of
from deviate.facts.proof import broken
from deviate.facts.run import RunResult
from deviate.facts.sources import SpreadAcross
from deviate.facts.variant import VariantFacts, diverged_runs
from deviate.observe.fingerprints import EXAMPLES
from deviate.observe.headline import equals, main_metric
from deviate.observe.metrics import TIME_PER_RUN
from deviate.report.numbers import (
    UNKNOWN,
    about_seconds,
    difference_text,
    difference_unit,
    show,
    show_interval,
    show_level,
    show_percent,
    significant,
)
from deviate.report.page import KeyFigure
from deviate.report.topics.caveats import taken_from, taken_in_rounds
from deviate.report.topics.distribution import MetricText, lanes
from deviate.report.topics.metrics import FEW_THEN_BOTH, sd_methods
from deviate.report.topics.proof import broken_control
from deviate.report.topics.runs import until_sentences
from deviate.report.topics.stability import screen_stability
from deviate.report.topics.varied import unheld, varied_statement
from deviate.report.words import all_runs, count, ended_as, listed
from deviate.stats.effects import HeldPrice
from deviate.stats.failures import FailureRate
from deviate.stats.intervals import CHI_SQUARE, Interval
from deviate.stats.power import Misranking

#: The answer has a sentence for so many metrics at most, where none of them stands before the others.
ALIKE = 2


def headline(facts: VariantFacts) -> list[str]:
    """Say in a few sentences how much the runs of a variant differ."""
    beside = [*_extremes(reported_of(facts.metrics)), *_time(facts.metrics)] if facts.completed else []
    return [*_answer(facts), *beside, *until_sentences(facts.stopped)]


def screen_headline(facts: VariantFacts) -> list[str]:
    """Say what has to be known before the main metric is read, or why there is none; nothing where all is well."""
    reported = reported_of(facts.metrics) if facts.completed else []
    first = [*_other_inputs(facts), *_other_data(facts), *broken_control(facts)]
    if not reported:
        return [*first, *_spread(facts, brief=True)]
    main = main_metric(reported)
    beside = [
        *(_far(main, facts.runs) if facts.sound is None else []),
        *_rankings(facts),
        *_diverged_shortly(facts),
        *_others_equal(facts),
    ]
    return [*first, *beside, *until_sentences(facts.stopped)]


def _others_equal(facts: VariantFacts) -> list[str]:
    are_equal = len(reported_of(facts.metrics)) > 1 and all_equal(facts)
    return ["All other metrics but times were equal in all runs too."] if are_equal else []


def all_equal(facts: VariantFacts) -> bool:
    """Whether at least two runs have the same value of each metric that is no time."""
    reported = reported_of(facts.metrics)
    return bool(reported) and all(metric.n > 1 and metric.spread.identical for metric in reported)


def alarms(variants: Sequence[VariantFacts]) -> list[str]:
    """Say first of several variants which of them differ where nothing was to vary."""
    return [f"{each.variant}: {' '.join(broken)}" for each in variants if (broken := broken_control(each))]


def _answer(facts: VariantFacts, *, brief: bool = False) -> list[str]:
    return [*_other_inputs(facts), *_other_data(facts), *broken_control(facts), *_spread(facts, brief=brief)]


def _other_inputs(facts: VariantFacts) -> list[str]:
    """Say first that runs are not independent, or not identical ones, where the files that they read prove it."""
    if facts.kept:
        return [f"These are not independent runs: one went on from what another had left in {facts.kept[0].path}."]
    if facts.changed:
        return [f"These are not identical runs: {facts.changed[0].path} was not the same for all of them."]
    return []


def _other_data(facts: VariantFacts) -> list[str]:
    """Say first that runs are not identical ones, where their data prove it."""
    evidence = broken(facts.evidence, EXAMPLES)
    if evidence is None:
        return []
    kinds = f"{len(evidence.groups)} different sets of examples"
    return [f"These are not identical runs: the {facts.completed} runs of {facts.variant} had {kinds}."]


def _spread(facts: VariantFacts, *, brief: bool) -> list[str]:
    if not facts.completed:
        return [_nothing_completed(facts.variant, facts.runs)]
    reported = reported_of(facts.metrics)
    if not reported:
        completed = count(facts.completed, "run")
        if all(metric.kind == "speed" for metric in facts.metrics):
            return [f"{completed} of {facts.variant} completed and reported no metric."]
        them = "it" if facts.completed == 1 else "any of them"
        return [f"{completed} of {facts.variant} completed, but no metric has a finite value in {them}."]
    alike = equals(reported, in_order=facts.variant != IMPORTED)
    main = alike[0]
    spreads = [_spread_sentence(metric, facts) for metric in alike[:ALIKE]]
    more = [f"{count(len(alike) - ALIKE, 'more metric')} may be the main one as well."] if len(alike) > ALIKE else []
    first = [*_failed(facts.failures), *_far(main, facts.runs), *spreads, *more]
    diverged_runs = _diverged_sentence(facts)
    # What went wrong needs the room of a screen; `-v` says what varied.
    varied = [] if brief and (len(first) > 1 or diverged_runs) else _varied(facts, brief=brief)
    return [*first, *_rankings(facts), *varied, *diverged_runs]


def _varied(facts: VariantFacts, *, brief: bool = False) -> list[str]:
    """Say what varied and what was held; nothing of one run, or where fingerprints show otherwise."""
    unproven = facts.completed < 2 or any(each.broken for each in facts.evidence) or broken_control(facts)
    return [] if unproven else [varied_statement(facts, brief=brief)]


def _failed(failures: FailureRate) -> list[str]:
    if not failures.failed:
        return []
    low, high = failures.interval.low, failures.interval.high
    ends = f"{show_percent(low)} to {show_percent(high)}, {show_level(failures.interval.level)} CI"
    return [f"{failures.failed} of {count(failures.runs, 'run')} failed ({show_percent(failures.share)}; {ends})."]


def _far(metric: MetricSpread, runs: Sequence[RunResult]) -> list[str]:
    """Say before any mean that runs lie far from the others; nothing where none does."""
    if not metric.far:
        return []
    text, values = MetricText(metric), dict(zip(metric.runs, metric.values, strict=True))
    names = {run.index: run.called for run in runs}
    named = listed([f"{names[run]} ({text.of(values[run])})" for run in metric.far])
    lie = "lies" if len(metric.far) == 1 else "lie"
    return [
        f"In {metric.name}, {named} {lie} far from the others: mean and SD describe no typical run; the median is "
        f"{text.median}{text.unit}."
    ]


def _nothing_completed(variant: str, runs: Sequence[RunResult]) -> str:
    ends = [run.status for run in runs]
    counts = [f"{number} {ended_as(status, number)}" for status, number in Counter(ends).items()]
    how = f" ({listed(counts)})" if counts else ""
    return f"No run of {variant} completed{how}: there is nothing to measure."


def _spread_sentence(metric: MetricSpread, facts: VariantFacts) -> str:
    text, completed = MetricText(metric), facts.completed
    what, taken = metric.name, taken_from(metric, facts.trainings)
    over = f"{metric.n}" if metric.n == completed else f"{metric.n} of {completed}"
    if metric.n == 1:
        ran = "one run" if completed == 1 else f"one of {completed} runs"
        return f"{what} {text.mean}{text.unit} ({ran}, {taken}). How much runs differ shows from two runs on."
    if metric.spread.identical:
        runs = all_runs(completed) if metric.n == completed else f"all {over} runs"
        return f"{what} was exactly {text.mean}{text.unit} in {runs} ({taken})."
    interval = f"; {show_level(metric.ci_sd.level)} CI of the SD {text.ci_sd}" if metric.ci_sd.known else ""
    interval += f", {sd_basis(metric.ci_sd)}" if interval else ""
    mean = f"{text.mean} ± {text.sd}{text.unit} (mean ± SD of {over} runs, {taken}{interval})"
    return f"{what} {mean}. {_ends_sentence(metric)}"


def _ends_sentence(metric: MetricSpread) -> str:
    text = MetricText(metric)
    ends = "The best and the worst run" if metric.direction else "The highest and the lowest run"
    return f"{ends} differ by {text.range}{_unit(metric)}."


def scale_text(metric: MetricSpread) -> str:
    """Say how large the SD is beside the difference that the user gave; empty where none was given."""
    beside = metric.misranking
    if beside is None:
        return ""
    return f"SD = {show_percent(beside.sd_in_differences)} of a difference of {beside.difference:g}{_unit(metric)}"


def _rankings(facts: VariantFacts) -> list[str]:
    """Say of each difference that the user gave how often single runs would hide it."""
    asked = (metric for metric in facts.metrics if metric.misranking or (metric.difference and metric.far))
    return [_ranking(metric, metric.misranking) for metric in asked]


def _ranking(metric: MetricSpread, beside: Misranking | None) -> str:
    if beside is None:
        return (
            f"How often single runs would hide a difference of {metric.difference:g}{_unit(metric)} in {metric.name} "
            "is not said: some runs are far from the others."
        )
    ends = ""
    if beside.low is not None and beside.high is not None:
        level = show_level(metric.ci_sd.level)
        ends = f" ({show_percent(beside.low)} to {show_percent(beside.high)}, {level} CI)"
    return (
        f"If two recipes differ by {beside.difference:g}{_unit(metric)} in {metric.name}, one run of each ranks them "
        f"wrongly in {show_percent(beside.wrong)} of cases{ends}, if values are normal."
    )


def _unit(metric: MetricSpread) -> str:
    return difference_unit(metric.unit)


def sd_basis(interval: Interval) -> str:
    """Say what the interval of an SD assumes."""
    return "if values are normal" if interval.method == CHI_SQUARE else "heavy tails allowed for"


def _extremes(metrics: Sequence[MetricSpread]) -> list[str]:
    """Compare CVs where they mean something, and differ in the digits that are shown.

    A score that cannot exceed 100 % has a small one, however it varies.
    """
    unbounded = (metric for metric in metrics if metric.kind in ("loss", "resource"))
    ranked = by_cv(metric for metric in unbounded if metric.spread.cv is not None and not metric.spread.identical)
    if len(ranked) < 2:
        return []
    most, least = ranked[0], ranked[-1]
    largest, smallest = show_percent(most.spread.cv), show_percent(least.spread.cv)
    if largest == smallest:
        return []
    return [
        f"Of the losses and resources, {most.name} varies most relative to its mean (CV {largest}) and {least.name} "
        f"least (CV {smallest})."
    ]


def _time(metrics: Sequence[MetricSpread]) -> list[str]:
    metric = next((metric for metric in metrics if metric.name == TIME_PER_RUN and metric.n > 1), None)
    if metric is None:
        return []
    text = MetricText(metric)
    if metric.spread.identical:
        return [f"Every run took {text.mean}{text.unit}."]
    return [f"A run took {text.mean} ± {text.sd}{text.unit}."]


def _diverged_shortly(facts: VariantFacts) -> list[str]:
    """Say how many runs diverged, where the main metric is given of the others; else as `_diverged_sentence`."""
    losses = diverged_runs(facts.metrics)
    if facts.sound is None or not losses:
        return _diverged_sentence(facts)
    runs = f"{'run' if len(losses) == 1 else 'runs'} {listed([str(run) for run in losses])}"
    loss = next(iter(losses.values()))
    return [f"{len(losses)} of {count(facts.completed, 'run')} diverged ({loss} not finite in {runs})."]


def all_sentence(facts: VariantFacts) -> list[str]:
    """Say what the main metric is of all runs, where some diverged, and how to leave these out everywhere."""
    loss = next(iter(diverged_runs(facts.metrics).values()), "")
    if facts.sound is None or not loss:
        return []
    text = MetricText(main_metric(reported_of(facts.metrics)))
    return [f"All {text.n}: {text.mean} ± {text.sd}{text.unit}; leave them out: --set {typed_word(f'weak={loss}')}"]


def _diverged_sentence(facts: VariantFacts) -> list[str]:
    """Say how many runs diverged, and whether their other values are counted; nothing where none did."""
    losses = diverged_runs(facts.metrics)
    if not losses:
        return []
    names = listed([run.called for run in facts.runs if run.index in losses])
    loss = next(iter(losses.values()))
    completed = count(facts.completed, "completed run")
    text = f"{len(losses)} of {completed} ended with a {loss} that is not finite ({names})"
    counted = [
        metric.name for metric in facts.metrics if metric.kind != "speed" and not losses.keys().isdisjoint(metric.runs)
    ]
    if not counted:
        return [f"{text}."]
    whose, verb = "its" if len(losses) == 1 else "their", "counts" if len(counted) == 1 else "count"
    return [f"{text}; {whose} {listed(counted)} still {verb}, which --set {typed_word(f'weak={loss}')} changes."]


# What to know of the spread by variant.

#: Said of shares above 100 %.
BY_CHANCE = "With few runs, a source alone can come out larger than all together by chance."


def across_notes(tables: Sequence[SpreadAcross]) -> list[str]:
    """Return what to know to read the spread by variant."""
    larger = any(row.relative is not None and row.relative > 1 for table in tables for row in table.rows)
    # Variants of one experiment may have fewer runs than others.
    mixed = len(sd_methods(row.ci_sd for table in tables for row in table.rows)) > 1
    return [*([BY_CHANCE] if larger else []), *([FEW_THEN_BOTH] if mixed else [])]


# What holding the implementation costs, in sentences.

#: Decimals of a ratio of times.
_DIGITS = -2


def price_sentences(prices: Sequence[HeldPrice]) -> list[str]:
    """Say of every two variants how the time where the implementation is held compares with that where it is free.

    Neither is called better or worse: the time is the price, and repeatable runs are what it pays for.
    """
    reasons = dict.fromkeys(price.reason for price in prices if price.reason)
    return [
        *known_prices(prices),
        *(_unknown([price for price in prices if price.reason == reason]) for reason in reasons),
    ]


def known_prices(prices: Sequence[HeldPrice]) -> list[str]:
    """Say the same of those whose ratio is known, which a screen has room for."""
    return [_ratio(price) for price in prices if not price.reason]


def _ratio(price: HeldPrice) -> str:
    text, shows = longer_text(price)
    pairs = f"{price.metric} of {price.held} beside {price.free}, {count(price.pairs, 'pair')} of runs made in turn"
    if not shows:
        return f"That deterministic kernels take longer does not show: {text}, {pairs}."
    return f"Deterministic kernels take {text}: {pairs}."


def longer_text(price: HeldPrice) -> tuple[str, bool]:
    """Say how many times as long something took, and tell whether its interval leaves 1 out, or is not known."""
    text, interval = f"{show(price.ratio, _DIGITS)} times as long", price.interval
    if interval is None or interval.low is None or interval.high is None:
        return text, True
    ends = show_interval(interval, _DIGITS)
    return f"{text} ({show_level(interval.level)} CI {ends})", not interval.low <= 1 <= interval.high


def _unknown(prices: Sequence[HeldPrice]) -> str:
    named = " and ".join(f"{price.held} beside {price.free}" for price in prices)
    return f"What deterministic kernels cost is not known from {named}: {prices[0].reason}."


def main_of(variant: VariantFacts) -> MetricSpread | None:
    """Return the main metric of a variant; None where no run gave a finite value."""
    reported = reported_of(variant.metrics)
    return main_metric(reported) if reported and variant.completed else None


def taken_text(metric: MetricSpread, variant: VariantFacts, experiment: Experiment) -> str:
    """Say which of the values of a run is taken, in the words of the program; empty where it reports one."""
    taken = taken_in_rounds(metric, variant.trainings)
    if metric.name in variant.trainings.once:
        return ""
    loop = experiment.main_loop
    return taken if taken != metric.aggregate or loop is None else loop.value_taken(taken)


def result_figure(
    variant: VariantFacts, facts: ExperimentFacts, metric: MetricSpread | None = None
) -> KeyFigure | None:
    """Return a metric of a variant, by default the main one, with its runs; None where there is no value."""
    metric = metric or variant.sound or main_of(variant)
    if metric is None:
        return None
    text, low, high = MetricText(metric), metric.spread.min, metric.spread.max
    if low is None or high is None:
        return None
    taken = taken_text(metric, variant, facts.definition)
    behind = f", {taken}" if taken else ""
    if metric.n == 1:
        return KeyFigure(label=metric.name, text=f"{text.mean}{text.unit}", basis=f"one run{behind}")
    if metric.spread.identical:
        basis = f"exactly equal in {all_runs(metric.n)}{behind}"
        return KeyFigure(label=metric.name, text=f"{text.mean}{text.unit}", basis=basis)
    names = {run.index: run.called for run in variant.runs}
    runs = _counted(metric, variant)
    level = show_level(facts.level)
    # Halved before they are subtracted: the difference of two large floats may overflow.
    width = high / 2 - low / 2
    places = [(value / 2 - low / 2) / width if width else 0.5 for value in metric.values]
    known = [(name, ends) for name, ends in (("mean", text.ci_mean), ("SD", text.ci_sd)) if ends != UNKNOWN]
    ends = f"; {level} CI in brackets" if known else ""
    return KeyFigure(
        label=metric.name,
        text=f"{text.mean} ± {text.sd}{text.unit}",
        basis=f"mean ± SD of {runs}{behind}{ends}",
        brief_basis=f"mean ± SD of {runs}{f'; {level} CI below' if known else ''}",
        beside=[*(f"{name} {ends}" for name, ends in known), f"range {text.range}"],
        scale=scale_text(metric),
        low=text.min,
        high=text.max,
        runs=list(zip((names[run] for run in metric.runs), places, lanes(metric.values), strict=True)),
    )


def _counted(metric: MetricSpread, variant: VariantFacts) -> str:
    """Count the runs that a mean is of; where others ended otherwise, these are the other ones."""
    runs = count(metric.n, "run")
    if metric is variant.sound:
        return f"the other {runs}"
    if metric.n < variant.completed:
        return f"{metric.n} of {count(variant.completed, 'run')}"
    return f"the other {runs}" if variant.completed < len(variant.runs) else runs


def model_sentences(variant: VariantFacts, facts: ExperimentFacts) -> tuple[list[str], list[str]]:
    """Say how many answers change, and which difference of two recipes shows; and the same in fewer words."""
    stability = facts.main_stability(variant.variant)
    said, shortly = screen_stability(stability) if stability else ([], [])
    shown, brief = shown_sentences(variant)
    whole = all_sentence(variant)
    return [*whole, *said, *shown], [*whole, *shortly, *brief]


def shown_sentences(variant: VariantFacts) -> tuple[list[str], list[str]]:
    """Say which difference of two recipes so many runs show, and the same in fewer words."""
    metric, difference = main_of(variant), variant.shown_difference
    if metric is None or difference is None:
        return [], []
    size = difference_text(significant(difference, 2), metric.unit)
    runs = count(metric.n, "run")
    return (
        [f"With {runs} of each recipe, a difference of {size} shows in 4 of 5 cases."],
        [f"{runs} of each show a difference of {significant(difference, 2)} in 4 of 5 cases."],
    )


def made_text(variant: VariantFacts, facts: ExperimentFacts) -> str:
    """Count the runs that completed, and say how long all of them took."""
    took = facts.timeline.length_s
    time = f", {about_seconds(took)}" if took else ""
    return f"{variant.completed} of {count(max(variant.planned, len(variant.runs)), 'run')}{time}."


def varied_text(variant: VariantFacts) -> str:
    """Say what varied and what was held, of what the program draws; a sentence where that is not known."""
    known = find_variant(variant.variant)
    drawn = {each.name for each in variant.evidence if each.found != "absent"} - set(variant.unwatched)
    if known is None or not known.controlled or variant.unseen or not drawn or variant.variant == IMPORTED:
        return varied_statement(variant, brief=True)
    free = IMPLEMENTATION in known.varying and not variant.without_noise
    varying = known.varying - set(variant.unvaried)
    varied = [PLAIN[name] for name in FACTORS if name in varying and name in drawn]
    broken = unheld(variant, known)
    held = [PLAIN[name] for name in FACTORS if name not in varying and name in drawn and name not in broken]
    kernels = [PLAIN[IMPLEMENTATION].removesuffix(" only")]
    held += kernels if IMPLEMENTATION not in (*known.varying, *broken) and not variant.without_noise else []
    fixed = f" Fixed: {', '.join(held)}." if held else ""
    return f"Varied: {', '.join([*varied, *(kernels if free else [])]) or 'nothing'}.{fixed}"
