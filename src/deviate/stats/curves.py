"""Learning curves of several runs as one curve with a band, and when a run reached a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.core.experiment import Direction
from deviate.stats.spread import Floats

if TYPE_CHECKING:
    import pandas as pd


#: Last reports of a number that are put together; here, as reading them waits for no library of statistics.
REPORTS = (1, 2, 3, 5, 10)

#: The band holds this share of the runs at each iteration, where the user names none: the middle half.
DEFAULT_BAND = 0.5


class CurveBand(msgspec.Struct, frozen=True, kw_only=True):
    """Median and quantile band of one metric over the runs, per iteration; all arrays have shape ``(k,)``."""

    #: Iterations at which at least one run has a finite value, ascending.
    iterations: Any
    #: Runs with a finite value there: runs of unequal length and diverged runs make it fall.
    n: Any
    low: Any
    median: Any
    high: Any

    def to_frame(self) -> pd.DataFrame:
        """Return it as a table with one row an iteration and the fields as columns."""
        import pandas as pd

        return pd.DataFrame(msgspec.structs.asdict(self))


def curve_band(curves: Sequence[tuple[ArrayLike, ArrayLike]], band: float = DEFAULT_BAND) -> CurveBand:
    """Give median and quantile band across runs, per iteration.

    The band holds quantiles of the runs that reached each iteration, linear interpolation. A curve is never extended
    beyond its end, so where `n` falls the band is of fewer runs.

    Parameters
    ----------
    curves : sequence of (array_like of int, array_like of float)
        Per run its iterations and values, each of shape ``(m_run,)``; lengths may differ between runs. Of several
        values at one iteration the last finite one counts. NaN and infinities are left out and show as a smaller `n`.
    band : float, optional
        Share of the runs between `low` and `high`, in (0, 1).

    Examples
    --------
    >>> curve = curve_band([([0, 1], [1.0, 3.0]), ([0, 1, 2], [3.0, 5.0, 4.0])])
    >>> curve.iterations.tolist(), curve.n.tolist(), curve.median.tolist()
    ([0, 1, 2], [2, 2, 1], [2.0, 4.0, 4.0])
    """
    if not 0 < band < 1:
        raise ValueError(f"a band holds a share of the runs between 0 and 1, both excluded; got {band}")
    grid, table = _aligned(curves)
    if grid.size == 0:
        empty = np.empty(0)
        return CurveBand(iterations=grid, n=np.empty(0, dtype=np.int64), low=empty, median=empty, high=empty)
    low, median, high = np.nanquantile(table, [0.5 - band / 2, 0.5, 0.5 + band / 2], axis=0)
    return CurveBand(iterations=grid, n=np.isfinite(table).sum(axis=0), low=low, median=median, high=high)


class Parting(msgspec.Struct, frozen=True, kw_only=True):
    """Where the curves of several runs stop being the same."""

    #: First iteration at which two runs are further apart than `tolerance`; None where they never are.
    iteration: int | None
    #: Largest minus smallest value there, in the unit of the metric; None where runs never part.
    apart: float | None = None
    #: Iterations at which two runs or more have a finite value.
    compared: int
    tolerance: float


def parting(curves: Sequence[tuple[ArrayLike, ArrayLike]], tolerance: float = 0.0) -> Parting:
    """Tell at which iteration runs part.

    Only iterations that two runs or more reached are compared.

    Parameters
    ----------
    curves : sequence of (array_like of int, array_like of float)
        As for `curve_band`.
    tolerance : float, optional
        Largest difference that is still called the same, 0 or more, in the unit of the metric. With 0 the first bit
        that differs parts the runs, as it does two trainings that differ in one bit of one weight [1]_.

    References
    ----------
    .. [1] C. Summers and M. J. Dinneen, "Nondeterminism and instability in neural network optimization", ICML 2021.

    Examples
    --------
    >>> runs = [([0, 1, 2], [1.0, 0.5, 0.25]), ([0, 1, 2], [1.0, 0.5, 0.5])]
    >>> parting(runs).iteration, parting(runs, tolerance=0.3).iteration
    (2, None)
    """
    if tolerance < 0:
        raise ValueError(f"a tolerance is 0 or more; got {tolerance}")
    grid, table = _aligned(curves)
    shared = np.isfinite(table).sum(axis=0) > 1
    grid, table = grid[shared], table[:, shared]
    # Halved before they are subtracted: the difference of two large floats may overflow.
    apart = (np.nanmax(table / 2, axis=0) - np.nanmin(table / 2, axis=0)) * 2 if grid.size else np.empty(0)
    beyond = np.flatnonzero(apart > tolerance)
    if not beyond.size:
        return Parting(iteration=None, compared=int(grid.size), tolerance=tolerance)
    first = beyond[0]
    return Parting(iteration=int(grid[first]), apart=float(apart[first]), compared=int(grid.size), tolerance=tolerance)


def _aligned(curves: Sequence[tuple[ArrayLike, ArrayLike]]) -> tuple[Any, Floats]:
    """Lay the runs on their common iterations: shape ``(n_runs, k)``, NaN where a run has no finite value."""
    pairs = [_finite_part(np.asarray(steps, dtype=np.int64), np.asarray(values, float)) for steps, values in curves]
    grid = np.unique(np.concatenate([steps for steps, _ in pairs])) if pairs else np.empty(0, dtype=np.int64)
    table = np.full((len(pairs), grid.size), np.nan)
    for row, (steps, values) in zip(table, pairs, strict=True):
        row[np.searchsorted(grid, steps)] = values
    return grid, table


def _finite_part(steps: Any, values: Floats) -> tuple[Any, Floats]:
    if steps.shape != values.shape or steps.ndim != 1:
        raise ValueError(f"iterations and values of a run have one shape (m,); got {steps.shape} and {values.shape}")
    finite = np.isfinite(values)
    return steps[finite], values[finite]


# When a run reached its best value, or a value that is good enough.


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
