"""What is seen while runs go on: live bars in a terminal, a line per run elsewhere; always on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType

import msgspec
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from deviate.cli.duration import show_duration
from deviate.experiment import Run
from deviate.replicate.events import (
    ColdStart,
    LeftoverEnded,
    LeftToCluster,
    RunEnded,
    RunLost,
    RunProgress,
    RunShared,
    RunStarted,
    StepEnded,
    Submitted,
    Waits,
)
from deviate.replicate.executors.registry import DEFAULT_EXECUTOR
from deviate.replicate.workspace.run_files import Completed
from deviate.report.aligned import aligned
from deviate.report.durations import about_seconds
from deviate.report.escape import clean
from deviate.report.text.words import count, listed, nth_iteration
from deviate.study.events import Compared, FactorsSeen, GoesOn, Looked, OpenedAnew, PackingTried, RunsPlaced, StudyEvent
from deviate.study.packing import LIMIT
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
        self.clock = clock
        self.going: dict[Run, RunProgress | RunStarted] = {}
        self.durations: list[float] = []
        #: Evaluations that failed, by run, until the run has ended.
        self.lost: dict[Run, dict[str, None]] = {}
        self.ended = 0
        self.total = 0
        #: Whether it was said how many runs there are.
        self.counted = False
        self.began = clock()
        #: The last comparison of ``--until 'decided against B'``.
        self.compared: Compared | None = None
        #: What the user is to submit.
        self.scripts: list[str] = []
        self.live = Live(console=self.console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Progress:
        if self.draws:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.draws:
            self.live.stop()

    def observe(self, event: StudyEvent) -> None:
        """Take in one event."""
        match event:
            case RunStarted():
                self.total = event.total
                self.going[event.run] = event
                if not self.draws and event.number == 1 and (event.total > 1 or not self.counted):
                    self.counted = True
                    self._whole(_planned(event.planned))
            case RunProgress():
                self.going[event.run] = event
            case RunShared():
                self.total = max(self.total - 1, self.ended)
                how = (
                    f"as {event.twin.folder}, which draws the same"
                    if event.twin
                    else "not trained: it draws nothing else"
                )
                self._say(Text(f"= {event.run.folder}  {how}", style="dim"))
            case StepEnded():
                self._step(event)
            case RunEnded():
                self._end(event)
            case OpenedAnew():
                self._whole(f"experiment {event.name!r} is a new one: {event.other}")
            case RunsPlaced():
                self._whole(_placed(event))
            case GoesOn():
                for line in _going_on(event):
                    self._whole(line)
            case FactorsSeen():
                self._say(Text(_factors(event), style="dim"))
                for line in _alike(event):
                    self._whole(line)
            case Looked():
                from deviate.report.text.until import progress_line

                self._whole(progress_line(event.variant, event.look, event.until), style="bold")
            case Compared():
                from deviate.report.text.decided import compared_line

                self.compared = event
                self._whole(compared_line(event), style="bold")
            case Submitted(sent=False):
                self.scripts.append(event.script)
            case Submitted():
                left = "leaves it there" if event.runs == 1 else "leaves them there"
                self._say(Text(f"{count(event.runs, 'run')} handed to {event.executor}; Ctrl-C {left}", style="dim"))
            case Waits():
                waiting = f"{count(event.runs, 'run')} {'waits' if event.runs == 1 else 'wait'} in {event.executor}"
                self._say(Text(f"{waiting}: {clean(event.reason)}", style="dim"))
            case RunLost():
                why = f"its job ended before it did ({event.state})" if event.state else "no job makes it"
                self._say(Text(f"{event.run.folder}: {why}{'; submitted again' if event.again else ''}"))
            case LeftToCluster():
                for line in left_lines(event):
                    self._whole(line)
            case PackingTried():
                self._whole(_packing(event), style="dim" if event.result is None else "")
            case ColdStart():
                self._whole(f"not forked (--warm): {event.reason}", style="dim")
            case LeftoverEnded():
                self._say(
                    Text(f"{event.run.folder}: ended {event.processes} processes that outlived a stopped deviate")
                )
        if self.draws:
            self.live.update(self._table())

    def _whole(self, line: str | Text, style: str = "") -> None:
        """Print a line that is not cut to the width of the terminal."""
        text = line if isinstance(line, Text) else Text(clean(line), style=style)
        self.console.print(self._labelled(text), highlight=False, soft_wrap=True)

    def _step(self, event: StepEnded) -> None:
        if not isinstance(event.outcome, Completed):
            how = f"{event.outcome.status}: {clean(event.outcome.reason)}"
            self._whole(Text.assemble(("✗", "red"), f" {event.run.folder}  {clean(event.step)}: {how}"))
            if event.step not in RESERVED:
                self.lost.setdefault(event.run, {})[event.step] = None

    def _end(self, event: RunEnded) -> None:
        self.going.pop(event.run, None)
        self.ended += 1
        seconds = event.outcome.seconds or 0.0
        if event.trained:
            self.durations.append(seconds)
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
        if isinstance(event.outcome, Completed):
            self._say(line)
        else:
            self._whole(line)

    def _count(self) -> str:
        """Count the runs that ended, with the time left where it is long."""
        seconds = self.time_left()
        left = f", about {about_seconds(seconds)} left" if seconds is not None and seconds >= LONG else ""
        return f"{self.ended} of {self.total}{left}"

    def _say(self, line: Text) -> None:
        """Print a line, on a terminal cut to its width."""
        cut = self.console.is_terminal
        self.console.print(
            self._labelled(line), highlight=False, no_wrap=cut, overflow="ellipsis" if cut else None, soft_wrap=not cut
        )

    def _labelled(self, line: Text) -> Text:
        return Text.assemble((f"{self.label}  ", "dim"), line) if self.label else line

    def _table(self) -> Table:
        grid = Table.grid(padding=(0, 2))
        values = _below_each_other([_values_of(latest) for latest in self.going.values()])
        for (run, latest), shown in zip(self.going.items(), values, strict=True):
            seconds = latest.seconds if isinstance(latest, RunProgress) else 0.0
            grid.add_row(Text(f"· {run.folder}"), show_duration(seconds), Text(_latest(latest, shown), style="dim"))
        ended = f"{self.ended} of {count(self.total, 'run')}"
        grid.add_row(Text(ended, style="bold"), "", Text(self._left(), style="dim"))
        return grid

    def _left(self) -> str:
        seconds = self.time_left()
        return "" if seconds is None or self.ended >= self.total else f"about {about_seconds(seconds)} left"

    def time_left(self) -> float | None:
        """Estimate the seconds left, from the pace of the runs that have ended; None before the first has."""
        if not self.ended:
            return None
        return (self.clock() - self.began) / self.ended * (self.total - self.ended)


def _planned(planned: Mapping[str, int]) -> str:
    """Say how many runs each variant gets.

    Examples
    --------
    >>> _planned({"init": 6, "impl": 6}), _planned({"init": 6, "impl": 5}), _planned({"init": 1})
    ('12 runs: 2 variants (init and impl), 6 of each', '11 runs: 6 of init and 5 of impl', '1 run of init')
    """
    total = count(sum(planned.values()), "run")
    if len(planned) == 1:
        return f"{total} of {next(iter(planned))}"
    if len(set(planned.values())) == 1:
        names = listed(list(planned), len(planned))
        return f"{total}: {len(planned)} variants ({names}), {next(iter(planned.values()))} of each"
    return f"{total}: {listed([f'{runs} of {name}' for name, runs in planned.items()], len(planned))}"


def _placed(event: RunsPlaced) -> str:
    where = event.placement
    if where.executor == DEFAULT_EXECUTOR:
        return f"runs are made on this machine, {event.by}"
    given = msgspec.structs.asdict(where)
    options = [f"--{name} {value}" for name, value in given.items() if value is not None and name != "executor"]
    words = f" ({' '.join(options)})" if options else ""
    return f"runs are made by {where.executor}{words}, {event.by}; --executor local makes them on this machine"


def left_lines(event: LeftToCluster) -> Iterator[str]:
    """Say what goes on in a cluster, and what ends it."""
    one = event.runs == 1
    of = f" of {event.cells} cells" if event.cells > 1 else ""
    going = f"{count(event.runs, 'run')}{of} {'goes' if one else 'go'} on in {event.executor} without this command"
    if event.waiting:
        going += f"; {count(event.waiting, 'run')} {'is' if event.waiting == 1 else 'are'} not handed over yet"
    yield f"{going}: the same command goes on; to end {'it' if one else 'them'}, type"
    yield f"  {event.cancel}"


def _going_on(event: GoesOn) -> Iterator[str]:
    if event.changed:
        changed = listed(event.changed, most=10)
        yield f"{event.name!r} continues from its copy of the project; changed since: {changed}"
    if event.aside:
        yield (
            f"{event.name!r} continues from its copy of the project; changed since, but not used by its training: "
            f"{listed(event.aside, most=3)}"
        )


def _packing(event: PackingTried) -> str:
    runs, result = f"{event.per_gpu} runs on a GPU", event.result
    if result is None:
        return f"{runs}: trying whether they report what one alone does (about {2 * LIMIT:g} s at most)"
    if result.reason:
        return f"{runs}: not shown to report what one alone does, and marked ({result.reason})"
    return f"{runs}: {result.values} values of each of {result.jobs} equal those of a run alone"


def _factors(event: FactorsSeen) -> str:
    present = f"randomness seen in: {', '.join(event.present)}" if event.present else ""
    absent = f"{'not' if present else 'no randomness seen'} in: {', '.join(event.absent)}" if event.absent else ""
    return f"  {'; '.join(filter(None, (present, absent)))}"


def _alike(event: FactorsSeen) -> Iterator[str]:
    for noisy, held in event.alike:
        yield (
            f"  {noisy} and {held} are likely to come out equal: threads are pinned and no GPU was used; --skip-alike "
            "trains one of them"
        )


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
