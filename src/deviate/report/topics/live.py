"""The page of an experiment whose runs may go on: how far they are, their curves, and what failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from deviate.core.shell_words import typed_word
from deviate.facts.curves import thinned
from deviate.facts.live import LiveExperiment, LiveRun, State
from deviate.report.aligned import about_seconds, aligned
from deviate.report.escape import clean
from deviate.report.figures.charts import (
    axis_title,
    chart,
    coloured,
    domain,
    flattened,
    quantitative,
    quantity,
    tips,
    view,
    whole,
    word,
)
from deviate.report.figures.figure import Figure, slug
from deviate.report.numbers import UNKNOWN, show_seconds
from deviate.report.page import (
    Answer,
    Badge,
    Block,
    Cell,
    Code,
    Column,
    Drawing,
    Emphasis,
    Fold,
    Hint,
    Page,
    Row,
    Section,
    Table,
)
from deviate.report.topics.command import command_text
from deviate.report.topics.metrics import caveat_count, number
from deviate.report.words import count, listed

# How far the runs of an experiment have come, in sentences.

_ENDED = ("completed", "evaluating", "failed", "timed-out", "cancelled", "not-instrumented")

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
    if live.count("completed") == len(live.runs):
        return "complete"
    return "ended" if all(run.state in _ENDED for run in live.runs) else "not running"


def live_sentences(live: LiveExperiment) -> list[str]:
    """Count the runs by how far they are, and say how long the rest will take."""
    ended = sum(run.state in _ENDED for run in live.runs)
    beside = {state: f"{number} {words}" for state, words in _BESIDE.items() if (number := live.count(state))}
    among = [words for state, words in beside.items() if state in _ENDED]
    others = [words for state, words in beside.items() if state not in _ENDED]
    others += [f"{waiting} waiting"] if (waiting := live.count("waiting")) else []
    if live.going and live.seconds_left is not None:
        others.append(f"about {about_seconds(live.seconds_left)} left")
    how = f" ({listed(among, len(_BESIDE))})" if among else ""
    return [f"{', '.join([f'{ended} of {len(live.runs)} done{how}', *others])}."]


# The main metric of all runs so far, those under way among them.

HEIGHT = 220

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
        description=f"A line for each run{latest}{only}.",
        metric=live.metric,
        spec=_chart(live, drawn),
    )


def _chart(live: LiveExperiment, drawn: list[LiveRun]) -> dict[str, Any]:
    lines = [_line(run) for run in drawn]
    y = quantitative(domain(value for line in lines for value in line["value"]), axis_title(live.metric))
    order = list(dict.fromkeys(run.variant for run in live.runs))
    named = list(dict.fromkeys(run.variant for run in drawn))
    at = {"x": whole("iteration", "iteration"), "y": quantity("value", **y), "color": coloured(order, named)}
    shown = {**at, "tooltip": tips(the_run="run", iteration="iteration", value=live.metric)}
    going = [
        {"variant": run.variant, "run": run.name, "iteration": run.iterations[-1], "value": run.values[-1]}
        for run in drawn
        if run.state == "under way" or len(run.values) == 1
    ]
    points = [flattened("iteration", "value")]
    layers = [
        view("runs", "line", {**at, "detail": word("run"), "tooltip": tips(the_run="run")}, transform=points,
             strokeWidth=1.5),
        *([view("going", "point", shown, filled=True, size=60, opacity=1)] if going else []),
    ]  # fmt: skip
    return chart({"runs": lines, **({"going": going} if going else {})}, layers, HEIGHT)


def _line(run: LiveRun) -> dict[str, Any]:
    kept = thinned(run.values, POINTS).tolist()
    return {
        "variant": run.variant,
        "run": run.name,
        "iteration": [run.iterations[place] for place in kept],
        "value": [run.values[place] for place in kept],
    }


#: Last lines of a failed run.
LINES_SHOWN = 5

#: Significant digits of a latest value.
_DIGITS = 4

_ORDER = (
    "under way",
    "evaluating",
    "failed",
    "timed-out",
    "not-instrumented",
    "interrupted",
    "cancelled",
    "completed",
    "waiting",
)

_EMPHASES: dict[str, Emphasis] = {
    "completed": "good",
    "under way": "accent",
    "evaluating": "accent",
    "waiting": "quiet",
    "cancelled": "quiet",
}


def live_page(live: LiveExperiment, report: Sequence[Section] = ()) -> Page:
    """Make the page; the sections of the `report` on the runs that have ended stand below."""
    sections = [
        Section(slug="live", title="Now", blocks=[*_answer(live), _runs(live)]),
        Section(slug="failures", title="Failures", blocks=_failures(live)),
    ]
    return Page(
        title=live.name,
        subtitle=command_text(live.command),
        reader="full",
        command=f"deviate watch {typed_word(live.name)}",
        sections=[*(section for section in sections if section.blocks), *map(_without_failures, report)],
        caveats=caveat_count(report),
    )


def _without_failures(section: Section) -> Section:
    """Leave out of the report's answer the failed runs, which stand above it."""
    if section.slug != "answer":
        return section
    kept = [block for block in section.blocks if not (isinstance(block, Fold) and block.emphasis == "bad")]
    return structs.replace(section, blocks=kept)


def _answer(live: LiveExperiment) -> list[Block]:
    badge = Badge(text=live_state(live), emphasis="accent" if live.going else "quiet")
    figure = live_figure(live)
    return [Answer(sentences=live_sentences(live), badge=badge), *([Drawing(figure=figure)] if figure else [])]


def _runs(live: LiveExperiment) -> Table:
    begun = sorted((run for run in live.runs if run.state != "waiting"), key=lambda run: _ORDER.index(run.state))
    latest = aligned([_latest(run) for run in begun], _DIGITS)
    waiting = live.count("waiting")
    return Table(
        caption="Runs",
        columns=[
            Column(head="run", numeric=False),
            Column(head="state", numeric=False),
            Column(head="iteration", sacrifice=1),
            Column(head="time", sacrifice=2),
            Column(head=live.metric or "value"),
        ],
        rows=[Row(cells=_cells(run, text)) for run, text in zip(begun, latest, strict=True)],
        notes=[f"{count(waiting, 'run')} waiting"] if waiting else [],
    )


def _latest(run: LiveRun) -> float | None:
    return run.values[-1] if run.values else None


def _cells(run: LiveRun, latest: str) -> list[Cell]:
    return [
        Cell(run.name),
        Cell(run.state, emphasis=_EMPHASES.get(run.state, "bad")),
        number(UNKNOWN if run.iteration is None else str(run.iteration + 1), run.iteration),
        number(UNKNOWN if run.seconds is None else show_seconds(run.seconds), run.seconds),
        number(latest, _latest(run)),
    ]


def _failures(live: LiveExperiment) -> list[Block]:
    """Show each way in which runs ended once, with the last lines of the first of them."""
    ways: dict[tuple[str, str], list[LiveRun]] = {}
    for run in live.runs:
        if run.reason and run.state != "cancelled":
            ways.setdefault((run.state, run.reason), []).append(run)
    return [
        Fold(
            title=listed([run.name for run in runs]),
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
