"""A comparison as JSON: the contract of ``deviate compare --json``.

Keys other programs rely on come first; further ones may follow them. What is unknown is null.
"""

from __future__ import annotations

from typing import Any

import msgspec

from deviate.contrast.contrast import Contrast
from deviate.contrast.results import Tested
from deviate.inference.comparison.comparability import Comparability
from deviate.inference.comparison.comparison import Comparison, PairComparison
from deviate.inference.comparison.metric import MetricComparison
from deviate.inference.comparison.omnibus import MetricOmnibus
from deviate.inference.comparison.predictions import ChangedPredictions
from deviate.inference.metric import MetricSpread
from deviate.report.text.comparison.caveats import comparison_caveats, pairing_text
from deviate.report.text.comparison.headline import comparison_headline
from deviate.report.text.comparison.methods import comparison_methods, omnibus_text
from deviate.report.text.comparison.predictions import changed_sentences, group_sentences
from deviate.report.text.comparison.reasons import reasons, spread_reasons, unalternated
from deviate.report.writers.json_values import bounds, fields, json_text


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
        **{key: single[key] for key in ("look", "predictions") if key in single},
    }


def comparability_contract(facts: Comparability) -> dict[str, Any]:
    """Return what may mislead as the mapping that is written; the values of the metrics stand elsewhere."""
    return fields(facts, "sides", "pairings", "environments", "units", "unmatched", "draws")


def _pair(pair: PairComparison, comparison: Comparison) -> dict[str, Any]:
    return {
        **fields(pair, "a", "b"),
        "metrics": [_metric(metric, pair, comparison) for metric in pair.metrics],
        **fields(pair, "variant_a", "variant_b"),
        "pairing": pairing_text(pair.pairing),
        "shared": pair.pairing.shared,
        "repeated_draws": pair.draws.unshared,
        "shared_draws": pair.draws.shared,
        "look": _look(pair, comparison),
        "predictions": pair.predictions and _predictions(pair.predictions, pair),
    }


def _predictions(facts: ChangedPredictions, pair: PairComparison) -> dict[str, Any]:
    known = changed_contract(facts, pair.a, pair.b)
    known["sentences"] += group_sentences(facts.groups, pair.a, pair.b, one_draw=bool(pair.draws.unshared))
    return {**known, **fields(facts, "groups")}


def _look(pair: PairComparison, comparison: Comparison) -> dict[str, Any]:
    look = msgspec.to_builtins(pair.look)
    most_b = look.pop("most_b")
    return {**look, "open": pair in comparison.open_pairs, "most_b": most_b}


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


def _metric(metric: MetricComparison, pair: PairComparison, comparison: Comparison) -> dict[str, Any]:
    contrast, a, b = metric.contrast, metric.a, metric.b
    return {
        "name_a": a.name,
        "name_b": b.name,
        **fields(contrast, "n_a", "n_b"),
        "mean_a": a.spread.mean,
        "mean_b": b.spread.mean,
        "sd_a": a.spread.sd,
        "sd_b": b.spread.sd,
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
        "values_a": a.values,
        "values_b": b.values,
        "excluded_a": a.without_value,
        "excluded_b": b.without_value,
        "runs_a": a.runs,
        "runs_b": b.runs,
        **fields(metric, "fewest_runs", "smallest_p", "sensitivity"),
        "weak_a": _including_weak(a),
        "weak_b": _including_weak(b),
        "finite_test_a": _finite_test(a),
        "finite_test_b": _finite_test(b),
        **fields(metric, "failures"),
        "far_a": a.far,
        "far_b": b.far,
        "near_limit": msgspec.to_builtins(metric.near_limit),
        "confounded": metric.confounded,
        "higher": metric.higher,
        **fields(metric, "survivors", "claim"),
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
