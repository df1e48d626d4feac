"""The JSON contracts of `report`, `compare`, `check`, `plan` and grids."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from deviate.facts.comparable import Comparability
from deviate.facts.compared_metric import MetricComparison, MetricOmnibus
from deviate.facts.compared_predictions import ChangedPredictions
from deviate.facts.comparison import Comparison, PairComparison
from deviate.facts.experiment import Completeness, ExperimentFacts
from deviate.facts.gate import Gate, GateGroup
from deviate.facts.gate_metric import GateMetric
from deviate.facts.grid import Grid, GridMetric, GridSpread, GridTerm
from deviate.facts.metric import MetricSpread, by_cv
from deviate.facts.plan import Answer, Pilot, Plan
from deviate.facts.run import RunResult
from deviate.facts.sources import SpreadAcross
from deviate.facts.stability import Stability
from deviate.facts.tasks import TaskComparison
from deviate.facts.variant import Stopped, VariantFacts
from deviate.report.topics.caveats import experiment_caveats
from deviate.report.topics.checklist import checklist
from deviate.report.topics.comparison_answer import comparison_headline
from deviate.report.topics.comparison_caveats import comparison_caveats, pairing_text
from deviate.report.topics.comparison_predictions import changed_sentences, group_sentences, of_examples
from deviate.report.topics.gate import churn_sentences, failure_sentences, gate_caveats, gate_reasons
from deviate.report.topics.gate_lines import group_sentences as gate_group_sentences
from deviate.report.topics.grid import grid_caveats, grid_headline
from deviate.report.topics.headline import across_notes, headline, price_sentences
from deviate.report.topics.metrics import footnotes
from deviate.report.topics.plan import plan_notes, question_text
from deviate.report.topics.proof import identity_statement
from deviate.report.topics.reasons import comparison_methods, omnibus_text, reasons, spread_reasons, unalternated
from deviate.report.topics.reported import reported_sentences
from deviate.report.topics.reproduce import methods
from deviate.report.topics.runs import until_sentences
from deviate.report.topics.sources import sources_sentence
from deviate.report.topics.stability import stability_sentences
from deviate.report.topics.varied import factors_of
from deviate.report.writers.registry import json_text
from deviate.stats.contrast import Contrast
from deviate.stats.intervals import Interval
from deviate.stats.results import Effect, Tested
from deviate.store.run_files import TAKEN

# What the JSON contracts share: fields by name, and an interval as two numbers.


def fields(facts: object, *names: str) -> dict[str, Any]:
    """Return the values of fields and properties as JSON has them, in the order of `names`; intervals as `bounds`."""
    values = {name: getattr(facts, name) for name in names}
    return {
        name: bounds(value)
        if isinstance(value, Interval)
        else msgspec.to_builtins(value, str_keys=True, enc_hook=_listed)
        for name, value in values.items()
    }


def whole(facts: msgspec.Struct) -> dict[str, Any]:
    """Return all `fields` in their order."""
    return fields(facts, *facts.__struct_fields__)


def sided(a: object, b: object, *names: str) -> dict[str, Any]:
    """Return `fields` of two sides in turn: ``name_a``, ``name_b``."""
    sides = {"a": fields(a, *names), "b": fields(b, *names)}
    return {f"{name}_{side}": values[name] for name in names for side, values in sides.items()}


def _listed(value: object) -> list[Any]:
    """Return an array, which facts may hold, as lists; what is neither is refused, as without this."""
    if isinstance(value, np.ndarray):
        return list(value.tolist())
    raise NotImplementedError(f"{type(value).__name__} has no form in JSON")


def bounds(interval: Interval) -> list[float | None] | None:
    """Return ``[low, high]``, or None where the interval is not known."""
    return [interval.low, interval.high] if interval.known else None


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
        "spread_by_variant": [_across(table, facts) for table in facts.across],
        "notes_on_spread": across_notes(facts.across),
        **fields(facts, "seeds_kept"),
        "draws_left_to_other": msgspec.to_builtins(facts.draws_left),
        "operations_not_deterministic": msgspec.to_builtins(facts.operations),
        "methods": methods(facts),
        "checklist": msgspec.to_builtins(checklist(facts)),
        "sd_precision": msgspec.to_builtins(facts.enough_runs),
        **fields(facts, "timeline"),
        "predictions": [_stability(each) for each in facts.stabilities],
        "weights": [whole(each) for each in facts.weights],
        "reported": [_reported(each) for each in facts.reported],
        "representations": [whole(each) for each in facts.representations],
        "evaluations": [whole(each) for each in facts.evaluations],
        **fields(facts, "inputs_changed", "state_kept", "variables_changed"),
        "prices": [whole(each) for each in facts.prices],
        "price_sentences": price_sentences(facts.prices),
        "draws_by_name": msgspec.to_builtins(facts.draws_by_name),
        "remedies": [whole(each) for each in facts.remedies],
    }


def _reported(facts: Completeness) -> dict[str, Any]:
    first = [name for name in facts.__struct_fields__ if name != "unread_trackers"]
    return {**fields(facts, *first), "sentences": reported_sentences(facts), **fields(facts, "unread_trackers")}


#: Fields of predictions that stand under another name, or behind what was there before them.
_LATER = ("labels", "values", "groups", "learning", "disputed")


def _stability(facts: Stability) -> dict[str, Any]:
    return {
        **fields(facts, *(name for name in facts.__struct_fields__ if name not in _LATER)),
        "classification": facts.labels and whole(facts.labels),
        "regression": facts.values and whole(facts.values),
        "sentences": stability_sentences(facts),
        "groups": facts.groups and whole(facts.groups),
        "learning": facts.learning and whole(facts.learning),
        "disputed": facts.disputed,
    }


def _across(table: SpreadAcross, facts: ExperimentFacts) -> dict[str, Any]:
    return {
        **fields(table, "metric", "aggregate", "unit", "whole"),
        "rows": [whole(row) for row in table.rows],
        "sentences": sources_sentence(table, facts),
        "leading": table.leading and whole(table.leading),
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
        **fields(facts, "few_runs", "seconds", "failures", "shown_difference"),
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
    intervals = {"ci_mean": metric.ci_mean.reason, "ci_sd": metric.ci_sd.reason}
    return {**metric.spread.withheld, **{name: reason for name, reason in intervals.items() if reason}}


# A comparison as JSON: the contract of ``deviate compare --json``.
#
# Keys other programs rely on come first; further ones may follow them. What is unknown is null.


def comparison_json(comparison: Comparison) -> str:
    """Return one JSON object, indented, with a final newline."""
    return json_text(comparison_contract(comparison))


def comparison_contract(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as the mapping that is written.

    With two sides ``a``, ``b`` and ``metrics`` are those of the pair; with more they are null and ``pairs`` has them.
    """
    pairs = [_pair(pair, comparison) for pair in comparison.pairs]
    single = pairs[0] if len(pairs) == 1 else {"a": None, "b": None, "metrics": None}
    return {
        "schema": comparison.schema,
        "a": single["a"],
        "b": single["b"],
        **fields(comparison, "alpha", "correction"),
        "metrics": single["metrics"],
        **fields(comparison, "level", "family", "times_family"),
        "headline": comparison_headline(comparison),
        "warnings": msgspec.to_builtins(comparison_caveats(comparison.comparability)),
        "experiments": comparison.labels,
        **{key: single[key] for key in ("variant_a", "variant_b", "pairing", "shared") if key in single},
        **({} if len(pairs) == 1 else {"pairs": pairs}),
        "omnibus": [_omnibus(omnibus, comparison) for omnibus in comparison.omnibus],
        "command": comparison.command,
        "methods": comparison_methods(comparison),
        "comparability": comparability_contract(comparison.comparability),
        **{key: single[key] for key in ("repeated_draws", "shared_draws") if key in single},
        **fields(comparison, "explored_family", "claimed"),
        **{key: single[key] for key in ("look", "predictions", "same_trainings", "add_runs", "tasks") if key in single},
        **({"ranked": whole(comparison.ranked)} if comparison.ranked else {}),
    }


