"""The facts about final weights: how far those of different runs lie apart."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

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


def weight_facts(variant: str, weights: Mapping[str, RunWeights], level: float) -> WeightFacts:
    """Infer how far final weights lie apart, at a confidence level in (0, 1)."""
    readable = {name: run.layers for name, run in weights.items() if not run.reason}
    facts = WeightFacts(variant=variant, runs=list(readable))
    if len(readable) < 2:
        damaged = "; ".join(run.reason for run in weights.values() if run.reason)
        return msgspec.structs.replace(facts, withheld=damaged or ONE_RUN)
    first, *others = readable.values()
    shapes = {name: array.shape for name, array in first.items()}
    if any({name: array.shape for name, array in other.items()} != shapes for other in others):
        return msgspec.structs.replace(facts, withheld="the runs have other layers, or layers of other shapes")
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
