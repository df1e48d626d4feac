"""Scores against targets in each run: likelihood, squared error, calibration, and how much they vary between runs."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.measure.intervals import DEFAULT_LEVEL, Interval
from deviate.measure.predictions import Booleans, Integers, checked_targets
from deviate.measure.robust_sd import cautious_sd_interval
from deviate.measure.sample import Floats
from deviate.measure.spread import Spread, spread

#: Equal-width bins of the top score, as in Guo et al. [1]_.
#:
#: .. [1] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017.
BINS = 15

#: The scores of an example sum to 1 within this, which half precision keeps for 1,000 classes.
SUM_WITHIN = 1e-2


class ScoreSpread(msgspec.Struct, frozen=True, kw_only=True):
    """One measure of the scores over the runs."""

    #: Value in each run, shape ``(n_runs,)``; NaN where it is not finite.
    values: Any
    #: Of the finite values.
    spread: Spread
    #: Of their SD.
    interval: Interval
    #: Why values are NaN; empty where none is.
    reason: str = ""


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How well the scores of each run fit the targets; lower is better for all."""

    #: Mean of ``-log(score of the target)`` in nats, 0 or more.
    nll: ScoreSpread
    #: Mean of ``sum_k (score_k - (k is the target))**2``, in [0, 2] [1]_.
    brier: ScoreSpread
    #: Expected calibration error with `BINS` bins, in [0, 1].
    ece: ScoreSpread


def calibration(scores: ArrayLike, targets: ArrayLike, level: float = DEFAULT_LEVEL) -> Calibration:
    """Measure negative log-likelihood, Brier score [1]_ and expected calibration error [2]_ of each run.

    Parameters
    ----------
    scores : array_like of float
        Probabilities: in [0, 1], those of an example sum to 1. Runs are read one after the other, so a memory map will
        do.

    Notes
    -----
    A target with a score of 0 makes the NLL infinite. It is not cut at a smallest number: that run has no NLL, and the
    reason counts the examples.

    References
    ----------
    .. [1] G. W. Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78, 1950.
    .. [2] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> measured = calibration([[[0.8, 0.2], [0.4, 0.6]], [[0.5, 0.5], [0.5, 0.5]]], targets=[0, 0])
    >>> measured.nll.values.round(4).tolist(), measured.brier.values.round(4).tolist()
    ([0.5697, 0.6931], [0.4, 0.5])
    >>> measured.ece.values.round(4).tolist()
    [0.4, 0.5]
    """
    runs = np.asarray(scores)
    if runs.ndim != 3 or 0 in runs.shape:
        raise ValueError(
            f"scores have shape (n_runs, n_examples, n_classes), all 1 or more; these have shape {runs.shape}"
        )
    right = checked_targets(targets, runs.shape[1])
    if right.min() < 0 or right.max() >= runs.shape[2]:
        raise ValueError(
            f"targets are positions of classes, 0 to {runs.shape[2] - 1}; these go from {right.min()} to {right.max()}"
        )
    values = np.array([_of_run(_probabilities(run), right) for run in runs]).T
    infinite = int(np.isinf(values[0]).sum())
    reason = f"infinite in {infinite} runs: a target has a score of 0" if infinite else ""
    nll, brier, ece = (np.where(np.isinf(row), np.nan, row) for row in values)
    return Calibration(nll=_spread(nll, level, reason), brier=_spread(brier, level), ece=_spread(ece, level))


def expected_calibration_error(top: Floats, right: Booleans, bins: int = BINS) -> float:
    """Give ``sum_b n_b / n * abs(accuracy_b - mean top score_b)`` over equal-width bins of the top score.

    Bins hold their upper edge; the first one also holds 0.

    Parameters
    ----------
    top : ndarray of float, shape (n_examples,)
        Largest score of each example, in [0, 1].
    right : ndarray of bool, shape (n_examples,)
        Whether the class with that score is the target.

    Examples
    --------
    >>> expected_calibration_error(np.array([0.9, 0.9, 0.6]), np.array([True, True, False]))
    0.26666666666666666
    """
    members = np.clip(np.ceil(top * bins).astype(np.int64) - 1, 0, bins - 1)
    gaps = np.bincount(members, weights=right - top, minlength=bins)
    return float(np.abs(gaps).sum() / top.size)


def _of_run(scores: Floats, right: Integers) -> tuple[float, float, float]:
    of_target = scores[np.arange(right.size), right]
    with np.errstate(divide="ignore"):
        nll = -float(np.log(of_target).mean())
    brier = float(((scores**2).sum(axis=1) - of_target**2 + (1 - of_target) ** 2).mean())
    return nll, brier, expected_calibration_error(scores.max(axis=1), scores.argmax(axis=1) == right)


def _probabilities(run: ArrayLike) -> Floats:
    scores = np.asarray(run, dtype=np.float64)
    # NaN fails every comparison.
    if not ((scores >= 0) & (scores <= 1)).all() or not (np.abs(scores.sum(axis=1) - 1) <= SUM_WITHIN).all():
        raise ValueError(
            "scores are probabilities: in [0, 1], and those of an example sum to 1; apply softmax to logits"
        )
    return scores


def _spread(values: Floats, level: float, reason: str = "") -> ScoreSpread:
    finite = values[np.isfinite(values)]
    return ScoreSpread(
        values=values,
        spread=spread(finite, ratio_scale=True),
        interval=cautious_sd_interval(finite, level),
        reason=reason,
    )
