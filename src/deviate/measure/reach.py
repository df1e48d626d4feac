"""When a run reached its best value, or a value that is good enough."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.experiment import Direction
from deviate.measure.sample import Floats


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """The record at which a run reached a value; None where it never did."""

    #: Iteration of the record.
    iteration: int | None = None
    #: Seconds since the run started; None also where the times are not known.
    seconds: float | None = None
    #: Value of the record.
    value: float | None = None


def reached_best(
    iterations: ArrayLike, values: ArrayLike, direction: Direction, elapsed: ArrayLike | None = None
) -> Reached:
    """Return the record at which a run first had its best value.

    Unknown where no value is a number.

    Parameters
    ----------
    iterations : array_like of int, shape (m,)
        Of the records of one metric, in the order they were written.
    values : array_like of float, shape (m,)
        NaN is never best.
    elapsed : array_like of float, shape (m,), optional
        Seconds since the run started; NaN where not known.

    Notes
    -----
    Pham et al. compare the time to the best epoch [1]_. Where the metric still creeps up at the end, the best value is
    near the last and this says how long the run was; the time to a threshold does not depend on that.

    References
    ----------
    .. [1] H. V. Pham et al., "Problems and opportunities in training deep learning software systems: an analysis of
       variance", ASE 2020.

    Examples
    --------
    >>> reached_best([0, 1, 2, 3], [0.5, 0.9, 0.8, 0.9], "higher", [1.0, 2.0, 3.0, 4.0])
    Reached(iteration=1, seconds=2.0, value=0.9)
    """
    curve = np.asarray(values, dtype=np.float64)
    if not (~np.isnan(curve)).any():
        return Reached()
    index = int(np.nanargmax(curve) if direction == "higher" else np.nanargmin(curve))
    return _at(index, iterations, curve, elapsed)


def reached_threshold(
    iterations: ArrayLike, values: ArrayLike, threshold: float, direction: Direction, elapsed: ArrayLike | None = None
) -> Reached:
    """Return the record at which a run was first as good as `threshold`.

    Unknown where the run never reached it. Such runs are censored, not missing at random: a mean over the others is the
    mean of the runs that reached it, and must be given together with their number.

    Parameters
    ----------
    iterations : array_like of int, shape (m,)
        Of the records of one metric, in the order they were written.
    values : array_like of float, shape (m,)
        NaN reaches nothing.
    threshold : float
        In the unit of the metric; a value equal to it has reached it.
    elapsed : array_like of float, shape (m,), optional
        Seconds since the run started; NaN where not known.

    Examples
    --------
    >>> reached_threshold([0, 1, 2], [2.0, 0.9, 0.4], 1.0, "lower").iteration
    1
    >>> reached_threshold([0, 1, 2], [2.0, 0.9, 0.4], 0.1, "lower").iteration is None
    True
    """
    curve = np.asarray(values, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        reached = curve >= threshold if direction == "higher" else curve <= threshold
    return _at(int(np.argmax(reached)), iterations, curve, elapsed) if reached.any() else Reached()


def _at(index: int, iterations: ArrayLike, curve: Floats, elapsed: ArrayLike | None) -> Reached:
    seconds = np.nan if elapsed is None else float(np.asarray(elapsed, dtype=np.float64)[index])
    return Reached(
        iteration=int(np.asarray(iterations)[index]),
        seconds=None if np.isnan(seconds) else seconds,
        value=float(curve[index]),
    )
