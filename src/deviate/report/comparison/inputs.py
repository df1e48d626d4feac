"""What a comparison is made from: the samples of each side and what the user asked."""

from __future__ import annotations

from typing import Literal

import msgspec

from deviate.collect.fingerprints import Fingerprint
from deviate.contrast.multiplicity import DEFAULT_CORRECTION, Correction
from deviate.contrast.power import DEFAULT_ALPHA
from deviate.experiment import Direction, Kind

Pairing = Literal["auto", "on", "off"]


class SideMetric(msgspec.Struct, frozen=True, kw_only=True):
    """One metric over the completed runs of one side."""

    name: str
    aggregate: str
    kind: Kind
    unit: str
    direction: Direction | None
    #: Finite values, in the order of `runs`.
    values: list[float]
    #: Index of the run of each value.
    runs: list[int]
    #: Completed runs without a finite value.
    excluded: int = 0


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one variant of one experiment."""

    #: What the user typed.
    label: str
    experiment: str
    variant: str
    completed: int
    #: Runs that ended, completed or not.
    ended: int
    #: In the order of the experiment.
    metrics: list[SideMetric]
    #: What the first run that told it ran in, as text.
    environment: dict[str, str] = {}
    #: Run index -> fingerprints by name.
    prints: dict[int, dict[str, Fingerprint]] = {}
    #: The variant was not typed, and the experiment has several.
    assumed: bool = False


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the user wants to know, and how sure."""

    alpha: float = DEFAULT_ALPHA
    correction: Correction = DEFAULT_CORRECTION
    #: Metric of the first side -> its name on the other sides.
    matches: dict[str, str] = {}
    #: The smallest difference that matters, by metric of the first side.
    margins: dict[str, float] = {}
    #: Which values are better, by metric of the first side, where the experiment does not know.
    directions: dict[str, Direction] = {}
    #: Names on the first side; empty for all.
    metrics: list[str] = []
    pairing: Pairing = "auto"
    #: Of every random draw.
    seed: int = 0

    @property
    def level(self) -> float:
        """Confidence level that belongs to `alpha`."""
        return 1 - self.alpha
