"""Compare the cells of a grid: which is best, and which factors of the grid move the mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec

from deviate.contrast.contrast import deciding_test
from deviate.contrast.factorial import Factorial, factorial_anova
from deviate.contrast.guards import fewest_runs
from deviate.contrast.ranking import Place, ranking
from deviate.errors import BadOption
from deviate.experiment import Direction
from deviate.inference.comparison.comparability import comparability
from deviate.inference.comparison.draws import RepeatedDraws, repeated_draws
from deviate.inference.comparison.families import Adjusted, adjust_families, is_measured_time
from deviate.inference.comparison.match import (
    direction_of,
    main_of,
    match_metrics,
    settle_names,
    unmatched_metrics,
)
from deviate.inference.comparison.options import ComparisonOptions
from deviate.inference.comparison.side import Side
from deviate.inference.grid.facts import Grid, GridCell, GridLook, GridMetric, GridTerm, MissingCell
from deviate.inference.metric import MetricSpread, measured_sample
from deviate.project.cells import Cell
from deviate.results.order import ranks

#: The factor that several tables of one file are the levels of.
TABLE = "experiment"

#: The effects of the factors, and the pairs of cells: each has this share of alpha, so that what is said of both holds
#: at alpha together, and the many pairs of a large grid do not hide what its factors do.
FAMILIES = 2

#: Two cells.
Pair = tuple[str, str]


def compare_cells(
    cells: Sequence[Cell],
    sides: Sequence[Side],
    options: ComparisonOptions,
    look: GridLook,
    missing: Sequence[MissingCell] = (),
    command: str = "",
) -> Grid:
    """Compare the cells in every metric that they have in common; `sides` are their runs.

    Raises
    ------
    BadOption
        If options and metrics do not fit.
    """
    options = settle_names(sides, options)
    common = match_metrics(sides, options)
    matches = [match for match in common if not is_measured_time(match[0].name)]
    if not matches:
        raise BadOption(
            "the cells have no metric in common but times, which are not compared over a grid",
            hint="`deviate report CELL` lists the metrics of a cell",
        )
    rank = ranks(match[0] for match in matches)
    matches.sort(key=lambda match: rank(match[0]))
    claimed = options.metrics or [main_of([match[0] for match in matches], in_order=True)]
    measured = [[measured_sample(each, options.level) for each in match] for match in matches]
    settings = _settings(cells)
    draws = [repeated_draws(sides[0], side) for side in sides[1:]]
    telling = [each for each in draws if each.unshared] or draws
    return Grid(
        experiments=list(dict.fromkeys(cell.entry.name for cell in cells)),
        variant=sides[0].variant,
        alpha=options.alpha,
        factors={key: list(dict.fromkeys(each[key] for each in settings)) for key in settings[0]},
        missing=list(missing),
        metrics=_metrics(cells, settings, measured, claimed, look.alpha, draws, options),
        look=look,
        comparability=msgspec.structs.replace(
            comparability(sides, measured, [], telling, chosen=True),
            unmatched={} if options.metrics else unmatched_metrics(sides, common),
        ),
        command=command,
    )


def _settings(cells: Sequence[Cell]) -> list[dict[str, str]]:
    """Return the level of each factor, cell by cell; a key that a table has not is empty there."""
    keys = list(dict.fromkeys(key for cell in cells for key in cell.settings))
    several = len({cell.entry.name for cell in cells}) > 1
    return [
        {**({TABLE: cell.entry.name} if several else {}), **{key: str(cell.settings.get(key, "")) for key in keys}}
        for cell in cells
    ]


def _metrics(
    cells: Sequence[Cell],
    settings: Sequence[Mapping[str, str]],
    measured: Sequence[Sequence[MetricSpread]],
    claimed: Sequence[str],
    alpha: float,
    draws: Sequence[RepeatedDraws],
    options: ComparisonOptions,
) -> list[GridMetric]:
    """Test effects and pairs of every metric; each is one family, apart for what is claimed and what is explored."""
    anovas = {match[0].name: factorial_anova([each.values for each in match], settings) for match in measured}
    effects = _adjusted(
        {(*term.factors, name): term.robust.p for name, anova in anovas.items() for term in anova.terms},
        claimed,
    )
    pairs = _adjusted(
        {
            (cells[i].name, cells[j].name, match[0].name): deciding_test(match[i].values, match[j].values).p
            for match in measured
            for i, j in combinations(range(len(cells)), 2)
        },
        claimed,
    )
    made = [
        _metric(
            cells,
            settings,
            match,
            anovas[match[0].name],
            {key[:-1]: each for key, each in effects.items() if key[-1] == match[0].name},
            {key[:-1]: each for key, each in pairs.items() if key[-1] == match[0].name},
            direction=direction_of(list(match), options),
            claimed=match[0].name in claimed,
            withheld=_withheld(cells, match, alpha, draws),
            alpha=alpha,
        )
        for match in measured
    ]
    return sorted(made, key=lambda metric: not metric.claimed)


def _adjusted(ps: Mapping[tuple[str, ...], float | None], claimed: Sequence[str]) -> dict[tuple[str, ...], Adjusted]:
    """Adjust one kind of tests, and for the other kind beside it."""
    adjusted = adjust_families(ps, "holm", claimed)
    return {
        key: Adjusted(p=None if each.p is None else min(1.0, FAMILIES * each.p), family=each.family)
        for key, each in adjusted.items()
    }


def _metric(
    cells: Sequence[Cell],
    settings: Sequence[Mapping[str, str]],
    match: Sequence[MetricSpread],
    anova: Factorial,
    effects: Mapping[tuple[str, ...], Adjusted],
    pairs: Mapping[tuple[str, ...], Adjusted],
    *,
    direction: Direction | None,
    claimed: bool,
    withheld: str,
    alpha: float,
) -> GridMetric:
    first = match[0]
    shown = {key for key, each in pairs.items() if each.p is not None and each.p <= alpha and not withheld}
    return GridMetric(
        name=first.name,
        unit=first.unit,
        kind=first.kind,
        direction=direction,
        aggregate=first.aggregate,
        claimed=claimed,
        cells=_cells(cells, settings, match, _places(cells, match, direction, shown), withheld=bool(withheld)),
        terms=_terms(anova, effects, alpha, withheld=bool(withheld)),
        df_residual=anova.df_residual,
        reason=anova.reason,
        withheld=withheld,
        family_terms=max((each.family for each in effects.values()), default=0),
        family_pairs=max((each.family for each in pairs.values()), default=0),
    )


def _withheld(
    cells: Sequence[Cell], match: Sequence[MetricSpread], alpha: float, draws: Sequence[RepeatedDraws]
) -> str:
    """Say why nothing is claimed, as for two sides; empty where claims are made."""
    for each in draws:
        for label, factors in each.unshared.items():
            return f"all runs of {label} used the same random numbers for {', '.join(factors)}, unlike another cell"
    fewest = fewest_runs(alpha)
    few = [(each.n, cell.label) for cell, each in zip(cells, match, strict=True) if each.n < fewest]
    return f"claims take {fewest} runs in each cell, and {min(few)[1]} has {min(few)[0]}" if few else ""


def _places(
    cells: Sequence[Cell],
    match: Sequence[MetricSpread],
    direction: Direction | None,
    shown: set[tuple[str, ...]],
) -> dict[str, Place]:
    """Return the place of each cell; none where it is not known which values are better."""
    means = {cell.name: each.spread.mean for cell, each in zip(cells, match, strict=True)}
    known = {name: mean for name, mean in means.items() if mean is not None}
    if direction is None or len(known) < len(means):
        return {}
    sign = 1 if direction == "higher" else -1
    better: list[Pair] = [(a, b) if sign * (known[a] - known[b]) > 0 else (b, a) for a, b in shown]
    places = ranking(list(known), list(known.values()), direction, better)
    return {place.name: place for place in places}


def _cells(
    cells: Sequence[Cell],
    settings: Sequence[Mapping[str, str]],
    match: Sequence[MetricSpread],
    places: Mapping[str, Place],
    *,
    withheld: bool,
) -> list[GridCell]:
    several = len({cell.entry.name for cell in cells}) > 1
    return [
        GridCell(
            experiment=cell.name,
            label=cell.name if several else cell.label,
            settings=dict(setting),
            n=each.n,
            mean=each.spread.mean,
            sd=each.spread.sd,
            ci_mean=each.ci_mean,
            rank=place.rank if place else None,
            lowest=place.lowest if place else None,
            highest=place.highest if place else None,
            may_be_best=place is not None and place.lowest == 1 and not withheld,
            values=list(each.values),
            runs=list(each.runs),
        )
        for cell, setting, each in zip(cells, settings, match, strict=True)
        for place in [places.get(cell.name)]
    ]


def _terms(
    anova: Factorial, effects: Mapping[tuple[str, ...], Adjusted], alpha: float, *, withheld: bool
) -> list[GridTerm]:
    return [
        GridTerm(
            factors=term.factors,
            df=term.df,
            classic=term.classic,
            robust=term.robust,
            p_adjusted=p,
            shown=p is not None and p <= alpha and not withheld,
            eta_squared=term.eta_squared,
        )
        for term in anova.terms
        for p in [effects[tuple(term.factors)].p]
    ]
