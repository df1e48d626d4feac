"""Trainings that are run to their end in a folder that is thrown away, and what of each can be compared."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import msgspec

from deviate.observe.fingerprints import WEIGHTS, agree, joined_fingerprints
from deviate.observe.identity import Difference
from deviate.observe.observation import repeatable_series
from deviate.observe.predictions import read_predictions
from deviate.observe.records import RunFiles, RunTallies, read_run
from deviate.probes.causes import Outcome, value_difference
from deviate.probes.trial import Trial, Trials, open_trials, printed_series
from deviate.runs.executors.executor import DEFAULT_EXECUTOR, make_executor
from deviate.runs.prepared import Prepared
from deviate.store.run_files import Ended, Unfinished


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A training that failed, or recorded nothing."""

    run: str
    reason: str
    hint: str = ""
    stderr: list[str] = []


@dataclass(frozen=True)
class Trained:
    """A training that came to its end."""

    outcome: Outcome
    files: RunFiles
    #: Of the main loop, those that were begun.
    iterations: int
    ended: Ended
    failure: Failure | None
    #: Digests of the predictions, by evaluation.
    predictions: dict[str, str]

    def parts_from(self, other: Trained) -> tuple[Difference | None, list[str]]:
        """Return the first value in which another training differs, and what else does: weights, evaluations."""
        differing = {name for name, each in self.predictions.items() if other.predictions.get(name, each) != each}
        if agree(self.outcome.prints.get(WEIGHTS), other.outcome.prints.get(WEIGHTS)) is False:
            differing.add(WEIGHTS)
        return value_difference(self.outcome, other.outcome), sorted(differing)


@contextmanager
def open_trainings(prepared: Prepared, words: list[str], variants: list[str]) -> Iterator[Trials]:
    """Open a place for trainings on this machine, whose predictions are captured as labels; see `open_trials`."""
    with open_trials(prepared, make_executor(DEFAULT_EXECUTOR, 1), words, variants) as trials:
        experiment = msgspec.structs.replace(trials.source.experiment, predictions="labels")
        yield replace(trials, source=replace(trials.source, experiment=experiment))


def train(trials: Trials, trial: Trial, name: str = "", *, in_files: bool = True) -> Trained:
    """Run a training to its end; `name` stands for it where it failed.

    Values that it reported in text alone are those it printed and, if also `in_files`, those in files.
    """
    trials.stop.obey()
    ended = trial.watch(math.inf, trials.stop, lambda seconds: False)
    outcome, folder, experiment = trial.outcome(ended), trial.ready.folder, trial.source.experiment
    failure = None
    if isinstance(outcome, Unfinished):
        run = name or folder.run.folder
        failure = Failure(run=run, reason=outcome.reason, hint=outcome.hint, stderr=outcome.stderr)
    files = read_run(folder)
    tallies = RunTallies(folder, trial.source.metric_names)
    tallies.look()
    return Trained(
        outcome=Outcome(
            name=folder.run.folder,
            prints=joined_fingerprints(files.processes),
            series=repeatable_series(folder, experiment.metrics),
            ended=True,
            usable=failure is None,
            copy=trial.ready.copy,
            printed={} if failure else printed_series(folder, experiment, in_files=in_files),
            word=experiment.word,
        ),
        files=files,
        iterations=tallies.iterations,
        ended=ended,
        failure=failure,
        predictions=prediction_digests(files),
    )


def prediction_digests(run: RunFiles) -> dict[str, str]:
    """Return a digest of the predictions of each evaluation."""
    digests = {}
    for (point, kept), each in read_predictions(run).passes.items():
        digest = hashlib.blake2b(digest_size=16)
        for name, column in sorted(each.columns.items()):
            digest.update(name.encode() + str(column.dtype).encode() + column.tobytes())
        digests[f"{point} ({kept})"] = digest.hexdigest()
    return digests
