"""What is seen while runs go on: live bars in a terminal, a line per run elsewhere; always on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from deviate.cli.duration import show_duration
from deviate.cli.event_lines import event_lines, planned_runs
from deviate.experiment import Run
from deviate.replicate.events import RunEnded, RunProgress, RunStarted, StepEnded, Submitted
from deviate.replicate.interrupts import at_any_end
from deviate.replicate.time_left import TimeLeft
from deviate.replicate.workspace.run_files import Completed
from deviate.report.aligned import aligned
from deviate.report.durations import about_seconds
from deviate.report.escape import clean
from deviate.report.text.words import count, listed, nth_iteration
from deviate.study.events import Compared, StudyEvent
from deviate.study.steps import RESERVED

#: Latest values shown of each run.
VALUES_SHOWN = 3

#: Significant digits of a latest value.
VALUE_DIGITS = 4

#: Seconds from which on the time left is said in a line.
LONG = 30.0

MARKS = {"completed": ("✓", "green"), "cancelled": ("-", "dim")}


class Progress:
    """Shows the events of the replicate stage, on standard error unless another console is given.

    With a `label` it is one of several beside each other: that begins its lines, and no bars are drawn.
    """

    def __init__(
        self, console: Console | None = None, clock: Callable[[], float] = time.monotonic, label: str = ""
    ) -> None:
        self.console = console or Console(stderr=True)
        self.label = label
        self.draws = self.console.is_terminal and not label
        self.going: dict[Run, RunProgress | RunStarted] = {}
        #: Evaluations that failed, by run, until the run has ended.
        self.lost: dict[Run, dict[str, None]] = {}
        self.time = TimeLeft(clock)
        #: Whether it was said how many runs there are.
        self.counted = False
        #: The last comparison of ``--until 'decided against B'``.
        self.compared: Compared | None = None
        #: What the user is to submit.
        self.scripts: list[str] = []
        self.live = Live(console=self.console, refresh_per_second=4, transient=True)
        self._open = ExitStack()

    def __enter__(self) -> Progress:
        if self.draws:
            # It hides the cursor, which must not stay hidden.
            self._open.enter_context(at_any_end(self.live.stop))
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def observe(self, event: StudyEvent) -> None:
        """Take in one event."""
        self.time.observe(event)
        match event:
            case RunStarted():
                self._start(event)
            case RunProgress():
                self.going[event.run] = event
            case StepEnded():
                self._step(event)
            case RunEnded():
                self._end(event)
            case Compared():
                self.compared = event
            case Submitted(sent=False):
                self.scripts.append(event.script)
        for text, whole in event_lines(event):
            self._print(text, whole=whole)
        if self.draws:
            self.live.update(self._table())

    def _start(self, event: RunStarted) -> None:
        self.going[event.run] = event
        if not self.draws and event.number == 1 and (event.total > 1 or not self.counted):
            self.counted = True
            self._print(Text(planned_runs(event.planned)))

    def _print(self, line: Text, *, whole: bool = True) -> None:
        """Print a line, on a terminal cut to its width unless it is to be read whole."""
        cut = self.console.is_terminal and not whole
        labelled = Text.assemble((f"{self.label}  ", "dim"), line) if self.label else line
        self.console.print(
            labelled, highlight=False, no_wrap=cut, overflow="ellipsis" if cut else None, soft_wrap=not cut
        )

    def _step(self, event: StepEnded) -> None:
        if not isinstance(event.outcome, Completed):
            how = f"{event.outcome.status}: {clean(event.outcome.reason)}"
            self._print(Text.assemble(("✗", "red"), f" {event.run.folder}  {clean(event.step)}: {how}"))
            if event.step not in RESERVED:
                self.lost.setdefault(event.run, {})[event.step] = None

    def _end(self, event: RunEnded) -> None:
        self.going.pop(event.run, None)
        seconds = event.outcome.seconds or 0.0
        mark, style = MARKS.get(event.outcome.status, ("✗", "red"))
        what = show_duration(seconds) if event.trained else "evaluated"
        if lost := self.lost.pop(event.run, None):
            mark, style = "✗", "red"
            what = f"{f'{what}, ' if event.trained else ''}not evaluated by {clean(listed(list(lost)))}"
        line = Text.assemble((mark, style), f" {event.run.folder}  {what}")
        if not isinstance(event.outcome, Completed):
            line.append(f"  {event.outcome.status}: {clean(event.outcome.reason)}")
        elif event.values:
            line.append(f"  {_values(event.values)}", style="dim")
        if not self.draws:
            line.append(f"  ({self._count()})", style="dim")
        self._print(line, whole=not isinstance(event.outcome, Completed))

    def _count(self) -> str:
        """Count the runs that ended, with the time left where it is long."""
        seconds = self.time.left()
        left = f", about {about_seconds(seconds)} left" if seconds is not None and seconds >= LONG else ""
        return f"{self.time.ended} of {self.time.total}{left}"

    def _table(self) -> Table:
        grid = Table.grid(padding=(0, 2))
        values = _below_each_other([_values_of(latest) for latest in self.going.values()])
        for (run, latest), shown in zip(self.going.items(), values, strict=True):
            seconds = latest.seconds if isinstance(latest, RunProgress) else 0.0
            grid.add_row(Text(f"· {run.folder}"), show_duration(seconds), Text(_latest(latest, shown), style="dim"))
        ended = f"{self.time.ended} of {count(self.time.total, 'run')}"
        grid.add_row(Text(ended, style="bold"), "", Text(self._left(), style="dim"))
        return grid

    def _left(self) -> str:
        seconds, is_over = self.time.left(), self.time.ended >= self.time.total
        return "" if seconds is None or is_over else f"about {about_seconds(seconds)} left"


def _latest(latest: RunProgress | RunStarted, values: str) -> str:
    if isinstance(latest, RunStarted):
        return "starting"
    iteration = "" if latest.iteration is None else f"{nth_iteration(latest.iteration)}  "
    step = f"{clean(latest.step)}  " if latest.step else ""
    return step + iteration + values


def _values_of(latest: RunProgress | RunStarted) -> Mapping[str, float]:
    return latest.values if isinstance(latest, RunProgress) else {}


def _values(values: Mapping[str, float]) -> str:
    return _line(values, {name: f"{value:.{VALUE_DIGITS}g}" for name, value in values.items()})


def _below_each_other(runs: Sequence[Mapping[str, float]]) -> list[str]:
    """Write the first values of each run in a line, the points of a metric below each other."""
    columns: dict[str, list[str]] = {}
    for name in {name for values in runs for name in list(values)[:VALUES_SHOWN]}:
        texts = aligned([values.get(name) for values in runs], VALUE_DIGITS)
        columns[name] = [text.rjust(max(map(len, texts))) for text in texts]
    return [_line(values, {name: texts[index] for name, texts in columns.items()}) for index, values in enumerate(runs)]


def _line(values: Mapping[str, float], texts: Mapping[str, str]) -> str:
    shown = [f"{clean(name)} {texts[name]}" for name in list(values)[:VALUES_SHOWN]]
    more = len(values) - len(shown)
    return "  ".join(shown) + (f"  +{more}" if more else "")
