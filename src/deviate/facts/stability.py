"""Facts about predictions: the answers that another training changes, and their classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from deviate.facts.groups import GroupFacts, group_facts
from deviate.facts.learning import LearningFacts, learning_facts
from deviate.facts.predictions import (
    Evaluation,
    EvaluationResult,
    FailedPass,
    Kept,
    KnownInputs,
    class_name,
    main_evaluation,
)
from deviate.facts.samples import Sample
from deviate.observe.examples import Shown, show_entry
from deviate.observe.headline import main_first
from deviate.observe.matching import Match, Predictions
from deviate.observe.predictions import Array, Frame
from deviate.stats.agreement import (
    Agreement,
    Ambiguity,
    abstention,
    agreement,
    ambiguity,
    correctness_correlation,
    value_correlation,
    value_differences,
)
from deviate.stats.churn import ExcessChurn, churn, class_churn, excess_churn
from deviate.stats.classes import Rate, ScoreSpread, calibration, class_rates
from deviate.stats.ensembles import EnsembleSize, ExampleVariance, example_variance, score_ensembles, vote_ensembles
from deviate.stats.intervals import Interval
from deviate.stats.pairs import Estimate
from deviate.stats.predictions import correctness
from deviate.stats.spread import Spread, spread, within_sd

# The facts about single examples: on which of them runs disagree.

#: Examples on the flip list.
FLIPS = 50

#: Examples of it whose inputs are shown, where the user gives them or the runs kept them.
PICTURED = 20


class Flip(msgspec.Struct, frozen=True, kw_only=True):
    """An example on which runs disagree."""

    #: Number in the data set, where examples are known by it; else the position in the evaluation of the first run.
    example: int
    #: Empty without targets.
    target: str
    #: The label of most runs, and how many give it.
    majority: str
    agreeing: int
    #: The most frequent other label, and how many give it.
    other: str
    others: int
    #: What is shown of its input, where the user gave inputs or the runs kept it: words, and a picture as a ``data:``
    #: address.
    input: str = ""
    picture: str = ""


def flip_list(agreed: Agreement, predicted: Predictions, inputs: KnownInputs | None) -> list[Flip]:
    """Return the examples on which runs disagree, those with the least agreement first."""
    unstable = [int(place) for place in agreed.order[:FLIPS] if agreed.unstable[place]]
    shown = [_shown(place, predicted, inputs) for place in unstable[:PICTURED]]
    shown += [Shown("")] * (len(unstable) - len(shown))
    return [_flip(agreed, predicted, place, each) for place, each in zip(unstable, shown, strict=True)]


def _shown(place: int, predicted: Predictions, inputs: KnownInputs | None) -> Shown:
    if inputs is not None:
        return inputs.show(place)
    kept = predicted.inputs.get(int(predicted.keys[place]))
    return Shown("") if kept is None else show_entry(kept)


def _flip(agreed: Agreement, predicted: Predictions, place: int, shown: Shown) -> Flip:
    numbers = predicted.keys if predicted.by == "index" or predicted.places is None else predicted.places
    return Flip(
        example=int(numbers[place]),
        target="" if predicted.targets is None else class_name(predicted, predicted.targets[place]),
        majority=class_name(predicted, agreed.majority[place]),
        agreeing=int(agreed.agreeing[place]),
        other=class_name(predicted, agreed.other[place]),
        others=int(agreed.others[place]),
        input=shown.text,
        picture=shown.picture,
    )


#: Evaluations of a variant whose predictions are measured.
EVALUATIONS = 8

#: Why nothing can be compared.
ONE_RUN = "one run has nothing to differ from"


class ClassStability(msgspec.Struct, frozen=True, kw_only=True):
    """One class: how often it is recognised in each run, and how much that varies."""

    name: str
    examples: int
    #: Share of its examples that get its label, over the runs.
    accuracy: float | None
    sd: float | None
    interval: Interval
    range: float | None
    #: `sd` divided by the SD of the accuracy on all examples.
    ratio: float | None
    #: SD of runs that guess each example anew with this accuracy.
    floor: float | None
    #: p-value of runs that differ by no more than independent errors on the same examples, by Holm over all classes.
    p: float | None
    precision: float | None
    fpr: float | None
    fnr: float | None
    churn: Estimate


class Correctness(msgspec.Struct, frozen=True, kw_only=True):
    """What is known where runs predict classes and the targets are known; shares are in [0, 1]."""

    #: Of the share of correct labels, by run.
    accuracy: Spread
    excess: ExcessChurn
    correlation: Estimate
    #: Shares of examples: all runs are right, all give the same wrong label.
    stably_right: float
    stably_wrong: float
    classes: list[ClassStability]
    variance: ExampleVariance
    ensembles: list[EnsembleSize]
    #: Runs that must agree, share of examples answered, accuracy on these.
    abstention: list[tuple[int, float, float | None]]
    #: By name, where the scores of all classes were kept.
    calibration: dict[str, ScoreSpread]


class Labels(msgspec.Struct, frozen=True, kw_only=True):
    """What is known where runs predict classes; shares are in [0, 1]."""

    #: Share of examples that two runs label differently, over all pairs.
    churn: Estimate
    ambiguity: Ambiguity
    #: Share of examples on which runs disagree.
    unstable: float
    #: Those with the least agreement first.
    flips: list[Flip]
    #: Share of examples that two runs label differently, by pair of runs.
    matrix: list[list[float]]
    #: None without targets.
    correctness: Correctness | None = None
    #: Pearson's coefficient of the scores of two runs, mean over all pairs; None where no scores were kept.
    score_correlation: Estimate | None = None


class Values(msgspec.Struct, frozen=True, kw_only=True):
    """What is known where runs predict values, in their unit."""

    #: Of the root of the mean squared error, by run; None without targets, and for scores of two classes.
    error: Spread | None
    #: Mean absolute difference between the predictions of two runs, over all pairs.
    difference: Estimate
    #: Of the squared error; None where that is.
    variance: ExampleVariance | None
    matrix: list[list[float]]
    #: Pearson's coefficient of the predictions of two runs, mean over all pairs.
    correlation: Estimate


class Stability(msgspec.Struct, frozen=True, kw_only=True):
    """How much the predictions of the runs of a variant differ in one evaluation."""

    variant: str
    site: Frame
    kept: Kept
    data: str
    #: The metric that the captured predictions give the values of; None: nothing proves them.
    metric: str | None
    runs: list[str]
    iterations: list[int]
    #: By run: share of correct labels, or the mean squared error, negative; empty without targets.
    goodness: list[float]
    examples: int
    #: What matched the examples of the runs; None where nothing did.
    by: Match | None
    #: Examples that not all runs evaluated.
    left_out: int
    #: Why nothing is measured; empty where it is.
    withheld: str = ""
    labels: Labels | None = None
    values: Values | None = None
    #: None where the user gave no groups.
    groups: GroupFacts | None = None
    #: None where not every pass was kept.
    learning: LearningFacts | None = None
    #: The accuracy of the program's that has other values than the labels give; which are correct is not shown then.
    disputed: str = ""


def stabilities(
    evaluations: Sequence[Evaluation], metrics: Sequence[Sample], seed: int, level: float
) -> list[Stability]:
    """Infer how much predictions differ in each evaluation, first in that which a reader of the metrics asks for."""
    main = main_evaluation(evaluations, main_first(metrics))
    ordered = _courses_once(sorted(evaluations, key=lambda each: each is not main))
    return [stability(each, seed, level) for each in ordered[:EVALUATIONS]]


def _courses_once(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Leave every pass at a point to the first of its evaluations: the last and the best pass share it."""
    return [
        msgspec.structs.replace(each, every=None) if any(each.every is other.every for other in before) else each
        for each, before in ((each, evaluations[:place]) for place, each in enumerate(evaluations))
    ]


