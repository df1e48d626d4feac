"""The document as JSON: the contract of ``deviate run --json`` and ``deviate report --format json``.

Keys other programs rely on come first; further ones may follow them. What is unknown is null.
"""

from __future__ import annotations

from typing import Any

import msgspec

from deviate.report.order import by_cv
from deviate.report.parts import Document, MetricReport, RunReport, SpreadAcross, Stopped, VariantReport, Warned
from deviate.report.writers.json_values import bounds, json_text


def render_json(document: Document) -> str:
    """Return one JSON object, indented, with a final newline."""
    return json_text(contract(document))


def contract(document: Document) -> dict[str, Any]:
    """Return the document as the mapping that is written."""
    return {
        "schema": document.schema,
        "experiment": document.experiment,
        "command": document.command,
        "variants": [_variant(variant) for variant in document.variants],
        "warnings": [_warned(warned) for warned in document.warnings],
        "level": document.level,
        "created": document.created,
        "generated": document.generated,
        "seeds_replaced": msgspec.to_builtins(document.seeds_replaced),
        "switches": msgspec.to_builtins(document.switches),
        "environment_differences": msgspec.to_builtins(document.differences),
        "reproduce": msgspec.to_builtins(document.reproduce),
        "spread_by_variant": [_across(table) for table in document.across],
        "notes_on_spread": document.across_notes,
        "seeds_kept": msgspec.to_builtins(document.seeds_kept),
        "draws_left_to_other": msgspec.to_builtins(document.draws_left),
        "operations_not_deterministic": msgspec.to_builtins(document.operations),
        "methods": document.methods,
        "checklist": msgspec.to_builtins(document.checklist),
    }


def _across(table: SpreadAcross) -> dict[str, Any]:
    rows = [{**msgspec.to_builtins(row), "ci_sd": bounds(row.ci_sd)} for row in table.rows]
    return {**msgspec.to_builtins(table), "rows": rows}


def _variant(report: VariantReport) -> dict[str, Any]:
    return {
        "variant": report.variant,
        "runs": [_run(run) for run in report.runs],
        "metrics": [_metric(metric) for metric in by_cv(report.metrics)],
        "planned": report.planned,
        "completed": report.completed,
        "headline": report.headline,
        "factors": msgspec.to_builtins(report.factors),
        "silent": report.silent,
        "footnotes": report.footnotes,
        "identity": report.statement,
        "evidence": msgspec.to_builtins(report.evidence),
        "until": _stopped(report.stopped),
    }


def _stopped(stopped: Stopped | None) -> dict[str, Any] | None:
    return None if stopped is None else {**msgspec.to_builtins(stopped), "interval": bounds(stopped.interval)}


def _run(run: RunReport) -> dict[str, Any]:
    fields = msgspec.to_builtins(run)
    first = ("index", "status", "seconds", "seeds", "fingerprints")
    return {name: fields[name] for name in (*first, *(name for name in fields if name not in first))}


def _metric(metric: MetricReport) -> dict[str, Any]:
    found = metric.spread
    return {
        "name": metric.name,
        "aggregate": metric.aggregate,
        "n": found.n,
        "mean": found.mean,
        "sd": found.sd,
        "cv": found.cv,
        "min": found.min,
        "max": found.max,
        "range": found.range,
        "ci_mean": bounds(metric.ci_mean),
        "ci_sd": bounds(metric.ci_sd),
        "values": metric.values,
        "excluded": msgspec.to_builtins(metric.excluded),
        "median": found.median,
        "iqr": found.iqr,
        "unit": metric.unit,
        "kind": metric.kind,
        "direction": metric.direction,
        "site": metric.site,
        "runs": metric.runs,
        "identical": found.identical,
        "resolution": msgspec.to_builtins(metric.resolution),
        "withheld": _withheld(metric),
        "finite_test": msgspec.to_builtins(metric.finite_test),
        "ci_mean_bootstrap": bounds(metric.ci_mean_bootstrap) if metric.ci_mean_bootstrap else None,
        "ci_sd_bootstrap": bounds(metric.ci_sd_bootstrap) if metric.ci_sd_bootstrap else None,
        "including_weak": _metric(metric.including_weak) if metric.including_weak else None,
    }


def _withheld(metric: MetricReport) -> dict[str, str]:
    """Say why a number is null, by its key."""
    intervals = {"ci_mean": metric.ci_mean.reason, "ci_sd": metric.ci_sd.reason}
    return {**metric.spread.withheld, **{name: reason for name, reason in intervals.items() if reason}}


def _warned(warned: Warned) -> dict[str, Any]:
    return {
        "slug": warned.slug,
        "message": warned.message,
        "severity": warned.severity,
        "variant": warned.variant,
    }
