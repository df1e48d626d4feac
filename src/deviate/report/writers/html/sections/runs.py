"""The runs one by one: how each ended, and the last lines of those that did not complete."""

from __future__ import annotations

from deviate.report.parts import Document, RunReport
from deviate.report.shown import show_seconds
from deviate.report.words import ENDED
from deviate.report.writers.html.section import Content, Page, Section
from deviate.report.writers.html.tables import Cell, Head, Table, heads, number


def _content(page: Page[Document]) -> Content:
    runs = [run for variant in page.said.variants for run in variant.runs]
    if not runs:
        return None
    return {"failures": [_failure(run) for run in runs if run.status != "completed"], "table": _table(runs)}


def _failure(run: RunReport) -> dict[str, object]:
    reason = f": {run.reason}" if run.reason else ""
    said = f"{run.name} {ENDED[run.status]} after {show_seconds(run.seconds)}{reason}"
    return {"said": said, "lines": run.stderr_tail}


def _table(runs: list[RunReport]) -> Table:
    seeds = list(dict.fromkeys(name for run in runs for name in run.seeds))
    return Table(
        caption="Every run",
        heads=[
            *heads("run", "ended", "time", "threads", *(f"seed of {name}" for name in seeds), words=2),
            Head("remarks"),
        ],
        rows=[_row(run, seeds) for run in runs],
    )


def _row(run: RunReport, seeds: list[str]) -> list[Cell]:
    return [
        Cell(run.name),
        Cell(run.status),
        number(show_seconds(run.seconds), run.seconds),
        number("" if run.threads is None else str(run.threads), run.threads),
        *(number(str(run.seeds.get(name, "")), run.seeds.get(name)) for name in seeds),
        Cell(" ".join(run.warnings)),
    ]


SECTION = Section(slug="runs", title="Runs", content=_content)
