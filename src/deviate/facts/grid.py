"""Compare the cells of a grid: which is best, which factors move the mean or the SD, and many against the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import msgspec

from deviate.core.errors import BadOption
from deviate.core.experiment import SCHEMA, Direction, Kind
from deviate.core.shell_words import typed_line
from deviate.facts.comparable import (
    Comparability,
    RepeatedDraws,
    comparability,
    direction_of,
    main_of,
    match_metrics,
    repeated_draws,
    settle_names,
    unmatched_metrics,
)
from deviate.facts.compared_metric import Adjusted, adjust_families, is_measured_time
from deviate.facts.comparison_options import ComparisonOptions, check_options, comparison_command
from deviate.facts.looks import recorded_side
from deviate.facts.metric import MetricSpread, measured_sample
from deviate.facts.side import Side, read_sides, remember_typed
from deviate.lexicon.words import words_of
from deviate.observe.headline import ranks
from deviate.source.cells import Cell, read_cells
from deviate.source.config import FILE_NAME
from deviate.stats.contrast import deciding_test
from deviate.stats.factorial import (
    Factorial,
    Place,
    SplitSpread,
    factorial_anova,
    ranking,
    split_difference,
    split_spread,
)
from deviate.stats.intervals import Interval
from deviate.stats.multiplicity import SpreadEffect, adjust, dunnett, look_levels, rounded_down, spread_effects
from deviate.stats.results import VERDICT_RUNS, Effect, Tested, fewest_runs
from deviate.stats.tests import brown_forsythe_of_all
from deviate.store.folders import Workspace
from deviate.store.locks import locked_looks
from deviate.store.looks import RecordedLooks, add_look, grid_side, read_looks

#: Words of a factor whose levels are draws of the data, not choices of the user.
SPLITS = {"split", "splits", "fold", "folds", "partition", "data"}


class GridSpread(msgspec.Struct, frozen=True, kw_only=True):
    """What a factor of the grid does to the SD of runs."""

    effect: SpreadEffect
    #: Over the factors; what the factors do to the SD is one question of its own.
    p_adjusted: float | None
    shown: bool


class GridAgainst(msgspec.Struct, frozen=True, kw_only=True):
    """A cell beside the first cell of the grid, as a proposal beside a baseline."""

    experiment: str
    p: float | None
    #: Over the cells but the first; a family of its own, which the claims of effects and pairs do not allow for.
    p_adjusted: float | None
    shown: bool
    p_dunnett: float | None


def spreads_by_factor(
    settings: Sequence[Mapping[str, str]], match: Sequence[MetricSpread], alpha: float, *, withheld: bool
) -> list[GridSpread]:
    """Test which factors of a grid change the SD of a metric, adjusted over the factors."""
    effects = spread_effects([each.values for each in match], settings, 1 - alpha)
    adjusted = adjust([effect.tested.p for effect in effects], "holm")
    return [
        GridSpread(effect=effect, p_adjusted=p, shown=p is not None and p <= alpha and not withheld)
        for effect, p in zip(effects, adjusted, strict=True)
    ]


def cells_against_first(
    cells: Sequence[Cell], match: Sequence[MetricSpread], alpha: float, *, withheld: bool
) -> list[GridAgainst]:
    """Test every cell but the first against the first, adjusted over them; nothing of two cells, which are a pair."""
    if len(cells) < 3:
        return []
    tests = [deciding_test(match[0].values, each.values).p for each in match[1:]]
    adjusted = adjust(tests, "holm")
    by_dunnett = dunnett([each.values for each in match])
    return [
        GridAgainst(
            experiment=cell.name,
            p=tests[place],
            p_adjusted=(p := adjusted[place]),
            shown=p is not None and p <= alpha and not withheld,
            p_dunnett=by_dunnett[place],
        )
        for place, cell in enumerate(cells[1:])
    ]


class GridSplits(msgspec.Struct, frozen=True, kw_only=True):
    """Two recipes on the same splits."""

    a: str
    b: str
    #: How much higher `b` is, for other splits and seeds; the intervals of all pairs hold together.
    difference: Effect


def over_splits(
    settings: Sequence[Mapping[str, str]], match: Sequence[MetricSpread], alpha: float
) -> tuple[dict[str, SplitSpread | None], list[GridSplits]]:
    """Divide the spread of each recipe into that of splits and that of runs, and compare every two over the splits.

    Only in a grid in which one factor is a split by its name. Run k of every cell has the same random numbers; where
    the cells have other runs, they are nested in the splits.
    """
    varied = [name for name in settings[0] if len({cell[name] for cell in settings}) > 1]
    splits = [name for name in varied if not SPLITS.isdisjoint(words_of(name))]
    if len(splits) != 1:
        return {}, []
    recipes: dict[str, dict[str, list[float]]] = {}
    for cell, each in zip(settings, match, strict=True):
        label = called({name: cell[name] for name in varied if name not in splits})
        recipes.setdefault(label, {})[cell[splits[0]]] = each.values
    crossed = all(each.runs == match[0].runs for each in match)
    pairs = list(combinations(recipes, 2))
    found = {
        (a, b): split_difference(
            [recipes[a][name] for name in recipes[a]],
            [recipes[b][name] for name in recipes[a]],
            1 - alpha / len(pairs),
            crossed=crossed,
        )
        for a, b in pairs
        if recipes[a].keys() == recipes[b].keys()
    }
    spreads = {name: split_spread([*each.values()], 1 - alpha, crossed=crossed) for name, each in recipes.items()}
    return spreads, [GridSplits(a=a, b=b, difference=each) for (a, b), each in found.items() if each is not None]


# The facts of a grid: its cells beside each other in each metric, and what its factors do.


class GridCell(msgspec.Struct, frozen=True, kw_only=True):
    """One metric in one cell."""

    experiment: str
    #: What the cell is called within the grid.
    label: str
    settings: dict[str, str]
    n: int
    mean: float | None
    sd: float | None
    ci_mean: Interval
    #: By the means, 1 is best; None where it is not known which values are better.
    rank: int | None = None
    #: Places that the pairs leave open.
    lowest: int | None = None
    highest: int | None = None
    #: No cell is shown to be better.
    may_be_best: bool = False
    values: list[float]
    runs: list[int]
    #: The interval of the SD.
    ci_sd: Interval

    @property
    def called(self) -> str:
        """The settings as people read them: ``lr 0.003, batch 32``."""
        return called(self.settings) or self.label


class GridTerm(msgspec.Struct, frozen=True, kw_only=True):
    """What a factor of the grid, or an interaction of several, does to the mean."""

    factors: list[str]
    df: float
    classic: Tested
    #: Allows for unequal SDs; decides.
    robust: Tested
    #: Of the robust test, over all effects and metrics of the family, and for the pairs beside them.
    p_adjusted: float | None
    shown: bool
    eta_squared: Effect

    @property
    def name(self) -> str:
        """The factors, joined."""
        return " × ".join(self.factors)


class GridMetric(msgspec.Struct, frozen=True, kw_only=True):
    """One metric over the grid."""

    name: str
    unit: str
    #: Digits behind the point, as the program writes the metric; None where that is not known.
    decimals: int | None
    kind: Kind
    direction: Direction | None
    aggregate: str
    claimed: bool
    cells: list[GridCell]
    #: Main effects first; empty where `reason` says why.
    terms: list[GridTerm]
    df_residual: float | None
    reason: str = ""
    #: Why nothing is claimed although there are numbers; empty where claims are made.
    withheld: str = ""
    #: Tests that were adjusted together.
    family_terms: int
    family_pairs: int
    #: Of the SDs of all cells being equal: one question of its own, so that p is not adjusted.
    spread: Tested
    #: By factor; empty where a cell has too few runs, or the grid is not full.
    spreads: list[GridSpread] = []
    #: Of a metric that is claimed, in a grid of three cells or more.
    against_first: list[GridAgainst] = []
    #: Where a factor of the grid is a split of the data, by the settings of the others; empty where it varies alone.
    recipes: dict[str, SplitSpread | None] = {}
    over_splits: list[GridSplits] = []

    @property
    def split(self) -> SplitSpread | None:
        """How much of the spread is the split, where that alone varies."""
        return self.recipes.get("")

    @property
    def best(self) -> list[GridCell]:
        """The cells that may be best, by their means."""
        return sorted((cell for cell in self.cells if cell.may_be_best), key=lambda cell: cell.rank or 0)


class MissingCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell that is not compared."""

    experiment: str
    reason: str


