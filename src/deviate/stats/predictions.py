"""What several runs predicted on the same test examples, as checked arrays, and when they learn and forget each."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from deviate.stats.spread import Floats, Spread, spread

Integers = NDArray[np.integer[Any]]
Booleans = NDArray[np.bool_]

#: Labels that lie within fewer numbers are looked up in a table, others searched for.
LARGEST_TABLE = 2**20


class Coded(msgspec.Struct, frozen=True, kw_only=True):
    """Labels and targets as positions in the ascending list of all classes, in the smallest type that holds them."""

    #: All labels that a run predicted or that are a target, ascending, shape ``(n_classes,)``.
    classes: Any
    #: Positions in `classes`, shape ``(n_runs, n_examples)``.
    labels: Any
    #: Positions in `classes`, shape ``(n_examples,)``; None without targets.
    targets: Any = None


def coded(labels: ArrayLike, targets: ArrayLike | None = None) -> Coded:
    """Replace labels and targets by their positions in the ascending list of all classes.

    Examples
    --------
    >>> numbered = coded([[7, -1], [7, 30]], targets=[7, 9])
    >>> numbered.classes.tolist(), numbered.labels.tolist(), numbered.targets.tolist()
    ([-1, 7, 9, 30], [[1, 0], [1, 3]], [1, 2])
    """
    rows = checked_labels(labels)
    right = None if targets is None else checked_targets(targets, rows.shape[1])
    arrays = [*rows, *([] if right is None else [right])]
    low, high = min(int(array.min()) for array in arrays), max(int(array.max()) for array in arrays)
    classes, codes = _by_table(arrays, low, high) if high - low < LARGEST_TABLE else _by_search(arrays)
    return Coded(classes=classes, labels=codes[: len(rows)], targets=None if right is None else codes[-1])


def _by_table(arrays: list[Integers], low: int, high: int) -> tuple[Integers, Integers]:
    present = np.zeros(high - low + 1, bool)
    offsets = [array.astype(np.int64) - low for array in arrays]
    for offset in offsets:
        present[offset] = True
    classes = np.flatnonzero(present)
    table = (np.cumsum(present) - 1).astype(np.min_scalar_type(classes.size))
    return classes + low, np.stack([table[offset] for offset in offsets])


def _by_search(arrays: list[Integers]) -> tuple[Integers, Integers]:
    classes = np.unique(np.concatenate([np.unique(array) for array in arrays]))
    kind = np.min_scalar_type(classes.size)
    return classes, np.stack([np.searchsorted(classes, array).astype(kind) for array in arrays])


def correctness(labels: ArrayLike, targets: ArrayLike) -> Booleans:
    """Tell where each run is right, as an array of bool of shape ``(n_runs, n_examples)``.

    Examples
    --------
    >>> correctness([[0, 1], [1, 1]], [0, 1]).tolist()
    [[True, True], [False, True]]
    """
    rows = checked_labels(labels)
    return np.asarray(rows == checked_targets(targets, rows.shape[1]))


def checked_labels(labels: ArrayLike) -> Integers:
    """Return `labels` as an array of integers of shape ``(n_runs, n_examples)``; ValueError for others."""
    rows = _integers(labels, "labels")
    if rows.ndim != 2:
        raise ValueError(f"labels have shape (n_runs, n_examples); these have shape {rows.shape}")
    if 0 in rows.shape:
        raise ValueError(f"labels are of 1 run and 1 example at least; these have shape {rows.shape}")
    return rows


def checked_targets(targets: ArrayLike, examples: int, name: str = "targets") -> Integers:
    """Return `targets`, or groups, as an array of integers of shape ``(n_examples,)``; ValueError for others."""
    values = _integers(targets, name)
    if values.shape != (examples,):
        raise ValueError(f"{name} have shape (n_examples,), here ({examples},); these have shape {values.shape}")
    return values


def checked_values(values: ArrayLike) -> Floats:
    """Return `values` as an array of finite float64 of shape ``(n_runs, n_examples)``; ValueError for others."""
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"values have shape (n_runs, n_examples), both 1 or more; these have shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError("values hold NaN or infinite values; exclude these runs or examples and count them first")
    return rows


def _integers(values: ArrayLike, name: str) -> Integers:
    array = np.asarray(values)
    if array.dtype.kind not in "iub" and array.size:
        raise ValueError(f"{name} are integers; these are {array.dtype}, which may hold NaN: number the classes first")
    # Beside signed ones, NumPy would turn unsigned 64-bit integers into floats.
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{name} are integers up to 2**63 - 1")
    return array if array.dtype.kind == "i" else array.astype(np.int64)


# When runs learn each example, how often they forget it again, and how far they agree in that.


class Forgetting(msgspec.Struct, frozen=True, kw_only=True):
    """What one run learnt and forgot; all arrays have shape ``(n_examples,)``."""

    #: Evaluation passes.
    passes: int
    #: Passes after which an example that was right is wrong in the next one: 0 to ``passes // 2``.
    events: Any
    #: First pass in which the example is right, from 0; equal to `passes` where there is none.
    first_learnt: Any

    @property
    def learnt(self) -> Any:
        """Whether the example is right in any pass."""
        return self.first_learnt < self.passes

    @property
    def unforgettable(self) -> Any:
        """Whether the example is learnt and never forgotten."""
        return self.learnt & (self.events == 0)


def forgetting(correct: ArrayLike) -> Forgetting:
    """Count the forgetting events of each example in one run, and the pass in which it is first right [1]_.

    A forgetting event is a pass in which the example is right, followed by one in which it is wrong. Toneva et al. look
    when the example is in the batch; here it is at each evaluation pass, so events between two passes are not seen.
    Examples that are never learnt have no event; Toneva et al. count them as forgotten without end.

    Parameters
    ----------
    correct : array_like of bool, shape (n_passes, n_examples)
        Whether the run is right, pass after pass.

    References
    ----------
    .. [1] M. Toneva et al., "An empirical study of example forgetting during deep neural network learning", ICLR 2019.

    Examples
    --------
    >>> run = forgetting([[False, True, False], [True, False, False], [True, True, False]])
    >>> run.events.tolist(), run.first_learnt.tolist(), run.unforgettable.tolist()
    ([0, 1, 0], [1, 0, 3], [True, False, False])
    """
    right = np.asarray(correct)
    if right.ndim != 2 or 0 in right.shape:
        raise ValueError(f"correctness has shape (n_passes, n_examples), both 1 or more; this has shape {right.shape}")
    if right.dtype.kind != "b" and not np.isin(right, (0, 1)).all():
        raise ValueError("correctness is true or false, 1 or 0")
    right = right.astype(bool)
    return Forgetting(
        passes=len(right),
        events=(right[:-1] & ~right[1:]).sum(axis=0),
        first_learnt=np.where(right.any(axis=0), right.argmax(axis=0), len(right)),
    )


class ForgettingSpread(msgspec.Struct, frozen=True, kw_only=True):
    """What several runs learnt and forgot; passes count from 0."""

    #: Events, and the first pass in which the example is right, shape ``(n_runs, n_examples)``.
    events: Any
    first_learnt: Any
    #: By run: mean number of events of an example; shares of examples that are unforgettable, and never learnt.
    mean_events: Spread
    unforgettable: Spread
    never_learnt: Spread
    #: Over examples that every run learns: mean of the first pass in which they are right; root of the mean over them
    #: of the variance between runs; None where there is no such example, or one run.
    mean_first_learnt: float | None
    first_learnt_sd: float | None
    #: Share of examples that every run learns.
    learnt_by_all: float


def forgetting_spread(correct: ArrayLike) -> ForgettingSpread:
    """Measure the forgetting of several runs on the same examples at the same passes; see `forgetting`.

    Parameters
    ----------
    correct : array_like of bool, shape (n_runs, n_passes, n_examples)
        Whether each run is right, pass after pass.

    Examples
    --------
    >>> two = forgetting_spread([[[False, True], [True, False]], [[True, True], [True, True]]])
    >>> two.mean_events.mean, two.unforgettable.mean, two.mean_first_learnt, two.first_learnt_sd
    (0.25, 0.75, 0.25, 0.5)
    """
    runs = [forgetting(each) for each in np.asarray(correct)]
    first = np.stack([run.first_learnt for run in runs])
    learnt = np.stack([run.learnt for run in runs])
    common = first[:, learnt.all(axis=0)]
    known = common.size > 0
    return ForgettingSpread(
        events=np.stack([run.events for run in runs]),
        first_learnt=first,
        mean_events=spread([run.events.mean() for run in runs]),
        unforgettable=spread([run.unforgettable.mean() for run in runs]),
        never_learnt=spread([1 - run.learnt.mean() for run in runs]),
        mean_first_learnt=float(common.mean()) if known else None,
        first_learnt_sd=float(np.sqrt(common.var(axis=0, ddof=1).mean())) if known and len(runs) > 1 else None,
        learnt_by_all=common.shape[1] / first.shape[1],
    )
