"""The facts of a grid: its cells beside each other in each metric, and what its factors do."""

from __future__ import annotations

import msgspec

from deviate.contrast.results import Effect, Tested
from deviate.experiment import SCHEMA, Direction, Kind
from deviate.inference.comparison.comparability import Comparability
from deviate.measure.intervals import Interval


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
