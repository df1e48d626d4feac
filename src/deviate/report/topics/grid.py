"""The pages of a grid: its cells and effects in tables, the answer before them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from deviate.core.shell_words import typed_word
from deviate.facts.experiment import ExperimentFacts
from deviate.facts.grid import Grid, GridCell, GridMetric, GridSpread, GridTerm
from deviate.report.figures import Figure, slug, unique
from deviate.report.numbers import (
    Numbers,
    last_place,
    metric_place,
    show,
    show_effect,
    show_interval,
    show_level,
    show_percent,
    unit_text,
)
from deviate.report.page import (
    AT_TERMINAL,
    Answer,
    Block,
    Cell,
    Column,
    Drawing,
    Hint,
    Page,
    Reader,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.topics.caveat import Caveat, more_warnings, warning_lines
from deviate.report.topics.checklist import Answer as ChecklistAnswer
from deviate.report.topics.checklist import checklist_table
from deviate.report.topics.comparison_caveats import comparison_caveats
from deviate.report.topics.distribution import distribution_figure
from deviate.report.topics.grid_map import cell_cards, effects_screen, grid_map, map_figures, spread_sentence
from deviate.report.topics.metrics import TRUST, again_sections, caveat_blocks, columns, number, telling
from deviate.report.topics.reasons import checklist_of_all, runs_methods
from deviate.report.words import code, count, listed
from deviate.stats.factorial import SplitSpread
from deviate.stats.results import fewest_runs

# What a grid shows, in sentences: which cell is best, what its factors change, and on what that rests.

#: Times as many runs as another cell has with which claims were false in at most 4 % of simulated grids, see
#: ``benchmarks/statistics/grid.py``; with 4 times they were in up to 7 %.
MOST_RATIO = 2


def grid_headline(grid: Grid) -> list[str]:
    """Say of each metric that is claimed which cells are best, and which factors change its mean."""
    return [text for metric in claimed_metrics(grid) for text in _sentences(metric, grid)]


def _sentences(metric: GridMetric, grid: Grid) -> list[str]:
    return [best_sentence(metric), *([] if metric.withheld else [effects_sentence(metric, grid)])]


def claimed_metrics(grid: Grid) -> list[GridMetric]:
    """Return the metrics that verdicts are claimed for."""
    return [metric for metric in grid.metrics if metric.claimed]


def best_sentence(metric: GridMetric) -> str:
    """Say which cell has the best mean of a metric, and which are shown to be worse."""
    if metric.direction is None:
        option = f"--set {typed_word(f'direction={metric.name}=higher')}"
        return (
            f"No cell is called best in {metric.name}: whether higher or lower values are better is unknown; add "
            f"{code(option)}."
        )
    top = min(metric.cells, key=lambda cell: cell.rank or len(metric.cells))
    best = f"Best: {top.called}: {metric.name} {mean_text(top, metric)}."
    if metric.withheld:
        return f"{best} Nothing is claimed: {metric.withheld}."
    worse = [cell.called for cell in metric.cells if not cell.may_be_best]
    others = [cell.called for cell in metric.best if cell.experiment != top.experiment]
    if not others:
        return f"{best} All {len(worse)} others are shown to be worse."
    if not worse:
        return f"{best} None of the others is shown to be worse."
    if len(worse) <= NAMED:
        return f"{best} Only {' and '.join(worse)} {'is' if len(worse) == 1 else 'are'} shown to be worse."
    as_good = f": all but {' and '.join(others)}" if len(others) <= NAMED else ""
    return f"{best} {len(worse)} of {len(metric.cells) - 1} others are shown to be worse{as_good}."


#: Cells that a sentence names.
NAMED = 2


def effects_sentence(metric: GridMetric, grid: Grid) -> str:
    """Say which factors and interactions are shown to change the mean of a metric."""
    if metric.reason:
        return f"There is no analysis of variance of {metric.name}: {metric.reason}."
    shown = [_with_p(term, grid) for term in metric.terms if term.shown]
    other = [term.name for term in metric.terms if not term.shown]
    if not shown:
        return f"No effect on {metric.name} is shown, neither of a factor nor of an interaction."
    rest = f"; no effect is shown of {listed(other, most=len(other))}" if other else ""
    return f"Shown to change {metric.name}: {listed(shown, most=len(shown))}{rest}."


def _with_p(term: GridTerm, grid: Grid) -> str:
    p = Numbers(grid.look.alpha).equal_p(term.p_adjusted, "none", 1)
    return f"{term.name} ({p} adjusted, partial η² {show(term.eta_squared.value, -2)})"


def mean_text(cell: GridCell, metric: GridMetric) -> str:
    """Return mean ± SD of a cell, with the digits that the finest SD of the metric has."""
    place = metric_place(metric.decimals, *(each.sd for each in metric.cells))
    sd = "unknown" if cell.sd is None else show(cell.sd, place)
    return f"{show(cell.mean, place)} ± {sd}{unit_text(metric.unit)}"


def place_text(cell: GridCell) -> str:
    """Return the places that are left open for a cell.

    Examples: ``1``, ``2–4``; empty where no cell is ranked.
    """
    if cell.lowest is None:
        return ""
    return f"{cell.lowest}" if cell.lowest == cell.highest else f"{cell.lowest}–{cell.highest}"


def mark_text(cell: GridCell, metric: GridMetric) -> str:
    """Return what a cell is called in the table; empty where nothing is claimed of it."""
    if cell.rank == 1:
        return "best mean" if metric.withheld or len(metric.best) > 1 else "best"
    if metric.withheld or cell.rank is None:
        return ""
    return "may be best" if cell.may_be_best else "not the best"


def grid_caveats(grid: Grid) -> list[Caveat]:
    """List what to know before trusting the numbers, warnings first."""
    return [*_missing(grid), *_unequal(grid), *_looks(grid), *comparison_caveats(grid.comparability)]


def _missing(grid: Grid) -> Iterator[Caveat]:
    for cell in grid.missing:
        yield Caveat(slug="cell-missing", message=f"{cell.experiment} is not compared: {cell.reason}.")


def _unequal(grid: Grid) -> Iterator[Caveat]:
    """Warn where claims may be false more often than alpha says: with a quarter of the runs in half of the cells."""
    runs = [cell.n for metric in grid.metrics if metric.claimed and not metric.withheld for cell in metric.cells]
    if runs and max(runs) > MOST_RATIO * min(runs):
        message = (
            f"The cells have {min(runs)} to {max(runs)} runs. With numbers this unequal up to 7 % of simulated grids "
            "in which nothing differs raised a false claim at 5 %: make as many runs in each cell."
        )
        yield Caveat(slug="runs-unequal", message=message)


def _looks(grid: Grid) -> Iterator[Caveat]:
    if grid.look.number > 1:
        message = (
            f"These cells were compared before with other runs: this is look {grid.look.number}, and p must be below "
            f"{grid.look.alpha:g}."
        )
        yield Caveat(slug="looked-before", message=message, severity="note")
    if grid.look.unrecorded:
        message = (
            f"This comparison could not be recorded ({grid.look.unrecorded}): a later one will not account for it."
        )
        yield Caveat(slug="look-unrecorded", message=message)


def grid_methods(grid: Grid) -> list[str]:
    """Say how it was tested, as a paper does."""
    alpha = show_percent(grid.look.alpha)
    claimed = [metric for metric in grid.metrics if metric.claimed]
    effects = sum(metric.family_terms for metric in claimed[:1])
    pairs = sum(metric.family_pairs for metric in claimed[:1])
    return [
        "Effects of the factors and of all their interactions are F tests of type III on a full factorial model, with "
        "covariances that allow for unequal SDs (HC3); the F test for equal SDs is given beside it.",
        "Every two cells were compared by Welch's t test; a cell may be best if none is shown to be better.",
        f"p-values are adjusted by Holm's method over the {count(effects, 'effect')} and, separately, over the "
        f"{count(pairs, 'pair')} of cells, and each of the two has half of {alpha}: all claims hold at {alpha} "
        "together.",
        "Whether the SDs of the cells differ is one question of its own, by the Brown-Forsythe test over all cells.",
        "Which factors change the SD is another: an analysis of variance of the distances of runs from the median of "
        "their cell (Brown and Forsythe), adjusted by Holm's method over the factors.",
        "Intervals of means are by Student's t, which assumes normal values; partial η² has a "
        f"{show_level(0.9)} interval from the noncentral F distribution, which assumes equal SDs.",
    ]


def grid_left_out(grid: Grid) -> list[str]:
    """Say, as a paper does, which cells and claims are missing, and how often the cells were compared."""
    looks = (
        f"The cells were compared {grid.look.number} times while runs were added; this look is at level "
        f"{grid.look.alpha:.2g} (alpha spending: Lan and DeMets, 1983)."
    )
    return [
        *(caveat.message for caveat in _missing(grid)),
        *(
            f"Nothing is claimed of {each.name}: {each.withheld}."
            for each in grid.metrics
            if each.claimed and each.withheld
        ),
        *([looks] if grid.look.number > 1 else []),
    ]


def grid_checklist(grid: Grid, made: Mapping[str, ExperimentFacts]) -> list[ChecklistAnswer]:
    """Answer the questions of checklists for all cells."""
    bars = f"{show_level(grid.comparability.metrics[0][0].ci_mean.level)} confidence intervals of the mean"
    by_cell = {cell.label: facts for cell, facts in zip(grid.metrics[0].cells, made.values(), strict=True)}
    return checklist_of_all(by_cell, bars, grid_methods(grid))


#: What the numbers of a row come to.
VERDICT = Column(head="verdict", numeric=False)

#: Cells of a list on a screen.
LISTED = 10


def grid_page(grid: Grid, reader: Reader, made: Callable[[], Mapping[str, ExperimentFacts]] = dict) -> Page:
    """Make the page of a grid for a reader; a paper also says how the runs of the cells were `made`."""
    if reader in AT_TERMINAL:
        section = _brief(grid) if reader == "brief" else _screen(grid)
        return Page(title="", reader=reader, sections=[section], command=grid.command)
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
        caveats = grid_caveats(grid)
        sections = [
            Section(slug="trust", blocks=warning_lines(caveats)),
            Section(slug="answer", blocks=_answers(grid, lambda metric: _maps(metric, grid))),
            *(_metric_section(metric, grid) for metric in grid.metrics),
            Section(slug="notes", title=TRUST, blocks=[*caveat_blocks(caveats)]),
            Section(slug="methods", title="For a paper: methods", blocks=[methods]),
            *again_sections(grid.command),
        ]
    return Page(
        title=f"Grid of {listed(grid.experiments)}",
        reader=reader,
        sections=[section for section in sections if section.blocks],
        command=grid.command,
        runs=cell_cards(grid) if reader == "full" else [],
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
    claimed = [metric.name for metric in grid.metrics if metric.claimed]
    variants = [
        msgspec.structs.replace(each, metrics=[metric for metric in each.metrics if metric.name in claimed])
        for each in facts.variants
    ]
    return msgspec.structs.replace(facts, variants=variants)


def made_page(grid: Grid) -> Page | None:
    """Return the map of the main metric without any verdict, for the end of the runs; None where there is no map."""
    drawn = next((grid_map(metric, grid) for metric in claimed_metrics(grid)), None)
    if drawn is None:
        return None
    return Page(title="", reader="screen", sections=[Section(slug="map", blocks=[drawn])])


def _screen(grid: Grid) -> Section:
    blocks = _answers(grid, lambda metric: [grid_map(metric, grid) or _list(metric, grid)])
    caveats = grid_caveats(grid)
    shown = [*blocks, *warning_lines(caveats), *more_warnings(caveats, grid.command), *_more_runs(grid)]
    return Section(slug="answer", blocks=shown)


def _answers(grid: Grid, drawn: Callable[[GridMetric], Sequence[Block]]) -> list[Block]:
    """Return of each metric that is claimed the answer, its cells as they are drawn and what its factors do."""
    blocks: list[Block] = []
    for metric in claimed_metrics(grid):
        # Where there are tables of effects, they say it.
        effects = effects_screen(metric, grid)
        said = [best_sentence(metric)] if effects else _sentences(metric, grid)
        blocks += [Answer(sentences=said, listed=len(said) > 1), *drawn(metric), *([effects] if effects else [])]
    return blocks


def _more_runs(grid: Grid) -> list[Hint]:
    """Return what adds the runs that a claim takes."""
    fewest = fewest_runs(grid.alpha)
    if all(cell.n >= fewest for metric in claimed_metrics(grid) for cell in metric.cells):
        return []
    return [Hint(text="add runs:", command=f"deviate run -n {fewest} --name {typed_word(name)}")
            for name in grid.experiments]  # fmt: skip


def _list(metric: GridMetric, grid: Grid) -> Table:
    (table,) = telling([_cells(metric, "mean ± SD")])
    left = len(table.rows) - LISTED
    hint = Hint(text=f"{count(left, 'more cell')}:", command=f"{grid.command} -v") if left > 0 else None
    return msgspec.structs.replace(table, rows=table.rows[:LISTED], notes=[], titled=False, continued=False, more=hint)


def _brief(grid: Grid) -> Section:
    """Return the screen, and below it all cells and effects of all metrics, how it was tested, and all caveats."""
    metrics = [table for metric in grid.metrics for table in _tables(metric, grid)]
    spreads = [
        sentence
        for metric in claimed_metrics(grid)
        for sentence in (*spread_sentence(metric, grid), *family_sentences(metric, grid))
    ]
    maps = [table for metric in claimed_metrics(grid) if (table := grid_map(metric, grid)) is not None]
    return Section(
        slug="answer",
        blocks=[
            Answer(sentences=grid_headline(grid), listed=True),
            *maps,
            *([Sentences(sentences=spreads)] if spreads else []),
            *metrics,
            *caveat_blocks(grid_caveats(grid)),
            Sentences(sentences=grid_methods(grid), emphasis="quiet"),
        ],
    )


def _maps(metric: GridMetric, grid: Grid) -> list[Block]:
    """Draw the cells as maps; the runs of each in a row where there are too many cells for one."""
    drawn = map_figures(metric, grid) or ([figure] if (figure := _figure(metric, grid)) else [])
    return [Drawing(figure=figure) for figure in drawn]


def _metric_section(metric: GridMetric, grid: Grid) -> Section:
    explored = [] if metric.claimed else [Sentences(sentences=_sentences(metric, grid)), *_maps(metric, grid)]
    return Section(
        slug=slug("metric", metric.name),
        title=f"{metric.name}{_explored(metric)}",
        blocks=[*explored, *_tables(metric, grid)],
    )


def grid_figures(grid: Grid) -> list[Figure]:
    """Draw the maps and the runs of the cells, metric by metric."""
    figures = ((*map_figures(metric, grid), _figure(metric, grid)) for metric in grid.metrics)
    return unique(figure for drawn in figures for figure in drawn if figure is not None)


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
    place = metric_place(metric.decimals, *(cell.sd for cell in metric.cells))
    ordered = sorted(metric.cells, key=lambda cell: cell.rank or 0)
    level = metric.cells[0].ci_mean.level
    heads = columns("cell", "runs", mean or f"{metric.name}\nmean ± SD", f"{100 * level:g}% CI", "place")
    heads[0] = msgspec.structs.replace(heads[0], fold_at=48)
    for index, sacrifice in ((1, 3), (3, 2), (4, 1)):
        heads[index] = msgspec.structs.replace(heads[index], sacrifice=sacrifice)
    return Table(
        caption=f"{metric.name} ({metric.aggregate}) by cell{_explored(metric)}",
        notes=["Place: the ranks that the comparisons of every two cells leave open."],
        slug=slug("cells", metric.name),
        columns=[*heads, VERDICT],
        titled=True,
        continued=True,
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
    """Return the columns; on a narrow screen what the adjusted p rests on goes on below."""
    heads = columns("effect", "df", "F", "p", "p (HC3)", "p (adjusted)", "partial η²", "90% CI")
    given_up = {"90% CI": 4, "p": 3, "p (HC3)": 2, "df": 1}
    return [msgspec.structs.replace(head, sacrifice=given_up.get(head.head, 0)) for head in heads]


def _effects(metric: GridMetric, grid: Grid) -> Table:
    numbers = Numbers(grid.look.alpha)
    return Table(
        caption=f"{metric.name}: analysis of variance{_explored(metric)}",
        notes=[f"Residual degrees of freedom: {metric.df_residual:g}. The adjusted p decides."],
        slug=slug("effects", metric.name),
        titled=True,
        continued=True,
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


# Which factors change the SD, and which cells differ from the first.


def family_sentences(metric: GridMetric, grid: Grid) -> list[str]:
    """Say how much of the spread a split is, which factors change the SD, and which cells differ from the first."""
    return [*_splits(metric), *([] if metric.withheld else [*_spreads(metric, grid), *_against(metric)])]


def _splits(metric: GridMetric) -> Iterator[str]:
    for recipe, spread in metric.recipes.items():
        yield from (f"{recipe}: {text}" if recipe else text for text in _split(spread, metric))
    for pair in metric.over_splits:
        value, interval = pair.difference.value, pair.difference.interval
        place = last_place((interval.high or 0.0) - (interval.low or 0.0) or None)
        together = f", as one of {len(metric.over_splits)} that hold together" if len(metric.over_splits) > 1 else ""
        yield (
            f"For other splits and seeds, {pair.b} minus {pair.a}: {show(value, place)}{unit_text(metric.unit)} "
            f"{show_interval(interval, place)}{together}."
        )


def _split(facts: SplitSpread | None, metric: GridMetric) -> list[str]:
    unit = unit_text(metric.unit)
    if facts is None:
        return []
    place = metric_place(metric.decimals, facts.whole)
    named = {"splits": facts.split, "seeds on all splits alike": facts.seed, "runs otherwise": facts.rest}
    parts = [
        f"of {name} {show(part.sd, place)} {show_interval(part.interval, place)}"
        for name, part in named.items()
        if part
    ]
    return [
        f"One run on one of {count(facts.splits, 'split')} drawn like these varies by an SD of "
        f"{show(facts.whole, place)}{unit}, {show_percent(facts.share)} of the variance by the split: "
        f"SD {listed(parts)}.",
        f"Mean for other splits and seeds: {show(facts.mean, place)}{unit} {show_interval(facts.ci_mean, place)}.",
    ]


def _spreads(metric: GridMetric, grid: Grid) -> list[str]:
    shown = [_spread(each, metric, grid) for each in metric.spreads if each.shown]
    if shown:
        return [f"{text}." for text in shown]
    names = [each.effect.factor for each in metric.spreads]
    return [f"No factor is shown to change the SD: {_listed(names)}."] if names else []


def _spread(spread: GridSpread, metric: GridMetric, grid: Grid) -> str:
    effect, unit = spread.effect, unit_text(metric.unit)
    place = metric_place(metric.decimals, *effect.sds.values())
    high, low = (f"{show(effect.sds[name], place)}{unit} with {name}" for name in (effect.largest, effect.smallest))
    p = Numbers(grid.look.alpha).equal_p(spread.p_adjusted, "none", 1)
    return f"{effect.factor} changes the SD ({p} adjusted): {high}, {low}, ratio {show_effect(effect.ratio)}"


def _against(metric: GridMetric) -> list[str]:
    if not metric.against_first:
        return []
    called = {cell.experiment: cell.called for cell in metric.cells}
    shown = [called[each.experiment] for each in metric.against_first if each.shown]
    others = count(len(metric.against_first), "other")
    what = f"{len(shown)} of {others}" if shown else f"none of {others}"
    names = f": {_listed(shown)}" if shown else ""
    first = metric.cells[0].called
    return [f"If {first} is a baseline and no more is claimed, a difference from it is shown for {what}{names}."]


def _listed(names: list[str]) -> str:
    return listed(names, most=len(names))
