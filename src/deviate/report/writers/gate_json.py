"""A gate as JSON: the contract of ``deviate check --json``.

Keys other programs rely on come first; further ones may follow them. What is unknown is null.
"""

from __future__ import annotations

from typing import Any

import msgspec

from deviate.inference.gate.gate import Gate
from deviate.inference.gate.groups import GateGroup
from deviate.inference.gate.metric import GateMetric
from deviate.report.text.gate import (
    churn_sentences,
    failure_sentences,
    gate_caveats,
    gate_reasons,
    group_sentences,
)
from deviate.report.writers.comparison_json import changed_contract, comparability_contract
from deviate.report.writers.json_values import fields, json_text

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
        "metrics": [_metric(metric, gate.look.alpha) for metric in gate.metrics],
        "warnings": msgspec.to_builtins(gate_caveats(gate)),
        "command": gate.command,
        "comparability": comparability_contract(gate.comparability),
        "failures": {**fields(gate.failures, *gate.failures.__struct_fields__), "why": failure_sentences(gate)},
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
            "why": group_sentences(gate),
        },
    }
    return json_text(contract)


def _group(group: GateGroup, alpha: float) -> dict[str, Any]:
    return {**fields(group, "column", "name", "examples"), "accuracy": _metric(group.accuracy, alpha)}


def _metric(metric: GateMetric, alpha: float) -> dict[str, Any]:
    return {
        **fields(metric, *_FIRST),
        "why": gate_reasons(metric, alpha),
        "ci_level": metric.ci_room.level,
        **fields(metric, *(name for name in metric.__struct_fields__ if name not in _FIRST)),
    }
