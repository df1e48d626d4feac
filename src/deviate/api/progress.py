"""What a notebook shows while runs go on: a few lines of a cell's output, written anew with each event."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable

from deviate.experiment import Run
from deviate.replicate.events import RunEnded, RunProgress, RunShared, RunStarted
from deviate.replicate.workspace.run_files import Completed
from deviate.report.durations import about_seconds
from deviate.report.numbers import show_seconds
from deviate.report.text.words import ended_as, nth_iteration
from deviate.study.events import StudyEvent

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
        self._show, self._clock, self._began = show, clock, clock()
        self._total = 0
        self._going: dict[Run, str] = {}
        self._ends: Counter[str] = Counter()
        self._lost: list[str] = []

    def observe(self, event: StudyEvent) -> None:
        """Take in one event."""
        match event:
            case RunStarted():
                self._total = event.total
                self._going[event.run] = "starting"
            case RunProgress():
                self._going[event.run] = _latest(event)
            case RunShared():
                self._total = max(self._total - 1, self._ended)
            case RunEnded():
                self._end(event)
            case _:
                return
        self._show("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """Return what is shown: how many runs ended and how, those that failed, and those under way."""
        ends = ", ".join(f"{number} {end}" for end, number in self._ends.items())
        left = self._ended and (self._clock() - self._began) / self._ended * (self._total - self._ended)
        parts = [f"{self._ended} of {self._total} runs", ends, f"about {about_seconds(left)} left" if left else ""]
        under_way = [f"· {run.folder}  {latest}" for run, latest in self._going.items()]
        return ["  ".join(filter(None, parts)), *self._lost, *under_way]

    @property
    def _ended(self) -> int:
        return self._ends.total()

    def _end(self, event: RunEnded) -> None:
        self._going.pop(event.run, None)
        self._ends[ended_as(event.outcome.status)] += 1
        if not isinstance(event.outcome, Completed):
            self._lost.append(f"✗ {event.run.folder}  {ended_as(event.outcome.status)}: {event.outcome.reason}")


def _latest(event: RunProgress) -> str:
    iteration = "" if event.iteration is None else nth_iteration(event.iteration)
    values = [f"{name} {value:.4g}" for name, value in list(event.values.items())[:VALUES_SHOWN]]
    return "  ".join(filter(None, [show_seconds(event.seconds), event.step, iteration, *values]))
