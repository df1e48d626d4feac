"""The first sentences: how much the runs differ, in plain words with numbers."""

from __future__ import annotations

from deviate.collect.measured import TIME_PER_RUN
from deviate.experiment import IMPORTED
from deviate.report.diverged import diverged_sentence
from deviate.report.order import by_cv, first_asked
from deviate.report.parts import Factors, MetricReport, RunReport
from deviate.report.shown import Shown, show_level, show_percent
from deviate.report.words import count, listed


def headline(variant: str, factors: Factors, runs: list[RunReport], metrics: list[MetricReport]) -> list[str]:
    """Say in a few sentences how much the runs of a variant differ."""
    done = sum(run.status == "completed" for run in runs)
    if not done:
        return [_nothing_completed(variant, runs)]
    reported = [metric for metric in metrics if metric.kind != "speed" and metric.n]
    if not reported:
        what = f"{count(done, 'run')} of {variant} completed, but no metric has a finite value in any of them."
        return [what, *_time(metrics)]
    first = first_asked(reported)
    spread = _spread_sentence(first, variant, factors, done)
    return [spread, *diverged_sentence(metrics, runs), *_extremes(reported), *_time(metrics)]


def _nothing_completed(variant: str, runs: list[RunReport]) -> str:
    ends = [run.status for run in runs]
    counts = [f"{ends.count(status)} {status}" for status in dict.fromkeys(ends)]
    how = f" ({listed(counts)})" if counts else ""
    return f"No run of {variant} completed{how}: there is nothing to measure."


def _spread_sentence(metric: MetricReport, variant: str, factors: Factors, done: int) -> str:
    shown = Shown(metric)
    what = f"{metric.name} ({metric.aggregate})"
    over = f"{metric.n}" if metric.n == done else f"{metric.n} of {done}"
    label = f"{variant}: {factors.gloss}"
    if metric.n == 1:
        ran = "One run" if done == 1 else f"One of {done} runs"
        return f"{ran} ({label}) gave {what} {shown.mean}{shown.unit}; how much runs differ shows from two runs on."
    # Of runs that were imported nobody here knows how far they were identical.
    runs = "runs" if variant == IMPORTED else "identical runs"
    if metric.spread.identical:
        return f"All {over} {runs} ({label}) gave exactly the same {what}: {shown.mean}{shown.unit}."
    return (
        f"Over {over} {runs} ({label}) {what} was {shown.mean} ± {shown.sd}{shown.unit} "
        f"(mean ± SD{_interval(metric, shown)}); {_ends(metric)} differ by {shown.range}{shown.unit}."
    )


def _interval(metric: MetricReport, shown: Shown) -> str:
    return f"; {show_level(metric.ci_sd.level)} CI of the SD {shown.ci_sd}" if metric.ci_sd.known else ""


def _ends(metric: MetricReport) -> str:
    return "the best and the worst run" if metric.direction else "the highest and the lowest run"


def _extremes(metrics: list[MetricReport]) -> list[str]:
    ranked = by_cv(metric for metric in metrics if metric.spread.cv is not None and not metric.spread.identical)
    if len(ranked) < 2:
        return []
    most, least = ranked[0], ranked[-1]
    return [
        f"Relative to its mean, {most.name} varies most (CV {show_percent(most.spread.cv)}) "
        f"and {least.name} least (CV {show_percent(least.spread.cv)})."
    ]


def _time(metrics: list[MetricReport]) -> list[str]:
    metric = next((metric for metric in metrics if metric.name == TIME_PER_RUN and metric.n > 1), None)
    if metric is None:
        return []
    shown = Shown(metric)
    if metric.spread.identical:
        return [f"Every run took {shown.mean} s."]
    return [f"A run took {shown.mean} ± {shown.sd} s."]
