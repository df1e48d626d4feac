"""Experiments made of plain data, as the earlier stages would hand them to the report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import pandas as pd
from msgspec import structs

from deviate.core.experiment import Capture, Experiment, Metric
from deviate.core.factors import SEEDED, VARIANTS
from deviate.facts.experiment import ExperimentFacts, experiment_facts
from deviate.facts.run import RunResult, timeline_of
from deviate.facts.samples import DEFAULTS, SampleOptions
from deviate.facts.stored import Results, known_metrics, samples_by_variant
from deviate.facts.variant import VariantFacts
from deviate.observe.events import (
    EnvironmentDifference,
    ReachedDraw,
    ReplacedSeed,
    RuntimeNote,
    Switch,
    WarnedOperation,
)
from deviate.observe.fingerprints import Fingerprint
from deviate.observe.identity import Difference, Identity, RunValues, Series
from deviate.observe.metrics import SampleRow
from deviate.observe.surroundings import SharedFiles
from deviate.report.topics.caveats import experiment_caveats
from deviate.report.topics.checklist import checklist
from deviate.report.topics.experiment import experiment_page
from deviate.report.topics.headline import across_notes, headline
from deviate.report.topics.metrics import footnotes
from deviate.report.topics.proof import evidence_sentences, identity_statement
from deviate.report.topics.reproduce import methods
from deviate.report.topics.varied import factors_of
from deviate.report.writers import markdown, terminal
from deviate.report.writers.contracts import experiment_contract, experiment_json

#: Factors that the program of the cases draws for.
PRESENT = ("init", "shuffle", "layers", "data")

Values = Mapping[str, Sequence[float | None]]


def clock() -> datetime:
    return datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


def metric(name: str, **changes: object) -> Metric:
    fields: dict[str, object] = {
        "name": name,
        "variable": "x",
        "expression": "x",
        "file": "train.py",
        "line": 12,
        "end_line": 12,
        "function": "main",
        "sink": "print",
        "kind": "loss" if "loss" in name else "quality",
        "direction": "lower" if "loss" in name else "higher",
        "aggregate": "last" if "loss" in name else "best",
        "confidence": 0.9,
        "why": "",
        "capture": Capture(how="value"),
    }
    return Metric(**{**fields, **changes})


def experiment(metrics: Sequence[Metric], variants: Sequence[str] = ("algo+impl",), runs: int = 8) -> Experiment:
    return Experiment(
        name="digits_mlp",
        command=["python", "train.py", "--epochs", "10"],
        entry="train.py",
        metrics=list(metrics),
        main_loop=None,
        source="5f2a9c",
        seed=0,
        planned=dict.fromkeys(variants, runs),
        created="2026-03-01T12:00:00+00:00",
    )


def completed(variant: str, n: int, seconds: Sequence[float] = ()) -> list[RunResult]:
    times = list(seconds) or [3.0 + 0.07 * index for index in range(n)]
    return [
        RunResult(variant=variant, index=k, status="completed", seconds=times[k], seeds={"all": 100 + k}, threads=1)
        for k in range(n)
    ]


def failed(variant: str, index: int, **changes: object) -> RunResult:
    fields: dict[str, object] = {
        "status": "failed",
        "seconds": 1.25,
        "reason": "exit status 1",
        "stderr_tail": [
            "Traceback (most recent call last):",
            '  File "train.py", line 31, in <module>',
            "RuntimeError: the loader lost its worker",
        ],
    }
    return RunResult(variant=variant, index=index, **{**fields, **changes})


def sample_rows(
    values: Mapping[str, Values], runs: Sequence[RunResult], aggregates: Mapping[str, str] | None = None
) -> list[SampleRow]:
    rows = [
        SampleRow(variant, run, name, (aggregates or {}).get(name, "last"), value)
        for variant, metrics in values.items()
        for name, sample in metrics.items()
        for run, value in enumerate(sample)
        if value is not None
    ]
    for run in runs:
        if run.status == "completed":
            seconds = math.nan if run.seconds is None else run.seconds
            rows.append(SampleRow(run.variant, run.index, "time per run", "last", seconds))
    return rows


def results(
    values: Mapping[str, Values],
    runs: Sequence[RunResult] | None = None,
    metrics: Sequence[Metric] | None = None,
    planned: int | None = None,
    names: Sequence[tuple[str, int]] = (),
    options: SampleOptions = DEFAULTS,
    rows: list[SampleRow] | None = None,
    **extra: object,
) -> Results:
    """Return what was recorded: by variant and metric one value per run, None where a run recorded none.

    `names` are recorded names with the index of their metric, where that is not the one of the same name.
    """
    listed = list(dict.fromkeys(name for sample in values.values() for name in sample))
    known = list(metrics) if metrics is not None else [metric(name) for name in listed]
    lengths = {variant: max(map(len, sample.values()), default=0) for variant, sample in values.items()}
    if runs is None:
        runs = [run for variant, n in lengths.items() for run in completed(variant, n)]
    count = planned or max((run.index + 1 for run in runs), default=1)
    made = experiment(known, list(values), count)
    recorded = list(names) or [(name, -1) for name in listed]
    measured = known_metrics(made, recorded, options)
    if rows is None:
        rows = sample_rows(values, runs, {each.name: each.aggregate for each in known})
    return Results(
        experiment=made,
        runs=list(runs),
        samples=samples_by_variant(rows, list(runs), measured, made, options),
        names=recorded,
        options=options,
        version="0.1.0",
        **{"shared": SharedFiles(known=[run.name for run in runs]), **extra},
    )


class Variant:
    """The facts about a variant with what is said of them."""

    def __init__(self, facts: VariantFacts) -> None:
        self.facts = facts
        self.headline = headline(facts)
        self.factors = factors_of(facts)
        self.statement = identity_statement(facts)
        self.proven = evidence_sentences(facts)
        self.footnotes = footnotes(facts.metrics) if facts.completed else []

    def __getattr__(self, name: str) -> object:
        return getattr(self.facts, name)


class Document:
    """The facts about an experiment with what is said of them."""

    def __init__(self, facts: ExperimentFacts) -> None:
        self.facts = facts
        self.variants = [Variant(variant) for variant in facts.variants]
        self.warnings = experiment_caveats(facts)
        self.methods = methods(facts)
        self.checklist = checklist(facts)
        self.across_notes = across_notes(facts.across)

    def __getattr__(self, name: str) -> object:
        return getattr(self.facts, name)


def said(made: Results, *, level: float = 0.95, chosen: Sequence[str] = ()) -> Document:
    return Document(experiment_facts(made, clock(), level=level, metrics=chosen))


def document(
    values: Mapping[str, Values], *, level: float = 0.95, chosen: Sequence[str] = (), **more: object
) -> Document:
    return said(results(values, **more), level=level, chosen=chosen)


def render_terminal(document: Document, width: int = 100) -> str:
    return terminal.render_terminal(experiment_page(document.facts, "brief"), width)


def render_screen(document: Document, width: int = 80) -> str:
    return terminal.render_terminal(experiment_page(document.facts, "screen"), width)


def render_markdown(document: Document) -> str:
    return markdown.render_markdown(experiment_page(document.facts, "full"))


def render_json(document: Document) -> str:
    return experiment_json(document.facts)


def contract(document: Document) -> dict:
    return experiment_contract(document.facts)


DIGITS: Values = {
    "train loss": [0.0312, 0.0287, 0.0351, 0.0298, 0.0305, 0.0342, 0.0279, 0.0331],
    "test loss": [0.118, 0.131, 0.109, 0.122, 0.127, 0.114, 0.12, 0.125],
    "test acc": [96.9, 97.2, 96.1, 97.8, 96.9, 97.2, 96.4, 97.0],
}


@cache
def usual() -> Document:
    """Eight good runs of one variant, with everything the runtime can tell."""
    return document(
        {"algo+impl": DIGITS},
        runs=[structs.replace(run, prints=prints("algo+impl", run.index, SEEDED)) for run in completed("algo+impl", 8)],
        seeds=[ReplacedSeed(call="torch.manual_seed", file="train.py", line=12, given="0")],
        environment={"python": "3.11.7", "torch": "2.13.0+cpu"},
    )


@cache
def troubled() -> Document:
    """Two variants, failures, a NaN, a metric that stays silent, a difference between machines, nasty names."""
    values = {
        "algo+impl": {
            "train loss": [0.03, 0.05, math.nan, 0.04, None, None],
            "val_acc|top-1 [bold]": [0.91, 0.93, 0.92, 0.92, 0.4, None],
            "вал точность": [0.5, 0.5, 0.5, 0.5, None, None],
            "reward": [-1.5, 2.5, 0.5, 1.0, None, None],
        },
        "control": {
            "train loss": [0.03, 0.03],
            "val_acc|top-1 [bold]": [0.91, 0.92],
            "вал точность": [0.5, 0.5],
            "reward": [0.5, 0.5],
        },
    }
    runs = [
        *completed("algo+impl", 4),
        failed("algo+impl", 4),
        failed("algo+impl", 5, status="timed-out", reason="longer than 60 s", stderr_tail=["\x1b[31mstep\x1b[0m 3\r4"]),
        *completed("control", 2),
    ]
    metrics = [metric(name) for name in values["control"]]
    return document(
        values,
        runs=runs,
        metrics=[*metrics, metric("test f1", file="engine.py", line=88)],
        names=[(each.name, index) for index, each in enumerate(metrics)],
        switches=[Switch(name="torch.use_deterministic_algorithms", value="warn_only")],
        notes=[RuntimeNote(slug="value-unreadable", message="a value of reward could not be read", runs=["control-1"])],
        differences=[EnvironmentDifference(name="torch", values={"2.13": ["algo+impl-0"], "2.12": ["control-0"]})],
    )


@cache
def crowded(count: int = 100, n: int = 10) -> Document:
    """Many metrics, from 1e-12 to 1e12."""
    rng = np.random.default_rng(4)
    scales = np.logspace(-12, 12, count)
    values = {
        f"metric {k:03d}": (scale * (1 + 0.01 * (k % 7 + 1) * rng.standard_normal(n))).tolist()
        for k, scale in enumerate(scales)
    }
    return document({"algo+impl": values})


@cache
def identical(variant: str = "control", n: int = 3) -> Document:
    values = {variant: {"train loss": [0.1] * n, "test acc": [97.2222222222] * n}}
    return document(values, runs=proven(variant, n) if variant == "control" else None)


@cache
def single() -> Document:
    return document({"algo+impl": {"train loss": [0.1], "test acc": [97.2]}})


@cache
def none_completed() -> Document:
    runs = [failed("algo+impl", 0), failed("algo+impl", 1)]
    return document({"algo+impl": {}}, runs=runs, metrics=[metric("test acc")])


@cache
def not_started() -> Document:
    return document({"algo+impl": {}}, runs=[], metrics=[metric("test acc")], planned=4)


@cache
def all_nan() -> Document:
    return document({"algo+impl": {"train loss": [math.nan, math.inf, -math.inf]}})


def started(document: Document, slots: int = 2, pause_s: float = 0.0) -> ExperimentFacts:
    """Say when each run started: one after the other in `slots`, with a pause before the last variant."""
    begun, variants, facts = datetime(2026, 3, 1, tzinfo=UTC), [], document.facts
    for index, variant in enumerate(facts.variants):
        begun += timedelta(seconds=pause_s if index == len(facts.variants) - 1 else 0)
        runs = []
        for run in variant.runs:
            moment = begun + timedelta(seconds=4.0 * (run.index // slots))
            runs.append(structs.replace(run, started=moment.isoformat(), slot=run.index % slots, host="here"))
        begun += timedelta(seconds=4.0 * (len(runs) // slots + 1))
        variants.append(structs.replace(variant, runs=runs))
    timeline = timeline_of(run for variant in variants for run in variant.runs)
    return structs.replace(facts, variants=variants, timeline=timeline)


def prints(variant: str, index: int, names: Sequence[str] = PRESENT, **changes: str) -> dict[str, Fingerprint]:
    """Return the fingerprints of a run that draws as its variant promises; `changes` are other digests by name."""
    varying = VARIANTS[variant].varying
    digests = {name: f"{name}-{index if name in varying else 0}" for name in names}
    drawn = varying & set(names)
    follows = {
        "weights": f"weights-{index if drawn else 0}",
        "batches": f"batches-{index if drawn & {'shuffle', 'data'} else 0}",
    }
    return {
        name: Fingerprint(name=name, digest=digest, first=digest, count=8, processes=1, ended=1)
        for name, digest in {**digests, **follows, **changes}.items()
    }


def proven(variant: str, n: int, **changes: str) -> list[RunResult]:
    """Return completed runs with fingerprints; `changes` are other digests of the last of them."""
    return [
        structs.replace(run, prints=prints(variant, run.index, **(changes if run.index == n - 1 else {})))
        for run in completed(variant, n)
    ]


@cache
def sources() -> Document:
    """Sources of nondeterminism one at a time, with fingerprints; dropout leaks where only the data order varies."""
    rng = np.random.default_rng(1)
    spreads = {"algo+impl": 0.5, "init": 0.4, "shuffle": 0.3, "augment": 0.0, "impl": 0.0, "control": 0.0}
    values = {
        variant: {
            "test acc": (96.9 + sd * rng.standard_normal(4)).tolist(),
            "train loss": (0.031 + sd * 0.01 * rng.standard_normal(4)).tolist(),
        }
        for variant, sd in spreads.items()
    }
    runs = [
        *(run for variant in spreads if variant != "shuffle" for run in proven(variant, 4)),
        *proven("shuffle", 4, layers="leaked"),
    ]
    names = {variant: [f"{variant}-{index}" for index in range(4)] for variant in spreads}
    return document(
        values,
        runs=runs,
        identities={
            variant: _identity(names[variant], values[variant]["test acc"], parted=sd > 0)
            for variant, sd in spreads.items()
        },
        seeds=[
            ReplacedSeed(call="torch.manual_seed", file="train.py", line=12, given="0"),
            ReplacedSeed(call="set_seed", file="transformers/trainer.py", line=400, given="42", library=True),
        ],
        seeds_kept=[ReplacedSeed(call="train_test_split", file="data.py", line=7, given="1")],
        draws=[ReachedDraw(factor="other", call="numpy.random.rand", file="noise.py", line=3)],
        operations=[WarnedOperation(operation="scatter_add_cuda_kernel", runs=["control-0"])],
    )


def _identity(names: list[str], values: Sequence[float], *, parted: bool) -> Identity:
    if not parted:
        return Identity(runs=names, values=240, classes=[names])
    differences = [
        Difference(run=name, other=names[0], metric="test acc", iteration=1, value=value, other_value=values[0])
        for name, value in zip(names[1:], values[1:], strict=True)
    ]
    return Identity(runs=names, values=240, differences=differences, classes=[[name] for name in names])


CASES = {
    case.__name__: case
    for case in (usual, troubled, crowded, identical, single, none_completed, not_started, all_nan, sources)
}


def by_run(records: pd.DataFrame) -> dict[str, dict[int, RunValues]]:
    """Return records as curves are made of: by variant and run, the values of each metric."""
    recorded: dict[str, dict[int, dict[str, Series]]] = {}
    for (variant, run, metric), part in records.groupby(["variant", "run", "metric"], sort=False):
        series = Series(*(part[name].to_numpy() for name in ("iteration", "value")), np.arange(len(part)))
        recorded.setdefault(variant, {}).setdefault(run, {})[metric] = series
    return recorded
