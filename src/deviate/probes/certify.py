"""Certify that a training repeats: make control runs of it, and say what of them was equal, bit by bit.

A certificate is made again elsewhere by one more control run, on the threads that it names.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
import psutil

from deviate.core.errors import BadOption
from deviate.core.experiment import SCHEMA, Run
from deviate.core.frameworks import VARIABLES
from deviate.core.secrets import mask_words
from deviate.observe.events import surroundings, switches, used_gpu
from deviate.observe.events import threads as threads_used
from deviate.observe.fingerprints import BATCHES, NAMES, WEIGHTS, Fingerprint, agree
from deviate.observe.identity import Difference
from deviate.observe.records import RunFiles
from deviate.observe.surroundings import opened_files
from deviate.probes.certificate import (
    Certificate,
    Likened,
    Parting,
    Switched,
    Unobserved,
    chain_of,
    content_digest,
    liken,
    read_certificate,
    training_changes,
)
from deviate.probes.training import Failure, Trained, open_trainings, train
from deviate.probes.trial import Announce, Trials
from deviate.runs.prepared import Prepared, prepare_request
from deviate.runs.request import Request
from deviate.runs.snapshot.manifest import unnamed_files
from deviate.store.files import content_digest as content_digest_of

CONTROL = "control"

#: Runs where the user does not say, and at least.
DEFAULT_RUNS, LEAST_RUNS = 2, 2

#: Bytes of files outside the copies of the project that are read for their digests, of all files together.
MOST_READ = 4 << 30


class Certified(msgspec.Struct, frozen=True, kw_only=True):
    """What came of certifying a training."""

    schema: int = SCHEMA
    command: list[str]
    #: Null where there is none to give: the runs differ, one failed, or nothing of them could be compared.
    certificate: Certificate | None = None
    failure: Failure | None = None
    #: The first value in which two runs differ; null where only what `prints` names does, or nothing.
    parting: Parting | None = None
    prints: list[str] = []

    @property
    def status(self) -> int:
        """The exit status."""
        return 0 if self.certificate is not None else 1


def certify(request: Request, runs: int = DEFAULT_RUNS, announce: Announce = lambda text: None) -> Certified:
    """Make control runs of a command and certify what they repeat.

    The command runs in copies of the project that are thrown away; no experiment is made.

    Raises BadInput as ``deviate run`` does, before anything is written. Raises KeyboardInterrupt after Ctrl-C, once the
    command was ended and everything removed.
    """
    if runs < LEAST_RUNS:
        raise BadOption(f"-n must be at least {LEAST_RUNS}, found {runs}", hint="one run repeats nothing")
    return _certified(prepare_request(request, scripted=False), runs, announce)


def verify_certificate(
    path: Path, request: Request, runs: int = 1, announce: Announce = lambda text: None
) -> Likened | Certified:
    """Train again as a certificate says and compare; what failed, or did not repeat here, is returned as that.

    Without a command, that of the certificate is run.

    Raises BadInput if the file is no certificate, and as `certify` does.
    """
    known = read_certificate(path)
    if not request.command:
        request = replace_command(request, known.command)
    prepared = prepare_request(_without(request, path), scripted=False)
    for change in training_changes(_unmade(prepared, known), known):
        announce(f"{change.name} is another than in {path.name}")
    threads = None if any(os.environ.get(name) for name in VARIABLES) else known.threads
    made = _certified(prepared, runs, announce, threads=threads)
    if made.certificate is None:
        return made
    return liken(made.certificate, known, ("here", path.name))


def replace_command(request: Request, command: Sequence[str]) -> Request:
    """Return a request for a stored command; a program that is not where it was is looked for by its name.

    Raises BadOption if a secret in it was not stored.
    """
    if any("***" in word for word in command):
        raise BadOption("the certificate's command holds a secret, which is not stored", hint="type it after --")
    program, *words = command
    if os.path.isabs(program) and not os.path.exists(program):
        program = os.path.basename(program)
    return msgspec.structs.replace(request, command=[program, *words])


def _without(request: Request, path: Path) -> Request:
    """Leave the certificate itself out of the source."""
    return msgspec.structs.replace(request, exclude=(*request.exclude, path.name))


def _unmade(prepared: Prepared, known: Certificate) -> Certificate:
    """Return what is known of a training before it is made: its command and its source."""
    command = mask_words(prepared.target.command)
    files = source_files(prepared)
    return msgspec.structs.replace(known, command=command, folder=prepared.target.folder, files=files)


def source_files(prepared: Prepared) -> dict[str, str]:
    """Return the digests of the project's files that the training reads, or that something it reads names."""
    snapshot = prepared.snapshot
    roots = [*(start.entry for start in prepared.target.starts), *prepared.findings.files, *prepared.target.command]
    named = {*snapshot.digests, *(item.path for item in snapshot.linked)}
    beside = {*unnamed_files(Path(snapshot.project), named, frozenset(), roots), *snapshot.written, "deviate.toml"}
    given = {"standard input": content_digest_of(prepared.stdin)} if prepared.stdin is not None else {}
    return {path: digest for path, digest in sorted(snapshot.contents.items()) if path not in beside} | given


