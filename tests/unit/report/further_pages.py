"""Facts of pages beside those of plain experiments and comparisons: grids, audits, predictions, live runs."""

from __future__ import annotations

import math

import numpy as np
import predicted_cases as predicted
import report_cases as cases
from compared_sides import side, side_metric
from msgspec import structs

from deviate.facts.comparison import Comparison, compare_sides
from deviate.facts.comparison_options import ComparisonOptions, Drop, GateOptions
from deviate.facts.gate import Gate, check_side
from deviate.facts.grid import Grid, GridLook, MissingCell, compare_cells
from deviate.facts.live import LiveExperiment, LiveRun
from deviate.facts.side import Side, make_side
from deviate.facts.weights import RunWeights
from deviate.observe.events import ReachedDraw, ReplacedSeed
from deviate.observe.examples import Grouping, Groups
from deviate.observe.fingerprints import DrawSource
from deviate.observe.matching import EveryPass
from deviate.observe.repetitions import RepeatedDraws
from deviate.probes.causes import Cause
from deviate.probes.trial import PrintedNumber, UnforeseenName, Verification, YieldedMetric
from deviate.probes.verdicts import Audit, AuditedFactor, Compared, DrawingLine, Explanation, Pin, Probe
from deviate.source.cells import Cell
from deviate.source.config import ExperimentEntry
from deviate.source.lint import Suspect

COMMAND = ["python", "train.py", "--epochs", "10"]

#: Examples that are predicted, and evaluations of each run.
EXAMPLES, PASSES = 120, 6

