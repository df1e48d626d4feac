"""Groups of examples that a user gives: how well runs do on each, and how much that varies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from deviate.core.errors import BadGroups, BadOption
from deviate.facts.predictions import Evaluation, class_name, main_evaluation
from deviate.facts.samples import Sample
from deviate.observe.examples import Groups, GroupTable, group_label, match_groups, read_group_table
from deviate.observe.headline import main_first
from deviate.observe.matching import Match, Predictions, Withheld
from deviate.observe.predictions import UnreadableError
from deviate.observe.records import RunFiles
from deviate.stats.churn import class_churn
from deviate.stats.classes import Rate, Subset, group_rates, of_one_family
from deviate.stats.intervals import Interval
from deviate.stats.pairs import Estimate
from deviate.store.folders import PREDICTION_SUFFIXES, PREDICTIONS


class GroupOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where groups are, and what counts as positive in their rates."""

    #: Files, or columns of the file of predictions that each run writes; none: there are no groups.
    sources: tuple[str, ...] = ()
    #: A class, as the program calls it; empty: of two classes the greater one.
    positive: str = ""


NO_GROUPS = GroupOptions()


def read_group_options(groups: str | Sequence[str], positive: str | None) -> GroupOptions:
    """Read the options as users type them.

    Raises BadOption if a positive class is named and no groups.
    """
    sources = (groups,) if isinstance(groups, str) else tuple(groups)
    if positive and not sources:
        raise BadOption("positive is for the rates of groups", hint="type --set groups=FILE, too, or leave it out")
    return GroupOptions(sources=sources, positive=positive or "")


def with_groups(
    evaluations: Mapping[str, Sequence[Evaluation]],
    samples: Mapping[str, Sequence[Sample]],
    runs: Sequence[RunFiles],
    options: GroupOptions,
) -> dict[str, list[Evaluation]]:
    """Return the evaluations, of each variant the first that groups fit with its groups; the main one is tried first.

    Raises BadGroups if a file cannot be read, or the groups fit no evaluation of a variant.
    """
    grouped = {
        variant: _grouped(each, main_evaluation(each, main_first(samples.get(variant, []))), runs, options)
        for variant, each in evaluations.items()
    }
    if not any(each.groups for several in grouped.values() for each in several):
        reasons = [each.withheld for several in evaluations.values() for each in several if each.withheld]
        raise BadGroups(
            f"there are no predictions to group: {reasons[0] if reasons else 'none were captured'}",
            hint="leave groups out, or make runs with --predictions labels",
        )
    return grouped


def _grouped(
    evaluations: Sequence[Evaluation], main: Evaluation | None, runs: Sequence[RunFiles], options: GroupOptions
) -> list[Evaluation]:
    tried = sorted((each for each in evaluations if each.predictions is not None), key=lambda each: each is not main)
    reasons = []
    for each in tried:
        groups = groups_of(each, runs, options.sources)
        if isinstance(groups, Withheld):
            reasons.append(groups.reason)
            continue
        chosen = msgspec.structs.replace(each, groups=groups, positive=_positive(each, options.positive))
        return [chosen if other is each else other for other in evaluations]
    if reasons:
        raise BadGroups(
            f"groups {' '.join(options.sources)}: {reasons[0]}",
            hint="give a row for each evaluated example, with its number in the data set in a column `index`",
        )
    return list(evaluations)


def groups_of(evaluation: Evaluation, runs: Sequence[RunFiles], sources: Sequence[str]) -> list[Groups] | Withheld:
    """Return the groups of the examples of an evaluation that has predictions, or why they are not its."""
    predicted = evaluation.predictions
    assert predicted is not None
    if predicted.labels is None or predicted.targets is None:
        return Withheld("groups are of predicted classes with targets")
    parts = []
    for source in sources:
        path = Path(source)
        is_file = path.suffix in PREDICTION_SUFFIXES
        part = match_groups(_read(path), predicted) if is_file else _of_column(source, predicted, runs)
        if isinstance(part, Withheld):
            return part
        parts.append(part)
    return parts


def _read(path: Path) -> GroupTable:
    try:
        return read_group_table(path)
    except UnreadableError as error:
        raise BadGroups(
            str(error),
            hint=f"give a file {', '.join(PREDICTION_SUFFIXES)} with a column of groups and a row for each example",
        ) from error


def _of_column(name: str, predicted: Predictions, runs: Sequence[RunFiles]) -> Groups | Withheld:
    """Take groups from the files that the runs wrote, in which they must be the same for each example."""
    first: Groups | None = None
    for run in runs:
        if run.name not in predicted.runs:
            continue
        groups = match_groups(_column(name, run), predicted)
        if isinstance(groups, Withheld):
            return groups
        first = first or groups
        pairs = zip(first.groupings, groups.groupings, strict=True)
        alike = all(one.groups == other.groups and np.array_equal(one.members, other.members) for one, other in pairs)
        if not alike or not np.array_equal(first.clusters, groups.clusters):  # type: ignore[arg-type]
            return Withheld(f"column {name!r} has other groups for the same examples in {run.name} than in other runs")
    assert first is not None
    return first


def _column(name: str, run: RunFiles) -> GroupTable:
    files = [path for path in run.folder.prediction_files() if path.suffix != ".bin"]
    if not files:
        raise BadGroups(
            f"{name!r} is neither a file nor a column: the runs wrote no file of predictions",
            hint="give a file of groups, or make runs with --predictions FILE",
        )
    table = _read(files[0])
    if name not in table.columns:
        columns = ", ".join(table.columns)
        raise BadGroups(f"{files[0].name} has no column {name!r}, nor is it a file", hint=f"its columns: {columns}")
    return GroupTable(files[0].name.removeprefix(PREDICTIONS), {name: table.columns[name]}, table.ids)


def _positive(evaluation: Evaluation, wanted: str) -> int | None:
    predicted = evaluation.predictions
    assert predicted is not None
    assert predicted.labels is not None
    assert predicted.targets is not None
    labels: list[int] = np.union1d(predicted.labels, predicted.targets).tolist()
    known = {class_name(predicted, label): label for label in labels}
    if wanted and wanted not in known:
        raise BadGroups(f"there is no class {wanted!r} to count as positive", hint=f"the classes: {', '.join(known)}")
    if wanted:
        return known[wanted]
    return max(known.values()) if len(known) == 2 else None


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
    #: Its examples of the class that counts as positive; None where there is none.
    positives: int | None = None

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
    are_positive = targets == positive
    return GroupFacts(
        sources={each.source: each.by for each in evaluation.groups},
        positive=None if positive is None else class_name(predicted, positive),
        overall=_group("", ALL, measured[0].overall, None, are_positive),
        groups=[
            _group(grouping.name, name, subset, churn.mean, are_positive & (grouping.members == member))
            for grouping, rates, changes in zip(groupings, measured, churns, strict=True)
            for member, name, subset, churn in zip(
                np.unique(grouping.members), grouping.groups, rates.subsets, changes, strict=True
            )
        ],
    )


def _group(
    column: str, name: str, subset: Subset, churn: Estimate | None, positives: NDArray[np.bool_]
) -> GroupStability:
    rates = {name: _rate(rate) for name, rate in subset.rates.items()}
    known = int(positives.sum()) if "recall" in rates else None
    return GroupStability(column=column, name=name, examples=subset.examples, rates=rates, churn=churn, positives=known)


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
