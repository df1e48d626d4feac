"""Samples: one aggregated number per run."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class FiniteSplit(msgspec.Struct, frozen=True, kw_only=True):
    """A sample parted into values statistics can use and values they cannot."""

    #: Finite values in their first order, shape ``(n_finite,)``.
    finite: Any
    #: Positions of the finite values in the sample, shape ``(n_finite,)``.
    kept: Any
    #: Positions of NaN and infinities in the sample, shape ``(n - n_finite,)``.
    dropped: Any


def split_finite(sample: ArrayLike) -> FiniteSplit:
    """Part the finite values of a sample from NaN and infinities.

    Every estimator here takes finite values only: a run that diverged has no place in a mean. The caller excludes it
    with this function, counts it and says so.

    Parameters
    ----------
    sample : array_like of float, shape (n,)
        One value per run.

    Returns
    -------
    FiniteSplit
        The finite values, and which positions were kept and dropped.

    Examples
    --------
    >>> parted = split_finite([0.5, float("nan"), 0.7, float("inf")])
    >>> parted.finite.tolist(), parted.kept.tolist(), parted.dropped.tolist()
    ([0.5, 0.7], [0, 2], [1, 3])
    """
    values = _one_dimensional(sample)
    finite = np.isfinite(values)
    return FiniteSplit(finite=values[finite], kept=np.flatnonzero(finite), dropped=np.flatnonzero(~finite))


def finite_sample(sample: ArrayLike) -> Floats:
    """Return `sample` as an array of finite float64.

    Parameters
    ----------
    sample : array_like of float, shape (n,)
        One value per run; ``n`` may be 0.

    Raises
    ------
    ValueError
        If a value is NaN or infinite, or if `sample` is not one-dimensional.
    """
    values = _one_dimensional(sample)
    if not np.isfinite(values).all():
        raise ValueError("the sample holds NaN or infinite values; exclude and count them with split_finite first")
    return values


def is_identical(values: Floats) -> bool:
    """Tell whether all values are exactly equal (false for fewer than two).

    Examples
    --------
    >>> is_identical(np.array([0.1, 0.1, 0.1])), is_identical(np.array([0.1]))
    (True, False)
    """
    return bool(values.size > 1 and values.min() == values.max())


def unit_scale(values: Floats) -> tuple[Floats, int]:
    """Scale values by a power of two to magnitudes up to 1, so that no square of them overflows or vanishes.

    Returns
    -------
    scaled : ndarray of float64, shape (n,)
        ``values / 2**exponent``, exact for normal floats.
    exponent : int
        0 for a sample of zeros.
    """
    _, exponents = np.frexp(np.abs(values).max(initial=0.0))
    exponent = int(exponents)
    return np.ldexp(values, -exponent), exponent


def _one_dimensional(sample: ArrayLike) -> Floats:
    values = np.asarray(sample, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"a sample has shape (n_runs,); this one has shape {values.shape}")
    return values
