"""The page of an experiment whose runs may go on: how far they are, their curves, and what failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deviate.core.experiment import Run
from deviate.core.shell_words import typed_word
from deviate.facts.curves import thinned
from deviate.facts.live import LiveExperiment, LiveRun, State
from deviate.report.escape import clean
from deviate.report.figures import (
    Figure,
    axis_title,
    chart,
    coloured,
    domain,
    flattened,
    quantitative,
    quantity,
    slug,
    tips,
    view,
    whole,
    word,
)
from deviate.report.numbers import about_seconds, value_texts
from deviate.report.page import Answer, Badge, Block, Cell, Code, Column, Drawing, Fold, Hint, Page, Row, Section, Table
from deviate.report.topics.metrics import number
from deviate.report.words import command_text, count, listed, run_name

# How far the runs of an experiment have come, in sentences.

_ENDED = ("completed", "failed", "timed-out", "cancelled", "not-instrumented")

#: Words for states that are counted behind the first number: those of runs that ended, and others.
_BESIDE: dict[State, str] = {
    "under way": "running",
    "evaluating": "evaluating",
    "failed": "failed",
    "timed-out": "timed out",
    "cancelled": "cancelled",
    "not-instrumented": "not instrumented",
    "interrupted": "interrupted",
}


def live_state(live: LiveExperiment) -> str:
    """Say in a word or two whether runs go on."""
    if live.going:
        return "running"
    if live.count("completed") == len(live.own):
        return "complete"
    return "ended" if all(run.state in _ENDED for run in live.runs) else "not running"


def live_sentences(live: LiveExperiment) -> list[str]:
    """Count the runs by how far they are, and say how long the rest will take."""
    own = live.own
    ended = sum(run.state in _ENDED for run in own)
    beside = {state: f"{number} {words}" for state, words in _BESIDE.items() if (number := live.count(state))}
    among = [words for state, words in beside.items() if state in _ENDED]
    others = [words for state, words in beside.items() if state not in _ENDED]
    others += [f"{waiting} waiting"] if (waiting := live.count("waiting")) else []
    others += [f"{shared} shared"] if (shared := len(live.runs) - len(own)) else []
    if live.going and live.seconds_left is not None:
        others.append(f"about {about_seconds(live.seconds_left)} left")
    how = f" ({listed(among, len(_BESIDE))})" if among else ""
    return [f"{', '.join([f'{ended} of {len(live.runs)} done{how}', *others])}."]


# The main metric of all runs so far, those under way among them.

HEIGHT = 280

#: Points of one run.
POINTS = 200


def live_figure(live: LiveExperiment) -> Figure | None:
    """Draw a line per run with a point at its latest value; None before a run has a value."""
    drawn = [run for run in live.runs if run.values]
    if not drawn:
        return None
    latest = "; a point marks the latest value of a run under way" if live.count("under way") else ""
    only = "; a point alone is the only value of a run" if any(len(run.values) == 1 for run in drawn) else ""
    return Figure(
        slug=slug("live", live.metric),
        section="curves",
        title=f"{clean(live.metric)} so far",
        description=f"A line for each run, those that ended pale{latest}{only}.",
        metric=live.metric,
        spec=_chart(live, drawn),
    )


#: Runs that go on are dark.
_DARK = {
    "opacity": {"condition": {"test": "datum.going", "value": 1}, "value": 0.3},
    "strokeWidth": {"condition": {"test": "datum.going", "value": 2.2}, "value": 1.2},
}


def _chart(live: LiveExperiment, drawn: list[LiveRun]) -> dict[str, Any]:
    lines = [_line(run) for run in drawn]
    y = quantitative(domain(value for line in lines for value in line["value"]), axis_title(live.metric))
    order = list(dict.fromkeys(run.variant for run in live.runs))
    named = list(dict.fromkeys(run.variant for run in drawn))
    at = {"x": whole("iteration", live.word), "y": quantity("value", **y), "color": coloured(order, named)}
    shown = {**at, "tooltip": tips(the_run="run", iteration=live.word, value=live.metric)}
    going = [
        {"variant": run.variant, "run": run.name, "iteration": run.iterations[-1] + 1, "value": run.values[-1]}
        for run in drawn
        if run.state == "under way" or len(run.values) == 1
    ]
    points = [flattened("iteration", "value")]
    layers = [
        view("runs", "line", {**at, "detail": word("run"), "tooltip": tips(the_run="run"), **_DARK}, transform=points),
        *([view("going", "point", shown, filled=True, size=60, opacity=1)] if going else []),
    ]  # fmt: skip
    return chart({"runs": lines, **({"going": going} if going else {})}, layers, HEIGHT)


def _line(run: LiveRun) -> dict[str, Any]:
    kept = thinned(run.values, POINTS).tolist()
    return {
        "variant": run.variant,
        "run": run.name,
        "going": run.state == "under way",
        # Counted as a terminal does, which says how many a run has reported.
        "iteration": [run.iterations[place] + 1 for place in kept],
        "value": [run.values[place] for place in kept],
    }


#: Last lines of a failed run.
LINES_SHOWN = 5


def live_page(live: LiveExperiment, report: Sequence[Section] = ()) -> Page:
    """Make the page; the sections of the `report` on the runs that have ended stand below."""
    first = Section(slug="live", blocks=[*_answer(live), *_going(live), *_failures(live)])
    # The runs that failed stand above it.
    untitled = (block for section in report if not section.title for block in section.blocks)
    above = [block for block in untitled if not (isinstance(block, Fold) and block.emphasis == "bad")]
    of = Section(
        slug="report", title=f"Report on {live.count('completed')} of {count(len(live.own), 'run')}", blocks=above
    )
    return Page(
        title=live.name,
        subtitle=command_text(live.command),
        reader="full",
        command=f"deviate watch {typed_word(live.name)}",
        sections=[first, *([of] if above else []), *(section for section in report if section.title)],
    )


def _answer(live: LiveExperiment) -> list[Block]:
    badge = None if live.going else Badge(text=live_state(live), emphasis="quiet")
    figure = live_figure(live)
    answer = Answer(sentences=live_sentences(live), badge=badge, done=live.share)
    return [answer, *([Drawing(figure=figure)] if figure else [])]


#: Metrics beside a run that goes on.
METRICS_SHOWN = 3


def _going(live: LiveExperiment) -> list[Block]:
    going = [run for run in live.own if run.state in ("under way", "evaluating")]
    if not going:
        return []
    names = [name for name in live.decimals if any(name in run.latest for run in going)][:METRICS_SHOWN]
    values = [value_texts([run.latest.get(name) for run in going], live.decimals[name]) for name in names]
    rows = [
        Row(
            cells=[
                Cell(_called(run, live)),
                _how_far(run, live),
                *(number(texts[place], run.latest.get(name)) for name, texts in zip(names, values, strict=True)),
                number(about_seconds(run.seconds or 0.0), run.seconds),
            ]
        )
        for place, run in enumerate(going)
    ]
    columns = [
        Column(head="run", numeric=False),
        Column(head=live.word, numeric=False),
        *(Column(head=name) for name in (*names, "time")),
    ]
    return [Table(caption="Running", columns=columns, rows=rows)]


def _called(run: LiveRun, live: LiveExperiment) -> str:
    index = int(run.name.rpartition("-")[2])
    return run_name(Run(variant=run.variant, index=index), alone=len({each.variant for each in live.runs}) == 1)


def _how_far(run: LiveRun, live: LiveExperiment) -> Cell:
    if run.state == "evaluating":
        return Cell("evaluating")
    if run.rounds is None:
        return Cell("starting")
    if not live.rounds:
        return Cell(f"{run.rounds}")
    return Cell(f"{run.rounds}/{live.rounds}", done=min(run.rounds / live.rounds, 1.0))


def _failures(live: LiveExperiment) -> list[Block]:
    ways: dict[tuple[str, str], list[LiveRun]] = {}
    for run in live.own:
        if run.reason and run.state != "cancelled":
            ways.setdefault((run.state, run.reason), []).append(run)
    return [
        Fold(
            title=listed([_called(run, live) for run in runs]),
            # Outcomes say "it ended with …", of each run alone.
            remark=f"{state}: {reason.removeprefix('it ')}",
            emphasis="bad",
            blocks=[
                *([Code(lines=runs[0].tail[-LINES_SHOWN:], output=True)] if runs[0].tail else []),
                Hint(text="", command=f"deviate logs {typed_word(live.name)} {runs[0].name}"),
            ],
        )
        for (state, reason), runs in ways.items()
    ]
