"""An experiment at a glance, from its own files alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

from deviate.replicate.workspace.folders import ExperimentFolder


def overview(folder: ExperimentFolder) -> dict[str, Any]:
    """Return name, command, and how many runs of each variant are planned and completed."""
    experiment = folder.read_experiment()
    completed = Counter(run.run.variant for run in folder.completed_runs())
    return {
        "name": experiment.name,
        "command": experiment.command,
        "created": experiment.created,
        "planned": experiment.planned,
        "completed": {variant: completed[variant] for variant in experiment.planned},
    }
