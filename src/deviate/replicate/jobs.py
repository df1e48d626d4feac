"""What is done in the folder of one run: its set-up, the training, its evaluations, its clean-up."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from deviate.experiment import Run, Step
from deviate.replicate.prepare import Ready
from deviate.replicate.workspace.folders import RunFolder
from deviate.replicate.workspace.integrity import damage
from deviate.replicate.workspace.run_files import Completed, Failed, Outcome

#: Returns the run whose training serves a run, too: itself where it is to be trained, None where it is not needed.
TwinOf = Callable[[Run], Run | None]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One command of a job."""

    #: None: the training.
    step: Step | None = None
    repeat: int = 0

    @property
    def is_cleanup(self) -> bool:
        """Whether it is done whatever came of the others."""
        return self.step is not None and self.step.when == "cleanup"


@dataclass
class Job:
    """A run with what is still to be done in its folder, one command after another."""

    run: Run
    parts: deque[Part]
    #: The training, once it is prepared; None where it was made before.
    training: Ready | None = None
    #: Of the training; None until it has ended.
    outcome: Outcome | None = None
    #: The last value of each metric.
    values: dict[str, float] = field(default_factory=dict)

    @property
    def trains(self) -> bool:
        """Whether the training is among what is to be done, or was done."""
        return self.training is not None or any(part.step is None for part in self.parts)

    def cut(self, *, cleanup: bool = True) -> None:
        """Leave out what is still to be done, but for the clean-up."""
        self.parts = deque(part for part in self.parts if cleanup and part.is_cleanup)


def training_job(run: Run, steps: Sequence[Step]) -> Job:
    """Return the job of a run that is still to be made."""
    evaluations = [Part(step=step, repeat=repeat) for step in steps if step.is_evaluation for repeat in _all(step)]
    return Job(run, deque([*_parts(steps, "setup"), Part(), *evaluations, *_parts(steps, "cleanup")]))


def evaluating_job(
    folder: RunFolder, steps: Sequence[Step], *, retry_failed: bool, retry_killed: bool = False
) -> Job | None:
    """Return the job of a run that was made before and lacks evaluations; None where it lacks none."""
    lacking = [
        Part(step=step, repeat=repeat)
        for step in steps
        if step.is_evaluation
        for repeat in _all(step)
        if not stays(folder.step(step.name, repeat), retry_failed=retry_failed, retry_killed=retry_killed)
    ]
    parts = deque([*_parts(steps, "setup"), *lacking, *_parts(steps, "cleanup")])
    return Job(folder.run, parts, outcome=folder.read_outcome()) if lacking else None


def _parts(steps: Sequence[Step], when: str) -> list[Part]:
    return [Part(step=step) for step in steps if step.when == when]


def _all(step: Step) -> range:
    return range(step.repeat)


def stays(folder: RunFolder, *, retry_failed: bool, retry_killed: bool = False) -> bool:
    """Tell whether a command need not be run: it has ended; with `retry_failed`, and its files are whole.

    With `retry_killed` one that was ended from outside is run again.
    """
    if not folder.is_done:
        return False
    outcome = folder.read_outcome()
    if not retry_failed:
        return not (retry_killed and isinstance(outcome, Failed) and outcome.killed)
    return isinstance(outcome, Completed) and not damage(folder, outcome)
