"""The parts a comparison consists of, as frozen data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from deviate.contrast.contrast import Contrast
from deviate.contrast.ranking import Place
from deviate.contrast.results import Tested
from deviate.contrast.verdict import NoisierVerdict, Verdict
from deviate.experiment import SCHEMA, Direction, Kind
from deviate.measure.spread import Spread
from deviate.report.parts import Warned

if TYPE_CHECKING:
    from deviate.report.notebook import Figures


class MetricComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One metric on two sides."""

    name_a: str
    name_b: str
    aggregate: str
    kind: Kind
    unit: str
    direction: Direction | None
    spread_a: Spread
    spread_b: Spread
    values_a: list[float]
    values_b: list[float]
    #: Index of the run of each value.
    runs_a: list[int]
    runs_b: list[int]
    excluded_a: int
    excluded_b: int
    contrast: Contrast
    #: Adjusted over the metrics and pairs of a family: of the test of the means, of the spread, of equivalence.
    p_adjusted: float | None
    spread_p_adjusted: float | None
    equivalence_p_adjusted: float | None
    #: Tests of means that were adjusted together with this one, itself included.
    family: int
    verdict: Verdict
    #: The means differ, whichever is better; None where it could not be tested.
    differs: bool | None
    noisier: NoisierVerdict
    #: Sentences.
    why: list[str]
    why_noisier: list[str]

    @property
    def name(self) -> str:
        """Name on the first side."""
        return self.name_a

    def __repr__(self) -> str:
        return f"<{self.name_a!r}: {self.verdict}>"


class PairComparison(msgspec.Struct, frozen=True, kw_only=True):
    """All metrics on two sides."""

    a: str
    b: str
    variant_a: str
    variant_b: str
    metrics: list[MetricComparison]
    #: What pairing rests on, or why runs are not paired.
    pairing: str
    #: Factors for which runs of one index drew the same.
    shared: list[str] = []

    def __repr__(self) -> str:
        return f"<{self.a!r} against {self.b!r}: {', '.join(map(repr, self.metrics))}>"


class MetricOmnibus(msgspec.Struct, frozen=True, kw_only=True):
    """One metric on more than two sides."""

    name: str
    welch_anova: Tested
    kruskal_wallis: Tested
    #: Of Welch's test, adjusted over the metrics of a family.
    p_adjusted: float | None
    #: Tests that were adjusted together, this one included.
    family: int
    #: Best first; empty where nobody knows which values are better.
    places: list[Place]
    why: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All that is said about sides beside each other; writers only lay it out."""

    schema: int = SCHEMA
    labels: list[str]
    alpha: float
    correction: str
    #: Tests of means of the training's metrics, which were adjusted together; of times where nothing else is compared.
    family: int
    #: Those of times that Deviate measures, which were adjusted together and apart from the others.
    times_family: int
    pairs: list[PairComparison]
    #: Only with more than two sides.
    omnibus: list[MetricOmnibus]
    headline: list[str]
    warnings: list[Warned]
    #: Sentences of a methods paragraph.
    methods: list[str]
    #: What to type for the same.
    command: str

    @property
    def level(self) -> float:
        """Confidence level of the intervals."""
        return 1 - self.alpha

    def __repr__(self) -> str:
        from deviate.report.writers.comparison_terminal import render_comparison_terminal

        return render_comparison_terminal(self).rstrip("\n")

    def _repr_html_(self) -> str:
        from deviate.report.notebook import comparison_html

        return comparison_html(self)

    def figures(self) -> Figures:
        """Return every figure of the comparison as an Altair chart, by slug."""
        from deviate.report.figures import comparison_figures
        from deviate.report.notebook import Figures

        return Figures(comparison_figures(self))
