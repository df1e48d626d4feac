"""Are there enough runs? One look at the runs of a variant, by a criterion that was fixed before the first."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from deviate.contrast.power import runs_for_precision
from deviate.experiment import Until
from deviate.measure.fixed_width import EXTRA_RUNS, FixedWidth, fixed_width
from deviate.measure.intervals import Interval
from deviate.measure.robust_sd import MOST_RUNS, cautious_sd_interval, farthest_end, runs_for_sd
from deviate.measure.sample import Floats, finite_sample, is_identical


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a stopping criterion after the runs so far."""

    #: Runs with a finite value.
    n: int
    #: Half-width reached: in the unit of the metric, for an SD as a share of it. None where no interval can be given.
    half_width: float | None
    #: Half-width wanted, likewise.
    wanted: float
    met: bool
    #: The interval that keeps its level although runs were stopped by looking at them.
    interval: Interval
    #: Runs it is expected to take in all, judged by the SD of these; None where nothing tells.
    expected: int | None
    #: All values are exactly equal.
    identical: bool = False


def look(sample: ArrayLike, until: Until) -> Look:
    """Ask whether there are enough runs.

    A mean is judged by `fixed_width`. For an SD: enough are the runs that normal values need (`runs_for_sd`) if the
    wider of the chi-square and Bonett's interval is narrow enough too, else more.

    Parameters
    ----------
    sample : array_like of float, shape (n,)
        One finite value per run, in the order in which runs were requested.

    Examples
    --------
    >>> until = Until(metric="val acc", of="mean", width=0.6, least=5, most=30)
    >>> state = look([90.0, 91.0, 90.5, 89.5, 90.2], until)
    >>> state.met, round(state.half_width, 2), state.expected
    (False, 0.69, 8)
    """
    values = finite_sample(sample)
    if until.of == "sd":
        return _look_at_sd(values, until)
    reached = fixed_width(values, until.width, relative=until.relative, least=until.least, level=until.level)
    return Look(
        n=reached.n,
        half_width=reached.half_width,
        wanted=reached.wanted,
        met=reached.met,
        interval=reached.interval,
        expected=_expected(values, reached, until.level),
        identical=is_identical(values),
    )


def least_runs(until: Until) -> int | None:
    """Give the fewest runs with which the criterion can be met, known before the first run; None if none are enough.

    Examples
    --------
    >>> least_runs(Until(metric="loss", of="sd", width=0.25, relative=True, least=10, most=60))
    49
    >>> least_runs(Until(metric="loss", of="mean", width=0.1, least=10, most=60))
    12
    """
    if until.of == "mean":
        return until.least + EXTRA_RUNS
    needed = runs_for_sd(until.width, until.level)
    return None if needed is None else max(needed, until.least)


def _look_at_sd(values: Floats, until: Until) -> Look:
    interval = cautious_sd_interval(values, until.level)
    sd = float(values.std(ddof=1)) if values.size > 1 else 0.0
    reached = farthest_end(interval, sd)
    fewest = least_runs(until)
    met = reached is not None and fewest is not None and values.size >= fewest and reached <= until.width
    return Look(
        n=values.size,
        half_width=reached,
        wanted=until.width,
        met=met,
        interval=interval,
        expected=values.size if met else _expected_of_sd(values.size, reached, fewest, until.width),
        identical=is_identical(values),
    )


def _expected(values: Floats, reached: FixedWidth, level: float) -> int | None:
    if reached.enough_at is not None:
        return max(reached.enough_at, reached.n)
    sd = float(np.std(values, ddof=1)) if values.size > 1 else 0.0
    if reached.half_width is None or not (sd > 0 and reached.wanted > 0 and math.isfinite(sd)):
        return None
    first = runs_for_precision(reached.wanted / sd, level)
    return None if first is None else max(first, reached.n + 1) + EXTRA_RUNS


def _expected_of_sd(n: int, reached: float | None, fewest: int | None, width: float) -> int | None:
    """Guess from the rule that an interval narrows with the root of n."""
    if fewest is None:
        return None
    guess = 0 if reached is None else math.ceil(n * (reached / width) ** 2)
    return None if guess > MOST_RUNS else max(fewest, guess, n + 1)
