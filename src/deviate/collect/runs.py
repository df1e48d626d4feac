"""What the files of a run say, read once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from deviate.collect.fingerprints import Fingerprint, joined_fingerprints
from deviate.collect.processes import Process, processes
from deviate.experiment import Experiment
from deviate.replicate.workspace.folders import ExperimentFolder, RunFolder
from deviate.replicate.workspace.integrity import damage, growth
from deviate.replicate.workspace.run_files import Completed, Outcome, RunInfo


@dataclass(frozen=True)
class RunFiles:
    """A run with what its files said when they were read."""

    folder: RunFolder
    #: None where the run has not ended.
    outcome: Outcome | None
    #: None where it was not started.
    info: RunInfo | None
    #: All processes that the runtime was started in, with their events.
    processes: list[Process]
    #: How its files differ from what they were when it ended; empty where they are whole.
    damage: str = ""
    #: Files to which something was written since it ended, which is left out.
    grown: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The word a user types for the run."""
        return self.folder.run.folder

    @property
    def variant(self) -> str:
        """The variant it is a run of."""
        return self.folder.run.variant

    @property
    def index(self) -> int:
        """Its number among the runs of the variant."""
        return self.folder.run.index

    @property
    def completed(self) -> bool:
        """Whether it enters the statistics."""
        return isinstance(self.outcome, Completed) and not self.damage

    @cached_property
    def fingerprints(self) -> dict[str, Fingerprint]:
        """Its fingerprints by name; a factor that nothing was drawn for has none."""
        return joined_fingerprints(self.processes)


def read_run(folder: RunFolder) -> RunFiles:
    """Read the files of a run."""
    outcome = folder.read_outcome()
    damaged = damage(folder, outcome) if outcome is not None else ""
    return RunFiles(folder, outcome, folder.read_info(), processes(folder), damaged, tuple(growth(folder, outcome)))


def read_ended_runs(folder: ExperimentFolder) -> list[RunFiles]:
    """Read the runs of an experiment that have ended, however, by variant and index."""
    return [run for each in folder.runs() if (run := read_run(each)).outcome is not None]


def in_order(runs: Iterable[RunFiles], experiment: Experiment) -> list[RunFiles]:
    """Sort runs by the order in which variants were planned, and by index."""
    order = {name: position for position, name in enumerate(experiment.planned)}
    return sorted(runs, key=lambda run: (order.get(run.variant, len(order)), run.variant, run.index))