def comparability_contract(facts: Comparability) -> dict[str, Any]:
    """Return what may mislead as the mapping that is written; the values of the metrics stand elsewhere."""
    return fields(facts, "sides", "pairings", "environments", "units", "unmatched", "draws")


def _pair(pair: PairComparison, comparison: Comparison) -> dict[str, Any]:
    return {
        **fields(pair, "a", "b"),
        "metrics": [_comparison_metric(metric, pair, comparison) for metric in pair.metrics],
        **fields(pair, "variant_a", "variant_b"),
        "pairing": pairing_text(pair.pairing),
        "shared": pair.pairing.shared,
        "repeated_draws": pair.draws.unshared,
        "shared_draws": pair.draws.shared,
        "look": _look(pair, comparison),
        "predictions": pair.predictions and _predictions(pair.predictions, pair),
        **fields(pair, "same_trainings", "add_runs"),
        **({"tasks": task_contract(pair.tasks)} if pair.tasks else {}),
    }


def task_contract(facts: TaskComparison) -> dict[str, Any]:
    """Return what holds over all tasks as the mapping that is written."""
    return {
        **fields(facts, "tasks", "direction"),
        **_effects(**{name: getattr(facts, name) for name in ("iqm_a", "iqm_b", "difference", "improvement")}),
        **fields(facts, "enough"),
        **_effects(gap_a=facts.gap_a, gap_b=facts.gap_b),
        "profile": [{**fields(each, "threshold"), **_effects(a=each.a, b=each.b)} for each in facts.profile],
        **fields(facts, "signed_rank"),
    }