class GridLook(msgspec.Struct, frozen=True, kw_only=True):
    """Which look at the grid this is, and what p must be below."""

    #: From 1.
    number: int
    alpha: float
    #: Why it could not be recorded; empty where it was.
    unrecorded: str = ""


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """All facts about the cells of a grid."""

    schema: int = SCHEMA
    experiments: list[str]
    variant: str
    alpha: float
    #: Levels of each factor, in the order of the file.
    factors: dict[str, list[str]]
    missing: list[MissingCell]
    #: What is claimed first, then what is explored beside it.
    metrics: list[GridMetric]
    look: GridLook
    comparability: Comparability
    command: str


def called(settings: Mapping[str, object]) -> str:
    """Write settings as people read them.

    >>> called({"lr": 0.003, "batch": 32})
    'lr 0.003, batch 32'
    """
    return ", ".join(f"{key} {value}" for key, value in settings.items() if value != "")


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

    Raises BadOption if options and metrics do not fit.
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
    recipes, differences = over_splits(settings, match, alpha)
    shown = {key for key, each in pairs.items() if each.p is not None and each.p <= alpha and not withheld}
    return GridMetric(
        name=first.name,
        unit=first.unit,
        decimals=first.decimals,
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
        spread=brown_forsythe_of_all([each.values for each in match]),
        spreads=spreads_by_factor(settings, match, alpha, withheld=bool(withheld)),
        against_first=cells_against_first(cells, match, alpha, withheld=bool(withheld)) if claimed else [],
        recipes=recipes,
        over_splits=differences,
    )


