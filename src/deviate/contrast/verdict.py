"""Verdicts from adjusted p-values: one word, never more than the runs support."""

from __future__ import annotations

from typing import Literal

import msgspec

from deviate.contrast.guards import fewest_runs
from deviate.experiment import Direction

Verdict = Literal[
    "a better", "b better", "differs", "no difference shown", "equivalent", "too few runs", "not compared"
]

NoisierVerdict = Literal["a noisier", "b noisier", "no difference shown", "too few runs"]


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one metric, and whether a difference was shown at all."""

    verdict: Verdict
    #: The means differ, whichever is better; None where nothing could be tested.
    differs: bool | None


def judge(
    *,
    n_a: int,
    n_b: int,
    alpha: float,
    p_adjusted: float | None,
    difference: float | None,
    direction: Direction | None,
    equivalence_p: float | None = None,
) -> Judged:
    """Turn what was tested into a verdict.

    ``too few runs`` below `fewest_runs`, and where no test could be made although the sides differ. ``equivalent`` goes
    before a difference: a margin says that smaller differences do not matter. ``differs`` where a difference is shown
    and the direction is unknown, so that neither side is called better.

    Parameters
    ----------
    p_adjusted : float or None
        Of the chosen test, adjusted for the number of tests; None where no test could be made.
    difference : float or None
        ``mean(a) - mean(b)``.
    equivalence_p : float or None, optional
        Of the two one-sided tests, adjusted, where the user gave a margin.

    Examples
    --------
    >>> judge(n_a=8, n_b=8, alpha=0.05, p_adjusted=0.01, difference=-0.5, direction="higher").verdict
    'b better'
    >>> judge(n_a=3, n_b=3, alpha=0.05, p_adjusted=0.0001, difference=-0.5, direction="higher").verdict
    'too few runs'
    """
    if min(n_a, n_b) < fewest_runs(alpha) or difference is None:
        return Judged(verdict="too few runs", differs=None)
    if p_adjusted is None:
        # All runs gave the same value, or each side repeats one value of its own: more runs change nothing.
        return Judged(verdict="not compared" if difference else "no difference shown", differs=None)
    differs = p_adjusted <= alpha
    if equivalence_p is not None and equivalence_p <= alpha:
        return Judged(verdict="equivalent", differs=differs)
    if not differs or difference == 0:
        return Judged(verdict="no difference shown", differs=differs)
    if direction is None:
        return Judged(verdict="differs", differs=True)
    a_higher = difference > 0
    return Judged(verdict="a better" if a_higher == (direction == "higher") else "b better", differs=True)


def judge_spread(
    *, n_a: int, n_b: int, alpha: float, p_adjusted: float | None, sd_a: float | None, sd_b: float | None
) -> NoisierVerdict:
    """Say which side is noisier, if either is shown to be.

    Parameters
    ----------
    p_adjusted : float or None
        Of the test of spread, adjusted for the number of tests.

    Examples
    --------
    >>> judge_spread(n_a=16, n_b=16, alpha=0.05, p_adjusted=0.01, sd_a=1.0, sd_b=3.0)
    'b noisier'
    """
    if min(n_a, n_b) < fewest_runs(alpha) or p_adjusted is None or sd_a is None or sd_b is None:
        return "too few runs"
    if p_adjusted > alpha or sd_a == sd_b:
        return "no difference shown"
    return "a noisier" if sd_a > sd_b else "b noisier"
