"""Pages of made-up experiments and comparisons, and what a reader without scripts finds in them."""

from __future__ import annotations

import math
import types
import typing
from functools import cache
from typing import Any, Literal, get_args, get_origin

import further_pages as further
import msgspec
import numpy as np
import pandas as pd
import report_cases as cases
from compared_sides import side, sides
from html_outline import Outline
from msgspec import structs
from report_cases import Document

from deviate.core.experiment import IMPORTED, Imported
from deviate.facts.comparison import Comparison, compare_sides
from deviate.facts.comparison_options import ComparisonOptions, Drop, GateOptions
from deviate.facts.curves import curves_of
from deviate.facts.gate import Gate, check_side
from deviate.facts.grid import Grid
from deviate.facts.live import LiveExperiment
from deviate.facts.plan import Plan, PlanOptions, make_plan
from deviate.facts.proof import Evidence
from deviate.facts.run import timeline_of
from deviate.probes.trial import Verification
from deviate.probes.verdicts import Audit
from deviate.report.page import Page
from deviate.report.topics.audit import audit_page, verification_page
from deviate.report.topics.comparison import comparison_page
from deviate.report.topics.experiment import experiment_page
from deviate.report.topics.gate import gate_page
from deviate.report.topics.grid import grid_page
from deviate.report.topics.live import live_page
from deviate.report.topics.plan import plan_page
from deviate.report.writers.html import render_html

#: Ends of elements and comments, handlers, templates, and what other languages take for code.
ATTACK = (
    "</script></style></title></textarea><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
    '<!--"`${window.hacked=1}`{{7*7}}{% x %}&lt;\u2028\u202e a.b[0]["c"]\\ datum.x\x00'
)

#: Iterations of the learning curves.
EPOCHS = 12

Facts = Document | Comparison | Gate | Plan | Grid | Audit | Verification | LiveExperiment


def records_of(document: Document) -> pd.DataFrame:
    """Return learning curves that end in the values of the document."""
    rng = np.random.default_rng(3)
    rows = [
        (variant.variant, run, metric.name, epoch, 0.5 * epoch, value * (1 + falling * rng.random()))
        for variant in document.variants
        for metric in variant.metrics
        if metric.kind != "speed"
        for run, value in zip(metric.runs, metric.values, strict=True)
        for epoch, falling in enumerate(np.linspace(1, 0, EPOCHS))
    ]
    frame = pd.DataFrame(rows, columns=["variant", "run", "metric", "iteration", "elapsed_s", "value"])
    return frame.astype({"run": "int64", "iteration": "int64", "elapsed_s": "float64", "value": "float64"})


#: The page of each kind of facts, but of experiments.
PAGES = {
    Comparison: comparison_page,
    Gate: gate_page,
    Plan: plan_page,
    Grid: grid_page,
    Audit: audit_page,
    Verification: verification_page,
}


def full_page(facts: Facts) -> Page:
    """Return the page as data, that of an experiment with learning curves, that of live runs above a report."""
    if isinstance(facts, LiveExperiment):
        return live_page(facts, full_page(cases.usual()).sections)
    if isinstance(facts, Document):
        return experiment_page(facts.facts, "full", curves_of(facts.facts, cases.by_run(records_of(facts))))
    return PAGES[type(facts)](facts, "full")


def page(facts: Facts) -> str:
    return render_html(full_page(facts))


#: What runs are seeded for.
SEEDED = ("init", "shuffle", "augment", "layers", "other", "data", "hash")


def scheduled(document: Document) -> Document:
    """Say of each run when it began and beside which others, what it took, and every seed."""
    variants = [
        structs.replace(
            variant,
            runs=[
                structs.replace(
                    run,
                    started=f"2026-03-01T12:{run.index % 60:02d}:00+00:00",
                    host="node1",
                    slot=run.index % 2,
                    cpu_seconds=4.5,
                    peak_memory=512 * 2**20,
                    seeds={factor: 3_000_000_000 + place for place, factor in enumerate(SEEDED)},
                )
                for run in variant.runs
            ],
        )
        for variant in document.facts.variants
    ]
    timeline = timeline_of(run for variant in variants for run in variant.runs)
    return Document(structs.replace(document.facts, variants=variants, timeline=timeline))


