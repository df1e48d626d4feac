"""The main metric of one variant as the number to read first: mean, SD, their intervals, and each run."""

from __future__ import annotations

from deviate.core.experiment import IMPORTED, Experiment
from deviate.core.factors import FACTORS, IMPLEMENTATION, PLAIN, find_variant
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.metric import MetricSpread
from deviate.facts.variant import VariantFacts
from deviate.observe.headline import main_metric
from deviate.report.numbers import UNKNOWN, about_seconds, difference_unit, show_level, significant
from deviate.report.page import KeyFigure
from deviate.report.topics.caveats import taken_in_rounds
from deviate.report.topics.distribution import lanes
from deviate.report.topics.headline import all_sentence, scale_text
from deviate.report.topics.metric_text import MetricText
from deviate.report.topics.stability import screen_stability
from deviate.report.topics.varied import varied_statement
from deviate.report.words import count


def main_of(variant: VariantFacts) -> MetricSpread | None:
    """Return the main metric of a variant; None where no run gave a finite value."""
    reported = [metric for metric in variant.metrics if metric.kind != "speed" and metric.n]
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
        return KeyFigure(
            label=metric.name,
            text=f"{text.mean}{text.unit}",
            basis=f"one run{behind}",
        )
    if metric.spread.identical:
        runs = "both runs" if metric.n == 2 else f"all {metric.n} runs"
        return KeyFigure(label=metric.name, text=f"{text.mean}{text.unit}", basis=f"exactly equal in {runs}{behind}")
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
    size = f"{significant(difference, 2)}{difference_unit(metric.unit)}"
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
    held = [PLAIN[name] for name in FACTORS if name not in varying and name in drawn]
    kernels = [PLAIN[IMPLEMENTATION].removesuffix(" only")]
    held += kernels if IMPLEMENTATION not in known.varying and not variant.without_noise else []
    fixed = f" Fixed: {', '.join(held)}." if held else ""
    return f"Varied: {', '.join([*varied, *(kernels if free else [])]) or 'nothing'}.{fixed}"
