"""What is seen while runs go on: live bars in a terminal, a line per run elsewhere; always on standard error."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import NamedTuple

import msgspec
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from deviate.cli.printing import show_duration
from deviate.core.experiment import Run
from deviate.core.interrupts import at_any_end
from deviate.report.aligned import about_seconds, aligned
from deviate.report.escape import clean
from deviate.report.words import count, listed, nth_iteration
from deviate.runs.events import (
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
from deviate.runs.executors.executor import Slot
from deviate.runs.executors.registry import DEFAULT_EXECUTOR
from deviate.runs.experiment_events import (
    Compared,
    FactorsSeen,
    GoesOn,
    Looked,
    OpenedAnew,
    PackingTried,
    RunsPlaced,
    StudyEvent,
)
from deviate.runs.hardware import usable_cores
from deviate.runs.packing import LIMIT
from deviate.runs.prepared import RESERVED
from deviate.runs.time_left import TimeLeft
from deviate.store.run_files import Completed

# What a line on standard error says of an event, while runs go on.


class Line(NamedTuple):
    """A line, which a terminal may cut to its width unless it is to be read whole."""

    text: Text
    whole: bool = True


def event_lines(event: StudyEvent) -> Iterator[Line]:
    """Return what is said of an event by itself, whatever came before it."""
    match event:
        case RunShared():
            how = (
                f"as {event.twin.folder}, which draws the same" if event.twin else "not trained: it draws nothing else"
            )
            yield Line(Text(f"= {event.run.folder}  {how}", style="dim"), whole=False)
        case OpenedAnew():
            yield _whole(f"experiment {event.name!r} is a new one: {event.other}")
        case RunsPlaced():
            yield _whole(_placed(event))
        case GoesOn():
            yield from map(_whole, _going_on(event))
        case FactorsSeen():
            yield Line(Text(_factors(event), style="dim"), whole=False)
        case Looked():
            from deviate.report.topics.runs import progress_line

            yield _whole(progress_line(event.variant, event.look, event.until), style="bold")
        case Compared():
            from deviate.report.topics.runs import compared_line

            yield _whole(compared_line(event), style="bold")
        case Submitted(sent=True):
            left = "leaves it there" if event.runs == 1 else "leaves them there"
            text = f"{count(event.runs, 'run')} handed to {event.executor}; Ctrl-C {left}"
            yield Line(Text(text, style="dim"), whole=False)
        case Waits():
            waiting = f"{count(event.runs, 'run')} {'waits' if event.runs == 1 else 'wait'} in {event.executor}"
            yield Line(Text(f"{waiting}: {clean(event.reason)}", style="dim"), whole=False)
        case RunLost():
            why = f"its job ended before it did ({event.state})" if event.state else "no job makes it"
            yield Line(Text(f"{event.run.folder}: {why}{'; submitted again' if event.again else ''}"), whole=False)
        case LeftToCluster():
            yield from map(_whole, left_lines(event))
        case PackingTried():
            yield _whole(_packing(event), style="dim" if event.result is None else "")
        case ColdStart():
            yield _whole(f"not forked (warm): {event.reason}", style="dim")
        case LeftoverEnded():
            text = f"{event.run.folder}: ended {event.processes} processes that outlived a stopped deviate"
            yield Line(Text(text), whole=False)


def _whole(line: str, style: str = "") -> Line:
    return Line(Text(clean(line), style=style))


def planned_runs(planned: Mapping[str, int]) -> str:
    """Say how many runs each variant gets.

    Examples
    --------
    >>> planned_runs({"init": 6, "impl": 6}), planned_runs({"init": 6, "impl": 5}), planned_runs({"init": 1})
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
    options = [f"{name}={value}" for name, value in given.items() if value is not None and name != "executor"]
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
    if event.stdin:
        yield f"runs read the standard input that {event.name!r} was made with; < FILE gives another one"
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
    return f"  randomness seen in: {', '.join(event.present)}" if event.present else "  no draw was counted"


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


# Import what a report takes while runs go on, so that it need not be waited for when the last one has ended.

#: With all that they import.
MODULES = (
    "deviate.facts.experiment",
    "deviate.report.topics.experiment",
    "deviate.report.views",
    "deviate.report.writers.markdown",
    "deviate.report.writers.registry",
    "deviate.report.writers.terminal",
)


class EarlyImports:
    """Imports in a thread, once, while a core is nobody's: no run is to take longer for it."""

    def __init__(self) -> None:
        self._cores = set(usable_cores())
        self._slots: dict[Run, Slot] = {}
        #: Whether nothing has begun or ended since a core was seen to be nobody's.
        self._seen = False
        self._thread: threading.Thread | None = None

    def observe(self, event: StudyEvent) -> None:
        """Take in one event."""
        match event:
            case RunStarted():
                self._slots[event.run] = event.slot
                self._seen = False
            case RunEnded():
                self._slots.pop(event.run, None)
                self._seen = False
            case RunProgress() if self._thread is None and self._has_core():
                # Where a run has just ended, the next is about to start.
                if self._seen:
                    self._thread = threading.Thread(target=_import, name="imports")
                    self._thread.start()
                self._seen = True

    def _has_core(self) -> bool:
        """Tell whether there is a core that no run is held to."""
        held = [slot.cores for slot in self._slots.values()]
        return None not in held and bool(self._cores.difference(*(cores or () for cores in held)))

    def __enter__(self) -> EarlyImports:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for what is being imported: two threads that import from both ends may find half a module.

        Nor can a process end in order meanwhile: what is imported asks to be told of the end. After a signal nobody
        waits, since that ends the process at once.
        """
        if self._thread is not None and not isinstance(error, KeyboardInterrupt):
            self._thread.join()


def _import() -> None:
    # What is missing is said where it is needed.
    with suppress(ImportError):
        for module in MODULES:
            importlib.import_module(module)