@cache
def imported() -> Document:
    facts = cases.document({IMPORTED: {"test acc": [96.9, 97.2, 96.1, math.nan]}}).facts
    again = structs.replace(facts.reproduce, command="deviate import results.csv")
    definition = structs.replace(facts.definition, imported=Imported(format="csv", sources=["results.csv"], labels={}))
    return Document(structs.replace(facts, reproduce=again, definition=definition))


@cache
def comparison(n: int = 8) -> Comparison:
    return compare_sides(sides(n), ComparisonOptions(), "deviate compare baseline proposed")


@cache
def ranked() -> Comparison:
    compared = [*sides(), side("third", sides(seed=4)[0].samples)]
    return compare_sides(compared, ComparisonOptions(), "deviate compare baseline proposed third")


@cache
def gate() -> Gate:
    drops = {"test acc": Drop(0.5), "train loss": Drop(0.02)}
    baseline, proposed = sides()
    return check_side(baseline, proposed, GateOptions(drops=drops), "deviate check baseline --against proposed")


@cache
def inconclusive_gate() -> Gate:
    drops = {"test acc": Drop(0.5)}
    return check_side(*sides(3), GateOptions(drops=drops), "deviate check baseline --against proposed")


@cache
def plan() -> Plan:
    return make_plan(PlanOptions(difference=0.5, sd=0.4), None, "deviate plan --difference 0.5 --set sd=0.4")


#: What there is a page of: each kind of experiment, and comparisons.
KINDS = {
    "one variant": lambda: scheduled(cases.usual()),
    "arms and sources": lambda: scheduled(cases.sources()),
    "failures and NaN": cases.troubled,
    "single run": cases.single,
    "identical runs": cases.identical,
    "none completed": cases.none_completed,
    "not started": cases.not_started,
    "only NaN": cases.all_nan,
    "many metrics": lambda: cases.crowded(40),
    "imported": imported,
    "comparison": comparison,
    "comparison of few runs": lambda: comparison(2),
    "comparison of three": ranked,
    "gate": gate,
    "plan": plan,
    "predictions": further.predictions,
    "comparison of predictions": further.predicted_comparison,
    "failing gate": further.failing_gate,
    "grid": further.grid,
    "audit": further.audit,
    "verification": further.verification,
    "live": further.live,
    "two runs": lambda: cases.document({"algo+impl": {"test acc": [80.5, 81.5], "train loss": [0.42, 0.44]}}),
    "timed out": further.timed_out,
    "comparison where B is better": lambda: compare_sides(sides()[::-1], ComparisonOptions(), "deviate compare b a"),
    "inconclusive gate": inconclusive_gate,
}


#: Those of experiments.
REPORTS = [*list(KINDS)[: list(KINDS).index("comparison")], "predictions"]


@cache
def said(kind: str) -> Facts:
    return KINDS[kind]()


@cache
def page_of(kind: str) -> str:
    return page(said(kind))


@cache
def outline_of(kind: str) -> Outline:
    return Outline(page_of(kind))


def hostile(document: Document | Comparison) -> Document | Comparison:
    """Return facts with the attack at the end of every text that is not one of a few words."""
    if isinstance(document, Comparison):
        return _attacked(document, Comparison)
    return Document(_attacked(document.facts, type(document.facts)))


#: Fields by which something is looked up, and facts whose names are Deviate's own.
OWN = {"factor", "contrast", "correction"}
OWN_FACTS = (Evidence,)


def _attacked(value: Any, kind: Any) -> Any:
    if isinstance(value, OWN_FACTS):
        return value
    if isinstance(value, msgspec.Struct):
        hints = {name: hint for name, hint in typing.get_type_hints(type(value)).items() if name not in OWN}
        fields = [name for name in value.__struct_fields__ if name in hints]
        return structs.replace(value, **{name: _attacked(getattr(value, name), hints[name]) for name in fields})
    if get_origin(kind) is Literal or (isinstance(value, str) and "Literal" in str(kind)):
        return value
    if isinstance(value, str):
        return value + ATTACK
    inner = next((each for each in get_args(kind) if each is not type(None)), Any)
    if get_origin(kind) in (types.UnionType, typing.Union):
        return _attacked(value, inner)
    if isinstance(value, dict):
        return {_key(key, value): _attacked(item, (*get_args(kind), Any, Any)[1]) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_attacked(item, inner) for item in value)
    return value


def _key(key: Any, mapping: dict[Any, Any]) -> Any:
    """Leave names of tests and effects, which are looked up."""
    named = all(isinstance(item, msgspec.Struct) for item in mapping.values())
    return key + ATTACK if isinstance(key, str) and not named else key
