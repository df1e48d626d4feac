"""A grid as JSON: the contract of ``deviate compare --json`` with an experiment that has a grid."""

from __future__ import annotations

from typing import Any

import msgspec

from deviate.inference.grid.facts import Grid, GridCell, GridMetric, GridTerm
from deviate.report.text.grid import grid_caveats, grid_headline
from deviate.report.writers.comparison_json import comparability_contract
from deviate.report.writers.json_values import bounds, fields, json_text


def grid_json(grid: Grid) -> str:
    """Return one JSON object, indented, with a final newline."""
    contract = {
        **fields(grid, "schema", "experiments", "variant", "alpha"),
        "factors": [{"name": name, "levels": levels} for name, levels in grid.factors.items()],
        **fields(grid, "missing"),
        "metrics": [_metric(metric) for metric in grid.metrics],
        "headline": grid_headline(grid),
        "warnings": msgspec.to_builtins(grid_caveats(grid)),
        "look": msgspec.to_builtins(grid.look),
        "comparability": comparability_contract(grid.comparability),
        "command": grid.command,
    }
    return json_text(contract)


def _metric(metric: GridMetric) -> dict[str, Any]:
    return {
        **fields(metric, "name", "aggregate", "unit", "kind", "direction", "claimed"),
        "cells": [_cell(cell) for cell in metric.cells],
        "effects": [_term(term) for term in metric.terms],
        **fields(metric, "df_residual", "reason", "withheld", "family_terms", "family_pairs"),
    }


def _cell(cell: GridCell) -> dict[str, Any]:
    return fields(cell, *cell.__struct_fields__)


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