def _withheld(
    cells: Sequence[Cell], match: Sequence[MetricSpread], alpha: float, draws: Sequence[RepeatedDraws]
) -> str:
    """Say why nothing is claimed, as for two sides; empty where claims are made."""
    for each in draws:
        for label, factors in each.unshared.items():
            return f"all runs of {label} used the same random numbers for {', '.join(factors)}, unlike another cell"
    fewest = fewest_runs(alpha)
    few = [
        (each.n, called(cell.settings) or cell.label)
        for cell, each in zip(cells, match, strict=True)
        if each.n < fewest
    ]
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
            ci_sd=each.ci_sd,
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


# Read the cells of a grid that ``deviate.toml`` lists, compare them, and record the look at them.


NONE_COMPLETED = "no run completed"


def names_grid(root: Path, names: Sequence[str]) -> bool:
    """Tell whether the words of ``deviate compare`` mean cells of ``deviate.toml``: none, or one of its experiments."""
    if len(names) > 1:
        return False
    name = names[0].partition(":")[0] if names else None
    cells = read_cells(root, name)
    return len(cells) > 1 and name != cells[0].name


def read_grid(workspace: Workspace, names: Sequence[str], options: ComparisonOptions) -> Grid:
    """Compare the cells of the experiments that ``deviate.toml`` lists; of one, ``NAME`` or ``NAME:VARIANT``.

    Raises BadOption if fewer than two cells have completed runs, or the options do not fit.
    """
    check_options(options)
    name, _, variant = names[0].partition(":") if names else (None, "", "")
    cells = read_cells(workspace.project, name)
    present, missing = _present(workspace, cells)
    if len(present) < 2:
        other = next((cell for cell in missing if cell.reason != NONE_COMPLETED), None)
        raise BadOption(
            f"{len(present)} of {len(cells)} cells of {repr(name) if name else FILE_NAME} "
            f"{'have completed runs' if other is None else f'can be compared; {other.experiment}: {other.reason}'}",
            hint="make them with: deviate run",
        )
    with locked_looks(workspace):
        labels = [cell.name + (f":{variant}" if variant else "") for cell in present]
        sides = read_sides(workspace, labels, options.samples)
        before = _recorded(workspace, sides)
        command = typed_line(comparison_command(names, options))
        look = _look(sides, before, options.alpha)
        grid = compare_cells(present, sides, options, look, missing, command)
        remember_typed(workspace, sides, options.samples)
        return msgspec.structs.replace(grid, look=_record(workspace, before, sides, look))


def read_made(workspace: Workspace, name: str) -> Grid | None:
    """Return the cells of a grid as they were made, which is no look at them; None where there are not two to set out.

    No verdict of it is to be said: a later comparison would not account for it.
    """
    present, _ = _present(workspace, read_cells(workspace.project, name))
    if len(present) < 2:
        return None
    options = ComparisonOptions()
    try:
        sides = read_sides(workspace, [cell.name for cell in present], options.samples)
        return compare_cells(present, sides, options, GridLook(number=1, alpha=options.alpha))
    except BadOption:
        return None


def _present(workspace: Workspace, cells: Sequence[Cell]) -> tuple[list[Cell], list[MissingCell]]:
    """Return the cells that have completed runs of the command that the file says, and why the others have none."""
    stored = set(workspace.names())
    reasons = {}
    for cell in cells:
        folder = workspace.experiment(cell.name)
        if cell.name not in stored or not folder.has_completed():
            reasons[cell.name] = NONE_COMPLETED
        elif not cell.is_of(folder.read_experiment()):
            reasons[cell.name] = f"its runs were made with another command than {FILE_NAME} says now"
    present = [cell for cell in cells if cell.name not in reasons]
    return present, [MissingCell(experiment=name, reason=reason) for name, reason in reasons.items()]


def _recorded(workspace: Workspace, sides: Sequence[Side]) -> RecordedLooks:
    """Read the earlier looks at these cells."""
    grid = grid_side(recorded_side(side) for side in sides)
    return read_looks(workspace, grid, grid, "grid")


def _look(sides: Sequence[Side], before: RecordedLooks, alpha: float) -> GridLook:
    """Return what p must be below; the first look has all of alpha, and one at the same runs is no new one."""
    now = [side.completed for side in sides]
    runs = [look.runs_a for look in before.looks if look.runs_a != now]
    levels = look_levels([(sum(each), sum(each)) for each in [*runs, now]], alpha)
    return GridLook(number=len(levels), alpha=alpha if len(levels) == 1 else rounded_down(levels[-1]))


def _record(workspace: Workspace, before: RecordedLooks, sides: Sequence[Side], look: GridLook) -> GridLook:
    now = [side.completed for side in sides]
    # Where nothing could be claimed, nothing was looked at.
    if min(now) < VERDICT_RUNS or any(earlier.runs_a == now for earlier in before.looks):
        return look
    try:
        add_look(workspace, before, (now, now))
    except OSError as problem:
        return msgspec.structs.replace(look, unrecorded=problem.strerror or str(problem))
    return look
