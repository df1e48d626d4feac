"""Remove, rename and thin out stored experiments: nothing that another experiment has is touched.

Every step is a rename or can be done again, so that the same command goes on after it was killed.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from deviate.core.errors import BadOption, NameTaken
from deviate.core.experiment import Experiment, Step
from deviate.core.shell_words import typed_word
from deviate.runs import todo
from deviate.runs.executors.local import LocalExecutor
from deviate.runs.lease import LeaseHeld, live_holder
from deviate.runs.loop import elsewhere
from deviate.runs.orders import clear_submissions
from deviate.runs.prepare import clear_removed, discard, discard_work
from deviate.store.folders import ExperimentFolder, RunFolder, Workspace
from deviate.store.locks import locked, locked_looks, locked_workspace
from deviate.store.looks import rename_looks
from deviate.store.run_files import Completed


def remove(workspace: Workspace, name: str) -> None:
    """Remove an experiment with all its runs; what a killed tool left running of it is ended.

    Data folders that its runs link stay, since only the links are removed.

    Raises UnknownExperiment if there is none of that name. Raises WorkspaceBusy or RunElsewhere if runs of it are being
    made, here or elsewhere.
    """
    with _held(workspace, name, "rm") as folder:
        end_leftovers(folder)
        clear_submissions(folder, all_of_them=True)
        discard(folder.path)
    clear_removed(folder.path.parent)


def remove_evaluation(workspace: Workspace, name: str, evaluation: str) -> None:
    """Remove an evaluation with what it recorded in each run; a command that asks for it makes it again.

    Raises UnknownExperiment or BadOption if there is no experiment of that name, or no evaluation. Raises WorkspaceBusy
    or RunElsewhere if runs of it are being made, here or elsewhere.
    """
    with _held(workspace, name, "rm") as folder:
        step = find_evaluation(folder.read_experiment(), evaluation)
        end_leftovers(folder)
        experiment = folder.read_experiment()
        # Killed from here on, what is left below the runs belongs to no evaluation, and a new one writes it anew.
        left = [each for each in experiment.steps if each != step]
        folder.write_experiment(msgspec.structs.replace(experiment, steps=left))
        for run in folder.runs():
            for repeat in range(step.repeat):
                discard(run.step(step.name, repeat).path)
        discard(folder.step_sources(step.name))


def find_evaluation(experiment: Experiment, name: str) -> Step:
    """Return the evaluation of that name.

    Raises BadOption with the names there are.
    """
    step = next((step for step in experiment.evaluations if step.name == name), None)
    if step is None:
        names = ", ".join(each.name for each in experiment.evaluations) or "none"
        raise BadOption(f"no evaluation of {experiment.name!r} is named {name!r}", hint=f"evaluations: {names}")
    return step


def rename(workspace: Workspace, name: str, new: str) -> ExperimentFolder:
    """Give an experiment another name; comparisons that were made with it are still accounted for.

    Raises UnknownExperiment if there is none of that name. Raises BadOption if the new name cannot be one. Raises
    NameTaken if there is an experiment of that name. Raises WorkspaceBusy or RunElsewhere if runs of it are being made,
    here or elsewhere.
    """
    target = workspace.experiment(new)
    with _held(workspace, name, "mv", new) as folder, locked(target, ["deviate", "mv", name, new]):
        if new in workspace.names():
            raise NameTaken(f"an experiment is named {new!r} already", hint=f"type another name, or: deviate rm {new}")
        end_leftovers(folder)
        experiment = folder.read_experiment()
        with locked_looks(workspace):
            rename_looks(workspace, name, new, "" if experiment.imported else experiment.created)
        # What is there without an `experiment.json` is what a killed tool left of one that it was making.
        discard(target.path)
        # Killed between the two, the folder has its old name, and the same command goes on.
        folder.write_experiment(msgspec.structs.replace(experiment, name=new))
        folder.path.rename(target.path)
    return target


def prune(workspace: Workspace, name: str, *, failed: bool = False) -> int:
    """Remove the working folders of completed runs, `failed` ones too; return how many bytes that freed.

    Records, logs, predictions and weights that were kept stay.

    Raises UnknownExperiment if there is none of that name. Raises WorkspaceBusy or RunElsewhere if runs of it are being
    made or evaluated, here or elsewhere.
    """
    with _held(workspace, name, "prune") as folder:
        freed = prunable(folder, failed=failed)
        for run in _done(folder, failed=failed):
            discard_work(run)
        clear_removed(folder.runs_folder)
    clear_removed(folder.path.parent)
    return freed


def prunable(folder: ExperimentFolder, *, failed: bool = False) -> int:
    """Return how many bytes the working folders hold that `prune` removes.

    Raises RunElsewhere as `require_idle` does.
    """
    require_idle(folder)
    return sum(disk_size(run.work) for run in _done(folder, failed=failed))


def _done(folder: ExperimentFolder, *, failed: bool) -> Sequence[RunFolder]:
    """Return the runs that have ended."""
    ended = [run for run in folder.runs() if run.is_done]
    return [run for run in ended if failed or isinstance(run.read_outcome(), Completed)]


def end_leftovers(folder: ExperimentFolder) -> None:
    """End what a killed tool left running of the runs that are not done.

    Raises RunElsewhere as `require_idle` does.
    """
    require_idle(folder)
    deque(todo.end_leftovers(folder.runs(), LocalExecutor(1)), maxlen=0)


def require_idle(folder: ExperimentFolder) -> None:
    """Make sure that nobody makes or evaluates a run.

    Raises RunElsewhere if a worker on another machine, or of a cluster, does.
    """
    for run in folder.runs():
        if (holder := live_holder(run)) is not None:
            hint = f"wait until it has ended: deviate show {typed_word(folder.name)} says how each run stands"
            raise elsewhere(run.run.folder, LeaseHeld(holder), hint)


def disk_size(path: Path) -> int:
    """Return the bytes of the files below a folder; links lead elsewhere and count nothing, and a file counts once."""
    files = (os.lstat(Path(parent, name)) for parent, _, names in os.walk(path) for name in names)
    return sum({(each.st_dev, each.st_ino): each.st_blocks * 512 for each in files}.values())


@contextmanager
def _held(workspace: Workspace, name: str, *words: str) -> Iterator[ExperimentFolder]:
    """Hold an experiment, and the names of all."""
    command = ["deviate", words[0], name, *words[1:]]
    workspace.find_experiment(name)
    with locked_workspace(workspace, command):
        folder = workspace.find_experiment(name)
        with locked(folder, command):
            yield folder
