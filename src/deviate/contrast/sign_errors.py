"""How wrong a difference is expected to be that is shown: its sign, and its size."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import scipy
from scipy import special

from deviate.contrast.power import DEFAULT_ALPHA, welch_edges
from deviate.measure.sample import Floats

#: Degrees of freedom below which the density of the estimated SD is as wide as what it is integrated with.
FEW = 10


class ShownErrors(msgspec.Struct, frozen=True, kw_only=True):
    """What comes of the samples in which a test shows a difference, if the true one is as assumed."""

    #: The true difference that is assumed, in SDs (of the differences, where runs are paired), above 0.
    assumed: float
    #: Probability that the test shows a difference, in [alpha, 1].
    power: float
    #: Type S error: share of the samples that show one in which it has the wrong sign, in [0, 0.5].
    wrong_sign: float
    #: Type M error: mean size of the differences that are shown, as a multiple of the true one, above 1.
    exaggeration: float


def shown_errors(effect: float, n: int, m: int, alpha: float = DEFAULT_ALPHA, *, paired: bool = False) -> ShownErrors:
    """Give the type S and type M errors of the two-sided Welch or paired t test, for normal values with equal SDs.

    With ``z`` the difference in its standard errors, ``z ~ N(effect / se, 1)``, and ``u`` the estimated SD over the
    true one, ``u ~ chi(df) / sqrt(df)``, a difference is shown where ``|z| > t u``. The type S error is
    ``P(z < -t u) / P(|z| > t u)``, the type M error ``E[|z|; |z| > t u] / (P(|z| > t u) effect / se)`` [1]_. For
    Welch's test ``t`` depends on how the variance divides between the sides, see `welch_edges`. How large the true
    difference is has to be assumed: the one that was seen is itself too large where it is shown by luck.

    Parameters
    ----------
    effect : float
        The true difference of the means in SDs, above 0; in SDs of the differences, where `paired`.
    n, m : int
        Runs of each side, 2 or more; pairs, where `paired`.

    References
    ----------
    .. [1] A. Gelman and J. Carlin, "Beyond power calculations: assessing type S (sign) and type M (magnitude) errors",
       Perspectives on Psychological Science 9, 2014.

    Examples
    --------
    >>> errors = shown_errors(0.75, 5, 5)
    >>> round(errors.power, 2), round(errors.wrong_sign, 3), round(errors.exaggeration, 1)
    (0.17, 0.007, 2.1)
    """
    freedom = n - 1 if paired else n + m - 2
    error = math.sqrt(1 / n) if paired else math.sqrt(1 / n + 1 / m)
    center = effect / error
    edges, shares = (
        (-special.stdtrit(np.array([freedom]), alpha / 2), np.ones(1)) if paired else welch_edges(n, m, alpha)
    )
    end = _end(freedom)
    # With few runs the limits pass the true difference on a short way, which the integral has to be led to.
    passed = sorted({center / float(edge) for edge in (np.max(edges), np.min(edges))}) if freedom < FEW else []
    right, wrong, size = (
        scipy.integrate.quad(
            lambda u, f=f: float(f(edges * u, center) @ shares) * _chi(u, freedom),
            0.0,
            end,
            limit=200,
            points=[place for place in passed if place < end] or None,
        )[0]
        for f in (_above, _below, _size)
    )
    power = right + wrong
    return ShownErrors(assumed=effect, power=power, wrong_sign=wrong / power, exaggeration=size / (power * center))


def _above(threshold: Floats, center: float) -> Floats:
    """Return ``P(z > threshold)``."""
    return special.ndtr(center - threshold)


def _below(threshold: Floats, center: float) -> Floats:
    """Return ``P(z < -threshold)``."""
    return special.ndtr(-center - threshold)


def _size(threshold: Floats, center: float) -> Floats:
    """Return ``E[|z|; |z| > threshold]``."""
    densities = np.exp(-((threshold - center) ** 2) / 2) + np.exp(-((threshold + center) ** 2) / 2)
    means = center * (_above(threshold, center) - _below(threshold, center))
    return densities / math.sqrt(2 * math.pi) + means


def _chi(u: float, freedom: int) -> float:
    """Return the density of the estimated SD over the true one."""
    if u <= 0:
        return 0.0
    half = freedom / 2
    log = math.log(2) + half * math.log(half) - math.lgamma(half) + (freedom - 1) * math.log(u) - half * u * u
    return math.exp(log)


def _end(freedom: int) -> float:
    """Return a ratio of SDs beyond which nothing lies that counts: 12 standard errors of the SD above 1."""
    return 1 + 12 / math.sqrt(2 * freedom)
