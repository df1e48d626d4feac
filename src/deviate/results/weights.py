"""The weights that the completed runs of each variant ended with, and those that were kept on the way."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from deviate.collect.checkpoints import NoCheckpointError
from deviate.collect.integrity import DamagedError
from deviate.collect.predictions import Array
from deviate.collect.runs import RunFiles
from deviate.collect.weights import Moment, read_weights


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
