"""Seconds as people read them."""

from __future__ import annotations

import math


def show_duration(seconds: float) -> str:
    """Return seconds as people read them.

    Examples
    --------
    >>> [show_duration(value) for value in (0.04, 3.21, 75, 3700)]
    ['0.0 s', '3.2 s', '1 min 15 s', '1 h 01 min']
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(math.floor(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
