"""What is seen while runs go on: live bars in a terminal, a line per run elsewhere; always on standard error."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import NamedTuple

import msgspec
from rich.console import Console
from rich.live import Live
from rich.text import Text

from deviate.cli.live_screen import GoingRun, LiveScreen, empty_screen, screen_lines, takes_last, title
from deviate.cli.printing import show_duration
from deviate.core.experiment import Experiment, Run
from deviate.core.interrupts import at_any_end
from deviate.report.escape import clean
from deviate.report.numbers import about_seconds, value_texts
from deviate.report.words import count, listed, run_name
from deviate.runs.events import (
    Begun,
    ColdStart,
    Compared,
    GoesOn,
    LeftoverEnded,
    LeftToCluster,
    Looked,
    OpenedAnew,
    PackingTried,
    RunEnded,
    RunLost,
    RunProgress,
    RunShared,
    RunsPlaced,
    RunStarted,
    StepEnded,
    StudyEvent,
    Submitted,
    TimeLeft,
    Waits,
)
from deviate.runs.executors.executor import DEFAULT_EXECUTOR, Slot
from deviate.runs.hardware import usable_cores
from deviate.runs.packing import LIMIT
from deviate.runs.prepared import RESERVED
from deviate.store.run_files import Completed

# What a line on standard error says of an event, while runs go on.


class Line(NamedTuple):
    """A line, which a terminal may cut to its width unless it is to be read whole."""

    text: Text
    whole: bool = True


def event_lines(event: StudyEvent) -> Iterator[Line]:
    """Return what is said of an event by itself, whatever came before it."""
    match event:
        case OpenedAnew():
            yield _whole(f"experiment {event.name!r} is a new one: {event.other}")
        case RunsPlaced():
            yield _whole(_placed(event))
        case GoesOn():
            yield from map(_whole, _going_on(event))
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


#: Seconds from which on the time left is said in a line.
LONG = 30.0


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
        self.time = TimeLeft(clock)
        self.runs = RunsFollowed(clock)
        #: Evaluations that failed, by run, until the run has ended.
        self.lost: dict[Run, dict[str, None]] = {}
        #: The last comparison of ``--until 'decided against B'``.
        self.compared: Compared | None = None
        #: What the user is to submit.
        self.scripts: list[str] = []
        self.live = Live(console=self.console, refresh_per_second=4, transient=True)
        self._is_titled = False
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
        self.runs.observe(event)
        match event:
            case RunStarted():
                self._title()
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
            self.live.update(self._screen())

    def _title(self) -> None:
        """Say once what is trained, and how often, where no screen says it all the time."""
        if not self.draws and not self._is_titled and self.runs.experiment is not None:
            self._is_titled = True
            self._print(Text(clean(title(self.runs.screen(self.time)))))

    def _screen(self) -> Text:
        if not self.time.total:
            return Text("")
        lines = screen_lines(self.runs.screen(self.time), self.console.width)
        return Text("\n".join(lines), no_wrap=True, overflow="crop")

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
            self._print(Text(f"{self.runs.called(event.run)}  {clean(event.step)} {how}", style="red"))
            if event.step not in RESERVED:
                self.lost.setdefault(event.run, {})[event.step] = None

    def _end(self, event: RunEnded) -> None:
        """Write a line for a run that ended; on a screen that shows all, for one that failed alone."""
        lost = self.lost.pop(event.run, None)
        is_well = isinstance(event.outcome, Completed) and not lost
        if self.draws and is_well:
            return
        took = show_duration(event.outcome.seconds or 0.0) if event.trained else "evaluated"
        if lost:
            took = f"{f'{took}, ' if event.trained else ''}not evaluated by {clean(listed(list(lost)))}"
        what = [took]
        if not isinstance(event.outcome, Completed):
            what.append(f"{event.outcome.status}: {clean(event.outcome.reason)}")
        elif event.values:
            what.append(self.runs.latest(event.values))
        counted = "" if self.draws else f"  ({self._count()})"
        line = f"{self.runs.called(event.run)}  {'  '.join(what)}{counted}"
        self._print(Text(line, style="" if is_well else "red"), whole=not isinstance(event.outcome, Completed))

    def _count(self) -> str:
        seconds = self.time.left()
        left = f", about {about_seconds(seconds)} left" if seconds is not None and seconds >= LONG else ""
        screen = self.runs.screen(self.time)
        return f"{screen.done} of {screen.total}{left}"


class RunsFollowed:
    """What the events of one call say of its experiment and of the runs that go on."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = clock()
        self.experiment: Experiment | None = None
        self.going: dict[Run, RunProgress | RunStarted] = {}
        self._jobs = 1
        #: The last values of runs that completed.
        self._values: dict[Run, Mapping[str, float]] = {}
        self._failed = self._shared = 0
        #: Nothing of the experiment had completed before.
        self.begins = False

    def observe(self, event: StudyEvent) -> None:
        """Take in one event."""
        match event:
            case Begun():
                self.experiment, self._jobs = event.experiment, event.jobs
                self._values |= event.values
                self.begins = not event.values
            case RunStarted() | RunProgress():
                self.going[event.run] = event
            case RunShared():
                self._shared += 1
            case RunEnded():
                self.going.pop(event.run, None)
                if isinstance(event.outcome, Completed):
                    self._values[event.run] = event.values
                else:
                    self._failed += 1

    def called(self, run: Run) -> str:
        """Name a run; with what varies in it where there are several variants."""
        return run_name(run, alone=self.experiment is not None and len(self.experiment.planned) == 1)

    def latest(self, values: Mapping[str, float]) -> str:
        """Write the main metric of a run, else its first value, and the first one of an evaluation."""
        steps = self.experiment.evaluations if self.experiment else []
        evaluated = [name for name in values if any(name.startswith(step.prefix) for step in steps)]
        own = [name for name in values if name not in evaluated]
        decimals = {metric.name: metric.decimals for metric in (self.experiment.metrics if self.experiment else ())}
        return "  ".join(
            f"{clean(name)} {value_texts([values[name]], decimals.get(name))[0]}" for name in (*own[:1], *evaluated[:1])
        )

    def screen(self, time_left: TimeLeft) -> LiveScreen:
        """Return all that is shown."""
        experiment = self.experiment
        assert experiment is not None
        # Runs that were made before, and are not among those of this call.
        before = max(sum(experiment.planned.values()) - time_left.total - self._shared, 0)
        screen = empty_screen(experiment, self._jobs)
        main = next(iter(screen.metrics), "")
        results = [values[main] for values in self._values.values() if main in values]
        seen = dict.fromkeys(name for each in self.going.values() for name in _values_of(each))
        return screen._replace(
            going=[self._going(run, latest) for run, latest in self.going.items()],
            metrics=list(dict.fromkeys([*screen.metrics, *seen])),
            results=results if takes_last(experiment, main) else [],
            done=before + time_left.ended,
            total=before + time_left.total,
            failed=self._failed,
            shared=self._shared,
            elapsed=self._clock() - self._begun,
            left=time_left.left(),
        )

    def _going(self, run: Run, latest: RunProgress | RunStarted) -> GoingRun:
        if isinstance(latest, RunStarted):
            return GoingRun(self.called(run), 0.0, None, {})
        done = latest.iteration if latest.reported is None else latest.reported + 1
        return GoingRun(self.called(run), latest.seconds, done, latest.values, latest.step)


def _values_of(latest: RunProgress | RunStarted) -> Mapping[str, float]:
    return latest.values if isinstance(latest, RunProgress) else {}


# Import what a report takes while runs go on, so that it need not be waited for when the last one has ended.

#: With all that they import.
MODULES = (
    "deviate.facts.experiment", "deviate.report.topics.experiment", "deviate.report.views",
    "deviate.report.writers.markdown", "deviate.report.writers.registry", "deviate.report.writers.terminal",
)  # fmt: skip


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