def stability(evaluation: Evaluation, seed: int, level: float) -> Stability:
    """Infer how much the predictions of runs differ, at a confidence level in (0, 1); `seed` draws ensembles."""
    predicted = evaluation.predictions
    runs = list(predicted.runs) if predicted is not None else []
    withheld = evaluation.withheld or (ONE_RUN if len(runs) < 2 else "")
    measured = predicted if not withheld else None
    has_groups = any(each.groupings for each in evaluation.groups)
    return Stability(
        variant=evaluation.variant,
        site=evaluation.site,
        kept=evaluation.kept,
        data=evaluation.data,
        metric=evaluation.metric,
        runs=runs,
        iterations=evaluation.iterations,
        goodness=[value for value in evaluation.goodness if value is not None],
        examples=0 if predicted is None else len(predicted.keys),
        by=None if predicted is None else predicted.by,
        left_out=0 if predicted is None else predicted.left_out,
        withheld=withheld,
        labels=_labels(measured, evaluation.inputs, seed, level)
        if measured is not None and measured.labels is not None
        else None,
        values=_values(measured, level) if measured is not None and measured.values is not None else None,
        groups=group_facts(evaluation, level) if measured is not None and has_groups else None,
        learning=learning_facts(evaluation.every, level) if measured is not None and evaluation.every else None,
        disputed=evaluation.disputed,
    )