def _effects(**effects: Effect | None) -> dict[str, Any]:
    return {
        **{name: each and each.value for name, each in effects.items()},
        **{f"ci_{name}": each and bounds(each.interval) for name, each in effects.items()},
    }


def _predictions(facts: ChangedPredictions, pair: PairComparison) -> dict[str, Any]:
    known = changed_contract(facts, pair.a, pair.b)
    known["sentences"] += of_examples(pair)
    known["sentences"] += group_sentences(facts.groups, pair.a, pair.b, one_draw=bool(pair.draws.unshared))
    return {**known, **fields(facts, "groups", "score", "crossed", "mcnemar")}


def _look(pair: PairComparison, comparison: Comparison) -> dict[str, Any]:
    look = msgspec.to_builtins(pair.look)
    most_b = look.pop("most_b")
    first = {name: look[name] for name in ("number", "sizes", "alpha", "whole", "most")}
    return {**first, **look, "open": pair in comparison.open_pairs, "most_b": most_b}


def changed_contract(facts: ChangedPredictions, a: str, b: str) -> dict[str, Any]:
    """Return how many answers change as the mapping that is written."""
    churn = facts.churn and {
        **fields(facts.churn, *(name for name in facts.churn.__struct_fields__ if name not in ("matrix", "paired"))),
        "matrix": facts.churn.matrix.tolist(),
        "paired": facts.churn.paired,
    }
    return {
        **fields(facts, "metric", "site", "examples", "withheld"),
        "churn": churn,
        "sentences": changed_sentences(facts, a, b),
    }


def _comparison_metric(metric: MetricComparison, pair: PairComparison, comparison: Comparison) -> dict[str, Any]:
    contrast, a, b = metric.contrast, metric.a, metric.b
    return {
        **sided(a, b, "name"),
        **fields(contrast, "n_a", "n_b"),
        **sided(a.spread, b.spread, "mean", "sd"),
        "difference": contrast.difference.value,
        "ci_difference": bounds(contrast.difference.interval),
        "tests": {name: _test(test) for name, test in contrast.tests.items()},
        "effects": {name: effect.value for name, effect in contrast.effects.items()},
        **fields(metric, "p_adjusted", "verdict"),
        "why": " ".join([*reasons(metric, pair, comparison), *unalternated(metric)]),
        "test": contrast.location.test,
        "p": contrast.p,
        **fields(metric, "differs", "family", "direction", "aggregate", "kind", "unit"),
        "ci_effects": {name: bounds(effect.interval) for name, effect in contrast.effects.items()},
        "almost_stochastic_order": _dominance(contrast),
        "equivalence": _equivalence(metric),
        "paired": fields(contrast, "pairs", "correlation") if contrast.paired else None,
        "spread": _spread(metric, pair, comparison),
        **sided(a, b, "values"),
        "excluded_a": a.without_value,
        "excluded_b": b.without_value,
        **sided(a, b, "runs"),
        **fields(metric, "fewest_runs", "smallest_p", "sensitivity"),
        "weak_a": _including_weak(a),
        "weak_b": _including_weak(b),
        "finite_test_a": _finite_test(a),
        "finite_test_b": _finite_test(b),
        **fields(metric, "failures"),
        **sided(a, b, "far"),
        "near_limit": msgspec.to_builtins(metric.near_limit),
        "confounded": metric.confounded,
        "higher": metric.higher,
        **fields(metric, "survivors", "claim"),
        "ci_levels": [{"level": each.level, "interval": bounds(each)} for each in metric.ci_levels],
    }


