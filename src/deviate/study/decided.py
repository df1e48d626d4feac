"""Make runs round by round until a comparison with a stored experiment is decided: ``deviate run --until``."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from deviate.experiment import Decided
from deviate.replicate.events import RunEnded
from deviate.replicate.workspace.folders import ExperimentFolder, Workspace
from deviate.replicate.workspace.run_files import Completed
from deviate.study.events import Compared, StudyEvent
from deviate.study.rounds import Make, Numbered


class Referee(Protocol):
    """Compares growing runs with a stored experiment; the layers above know how."""

    def check(self, workspace: Workspace, decided: Decided, side: str | None = None) -> None:
        """Refuse what cannot be decided; `side` is the ``EXPERIMENT:VARIANT`` that grows, once a run of it is there."""

    def look(self, workspace: Workspace, decided: Decided, side: str) -> Compared:
        """Compare once more, and record it."""


def until_decided(
    make: Make, folder: ExperimentFolder, decided: Decided, jobs: int, referee: Referee
) -> Generator[StudyEvent, None, None]:
    """Make runs of a variant round by round until it is decided which is better, or it has all that are allowed.

    Every run of a round has ended before it is looked at, so that what is compared are always the first runs by index.
    """
    variant = decided.variant
    workspace, side = Workspace(folder.project), f"{folder.name}:{variant}"
    checked = bool(folder.completed_runs())
    if checked:
        referee.check(workspace, decided, side)
    already = folder.read_experiment().planned.get(variant, 0)
    planned = min(max(decided.least, already), max(decided.most, decided.least))
    rounds = Numbered(make)
    while True:
        for event in rounds.made({variant: planned}):
            yield event
            if not checked and isinstance(event, RunEnded) and isinstance(event.outcome, Completed):
                referee.check(workspace, decided, side)
                checked = True
        if not checked:
            return
        compared = referee.look(workspace, decided, side)
        yield compared
        if compared.shown or compared.hopeless or planned >= decided.most:
            return
        planned = min(planned + max(1, jobs), decided.most)
