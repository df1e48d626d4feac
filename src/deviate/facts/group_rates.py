"""The facts about groups of examples: how well runs do on each, and how much that varies."""

from __future__ import annotations

import msgspec

from deviate.facts.predictions import Evaluation, class_name
from deviate.observe.examples import group_label
from deviate.observe.matching import Match
from deviate.stats.churn import class_churn
from deviate.stats.classes import Rate, Subset, group_rates, of_one_family
from deviate.stats.intervals import Interval
from deviate.stats.pairs import Estimate

#: What all examples are called beside their groups.
ALL = "all"


class GroupRate(msgspec.Struct, frozen=True, kw_only=True):
    """One rate of a group over the runs; see `deviate.stats.classes.Rate`."""

    mean: float | None
    sd: float | None
    interval: Interval
    range: float | None
    #: `sd` divided by the SD of the same rate on all examples.
    ratio: float | None
    #: SD of runs that guess each example anew with this rate.
    floor: float | None
    #: p-value of runs that differ by no more than independent errors on the same examples, by Holm over all groups.
    p: float | None
    #: Why numbers are None; empty where all are known.
    reason: str = ""


class GroupStability(msgspec.Struct, frozen=True, kw_only=True):
    """One group: how well runs do on it."""

    #: The column that makes it; empty for all examples, and where the column has no name.
    column: str
    name: str
    examples: int
    #: By name: ``accuracy``, and with a positive class ``recall``, ``precision``, ``fpr`` and ``fnr``.
    rates: dict[str, GroupRate]
    #: Share of its examples that two runs label differently; None for all examples.
    churn: Estimate | None = None

    @property
    def label(self) -> str:
        """What the group is called beside those of other columns."""
        return group_label(self.column, self.name)


class GroupFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The groups of the examples of one evaluation."""

    #: The files of groups, and what matched the rows of each with the examples.
    sources: dict[str, Match]
    #: The class that counts as positive; None where there are several classes and none was named.
    positive: str | None
    overall: GroupStability
    groups: list[GroupStability]


def group_facts(evaluation: Evaluation, level: float) -> GroupFacts:
    """Infer how well runs do on each group of examples, at a confidence level in (0, 1).

    `evaluation` has predicted classes, targets and groups.
    """
    predicted = evaluation.predictions
    assert predicted is not None
    assert predicted.labels is not None
    assert predicted.targets is not None
    labels, targets, positive = predicted.labels, predicted.targets, evaluation.positive
    groupings = [grouping for groups in evaluation.groups for grouping in groups.groupings]
    measured = of_one_family(
        [group_rates(labels, targets, each.members, positive=positive, level=level) for each in groupings]
    )
    churns = [class_churn(labels, each.members, level) for each in groupings]
    return GroupFacts(
        sources={each.source: each.by for each in evaluation.groups},
        positive=None if positive is None else class_name(predicted, positive),
        overall=_group("", ALL, measured[0].overall),
        groups=[
            _group(grouping.name, name, subset, churn.mean)
            for grouping, rates, changes in zip(groupings, measured, churns, strict=True)
            for name, subset, churn in zip(grouping.groups, rates.subsets, changes, strict=True)
        ],
    )


def _group(column: str, name: str, subset: Subset, churn: Estimate | None = None) -> GroupStability:
    rates = {name: _rate(rate) for name, rate in subset.rates.items()}
    return GroupStability(column=column, name=name, examples=subset.examples, rates=rates, churn=churn)


def _rate(rate: Rate) -> GroupRate:
    return GroupRate(
        mean=rate.mean,
        sd=rate.sd,
        interval=rate.interval,
        range=rate.range,
        ratio=rate.ratio,
        floor=rate.floor,
        p=rate.p_holm,
        reason=rate.reason,
    )
