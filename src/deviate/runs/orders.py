"""What is handed to workers elsewhere: one order for all runs of a submission, and in each run's folder a job."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from deviate.core.errors import WorkspaceUnusable
from deviate.core.experiment import SCHEMA, Experiment
from deviate.core.secrets import mask_words
from deviate.runs.prepare import Source, StepSource, make_source, step_source
from deviate.runs.request import ReplicateOptions
from deviate.runs.snapshot.manifest import require_whole
from deviate.source.edits import FileCode
from deviate.store.files import read_json, write_json
from deviate.store.folders import ExperimentFolder, RunFolder

# The words of a command with its secrets, for workers elsewhere: below the user's home, and not in a workspace.
#
# A workspace is copied, exported and looked into by others; what is kept here is for its owner alone, as ``~/.netrc``
# is, and goes when no run needs it any more.


def keep_words(submission: str, command: Sequence[str]) -> str:
    """Store a command for the workers of a submission; return the file.

    Raises WorkspaceUnusable if it cannot be written.
    """
    path = _folder() / f"{submission}.json"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_json(path, {"command": list(command)})
    except OSError as problem:
        raise WorkspaceUnusable(
            f"the command holds a secret, and {path}, where its workers find it, cannot be written: {problem.strerror}",
            hint="set it as a variable that the jobs have, and leave it out of the command",
        ) from problem
    return str(path)


def read_words(file: str) -> list[str]:
    """Return the command that was stored in a file.

    Raises WorkspaceUnusable if it is not there, such as on a machine without the user's home.
    """
    try:
        words: dict[str, list[str]] = read_json(Path(file), dict[str, list[str]])
    except WorkspaceUnusable as problem:
        raise WorkspaceUnusable(
            f"the command holds a secret, and this machine does not see {file}, where it is",
            hint="mount that folder here, or set the secret as a variable that the jobs have",
        ) from problem
    return words["command"]


def drop_words(submission: str) -> None:
    """Remove what was stored for a submission."""
    (_folder() / f"{submission}.json").unlink(missing_ok=True)


def _folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME", "")
    home = Path(state) if os.path.isabs(state) else Path(os.path.expanduser("~"), ".local", "state")
    return home / "deviate" / "commands"


#: Letters of the experiment's name in that of a submission.
MOST_LETTERS = 30


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What all runs of a submission are made from: ``submissions/ID/order.json``."""

    schema: int = SCHEMA
    experiment: Experiment
    #: Instrumented files, see `Source`, and those of the commands beside the training.
    overlay: Mapping[str, FileCode]
    step_overlays: Mapping[str, Mapping[str, FileCode]]
    options: ReplicateOptions
    executor: str
    #: Where the executor is reached; empty where this machine knows.
    address: str = ""
    threads: int
    git: str | None
    #: The folder of a machine in which its runs are made, see `deviate.runs.scratch`; empty: in their own.
    scratch: str = ""
    #: It was printed for the user to submit, who may not have done so.
    printed: bool = False
    #: The file with the words of the command, where stars stand for secrets in them, see
    #: `deviate.runs.orders`; empty: there are none.
    words: str = ""


class JobFile(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done in a run's folder: ``worker/job.json``. It goes when that is done."""

    schema: int = SCHEMA
    #: Name of the submission, and the run's place in it.
    submission: str
    index: int


@dataclass(frozen=True)
class Submission:
    """Runs that are handed over at once."""

    folder: Path
    runs: Sequence[RunFolder]

    @property
    def name(self) -> str:
        """Its name, which no other one has."""
        return self.folder.name

    @property
    def note(self) -> str:
        """What whoever submits it by hand has to know, as a comment; empty where that is nothing."""
        order: Order = read_json(self.folder / "order.json", Order)
        where = f"# The command holds a secret, which is not here: every machine must see {order.words}\n"
        return where if order.words else ""

    def withdraw(self) -> None:
        """Leave its runs to others: nobody was asked for their workers."""
        for run in self.runs:
            run.job_file.unlink(missing_ok=True)
        drop_words(self.name)
        shutil.rmtree(self.folder)


def write_submission(folder: ExperimentFolder, order: Order, runs: Sequence[RunFolder]) -> Submission:
    """Store what the workers of `runs` need, before any of them is asked for."""
    submission = Submission(folder.submissions / _free_name(folder.name), runs)
    folder.submissions.mkdir(exist_ok=True)
    submission.folder.mkdir(mode=0o700)
    write_json(submission.folder / "order.json", _without_secrets(order, submission.name))
    for index, run in enumerate(runs):
        run.worker.mkdir(parents=True, exist_ok=True)
        write_json(run.job_file, JobFile(submission=submission.name, index=index))
    return submission


def _without_secrets(order: Order, submission: str) -> Order:
    """Return an order without the secrets of its command, which are kept elsewhere."""
    command = order.experiment.command
    masked = mask_words(command)
    if masked == command:
        return order
    experiment = msgspec.structs.replace(order.experiment, command=masked)
    return msgspec.structs.replace(order, experiment=experiment, words=keep_words(submission, command))


def _free_name(experiment: str) -> str:
    """Return a name that no other submission has, and that any scheduler takes as the name of a job."""
    words = re.sub(r"[^a-z0-9]+", "-", experiment.lower())[:MOST_LETTERS].strip("-")
    return f"{words}-{uuid.uuid4().hex[:12]}".lstrip("-")


def read_job(run: RunFolder) -> JobFile | None:
    """Return what is to be done of a run elsewhere; None where nothing is."""
    if not run.job_file.is_file():
        return None
    job: JobFile = read_json(run.job_file, JobFile)
    return job


def clear_submissions(folder: ExperimentFolder, *, all_of_them: bool = False) -> None:
    """Remove what no run refers to any more, and what was kept elsewhere for it."""
    used = {job.submission for run in folder.runs() if not all_of_them and (job := read_job(run)) is not None}
    for path in folder.submissions.iterdir() if folder.submissions.is_dir() else ():
        if path.name not in used:
            drop_words(path.name)
            shutil.rmtree(path, ignore_errors=True)


def read_order(folder: ExperimentFolder, job: JobFile) -> Order:
    """Return what the run of a job is made from."""
    order: Order = read_json(folder.submissions / job.submission / "order.json", Order)
    return order


def ordered_source(
    folder: ExperimentFolder,
    order: Order,
    environment: Mapping[str, str],
    mirror: ExperimentFolder | None = None,
    disk: Path | None = None,
) -> tuple[Source, dict[str, StepSource]]:
    """Return what a worker makes runs and their steps from; `environment` is its own, `mirror` and `disk` likewise."""
    experiment = order.experiment
    if order.words:
        experiment = msgspec.structs.replace(experiment, command=read_words(order.words))
    made_from = make_source(
        experiment, folder, order.overlay, environment, order.options, order.executor, jobs=1, git=order.git
    )
    source = replace(made_from, mirror=mirror, disk=disk)
    if disk is None:
        # Else only the first run on the disk reads all of it, and looks.
        require_whole(source.snapshot, folder)
    overlays = order.step_overlays
    return source, {step.name: step_source(source, step, overlays.get(step.name, {})) for step in experiment.steps}
