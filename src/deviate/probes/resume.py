"""Compare a training that was interrupted and resumed with one that was not, and name what was not restored.

The training is ended as an iteration of its main loop begins, and started again in the same folder; another one goes
through. Everything is held fixed in both, and each generator has one state, as it has without Deviate: what a program
saves of it is restored as a whole.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from deviate.core.errors import BadOption
from deviate.core.experiment import SCHEMA, Run
from deviate.core.factors import parse_variant, run_seeds
from deviate.core.secrets import mask_words
from deviate.observe.fingerprints import WEIGHTS, agree
from deviate.observe.identity import Series, first_difference
from deviate.observe.processes import run_processes
from deviate.probes.certificate import Parting
from deviate.probes.certify import CONTROL, parting_of
from deviate.probes.training import Failure, Trained, open_trainings, train
from deviate.probes.trial import Announce, Trial, Trials, left_files
from deviate.runs.kept import written_states
from deviate.runs.prepare import given_slot, make_ready
from deviate.runs.prepared import Prepared, prepare_request
from deviate.runs.request import Request
from deviate.source.overlay import file_codes, instrument_experiment
from deviate.store.folders import RunFolder
from deviate.store.snapshot_rules import STATES, is_checkpoint_like

#: Stands in the command that resumes for the newest checkpoint, relative to where the command is started.
PLACEHOLDER = "{checkpoint}"

#: What the runtime reads, see `resuming` there.
VARIABLE = "DEVIATE_RESUME"

#: Folders that are a checkpoint as a whole.
_WHOLE = re.compile(r"checkpoint[-_]?\d+|(epoch|step)[-_=]?\d+", re.IGNORECASE)

#: In this order what was not restored is listed.
KINDS = ("weights", "optimizer", "scheduler", "scaler", "average", "generator", "order", "variable")

#: Digests of a part of the state, by the kind and the name of what it is of.
State = Mapping[tuple[str, str], Mapping[str, int]]


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was another when the training went on than it would have been without the interruption."""

    #: One of `KINDS`.
    kind: str
    #: Variable of the program that holds it, or its class.
    name: str
    #: Which of it, such as ``momentum_buffer``; empty where it is one.
    parts: list[str]
    #: It was as it is at the beginning of a training.
    fresh: bool


class Resumed(msgspec.Struct, frozen=True, kw_only=True):
    """What came of resuming a training."""

    schema: int = SCHEMA
    command: list[str]
    #: The command that resumed it.
    resumed: list[str]
    #: Iterations of the main loop that were done when it was ended, and the one it went on with; null: unknown.
    at: int
    went_on: int | None = None
    #: The newest file that may be a checkpoint; empty where there is none.
    checkpoint: str = ""
    failure: Failure | None = None
    #: The resumed command began at the first iteration again.
    anew: bool = False
    #: Values that were compared, of so many metrics, and whether the final weights were, too.
    values: int = 0
    metrics: int = 0
    weights: bool = False
    parting: Parting | None = None
    weights_differ: bool = False
    lost: list[Lost] = []
    #: What a round of the main loop is called.
    word: str = "iteration"

    @property
    def equal(self) -> bool:
        """Whether the resumed training equals the one that was not interrupted."""
        compared = bool(self.values) or self.weights
        return self.failure is None and compared and not (self.anew or self.parting or self.weights_differ)

    @property
    def status(self) -> int:
        """The exit status."""
        return 0 if self.equal else 1


def resume(
    request: Request, at: int, resume_with: str | None = None, announce: Announce = lambda text: None
) -> Resumed:
    """Interrupt a training after `at` iterations, resume it, and compare it with one that was not interrupted.

    `resume_with`: the command that resumes it, where that is another; ``{checkpoint}`` in it is the newest checkpoint.

    Raises BadInput as ``deviate run`` does, before anything is written.
    """
    if at < 1:
        raise BadOption(f"--resume-at must be at least 1, found {at}", hint="type --resume-at 2")
    words = None if resume_with is None else _words(resume_with)
    prepared = prepare_request(request, scripted=False)
    command = mask_words(prepared.target.command)
    facts = Resumed(command=command, resumed=mask_words(words) if words else command, at=at)
    with open_trainings(prepared, ["certify", "--resume-at", str(at)], [CONTROL]) as trials:
        facts = msgspec.structs.replace(facts, word=trials.source.experiment.word)
        return _Resuming(trials, request, announce).compare(facts, words)


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise BadOption(f"--resume-with {text!r}: {problem}", hint="quote it as for a shell") from problem
    if not words:
        raise BadOption("--resume-with is empty", hint="--resume-with 'python train.py --resume {checkpoint}'")
    return words


