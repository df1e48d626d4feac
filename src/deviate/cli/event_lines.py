"""What a line on standard error says of an event, while runs go on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec
from rich.text import Text

from deviate.replicate.events import ColdStart, LeftoverEnded, LeftToCluster, RunLost, RunShared, Submitted, Waits
from deviate.replicate.executors.registry import DEFAULT_EXECUTOR
from deviate.report.escape import clean
from deviate.report.text.words import count, listed
from deviate.study.events import Compared, FactorsSeen, GoesOn, Looked, OpenedAnew, PackingTried, RunsPlaced, StudyEvent
from deviate.study.packing import LIMIT


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
            yield from map(_whole, _alike(event))
        case Looked():
            from deviate.report.text.until import progress_line

            yield _whole(progress_line(event.variant, event.look, event.until), style="bold")
        case Compared():
            from deviate.report.text.decided import compared_line

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
            yield _whole(f"not forked (--warm): {event.reason}", style="dim")
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


def _alike(event: FactorsSeen) -> Iterator[str]:
    for noisy, held in event.alike:
        yield (
            f"  {noisy} and {held} are likely to come out equal: threads are pinned and no GPU was used; --skip-alike "
            "trains one of them"
        )
