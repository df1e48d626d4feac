"""What a report is made from: plain facts gathered by the earlier stages."""

from __future__ import annotations

from typing import Any

import msgspec

from deviate.collect.events import EnvironmentDifference, ReachedDraw, ReplacedSeed, RuntimeNote, Switch, TurnedBit
from deviate.collect.fingerprints import Fingerprint
from deviate.collect.identity import Identity
from deviate.collect.warned import WarnedOperation
from deviate.experiment import Direction, Experiment, Kind, Run, Status
from deviate.report.asked import Bar


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How one run went."""

    variant: str
    index: int
    status: Status
    #: Wall time of the command; None where it never started.
    seconds: float | None = None
    #: Why it did not complete: ``exit status 1``, ``killed by signal 9``, ``no start was heard``.
    reason: str = ""
    #: Last lines the command wrote to its standard error.
    stderr_tail: list[str] = []
    seeds: dict[str, int] = {}
    #: What the run drew, its batches and its final weights, by name.
    prints: dict[str, Fingerprint] = {}
    #: Things worth telling that went otherwise than planned in this run.
    warnings: list[str] = []
    threads: int | None = None
    cores: list[int] = []
    #: The machine that the run was told to believe to be on; empty: this one.
    platform: str = ""
    has_gpu: bool = False
    #: The weight that was moved by one unit in the last place.
    bit: TurnedBit | None = None
    #: Local time of the start in ISO 8601; empty where it is not known.
    started: str = ""
    host: str = ""
    #: Place among the runs that went on side by side, from 0; None: not known.
    slot: int | None = None

    @property
    def name(self) -> str:
        """The word a user types for the run."""
        return Run(variant=self.variant, index=self.index).folder


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """A name under which values were recorded, and the metric it came from."""

    name: str
    #: Position in ``Experiment.metrics``; None for times, and for what a framework reported and nobody foresaw.
    metric: int | None = None
    unit: str = ""
    #: Where it is no metric of the experiment, and these are known.
    kind: Kind | None = None
    direction: Direction | None = None


class ReportInputs(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known about one experiment."""

    experiment: Experiment
    runs: list[RunFacts]
    #: DataFrame of `collect.tables.samples`: variant, run, metric, aggregate, value. Runs that did not complete may be
    #: in it; they are left out of all statistics.
    samples: Any
    #: A sample whose name is not listed here is looked up by name in the experiment.
    series: list[Series] = []
    seeds: list[ReplacedSeed] = []
    seeds_kept: list[ReplacedSeed] = []
    #: Draws of the project's own files that were reached.
    draws: list[ReachedDraw] = []
    operations: list[WarnedOperation] = []
    #: How far the completed runs of a variant agree, by variant.
    identities: dict[str, Identity] = {}
    switches: list[Switch] = []
    notes: list[RuntimeNote] = []
    environment: dict[str, str] = {}
    differences: list[EnvironmentDifference] = []
    #: Number of test examples by metric name, where the user gave it.
    test_sizes: dict[str, int] = {}
    #: Names of the metrics to tell of; none: all.
    metrics: tuple[str, ...] = ()
    #: Rules by which runs are weak, as the user gave them.
    weak: tuple[Bar, ...] = ()
    level: float = 0.95
    #: Version of Deviate.
    version: str = ""