def _labels(predicted: Predictions, inputs: KnownInputs | None, seed: int, level: float) -> Labels:
    labels, targets = predicted.labels, predicted.targets
    assert labels is not None
    agreed, pairs, scores = agreement(labels, targets), churn(labels, level), predicted.scores
    return Labels(
        churn=pairs.mean,
        ambiguity=ambiguity(labels),
        unstable=float(agreed.unstable.mean()),
        flips=flip_list(agreed, predicted, inputs),
        matrix=pairs.matrix.tolist(),
        correctness=_correctness(labels, targets, agreed, predicted, seed, level) if targets is not None else None,
        score_correlation=None if scores is None else value_correlation(scores.reshape(len(scores), -1), level),
    )


def _correctness(
    labels: Array, targets: Array, agreed: Agreement, predicted: Predictions, seed: int, level: float
) -> Correctness:
    right = correctness(labels, targets)
    rates = abstention(labels, targets)
    return Correctness(
        accuracy=spread(right.mean(axis=1)),
        excess=excess_churn(labels, targets, level),
        correlation=correctness_correlation(labels, targets, level).mean,
        stably_right=float(agreed.stably_right.mean()),
        stably_wrong=float(agreed.stably_wrong.mean()),
        classes=_classes(labels, targets, predicted, level),
        variance=example_variance(right, level),
        ensembles=list(_ensembles(labels, targets, predicted, np.random.default_rng(seed))),
        abstention=[
            (int(least), float(share), None if np.isnan(accuracy) else float(accuracy))
            for least, share, accuracy in zip(rates.agreeing, rates.coverage, rates.accuracy, strict=True)
        ],
        calibration=_calibration(targets, predicted, level),
    )


def _classes(labels: Array, targets: Array, predicted: Predictions, level: float) -> list[ClassStability]:
    measured = class_rates(labels, targets, level).subsets
    churns = {each.label: each.mean for each in class_churn(labels, targets, level)}
    return [
        _class(class_name(predicted, subset.name), subset.examples, subset.rates, churns[subset.name])
        for subset in measured
        if subset.name is not None and subset.name in churns
    ]


def _class(name: str, examples: int, rates: dict[str, Rate], changes: Estimate) -> ClassStability:
    recall = rates["recall"]
    return ClassStability(
        name=name,
        examples=examples,
        accuracy=recall.mean,
        sd=recall.sd,
        interval=recall.interval,
        range=recall.range,
        ratio=recall.ratio,
        floor=recall.floor,
        p=recall.p_holm,
        precision=rates["precision"].mean,
        fpr=rates["fpr"].mean,
        fnr=rates["fnr"].mean,
        churn=changes,
    )


