"""How far the weights of runs lie apart, and how alike they represent the same examples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.stats.intervals import DEFAULT_LEVEL
from deviate.stats.pairs import Estimate, pair_estimate
from deviate.stats.spread import Floats, unit_scale

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


# How alike two runs represent the same examples.

#: The unbiased estimate divides by ``n - 3``.
FEWEST_EXAMPLES = 4


class Similarity(msgspec.Struct, frozen=True, kw_only=True):
    """Linear CKA of two sets of activations."""

    #: About 0 for unrelated ones, 1 for those equal up to rotation and scale; noise puts it slightly below 0.
    value: float | None
    #: Why it is None; empty where it is known.
    reason: str = ""


def linear_cka(x: ArrayLike, y: ArrayLike) -> Similarity:
    """Measure the similarity of two sets of activations by linear CKA with the unbiased HSIC.

    ``HSIC(K, L) / sqrt(HSIC(K, K) * HSIC(L, L))`` with ``K = X X'``, ``L = Y Y'``, both with a diagonal of 0, and
    ``HSIC = (tr(KL) + 1'K1 1'L1 / ((n-1)(n-2)) - 2 / (n-2) * 1'KL1) / (n (n-3))`` (HSIC_1 of Song et al. [1]_, CKA of
    Kornblith et al. [2]_, unbiased in Nguyen et al. [3]_). The matrices are never made where there are more examples
    than features.

    Parameters
    ----------
    x, y : array_like of float, shape (n_examples, d_x) and (n_examples, d_y)
        Activations of two runs, or of two layers, on the same examples.

    References
    ----------
    .. [1] L. Song et al., "Feature selection via dependence maximization", JMLR 13, 2012.
    .. [2] S. Kornblith et al., "Similarity of neural network representations revisited", ICML 2019.
    .. [3] T. Nguyen, M. Raghu and S. Kornblith, "Do wide and deep networks learn the same things?", ICLR 2021.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [1.0, 5.0], [2.0, 2.0]])
    >>> round(linear_cka(x, 3 * x[:, ::-1] + 1).value, 12)
    1.0
    >>> linear_cka(x, np.ones((5, 1))).reason
    'the activations do not vary between examples'
    """
    first, second = _centred(x), _centred(y)
    if len(first) != len(second):
        raise ValueError(f"activations are of the same examples; these are of {len(first)} and {len(second)}")
    if len(first) < FEWEST_EXAMPLES:
        reason = f"the unbiased estimate needs {FEWEST_EXAMPLES} examples or more"
        return Similarity(value=None, reason=reason)
    if not first.any() or not second.any():
        return Similarity(value=None, reason="the activations do not vary between examples")
    own = _hsic(first, first), _hsic(second, second)
    if min(own) <= 0:
        return Similarity(value=None, reason="too few examples: the estimate of a variance is not above 0")
    return Similarity(value=_hsic(first, second) / math.sqrt(own[0] * own[1]))


def mean_cka(runs: Sequence[ArrayLike], level: float = DEFAULT_LEVEL) -> Estimate:
    """Measure the mean of `linear_cka` over all pairs of runs, with its interval by jackknife over runs.

    Parameters
    ----------
    runs : sequence of array_like of float, shape (n_examples, d)
        Activations of each run on the same examples; `d` may differ.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [1.0, 5.0], [2.0, 2.0]])
    >>> round(mean_cka([x, 2 * x, -x]).value, 12)
    1.0
    """
    matrix = np.full((len(runs), len(runs)), np.nan)
    for r in range(len(runs)):
        for s in range(r):
            value = linear_cka(runs[r], runs[s]).value
            matrix[r, s] = matrix[s, r] = math.nan if value is None else value
    return pair_estimate(matrix, level, (-1.0, 1.0))


def _hsic(x: Floats, y: Floats) -> float:
    """Give the unbiased HSIC of centred activations; centring leaves it as it is, and keeps the digits."""
    n = len(x)
    diagonal_x, diagonal_y = (x**2).sum(axis=1), (y**2).sum(axis=1)
    # The columns are centred, so each row of X X' sums to 0, and without its diagonal to minus that.
    trace = _squared_product(x, y) - float(diagonal_x @ diagonal_y)
    totals = float(diagonal_x.sum() * diagonal_y.sum())
    rows = float(diagonal_x @ diagonal_y)
    return (trace + totals / ((n - 1) * (n - 2)) - 2 / (n - 2) * rows) / (n * (n - 3))


def _squared_product(x: Floats, y: Floats) -> float:
    """Give ``tr(X X' Y Y')``, over features or over examples, whichever are fewer."""
    if x.shape[1] * y.shape[1] <= len(x) ** 2:
        return float(((x.T @ y) ** 2).sum())
    return float(((x @ x.T) * (y @ y.T)).sum())


def _centred(activations: ArrayLike) -> Floats:
    values = np.asarray(activations, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"activations have shape (n_examples, d), both 1 or more; these have shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("activations hold NaN or infinite values")
    if (values == values[0]).all():
        return np.zeros_like(values)
    scaled = values / np.abs(values).max()
    return np.asarray(scaled - scaled.mean(axis=0))
