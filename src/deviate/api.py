"""Deviate from Python: run an experiment, load one, take its tables into pandas."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deviate import pipeline
from deviate.collect import tables
from deviate.replicate.workspace import ExperimentFolder, Workspace
from deviate.request import DEFAULT_RUNS, Request
from deviate.target import find_workspace

if TYPE_CHECKING:
    import pandas as pd

    from deviate.experiment import Experiment
    from deviate.report.parts import Document


class StoredExperiment:
    """An experiment with its runs, as they lie in the workspace."""

    def __init__(self, folder: ExperimentFolder) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        done = ", ".join(f"{variant}: {count} completed" for variant, count in self.summary()["completed"].items())
        return f"<experiment {self.name!r}, {done}>"

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self.folder.name

    @property
    def experiment(self) -> Experiment:
        """What was asked for: command, entry, metrics, variants."""
        return self.folder.read_experiment()

    def records(self, *, include_failed: bool = False) -> pd.DataFrame:
        """Return every reported value of the completed runs.

        Returns
        -------
        DataFrame
            Columns ``variant``, ``run``, ``metric``, ``iteration`` (from 0; -1 before the main loop), ``elapsed_s``
            and ``value``.
        """
        return tables.records(self.folder, include_failed=include_failed)

    def samples(self, aggregates: Mapping[str, str] | None = None) -> pd.DataFrame:
        """Return one number per completed run and metric.

        Parameters
        ----------
        aggregates : mapping of str to str, optional
            Aggregates by metric, where they should differ from the experiment's: ``{"test acc": "best"}``.

        Returns
        -------
        DataFrame
            Columns ``variant``, ``run``, ``metric``, ``aggregate`` and ``value``.
        """
        return tables.samples(self.folder, aggregates)

    def document(self, *, level: float = 0.95, aggregates: Mapping[str, str] | None = None) -> Document:
        """Return all that is said about the experiment, as data."""
        return pipeline.describe(self.folder, level=level, aggregates=aggregates)

    def summary(self) -> dict[str, Any]:
        """Return name, command, and how many runs of each variant completed."""
        experiment = self.experiment
        completed = Counter(run.run.variant for run in tables.included_runs(self.folder))
        return {
            "name": experiment.name,
            "command": experiment.command,
            "created": experiment.created,
            "planned": experiment.planned,
            "completed": {variant: completed[variant] for variant in experiment.planned},
        }


def run(command: Sequence[str] | str, n: int = DEFAULT_RUNS, **options: Any) -> StoredExperiment:
    """Train `n` times and return the experiment, as ``deviate run`` does.

    Parameters
    ----------
    command : str or sequence of str
        What one types to train; a string is split as a shell splits words.
    n : int, optional
        Runs of each variant, those already done counted in.
    **options
        Fields of `deviate.request.Request`, such as ``variants=("control",)`` or ``jobs=2``.

    Raises
    ------
    DeviateError
        As the command line; the message and the hint say what to do.
    """
    words = shlex.split(command) if isinstance(command, str) else list(command)
    return StoredExperiment(pipeline.run(Request(command=words, runs=n, **options)))


def load(name: str, *, project: str | Path | None = None) -> StoredExperiment:
    """Return the experiment `name` of the project one stands in, or of `project`.

    Raises
    ------
    UnknownExperiment
        If there is none of that name.
    """
    return StoredExperiment(_workspace(project).find_experiment(name))


def names(project: str | Path | None = None) -> list[str]:
    """Return the names of the experiments of the project one stands in, or of `project`."""
    return _workspace(project).names()


def _workspace(project: str | Path | None) -> Workspace:
    return Workspace(Path(project).resolve() if project else find_workspace(Path.cwd()))