def _ensembles(
    labels: Array, targets: Array, predicted: Predictions, rng: np.random.Generator
) -> Sequence[EnsembleSize]:
    scores = class_scores(predicted)
    return vote_ensembles(labels, targets, rng) if scores is None else score_ensembles(scores, targets, rng)


def class_scores(predicted: Predictions) -> Array | None:
    """Return the scores of all classes where the targets are their positions."""
    scores, targets = predicted.scores, predicted.targets
    if scores is None or targets is None or predicted.classes or targets.min() < 0 or targets.max() >= scores.shape[2]:
        return None
    return scores


def _calibration(targets: Array, predicted: Predictions, level: float) -> dict[str, ScoreSpread]:
    scores = class_scores(predicted)
    if scores is None:
        return {}
    measured = calibration(scores, targets, level)
    return {"nll": measured.nll, "brier": measured.brier, "ece": measured.ece}


def _are_of_two_classes(targets: Array, values: Array) -> bool:
    """Whether values are scores of one of two classes, which have no error: targets are 0 and 1, values in between."""
    return bool(np.array_equal(np.unique(targets), [0, 1]) and values.min() >= 0 and values.max() <= 1)


def _values(predicted: Predictions, level: float) -> Values:
    assert predicted.values is not None
    values = predicted.values.astype(np.float64)
    targets = predicted.targets
    squared = None if targets is None or _are_of_two_classes(targets, values) else (values - targets) ** 2
    apart = value_differences(values, level=level)
    return Values(
        error=None if squared is None else spread(np.sqrt(squared.mean(axis=1))),
        difference=apart.absolute,
        variance=None if squared is None else example_variance(squared, level),
        matrix=apart.matrix.tolist(),
        correlation=value_correlation(values, level),
    )


# How evaluations ended, and how much those of one run differ beside how much runs do.


class WithinRuns(msgspec.Struct, frozen=True, kw_only=True):
    """How much the evaluations of one run differ in a metric, and how much runs do."""

    variant: str
    metric: str
    #: Runs with finite values.
    n: int
    #: Of the means of the runs; None with fewer than two.
    sd_between: float | None
    #: Pooled over the runs; None where no run has two values.
    sd_within: float | None


class EvaluationFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How often an evaluation was made, and what its runs say."""

    name: str
    command: list[str]
    repeat: int
    #: What it has otherwise than the training.
    threads: int | None
    device: str | None
    environment: dict[str, str]
    python: str
    #: Runs whose training completed, and those of them that were evaluated as often as asked.
    runs: int
    evaluated: int
    failed: list[FailedPass]
    #: Empty where each run is evaluated once.
    within: list[WithinRuns]


def evaluation_facts(results: Sequence[EvaluationResult]) -> list[EvaluationFacts]:
    """Infer how much evaluations differ, one by one."""
    return [
        EvaluationFacts(
            name=each.step.name,
            command=each.step.command,
            repeat=each.step.repeat,
            threads=each.step.threads,
            device=each.step.device,
            environment=each.step.environment,
            python=each.step.python,
            runs=each.runs,
            evaluated=each.evaluated,
            failed=each.failed,
            within=[
                _within(variant, metric, runs)
                for variant, metrics in each.passes.items()
                for metric, runs in metrics.items()
            ],
        )
        for each in results
    ]


def _within(variant: str, metric: str, runs: Mapping[int, Sequence[float]]) -> WithinRuns:
    finite = [values for values in runs.values() if np.isfinite(values).all()]
    return WithinRuns(
        variant=variant,
        metric=metric,
        n=len(finite),
        sd_between=spread([float(np.mean(values)) for values in finite]).sd if finite else None,
        sd_within=within_sd(finite),
    )
