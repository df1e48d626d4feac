"""The one place that names the files and folders below ``.deviate/``.

    .deviate/lock                                   held while names are given and taken
    .deviate/locks/experiments-NAME                 held while runs of an experiment are made
    .deviate/locks/looks                            held while two sides are compared
    .deviate/written                                digests of the reports that were written into the project
    .deviate/looks/DIGEST.json                      which runs two sides had each time they were compared
    .deviate/verification/                          a verification that goes on, or was killed
    .deviate/packing/NAME/                          a trial of runs that share a GPU, likewise
    .deviate/experiments/NAME/experiment.json       what was asked for
    .deviate/experiments/NAME/hardware.json         what its runs must be made on (same_hardware)
    .deviate/experiments/NAME/snapshot/             the project as it was
    .deviate/experiments/NAME/stdin                 what its runs read from standard input
    .deviate/experiments/NAME/snapshot.json         what is in it, what was left out and why
    .deviate/experiments/NAME/steps/STEP/           the files of the project that an evaluation was read from
    .deviate/experiments/NAME/submissions/ID/       what was handed to a cluster at once: order.json, job.sh, logs
    .deviate/experiments/NAME/runs/VARIANT-K/       one run: run.json, runtime.json, outcome.json, records, logs, work/
    .deviate/experiments/NAME/runs/VARIANT-K/steps/STEP-R/
                                                    the like of a set-up, an evaluation or a clean-up, but for work/
    .deviate/experiments/NAME/runs/VARIANT-K/worker/
                                                    who makes the run now, and what a worker elsewhere has to do

Reading needs no lock. Files are the truth: a run is done when its ``outcome.json`` says so.
"""

from __future__ import annotations

import difflib
import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import msgspec

from deviate.core.errors import BadOption, UnknownExperiment, UnknownRun, WorkspaceUnusable, some_of
from deviate.core.experiment import Experiment, Run
from deviate.core.shell_words import typed_word
from deviate.store.files import file_sum, read_json, require_names, require_no_link, write_json, write_whole
from deviate.store.run_files import Cancelled, Completed, Ended, Outcome, RunInfo

FOLDER = ".deviate"

#: Experiments that a message names, at most.
MOST_NAMED = 5

RECORDS = "records-"

#: How names of files of predictions begin.
PREDICTIONS = "predictions-"

#: Suffixes of files of predictions, and of groups of examples, that can be read.
PREDICTION_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".npy", ".npz")

WEIGHTS = "weights-"

#: How names of kept checkpoints begin; a number in the order of writing follows, then the path in the run's folder.
CHECKPOINT = f"{WEIGHTS}checkpoint-"

