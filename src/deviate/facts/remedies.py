"""What would lower the spread between runs, from what was kept of them: no training is run for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np

from deviate.facts.predictions import Evaluation, main_evaluation
from deviate.facts.samples import Sample
from deviate.facts.stability import Stability, class_scores
from deviate.observe.headline import main_first
from deviate.observe.matching import EveryPass, Predictions, Withheld, match_sides
from deviate.observe.predictions import Frame
from deviate.stats.ensembles import Together, labels_together, reports_together, runs_together, snapshots_together
from deviate.stats.predictions import Integers

#: The last reports of the main metric, the labels of snapshots, evaluations of the same examples, weights, runs.
Way = Literal["reports", "snapshots", "evaluations", "weights", "runs"]

ONCE = "{metric} has one report a run, or reports of several trainings"
NO_TARGETS = "no predictions with targets were kept"
DISPUTED = "the answers that were kept do not give the values of {metric}"
NO_LABELS = "only labels are put together, and these answers are numbers"
NO_SNAPSHOTS = "`--predictions labels:every` keeps those of every evaluation"
NO_OTHERS = "no other answers to these examples were kept"
NO_MAJORITY = "labels of two have no majority; `--predictions scores` keeps scores"
NO_WEIGHTS = "only the program can evaluate a mean of them"


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that can be put together; values of reports are in the unit of the metric, others shares in [0, 1]."""

    way: Way
    #: Of scores, or of reports, their mean is taken; labels vote.
    by: Literal["mean", "vote"] = "mean"
    rows: list[Together] = []
    #: Where the program evaluates the same examples, and the metric that each evaluation gives; empty: none is proven.
    places: list[tuple[str, Frame]] = []
    #: Why nothing is known; empty where something is.
    reason: str = ""


class Remedies(msgspec.Struct, frozen=True, kw_only=True):
    """What would lower the spread between the runs of a variant."""

    variant: str
    #: The main metric; the reports are its values.
    metric: str
    unit: str
    decimals: int | None
    runs: int
    ways: list[Remedy]


def remedies(
    variant: str,
    samples: Sequence[Sample],
    reports: Mapping[int, Sequence[float]],
    evaluations: Sequence[Evaluation],
    known: Stability | None,
    level: float,
) -> Remedies | None:
    """Infer what would lower the spread, at a confidence level in (0, 1); None where there is none, or none is known.

    `reports` are the last ones of the main metric, by run; `known` is what is known of the main evaluation.
    """
    first = next(iter(main_first(samples)), None)
    if first is None or len(set(first.values)) < 2:
        return None
    main = main_evaluation(evaluations, main_first(samples))
    ways = [
        _reports(first, [reports[run] for run in first.runs if run in reports], level),
        *_of_predictions(main, evaluations, known, level),
        Remedy(way="weights", reason=NO_WEIGHTS),
    ]
    if not any(each.rows for each in ways):
        return None
    return Remedies(
        variant=variant, metric=first.name, unit=first.unit, decimals=first.decimals, runs=first.n, ways=ways
    )


def _reports(sample: Sample, reports: Sequence[Sequence[float]], level: float) -> Remedy:
    common = min((len(each) for each in reports), default=0)
    table = np.array([each[-common:] for each in reports])
    sound = table[np.isfinite(table).all(axis=1)] if common > 1 else table
    if common < 2 or len(sound) < 2:
        return Remedy(way="reports", reason=ONCE.format(metric=sample.name))
    return Remedy(way="reports", rows=reports_together(sound, level))


def _without_answers(predicted: Predictions | None, known: Stability | None) -> str:
    if known is not None and known.disputed:
        return DISPUTED.format(metric=known.disputed)
    return NO_TARGETS if predicted is None or predicted.values is None else NO_LABELS


def _of_predictions(
    main: Evaluation | None, evaluations: Sequence[Evaluation], known: Stability | None, level: float
) -> list[Remedy]:
    predicted = None if main is None else main.predictions
    right = None if known is None or known.labels is None else known.labels.correctness
    if main is None or predicted is None or predicted.targets is None or known is None or right is None:
        return [Remedy(way="runs", reason=_without_answers(predicted, known))]
    by: Literal["mean", "vote"] = "vote" if class_scores(predicted) is None else "mean"
    single = labels_together([1], lambda _: np.asarray(predicted.labels), predicted.targets, level)
    together = runs_together(right.ensembles, len(known.runs), right.accuracy.sd, level)
    return [
        _snapshots(main, level),
        _places(main, predicted, evaluations, level),
        Remedy(way="runs", by=by, rows=[*single, *(each for each in together if each.sd is not None)]),
    ]


def _snapshots(main: Evaluation, level: float) -> Remedy:
    every = main.every.predictions if isinstance(main.every, EveryPass) else None
    if every is None or every.labels is None or every.targets is None or every.labels.shape[2] < 3:
        return Remedy(way="snapshots", reason=NO_SNAPSHOTS)
    return Remedy(way="snapshots", by="vote", rows=snapshots_together(every.labels, every.targets, level))


def _places(main: Evaluation, predicted: Predictions, evaluations: Sequence[Evaluation], level: float) -> Remedy:
    """Put evaluations of the same examples at other places of the program together, such as of augmented ones."""
    used, sides = [main], [predicted]
    for other in evaluations:
        is_there = other.kept != main.kept or any(_point(other) == _point(each) for each in used)
        matched = [] if is_there else _matched(sides, other)
        if matched:
            used, sides = [*used, other], [*(each for each, _ in matched), matched[0][1]]
    if len(sides) < 2:
        return Remedy(way="evaluations", reason=NO_OTHERS)
    places, scores = [(each.metric or "", each.site) for each in used], [class_scores(each) for each in sides]
    if any(each is None for each in scores):
        return Remedy(way="evaluations", by="vote", places=places, reason=NO_MAJORITY)

    def labels_of(size: int) -> Integers:
        return np.asarray(np.mean([np.asarray(each) for each in scores[:size]], axis=0).argmax(axis=2))

    rows = labels_together([1, len(sides)], labels_of, np.asarray(sides[0].targets), level)
    return Remedy(way="evaluations", places=places, rows=rows)


def _point(each: Evaluation) -> tuple[Frame, str, str | None]:
    return each.site, each.data, each.metric


def _matched(sides: Sequence[Predictions], other: Evaluation) -> list[tuple[Predictions, Predictions]]:
    """Match an evaluation with others that are matched; none where its examples or runs, or no labels, are others."""
    predicted = other.predictions
    if predicted is None or predicted.targets is None or predicted.runs != sides[0].runs:
        return []
    matched = [match_sides(each, predicted) for each in sides]
    found = [each for each in matched if not isinstance(each, Withheld)]
    if len(found) < len(sides) or any(_are_equal(*each) for each in found):
        return []
    return found


def _are_equal(one: Predictions, more: Predictions) -> bool:
    return one.labels is None or more.labels is None or np.array_equal(one.labels, more.labels)
