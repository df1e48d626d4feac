"""Predictive multiplicity: how far the labels of equally good runs can differ from those of a baseline."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.measure.agreement import agreement
from deviate.measure.churn import differing
from deviate.measure.predictions import Booleans, Integers, checked_labels, checked_targets


class Ambiguity(msgspec.Struct, frozen=True, kw_only=True):
    """How the labels of a set of runs conflict with those of a baseline."""

    #: Position of the baseline among the runs; None for the majority vote.
    baseline: int | None
    #: Runs that were compared with the baseline.
    runs: int
    #: Share of examples to which at least one of these runs gives another label, in [0, 1]; grows with `runs`.
    ambiguity: float | None
    #: Largest share of examples to which a single one of them gives another label, in [0, 1]; grows with `runs`.
    discrepancy: float | None
    #: Position of that run, the first of several; None without one.
    farthest: int | None = None
    #: Why the numbers are None; empty where they are known.
    reason: str = ""


def ambiguity(
    labels: ArrayLike,
    targets: ArrayLike | None = None,
    *,
    baseline: int | None = None,
    within: float | None = None,
) -> Ambiguity:
    """Measure ambiguity and discrepancy over a set of runs [1]_.

    With h0 the baseline and S the set of runs: ambiguity is ``mean_i max_{h in S} (h(x_i) != h0(x_i))``, discrepancy is
    ``max_{h in S} mean_i (h(x_i) != h0(x_i))``. Marx et al. take S as all models whose error is at most `within` above
    that of h0; here it holds those of the runs, so both numbers are lower limits of theirs.

    Parameters
    ----------
    targets : array_like of int, shape (n_examples,), optional
        Needed with `within`.
    baseline : int, optional
        Position of the run that is the baseline; without it the majority vote of all runs, ties to the smallest label.
    within : float, optional
        Only runs whose share of errors is at most this much above the baseline's count; without it all do.

    References
    ----------
    .. [1] C. Marx, F. du Pin Calmon and B. Ustun, "Predictive multiplicity in classification", ICML 2020.

    Examples
    --------
    >>> measured = ambiguity([[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 0]], baseline=0)
    >>> measured.ambiguity, measured.discrepancy, measured.farthest
    (0.75, 0.5, 2)
    """
    rows = checked_labels(labels)
    if baseline is not None and not 0 <= baseline < len(rows):
        raise ValueError(f"the baseline is one of the runs 0 to {len(rows) - 1}; got {baseline}")
    base = rows[baseline] if baseline is not None else agreement(rows).majority
    chosen = np.flatnonzero(_good_enough(rows, base, targets, within) & (np.arange(len(rows)) != baseline))
    if chosen.size == 0:
        reason = "no run but the baseline" if within is None else f"no other run is within {within:g} of the baseline"
        return Ambiguity(baseline=baseline, runs=0, ambiguity=None, discrepancy=None, reason=reason)
    changed = differing(base[None], rows[chosen])[0] / base.size
    conflicting = np.zeros(base.size, bool)
    for run in chosen:
        conflicting |= rows[run] != base
    return Ambiguity(
        baseline=baseline,
        runs=chosen.size,
        ambiguity=float(conflicting.mean()),
        discrepancy=float(changed.max()),
        farthest=int(chosen[changed.argmax()]),
    )


def _good_enough(rows: Integers, base: Integers, targets: ArrayLike | None, within: float | None) -> Booleans:
    if within is None:
        return np.ones(len(rows), bool)
    if targets is None:
        raise ValueError("which runs are within a margin of the baseline's error takes targets")
    right = checked_targets(targets, base.size)
    # Errors are counted, so that a run exactly at the margin is in whatever the rounding of shares.
    allowed = np.count_nonzero(base != right) + within * base.size
    return np.array([np.count_nonzero(row != right) for row in rows]) <= allowed + 1e-9 * base.size