def _certified(prepared: Prepared, runs: int, announce: Announce, threads: int | None = None) -> Certified:
    command = mask_words(prepared.target.command)
    made: list[Trained] = []
    began, busy = time.monotonic(), _seconds_of_others()
    with open_trainings(prepared, ["certify"], [CONTROL]) as trials:
        for index in range(runs):
            announce(f"control run {index + 1} of {runs}")
            run = train(trials, trials.prepare(Run(variant=CONTROL, index=index), threads=threads))
            if run.failure is not None:
                return Certified(command=command, failure=run.failure)
            made.append(run)
            if (parted := _parted(command, made[0], run)) is not None:
                return parted
        spent = [each.ended.cpu_seconds for each in made]
        used = (
            None
            if None in spent
            else (_seconds_of_others() - busy - sum(filter(None, spent))) / (time.monotonic() - began)
        )
        certificate = _certificate(prepared, trials, made, used)
    if not certificate.chains and WEIGHTS not in certificate.fingerprints:
        reason = "no value was recorded and no weights were seen, so there is nothing to certify"
        return Certified(command=command, failure=Failure(run=f"{CONTROL}-0", reason=reason))
    return Certified(command=command, certificate=certificate)


def _parted(command: list[str], first: Trained, run: Trained) -> Certified | None:
    """Say where a run leaves the first one; None where values, weights and predictions are equal."""
    difference, differing = first.parts_from(run)
    if difference is None and not differing:
        return None
    parting = None if difference is None else parting_of(difference)
    draws = [name for name in NAMES if name != WEIGHTS and _repeats([first, run], name) is False]
    return Certified(command=command, parting=parting, prints=[*draws, *differing])


def parting_of(difference: Difference) -> Parting:
    """Return the first value in which two runs differ."""
    return Parting(
        metric=difference.metric,
        iteration=difference.iteration,
        here=difference.value,
        there=difference.other_value,
        ended=difference.value is None or difference.other_value is None,
        placed=difference.placed,
        word=difference.word,
    )


def _repeats(made: Sequence[Trained], name: str) -> bool:
    first = made[0].outcome.prints.get(name)
    return all(agree(first, each.outcome.prints.get(name)) is not False for each in made[1:])


def _seconds_of_others() -> float:
    """Return the processor time that all other programs of this machine have used so far."""
    times = psutil.cpu_times()
    idle = sum(getattr(times, name, 0.0) for name in ("idle", "iowait", "guest", "guest_nice"))
    return sum(times) - idle - time.process_time()