def _including_weak(metric: MetricSpread) -> dict[str, Any] | None:
    """Return the values and statistics with weak runs; None where none was left out."""
    whole = metric.including_weak
    if whole is None:
        return None
    return {**fields(whole, "runs", "values"), **fields(whole.spread, "mean", "sd")}


def _finite_test(metric: MetricSpread) -> dict[str, Any] | None:
    """Return what the size of the test set does; None where it is not known."""
    if metric.resolution is None:
        return None
    return {**msgspec.to_builtins(metric.resolution), **(msgspec.to_builtins(metric.finite_test) or {})}


def _test(test: Tested) -> dict[str, Any]:
    more = fields(test, "method", "reason")
    return {**fields(test, "statistic", "p"), **{name: text for name, text in more.items() if text}}


def _dominance(contrast: Contrast) -> dict[str, Any]:
    return {
        "epsilon_a_over_b": contrast.a_over_b.epsilon,
        "epsilon_b_over_a": contrast.b_over_a.epsilon,
        "violation_a_over_b": contrast.a_over_b.violation,
        "violation_b_over_a": contrast.b_over_a.violation,
        "reason": contrast.a_over_b.reason,
    }


def _equivalence(metric: MetricComparison) -> dict[str, Any] | None:
    contrast = metric.contrast
    if contrast.equivalence is None:
        return None
    return {"margin": contrast.margin, **_test(contrast.equivalence), "p_adjusted": metric.equivalence_p_adjusted}


def _spread(metric: MetricComparison, pair: PairComparison, comparison: Comparison) -> dict[str, Any]:
    contrast = metric.contrast
    return {
        "test": contrast.spread.test,
        "p": contrast.tests[contrast.spread.test].p,
        "p_adjusted": metric.spread_p_adjusted,
        "sd_ratio": contrast.sd_ratio.value,
        "ci_sd_ratio": bounds(contrast.sd_ratio.interval),
        "verdict": metric.noisier,
        "why": " ".join(spread_reasons(metric, pair, comparison)),
        "family": metric.spread_family,
    }


def _omnibus(omnibus: MetricOmnibus, comparison: Comparison) -> dict[str, Any]:
    return {
        "name": omnibus.name,
        "welch_anova": _test(omnibus.welch_anova),
        "kruskal_wallis": _test(omnibus.kruskal_wallis),
        **fields(omnibus, "p_adjusted", "family"),
        "ranking": msgspec.to_builtins(omnibus.places),
        "why": omnibus_text(omnibus, comparison),
    }


# A gate as JSON: the contract of ``deviate check --json``.
#
# Keys other programs rely on come first; further ones may follow them. What is unknown is null.

#: Fields that come before the sentences.
_FIRST = (
    *("name", "name_b", "aggregate", "unit", "direction", "n_a", "n_b", "mean_a", "mean_b", "sd_a", "sd_b", "lost_a"),
    *("lost_b", "max_drop", "limit", "room", "ci_room", "test", "p_not_worse", "p_worse", "p_worse_adjusted"),
    *("outcome", "passed", "runs_needed"),
)


def gate_json(gate: Gate) -> str:
    """Return one JSON object, indented, with a final newline."""
    contract = {
        **fields(gate, "schema", "a", "b", "passed", "alpha", "inconclusive"),
        "metrics": [_gate_metric(metric, gate.look.alpha) for metric in gate.metrics],
        "warnings": msgspec.to_builtins(gate_caveats(gate)),
        "command": gate.command,
        "comparability": comparability_contract(gate.comparability),
        "failures": {**whole(gate.failures), "why": failure_sentences(gate)},
        "churn": gate.churn
        and {
            **changed_contract(gate.churn.predictions, gate.a, gate.b),
            **fields(gate.churn, "upper", "allowed", "passed"),
            "why": churn_sentences(gate),
        },
        "look": msgspec.to_builtins(gate.look),
        "groups": gate.groups
        and {
            **fields(gate.groups, "site", "allowed", "withheld", "passed"),
            "groups": [_group(group, gate.look.alpha) for group in gate.groups.groups],
            "why": gate_group_sentences(gate),
        },
    }
    return json_text(contract)


def _group(group: GateGroup, alpha: float) -> dict[str, Any]:
    return {**fields(group, "column", "name", "examples"), "accuracy": _gate_metric(group.accuracy, alpha)}


