"""What a notebook shows while runs go on: a few lines of a cell's output, written anew with each event."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping

from deviate.core.experiment import Experiment, Run
from deviate.report.numbers import about_seconds
from deviate.report.words import ended_as, run_name
from deviate.runs.events import Begun, RunEnded, RunProgress, RunShared, RunStarted, StudyEvent, TimeLeft
from deviate.store.run_files import Completed

#: Latest values shown of each run.
VALUES_SHOWN = 3


def ignore(event: StudyEvent) -> None:
    """Show nothing."""


def observer(progress: bool | Callable[[str], object]) -> Callable[[StudyEvent], None]:
    """Return what takes the events of runs: for a notebook, for a function that is given the lines, or for nobody."""
    if callable(progress):
        return Progress(progress).observe
    return notebook_observer() if progress else ignore


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

    def __init__(self, show: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._show = show
        self._time = TimeLeft(clock)
        self._going: dict[Run, str] = {}
        #: A line for each run that ended.
        self._ended: list[str] = []
        self._experiment: Experiment | None = None
        self._decimals: dict[str, int | None] = {}

    def observe(self, event: StudyEvent) -> None:
        """Take in one event."""
        self._time.observe(event)
        match event:
            case Begun():
                self._experiment = event.experiment
                self._decimals = {metric.name: metric.decimals for metric in event.experiment.metrics}
                return
            case RunStarted():
                self._going[event.run] = "starting"
            case RunProgress():
                self._going[event.run] = self._latest(event)
            case RunEnded():
                self._end(event)
            case RunShared():
                # It counts no more among those that are to be made.
                pass
            case _:
                return
        self._show("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """Return what is shown: a line for each run that ended and for each under way, and how much is left."""
        done, total, left = self._time.ended, self._time.total, self._time.left()
        running = f", {len(self._going)} running" if self._going else ""
        remains = f"about {about_seconds(left)} left" if left and done < total else ""
        under_way = [f"{self._called(run)}  {latest}" for run, latest in self._going.items()]
        return [*self._ended, *under_way, "   ".join(filter(None, [f"{done} of {total} done{running}", remains]))]

    def _called(self, run: Run) -> str:
        return run_name(run, alone=self._experiment is not None and len(self._experiment.planned) == 1)

    def _end(self, event: RunEnded) -> None:
        self._going.pop(event.run, None)
        outcome = event.outcome
        if isinstance(outcome, Completed):
            said = self._values(event.values, 1)
        else:
            said = f"{ended_as(outcome.status)}: {outcome.reason}"
        took = about_seconds(outcome.seconds or 0.0)
        counted = f"({self._time.ended} of {self._time.total})"
        self._ended.append("  ".join(filter(None, [self._called(event.run), took, said, counted])))

    def _latest(self, event: RunProgress) -> str:
        loop = self._experiment.main_loop if self._experiment else None
        done = event.iteration if event.reported is None else event.reported + 1
        rounds = f"/{loop.rounds}" if loop and loop.rounds else ""
        place = "" if done is None else f"{loop.word if loop else 'epoch'} {done}{rounds}"
        values = self._values(event.values, VALUES_SHOWN)
        return "  ".join(filter(None, [event.step or place, about_seconds(event.seconds), values]))

    def _values(self, values: Mapping[str, float], most: int) -> str:
        """Write the first values as the program does, as far as its decimals are known."""
        texts = []
        for name, value in list(values.items())[:most]:
            decimals = self._decimals.get(name)
            texts.append(f"{name} {value:.4g}" if decimals is None else f"{name} {value:.{decimals}f}")
        return "  ".join(texts)
