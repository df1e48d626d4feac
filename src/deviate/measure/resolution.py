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

    Parameters
    ----------
    accuracy : float
        In ``[0, full]``.
    examples : int
        Size of the test set, 1 or more.
    full : float, optional
        The accuracy of a perfect model: 1, or 100 where accuracy is a percentage.

    Returns
    -------
    Resolution
        ``full / examples`` and ``full * sqrt(p * (1 - p) / examples)`` with ``p = accuracy / full``.

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
