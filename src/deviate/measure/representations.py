"""How alike two runs represent the same examples."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.measure.intervals import DEFAULT_LEVEL
from deviate.measure.jackknife import Estimate, pair_estimate
from deviate.measure.sample import Floats

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
