"""What a gate checks on groups of the evaluated examples: that the accuracy falls on none."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from deviate.collect.groups import Grouping, group_label
from deviate.collect.matching import Predictions, Withheld
from deviate.collect.predictions import Array
from deviate.contrast.few_examples import few_errors_p
from deviate.errors import BadOption
from deviate.inference.comparison.groups import group_accuracies, groupings_on
from deviate.inference.comparison.predictions import matched_predictions, site_text
from deviate.inference.comparison.side import Side
from deviate.inference.drops import Drop
from deviate.inference.gate.metric import GateMetric, Question
from deviate.inference.gate.options import GateOptions
from deviate.results.predictions import Evaluation


class CheckedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group of the examples that both sides evaluated, and by how much the accuracy on it may be lower."""

    #: The column that makes the group; empty where it has no name.
    column: str
    name: str
    examples: int
    question: Question


class CheckedGroups(msgspec.Struct, frozen=True, kw_only=True):
    """The groups that are to be checked."""

    #: Where side A was evaluated: ``evaluate, train.py:88``.
    site: str
    groups: list[CheckedGroup] = []
    #: Why none is checked; empty where some are.
    withheld: str = ""


class GateGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group of the examples, and what was shown of the accuracy on it, a share in [0, 1]."""

    #: The column that makes the group; empty where it has no name.
    column: str
    name: str
    examples: int
    accuracy: GateMetric

    @property
    def label(self) -> str:
        """What the group is called beside those of other columns."""
        return group_label(self.column, self.name)

    def is_too_small(self, alpha: float) -> bool:
        """Tell whether not even runs without an error would pass: runs at the limit are often right on all examples."""
        accuracy = self.accuracy
        if accuracy.outcome != "inconclusive" or not accuracy.drop.value or accuracy.limit is None:
            return False
        return few_errors_p(np.ones(accuracy.n_a), self.examples, accuracy.limit) > alpha


class GateGroups(msgspec.Struct, frozen=True, kw_only=True):
    """The accuracies on groups of examples, each a metric that must not fall."""

    #: Where side A was evaluated: ``evaluate, train.py:88``.
    site: str
    #: How much lower the accuracy on a group may be; 0: only a drop that is shown fails.
    allowed: float
    groups: list[GateGroup]
    #: Why none is checked, which does not pass; empty where some are.
    withheld: str
    passed: bool


def checked_groups(a: Side, b: Side, matches: Mapping[str, str], options: GateOptions) -> CheckedGroups | None:
    """Find the accuracy of each run on each group; None where the user gave no groups.

    Parameters
    ----------
    a, b : Side
    matches : mapping of str to str
        Metrics that are checked, with their names on side B.
    options : GateOptions

    Raises
    ------
    BadOption
        If one side has no groups, because it has no predictions.
    """
    if not options.groups:
        return None
    first, second = _grouped(a), _grouped(b)
    matched = matched_predictions(first, second, matches)
    if isinstance(matched, Withheld):
        return CheckedGroups(site=site_text(first), withheld=matched.reason)
    groupings, others = (groupings_on(each, matched[0].keys) for each in (first, second))
    if [_named(each) for each in groupings] != [_named(each) for each in others]:
        return CheckedGroups(site=site_text(first), withheld="the sides have other groups for the same examples")
    drop = Drop(options.max_group_drop or 0.0)
    return CheckedGroups(
        site=site_text(first),
        groups=[
            _checked(grouping.name, name, grouping.members == member, matched, drop)
            for grouping in groupings
            for member, name in enumerate(grouping.groups)
            if (grouping.members == member).any()
        ],
    )


def gate_groups(checked: CheckedGroups, accuracies: list[GateMetric], options: GateOptions) -> GateGroups:
    """Return what was shown of the accuracy on each group, in their order."""
    return GateGroups(
        site=checked.site,
        allowed=options.max_group_drop or 0.0,
        groups=[
            GateGroup(column=group.column, name=group.name, examples=group.examples, accuracy=accuracy)
            for group, accuracy in zip(checked.groups, accuracies, strict=True)
        ],
        withheld=checked.withheld,
        passed=not checked.withheld and all(accuracy.passed for accuracy in accuracies),
    )


def _grouped(side: Side) -> Evaluation:
    found = next((each for each in side.evaluations if each.groups), None)
    if found is None:
        raise BadOption(
            f"--groups: no predictions of {side.label} to group",
            hint="`deviate report NAME` says why; --predictions FILE of `deviate run` names a file that the program "
            "writes them to",
        )
    return found


def _named(grouping: Grouping) -> tuple[str, list[str]]:
    """Return the group of each example by name: numbers of groups follow from which groups a side has."""
    return grouping.name, [grouping.groups[member] for member in grouping.members]


def _checked(
    column: str, name: str, chosen: Array, matched: tuple[Predictions, Predictions], drop: Drop
) -> CheckedGroup:
    label = f"accuracy of {group_label(column, name)}"
    samples = [group_accuracies(label, predicted, chosen) for predicted in matched]
    examples = int(chosen.sum())
    question = Question(samples, "higher", drop, examples)
    return CheckedGroup(column=column, name=name, examples=examples, question=question)