def _gate_metric(metric: GateMetric, alpha: float) -> dict[str, Any]:
    return {
        **fields(metric, *_FIRST),
        "why": gate_reasons(metric, alpha),
        "ci_level": metric.ci_room.level,
        **fields(metric, *(name for name in metric.__struct_fields__ if name not in _FIRST)),
    }


# A plan as JSON: the contract of ``deviate plan --json``.
#
# Keys other programs rely on come first; further ones may follow them. What is unknown is null.

#: Keys of an answer that came last.
_MADE = ("made", "made_cautious", "textbook")


def plan_json(plan: Plan) -> str:
    """Return one JSON object, indented, with a final newline."""
    fields = msgspec.to_builtins(plan)
    fields["pilot"] = _pilot(plan.pilot) if plan.pilot else None
    fields["answers"] = [_answer(answer, plan) for answer in plan.answers]
    later = (
        "alpha_each", "fewest_runs", "caution_factor", "caution", "command",
        "paired", "correlation", "sd_differences", "lost", "lost_cautious", "asked_runs",
        "jobs", "add_runs", "paired_elsewhere",
    )  # fmt: skip
    first = {name: field for name, field in fields.items() if name not in later}
    return json_text({**first, "notes": plan_notes(plan), **{name: fields[name] for name in later}})


def _pilot(pilot: Pilot) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(pilot)
    measured = fields.pop("measured")
    later = (
        "against", "n_against", "pairs", "correlation", "sd_differences", "sd_planned", "freedom", "failures", "jobs",
    )  # fmt: skip
    first = {name: field for name, field in fields.items() if name not in later}
    return {**first, "excluded": measured["excluded"] if measured else [], **{name: fields[name] for name in later}}


def _answer(answer: Answer, plan: Plan) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(answer)
    kind, size, made = fields.pop("question"), fields.pop("size"), [fields.pop(name) for name in _MADE]
    first = {"question": question_text(answer, plan), **fields, "kind": kind, "size": size}
    return {**first, **dict(zip(_MADE, made, strict=True))}


# A grid as JSON: the contract of ``deviate compare --json`` with an experiment that has a grid.


def grid_json(grid: Grid) -> str:
    """Return one JSON object, indented, with a final newline."""
    contract = {
        **fields(grid, "schema", "experiments", "variant", "alpha"),
        "factors": [{"name": name, "levels": levels} for name, levels in grid.factors.items()],
        **fields(grid, "missing"),
        "metrics": [_grid_metric(metric) for metric in grid.metrics],
        "headline": grid_headline(grid),
        "warnings": msgspec.to_builtins(grid_caveats(grid)),
        "look": msgspec.to_builtins(grid.look),
        "comparability": comparability_contract(grid.comparability),
        "command": grid.command,
    }
    return json_text(contract)


def _grid_metric(metric: GridMetric) -> dict[str, Any]:
    return {
        **fields(metric, "name", "aggregate", "unit", "kind", "direction", "claimed"),
        "cells": [whole(cell) for cell in metric.cells],
        "effects": [_term(term) for term in metric.terms],
        **fields(metric, "df_residual", "reason", "withheld", "family_terms", "family_pairs"),
        "spread": _test(metric.spread),
        "spread_effects": [_spread_effect(each) for each in metric.spreads],
        **fields(metric, "against_first"),
        "split": metric.split and whole(metric.split),
        **fields(metric, "recipes", "over_splits"),
    }


def _spread_effect(spread: GridSpread) -> dict[str, Any]:
    effect = spread.effect
    return {
        **fields(effect, "factor", "sds"),
        "f": effect.tested.statistic,
        "p": effect.tested.p,
        **fields(spread, "p_adjusted", "shown"),
        **fields(effect, "largest", "smallest"),
        "ratio": effect.ratio.value,
        "ci_ratio": bounds(effect.ratio.interval),
    }


def _term(term: GridTerm) -> dict[str, Any]:
    return {
        **fields(term, "name", "factors", "df"),
        "f": term.classic.statistic,
        "p": term.classic.p,
        "f_robust": term.robust.statistic,
        "p_robust": term.robust.p,
        **fields(term, "p_adjusted", "shown"),
        "eta_squared": term.eta_squared.value,
        "ci_eta_squared": bounds(term.eta_squared.interval),
    }
