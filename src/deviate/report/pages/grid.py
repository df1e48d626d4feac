"""The pages of a grid: its cells and effects in tables, the answer before them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from deviate.inference.experiment import ExperimentFacts
from deviate.inference.grid.facts import Grid, GridMetric, GridTerm
from deviate.report.figures.distribution import distribution_figure
from deviate.report.figures.figure import Figure, slug, unique
from deviate.report.numbers import Numbers, finest, show, show_interval
from deviate.report.page import (
    AT_TERMINAL,
    Answer,
    Cell,
    Column,
    Drawing,
    Page,
    Reader,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.pages.cells import (
    TRUST,
    again_sections,
    caveat_blocks,
    caveat_count,
    columns,
    more_blocks,
    number,
    telling,
)
from deviate.report.pages.checklist import checklist_table
from deviate.report.pages.screen_lines import HEAD_LINES, LINES, lines_taken
from deviate.report.pages.shared_names import SharedNames, shared_names, with_shared_names
from deviate.report.text.caveat import counted_caveats, split_caveats
from deviate.report.text.comparison.runs import runs_methods
from deviate.report.text.grid import (
    best_sentence,
    effects_sentence,
    grid_caveats,
    grid_checklist,
    grid_headline,
    grid_left_out,
    grid_methods,
    mark_text,
    mean_text,
    place_text,
)
from deviate.report.text.words import count, listed

#: What the numbers of a row come to.
VERDICT = Column(head="verdict", numeric=False)

#: Cells on a screen: with a short answer above them, and with however long a one.
MOST_CELLS, FEWEST_CELLS = 5, 3


def grid_page(grid: Grid, reader: Reader, made: Callable[[], Mapping[str, ExperimentFacts]] = dict) -> Page:
    """Make the page of a grid for a reader; a paper also says how the runs of the cells were `made`."""
    if reader in AT_TERMINAL:
        shared = _shared(grid)
        sections = [_terminal(grid, shared, in_full=reader == "brief")]
        page = Page(title="", reader=reader, sections=sections, command=grid.command)
        return with_shared_names(page, shared)
    methods = Sentences(sentences=grid_methods(grid))
    if reader == "paper":
        methods = Sentences(sentences=[*grid_methods(grid), *grid_left_out(grid)], about="Grid.")
        tables = [table for metric in grid.metrics if metric.claimed for table in _tables(metric, grid)]
        sections = [
            Section(slug="grid", blocks=[*tables]),
            Section(slug="methods", blocks=[methods]),
            *_made(grid, made()),
        ]
    else:
        sections = [
            Section(slug="answer", title="In short", blocks=[Answer(sentences=grid_headline(grid), listed=True)]),
            *(_metric_section(metric, grid) for metric in grid.metrics),
            Section(slug="trust", title=TRUST, blocks=[*caveat_blocks(grid_caveats(grid))]),
            Section(slug="methods", title="For a paper: methods", blocks=[methods]),
            *again_sections(grid.command),
        ]
    return Page(
        title=f"Grid of {listed(grid.experiments)}",
        reader=reader,
        sections=[section for section in sections if section.blocks],
        caveats=caveat_count(sections),
        command=grid.command,
    )


def _made(grid: Grid, made: Mapping[str, ExperimentFacts]) -> list[Section]:
    """Say how the runs of the cells were made, and answer the checklist; nothing where that was not read."""
    if not made:
        return []
    made = {label: _of_claimed(facts, grid) for label, facts in made.items()}
    by_cell = runs_methods(grid.comparability, made)
    common = by_cell.pop("")
    # Cells and sides are in one order.
    cells = zip(grid.metrics[0].cells, by_cell.values(), strict=True)
    own = [f"{cell.label}: {' '.join(sentences)}" for cell, sentences in cells if sentences]
    return [
        Section(
            slug="runs",
            blocks=[
                Sentences(sentences=common, about="Runs of each cell."),
                *([Sentences(sentences=own, about="Cells.", listed=True)] if own else []),
            ],
        ),
        Section(slug="reproducibility", blocks=[checklist_table(grid_checklist(grid, made))]),
    ]


def _of_claimed(facts: ExperimentFacts, grid: Grid) -> ExperimentFacts:
    """Leave out the metrics that the tables of a paper do not have."""
    claimed = [metric.name for metric in grid.metrics if metric.claimed]
    variants = [
        msgspec.structs.replace(each, metrics=[metric for metric in each.metrics if metric.name in claimed])
        for each in facts.variants
    ]
    return msgspec.structs.replace(facts, variants=variants)


def _shared(grid: Grid) -> SharedNames:
    """Return what the names of all cells share, by name and by what a cell is called."""
    cells = {cell.experiment: cell.label for metric in grid.metrics for cell in metric.cells}
    shared = shared_names([*cells, *(cell.experiment for cell in grid.missing)])
    labels = {cells[name]: rest for name, rest in shared.rests.items() if name in cells}
    return SharedNames(shared.sentence, {**shared.rests, **labels})


def _terminal(grid: Grid, shared: SharedNames, *, in_full: bool) -> Section:
    """Return the answer and what is claimed; in full also what is explored, how it was tested, and all notes."""
    caveats = grid_caveats(grid)
    on_screen, others = split_caveats(caveats)
    shown = [metric for metric in grid.metrics if in_full or metric.claimed]
    headline = grid_headline(grid, brief=not in_full)
    taken = lines_taken(*headline, *(f"! {caveat.message}" for caveat in on_screen)) + bool(shared.sentence)
    # The last line says where the rest is.
    room = max(FEWEST_CELLS, min(MOST_CELLS, LINES - 1 - HEAD_LINES - taken))
    tables = [table for metric in shown for table in _tables(metric, grid)] if in_full else _screen_tables(shown, room)
    rest = (
        [Sentences(sentences=grid_methods(grid), emphasis="quiet")]
        if in_full
        else more_blocks(*_left_out(grid, shown, room), *counted_caveats(others))
    )
    return Section(
        slug="answer",
        blocks=[
            Sentences(sentences=headline, listed=True),
            *tables,
            *caveat_blocks(caveats if in_full else on_screen),
            *rest,
        ],
    )


def _screen_tables(shown: Sequence[GridMetric], room: int) -> list[Table]:
    """Return the best cells of each metric; the first lines name a single one, and titles several."""
    titled = len(shown) > 1
    tables = (_cells(metric, "mean ± SD") for metric in shown)
    short = (msgspec.structs.replace(each, rows=each.rows[:room], notes=[], titled=titled) for each in tables)
    return [table for each in short for table in telling([each])]


def _left_out(grid: Grid, shown: Sequence[GridMetric], room: int) -> list[str]:
    """Name what a screen leaves out of the tables."""
    cells = max(0, len(shown[0].cells) - room) if shown else 0
    explored = len(grid.metrics) - len(shown)
    return [
        *([count(cells, "more cell")] if cells else []),
        *(["the analysis of variance"] if any(metric.terms for metric in shown) else []),
        *([count(explored, "more metric")] if explored else []),
    ]


def _metric_section(metric: GridMetric, grid: Grid) -> Section:
    sentences = [] if metric.claimed else [best_sentence(metric), effects_sentence(metric, grid)]
    figure = _figure(metric, grid)
    return Section(
        slug=slug("metric", metric.name),
        title=f"{metric.name}{_explored(metric)}",
        blocks=[
            *([Sentences(sentences=sentences)] if sentences else []),
            *([Drawing(figure=figure)] if figure else []),
            *_tables(metric, grid),
        ],
    )


def grid_figures(grid: Grid) -> list[Figure]:
    """Draw the runs of each cell, metric by metric."""
    figures = (_figure(metric, grid) for metric in grid.metrics)
    return unique(figure for figure in figures if figure is not None)


def _figure(metric: GridMetric, grid: Grid) -> Figure | None:
    (measured,) = [match for match in grid.comparability.metrics if match[0].name == metric.name]
    labels = [cell.label for cell in metric.cells]
    rows = [(label, each) for label, each in zip(labels, measured, strict=True) if each.n]
    return distribution_figure(rows, 1 - grid.alpha) if rows else None


def _explored(metric: GridMetric) -> str:
    return "" if metric.claimed else " (exploratory)"


def _tables(metric: GridMetric, grid: Grid) -> list[Table]:
    tables = [_cells(metric), *([_effects(metric, grid)] if metric.terms else [])]
    return [each for table in tables for each in telling([table])]


def _cells(metric: GridMetric, mean: str = "") -> Table:
    """Return the table of the cells, the best first; `mean` heads their means, by default with the metric."""
    place = finest([cell.sd for cell in metric.cells])
    ordered = sorted(metric.cells, key=lambda cell: cell.rank or 0)
    level = metric.cells[0].ci_mean.level
    heads = columns("cell", "runs", mean or f"{metric.name}\nmean ± SD", f"{100 * level:g}% CI", "place")
    heads[0] = msgspec.structs.replace(heads[0], fold_at=48)
    return Table(
        caption=f"{metric.name} ({metric.aggregate}) by cell{_explored(metric)}",
        notes=["Place: the ranks that the comparisons of every two cells leave open."],
        slug=slug("cells", metric.name),
        columns=[*heads, VERDICT],
        titled=True,
        rows=[
            Row(
                cells=[
                    Cell(cell.label, emphasis="strong" if cell.rank == 1 else "plain"),
                    number(str(cell.n), cell.n),
                    number(mean_text(cell, metric), cell.mean),
                    number(show_interval(cell.ci_mean, place), cell.ci_mean.low),
                    number(place_text(cell), cell.rank),
                    Cell(mark_text(cell, metric), emphasis="good" if cell.may_be_best else "plain"),
                ]
            )
            for cell in ordered
        ],
    )


def _effect_verdict(term: GridTerm, metric: GridMetric) -> str:
    if metric.withheld:
        return ""
    return "shown" if term.shown else "not shown"


def _effect_columns() -> list[Column]:
    """Return the columns; a narrow screen gives up what the adjusted p rests on."""
    heads = columns("effect", "df", "F", "p", "p (HC3)", "adjusted", "partial η²", "90% CI")
    given_up = {"p": 3, "p (HC3)": 2, "df": 1}
    return [msgspec.structs.replace(head, sacrifice=given_up.get(head.head, 0)) for head in heads]


def _effects(metric: GridMetric, grid: Grid) -> Table:
    numbers = Numbers(grid.look.alpha)
    return Table(
        caption=f"{metric.name}: analysis of variance{_explored(metric)}",
        notes=[f"Residual degrees of freedom: {metric.df_residual:g}. The adjusted p decides."],
        slug=slug("effects", metric.name),
        titled=True,
        columns=[*_effect_columns(), VERDICT],
        rows=[
            Row(
                cells=[
                    Cell(term.name, emphasis="strong" if term.shown else "plain"),
                    number(f"{term.df:g}", term.df),
                    number(f"{term.classic.statistic:.2f}", term.classic.statistic),
                    number(numbers.p(term.classic.p), term.classic.p),
                    number(numbers.p(term.robust.p), term.robust.p),
                    number(numbers.p(term.p_adjusted), term.p_adjusted),
                    number(show(term.eta_squared.value, -2), term.eta_squared.value),
                    number(show_interval(term.eta_squared.interval, -2), term.eta_squared.interval.low),
                    Cell(_effect_verdict(term, metric), emphasis="good" if term.shown else "plain"),
                ]
            )
            for term in metric.terms
        ],
    )
