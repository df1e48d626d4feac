"""Durations that are estimated, in words; imports nothing that computes, as progress shows them."""

from __future__ import annotations


def about_seconds(seconds: float) -> str:
    """Write a duration that is estimated.

    Examples
    --------
    >>> about_seconds(3.2), about_seconds(75.4), about_seconds(754.2), about_seconds(9000)
    ('3 s', '75 s', '13 min', '2 h 30 min')
    """
    if seconds < 120:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
