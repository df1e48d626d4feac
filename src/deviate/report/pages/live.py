"""The page of an experiment whose runs may go on: how far they are, their curves, and what failed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from deviate.report.figures.live_curves import live_figure
from deviate.report.numbers import UNKNOWN, show, show_seconds
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
    Sentences,
    Table,
)
from deviate.report.pages.cells import caveat_count, number
from deviate.report.strips import spark
from deviate.report.text.live import live_sentences, live_state
from deviate.report.text.words import count, ordinal
from deviate.results.live import LiveExperiment, LiveRun

#: Runs that a terminal lists; those under way come first.
RUNS_SHOWN = 12

#: Lines of a failed run in a terminal, and failed runs there.
LINES_SHOWN, FAILURES_SHOWN = 3, 2

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


def live_page(live: LiveExperiment, report: Sequence[Section] = (), *, terminal: bool = False) -> Page:
    """Make the page; the sections of the `report` on the runs that have ended stand below."""
    sections = [
        Section(slug="live", title="" if terminal else "Now", blocks=[*_answer(live), _runs(live, terminal=terminal)]),
        Section(slug="failures", title="" if terminal else "Failures", blocks=_failures(live, terminal=terminal)),
    ]
    return Page(
        title=live.name,
        subtitle=shlex.join(live.command),
        reader="screen" if terminal else "full",
        command=f"deviate watch {shlex.quote(live.name)}",
        sections=[*(section for section in sections if section.blocks), *report],
        caveats="" if terminal else caveat_count(report),
    )


def _answer(live: LiveExperiment) -> list[Block]:
    badge = Badge(text=live_state(live), emphasis="accent" if live.going else "quiet")
    figure = live_figure(live)
    return [Answer(sentences=live_sentences(live), badge=badge), *([Drawing(figure=figure)] if figure else [])]


def _runs(live: LiveExperiment, *, terminal: bool) -> Table:
    begun = sorted((run for run in live.runs if run.state != "waiting"), key=lambda run: _ORDER.index(run.state))
    shown = begun[:RUNS_SHOWN] if terminal else begun
    waiting, more = live.count("waiting"), len(begun) - len(shown)
    notes = [f"{count(more, 'more run')}"] if more else []
    notes += [f"{count(waiting, 'run')} waiting"] if waiting else []
    return Table(
        caption="Runs",
        columns=[
            Column(head="run", numeric=False),
            Column(head="state", numeric=False),
            Column(head="iteration", sacrifice=1),
            Column(head="time", sacrifice=2),
            Column(head=live.metric or "value"),
            *([Column(head="curve", numeric=False, drawn=True, sacrifice=3)] if terminal else []),
        ],
        rows=[Row(cells=_cells(run, terminal=terminal)) for run in shown],
        notes=notes,
    )


def _cells(run: LiveRun, *, terminal: bool) -> list[Cell]:
    latest = run.values[-1] if run.values else None
    return [
        Cell(run.name),
        Cell(run.state, emphasis=_EMPHASES.get(run.state, "bad")),
        number(UNKNOWN if run.iteration is None else ordinal(run.iteration + 1), run.iteration),
        number(UNKNOWN if run.seconds is None else show_seconds(run.seconds), run.seconds),
        number(UNKNOWN if latest is None else show(float(f"{latest:.{_DIGITS}g}")), latest),
        *([Cell(spark(run.iterations, run.values))] if terminal else []),
    ]


def _failures(live: LiveExperiment, *, terminal: bool) -> list[Block]:
    failed = [run for run in live.runs if run.reason and run.state != "cancelled"]
    shown = failed[:FAILURES_SHOWN] if terminal else failed
    folds: list[Block] = [
        Fold(
            title=run.name,
            remark=f"{run.state}: {run.reason}",
            emphasis="bad",
            blocks=[
                *([Code(lines=run.tail[-LINES_SHOWN:] if terminal else run.tail, output=True)] if run.tail else []),
                Hint(text="", command=f"deviate logs {shlex.quote(live.name)} {run.name}"),
            ],
        )
        for run in shown
    ]
    more = len(failed) - len(shown)
    return [*folds, *([Sentences(sentences=[f"and {count(more, 'more run')} that did not complete"])] if more else [])]