#: Suffixes of text files of a run that may hold a table or a log.
LOG_SUFFIXES = frozenset({".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".txt", ".log", ".out", ".ipynb"})

#: Longest name most file systems take, less what Deviate adds to it while writing aside.
MAX_NAME = 200


@dataclass(frozen=True)
class RunFolder:
    """Folder of one run."""

    path: Path
    run: Run

    #: Name of the file in `worker` that says what is to be done.
    JOB: ClassVar[str] = "job.json"

    def made_in(self, info: RunInfo) -> RunFolder:
        """Return the folder that it was made in, which `info` names: this one, or one on a disk of its machine."""
        return RunFolder(Path(info.scratch), self.run) if info.scratch else self

    @property
    def info_file(self) -> Path:
        """How the run was started."""
        return self.path / "run.json"

    @property
    def runtime_file(self) -> Path:
        """The configuration of the runtime in the training process."""
        return self.path / "runtime.json"

    @property
    def worker(self) -> Path:
        """What a worker needs to make the run, and who makes it now; absent where nobody is to."""
        return self.path / "worker"

    @property
    def job_file(self) -> Path:
        """What a worker that is started elsewhere has to do."""
        return self.worker / self.JOB

    @property
    def ended_file(self) -> Path:
        """How the command ended; written by whatever watched it."""
        return self.path / "ended.json"

    @property
    def outcome_file(self) -> Path:
        """How the run ended; the run is not done without it."""
        return self.path / "outcome.json"

    @property
    def stdout_file(self) -> Path:
        """What the command printed."""
        return self.path / "stdout.log"

    @property
    def stderr_file(self) -> Path:
        """What the command printed to standard error."""
        return self.path / "stderr.log"

    @property
    def parquet_file(self) -> Path:
        """The run's records as a table; derived, may be missing."""
        return self.path / "records.parquet"

    @property
    def work(self) -> Path:
        """Where the run's own copy of the project lies, with its surroundings."""
        return self.path / "work"

    @property
    def reported_file(self) -> Path:
        """The numbers of the run's text output as a table; derived, may be missing."""
        return self.path / "reported.parquet"

    @property
    def written(self) -> Path:
        """Text files that the run wrote, by their paths in the project; absent where it wrote none."""
        return self.path / "written"

    @property
    def source(self) -> Path:
        """The project as it was when the experiment was made."""
        return ExperimentFolder(self.path.parents[1]).snapshot

    def step(self, name: str, repeat: int = 0) -> RunFolder:
        """Return the folder of what a command beside the training recorded, whether or not it exists."""
        return RunFolder(self.path / "steps" / f"{name}-{repeat}", self.run)

    def steps(self) -> list[RunFolder]:
        """Return the folders of the commands beside the training that were started."""
        folder = self.path / "steps"
        return [RunFolder(path, self.run) for path in sorted(folder.glob("[!.]*/"))] if folder.is_dir() else []

    def record_files(self) -> list[Path]:
        """Return the record files of all processes, by name."""
        return sorted(self.path.glob(f"{RECORDS}*.bin"))

    def event_files(self) -> list[Path]:
        """Return the event files of all processes, by name."""
        return sorted(self.path.glob("events-*.jsonl"))

    def prediction_files(self) -> list[Path]:
        """Return the files of what models predicted, of all processes or written by the run itself, by name."""
        return sorted(path for path in self.path.glob(f"{PREDICTIONS}*") if path.suffix != ".tmp")

    def weight_files(self) -> list[Path]:
        """Return the files of weights, of all processes or written by the run itself, by name."""
        return sorted(path for path in self.path.glob(f"{WEIGHTS}*") if path.suffix != ".tmp")

    def text_files(self) -> list[Path]:
        """Return the files of what the run reported in text: its output, and what it wrote."""
        written = sorted(path for path in self.written.rglob("*") if path.is_file())
        return [path for path in (self.stdout_file, self.stderr_file, *written) if path.is_file()]

    def result_files(self) -> list[Path]:
        """Return all files of what the run recorded and reported."""
        recorded = [*self.record_files(), *self.event_files(), *self.prediction_files(), *self.weight_files()]
        return [*recorded, *self.text_files()]

    def read_info(self) -> RunInfo | None:
        """Return how the run was started; None where it was not."""
        if not self.info_file.is_file():
            return None
        info: RunInfo = read_json(self.info_file, RunInfo)
        return info

    def write_info(self, info: RunInfo) -> None:
        """Store how the run was started."""
        write_json(self.info_file, info)

    def read_ended(self) -> Ended | None:
        """Return how the command ended; None where nothing was left to say so."""
        if not self.ended_file.is_file():
            return None
        ended: Ended = read_json(self.ended_file, Ended)
        return ended

    def read_outcome(self) -> Outcome | None:
        """Return how the run ended; None where it did not."""
        if not self.outcome_file.is_file():
            return None
        outcome: Outcome = read_json(self.outcome_file, Outcome)
        require_names(self.outcome_file, outcome.files)
        return outcome

    def write_outcome(self, outcome: Outcome) -> None:
        """Store how the run ended, with what its files hold; from then on the run is done and never made again."""
        # It imports NumPy, and most commands only look.
        from deviate.store.slots import used_size

        records = set(self.record_files())
        files = {
            path.relative_to(self.path).as_posix(): file_sum(path, used_size(path) if path in records else None)
            for path in self.result_files()
        }
        write_json(self.outcome_file, msgspec.structs.replace(outcome, files=files), durable=True)

    @property
    def is_done(self) -> bool:
        """Tell whether the run has ended in another way than by the user's cancelling it."""
        outcome = self.read_outcome()
        return outcome is not None and not isinstance(outcome, Cancelled)


@dataclass(frozen=True)
class ExperimentFolder:
    """Folder of one experiment."""

    path: Path

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self.path.name

    @property
    def project(self) -> Path:
        """The project whose workspace this is in."""
        return self.path.parents[2]

    @property
    def lock_file(self) -> Path:
        """Held while a tool writes; outside of the folder, so that it stays where the folder goes."""
        return self.path.parents[1] / "locks" / f"{self.path.parent.name}-{self.name}"

    @property
    def experiment_file(self) -> Path:
        """What was asked for."""
        return self.path / "experiment.json"

    @property
    def snapshot(self) -> Path:
        """The project as it was when the experiment was made."""
        return self.path / "snapshot"

    @property
    def snapshot_file(self) -> Path:
        """What the snapshot holds, and what was left out."""
        return self.path / "snapshot.json"

    @property
    def stdin_file(self) -> Path:
        """What its runs read from standard input; absent where they read nothing."""
        return self.path / "stdin"

    @property
    def hardware_file(self) -> Path:
        """What its runs must be made on, where the user wants the same for all."""
        return self.path / "hardware.json"

    @property
    def packing(self) -> ExperimentFolder:
        """Where it is tried whether its runs can share a GPU; in no experiment, as it is thrown away."""
        return ExperimentFolder(self.path.parents[1] / "packing" / self.name)

    @property
    def runs_folder(self) -> Path:
        """The folder of the runs' folders."""
        return self.path / "runs"

    def step_sources(self, name: str) -> Path:
        """Return the folder of the files that a command beside the training was read from."""
        return self.path / "steps" / name

    @property
    def submissions(self) -> Path:
        """What was handed to clusters."""
        return self.path / "submissions"

    def run(self, run: Run) -> RunFolder:
        """Return the folder of `run`, whether or not it exists."""
        return RunFolder(self.runs_folder / run.folder, run)

    def runs(self) -> list[RunFolder]:
        """Return the runs that were started, by variant and index."""
        return sorted(self._runs(), key=lambda folder: (folder.run.variant, folder.run.index))

    def _runs(self) -> Iterator[RunFolder]:
        for path in self.runs_folder.iterdir() if self.runs_folder.is_dir() else ():
            variant, _, index = path.name.rpartition("-")
            if variant and index.isdecimal() and not path.name.startswith("."):
                yield RunFolder(path, Run(variant=variant, index=int(index)))

    def completed_runs(self) -> list[RunFolder]:
        """Return the runs that enter a statistic, by variant and index."""
        return [run for run in self.runs() if isinstance(run.read_outcome(), Completed)]

    def has_completed(self) -> bool:
        """Tell whether there is a run that enters a statistic; reads no more than the first one."""
        return any(isinstance(run.read_outcome(), Completed) for run in self._runs())

    def find_run(self, word: str) -> RunFolder:
        """Return the run a user names: ``algo+impl-3``, or ``3`` where the experiment has one variant.

        Raises UnknownRun if no run that was started has that name.
        """
        runs = self.runs()
        matches = [folder for folder in runs if word in (folder.run.folder, str(folder.run.index))]
        if len(matches) == 1:
            return matches[0]
        names = [folder.run.folder for folder in matches or runs]
        wrong = f"several runs of {self.name} are called {word!r}" if matches else f"no run {word!r} of {self.name}"
        raise UnknownRun(wrong, hint=f"type one of: {some_of(names, MOST_NAMED)}" if names else "none was begun yet")

    def read_experiment(self) -> Experiment:
        """Return what was asked for; its name is the folder's, also where giving it another was cut short."""
        experiment: Experiment = read_json(self.experiment_file, Experiment)
        require_names(self.experiment_file, [*experiment.planned, *(step.name for step in experiment.steps)], parts=1)
        return msgspec.structs.replace(experiment, name=self.name)

    def write_experiment(self, experiment: Experiment) -> None:
        """Store what was asked for; makes the folder."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.experiment_file, experiment, durable=True)


def can_name(name: str) -> bool:
    """Tell whether an experiment may be called so: it names a folder, and is printed."""
    fits = name.isprintable() and len(name.encode()) <= MAX_NAME
    return bool(name) and fits and not name.startswith((".", "-")) and "/" not in name


def _is_copy(parts: tuple[str, ...]) -> bool:
    """Tell whether a folder below that of an experiment is a copy of the project, or has that of a run in it."""
    return parts == ("snapshot",) or (len(parts) == 3 and (parts[0], parts[2]) == ("runs", "work"))


@dataclass(frozen=True)
class Workspace:
    """The ``.deviate`` folder of a project."""

    project: Path

    @classmethod
    def nearest(cls, start: Path) -> Workspace:
        """Return the workspace of the nearest folder, from `here` upward, that has one; of `here` where none has."""
        start = start.resolve()
        return cls(next((each for each in (start, *start.parents) if (each / FOLDER / "experiments").is_dir()), start))

    @property
    def path(self) -> Path:
        """The folder itself."""
        return self.project / FOLDER

    @property
    def lock_file(self) -> Path:
        """Held while a tool reads and writes what experiments share."""
        return self.path / "lock"

    @property
    def looks_lock_file(self) -> Path:
        """Held from reading the looks at experiments to recording another one."""
        return self.path / "locks" / "looks"

    @property
    def written_file(self) -> Path:
        """Digests of what Deviate wrote into the project, see `deviate.runs.snapshot.manifest`."""
        return self.path / "written"

    def looks_file(self, digest: str) -> Path:
        """Which runs two sides had each time they were compared, see `deviate.store.looks`."""
        return self.path / "looks" / f"{digest}.json"

    @property
    def directions_file(self) -> Path:
        """Which values of metrics are better, as it was typed, see `deviate.observe.metrics`."""
        return self.path / "directions.json"

    @property
    def judge_file(self) -> Path:
        """The baseline that changes are judged against, and those that were, see `deviate.facts.judging`."""
        return self.path / "judge.json"

    @property
    def verification(self) -> ExperimentFolder:
        """Where a command is tried out; nothing of it stays, and it is no experiment."""
        return ExperimentFolder(self.path / "verification" / "trial")

    def check_usable(self) -> None:
        """Make sure that the workspace can be written, without writing.

        Raises WorkspaceUnusable if it is not a folder, or this user may not write there.
        """
        if os.path.lexists(self.path) and not os.path.isdir(self.path):
            raise WorkspaceUnusable(f"{self.path} is not a folder", hint=f"move it away: mv {FOLDER} {FOLDER}.old")
        folder = self.path if self.path.is_dir() else self.project
        if not os.access(folder, os.W_OK | os.X_OK):
            raise WorkspaceUnusable(
                f"{folder} cannot be written",
                hint="give yourself the right to write there, or copy the project to a folder of your own",
            )

    def prepare(self) -> None:
        """Make the folder, and have git ignore it.

        Raises WorkspaceUnusable if that fails.
        """
        self.check_usable()
        ignore = self.path / ".gitignore"
        try:
            (self.path / "experiments").mkdir(parents=True, exist_ok=True)
            if not ignore.exists():
                write_whole(ignore, b"# made by deviate\n*\n")
        except OSError as error:
            raise WorkspaceUnusable(
                f"{self.path} cannot be written: {error.strerror}", hint="free the disk, or work on another one"
            ) from error

    def names(self) -> list[str]:
        """Return the names of the experiments."""
        names = (path.parent.name for path in self.path.glob("experiments/*/experiment.json"))
        return sorted(name for name in names if can_name(name))

    def experiment(self, name: str) -> ExperimentFolder:
        """Return the folder of the experiment `name`, whether or not it exists.

        Raises BadOption if `name` cannot be the name of a folder. Raises WorkspaceUnusable if a link stands in that
        folder where Deviate has a file or folder of its own.
        """
        if not can_name(name):
            raise BadOption(
                f"{name!r} cannot name an experiment",
                hint=f"use characters that can be printed, but no '/', and {MAX_NAME} bytes at most; "
                "begin with neither '.' nor '-'",
            )
        folder = self.seen_experiment(name)
        require_no_link(folder.path, free=_is_copy)
        return folder

    def seen_experiment(self, name: str) -> ExperimentFolder:
        """Return the folder of an experiment that was read just now: links are not looked for again."""
        return ExperimentFolder(self.path / "experiments" / name)

    def find_experiment(self, name: str) -> ExperimentFolder:
        """Return the folder of an existing experiment.

        Raises UnknownExperiment if there is none of that name.
        """
        names = self.names()
        if name not in names:
            raise _unknown(name, names)
        return self.experiment(name)


def unusable(folder: Path, error: OSError) -> WorkspaceUnusable:
    """Return what to say of a folder below which something could not be written: it is gone, or the disk is full."""
    wanted = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else folder
    missing = [path for path in (wanted, *wanted.parents) if not os.path.lexists(path)]
    is_inside = wanted.is_relative_to(folder) or (missing and folder.is_relative_to(missing[-1]))
    if missing and is_inside and error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ESTALE):
        return WorkspaceUnusable(
            f"{missing[-1]} is gone: it was deleted or moved while Deviate worked in it",
            hint="put it back, then type the same command; without it that begins anew",
        )
    return WorkspaceUnusable(f"{folder} cannot be written: {error}", hint="free the disk, then type the same command")


def _unknown(name: str, names: Sequence[str]) -> UnknownExperiment:
    """Return what to say of a name that no experiment has: the grid or the experiment that it may stand for."""
    missing = f"no experiment {typed_word(name)}"
    if not names:
        made = "make one, such as deviate run -n 8 -- python train.py"
        return UnknownExperiment(f"{missing}: none was made yet", hint=made)
    if cells := [each for each in names if each.startswith(f"{name}@")]:
        of = f"deviate compare {typed_word(name)}, or one of its cells: {some_of(cells, MOST_NAMED)}"
        return UnknownExperiment(f"{missing}: it is a grid", hint=of)
    if near := difflib.get_close_matches(name, names, n=1):
        return UnknownExperiment(f"{missing}; did you mean {typed_word(near[0])}?")
    return UnknownExperiment(missing, hint=f"type one of: {some_of(names, MOST_NAMED)}")
