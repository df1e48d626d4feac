"""Predictions on two sides: how many answers change, on which groups, and whether the accuracy differs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np

from deviate.facts.comparable import Pairing
from deviate.facts.looks import Labels
from deviate.facts.predictions import Evaluation, main_evaluation
from deviate.facts.samples import Sample
from deviate.facts.side import Side
from deviate.observe.examples import Grouping, group_label
from deviate.observe.matching import Predictions, Withheld, match_sides, places_of
from deviate.observe.predictions import Array
from deviate.stats.churn import ChurnBetween, churn_between
from deviate.stats.contrast import PAIRED, Verdict, choose_location, deciding_test, judge
from deviate.stats.effects import mean_difference
from deviate.stats.factorial import Crossed, crossed_difference, mcnemar
from deviate.stats.multiplicity import Correction, adjust
from deviate.stats.pairs import Estimate
from deviate.stats.results import Effect, Tested
from deviate.stats.spread import Floats

Score = Literal["", "accuracy", "squared error"]


class ChangedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The labels of two sides on a group of the examples; shares are in [0, 1]."""

    #: The column that makes the group; empty where it has no name.
    column: str
    name: str
    examples: int
    #: Mean accuracy of the runs of each side.
    accuracy_a: float
    accuracy_b: float
    #: Share of examples that a run of A and one of B label differently.
    between: Estimate
    #: What of it is beyond what retraining changes.
    excess: Estimate
    #: Mean accuracy of A less that of B, in [-1, 1], and the runs of each side that it is of.
    difference: Effect
    n_a: int
    n_b: int
    #: The test of the means.
    test: str
    p: float | None
    #: Why there is no p; empty where there is one.
    reason: str
    #: Adjusted together with `family` tests, this one included: of all groups on every two sides of a comparison.
    p_adjusted: float | None = None
    family: int = 0
    #: None where no verdict was asked for.
    verdict: Verdict | None = None

    @property
    def label(self) -> str:
        """What the group is called beside those of other columns."""
        return group_label(self.column, self.name)


def changed_groups(
    evaluation: Evaluation, a: Predictions, b: Predictions, pairing: Pairing | None, level: float
) -> list[ChangedGroup]:
    """Compare two sides on each group of the examples that both evaluated.

    Parameters
    ----------
    evaluation : Evaluation
        Of side A, with its groups.
    a, b : Predictions
        Predicted classes and targets of the same examples.
    pairing : Pairing or None
        None: runs are not paired.
    level : float
        Confidence level of the intervals, in (0, 1).
    """
    b = dataclasses.replace(b, targets=a.targets)  # those of B are the same, or unknown
    return [
        _changed(grouping.name, name, grouping.members == member, (a, b), pairing, level)
        for grouping in groupings_on(evaluation, a.keys)
        for member, name in enumerate(grouping.groups)
        if (grouping.members == member).any()
    ]


def judged_groups(
    groups: Mapping[Labels, list[ChangedGroup]],
    correction: Correction,
    alphas: Mapping[Labels, float],
    one_draw: Iterable[Labels] = (),
) -> dict[Labels, list[ChangedGroup]]:
    """Adjust the tests of the groups of all pairs of sides together, and judge them.

    `alphas`: what p must be below, for each pair of sides; `one_draw`: pairs where all runs of one side repeat one draw
    and those of the other do not: that side counts as one run.
    """
    listed = [(labels, group) for labels, each in groups.items() for group in each]
    adjusted = adjust([group.p for _, group in listed], correction)
    family = sum(p is not None for p in adjusted)
    single = frozenset(one_draw)
    judged: dict[Labels, list[ChangedGroup]] = {labels: [] for labels in groups}
    for (labels, group), p in zip(listed, adjusted, strict=True):
        verdict = judge(
            n_a=1 if labels in single else group.n_a,
            n_b=1 if labels in single else group.n_b,
            alpha=alphas[labels],
            p_adjusted=p,
            difference=group.difference.value,
            direction="higher",
        ).verdict
        judged[labels].append(msgspec.structs.replace(group, p_adjusted=p, family=family, verdict=verdict))
    return judged


