"""What a report is made from: plain facts gathered by the earlier stages."""

from __future__ import annotations

from typing import Any

import msgspec

from deviate.collect.events import EnvironmentDifference, ReplacedSeed, RuntimeNote, Switch
from deviate.experiment import Experiment, Status


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
    fingerprints: dict[str, str] = {}
    #: Things worth telling that went otherwise than planned in this run.
    warnings: list[str] = []
    threads: int | None = None
    cores: list[int] = []


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """A name under which values were recorded, and the metric it came from."""

    name: str
    #: Position in ``Experiment.metrics``; None for times, and for what a framework reported and nobody foresaw.
    metric: int | None = None
    unit: str = ""


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
    switches: list[Switch] = []
    notes: list[RuntimeNote] = []
    environment: dict[str, str] = {}
    differences: list[EnvironmentDifference] = []
    #: Number of test examples by metric name, where the user gave it.
    test_sizes: dict[str, int] = {}
    level: float = 0.95
    #: Version of Deviate.
    version: str = ""
