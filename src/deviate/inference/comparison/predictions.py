"""How many answers change from the runs of one side to those of another."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from deviate.collect.matching import Predictions, Withheld, match_sides
from deviate.inference.comparison.groups import ChangedGroup, changed_groups, changed_labels, run_indices
from deviate.inference.comparison.pairing import Pairing
from deviate.inference.comparison.side import Side
from deviate.measure.churn_between import ChurnBetween
from deviate.results.predictions import Evaluation, main_evaluation


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
    if a.predictions is None or b.predictions is None:
        return Withheld(a.withheld or b.withheld)
    if (a.metric is None) != (b.metric is None) or (
        a.metric is not None and matches.get(a.metric, a.metric) != b.metric
    ):
        return Withheld("the predictions of the two belong to different metrics")
    matched = match_sides(a.predictions, b.predictions)
    if not isinstance(matched, Withheld) and matched[0].labels is None:
        return Withheld("the models predict values, not classes")
    return matched


def site_text(evaluation: Evaluation) -> str:
    """Return where an evaluation is made: ``evaluate, train.py:88``."""
    return f"{evaluation.site.function}, {evaluation.site.file}:{evaluation.site.line}"


def _main(side: Side, metrics: list[str]) -> Evaluation:
    """Return the evaluation that belongs to the first of the metrics."""
    samples = {sample.name: sample for sample in side.samples}
    main = main_evaluation(side.evaluations, [samples[name] for name in metrics])
    assert main is not None
    return main