def groupings_on(evaluation: Evaluation, keys: Array) -> list[Grouping]:
    """Return the groups of an evaluation on some of its examples."""
    assert evaluation.predictions is not None
    places = places_of(keys, evaluation.predictions.keys)
    every = (grouping for groups in evaluation.groups for grouping in groups.groupings)
    return [dataclasses.replace(grouping, members=grouping.members[places]) for grouping in every]


def clusters_on(evaluation: Evaluation, keys: Array) -> Array | None:
    """Return the clusters of some of the examples of an evaluation; None where the user gave none."""
    assert evaluation.predictions is not None
    places = places_of(keys, evaluation.predictions.keys)
    return next((groups.clusters[places] for groups in evaluation.groups if groups.clusters is not None), None)


def group_accuracies(name: str, predicted: Predictions, chosen: Array) -> Sample:
    """Return the accuracy of each run on the chosen examples, as a sample of that name."""
    assert predicted.labels is not None
    assert predicted.targets is not None
    right = predicted.labels[:, chosen] == predicted.targets[chosen]
    values = [float(share) for share in right.mean(axis=1)]
    return Sample(name=name, aggregate="last", values=values, runs=run_indices(predicted), direction="higher")


def run_indices(predicted: Predictions) -> list[int]:
    """Return the index of each run within its variant."""
    return [int(run.rpartition("-")[2]) for run in predicted.runs]


def changed_labels(labels_a: Array, labels_b: Array, pairs: Sequence[tuple[int, int]], level: float) -> ChurnBetween:
    """Measure how many labels change from A to B; where runs are paired, with those that have a partner alone."""
    if len(pairs) < 2:
        return churn_between(labels_a, labels_b, level)
    at_a, at_b = (list(places) for places in zip(*pairs, strict=True))
    return churn_between(labels_a[at_a], labels_b[at_b], level, paired=True)


def _changed(
    column: str,
    name: str,
    chosen: Array,
    sides: tuple[Predictions, Predictions],
    pairing: Pairing | None,
    level: float,
) -> ChangedGroup:
    a, b = sides
    assert a.labels is not None
    assert b.labels is not None
    first, second = (group_accuracies(group_label(column, name), each, chosen) for each in sides)
    pairs = [] if pairing is None else pairing.positions(first, second)
    churn = changed_labels(a.labels[:, chosen], b.labels[:, chosen], pairs, level)
    choice = choose_location(first.values, second.values, len(pairs))
    tested = deciding_test(first.values, second.values, pairs)
    compared = first.values, second.values
    is_paired = choice == PAIRED
    if is_paired:
        compared = [first.values[i] for i, _ in pairs], [second.values[j] for _, j in pairs]
    return ChangedGroup(
        column=column,
        name=name,
        examples=int(chosen.sum()),
        accuracy_a=sum(first.values) / len(first.values),
        accuracy_b=sum(second.values) / len(second.values),
        between=churn.between,
        excess=churn.excess,
        difference=mean_difference(*compared, level, paired=is_paired),
        n_a=len(compared[0]),
        n_b=len(compared[1]),
        test=choice.test,
        p=tested.p,
        reason=tested.reason,
    )


# How many answers change from the runs of one side to those of another.


class ChangedPredictions(msgspec.Struct, frozen=True, kw_only=True):
    """The labels of two sides on the examples that both were evaluated on."""

    #: The metric that the predictions give the values of, on side A; None: nothing proves them.
    metric: str | None = None
    #: Where side A was evaluated: ``evaluate, train.py:88``.
    site: str = ""
    examples: int = 0
    #: None where nothing is compared.
    churn: ChurnBetween | None = None
    #: Why nothing is compared; empty where something is.
    withheld: str = ""
    groups: list[ChangedGroup] = []
    #: What each example is scored by: ``accuracy``, or ``squared error`` where models predict values; empty where the
    #: targets are unknown.
    score: Score = ""
    #: Mean score of A less that of B, for other runs on other examples.
    crossed: Crossed | None = None
    #: Of the two models, where each side has one run that predicts classes; None elsewhere.
    mcnemar: Tested | None = None


