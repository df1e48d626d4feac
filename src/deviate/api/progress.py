"""What a notebook shows while runs go on: a few lines of a cell's output, written anew with each event."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable

from deviate.core.experiment import Run
from deviate.report.aligned import about_seconds
from deviate.report.numbers import show_seconds
from deviate.report.words import ended_as, nth_iteration
from deviate.runs.events import RunEnded, RunProgress, RunShared, RunStarted
from deviate.runs.experiment_events import StudyEvent
from deviate.runs.time_left import TimeLeft
from deviate.store.run_files import Completed

#: Latest values shown of each run.
VALUES_SHOWN = 3


def ignore(event: StudyEvent) -> None:
    """Show nothing."""


def notebook_observer() -> Callable[[StudyEvent], None]:
    """Return what shows the events of runs below the cell that is executed; outside of a notebook it shows nothing."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return ignore
    from IPython.display import display

    handle = display({"text/plain": "starting"}, raw=True, display_id=True)
    return Progress(lambda text: handle.update({"text/plain": text}, raw=True)).observe


class Progress:
    """Follows the runs of a call and hands the lines to `show` whenever they change."""

    def __init__(self, show: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._show = show
        self._time = TimeLeft(clock)
        self._going: dict[Run, str] = {}
        self._ends: Counter[str] = Counter()
        self._lost: list[str] = []

    def observe(self, event: StudyEvent) -> None:
        """Take in one event."""
        self._time.observe(event)
        match event:
            case RunStarted():
                self._going[event.run] = "starting"
            case RunProgress():
                self._going[event.run] = _latest(event)
            case RunEnded():
                self._end(event)
            case RunShared():
                # It counts no more among those that are to be made.
                pass
            case _:
                return
        self._show("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """Return what is shown: how many runs ended and how, those that failed, and those under way."""
        ends = ", ".join(f"{number} {end}" for end, number in self._ends.items())
        ended, total, left = self._time.ended, self._time.total, self._time.left()
        is_shown = left is not None and ended < total
        parts = [f"{ended} of {total} runs", ends, f"about {about_seconds(left)} left" if is_shown and left else ""]
        under_way = [f"· {run.folder}  {latest}" for run, latest in self._going.items()]
        return ["  ".join(filter(None, parts)), *self._lost, *under_way]

    def _end(self, event: RunEnded) -> None:
        self._going.pop(event.run, None)
        self._ends[ended_as(event.outcome.status)] += 1
        if not isinstance(event.outcome, Completed):
            self._lost.append(f"✗ {event.run.folder}  {ended_as(event.outcome.status)}: {event.outcome.reason}")


def _latest(event: RunProgress) -> str:
    iteration = "" if event.iteration is None else nth_iteration(event.iteration)
    values = [f"{name} {value:.4g}" for name, value in list(event.values.items())[:VALUES_SHOWN]]
    return "  ".join(filter(None, [show_seconds(event.seconds), event.step, iteration, *values]))
