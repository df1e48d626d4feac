"""Samples: one aggregated number per run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


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
        raise ValueError("the sample holds NaN or infinite values; exclude and count them first")
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


def common_scale(samples: Sequence[Floats]) -> tuple[list[Floats], int]:
    """Scale several samples by one power of two, see `unit_scale`."""
    scaled, exponent = unit_scale(np.concatenate(samples))
    return np.split(scaled, np.cumsum([sample.size for sample in samples])[:-1]), exponent


def trimmed_mean(values: Floats, share: float) -> float:
    """Give the mean of values without a share of them, rounded down to whole values, at each end."""
    left_out = int(share * values.size)
    return float(np.sort(values)[left_out : values.size - left_out].mean())


def _one_dimensional(sample: ArrayLike) -> Floats:
    values = np.asarray(sample, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"a sample has shape (n_runs,); this one has shape {values.shape}")
    return values
