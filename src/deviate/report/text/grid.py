"""What a grid shows, in sentences: which cell is best, what its factors change, and on what that rests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from deviate.inference.experiment import ExperimentFacts
from deviate.inference.grid.facts import Grid, GridCell, GridMetric, GridTerm
from deviate.report.numbers import Numbers, finest, show, show_level, show_percent
from deviate.report.text.caveat import Caveat
from deviate.report.text.checklist import Answer
from deviate.report.text.comparison.caveats import comparison_caveats
from deviate.report.text.comparison.runs import checklist_of_all
from deviate.report.text.words import code, count, listed
from deviate.shell_words import typed_word

#: Times as many runs as another cell has with which claims were false in at most 4 % of simulated grids, see
#: ``benchmarks/statistics/grid.py``; with 4 times they were in up to 7 %.
MOST_RATIO = 2


def grid_headline(grid: Grid, *, brief: bool = False) -> list[str]:
    """Say of each metric that is claimed which cells are best, and which factors change its mean.

    The `brief` headline does not name a table of effects, which is not beside it.
    """
    sentences = []
    for metric in grid.metrics:
        if metric.claimed:
            sentences.append(best_sentence(metric))
            if metric.reason or not (brief and metric.withheld):
                sentences.append(effects_sentence(metric, grid))
    return sentences


def best_sentence(metric: GridMetric) -> str:
    """Say which cells may be best in a metric."""
    if metric.direction is None:
        option = f"--direction {typed_word(f'{metric.name}=higher')}"
        return (
            f"No cell is called best in {metric.name}: whether higher or lower values are better is unknown; add "
            f"{code(option)}."
        )
    top = min(metric.cells, key=lambda cell: cell.rank or len(metric.cells))
    has = f"{top.label} has the best {metric.name}, {mean_text(top, metric)} (mean ± SD, {count(top.n, 'run')})"
    if metric.withheld:
        return f"{has}. Nothing is claimed: {metric.withheld}."
    others = [cell.label for cell in metric.best if cell.experiment != top.experiment]
    if not others:
        return f"{has}, and is shown to be the best of {count(len(metric.cells), 'cell')}."
    return f"{has}; {count(len(others), 'other cell')} may be as good or better: {listed(others)}."


def effects_sentence(metric: GridMetric, grid: Grid) -> str:
    """Say which factors and interactions are shown to change the mean of a metric."""
    if metric.reason:
        return f"There is no analysis of variance of {metric.name}: {metric.reason}."
    if metric.withheld:
        return f"The table of effects on {metric.name} is for orientation."
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
    place = finest([each.sd for each in metric.cells])
    sd = "unknown" if cell.sd is None else show(cell.sd, place)
    return f"{show(cell.mean, place)} ± {sd}{metric.unit}"


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


def grid_checklist(grid: Grid, made: Mapping[str, ExperimentFacts]) -> list[Answer]:
    """Answer the questions of checklists for all cells."""
    bars = f"{show_level(grid.comparability.metrics[0][0].ci_mean.level)} confidence intervals of the mean"
    by_cell = {cell.label: facts for cell, facts in zip(grid.metrics[0].cells, made.values(), strict=True)}
    return checklist_of_all(by_cell, bars, grid_methods(grid))
