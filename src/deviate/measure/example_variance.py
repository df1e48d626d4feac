"""The variance of a mean over test examples in parts: the runs as wholes, the test set, single examples."""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec
from numpy.typing import ArrayLike

from deviate.measure.intervals import DEFAULT_LEVEL, Interval, check_level
from deviate.measure.jackknife import unknown
from deviate.measure.predictions import checked_values
from deviate.measure.robust_sd import cautious_sd_interval
from deviate.measure.sample import Floats

METHOD = "interval of the variance between runs, less the part of the finite test set"

#: Why the distribution-wise SD is not given.
NOT_FROM_0 = "cannot be distinguished from 0"


class ExampleVariance(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of the variance of runs' means over n test examples, in the squared unit of one example's value.

    ``between_runs = distribution + finite_test`` holds exactly, and
    ``standard_error**2 = finite_test + choice_of_examples``.
    """

    runs: int
    examples: int
    #: Mean over runs and examples.
    mean: float
    #: Variance between runs on this test set.
    between_runs: float | None = None
    #: Variance between runs on a test set without end: models that differ as wholes. Unbiased, so it may be negative.
    distribution: float | None = None
    #: Interval of `distribution`, not cut at 0.
    interval: Interval
    #: ``sqrt(distribution)``; None where `interval` reaches down to 0, with the reason in `reason`.
    distribution_sd: float | None = None
    #: Square root of the upper end of `interval`; None where there is none above 0.
    distribution_sd_at_most: float | None = None
    #: Variance between runs that comes from the finite test set: single examples that turn in some runs, averaged.
    finite_test: float | None = None
    #: Mean over examples of the variance between runs of one example's value.
    per_example: float | None = None
    #: Variance that the choice of the test examples adds to every run alike; the runs do not differ by it. Unbiased.
    choice_of_examples: float | None = None
    #: Standard error over examples of a single run, as evaluation tools give it: root of the mean square over the runs.
    standard_error: float | None = None
    #: Why numbers are None; empty where all are known.
    reason: str = ""


class _Squares(NamedTuple):
    """Mean squares of the table of runs and examples."""

    runs: float
    examples: float
    rest: float


def example_variance(values: ArrayLike, level: float = DEFAULT_LEVEL) -> ExampleVariance:
    """Divide the variance between runs into that of the runs as wholes and that of a finite test set.

    With A_r the mean of run r over n examples and c_ri its value on example i, variances with divisor R - 1:
    ``distribution = n / (n - 1) * Var_r(A_r) - sum_i Var_r(c_ri) / (n (n - 1))``, after Jordan [1]_. It is the mean
    covariance between runs of two different examples, and the variance component of the runs in a two-way table
    without replication.

    Parameters
    ----------
    values : array_like of bool or float, shape (n_runs, n_examples)
        Any score of one example in one run: 1 where it is right and 0 where not, a squared error, a log-likelihood.

    Notes
    -----
    The interval is that of the variance between runs (the square of `cautious_sd_interval`) less `finite_test`, which
    many examples determine well: Williams' interval [2]_ with the tails that the runs show. Jackknife over runs covers
    less with few runs (``benchmarks/statistics/predictions.py``).

    References
    ----------
    .. [1] K. Jordan, "On the variance of neural network training with respect to test sets and distributions",
       arXiv:2304.01910.
    .. [2] J. S. Williams, "A confidence interval for variance components", Biometrika 49, 1962.

    Examples
    --------
    >>> parts = example_variance([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]])
    >>> round(parts.between_runs, 6), round(parts.distribution, 6), round(parts.finite_test, 6)
    (0.0625, 0.027778, 0.034722)
    >>> parts.distribution_sd, parts.reason
    (None, 'cannot be distinguished from 0')
    """
    check_level(level)
    table = checked_values(values)
    runs, examples = table.shape
    mean = float(table.mean())
    reason = _too_small(runs, examples)
    if reason:
        return ExampleVariance(
            runs=runs, examples=examples, mean=mean, interval=unknown(reason, level, METHOD), reason=reason
        )
    squares = _mean_squares(table)
    between, finite = squares.runs / examples, squares.rest / examples
    distribution = between - finite
    interval = _interval(table.mean(axis=1), finite, level)
    above_0 = interval.low is not None and interval.low > 0
    choice = (squares.examples - squares.rest) / runs / examples
    return ExampleVariance(
        runs=runs,
        examples=examples,
        mean=mean,
        between_runs=between,
        distribution=distribution,
        interval=interval,
        distribution_sd=math.sqrt(distribution) if above_0 else None,
        distribution_sd_at_most=math.sqrt(interval.high) if interval.high is not None and interval.high > 0 else None,
        finite_test=finite,
        per_example=(squares.runs + (examples - 1) * squares.rest) / examples,
        choice_of_examples=choice,
        standard_error=math.sqrt(max(finite + choice, 0.0)),
        reason=interval.reason or ("" if above_0 else NOT_FROM_0),
    )


def _too_small(runs: int, examples: int) -> str:
    if runs < 2:
        return "one run has no variance"
    return "one example cannot separate runs from examples" if examples < 2 else ""


def _mean_squares(table: Floats) -> _Squares:
    runs, examples = table.shape
    # Both are sums of squares about means: nothing is lost where the values are large.
    of_runs = examples * float(table.mean(axis=1).var(ddof=1))
    of_examples = runs * float(table.mean(axis=0).var(ddof=1))
    within = float(table.var(axis=0, ddof=1).sum())
    return _Squares(runs=of_runs, examples=of_examples, rest=(within - of_runs) / (examples - 1))


def _interval(means: Floats, finite: float, level: float) -> Interval:
    of_sd = cautious_sd_interval(means, level)
    if of_sd.low is None or of_sd.high is None:
        return unknown(of_sd.reason, level, METHOD)
    return Interval(low=of_sd.low**2 - finite, high=of_sd.high**2 - finite, level=level, method=METHOD)
