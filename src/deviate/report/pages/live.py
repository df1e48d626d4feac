"""The page of an experiment whose runs may go on: how far they are, their curves, and what failed."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from deviate.report.aligned import aligned
from deviate.report.figures.live_curves import live_figure
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
    Sentences,
    Table,
)
from deviate.report.pages.cells import caveat_count, number
from deviate.report.strips import spark
from deviate.report.text.command import command_text
from deviate.report.text.live import live_sentences, live_state
from deviate.report.text.words import count, listed, ordinal
from deviate.results.live import LiveExperiment, LiveRun
from deviate.shell_words import typed_word

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
        subtitle=command_text(live.command),
        reader="screen" if terminal else "full",
        command=f"deviate watch {typed_word(live.name)}",
        sections=[*(section for section in sections if section.blocks), *map(_without_failures, report)],
        caveats="" if terminal else caveat_count(report),
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


def _runs(live: LiveExperiment, *, terminal: bool) -> Table:
    begun = sorted((run for run in live.runs if run.state != "waiting"), key=lambda run: _ORDER.index(run.state))
    shown = begun[:RUNS_SHOWN] if terminal else begun
    latest = aligned([_latest(run) for run in shown], _DIGITS)
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
        rows=[Row(cells=_cells(run, text, terminal=terminal)) for run, text in zip(shown, latest, strict=True)],
        notes=notes,
    )


def _latest(run: LiveRun) -> float | None:
    return run.values[-1] if run.values else None


def _cells(run: LiveRun, latest: str, *, terminal: bool) -> list[Cell]:
    return [
        Cell(run.name),
        Cell(run.state, emphasis=_EMPHASES.get(run.state, "bad")),
        number(UNKNOWN if run.iteration is None else ordinal(run.iteration + 1), run.iteration),
        number(UNKNOWN if run.seconds is None else show_seconds(run.seconds), run.seconds),
        number(latest, _latest(run)),
        *([Cell(spark(run.iterations, run.values))] if terminal else []),
    ]


def _failures(live: LiveExperiment, *, terminal: bool) -> list[Block]:
    """Show each way in which runs ended once, with the last lines of the first of them."""
    failed = [run for run in live.runs if run.reason and run.state != "cancelled"]
    ways: dict[tuple[str, str], list[LiveRun]] = {}
    for run in failed:
        ways.setdefault((run.state, run.reason), []).append(run)
    shown = list(ways.items())[: FAILURES_SHOWN if terminal else None]
    folds: list[Block] = [
        Fold(
            title=listed([run.name for run in runs]),
            # Outcomes say "it ended with …", of each run alone.
            remark=f"{state}: {reason.removeprefix('it ')}",
            emphasis="bad",
            blocks=[
                *([Code(lines=_tail(runs[0], terminal=terminal), output=True)] if runs[0].tail else []),
                Hint(text="", command=f"deviate logs {typed_word(live.name)} {runs[0].name}"),
            ],
        )
        for (state, reason), runs in shown
    ]
    more = len(failed) - sum(len(runs) for _, runs in shown)
    return [*folds, *([Sentences(sentences=[f"and {count(more, 'more run')} that did not complete"])] if more else [])]


def _tail(run: LiveRun, *, terminal: bool) -> list[str]:
    return run.tail[-LINES_SHOWN:] if terminal else run.tail
