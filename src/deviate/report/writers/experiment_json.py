"""The facts about an experiment as JSON: the contract of ``deviate run --json`` and ``deviate report --format json``.

Keys other programs rely on come first; further ones may follow them. What is unknown is null.
"""

from __future__ import annotations

from typing import Any

import msgspec

from deviate.inference.experiment import ExperimentFacts
from deviate.inference.metric import MetricSpread
from deviate.inference.order import by_cv
from deviate.inference.reported import Completeness
from deviate.inference.sources import SpreadAcross
from deviate.inference.stability import Stability
from deviate.inference.until import Stopped
from deviate.inference.variant import VariantFacts
from deviate.replicate.workspace.run_files import TAKEN
from deviate.report.text.caveats import experiment_caveats
from deviate.report.text.checklist import checklist
from deviate.report.text.factors import factors_of
from deviate.report.text.footnotes import footnotes
from deviate.report.text.headline import headline
from deviate.report.text.identity import identity_statement
from deviate.report.text.methods import methods
from deviate.report.text.price import price_sentences
from deviate.report.text.reported import reported_sentences
from deviate.report.text.sources import across_notes, source_sentences
from deviate.report.text.stability import stability_sentences
from deviate.report.text.until import until_sentences
from deviate.report.writers.json_values import fields, json_text
from deviate.results.run import RunResult


def experiment_json(facts: ExperimentFacts) -> str:
    """Return one JSON object, indented, with a final newline."""
    return json_text(experiment_contract(facts))


def experiment_contract(facts: ExperimentFacts) -> dict[str, Any]:
    """Return the facts as the mapping that is written."""
    return {
        **fields(facts, "schema", "experiment", "command"),
        "variants": [_variant(variant) for variant in facts.variants],
        "warnings": msgspec.to_builtins(experiment_caveats(facts)),
        **fields(facts, "level", "created", "generated", "seeds_replaced", "switches"),
        "environment_differences": msgspec.to_builtins(facts.differences),
        **fields(facts, "reproduce"),
        "spread_by_variant": [_across(table, facts.level) for table in facts.across],
        "notes_on_spread": across_notes(facts.across),
        **fields(facts, "seeds_kept"),
        "draws_left_to_other": msgspec.to_builtins(facts.draws_left),
        "operations_not_deterministic": msgspec.to_builtins(facts.operations),
        "methods": methods(facts),
        "checklist": msgspec.to_builtins(checklist(facts)),
        "sd_precision": msgspec.to_builtins(facts.enough_runs),
        **fields(facts, "timeline"),
        "predictions": [_stability(each) for each in facts.stabilities],
        "weights": [fields(each, *each.__struct_fields__) for each in facts.weights],
        "reported": [_reported(each) for each in facts.reported],
        "representations": [fields(each, *each.__struct_fields__) for each in facts.representations],
        "evaluations": [fields(each, *each.__struct_fields__) for each in facts.evaluations],
        **fields(facts, "inputs_changed", "state_kept", "variables_changed"),
        "prices": [fields(each, *each.__struct_fields__) for each in facts.prices],
        "price_sentences": price_sentences(facts.prices),
    }


def _reported(facts: Completeness) -> dict[str, Any]:
    first = [name for name in facts.__struct_fields__ if name != "unread_trackers"]
    return {**fields(facts, *first), "sentences": reported_sentences(facts), **fields(facts, "unread_trackers")}


#: Fields of predictions that stand under another name, or behind what was there before them.
_LATER = ("labels", "values", "groups", "learning", "disputed")


def _stability(facts: Stability) -> dict[str, Any]:
    return {
        **fields(facts, *(name for name in facts.__struct_fields__ if name not in _LATER)),
        "classification": facts.labels and fields(facts.labels, *facts.labels.__struct_fields__),
        "regression": facts.values and fields(facts.values, *facts.values.__struct_fields__),
        "sentences": stability_sentences(facts),
        "groups": facts.groups and fields(facts.groups, *facts.groups.__struct_fields__),
        "learning": facts.learning and fields(facts.learning, *facts.learning.__struct_fields__),
        "disputed": facts.disputed,
    }


def _across(table: SpreadAcross, level: float) -> dict[str, Any]:
    return {
        **fields(table, "metric", "aggregate", "unit", "whole"),
        "rows": [fields(row, *row.__struct_fields__) for row in table.rows],
        "sentences": source_sentences(table, level),
        "leading": table.leading and fields(table.leading, *table.leading.__struct_fields__),
        # Of one held draw the added variances say nothing of the sources; the key stays for those who read it.
        "overlap": None,
    }


def _variant(facts: VariantFacts) -> dict[str, Any]:
    return {
        "variant": facts.variant,
        "runs": [_run(run) for run in facts.runs],
        "metrics": [_metric(metric) for metric in by_cv(facts.metrics)],
        **fields(facts, "planned", "completed"),
        "headline": headline(facts),
        "factors": msgspec.to_builtins(factors_of(facts)),
        "silent": facts.silent,
        "footnotes": footnotes(facts.metrics) if facts.completed else [],
        "identity": identity_statement(facts),
        **fields(facts, "evidence"),
        "until": _stopped(facts.stopped),
        **fields(facts, "few_runs", "seconds", "failures"),
    }


def _stopped(stopped: Stopped | None) -> dict[str, Any] | None:
    if stopped is None:
        return None
    first = ("criterion", "of", "met", "n", "half_width", "wanted", "relative", "interval", "expected")
    later = (name for name in stopped.__struct_fields__ if name not in first)
    return {**fields(stopped, *first), "sentences": until_sentences(stopped), **fields(stopped, *later)}


def _run(run: RunResult) -> dict[str, Any]:
    return {
        **fields(run, "index", "status", "seconds", "seeds"),
        "fingerprints": {name: fingerprint.digest for name, fingerprint in run.prints.items()},
        **fields(run, "name", "reason", "stderr_tail", "warnings", "threads", "cores", "platform", "bit", "started"),
        **fields(run, "host", "slot", "same_as"),
        # There where they were measured.
        **fields(run, *(name for name in TAKEN if getattr(run, name) is not None)),
        **({"devices": run.devices} if run.devices else {}),
        **({"label": run.label} if run.label else {}),
        **({"not_instrumented": run.unseen.commands} if run.unseen.commands else {}),
    }


def _metric(metric: MetricSpread) -> dict[str, Any]:
    return {
        **fields(metric, "name", "aggregate"),
        **fields(metric.spread, "n", "mean", "sd", "cv", "min", "max", "range"),
        **fields(metric, "ci_mean", "ci_sd", "values", "excluded"),
        **fields(metric.spread, "median", "iqr"),
        **fields(metric, "unit", "kind", "direction", "site", "runs"),
        **fields(metric.spread, "identical"),
        **fields(metric, "resolution"),
        "withheld": _withheld(metric),
        **fields(metric, "finite_test", "ci_mean_bootstrap", "ci_sd_bootstrap"),
        "including_weak": _metric(metric.including_weak) if metric.including_weak else None,
        **fields(metric.spread, "trimmed_mean"),
        **fields(metric, "far", "observed"),
        # There where a difference was given.
        **(fields(metric, "misranking") if metric.misranking else {}),
    }


def _withheld(metric: MetricSpread) -> dict[str, str]:
    """Say why a number is null, by its key."""
    intervals = {"ci_mean": metric.ci_mean.reason, "ci_sd": metric.ci_sd.reason}
    return {**metric.spread.withheld, **{name: reason for name, reason in intervals.items() if reason}}
