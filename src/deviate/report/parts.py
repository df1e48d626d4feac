"""The parts a document consists of: every number and sentence said about an experiment, as frozen data."""

from __future__ import annotations

from typing import Literal

import msgspec

from deviate.collect.events import EnvironmentDifference, ReplacedSeed, Switch
from deviate.experiment import SCHEMA, Direction, Kind, Status
from deviate.measure.intervals import Interval
from deviate.measure.resolution import Resolution
from deviate.measure.spread import Spread


class Excluded(msgspec.Struct, frozen=True, kw_only=True):
    """A run that does not enter the statistics of a metric, and why."""

    run: int
    status: Status
    #: The finite value of a run that did not complete; None where there is none.
    value: float | None = None
    #: The value as text, also for NaN and infinities; empty where nothing was recorded.
    reported: str = ""
    reason: str


class MetricReport(msgspec.Struct, frozen=True, kw_only=True):
    """One metric under one aggregate over the runs of one variant."""

    name: str
    aggregate: str
    spread: Spread
    ci_mean: Interval
    ci_sd: Interval
    #: Finite values of the completed runs, in the order of `runs`.
    values: list[float]
    #: Index of the run of each value.
    runs: list[int]
    excluded: list[Excluded] = []
    unit: str = ""
    kind: Kind = "quality"
    direction: Direction | None = None
    #: ``file:line`` where the program reports it; empty where a framework or the clock does.
    site: str = ""
    resolution: Resolution | None = None

    @property
    def n(self) -> int:
        """Number of values."""
        return self.spread.n


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as far as it is shown."""

    index: int
    #: The word a user types for the run.
    name: str
    status: Status
    seconds: float | None
    seeds: dict[str, int]
    fingerprints: dict[str, str]
    reason: str
    stderr_tail: list[str]
    warnings: list[str]
    threads: int | None
    cores: list[int]


class Factors(msgspec.Struct, frozen=True, kw_only=True):
    """What differed between the runs of a variant on purpose, what did not, and what is not known to be either."""

    gloss: str
    varied: list[str]
    held: list[str]
    caveats: list[str]


class VariantReport(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one variant and what they measured."""

    variant: str
    factors: Factors
    planned: int
    completed: int
    runs: list[RunReport]
    #: By CV, largest first; those without CV after.
    metrics: list[MetricReport]
    #: Names of metrics that no completed run recorded.
    silent: list[str]
    headline: list[str]
    #: What to know to read the table of metrics.
    footnotes: list[str]


class Warned(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a reader must know before trusting the numbers."""

    slug: str
    message: str
    #: ``warning``: something is not as it should be. ``note``: a limit of what the numbers can tell.
    severity: Literal["warning", "note"] = "warning"
    #: None where it concerns the experiment as a whole.
    variant: str | None = None


class Reproduce(msgspec.Struct, frozen=True, kw_only=True):
    """What someone else needs to do the same again."""

    #: One line for a shell.
    command: str
    folder: str
    seed: int
    source: str
    #: Versions of the tool, the interpreter and the libraries; other properties of the machine.
    environment: dict[str, str]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """All that is said about one experiment; writers only lay it out."""

    schema: int = SCHEMA
    experiment: str
    command: list[str]
    variants: list[VariantReport]
    warnings: list[Warned]
    level: float
    created: str
    generated: str
    seeds_replaced: list[ReplacedSeed]
    switches: list[Switch]
    differences: list[EnvironmentDifference]
    reproduce: Reproduce
