"""A comparison as JSON: the contract of ``deviate compare --json``.

Keys other programs rely on come first; further ones may follow them. What is unknown is null.
"""

from __future__ import annotations

from typing import Any

import msgspec

from deviate.contrast.contrast import Contrast
from deviate.contrast.results import Tested
from deviate.report.comparison.parts import Comparison, MetricComparison, MetricOmnibus, PairComparison
from deviate.report.writers.json_values import bounds, json_text


def render_comparison_json(comparison: Comparison) -> str:
    """Return one JSON object, indented, with a final newline."""
    return json_text(comparison_contract(comparison))


def comparison_contract(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as the mapping that is written.

    With two sides ``a``, ``b`` and ``metrics`` are those of the pair; with more they are null and ``pairs`` has them.
    """
    pairs = [_pair(pair) for pair in comparison.pairs]
    single = pairs[0] if len(pairs) == 1 else {"a": None, "b": None, "metrics": None}
    return {
        "schema": comparison.schema,
        "a": single["a"],
        "b": single["b"],
        "alpha": comparison.alpha,
        "correction": comparison.correction,
        "metrics": single["metrics"],
        "level": comparison.level,
        "family": comparison.family,
        "times_family": comparison.times_family,
        "headline": comparison.headline,
        "warnings": msgspec.to_builtins(comparison.warnings),
        "experiments": comparison.labels,
        **{key: single[key] for key in ("variant_a", "variant_b", "pairing", "shared") if key in single},
        **({} if len(pairs) == 1 else {"pairs": pairs}),
        "omnibus": [_omnibus(found) for found in comparison.omnibus],
        "command": comparison.command,
        "methods": comparison.methods,
    }


def _pair(pair: PairComparison) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "metrics": [_metric(metric) for metric in pair.metrics],
        "variant_a": pair.variant_a,
        "variant_b": pair.variant_b,
        "pairing": pair.pairing,
        "shared": pair.shared,
    }


def _metric(metric: MetricComparison) -> dict[str, Any]:
    found = metric.contrast
    return {
        "name_a": metric.name_a,
        "name_b": metric.name_b,
        "n_a": found.n_a,
        "n_b": found.n_b,
        "mean_a": metric.spread_a.mean,
        "mean_b": metric.spread_b.mean,
        "sd_a": metric.spread_a.sd,
        "sd_b": metric.spread_b.sd,
        "difference": found.difference.value,
        "ci_difference": bounds(found.difference.interval),
        "tests": {name: _test(test) for name, test in found.tests.items()},
        "effects": {name: effect.value for name, effect in found.effects.items()},
        "p_adjusted": metric.p_adjusted,
        "verdict": metric.verdict,
        "why": " ".join(metric.why),
        "test": found.location.test,
        "p": found.p,
        "differs": metric.differs,
        "family": metric.family,
        "direction": metric.direction,
        "aggregate": metric.aggregate,
        "kind": metric.kind,
        "unit": metric.unit,
        "ci_effects": {name: bounds(effect.interval) for name, effect in found.effects.items()},
        "almost_stochastic_order": _dominance(found),
        "equivalence": _equivalence(metric),
        "paired": {"pairs": found.pairs, "correlation": found.correlation} if found.paired else None,
        "spread": _spread(metric),
        "values_a": metric.values_a,
        "values_b": metric.values_b,
        "excluded_a": metric.excluded_a,
        "excluded_b": metric.excluded_b,
    }


def _test(found: Tested) -> dict[str, Any]:
    more = {"method": found.method, "reason": found.reason}
    return {"statistic": found.statistic, "p": found.p, **{name: text for name, text in more.items() if text}}


def _dominance(found: Contrast) -> dict[str, Any]:
    return {
        "epsilon_a_over_b": found.a_over_b.epsilon,
        "epsilon_b_over_a": found.b_over_a.epsilon,
        "violation_a_over_b": found.a_over_b.violation,
        "violation_b_over_a": found.b_over_a.violation,
        "reason": found.a_over_b.reason,
    }


def _equivalence(metric: MetricComparison) -> dict[str, Any] | None:
    found = metric.contrast
    if found.equivalence is None:
        return None
    return {"margin": found.margin, **_test(found.equivalence), "p_adjusted": metric.equivalence_p_adjusted}


def _spread(metric: MetricComparison) -> dict[str, Any]:
    found = metric.contrast
    return {
        "test": found.spread.test,
        "p": found.tests[found.spread.test].p,
        "p_adjusted": metric.spread_p_adjusted,
        "sd_ratio": found.sd_ratio.value,
        "ci_sd_ratio": bounds(found.sd_ratio.interval),
        "verdict": metric.noisier,
        "why": " ".join(metric.why_noisier),
    }


def _omnibus(found: MetricOmnibus) -> dict[str, Any]:
    return {
        "name": found.name,
        "welch_anova": _test(found.welch_anova),
        "kruskal_wallis": _test(found.kruskal_wallis),
        "p_adjusted": found.p_adjusted,
        "family": found.family,
        "ranking": msgspec.to_builtins(found.places),
        "why": found.why,
    }