GROUPS = Groups(
    "groups.csv",
    "index",
    (
        Grouping("writer", ("left-handed", "right-handed"), np.arange(EXAMPLES) % 2),
        Grouping("age", ("under 30", "30 to 60", "over 60"), np.arange(EXAMPLES) // 40),
    ),
)


def grid() -> Grid:
    """Four cells of a grid, and one that was not run."""
    entry = ExperimentEntry(
        name="digits",
        command="python train.py --lr {lr} --width {width}",
        grid={"lr": [0.1, 0.01], "width": [32, 64]},
    )
    rng = np.random.default_rng(0)
    cells, made = [], []
    for lr, width, shift in ((0.1, 32, 6.0), (0.1, 64, 6.2), (0.01, 32, 0.0), (0.01, 64, 0.1)):
        settings = {"lr": lr, "width": width}
        name = f"digits@lr={lr},width={width}"
        cells.append(Cell(name=name, entry=entry, command=COMMAND, settings=settings))
        metrics = [
            side_metric("test acc", 90 + 0.5 * (rng.standard_normal(8) + shift)),
            side_metric("train loss", 0.2 + 0.02 * rng.random(8), kind="loss", direction="lower"),
        ]
        made.append(side(name, metrics))
    missing = [MissingCell(experiment="digits@lr=1.0,width=32", reason="it has not been run")]
    return compare_cells(
        cells, made, ComparisonOptions(), GridLook(number=1, alpha=0.05), missing, "deviate compare digits"
    )


def audit() -> Audit:
    """One source of each verdict, a probe that failed, and everything else that an audit may find."""
    pin = Pin(call="torch.manual_seed", file="train.py", line=12, given="0", library=False)
    prints = ["5c1f", "9a20"]
    factors = [
        AuditedFactor(factor="init", verdict="varies", fingerprints=[*prints], held=True, moved=True),
        AuditedFactor(factor="shuffle", verdict="pinned", pins=[pin], fingerprints=["77aa"] * 2, held=True, moved=True),
        AuditedFactor(factor="augment", verdict="varies", fingerprints=[*prints], held=False, moved=True),
        AuditedFactor(factor="layers", verdict="absent", fingerprints=[None, None]),
        AuditedFactor(
            factor="data", verdict="unknown", why="only one of two probes used it", fingerprints=["31", None]
        ),
    ]
    names = ("as it is", "as it is", "control", "control", "init", "shuffle", "augment")
    probes = [
        Probe(
            name=name,
            ended="all seen",
            seconds=2.5 + place,
            iterations=2,
            fingerprints={"init": f"5c1f{place}", "shuffle": "77aa", "augment": f"9a20{place}"},
        )
        for place, name in enumerate(names)
    ]
    failed = Probe(
        name="data",
        ended="failed",
        seconds=0.5,
        iterations=0,
        fingerprints={},
        reason="exit status 1",
        stderr=["Traceback (most recent call last):", '  File "train.py", line 31, in <module>', "KeyError: 'data'"],
    )
    line = DrawingLine(
        file="train.py",
        line=14,
        call="torch.randn",
        text="weights = torch.randn(64, 10)",
        exact=True,
        order=1,
        counts=[640, 640],
        digests=["5c1f", "9a20"],
    )
    suspect = Suspect(file="train.py", line=3, kind="hash", text="set(names)")
    source = DrawSource(generator="numpy", file="data.py", line=4)
    return Audit(
        command=COMMAND,
        factors=factors,
        workers=[RepeatedDraws(processes=2, digest="aa", sources=[source])],
        seeds=[ReplacedSeed(call="torch.manual_seed", file="train.py", line=12, given="0")],
        draws_left=[ReachedDraw(factor="other", call="random.gauss", file="train.py", line=6)],
        gpu=True,
        probes=[*probes, failed],
        notes=["a value of `reward` could not be read"],
        causes=[Cause(kind="hash", lines=[suspect]), Cause(kind="files", here=False)],
        explanation=Explanation(factor="init", lines=[line], first_difference=0),
        printed=printed(),
        compared=Compared(metrics=["loss"], values=6, iterations=3, equal=False),
        controlled=Compared(metrics=["loss"], values=6, iterations=3, equal=True),
    )


def printed() -> list[PrintedNumber]:
    """One number that is kept and one that only counts."""
    seen = PrintedNumber(name="f1", source="stdout", line="f1 ⟨n⟩", count=2, first=0.1, last=0.2, kind="quality")
    counted = PrintedNumber(name="epoch", source="stdout", line="epoch ⟨n⟩", count=2, first=0, last=1, reason="counts")
    return [seen, counted]


def verification() -> Verification:
    """Metrics with values and without, names of run time, and a program that failed."""
    return Verification(
        verified=[YieldedMetric(name="train loss", count=20, first=2.3, last=0.5)],
        silent=["test acc"],
        unforeseen=[UnforeseenName(name="f1/class 0", metric="f1", count=2, first=0.5, last=0.75)],
        ended="failed",
        seconds=2.0,
        iterations=3,
        reason="exit status 1",
        hint="see where `test acc` is reported: deviate extract",
        stderr=["Traceback (most recent call last):", "RuntimeError: the loader lost its worker"],
        command=COMMAND,
        printed=printed(),
    )


def live() -> LiveExperiment:
    """A run of each state."""
    states = ("completed", "completed", "under way", "failed", "interrupted", "waiting")
    runs = [
        LiveRun(
            name=f"algo+impl-{place}",
            variant="algo+impl",
            state=state,
            seconds=None if state == "waiting" else 30.0 + place,
            iteration=None if state == "waiting" else 11 - place,
            iterations=[] if state == "waiting" else list(range(12 - place)),
            values=[] if state == "waiting" else [90 - 40 * math.exp(-k / 3) + place for k in range(12 - place)],
            reason="exit status 1" if state == "failed" else "",
            tail=["RuntimeError: the loader lost its worker"] if state == "failed" else [],
        )
        for place, state in enumerate(states)
    ]
    return LiveExperiment(name="digits", command=COMMAND, metric="test acc", runs=runs, seconds_left=75.0)


def predictions() -> cases.Document:
    """Labels of every evaluation, scores and groups, and weights of every iteration."""
    rng = np.random.default_rng(5)
    last = predicted.predictions(6, examples=EXAMPLES)
    by_pass = [predicted.predictions(6, examples=EXAMPLES, seed=seed).labels for seed in range(PASSES - 1)]
    labels = np.stack([*by_pass, last.labels], axis=2)
    every = EveryPass(predicted.predictions(6, examples=EXAMPLES, labels=labels), tuple(range(PASSES)), 0)
    scores = np.where(np.arange(3) == last.labels[..., None], 0.7, 0.15) + 0.05 * rng.random((6, EXAMPLES, 3))
    kept = predicted.predictions(
        6, examples=EXAMPLES, labels=last.labels, scores=scores / scores.sum(axis=2, keepdims=True)
    )
    accuracies = [float(share) for share in (last.labels == last.targets).mean(axis=1)]
    plain = cases.results({"algo+impl": {"test acc": accuracies, "train loss": [0.1, 0.12, 0.09, 0.11, 0.1, 0.13]}})
    evaluation = predicted.evaluation(kept, every=every, groups=[GROUPS], positive=1, goodness=accuracies)
    return cases.said(
        structs.replace(plain, evaluations={"algo+impl": [evaluation]}, weights={"algo+impl": _weights(6)})
    )


def _weights(runs: int) -> dict[str, RunWeights]:
    rng = np.random.default_rng(6)

    def layers(scale: float) -> dict[str, np.ndarray]:
        return {name: 1 + scale * rng.standard_normal(8) for name in ("net.1.weight", "net.1.bias", "net.4.weight")}

    return {
        f"algo+impl-{run}": RunWeights(layers=layers(1.0), moments={k: layers(0.2 * k) for k in range(1, 5)})
        for run in range(runs)
    }


def _predicted_side(name: str, seed: int, changed: int = 0) -> Side:
    """Eight runs, wrong on as many examples more as `changed` says."""
    made = predicted.predictions(8, examples=EXAMPLES, seed=seed)
    wrong = (made.targets + 1) % 3
    labels = np.where(np.arange(EXAMPLES) < changed, wrong, made.labels)
    evaluated = predicted.predictions(8, examples=EXAMPLES, seed=seed, labels=labels)
    accuracies = [float(share) for share in (labels == made.targets).mean(axis=1)]
    results = cases.results({"algo+impl": {"test acc": accuracies}})
    evaluation = predicted.evaluation(evaluated, groups=[GROUPS], goodness=accuracies)
    return make_side(structs.replace(results, evaluations={"algo+impl": [evaluation]}), "algo+impl", name)


def predicted_comparison() -> Comparison:
    """Two recipes, the second worse on the first of three ages."""
    compared = [_predicted_side("baseline", 1), _predicted_side("proposed", 2, changed=20)]
    return compare_sides(compared, ComparisonOptions(groups=("groups.csv",)), "deviate compare baseline proposed")


def failing_gate() -> Gate:
    """A recipe that changes too many labels and falls on a group."""
    options = GateOptions(drops={"test acc": Drop(0.5)}, max_churn=0.05, groups=("groups.csv",), max_group_drop=0.02)
    return check_side(
        _predicted_side("proposed", 2, changed=20),
        _predicted_side("baseline", 1),
        options,
        "deviate check proposed --against baseline",
    )


def timed_out() -> cases.Document:
    """Runs that were all ended by the time limit, and printed nothing to standard error."""
    facts = cases.none_completed().facts
    variants = [
        structs.replace(
            variant,
            runs=[
                structs.replace(run, status="timed-out", reason="ended by the time limit", stderr_tail=[])
                for run in variant.runs
            ],
        )
        for variant in facts.variants
    ]
    return cases.Document(structs.replace(facts, variants=variants))
