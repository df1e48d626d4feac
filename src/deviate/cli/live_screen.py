"""The screen of runs that go on: a line for each, the result so far, and how much is left."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from deviate.cli.printing import columns_of, cut
from deviate.core.experiment import Experiment, Run
from deviate.core.secrets import mask_words
from deviate.core.shell_words import typed_word
from deviate.report.escape import clean
from deviate.report.numbers import about_seconds, value_texts
from deviate.report.words import command_text, count, listed, run_name

if TYPE_CHECKING:
    from deviate.facts.live import LiveExperiment

#: Cells of a bar from the widest on, with whether the word for a round stands beside it, and the values that should
#: have room then.
LAYOUTS = ((30, True, 2), (20, True, 2), (10, False, 1), (0, False, 1))

#: Cells of the line that the results of runs so far lie on, and columns from which on it has room.
STRIP_CELLS, STRIP_FROM = 24, 80

BLANK = "  "


class GoingRun(NamedTuple):
    """A run that goes on."""

    name: str
    seconds: float
    #: Iterations of the main loop with a reported value; None before the first.
    done: int | None
    #: The latest value of each metric.
    values: Mapping[str, float]
    #: What goes on beside the training: the name of an evaluation.
    step: str = ""


class LiveScreen(NamedTuple):
    """What is known of an experiment whose runs go on."""

    name: str
    command: str
    #: Runs planned, and how many go on side by side.
    planned: str
    going: Sequence[GoingRun]
    #: The metrics that are shown, the main one first, and the decimals that the program prints.
    metrics: Sequence[str]
    decimals: Mapping[str, int | None]
    #: Of the main metric, of the runs that have completed; empty where one number of a run is not its last value.
    results: Sequence[float]
    #: Rounds of the main loop, and what one is called.
    rounds: int | None
    word: str
    done: int
    total: int
    failed: int
    shared: int
    elapsed: float
    left: float | None


def empty_screen(experiment: Experiment, jobs: int) -> LiveScreen:
    """Return what is known of an experiment before any run has begun."""
    from deviate.observe.headline import by_kind

    metrics = by_kind([metric for metric in experiment.metrics if metric.selected])
    loop = experiment.main_loop
    return LiveScreen(
        name=experiment.name,
        command=command_text(mask_words(experiment.command)),
        planned=planned_text(experiment.planned, jobs),
        going=[],
        metrics=[metric.name for metric in metrics],
        decimals={metric.name: metric.decimals for metric in metrics},
        results=[],
        rounds=loop.rounds if loop else None,
        word=loop.word if loop else "epoch",
        done=0,
        total=0,
        failed=0,
        shared=0,
        elapsed=0.0,
        left=None,
    )


def takes_last(experiment: Experiment, main: str) -> bool:
    """Whether the number of a run is its last value of the main metric, and all runs are of one kind."""
    aggregates = {metric.name: metric.aggregate for metric in experiment.metrics}
    return aggregates.get(main) == "last" and len(experiment.planned) == 1


def watched_screen(experiment: Experiment, live: LiveExperiment) -> LiveScreen:
    """Return what the files of an experiment show of its runs."""
    screen, alone = empty_screen(experiment, live.jobs), len(experiment.planned) == 1
    own = live.own
    going = [run for run in own if run.state in ("under way", "evaluating")]
    completed = [run for run in own if run.state == "completed"]
    is_result = bool(screen.metrics) and takes_last(experiment, screen.metrics[0])
    return screen._replace(
        going=[
            GoingRun(
                run_name(Run(variant=run.variant, index=int(run.name.rpartition("-")[2])), alone=alone),
                run.seconds or 0.0,
                run.rounds,
                run.latest,
                "evaluating" if run.state == "evaluating" else "",
            )
            for run in going
        ],
        results=[run.values[-1] for run in completed if run.values] if is_result else [],
        done=live.done,
        total=len(own),
        failed=sum(bool(run.reason) for run in own),
        shared=len(live.runs) - len(own),
        elapsed=live.elapsed,
        left=live.seconds_left if live.going else None,
    )


def failure_lines(live: LiveExperiment) -> list[str]:
    """Say once of each way in which runs ended which ones did, and where to read more."""
    ways: dict[tuple[str, str], list[str]] = {}
    for run in live.runs:
        if run.reason and run.state != "cancelled":
            ways.setdefault((run.state, run.reason), []).append(run.name)
    return [
        line
        for (state, reason), names in ways.items()
        for line in (
            f"{listed(names, RUNS_NAMED)} {state}: {clean(reason.removeprefix('it '))}",
            f"log:   deviate logs {typed_word(live.name)} {names[0]}",
        )
    ]


#: Runs that failed in one way and are named.
RUNS_NAMED = 3


def title(screen: LiveScreen) -> str:
    """Say what is trained, and how often."""
    return "   ".join(filter(None, (screen.name, screen.command, screen.planned)))


def planned_text(planned: Mapping[str, int], jobs: int) -> str:
    """Say how many runs there are, and how many go on side by side.

    >>> planned_text({"algo+impl": 8}, 2), planned_text({"init": 8, "control": 8}, 1)
    ('8 runs, 2 at a time', '16 runs, 8 each of 2 kinds')
    """
    total, each = sum(planned.values()), set(planned.values())
    kinds = f", {each.pop()} each of {len(planned)} kinds" if len(planned) > 1 and len(each) == 1 else ""
    return f"{count(total, 'run')}{kinds}{f', {jobs} at a time' if jobs > 1 else ''}"


def screen_lines(screen: LiveScreen, width: int) -> list[str]:
    """Lay the screen out for a terminal of so many columns."""
    lines = [title(screen), *_going_lines(screen, width), *_result_line(screen, width), _count_line(screen, width)]
    return [cut(line, width) for line in lines]


def _going_lines(screen: LiveScreen, width: int) -> list[str]:
    """Write a line for each run: how far it is, for how long it has gone on, and its latest values."""
    if not screen.going:
        return []
    names = [name for name in screen.metrics if any(name in run.values for run in screen.going)]
    values = [_column(screen, name) for name in names]
    for bar, has_word, least in LAYOUTS:
        columns = [[clean(run.name) for run in screen.going], *_how_far(screen, bar, has_word=has_word), _times(screen)]
        room = width - sum(max(map(cell_len, column)) + len(BLANK) for column in columns) + len(BLANK)
        shown = _fitting(values, room)
        if len(shown) >= min(least, len(values)):
            break
    return [BLANK.join(cells).rstrip() for cells in zip(*columns_of(columns), *columns_of(shown), strict=True)]


def _fitting(columns: Sequence[Sequence[str]], room: int) -> list[Sequence[str]]:
    shown = []
    for column in columns:
        room -= max(map(cell_len, column)) + len(BLANK)
        if room < 0:
            break
        shown.append(column)
    return shown


def _column(screen: LiveScreen, name: str) -> list[str]:
    values = [run.values.get(name) for run in screen.going]
    texts = value_texts(values, screen.decimals.get(name))
    wide = max(map(len, texts))
    return [
        f"{clean(name)} {text.rjust(wide)}" if value is not None else ""
        for text, value in zip(texts, values, strict=True)
    ]


def _how_far(screen: LiveScreen, bar: int, *, has_word: bool) -> list[list[str]]:
    rounds = screen.rounds
    bars = [_bar(run.done or 0, rounds, bar) for run in screen.going] if rounds and bar else []
    texts = [_place(run, rounds) for run in screen.going]
    wide = max(map(len, texts))
    word = f"{screen.word} " if has_word else ""
    placed = [
        clean(run.step) or ("starting" if run.done is None else f"{word}{text.rjust(wide)}")
        for run, text in zip(screen.going, texts, strict=True)
    ]
    return [*([bars] if bars else []), placed]


def _place(run: GoingRun, rounds: int | None) -> str:
    return "" if run.done is None or run.step else f"{run.done}/{rounds}" if rounds else f"{run.done}"


def _bar(done: int, rounds: int, cells: int) -> str:
    return ("█" * min(math.ceil(cells * done / rounds), cells)).ljust(cells)


def _times(screen: LiveScreen) -> list[str]:
    texts = [about_seconds(run.seconds) for run in screen.going]
    return [text.rjust(max(map(len, texts))) for text in texts]


def _result_line(screen: LiveScreen, width: int) -> list[str]:
    values = [value for value in screen.results if math.isfinite(value)]
    if not values or not screen.metrics:
        return []
    name, mean = screen.metrics[0], sum(values) / len(values)
    sd = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1)) if len(values) > 1 else None
    from deviate.report.numbers import metric_place, show

    place = metric_place(screen.decimals.get(name), sd)
    numbers = " ± ".join(show(number, place) for number in (mean, sd) if number is not None)
    text = f"{clean(name)} so far{BLANK}{numbers} ({count(len(values), 'run')})"
    if width < STRIP_FROM or not sd:
        return [text]
    from deviate.report.strips import strip

    return [f"{text}   {show(min(values), place)} {strip(values, STRIP_CELLS)} {show(max(values), place)}"]


def _count_line(screen: LiveScreen, width: int) -> str:
    """Count the runs that are done, go on and wait; say how long it took, and how long it will."""
    waiting = max(screen.total - screen.done - len(screen.going), 0)
    parts = [
        f"{screen.done} of {screen.total} done{f' ({screen.failed} failed)' if screen.failed else ''}",
        f"{len(screen.going)} running" if screen.going else "",
        f"{waiting} waiting" if waiting and width >= STRIP_FROM else "",
        f"{screen.shared} shared" if screen.shared and width >= STRIP_FROM else "",
    ]
    is_over = screen.left is None or screen.done >= screen.total
    left = "" if is_over or screen.left is None else f"about {about_seconds(screen.left)} left"
    return "   ".join(filter(None, (", ".join(filter(None, parts)), about_seconds(screen.elapsed), left)))
