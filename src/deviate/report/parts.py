"""The parts a document consists of: every number and sentence said about an experiment, as frozen data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from deviate.collect.events import EnvironmentDifference, ReachedDraw, ReplacedSeed, Switch, TurnedBit
from deviate.collect.warned import WarnedOperation
from deviate.experiment import SCHEMA, Direction, Kind, Status
from deviate.measure.intervals import Interval
from deviate.measure.resolution import FiniteTest, Resolution
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
    #: It completed with a value, and is left out because the user's rule calls it weak.
    weak: bool = False

    @property
    def not_finite(self) -> bool:
        """Whether the run completed with a value that is NaN or infinite."""
        return self.status == "completed" and self.reported in ("nan", "inf", "-inf")


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
    #: The spread beside what the finite test set does by itself; None where its size is not known.
    finite_test: FiniteTest | None = None
    #: Bootstrap intervals, which assume no distribution.
    ci_mean_bootstrap: Interval | None = None
    ci_sd_bootstrap: Interval | None = None
    #: The same with weak runs; None where none was left out.
    including_weak: MetricReport | None = None

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
    #: The machine that the run was told to believe to be on; empty: this one.
    platform: str = ""
    #: The weight that was moved by one unit in the last place.
    bit: TurnedBit | None = None
    #: Local time of the start in ISO 8601; empty where it is not known.
    started: str = ""
    host: str = ""
    #: Place among the runs that went on side by side, from 0; None: not known.
    slot: int | None = None

    @property
    def disturbed(self) -> str:
        """What was done to it beside its seeds, in words; empty: nothing."""
        if self.platform:
            return f"as on {self.platform}"
        if self.bit is None:
            return ""
        tensor = f"tensor {self.bit.tensor}" if self.bit.tensor.isdecimal() else self.bit.tensor
        return f"with {tensor}[{self.bit.index.strip('[]()')}] {self.bit.after} for {self.bit.before}"


#: What a variant wants of a factor; ``follows``: it is the outcome of others; ``left``: nothing is wanted.
Meant = Literal["varies", "held", "follows", "left"]

#: What the fingerprints show. ``partly``: some runs are equal and some are not; ``unknown``: too few runs show it.
Found = Literal["varied", "identical", "partly", "absent", "unknown"]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What fingerprints say of one factor, of the batches or of the final weights, over the runs of a variant."""

    name: str
    meant: Meant
    found: Found
    #: Names of the runs, those together that have the same fingerprint.
    groups: list[list[str]]
    #: The variant promised otherwise.
    broken: bool = False
    #: Some runs drew more often than others.
    unequal: bool = False


class Factors(msgspec.Struct, frozen=True, kw_only=True):
    """What differed between the runs of a variant on purpose, what did not, and what is not known to be either."""

    gloss: str
    varied: list[str]
    held: list[str]
    caveats: list[str]


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """How the runs of a variant stand to the criterion that decided how many of them were made."""

    #: As it was typed.
    criterion: str
    of: Literal["mean", "sd"]
    met: bool
    #: Runs with a finite value of the metric.
    n: int
    #: Half-width of the t interval of the mean, in its unit; of that of an SD, as a share of it, where `relative`.
    half_width: float | None
    wanted: float
    relative: bool
    #: The one that keeps its level.
    interval: Interval
    #: Runs it is expected to take in all.
    expected: int | None
    sentences: list[str]


class VariantReport(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one variant and what they measured."""

    variant: str
    factors: Factors
    planned: int
    completed: int
    runs: list[RunReport]
    #: In the order for readers, see `order.ordered`; the same in all variants.
    metrics: list[MetricReport]
    #: Names of metrics that no completed run recorded.
    silent: list[str]
    headline: list[str]
    #: What to know to read the table of metrics.
    footnotes: list[str]
    #: What was bit-identical, or where runs part first; empty where there are not two completed runs.
    statement: str = ""
    #: By fingerprint; empty where none was taken.
    evidence: list[Evidence] = []
    #: The same in words.
    proven: list[str] = []
    #: None where the user decided how many runs were made.
    stopped: Stopped | None = None


class VariantSpread(msgspec.Struct, frozen=True, kw_only=True):
    """How much the runs of one variant differ in a metric."""

    variant: str
    n: int
    mean: float | None
    sd: float | None
    ci_sd: Interval
    #: SD as a share of that of the variant in which everything varies; None where there is none.
    relative: float | None


class SpreadAcross(msgspec.Struct, frozen=True, kw_only=True):
    """How much runs differ in one metric, by what varies."""

    metric: str
    aggregate: str
    unit: str
    #: The variant that shares are of; empty where there are no shares.
    whole: str
    rows: list[VariantSpread]
    #: Which source brings most, and how far sources overlap.
    sentences: list[str] = []


class Warned(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a reader must know before trusting the numbers."""

    slug: str
    message: str
    #: ``warning``: something is not as it should be. ``note``: a limit of what the numbers can tell.
    severity: Literal["warning", "note"] = "warning"
    #: None where it concerns the experiment as a whole.
    variant: str | None = None


def together(warnings: Iterable[Warned]) -> list[tuple[Warned, list[str]]]:
    """Return each remark once, with the variants that it is on; none where it is on the whole experiment."""
    found: dict[tuple[str, str], tuple[Warned, list[str]]] = {}
    for warned in warnings:
        _, variants = found.setdefault((warned.severity, warned.message), (warned, []))
        variants += [warned.variant] if warned.variant else []
    return list(found.values())


class Reproduce(msgspec.Struct, frozen=True, kw_only=True):
    """What someone else needs to do the same again."""

    #: One line for a shell.
    command: str
    folder: str
    seed: int
    source: str
    #: Versions of the tool, the interpreter and the libraries; other properties of the machine.
    environment: dict[str, str]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A question of a reproducibility checklist and what the document can say to it."""

    question: str
    #: Who asks: ``NeurIPS 7`` is question 7 of the NeurIPS paper checklist.
    asked_by: list[str]
    answer: str
    #: False where only the authors can answer.
    known: bool


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
    #: One a metric, where there are several variants, and what to know to read them.
    across: list[SpreadAcross] = []
    across_notes: list[str] = []
    #: Seeds of data that is held fixed: left as the program gives them.
    seeds_kept: list[ReplacedSeed] = []
    #: Draws in the project's own files that belong to no other factor and so vary with ``other``.
    draws_left: list[ReachedDraw] = []
    #: Operations without a deterministic form.
    operations: list[WarnedOperation] = []
    #: Names of the metrics that were asked for; empty: all are told of.
    metrics_chosen: list[str] = []
    #: How the numbers were made, in sentences for a paper.
    methods: list[str] = []
    checklist: list[Answer] = []

    def __repr__(self) -> str:
        from deviate.report.writers.terminal import render_terminal

        return render_terminal(self).rstrip("\n")
