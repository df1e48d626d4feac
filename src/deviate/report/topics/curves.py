"""Figures of how a metric went in training, and all figures of an experiment in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from deviate.core.experiment import Experiment
from deviate.facts.curves import Curves, MetricCurves, VariantCurves
from deviate.facts.experiment import ExperimentFacts
from deviate.report.escape import clean
from deviate.report.figures import (
    Figure,
    axis_title,
    chart,
    coloured,
    dashed,
    decades,
    domain,
    flattened,
    number_format,
    quantity,
    slug,
    tips,
    unique,
    view,
    wants_log,
    whole,
    word,
)
from deviate.report.numbers import show
from deviate.report.topics.distribution import distribution_figures
from deviate.report.topics.prediction_figures import prediction_figures, weight_figures
from deviate.report.topics.sources_figure import sources_figures
from deviate.report.words import count

HEIGHT = 280

#: A band of fewer runs than this is drawn between single runs.
BAND_FROM = 3

#: Opacity of a run's line: of few runs each is seen, of many the crowd.
FAINTEST = 0.12

#: Significant digits of the first difference.
APART_DIGITS = 3

#: What the pointer is on, to Vega.
POINTED = "pointed"


class Rounds(NamedTuple):
    """How the rounds of a training are counted and called."""

    word: str = "iteration"
    #: The number of the round that records count as 0: a terminal says of a run how many it has reported.
    first: int = 1

    @classmethod
    def of(cls, experiment: Experiment) -> Rounds:
        """Return those of an experiment; imported curves have the numbers of their files."""
        return cls(experiment.word, 0 if experiment.imported else 1)


#: Where nothing says what a round is called.
ITERATIONS = Rounds()


def curve_figures(curves: Curves, order: Sequence[str], rounds: Rounds = ITERATIONS) -> list[Figure]:
    """Return one figure for each metric that has a curve; `order` has all variants of the report."""
    drawn = [metric for metric in curves.metrics if any(map(_has_points, metric.variants))]
    return [curve_figure(metric, order, rounds) for metric in drawn]


def _has_points(variant: VariantCurves) -> bool:
    """Whether a curve has a point: values that are NaN from the first on leave an empty chart."""
    return any(value is not None for run in variant.runs for value in run.values)


def curve_figure(metric: MetricCurves, order: Sequence[str], rounds: Rounds = ITERATIONS) -> Figure:
    """Draw the learning curves of one metric."""
    return Figure(
        slug=slug("curves", metric.metric),
        section="curves",
        title=f"{clean(metric.metric)} in the course of training{_key(metric.variants)}",
        description=" ".join(
            [*(_sentence(variant, rounds) for variant in metric.variants), *_one_of_several(metric, rounds)]
        ),
        metric=metric.metric,
        spec=_chart(metric, order, rounds),
    )


def _key(variants: Sequence[VariantCurves]) -> str:
    share = next((each.band.share for each in variants if each.recorded >= BAND_FROM), None)
    return f": each run, median, and the middle {100 * share:.0f}% of the runs (band)" if share else ""


def _chart(metric: MetricCurves, order: Sequence[str], rounds: Rounds) -> dict[str, Any]:
    named = [each.variant for each in metric.variants]
    y, colour, x = _y(metric), coloured(order, named), whole("iteration", rounds.word)
    at = {"x": x, "color": colour}
    data = {
        "bands": _bands(metric.variants, rounds.first),
        "runs": _runs(metric.variants, rounds.first),
        "medians": _medians(metric.variants, rounds),
        "parting": _parting(metric.variants, rounds.first),
    }
    layers = {
        "bands": [
            view(
                "bands",
                "area",
                {**at, "y": quantity("low", **y), "y2": {"field": "high"}},
                transform=[flattened("iteration", "low", "high")],
                opacity=0.22,
            )
        ],
        "runs": [_run_view({**at, "y": quantity("value", **y)}, len(data["runs"]))],
        "medians": _median_views({**at, "y": quantity("median", **y)}, dashed(order, named), rounds.word),
        "parting": [
            view(
                "parting",
                "rule",
                {"x": x, "tooltip": tips(the_what="here", iteration=rounds.word)},
                style="ink-line",
                strokeDash=[3, 3],
            )
        ],
    }
    drawn = {name: rows for name, rows in data.items() if rows}
    return chart(drawn, [layer for name in drawn for layer in layers[name]], HEIGHT)


def _y(metric: MetricCurves) -> dict[str, Any]:
    values = [value for variant in metric.variants for run in variant.runs for value in run.values]
    log = wants_log(metric.kind, values)
    return {
        # Vega-Lite warns of "zero" beside a logarithm, whatever it says.
        "scale": {"type": "log", "nice": False} if log else {"type": "linear", "zero": False, "nice": True},
        "axis": {"values": decades(values), "format": "~g"} if log else number_format(domain(values)),
        "title": axis_title(metric.metric, metric.unit, "log scale" if log else ""),
    }


def _counted(iterations: Sequence[int], first: int) -> list[int]:
    return [iteration + first for iteration in iterations]


def _runs(variants: Sequence[VariantCurves], first: int) -> list[dict[str, Any]]:
    return [
        {"variant": variant.variant, "run": run.run, "iteration": _counted(run.iterations, first), "value": run.values}
        for variant in variants
        for run in variant.runs
    ]


def _run_view(at: dict[str, Any], runs: int) -> dict[str, Any]:
    faint = max(FAINTEST, min(0.6, 4 / runs))
    pointed = {"type": "point", "fields": ["run"], "on": "pointerover", "clear": "pointerout"}
    on_run = {"param": POINTED, "empty": False}
    drawn = view(
        "runs",
        "line",
        {
            **at,
            "detail": word("run"),
            "opacity": {"condition": {**on_run, "value": 1}, "value": faint},
            "strokeWidth": {"condition": {**on_run, "value": 2.5}, "value": 1},
            "tooltip": tips(the_run="run"),
        },
        transform=[flattened("iteration", "value")],
        # A round end makes a dot of a value between two gaps.
        strokeCap="round",
        strokeJoin="round",
    )
    return {**drawn, "params": [{"name": POINTED, "select": pointed}]}


def _bands(variants: Sequence[VariantCurves], first: int) -> list[dict[str, Any]]:
    return [
        {
            "variant": each.variant,
            "iteration": _counted(each.band.iterations, first),
            "low": each.band.low,
            "high": each.band.high,
        }
        for each in variants
        if each.recorded >= BAND_FROM
    ]


def _medians(variants: Sequence[VariantCurves], rounds: Rounds) -> list[dict[str, Any]]:
    return [
        {
            "variant": each.variant,
            "iteration": _counted(each.band.iterations, rounds.first),
            "median": each.band.median,
            "n": each.band.n,
        }
        for each in variants
        if each.recorded > 1
    ]


def _median_views(at: dict[str, Any], dash: dict[str, Any], round_: str) -> list[dict[str, Any]]:
    points = [flattened("iteration", "median", "n")]
    tooltips = tips(the_variant="variant", iteration=round_, median="median", n="runs")
    return [
        view("medians", "line", {**at, "strokeDash": dash}, transform=points, strokeWidth=2.2),
        # Invisible points, so that the pointer finds the values.
        view("medians", "point", {**at, "tooltip": tooltips}, transform=points, filled=True, size=40, opacity=0),
    ]


def _parting(variants: Sequence[VariantCurves], first: int) -> list[dict[str, Any]]:
    parting = variants[0].parting if len(variants) == 1 else None
    if parting is None or parting.iteration is None or parting.iteration <= variants[0].band.iterations[0]:
        return []
    return [{"iteration": parting.iteration + first, "what": "first difference"}]


def _one_of_several(metric: MetricCurves, rounds: Rounds) -> list[str]:
    """Say which value is drawn of those that a run reported within one round."""
    return [f"Of several values in one {rounds.word} the last finite one is drawn."] if metric.repeated else []


def _sentence(variant: VariantCurves, rounds: Rounds) -> str:
    drawn = len(variant.runs)
    runs = f"{drawn} of {count(variant.recorded, 'run')}" if drawn < variant.recorded else count(drawn, "run")
    parts = [f"{clean(variant.variant)}: {runs}, {count(variant.longest, rounds.word if variant.dense else 'value')}"]
    if variant.recorded >= BAND_FROM:
        parts.append(f"median and the band of the middle {100 * variant.band.share:.0f}%")
    elif variant.recorded > 1:
        parts.append("median")
    if variant.gaps:
        parts.append(f"{count(variant.gaps, 'run')} with values that are not finite (gaps)")
    return f"{'; '.join(parts)}.{_parted(variant, rounds)}"


def _parted(variant: VariantCurves, rounds: Rounds) -> str:
    parting = variant.parting
    if parting is None or not parting.compared:
        return ""
    if parting.iteration is None:
        return f" The runs are equal at all {count(parting.compared, rounds.word)} compared."
    apart = show(float(f"{parting.apart:.{APART_DIGITS}g}"))
    return f" The runs first differ in {rounds.word} {parting.iteration + rounds.first}, by {apart}."


# What the learning curves of a report do not show.


def curve_notes(curves: Curves) -> list[str]:
    """Say what was left out of the drawing."""
    variants = [variant for metric in curves.metrics for variant in metric.variants]
    notes = []
    fewer = [variant for variant in variants if len(variant.runs) < variant.recorded]
    if fewer:
        least = min(fewer, key=lambda variant: len(variant.runs) / variant.recorded)
        notes.append(
            f"Not every run's curve is drawn (at least {len(least.runs)} of {least.recorded} of a variant, evenly "
            "chosen by index); median and band are of all."
        )
    if any(variant.thinned for variant in variants):
        notes.append(
            "Long curves are drawn with fewer points: first and last, and of each stretch the smallest and the largest "
            "value and the first gap."
        )
    return notes


# All figures of an experiment, in the order in which a report shows them.


def experiment_figures(facts: ExperimentFacts, curves: Curves | None = None) -> list[Figure]:
    """Return every figure: distributions, learning curves, what varied, predictions, weights.

    Within each kind figures are in the order of the metrics; a kind for which there are no facts is absent.
    """
    order = [variant.variant for variant in facts.variants]
    return unique(
        [
            *distribution_figures(facts),
            *(curve_figures(curves, order, Rounds.of(facts.definition)) if curves else []),
            *sources_figures(facts),
            *(figure for figures in prediction_figures(facts).values() for figure in figures),
            *weight_figures(facts).values(),
        ]
    )


@dataclass(frozen=True, eq=False)
class Charts:
    """What is drawn of an experiment, for all sections of a page."""

    facts: ExperimentFacts
    #: None where no learning curve is shown.
    curves: Curves | None = None

    @cached_property
    def figures(self) -> list[Figure]:
        """Every figure, see `experiment_figures`; not made where no section shows one."""
        return experiment_figures(self.facts, self.curves)

    @cached_property
    def predictions(self) -> dict[str, list[Figure]]:
        """The figures of predictions, by variant."""
        return prediction_figures(self.facts)

    @cached_property
    def weights(self) -> dict[str, Figure]:
        """The figure of weights, by variant."""
        return weight_figures(self.facts)
