"""Questions about the cells of a grid beside their means: what changes the SD, and many cells against the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from deviate.facts.metric import MetricSpread
from deviate.lexicon.words import words_of
from deviate.source.cells import Cell
from deviate.stats.cell_families import SpreadEffect, dunnett, spread_effects
from deviate.stats.contrast import deciding_test
from deviate.stats.multiplicity import adjust
from deviate.stats.splits import SplitSpread, split_spread

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


def split_of_grid(
    settings: Sequence[Mapping[str, str]], match: Sequence[MetricSpread], alpha: float
) -> SplitSpread | None:
    """Divide the spread into that of splits and that of runs, in a grid of one factor that is a split by its name.

    Run k of every cell has the same random numbers; where the cells have other runs, they are nested in the splits.
    """
    varied = [name for name in settings[0] if len({cell[name] for cell in settings}) > 1]
    if len(varied) != 1 or SPLITS.isdisjoint(words_of(varied[0])):
        return None
    crossed = all(each.runs == match[0].runs for each in match)
    return split_spread([each.values for each in match], 1 - alpha, crossed=crossed)