def changed_predictions(
    a: Side, b: Side, matches: Mapping[str, str], level: float, pairing: Pairing | None = None
) -> ChangedPredictions | None:
    """Compare the predictions of two sides; None where either has none.

    Parameters
    ----------
    a, b : Side
    matches : mapping of str to str
        Metrics that are compared, main metric first, with their names on side B.
    level : float
        Confidence level of the intervals, in (0, 1).
    pairing : Pairing, optional
        Which runs belong together.
    """
    if not a.evaluations or not b.evaluations:
        return None
    first, second = _main(a, list(matches)), _main(b, list(matches.values()))
    facts = ChangedPredictions(metric=first.metric, site=site_text(first))
    same = _same_examples(first, second, matches)
    if not isinstance(same, Withheld):
        facts = _scored(facts, *same, pairing, level, clusters_on(first, same[0].keys))
    matched = matched_predictions(first, second, matches)
    if isinstance(matched, Withheld):
        return msgspec.structs.replace(facts, withheld=matched.reason)
    labels_a, labels_b = (side.labels for side in matched)
    assert labels_a is not None
    assert labels_b is not None
    pairs = pairing.places(*map(run_indices, matched)) if pairing else []
    return msgspec.structs.replace(
        facts,
        examples=len(matched[0].keys),
        churn=changed_labels(labels_a, labels_b, pairs, level),
        groups=changed_groups(first, *matched, pairing, level),
    )


def matched_predictions(
    a: Evaluation, b: Evaluation, matches: Mapping[str, str]
) -> tuple[Predictions, Predictions] | Withheld:
    """Return the predicted classes of two evaluations for the examples of both, or why they are not compared.

    `matches` are metrics that are compared, with their names on side B.
    """
    matched = _same_examples(a, b, matches)
    if not isinstance(matched, Withheld) and matched[0].labels is None:
        return Withheld("the models predict values, not classes")
    return matched


def _same_examples(
    a: Evaluation, b: Evaluation, matches: Mapping[str, str]
) -> tuple[Predictions, Predictions] | Withheld:
    if a.predictions is None or b.predictions is None:
        return Withheld(a.withheld or b.withheld)
    if (a.metric is None) != (b.metric is None) or (
        a.metric is not None and matches.get(a.metric, a.metric) != b.metric
    ):
        return Withheld("the predictions of the two belong to different metrics")
    return match_sides(a.predictions, b.predictions)


def _scored(
    facts: ChangedPredictions,
    a: Predictions,
    b: Predictions,
    pairing: Pairing | None,
    level: float,
    clusters: Array | None,
) -> ChangedPredictions:
    """Compare the mean scores of two sides, as numbers that are of runs and of examples."""
    targets = a.targets if a.targets is not None else b.targets
    if targets is None or a.keys.size == 0:
        return facts
    score: Score = "squared error" if a.labels is None else "accuracy"
    first, second = (_scores(side, targets) for side in (a, b))
    if first is None or second is None:
        return facts
    pairs = pairing.places(*map(run_indices, (a, b))) if pairing else []
    is_single = score == "accuracy" and len(first) == len(second) == 1 and clusters is None
    return msgspec.structs.replace(
        facts,
        score=score,
        crossed=crossed_difference(first, second, level, pairs, clusters),
        mcnemar=mcnemar(first[0], second[0]) if is_single else None,
    )


def _scores(side: Predictions, targets: Array) -> Floats | None:
    """Return the score of each run on each example; None where it is unknown, or too large for a number."""
    if side.labels is not None:
        return np.asarray(side.labels == targets, float)
    with np.errstate(all="ignore"):
        squares = None if side.values is None else np.asarray((side.values - targets) ** 2, float)
    return squares if squares is not None and np.isfinite(squares).all() else None


def site_text(evaluation: Evaluation) -> str:
    """Return where an evaluation is made: ``evaluate, train.py:88``."""
    return f"{evaluation.site.function}, {evaluation.site.file}:{evaluation.site.line}"


def _main(side: Side, metrics: list[str]) -> Evaluation:
    samples = {sample.name: sample for sample in side.samples}
    main = main_evaluation(side.evaluations, [samples[name] for name in metrics])
    assert main is not None
    return main
