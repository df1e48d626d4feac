"""The first run of an experiment shows whether the others are worth making."""

from __future__ import annotations

from deviate.replicate.events import Event, RunProgress
from deviate.replicate.options import ReplicateOptions


class Probe:
    """Tells for how long the first run of a fresh experiment goes on alone."""

    def __init__(self, options: ReplicateOptions, *, is_fresh: bool) -> None:
        self._until = options.probe
        #: Whether other runs wait.
        self.goes_on = is_fresh and options.probe != "nothing"

    def see(self, event: Event) -> None:
        """Take in what a run that goes on does: it may be what the others wait for."""
        if self._until == "iteration" and _has_recorded(event):
            self.end()

    def end(self) -> None:
        """Let the others start: the first run has ended, or has recorded enough."""
        self.goes_on = False


def _has_recorded(event: Event) -> bool:
    """Tell whether a training has been through one iteration of its main loop, and has recorded values."""
    return isinstance(event, RunProgress) and not event.step and bool(event.iteration) and bool(event.values)
