"""How far the weights of runs lie apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.measure.intervals import DEFAULT_LEVEL
from deviate.measure.jackknife import Estimate, pair_estimate
from deviate.measure.sample import Floats, unit_scale

#: Unit vectors are at most this far apart.
FARTHEST = 2.0


class WeightDistance(msgspec.Struct, frozen=True, kw_only=True):
    """Distances between runs of the weights of one layer, or of all."""

    #: Mean over all pairs of runs, in [0, 2].
    mean: Estimate
    #: Distance of each pair, shape ``(n_runs, n_runs)``, symmetric with a diagonal of 0; NaN where one has length 0.
    matrix: Any


class WeightDistances(msgspec.Struct, frozen=True, kw_only=True):
    """Distances of all weights as one vector, and of each layer."""

    whole: WeightDistance
    layers: dict[str, WeightDistance]


def weight_distances(runs: Sequence[Mapping[str, ArrayLike]], level: float = DEFAULT_LEVEL) -> WeightDistances:
    """Measure the L2 distance of unit-normalised weights for all pairs of runs, whole and per layer [1]_.

    ``norm(a / norm(a) - b / norm(b))``: 0 for one direction, ``sqrt(2)`` for right angles, 2 for opposite ones. Units
    may be permuted between runs without changing what the network computes; this distance sees that as a difference.

    Parameters
    ----------
    runs : sequence of mapping from str to array_like of float
        For each run its weights by layer; all runs have the same layers, each of one shape.

    References
    ----------
    .. [1] D. Zhuang, X. Zhang, S. L. Song and S. Hooker, "Randomness in neural network training: characterizing the
       impact of tooling", MLSys 2022.

    Examples
    --------
    >>> measured = weight_distances([{"a": [3.0, 0.0], "b": [4.0]}, {"a": [0.0, 3.0], "b": [4.0]}])
    >>> round(measured.whole.mean.value, 4), measured.layers["b"].mean.value
    (0.8485, 0.0)
    """
    if not runs or not runs[0]:
        raise ValueError("distances of weights need 1 run and 1 layer at least")
    layers = {name: _flat(name, [_layer(run, name) for run in runs]) for name in runs[0]}
    extra = {name for run in runs for name in run} - set(layers)
    if extra:
        raise ValueError(f"runs have different layers: {', '.join(sorted(extra))}")
    return WeightDistances(
        whole=_distance(list(layers.values()), level),
        layers={name: _distance([weights], level) for name, weights in layers.items()},
    )


def _layer(run: Mapping[str, ArrayLike], name: str) -> ArrayLike:
    if name not in run:
        raise ValueError(f"runs have different layers: {name}")
    return run[name]


def _flat(name: str, weights: Sequence[ArrayLike]) -> Floats:
    arrays = [np.asarray(array, dtype=np.float64) for array in weights]
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1:
        raise ValueError(f"layer {name!r} has different shapes: {', '.join(map(str, sorted(shapes)))}")
    flat = np.stack([array.ravel() for array in arrays])
    if not np.isfinite(flat).all():
        raise ValueError(f"layer {name!r} holds NaN or infinite weights; exclude and count these runs first")
    return flat


def _distance(layers: list[Floats], level: float) -> WeightDistance:
    # One scale for all: no square overflows, and no norm of tiny weights vanishes.
    exponent = max(unit_scale(weights)[1] for weights in layers)
    layers = [np.ldexp(weights, -exponent) for weights in layers]
    norms = np.sqrt(sum((weights**2).sum(axis=1) for weights in layers))
    units = [np.divide(w, norms[:, None], out=np.full(w.shape, np.nan), where=norms[:, None] > 0) for w in layers]
    matrix = np.zeros((norms.size, norms.size))
    for r in range(norms.size):
        for s in range(r):
            matrix[r, s] = matrix[s, r] = math.sqrt(sum(float(((unit[r] - unit[s]) ** 2).sum()) for unit in units))
    return WeightDistance(mean=pair_estimate(matrix, level, (0.0, FARTHEST)), matrix=matrix)
