"""What a finite test set alone lets a metric tell."""

from __future__ import annotations

import math

import msgspec


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """How finely a share of correct answers can be measured on `examples` test examples."""

    examples: int
    #: What one example is worth: ``full / examples``, in the unit of the metric.
    step: float
    #: Binomial standard error of one run's value, in the unit of the metric.
    standard_error: float


def resolution(accuracy: float, examples: int, full: float = 1.0) -> Resolution:
    """Give the binomial standard error of an accuracy and what one test example is worth.

    ``full / examples`` and ``full * sqrt(p * (1 - p) / examples)`` with ``p = accuracy / full``.

    Parameters
    ----------
    accuracy : float
        In ``[0, full]``.
    examples : int
        Size of the test set, 1 or more.
    full : float, optional
        The accuracy of a perfect model: 1, or 100 where accuracy is a percentage.

    Notes
    -----
    The standard error answers how far this accuracy may lie from that on all data of the kind. Most of the spread
    between identical runs is of this size, as their errors are nearly independent across examples [1]_.

    References
    ----------
    .. [1] K. Jordan, "On the variance of neural network training with respect to test sets and distributions",
       arXiv:2304.01910.

    Examples
    --------
    >>> measured = resolution(90.0, examples=400, full=100.0)
    >>> measured.step, round(measured.standard_error, 6)
    (0.25, 1.5)
    """
    if examples < 1:
        raise ValueError(f"a test set has 1 example or more, not {examples}")
    share = accuracy / full
    if not 0 <= share <= 1:
        raise ValueError(f"an accuracy lies between 0 and {full:g}; got {accuracy:g}")
    standard_error = full * math.sqrt(share * (1 - share) / examples)
    return Resolution(examples=examples, step=full / examples, standard_error=standard_error)


class FiniteTest(msgspec.Struct, frozen=True, kw_only=True):
    """How a spread between runs compares with what the finite test set does by itself."""

    #: Binomial standard error of one run's value, in the unit of the metric.
    standard_error: float
    #: The SD between runs in units of that error, 0 or more.
    sd_in_errors: float | None
    #: Largest share of the variance between runs that the finite test set can account for, in [0, 1].
    share_at_most: float | None


def finite_test(sd: float, resolved: Resolution) -> FiniteTest:
    """Compare the SD between runs with the binomial standard error of the test set.

    ``sd / SE`` and ``min(1, (SE / sd)**2)``; both None where they are not defined (an SE or an SD of zero).

    Parameters
    ----------
    sd : float
        Standard deviation between runs, in the unit of the metric.
    resolved : Resolution
        Of their mean accuracy.

    Notes
    -----
    Let run after run be right on example i with probability q_i, independently across examples. The variance between
    runs on *this* test set is ``sum(q_i (1 - q_i)) / n**2``, which is at most ``p (1 - p) / n``, the squared binomial
    SE of the mean accuracy p, because q (1 - q) is concave. So the share is an upper bound: examples that every run
    gets right or wrong take no part. An SD above the SE shows that errors of a run go together across examples: the
    models differ as wholes, and no larger test set will take that away [1]_.

    References
    ----------
    .. [1] K. Jordan, "On the variance of neural network training with respect to test sets and distributions",
       arXiv:2304.01910.

    Examples
    --------
    >>> finite_test(3.0, resolution(90.0, examples=400, full=100.0))
    FiniteTest(standard_error=1.5, sd_in_errors=2.0, share_at_most=0.25)
    """
    error = resolved.standard_error
    return FiniteTest(
        standard_error=error,
        sd_in_errors=sd / error if error > 0 else None,
        share_at_most=min(1.0, (error / sd) ** 2) if sd > 0 else None,
    )
