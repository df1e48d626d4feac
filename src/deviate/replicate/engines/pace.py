"""How often an engine is asked: soon after a change, and then less and less, since its controller serves everybody."""

from __future__ import annotations

from collections.abc import Callable

#: Seconds between two questions, at first and at most, and by how much the time grows.
SHORTEST = 1.0
LONGEST = 30.0
GROWTH = 1.3


class Pace:
    """When an engine is asked next."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._interval = SHORTEST
        self._next = clock()
        #: When it last answered.
        self.last = float("-inf")

    @property
    def is_due(self) -> bool:
        """Whether it is to be asked now."""
        return self._clock() >= self._next

    def asked(self, *, known: bool) -> None:
        """Note that it was asked just now, and whether it answered."""
        if known:
            self.last = self._clock()
        self._interval = min(self._interval * GROWTH, LONGEST)
        self._next = self._clock() + self._interval

    def quicken(self) -> None:
        """Ask soon again: something has changed."""
        self._interval = SHORTEST
        self._next = self._clock() + self._interval