def _certificate(prepared: Prepared, trials: Trials, made: Sequence[Trained], others: float | None) -> Certificate:
    first, experiment = made[0], trials.source.experiment
    series = {**first.outcome.printed, **first.outcome.series}
    chains = [chain_of(name, each) for name, each in sorted(series.items())]
    everywhere = [name for name in first.outcome.prints if all(name in each.outcome.prints for each in made)]
    kept = {name: _kept(first, name) for name in everywhere if _repeats(made, name)}
    files, info = source_files(prepared), first.files.info
    data = data_digests(first.files, prepared.target.project)
    return Certificate(
        created=datetime.now().astimezone().isoformat(timespec="seconds"),
        deviate=importlib.metadata.version("deviate-dl"),
        command=mask_words(experiment.command),
        folder=experiment.folder,
        seed=experiment.seed,
        runs=len(made),
        digest=content_digest(chains, kept, first.predictions),
        iterations=first.iterations,
        chains=chains,
        fingerprints=kept,
        predicted=first.predictions,
        source=_joined(files),
        files=files,
        data_files=data,
        environment=environment_of(first.files),
        threads=info.threads if info is not None else None,
        processes=len(first.files.processes),
        switches=list(_switches(first.files)),
        differed=sorted(first.outcome.prints.keys() - kept.keys()),
        unobserved=list(_unobserved(prepared, first)),
        seconds=[round(each.ended.seconds, 2) for each in made],
        word=experiment.word,
        others=None if others is None else round(max(others, 0.0), 2),
    )


def _kept(made: Trained, name: str) -> Fingerprint:
    """Return a fingerprint without the lines that it was drawn by."""
    return msgspec.structs.replace(made.outcome.prints[name], sources=[])


def _joined(digests: Mapping[str, str]) -> str:
    lines = "\n".join(f"{digest} {path}" for path, digest in sorted(digests.items()))
    return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()


def data_digests(run: RunFiles, project: Path) -> dict[str, str]:
    """Return the digests of the files that a run read and that lie outside its copy of the project.

    Files beyond `MOST_READ` bytes have what the run itself noted: size, and a checksum of the two ends.
    """
    left, digests = MOST_READ, {}
    for path, stamp in sorted(opened_files(run).inputs.items()):
        left -= stamp.size
        try:
            with (project / path).open("rb") as file:
                digests[path] = hashlib.file_digest(file, "sha256").hexdigest() if left >= 0 else ""
        except OSError:
            digests[path] = ""
        digests[path] = digests[path] or f"{stamp.size} bytes, {stamp.digest or 'not read'}"
    return digests


def environment_of(run: RunFiles) -> dict[str, object]:
    """Return what decides how numbers come out; variables that only say the number of threads are said once."""
    ranks = {process.rank for process in run.processes if process.rank is not None}
    count = threads_used(run)
    said = {f"variables.{name}" for name in VARIABLES}
    known = {
        name: value
        for name, value in surroundings(run).items()
        if value is not None and not (name in said and value == str(count))
    }
    return {**known, "threads": count, "ranks": max(1, len(ranks))}


def _switches(run: RunFiles) -> Iterator[Switched]:
    for switch in switches([run]):
        yield Switched(name=switch.name, value=switch.value, where="deviate, in the process")
    info = run.info
    for name, value in info.variables.items() if info is not None else ():
        where = "deviate, in the environment" if info and name in info.environment else "environment of the user"
        yield Switched(name=name, value=value, where=where)


def _unobserved(prepared: Prepared, made: Trained) -> Iterator[Unobserved]:
    """Yield what the certificate says nothing of."""
    prints = made.outcome.prints
    if WEIGHTS not in prints:
        yield "weights"
    if not prints.keys() - {WEIGHTS, BATCHES}:
        yield "draws"
    if not made.predictions:
        yield "predictions"
    if BATCHES not in prints:
        yield "batches"
    if not opened_files(made.files).complete:
        yield "files"
    if used_gpu(made.files):
        yield "device"
    if not prepared.controlled:
        yield "control"
