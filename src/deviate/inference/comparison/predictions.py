"""How many answers change from the runs of one side to those of another."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from deviate.collect.matching import Withheld, match_sides
from deviate.inference.comparison.side import Side
from deviate.measure.churn_between import ChurnBetween, churn_between
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


def changed_predictions(a: Side, b: Side, matches: Mapping[str, str], level: float) -> ChangedPredictions | None:
    """Compare the predictions of two sides; None where either has none.

    Parameters
    ----------
    a, b : Side
    matches : mapping of str to str
        Metrics that are compared, main metric first, with their names on side B.
    level : float
        Confidence level of the intervals, in (0, 1).
    """
    if not a.evaluations or not b.evaluations:
        return None
    first, second = _main(a, list(matches)), _main(b, list(matches.values()))
    facts = ChangedPredictions(metric=first.metric, site=f"{first.site.function}, {first.site.file}:{first.site.line}")
    if first.predictions is None or second.predictions is None:
        return msgspec.structs.replace(facts, withheld=first.withheld or second.withheld)
    if (first.metric is None) != (second.metric is None) or (
        first.metric is not None and matches.get(first.metric, first.metric) != second.metric
    ):
        return msgspec.structs.replace(facts, withheld="the predictions of the two sides belong to different metrics")
    matched = match_sides(first.predictions, second.predictions)
    if isinstance(matched, Withheld):
        return msgspec.structs.replace(facts, withheld=matched.reason)
    labels_a, labels_b = (side.labels for side in matched)
    if labels_a is None or labels_b is None:
        return msgspec.structs.replace(facts, withheld="the models predict values, not classes")
    return msgspec.structs.replace(facts, examples=len(matched[0].keys), churn=churn_between(labels_a, labels_b, level))


def _main(side: Side, metrics: list[str]) -> Evaluation:
    """Return the evaluation that belongs to the first of the metrics."""
    samples = {sample.name: sample for sample in side.samples}
    main = main_evaluation(side.evaluations, [samples[name] for name in metrics])
    assert main is not None
    return main
