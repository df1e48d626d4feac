"""Experiments at a glance, each from its own files alone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from deviate.core.errors import DeviateError
from deviate.core.shell_words import typed_word
from deviate.store.folders import ExperimentFolder, RunFolder, Workspace
from deviate.store.run_files import Unfinished

if TYPE_CHECKING:
    from deviate.facts.live import LiveExperiment


class Unreadable(NamedTuple):
    """An experiment with a file that cannot be read, and what to do about it."""

    name: str
    problem: str
    hint: str


def overviews(workspace: Workspace) -> tuple[list[dict[str, Any]], list[Unreadable]]:
    """Return the overview of each experiment that can be read, and what is wrong with each of the others."""
    found, unreadable = [], []
    for name in workspace.names():
        try:
            found.append(overview(workspace.experiment(name)))
        except DeviateError as error:
            hint = f"{error.hint}; to remove the experiment: deviate rm {typed_word(name)}"
            unreadable.append(Unreadable(name, error.message, hint))
    return found, unreadable


def overview(folder: ExperimentFolder) -> dict[str, Any]:
    """Return name, command, how many runs of each variant are planned and completed, and what goes on now."""
    experiment = folder.read_experiment()
    runs = folder.completed_runs()
    completed = Counter(run.run.variant for run in runs)
    return {
        "name": experiment.name,
        "command": experiment.command,
        "created": experiment.created,
        "planned": experiment.planned,
        "completed": {variant: completed[variant] for variant in experiment.planned},
        "evaluating": sum(map(_is_evaluated, runs)),
        "seconds_left": live.seconds_left if (live := _going(folder)) else None,
        "running": live is not None,
        "problem": "" if runs else _problem(folder),
    }


def _problem(folder: ExperimentFolder) -> str:
    """Return why the first run that ended did not complete; empty where none has ended."""
    outcomes = (run.read_outcome() for run in folder.runs())
    return next((outcome.reason for outcome in outcomes if isinstance(outcome, Unfinished)), "")


def _going(folder: ExperimentFolder) -> LiveExperiment | None:
    """Return what `deviate watch` shows; None where no run is under way."""
    # Only where a worker may live, as below.
    if not any(run.worker.is_dir() and not run.outcome_file.is_file() for run in folder.runs()):
        return None
    from deviate.facts.live import LiveReader

    live = LiveReader(folder).read()
    return live if live.going else None


def _is_evaluated(run: RunFolder) -> bool:
    # Only where a worker may live: looking at processes takes a library that is long to import.
    if not run.worker.is_dir():
        return False
    from deviate.facts.live import is_evaluated

    return is_evaluated(run)
