"""The first run of an experiment shows whether the others are worth making."""

from __future__ import annotations

from deviate.replicate.events import Event, RunEnded, RunProgress
from deviate.replicate.options import ReplicateOptions


class Probe:
    """Tells for how long the first run of a fresh experiment goes on alone."""

    def __init__(self, options: ReplicateOptions, *, is_fresh: bool) -> None:
        self._until = options.probe
        #: Whether other runs wait.
        self.goes_on = is_fresh and options.probe != "nothing"

    def see(self, event: Event) -> None:
        """Take in an event: it may be what the others wait for."""
        if isinstance(event, RunEnded) or (self._until == "iteration" and _has_recorded(event)):
            self.end()

    def end(self) -> None:
        """Let the others start."""
        self.goes_on = False


def _has_recorded(event: Event) -> bool:
    """Tell whether a training has been through one iteration of its main loop, and has recorded values."""
    return isinstance(event, RunProgress) and not event.step and bool(event.iteration) and bool(event.values)
