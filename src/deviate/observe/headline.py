"""Which metric a reader asks for first, and in which order the others follow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from deviate.core.experiment import Direction, Kind
from deviate.lexicon.words import words_of

#: What a reader wants to know first: how good the model is, on data it was not trained on.
_KINDS = {"quality": 0, "loss": 1, "resource": 3, "speed": 4}
_UNFORESEEN = 2
_SPLITS = (
    r"(?<![a-z])te?st",
    r"(?<![a-z])(val(?!u|en|h)|eval|dev(?![a-z])|held)",
    r"",
    r"(?<![a-z])tr(ai)?n",
)

#: What is a part of a result: an item of a list, the second number under one name, a spread.
_PART = re.compile(r"\[(-?\d+|items)\]$| \(\d+\)$|±$|(?<![a-z])std(dev)?(?![a-z])", re.IGNORECASE)
#: What an agent is trained for.
_RETURN = re.compile(r"(?<![a-z])(rew(ard)?s?|returns?|ep_?ret)(?![a-z])", re.IGNORECASE)
_EXPLAINED = re.compile(r"explained[ _-]?var", re.IGNORECASE)
#: Words of a loss that is no part of another.
_WHOLE = {
    "all", "average", "avg", "batch", "best", "cost", "dev", "epoch", "eval", "evaluate", "evaluation", "final", "iter",
    "last", "loss", "losses", "mean", "min", "objective", "overall", "running", "step", "test", "testing", "total",
    "train", "training", "val", "valid", "validation",
}  # fmt: skip

_EVALUATION = re.compile(r"eval\w*(-\d+)?: ", re.IGNORECASE)


class Named(Protocol):
    """A metric, whether it was measured already or not."""

    @property
    def name(self) -> str:
        """As the program or the user calls it."""

    @property
    def kind(self) -> Kind:
        """What it is a measure of."""

    @property
    def direction(self) -> Direction | None:
        """Which values are better; None: not known."""


Metric = TypeVar("Metric", bound=Named)


def group(kind: Kind, direction: Direction | None) -> int:
    """Rank a kind of metric: quality, loss, what was not foreseen, resource, time.

    >>> group("quality", "higher"), group("loss", "lower"), group("quality", None), group("speed", "lower")
    (0, 1, 2, 4)
    """
    return _KINDS[kind] if direction else max(_KINDS[kind], _UNFORESEEN)


def split(name: str) -> int:
    """Rank the data that a metric is of: test, validation, not named, training.

    >>> split("test acc"), split("val_loss"), split("f1"), split("train acc")
    (0, 1, 2, 3)

    What a script of evaluation is called says nothing of the data.

    >>> split("evaluate-2: f1"), split("evaluate: test f1")
    (2, 0)
    """
    name = name[match.end() :] if (match := _EVALUATION.match(name)) else name
    ranks = (rank for rank, pattern in enumerate(_SPLITS) if pattern and re.search(pattern, name, re.IGNORECASE))
    return next(ranks, _SPLITS.index(""))


def ranks(metrics: Iterable[Named]) -> Callable[[Named], tuple[int, int, int, bool]]:
    """Return what ranks each of the metrics among the others.

    First is what the user chose, then what authors watch: a whole result whose better values are known, of test data,
    then of validation, then of training; quality before loss. A component is behind the loss that it is a part of, an
    explained variance behind the reward of an episode, what is of a step behind the same of an epoch; items of lists
    and spreads are behind all other results.

    >>> from collections import namedtuple
    >>> metric = namedtuple("metric", "name kind direction")
    >>> loss, part = metric("train loss", "loss", "lower"), metric("train dice_loss", "loss", "lower")
    >>> valid, items = metric("val loss", "loss", "lower"), metric("acc [3]", "quality", "higher")
    >>> [each.name for each in sorted([items, part, loss, valid], key=ranks([items, part, loss, valid]))]
    ['val loss', 'train loss', 'train dice_loss', 'acc [3]']
    >>> several = [metric(f"test_acc_{each}", "quality", "higher") for each in ("step", "epoch")]
    >>> main_metric(several).name
    'test_acc_epoch'
    """
    every = list(metrics)
    names = {metric.name for metric in every}
    is_rewarded = any(_RETURN.search(metric.name) for metric in every)
    summed = {split(metric.name) for metric in every if metric.kind == "loss" and _is_whole(metric.name)}

    def rank(metric: Named) -> tuple[int, int, int, bool]:
        splits = {split(metric.name), split(f"{metric.name} train")}  # what names no data may be of the training
        is_component = metric.kind == "loss" and not _is_whole(metric.name) and not summed.isdisjoint(splits)
        is_of_epoch = metric.name.endswith("_step") and f"{metric.name.removesuffix('_step')}_epoch" in names
        is_explained = is_rewarded and _EXPLAINED.search(metric.name) is not None
        if getattr(metric, "main", False):
            return -1, 0, 0, False
        is_beside = is_component or is_explained or is_of_epoch
        kind = group(metric.kind, metric.direction)
        return _tier(metric, kind, is_beside=is_beside), split(metric.name), kind, not _RETURN.search(metric.name)

    return rank


def _tier(metric: Named, kind: int, *, is_beside: bool) -> int:
    if kind > _UNFORESEEN:
        return 2 + kind
    if _PART.search(metric.name):
        return 3
    return 2 if kind == _UNFORESEEN else int(is_beside)


def _is_whole(name: str) -> bool:
    """Whether a loss has a name without what it is made of: ``train/loss``, ``total loss``."""
    return _WHOLE.issuperset(words_of(name.rpartition("/")[2]))


def main_metric(metrics: Iterable[Metric]) -> Metric:
    """Choose the metric a reader asks for first, see `ranks`."""
    every = list(metrics)
    return min(every, key=ranks(every))


def runner_up(metrics: Iterable[Metric]) -> Metric | None:
    """Return the metric that might as well be the main one: as good a measure, of other data than those trained on.

    None where there is none, or the user chose.

    >>> from collections import namedtuple
    >>> metric = namedtuple("metric", "name kind direction")
    >>> known = [metric(f"{data} acc", "quality", "higher") for data in ("train", "val", "test")]
    >>> runner_up(known).name, runner_up([known[0], known[2]])
    ('val acc', None)
    """
    every = list(metrics)
    first = main_metric(every) if every else None
    # The same words in other letters are the same number, reported twice.
    others = [each for each in every if first and words_of(each.name.lower()) != words_of(first.name.lower())]
    if first is None or not others:
        return None
    other, rank = main_metric(others), ranks(every)
    (tier, _, kind, _), (other_tier, other_split, other_kind, _) = rank(first), rank(other)
    near = (tier, kind) == (other_tier, other_kind) and tier >= 0 and kind < _UNFORESEEN
    return other if near and other_split < len(_SPLITS) - 1 else None


def equals(metrics: Iterable[Metric], *, in_order: bool) -> list[Metric]:
    """Return the metrics that nothing tells from the main one, itself included.

    Parameters
    ----------
    metrics : iterable
        All that a reader may ask for.
    in_order : bool
        The order is that in which a program reports them: of metrics whose better values are known the first is the
        main one. Columns of a table have no such order, and neither have numbers without a direction.

    Examples
    --------
    >>> from collections import namedtuple
    >>> metric = namedtuple("metric", "name kind direction")
    >>> known = [metric("acc", "quality", "higher"), metric("f1", "quality", "higher"), metric("loss", "loss", "lower")]
    >>> [[each.name for each in equals(known, in_order=is_ordered)] for is_ordered in (True, False)]
    [['acc'], ['acc', 'f1']]
    """
    every = list(metrics)
    rank = ranks(every)
    first = min(map(rank, every))
    alike = [metric for metric in every if rank(metric) == first]
    tells_nothing = first[0] > _UNFORESEEN + 1
    return alike[:1] if tells_nothing or (in_order and first[0] < _UNFORESEEN) else alike


def by_kind(metrics: Sequence[Metric]) -> list[Metric]:
    """Return all metrics, the main one first, then qualities before losses before costs.

    >>> from collections import namedtuple
    >>> metric = namedtuple("metric", "name kind direction")
    >>> losses = [metric(f"{part} loss", "loss", "lower") for part in ("train", "test")]
    >>> qualities = [metric(f"{part} acc", "quality", "higher") for part in ("train", "test")]
    >>> [each.name for each in by_kind([*losses, *qualities])]
    ['test acc', 'train acc', 'test loss', 'train loss']
    """
    first = main_metric(metrics) if metrics else None
    return sorted(metrics, key=lambda each: (each is not first, group(each.kind, each.direction), split(each.name)))


def main_first(metrics: Sequence[Metric]) -> list[Metric]:
    """Return all metrics, those that a reader asks for first before the others."""
    return sorted(metrics, key=ranks(metrics))