def _copy(training: Trained) -> Path:
    assert training.outcome.copy is not None  # it was a trial
    return training.outcome.copy


def _series(training: Trained) -> dict[str, Series]:
    return {**training.outcome.printed, **training.outcome.series}


def _states(training: Trained) -> dict[int, State]:
    """Return the state as iterations began."""
    return {
        int(event["iteration"]): _named(event["parts"])
        for process in training.files.processes
        for event in process.events
        if event["event"] == "state" and process.rank in (None, 0)
    }


def _named(parts: Sequence[Any]) -> State:
    named: dict[tuple[str, str], Mapping[str, int]] = {}
    for kind, name, digests in parts:
        number = 1
        while (kind, label := name if number == 1 else f"{name} {number}") in named:
            number += 1
        named[kind, label] = digests
    return named


class _Resuming:
    """The trials of one resumption."""

    def __init__(self, trials: Trials, request: Request, announce: Announce) -> None:
        self.trials = trials
        self.request = request
        self.announce = announce

    def compare(self, facts: Resumed, words: list[str] | None) -> Resumed:
        """Interrupt, resume, train through, and compare."""
        self.announce(f"a training that is ended after {facts.at} {facts.word}s")
        cut = self._train(self.trials.prepare(Run(variant=CONTROL, index=0), _variables([], facts.at)))
        if cut.iterations <= facts.at:
            return msgspec.structs.replace(facts, failure=cut.failure or _too_short(cut.iterations, facts.word))
        checkpoint = newest_checkpoint(_copy(cut), self.trials.source.folder.snapshot)
        facts = msgspec.structs.replace(facts, checkpoint=checkpoint)
        if words and not checkpoint and any(PLACEHOLDER in word for word in words):
            reason = "it left no file that looks like a checkpoint"
            return msgspec.structs.replace(facts, failure=Failure(run="the interrupted training", reason=reason))
        self.announce("the same training, resumed")
        resumed = self._train(self._resumption(cut, words, checkpoint))
        if resumed.failure is not None or not resumed.iterations:
            return msgspec.structs.replace(facts, failure=resumed.failure or _went_through(cut, facts.word))
        started, again = (_first_item(part.files.folder) for part in (cut, resumed))
        first = facts.at if None in (started, again) else (again or 0) - (started or 0)
        self.announce("a training that is not interrupted")
        looks = sorted({0, first, first + 1})
        whole = self._train(self.trials.prepare(Run(variant=CONTROL, index=1), _variables(looks, None)))
        if whole.failure is not None:
            return msgspec.structs.replace(facts, failure=whole.failure)
        return _compared(facts, whole, resumed, first)

    def _resumption(self, cut: Trained, words: list[str] | None, checkpoint: str) -> Trial:
        """Make the command ready that goes on in the folder of the interrupted training."""
        source = self.trials.source
        if words is not None:
            place = (
                os.path.relpath(_copy(cut) / checkpoint, _copy(cut) / source.experiment.folder) if checkpoint else ""
            )
            command = [word.replace(PLACEHOLDER, place) for word in words]
            prepared = prepare_request(msgspec.structs.replace(self.request, command=command), scripted=False)
            source = _of_command(self.trials, prepared)
        run = cut.files.folder.run
        folder = RunFolder(cut.files.folder.path / "steps" / "resumed-0", run)
        folder.path.mkdir(parents=True)
        variant = parse_variant(CONTROL)
        slot = given_slot(source, variant, self.trials.executor.slot(0))
        seeds = run_seeds(variant, source.experiment.seed, run.index)
        ready = make_ready(source, variant, folder, _copy(cut), slot, seeds=seeds)
        environment = {**ready.launch.environment, **_variables([0, 1], None)}
        ready = replace(ready, launch=msgspec.structs.replace(ready.launch, environment=environment))
        return Trial(source, ready, written_states(_copy(cut)), self.trials.executor)

    def _train(self, trial: Trial) -> Trained:
        # The files of the interrupted training are those of the resumed one.
        return train(self.trials, trial, "the training", in_files=False)


def _variables(looks: list[int], end: int | None) -> dict[str, str]:
    return {VARIABLE: json.dumps({"look": looks, "end": end})}


def _too_short(iterations: int, word: str) -> Failure:
    reason = f"its main loop went through {iterations} {word}s" if iterations else "no main loop was seen"
    return Failure(run="the training", reason=reason)


