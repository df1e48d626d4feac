"""The facts about weights: how far those of different runs lie apart, at the end and on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from deviate.collect.predictions import Array
from deviate.collect.weights import Moment
from deviate.inference.stability import ONE_RUN
from deviate.measure.jackknife import Estimate
from deviate.measure.weights import weight_distances
from deviate.results.weights import RunWeights

#: Layers that are measured one by one; of more, the first ones.
LAYERS = 500


class LayerDistance(msgspec.Struct, frozen=True, kw_only=True):
    """How far the weights of one layer lie apart."""

    name: str
    elements: int
    distance: Estimate


class MomentDistance(msgspec.Struct, frozen=True, kw_only=True):
    """How far the weights of runs lie apart after an iteration, or in a file that each of them wrote."""

    #: None for a file.
    iteration: int | None
    #: Its path; empty for an iteration.
    file: str
    #: Whether all runs have the same numbers.
    equal: bool
    distance: Estimate

    @property
    def name(self) -> str:
        """What a reader knows it by."""
        return self.file or f"iteration {self.iteration}"


class WeightFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How far the final weights of the runs of a variant lie apart, each brought to length 1."""

    variant: str
    runs: list[str]
    #: Numbers in the weights of a run.
    elements: int = 0
    #: Of all weights as one vector, in [0, 2]; None where nothing is measured.
    distance: Estimate | None = None
    layers: list[LayerDistance] = []
    #: By pair of runs.
    matrix: list[list[float]] = []
    #: Why nothing is measured; empty where something is.
    withheld: str = ""
    #: What was kept on the way by all runs, in the order of time.
    moments: list[MomentDistance] = []


def weight_facts(variant: str, weights: Mapping[str, RunWeights], level: float) -> WeightFacts:
    """Infer how far final weights lie apart, at a confidence level in (0, 1)."""
    readable = {name: run.layers for name, run in weights.items() if not run.reason}
    facts = WeightFacts(variant=variant, runs=list(readable))
    if len(readable) < 2:
        damaged = "; ".join(run.reason for run in weights.values() if run.reason)
        return msgspec.structs.replace(facts, withheld=damaged or ONE_RUN)
    facts = msgspec.structs.replace(facts, moments=_moments([run for run in weights.values() if not run.reason], level))
    first = next(iter(readable.values()))
    if withheld := _incomparable(list(readable.values())):
        return msgspec.structs.replace(facts, withheld=withheld)
    measured = weight_distances(list(readable.values()), level)
    return msgspec.structs.replace(
        facts,
        elements=sum(array.size for array in first.values()),
        distance=measured.whole.mean,
        layers=[
            LayerDistance(name=name, elements=first[name].size, distance=layer.mean)
            for name, layer in list(measured.layers.items())[:LAYERS]
        ],
        matrix=measured.whole.matrix.tolist(),
    )


def _incomparable(runs: Sequence[Mapping[str, Array]]) -> str:
    """Return why the weights of runs cannot be compared; empty where they can."""
    if not runs[0]:
        return "the runs kept no final weights"
    shapes = {name: array.shape for name, array in runs[0].items()}
    if any({name: array.shape for name, array in run.items()} != shapes for run in runs):
        return "the runs have other layers, or layers of other shapes"
    if not all(np.isfinite(array).all() for run in runs for array in run.values()):
        return "some weights are infinite or no numbers"
    return ""


def _moments(runs: Sequence[RunWeights], level: float) -> list[MomentDistance]:
    """Measure what all runs kept on the way."""
    found = []
    for moment in runs[0].moments:
        layers = [run.moments[moment] for run in runs if moment in run.moments]
        if len(layers) == len(runs) and not _incomparable(layers):
            found.append(_moment(moment, layers, level))
    return found


def _moment(moment: Moment, runs: Sequence[Mapping[str, Array]], level: float) -> MomentDistance:
    first, *others = runs
    return MomentDistance(
        iteration=moment if isinstance(moment, int) else None,
        file="" if isinstance(moment, int) else moment,
        equal=all(np.array_equal(array, other[name]) for other in others for name, array in first.items()),
        distance=weight_distances(runs, level).whole.mean,
    )
