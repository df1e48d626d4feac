"""The metrics and the main loop of a project: what the analysis finds, and the user's last word on it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from deviate.analyse.findings import Findings
from deviate.analyse.project import analyse_project
from deviate.config import read_config
from deviate.instrument.project import instrument_project, project_diff
from deviate.selection import apply_config


def extract(project: Path, entry: str) -> Findings:
    """Find main loop and metrics, and let ``deviate.toml`` have the last word."""
    return apply_config(analyse_project(project, project / entry), read_config(project), project)


def show_edits(project: Path, findings: Findings) -> Iterable[str]:
    """Return how each file of the project is instrumented, as differences."""
    chosen = [metric for metric in findings.metrics if metric.selected]
    return project_diff(project, instrument_project(project, chosen, findings.main_loop, findings.draws))
