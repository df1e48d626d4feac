"""Match the examples of evaluation passes between runs, by proof: what cannot be matched is withheld."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.observe.predictions import Array, EvaluationPass

Match = Literal["index", "digest", "position"]

#: Share of the examples of a run that all runs must have evaluated.
COMMON = 0.9

#: Examples with equal targets in all runs that make it certain that their order is the same, where there are classes.
CERTAIN = 20

#: Targets that count on beyond so many are no classes.
MOST_CLASSES_IN_TURN = 16


@dataclass(frozen=True)
class Predictions:
    """What several runs predicted for the same examples.

    Attributes
    ----------
    runs : tuple of str
    by : str
        What matched the examples: their ``index`` in the data set, a ``digest`` of their inputs, or the ``position`` in
        the order of evaluation, where the targets are the same in all runs.
    targets : ndarray, shape (n_examples,), or None
        None where a file of the program's has none.
    labels : ndarray of int, shape (n_runs, n_examples), or None
        Predicted classes; None for a regression.
    values : ndarray of float, shape (n_runs, n_examples), or None
        Predicted values; None for classes.
    top : ndarray of float, shape (n_runs, n_examples), or None
        Probability of the label.
    scores : ndarray of float, shape (n_runs, n_examples, n_classes), or None
    keys : ndarray, shape (n_examples,)
        The index, the digest or the position of each example.
    classes : tuple of str or None
        Names, where labels are numbers of names.
    left_out : int
        Examples of the run with most that not all runs evaluated.
    has_ids : bool
        Digests are of ids in a file that the program writes, not of inputs.
    places : ndarray of int, shape (n_examples,), or None
        Where each example comes in the order of evaluation of the first run.
    in_one_order : bool
        All runs evaluated exactly these examples, in one order.
    features : tuple of ndarray, shape (n_some, n_features of the run), or None
        What entered the last linear layer of each run, of the same examples; None where a run kept none.
    inputs : dict of int to ndarray of uint8, shape (height, width, channels), or of str, without dimensions
        By key, inputs that the model of a run was least certain of; of several runs, as the first one got it.
    """

    runs: tuple[str, ...]
    by: Match
    targets: Array | None
    labels: Array | None
    values: Array | None
    top: Array | None
    scores: Array | None
    keys: Array
    classes: tuple[str, ...] | None
    left_out: int = 0
    has_ids: bool = False
    places: Array | None = None
    in_one_order: bool = False
    features: tuple[Array, ...] | None = None
    inputs: Mapping[int, Array] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class EveryPass:
    """What several runs predicted for the same examples in every evaluation pass.

    Attributes
    ----------
    predictions : Predictions
        Its labels have shape ``(n_runs, n_examples, n_passes)``.
    iterations : tuple of int
        Iteration of the main loop of each pass, in the first run.
    left_out : int
        Passes of the run with most that not all runs made.
    """

    predictions: Predictions
    iterations: tuple[int, ...]
    left_out: int


@dataclass(frozen=True)
class Withheld:
    """Why predictions of runs are not compared."""

    reason: str


def match_passes(runs: Sequence[str], passes: Sequence[EvaluationPass]) -> Predictions | Withheld:
    """Match the examples of one pass of each run.

    `passes`: one of each run, in the same order; at least one.
    """
    passes = with_common_classes(passes)
    kinds = {"label" if "label" in each.columns else "value" for each in passes}
    if len(kinds) > 1:
        return Withheld("some runs predicted classes and others values")
    by, keys = _keys(passes)
    common = keys[0]
    for other in keys[1:]:
        common = np.intersect1d(common, other)
    most = max(len(each) for each in keys)
    if len(common) < COMMON * most:
        return Withheld(f"the runs evaluated other examples: {len(common)} of {most} are common to all")
    orders = [places_of(common, each) for each in keys]
    if by == "position" and any("target" not in each.columns for each in passes):
        return Withheld("without targets or ids nothing shows that the rows are of the same examples")
    if by == "position" and len(common) < CERTAIN:
        return Withheld(f"with {len(common)} examples equal targets do not show that the runs evaluated the same")

    def column(name: str) -> Array | None:
        if any(name not in each.columns for each in passes):
            return None
        return np.stack([each.columns[name][order] for each, order in zip(passes, orders, strict=True)])

    targets = column("target")
    if by == "position" and targets is not None and _counts_rows(targets[0]):
        return Withheld("the targets number the rows of a batch, and do not show that the runs evaluated the same")
    if targets is not None and not (targets == targets[:1]).all():
        return Withheld(f"the runs {_OTHERS if by == 'position' else _OTHER_TARGETS}")
    classes = passes[0].header.classes
    return Predictions(
        runs=tuple(runs), by=by, targets=None if targets is None else targets[0],
        labels=column("label"), values=column("value"),
        top=column("score"), scores=column("scores"), keys=common,
        classes=tuple(classes) if classes else None, left_out=most - len(common),
        has_ids=all(each.is_file for each in passes), places=orders[0],
        in_one_order=len(common) == most and all((order == orders[0]).all() for order in orders),
        features=None if by == "position" else _features(passes, keys), inputs=_inputs(passes, keys),
    )  # fmt: skip


def _counts_rows(targets: Array) -> bool:
    """Whether targets are places in a batch, as in contrastive training: 0, 1, 2, … and from 0 again.

    A data set may list its classes in turn too, of which there are few.
    """
    in_turn = (np.diff(targets) == 1) | (targets[1:] == 0)
    return targets[0] == 0 and targets.max() >= MOST_CLASSES_IN_TURN and bool(in_turn.all())


def match_every(runs: Sequence[str], passes: Sequence[EvaluationPass]) -> EveryPass | Withheld:
    """Match the examples of every pass of each run, see `match_passes`, in those passes that all runs made."""
    numbers = sorted(set.intersection(*(set(each.numbers) for each in passes)))
    cut = [
        dataclasses.replace(
            each, columns={**each.columns, "label": each.columns["label"][:, places_of(numbers, each.numbers)]}
        )
        for each in passes
    ]
    matched = match_passes(runs, cut)
    if isinstance(matched, Withheld):
        return matched
    iterations = dict(zip(passes[0].numbers, passes[0].iterations, strict=True))
    most = max(len(each.numbers) for each in passes)
    return EveryPass(matched, tuple(iterations[number] for number in numbers), most - len(numbers))


def _inputs(passes: Sequence[EvaluationPass], keys: Sequence[Array]) -> dict[int, Array]:
    """Return the inputs that runs kept by their keys, those of the first run before those of the others."""
    kept = [
        dict(zip(key[each.input_rows].tolist(), map(np.asarray, each.inputs), strict=True))
        for each, key in zip(passes, keys, strict=True)
        if each.inputs is not None and each.input_rows is not None
    ]
    return functools.reduce(lambda first, other: other | first, kept, {})


def _features(passes: Sequence[EvaluationPass], keys: Sequence[Array]) -> tuple[Array, ...] | None:
    """Return the features of the examples of which all runs kept some."""
    known = [(each.features, key[each.feature_rows]) for each, key in zip(passes, keys, strict=True)
             if each.features is not None and each.feature_rows is not None]  # fmt: skip
    if len(known) < len(passes):
        return None
    common = functools.reduce(np.intersect1d, (own for _, own in known))
    return tuple(features[places_of(own, common)] for features, own in known)


def match_sides(a: Predictions, b: Predictions) -> tuple[Predictions, Predictions] | Withheld:
    """Return what the runs of two sides predicted for the examples that both evaluated, in one order."""
    if (a.labels is None) != (b.labels is None):
        return Withheld("one predicted classes and the other values")
    if a.by != b.by:
        return Withheld(f"examples are known {_KNOWN[a.by]} in one and {_KNOWN[b.by]} in the other")
    if a.classes != b.classes:
        return Withheld("the names of classes differ")
    common = np.intersect1d(a.keys, b.keys)
    most = max(len(a.keys), len(b.keys))
    if len(common) < COMMON * most or len(common) < CERTAIN:
        return Withheld(f"the sides evaluated other examples: {len(common)} of {most} are common")
    a, b = (_chosen(side, places_of(common, side.keys), most) for side in (a, b))
    if a.targets is not None and b.targets is not None and not (a.targets == b.targets).all():
        return Withheld(f"the sides {_OTHERS if a.by == 'position' else _OTHER_TARGETS}")
    return a, b


#: Why targets differ where places stand for examples, and where it is known which example each is of.
_OTHERS = "evaluated other examples, or the same in another order"
_OTHER_TARGETS = "have other targets for the same examples"

#: What examples are known by.
_KNOWN: dict[Match, str] = {"index": "by number", "digest": "by input", "position": "by position"}


def _chosen(side: Predictions, places: Array, most: int) -> Predictions:
    def column(values: Array | None) -> Array | None:
        return None if values is None else values[:, places]

    return dataclasses.replace(
        side,
        labels=column(side.labels),
        values=column(side.values),
        top=column(side.top),
        scores=column(side.scores),
        targets=None if side.targets is None else side.targets[places],
        keys=side.keys[places],
        left_out=most - len(places),
        places=None,
        in_one_order=False,
    )


def _keys(passes: Sequence[EvaluationPass]) -> tuple[Match, list[Array]]:
    """Return what identifies the examples of all passes, each example once, in the order of evaluation."""
    if all("index" in each.columns for each in passes):
        keys = [each.columns["index"] for each in passes]
        if all(len(np.unique(each)) == len(each) for each in keys):
            return "index", keys
    if all("digest" in each.columns for each in passes):
        keys = [_distinct(each.columns["digest"]) for each in passes]
        common = np.intersect1d(keys[0], keys[-1])
        if len(common) >= COMMON * max(len(each) for each in keys):
            return "digest", keys
    return "position", [np.arange(each.header.rows) for each in passes]


def _distinct(digests: Array) -> Array:
    """Return digests with the second of two equal ones, which have equal inputs, made another, and so on."""
    order = np.argsort(digests, kind="stable")
    ordered = digests[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    nth = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.r_[starts, len(ordered)]))
    distinct = np.empty_like(digests)
    distinct[order] = ordered + nth.astype(digests.dtype)
    return distinct


def places_of(wanted: ArrayLike, keys: ArrayLike) -> Array:
    """Return where each of the wanted keys is among all keys, which hold it once."""
    order = np.argsort(keys, kind="stable")
    places: Array = order[np.searchsorted(keys, wanted, sorter=order)]
    return places


def with_common_classes(passes: Sequence[EvaluationPass]) -> list[EvaluationPass]:
    """Return passes whose numbers of classes stand for the same names; numbers without names stay as they are."""
    if not all(each.header.classes for each in passes):
        return list(passes)
    names = sorted({name for each in passes for name in each.header.classes or ()})
    return [_renumbered(each, names) for each in passes]


def _renumbered(each: EvaluationPass, names: list[str]) -> EvaluationPass:
    table = np.searchsorted(names, each.header.classes or [])
    columns: dict[str, Array] = {
        name: table[each.columns[name]] for name in ("label", "target") if name in each.columns
    }
    header = msgspec.structs.replace(each.header, classes=names)
    return dataclasses.replace(each, header=header, columns={**each.columns, **columns})
