"""Many tests at once: p-values adjusted so that the false alarms of all of them together stay few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np

from deviate.measure.classes import holm
from deviate.measure.sample import Floats

Correction = Literal["holm", "bonferroni", "bh", "none"]

CORRECTIONS: tuple[Correction, ...] = get_args(Correction)

DEFAULT_CORRECTION: Correction = "holm"

#: What each correction is called in a sentence.
CORRECTION_NAMES = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini-Hochberg", "none": "no correction"}


def adjust(ps: Sequence[float | None], correction: Correction = DEFAULT_CORRECTION) -> list[float | None]:
    """Adjust p-values for their number.

    The results are in the order of `ps`, and to be compared with alpha.

    Parameters
    ----------
    ps : sequence of float or None
        In [0, 1]; None where a test could not be made, which does not count.
    correction : {'holm', 'bonferroni', 'bh', 'none'}, optional
        Holm [1]_ and Bonferroni keep the probability of any false alarm at alpha; Benjamini-Hochberg [2]_ keeps the
        expected share of false ones among the alarms there.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6,
       1979.
    .. [2] Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", JRSS B 57, 1995.

    Examples
    --------
    >>> [round(p, 3) if p else p for p in adjust([0.01, None, 0.04, 0.03])]
    [0.03, None, 0.06, 0.06]
    """
    if correction not in CORRECTIONS:
        raise ValueError(f"a correction is one of {', '.join(CORRECTIONS)}; got {correction!r}")
    known = [p for p in ps if p is not None]
    if correction == "none" or len(known) < 2:
        return list(ps)
    adjusted = iter(_ADJUSTED[correction](np.asarray(known, dtype=float)).tolist())
    return [None if p is None else next(adjusted) for p in ps]


def _bonferroni(ps: Floats) -> Floats:
    return np.asarray(np.minimum(ps * ps.size, 1.0))


def _benjamini_hochberg(ps: Floats) -> Floats:
    order = np.argsort(ps, kind="stable")[::-1]
    adjusted = np.empty(ps.size)
    adjusted[order] = np.minimum(np.minimum.accumulate(ps[order] * ps.size / np.arange(ps.size, 0, -1)), 1.0)
    return adjusted


_ADJUSTED: dict[Correction, Callable[[Floats], Floats]] = {
    "holm": holm,
    "bonferroni": _bonferroni,
    "bh": _benjamini_hochberg,
}
