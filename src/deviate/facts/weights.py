"""The weights that the completed runs of each variant ended with, and those that were kept on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from deviate.core.errors import BadOption
from deviate.observe.predictions import Array
from deviate.observe.records import RunFiles
from deviate.observe.weights import Moment, NoCheckpointError, read_weights
from deviate.store.integrity import DamagedError

if TYPE_CHECKING:
    import pandas as pd

#: Characters of a digest: equal ones mean equal numbers, as far as anybody can find others.
DIGITS = 32


class RunWeights(msgspec.Struct, frozen=True, kw_only=True):
    """The weights of one run, or why there are none."""

    #: By name; maps of the file, so that nothing is read before it is needed.
    layers: dict[str, Array] = {}
    #: The same after iterations of the main loop, or in each file that the run wrote.
    moments: dict[Moment, dict[str, Array]] = {}
    #: Empty where they could be read.
    reason: str = ""


def weights_by_variant(runs: Iterable[RunFiles]) -> dict[str, dict[str, RunWeights]]:
    """Return the weights by variant and run, of the runs that kept some."""
    kept: dict[str, dict[str, RunWeights]] = {}
    for run in runs:
        if run.completed and run.folder.weight_files():
            kept.setdefault(run.variant, {})[run.name] = _read(run)
    return kept


def _read(run: RunFiles) -> RunWeights:
    try:
        weights = read_weights(run)
    except (DamagedError, NoCheckpointError) as error:
        return RunWeights(reason=str(error))
    return RunWeights(layers=weights.final, moments=weights.moments)


def weights_table(variants: Mapping[str, Mapping[str, RunWeights]]) -> pd.DataFrame:
    """Return what is known of every tensor that runs kept, one row per run, moment and tensor.

    Every number is read, for the digests. Columns ``variant``, ``run``, ``iteration`` and ``file`` (both missing for
    the final weights), ``tensor``, ``shape``, ``dtype`` and ``digest``.
    """
    import pandas as pd

    rows = [
        (
            variant,
            run_index(name),
            after if isinstance(after, int) else None,
            after if isinstance(after, str) else None,
            tensor,
            array.shape,
            str(array.dtype),
            hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:DIGITS],
        )
        for variant, runs in variants.items()
        for name, kept in runs.items()
        for after, layers in _moments(kept)
        for tensor, array in layers.items()
    ]
    names = ["variant", "run", "iteration", "file", "tensor", "shape", "dtype", "digest"]
    return pd.DataFrame(rows, columns=names).astype({"iteration": "Int64"})


def run_index(name: str) -> int:
    """Return the number of a run among those of its variant, of its name.

    Examples
    --------
    >>> run_index("algo+impl-3")
    3
    """
    return int(name.rpartition("-")[2])


def _moments(kept: RunWeights) -> Iterator[tuple[Moment | None, dict[str, Array]]]:
    """Yield what was kept on the way, in the order of time, then the final weights."""
    yield from kept.moments.items()
    yield None, kept.layers


def weights_of(runs: Mapping[str, RunWeights], run: int, after: Moment | None = None) -> dict[str, Array]:
    """Return the weights of one of the runs of a variant, after an iteration or in a file, by default the final ones.

    Raises BadOption with what was kept, where it is not what is asked for.
    """
    by_index = {run_index(name): kept for name, kept in runs.items()}
    if run not in by_index:
        known = ", ".join(map(str, sorted(by_index)))
        raise BadOption(f"no weights of run {run} were kept", hint=f"runs with weights: {known or 'none'}")
    kept = by_index[run]
    if kept.reason:
        raise BadOption(f"the weights of run {run} cannot be read: {kept.reason}", hint="repeat the run")
    moments = dict(_moments(kept))
    if after not in moments:
        known = ", ".join(map(str, kept.moments))
        raise BadOption(
            f"run {run} kept no weights after {after}",
            hint=f"kept are the final weights and those after: {known or 'none'}",
        )
    return moments[after]


def mean_weights_of(
    runs: Mapping[str, RunWeights], chosen: Sequence[int] | None = None, after: Moment | None = None
) -> dict[str, Array]:
    """Return the mean of the weights of some runs of a variant, by default of all that kept any.

    Each array has the type of that of the first run; sums are in 64 bits.

    Raises BadOption if fewer than two runs are there, or their tensors have other names or shapes.
    """
    numbers = sorted(run_index(name) for name in runs) if chosen is None else list(dict.fromkeys(chosen))
    if len(numbers) < 2:
        raise BadOption(f"a mean of weights needs two runs; there are {len(numbers)}", hint="add runs with deviate run")
    first, *others = (weights_of(runs, number, after) for number in numbers)
    shapes = [{name: array.shape for name, array in each.items()} for each in (first, *others)]
    for number, shape in zip(numbers, shapes, strict=True):
        if shape != shapes[0]:
            raise BadOption(
                f"the weights of run {number} have other names or shapes than those of run {numbers[0]}",
                hint="choose runs of one model",
            )
    return {
        name: (sum((each[name].astype(np.float64) for each in others), array.astype(np.float64)) / len(numbers)).astype(
            array.dtype
        )
        for name, array in first.items()
    }