def _went_through(cut: Trained, word: str) -> Failure:
    """Say that a resumed training had nothing to do."""
    ended = " as the interrupted one went through in spite of SIGTERM" if cut.failure is None else ""
    return Failure(run="the resumed training", reason=f"no {word} of its main loop was seen{ended}")


def _of_command(trials: Trials, prepared: Prepared) -> Any:
    """Return what the trials' project is run from by another command."""
    source = trials.source
    made = prepared.experiment("trial", {CONTROL: 1}, datetime.now().astimezone(), seed=source.experiment.seed)
    experiment = msgspec.structs.replace(
        made, command=prepared.target.command, predictions="none", weights="digest", stdin=source.experiment.stdin
    )
    overlay = file_codes(instrument_experiment(source.folder.snapshot, experiment))
    return replace(source, experiment=experiment, overlay=overlay, program=prepared.program)


def _first_item(folder: RunFolder) -> int | None:
    items = (
        event.get("item")
        for process in run_processes(folder)
        for event in process.events
        if event["event"] == "loop" and event.get("number") == 1
    )
    item = next(items, None)
    return item if isinstance(item, int) else None


def newest_checkpoint(copy: Path, snapshot: Path) -> str:
    """Return the checkpoint that was written last into a copy of the project, relative to it; empty: there is none."""
    left = [name for name in left_files(copy, snapshot) if not (copy / name).is_symlink()]
    states = [name for name in left if Path(name.lower()).suffix in STATES]  # where no name says that it is one
    likely = [name for name in left if is_checkpoint_like(name)] or states
    found = [((copy / name).stat().st_mtime_ns, name) for name in likely]
    newest = Path(max(found, default=(0, ""))[1])
    whole = next((folder for folder in newest.parents if _WHOLE.fullmatch(folder.name)), None)
    return str(whole or newest) if found else ""


def _compared(facts: Resumed, whole: Trained, resumed: Trained, first: int) -> Resumed:
    anew = first == 0 and resumed.iterations == whole.iterations
    ours = {name: _from(each, 0, first) for name, each in _series(resumed).items()}
    theirs = {name: _from(each, first, 0) for name, each in _series(whole).items() if name in ours}
    theirs = {name: each for name, each in theirs.items() if len(each.values) or len(ours[name].values)}
    ours = {name: ours[name] for name in theirs}
    difference = first_difference("resumed", ours, "whole", theirs, ended=True, word=facts.word)
    prints = [part.outcome.prints.get(WEIGHTS) for part in (resumed, whole)]
    parted = difference is not None or agree(*prints) is False
    return msgspec.structs.replace(
        facts,
        went_on=first,
        anew=anew,
        values=sum(len(each.values) for each in theirs.values()),
        metrics=len(theirs),
        weights=None not in prints,
        parting=parting_of(difference) if difference else None,
        weights_differ=agree(*prints) is False,
        lost=lost_parts(_states(whole), _states(resumed), first) if parted and not anew else [],
    )


def _from(series: Series, least: int, shift: int) -> Series:
    """Return the values of a series from an iteration on, with another count of the iterations."""
    kept = series.iterations >= least
    iterations = series.iterations[kept] + np.int32(shift)
    return replace(series, iterations=iterations, values=series.values[kept], positions=series.positions[kept])


# What was not restored.


def lost_parts(whole: Mapping[int, State], resumed: Mapping[int, State], first: int) -> list[Lost]:
    """Return what had moved in the training that was not interrupted and is another in the resumed one.

    What is equal again after one more iteration, as a rate that is set anew in each, is left out; so are variables that
    the resumed program has not set yet.
    """
    begun, then, now = whole.get(0, {}), whole.get(first), resumed.get(0)
    if then is None or now is None:
        return []
    healed = _healed(whole.get(first + 1, {}), resumed.get(1, {}))
    found = []
    for key, digests in then.items():
        kind, name = key
        if kind == "variable" and key not in now:
            continue
        before, after = begun.get(key, {}), now.get(key, {})
        parts = [
            part
            for part, digest in digests.items()
            if before.get(part) != digest and after.get(part) != digest and not healed(key, part)
        ]
        if parts:
            fresh = all(after.get(part) == before.get(part) for part in parts)
            found.append(Lost(kind=kind, name=name, parts=[part for part in parts if part], fresh=fresh))
    return sorted(found, key=lambda each: KINDS.index(each.kind))


def _healed(whole: State, resumed: State) -> Callable[[tuple[str, str], str], bool]:
    def healed(key: tuple[str, str], part: str) -> bool:
        ours, theirs = resumed.get(key, {}).get(part), whole.get(key, {}).get(part)
        return ours is not None and ours == theirs

    return healed
