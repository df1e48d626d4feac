"""How often an engine is asked: soon after a change, and then less and less, since its controller serves everybody."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from deviate.replicate.engines.engine import Engine, JobState, Place

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


class Known:
    """What is known of the jobs of an engine; experiments that are followed side by side ask it together."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        self.engine = engine
        self.states: Mapping[Place, JobState] = {}
        self._pace = Pace(clock)

    @property
    def since(self) -> float:
        """When the engine last answered."""
        return self._pace.last

    def is_active(self, place: Place) -> bool:
        """Tell whether a worker is to come, or goes on."""
        return place in self.states and self.states[place].is_active

    def look(self) -> None:
        """Ask the engine where that is due."""
        if not self._pace.is_due:
            return
        states = self.engine.states()
        if states is not None:
            self.states = states
        self._pace.asked(known=states is not None)

    def quicken(self) -> None:
        """Ask soon again: something has changed."""
        self._pace.quicken()
