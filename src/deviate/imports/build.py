"""Import results that were not run by Deviate, in the very files that a run of Deviate leaves."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec
import numpy as np

from deviate.core.errors import BadOption, NameTaken, NotImportable, some_of
from deviate.core.experiment import IMPORTED, Capture, Experiment, Imported, Metric, Run
from deviate.core.shell_words import typed_word
from deviate.imports.counting import counting_with
from deviate.imports.foreign import ForeignResults, ForeignRun, encodable, seed_of
from deviate.imports.formats import read_results, sources_of
from deviate.imports.repeated import assumed, differing_settings, setting_notes
from deviate.imports.request import ImportRequest
from deviate.imports.roles import LARGEST
from deviate.imports.tables import check_runs, no_metrics_note, why_none
from deviate.lexicon.words import Meaning, aggregate_of, meaning_of
from deviate.observe.metrics import check_aggregate, remember_directions
from deviate.runs.snapshot.manifest import Snapshot
from deviate.store.files import write_json, write_whole
from deviate.store.folders import ExperimentFolder, RunFolder, Workspace
from deviate.store.locks import locked_workspace
from deviate.store.run_files import Completed, Failed
from deviate.store.slots import RECORD

# Make experiments of the runs that were read.

#: Meaning of a metric whose name is not known: a quality without a direction, aggregated by its last value.
UNKNOWN = Meaning("quality", None)


#: More metrics are refused: each is tested, drawn and listed.
MOST_METRICS = 1_000


#: Resumed or divided runs that notes describe; the others are counted.
MOST_SAID = 5


class Proposal(msgspec.Struct, frozen=True):
    """An experiment to store, with its runs in the order of their indices."""

    experiment: Experiment
    runs: list[ForeignRun]


def propose(results: ForeignResults, request: ImportRequest, kind: str, now: datetime) -> list[Proposal]:
    """Return the experiments, one for each group of runs.

    Raises BadOption if an option names a metric that is not there. Raises NotImportable if an iteration is larger than
    a record can hold, two groups get one name, or there are too many metrics.
    """
    recorded = list(dict.fromkeys(reading.metric for run in results.runs for reading in run.readings))
    _check_names(recorded, request)
    named = [name for name in recorded if not why_none(name, recorded)]
    counting = counting_with(results.runs, named)
    results_alone = [name for name in named if name not in counting]
    kept = [name for name in recorded if name in request.metrics] if request.metrics else results_alone
    if recorded and not kept:
        raise NotImportable(
            f"none of the {len(recorded)} values is of a metric: {some_of(recorded, 3)}",
            hint=f"name what came out: --metric {typed_word(recorded[0])}",
        )
    if len(kept) > MOST_METRICS:
        raise NotImportable(
            f"{len(kept):,} metrics were found; at most {MOST_METRICS:,} are imported",
            hint=f"name those that matter: --metric {typed_word(kept[0])}",
        )
    check_runs(len(results.runs))
    left_out = [name for name in recorded if name not in kept and not request.metrics]
    said = no_metrics_note(left_out, recorded, {} if request.metrics else counting)
    results = msgspec.structs.replace(results, notes=[*results.notes, *said])
    groups: dict[str, list[ForeignRun]] = {}
    for run in results.runs:
        groups.setdefault(run.group, []).append(_narrowed(run, kept))
    several = len(groups) > 1
    proposals = [
        _proposal(_name(request, group, several), runs, kept, results.notes, request, kind, now)
        for group, runs in groups.items()
    ]
    names = [proposal.experiment.name for proposal in proposals]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise NotImportable(
            f"two groups of runs would be named {twice!r}", hint="import them one by one with --set where="
        )
    return proposals


def _check_names(recorded: list[str], request: ImportRequest) -> None:
    options = {
        "--metric": request.metrics,
        "--set direction": request.directions,
        "--set aggregate": request.aggregates,
    }
    for option, names in options.items():
        for name in names:
            if name not in recorded:
                raise BadOption(
                    f"{option} names {name!r}, which was not found", hint=f"type one of: {', '.join(recorded)}"
                )


def _narrowed(run: ForeignRun, kept: list[str]) -> ForeignRun:
    readings = [reading for reading in run.readings if reading.metric in kept]
    for reading in readings:
        if not -1 <= reading.iteration <= LARGEST:
            raise NotImportable(
                f"{run.label}: iteration {reading.iteration} of {reading.metric!r} is not in 0 to {LARGEST}",
                hint="type --set rows=iterations to count the rows in their order",
            )
    return msgspec.structs.replace(run, readings=readings)


def _name(request: ImportRequest, group: str, several: bool) -> str:
    first = request.paths[0]
    base = request.name or (
        "" if group else _word(first.resolve().stem if os.path.isfile(first) else first.resolve().name)
    )
    parts = [base, _word(group)] if several or not base else [base]
    return "-".join(part for part in parts if part) or "imported"


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-")


def _proposal(
    name: str, runs: list[ForeignRun], metrics: list[str], notes: list[str], request: ImportRequest, kind: str,
    now: datetime,
) -> Proposal:  # fmt: skip
    present = [
        metric for metric in metrics if any(reading.metric == metric for run in runs for reading in run.readings)
    ]
    said = [note for run in runs for note in run.notes]
    imported = Imported(
        format=kind,
        sources=[encodable(str(path)) for path in request.paths],
        labels=dict(zip(map(str, range(len(runs))), _labels(runs), strict=True)),
        notes=[
            *setting_notes(runs, split=bool(request.table.experiment)),
            *dict.fromkeys(notes),
            *said[:MOST_SAID],
            *([f"So it is in {len(said) - MOST_SAID} more."] if len(said) > MOST_SAID else []),
            *_copies(runs),
            *_seeds(runs),
        ],
        assumed=assumed(runs),
    )
    experiment = Experiment(
        name=name,
        command=[encodable(word) for word in request.command],
        entry="",
        metrics=[_metric(metric, request) for metric in present],
        main_loop=None,
        source=_digest(runs),
        seed=0,
        planned={IMPORTED: len(runs)},
        created=now.isoformat(timespec="seconds"),
        imported=imported,
    )
    return Proposal(experiment, runs)


def _labels(runs: list[ForeignRun]) -> list[str]:
    """Return what the source calls each run; of runs of one name the later ones have a number."""
    seen: Counter[str] = Counter()
    labels = []
    for run in runs:
        seen[run.label] += 1
        labels.append(f"{run.label} ({seen[run.label]})" if seen[run.label] > 1 else run.label)
    return labels


def _metric(name: str, request: ImportRequest) -> Metric:
    meaning = meaning_of(name) or UNKNOWN
    direction = request.directions.get(name, meaning.direction)
    return Metric(
        name=name, variable=name, expression="", file="", line=0, end_line=0, function="", sink="imported",
        kind=meaning.kind, direction=direction,
        aggregate=request.aggregates.get(name, aggregate_of(meaning.kind, name)),
        confidence=1.0, why="imported", capture=Capture(how="framework"),
    )  # fmt: skip


def _digest(runs: list[ForeignRun]) -> str:
    """Digest the values, so that the same results are known again whatever their files are called."""
    digest = hashlib.sha256()
    for run in runs:
        for reading in sorted(run.readings, key=lambda each: (each.metric, each.iteration)):
            digest.update(repr((reading.metric, reading.iteration, reading.value)).encode())
    return digest.hexdigest()


def _copies(runs: list[ForeignRun]) -> Iterator[str]:
    """Say which runs have every value in common: one run that is there twice narrows every interval."""
    same: dict[str, list[str]] = {}
    for run in runs:
        if len(run.readings) > 1:
            same.setdefault(_digest([run]), []).append(run.label)
    for labels in same.values():
        if len(labels) > 1:
            named = some_of(labels, 3)
            yield f"{named} have exactly the same values throughout: copies of one run, or runs that did not vary."


def _seeds(runs: list[ForeignRun]) -> Iterator[str]:
    """Say once which runs carry one seed though all that was set in them is the same."""
    same: dict[tuple[str | None, ...], list[str]] = {}
    names = differing_settings(runs)
    for run, label in zip(runs, _labels(runs), strict=True):
        named = _SEED.search(run.label)
        seed = seed_of(run.settings) or (named[1] if named else None)
        if seed is not None:
            same.setdefault((seed, *(run.settings.get(name) for name in names)), []).append(label)
    several = {key: labels for key, labels in same.items() if len(labels) > 1}
    if several:
        (seed, *_), labels = next(iter(several.items()))
        more = f", and {len(several) - 1} more seeds are those of several" if len(several) > 1 else ""
        yield (
            f"Seed {seed} is that of {len(labels)} runs ({some_of(labels, 3)}){more}: if nothing else was "
            "set otherwise in them, they are copies, or differ by the implementation alone."
        )


#: The seed in what a run is called.
_SEED = re.compile(r"\bseed[ _=-]?(\d+)", re.IGNORECASE)


#: Ends the name of an experiment, with a dot before and the process's id behind it, that another one replaces.
REPLACED = ".replaced.partial"

#: In the place of process id and start stamp.
STEM = "0-0"


def import_results(request: ImportRequest) -> list[ExperimentFolder]:
    """Read results and store them as experiments; nothing is written where something is wrong.

    Raises DeviateError with what is wrong, and what to type.
    """
    for aggregate in request.aggregates.values():
        check_aggregate(aggregate)
    now = datetime.now().astimezone()
    sources = sources_of(request)
    proposals = propose(read_results(request, sources), request, sources.kind, now)
    workspace = Workspace(request.project)
    workspace.check_usable()
    _check_free(proposals, workspace, request.replace)
    workspace.prepare()
    with locked_workspace(workspace, request.command):
        _check_free(proposals, workspace, request.replace)
        remember_directions(workspace, request.directions)
        return [_store(proposal, workspace, now) for proposal in proposals]


def _check_free(proposals: list[Proposal], workspace: Workspace, replace: bool) -> None:
    """Make sure that no experiment is in the way."""
    for proposal in proposals:
        folder = workspace.experiment(proposal.experiment.name)
        if not os.path.isfile(folder.experiment_file):
            continue
        if folder.read_experiment().imported is None:
            raise NameTaken(
                f"experiment {folder.name!r} was run by Deviate, and is never replaced", hint="type another --name"
            )
        if not replace:
            raise NameTaken(
                f"experiment {folder.name!r} was imported before",
                hint="type --set replace=true to put these results in its place, or another --name",
            )


def _store(proposal: Proposal, workspace: Workspace, now: datetime) -> ExperimentFolder:
    """Write the experiment aside, then rename it: what it replaces stays until the new one is whole."""
    experiment = proposal.experiment
    final = workspace.experiment(experiment.name)
    # Names of experiments do not begin with a dot, so none is listed twice.
    folder = ExperimentFolder(final.path.with_name(f".{final.name}.{os.getpid()}.partial"))
    for old in final.path.parent.glob(".*.partial"):
        _clear(old)
    try:
        _write(folder, proposal, workspace, now)
    except OSError:
        shutil.rmtree(folder.path, ignore_errors=True)
        raise
    if os.path.exists(final.path):
        replaced = final.path.with_name(f".{final.name}.{os.getpid()}{REPLACED}")
        final.path.rename(replaced)
        folder.path.rename(final.path)
        shutil.rmtree(replaced, ignore_errors=True)
    else:
        folder.path.rename(final.path)
    return final


def _clear(old: Path) -> None:
    """Remove what a killed import left; what it was about to replace, and did not, is put back."""
    final = old.with_name(old.name.removeprefix(".").removesuffix(REPLACED).rpartition(".")[0])
    if old.name.endswith(REPLACED) and not os.path.exists(final):
        old.rename(final)
    else:
        shutil.rmtree(old, ignore_errors=True)


def _write(folder: ExperimentFolder, proposal: Proposal, workspace: Workspace, now: datetime) -> None:
    experiment = proposal.experiment
    folder.snapshot.mkdir(parents=True)
    write_json(
        folder.snapshot_file, Snapshot(project=str(workspace.project), source=experiment.source, items=[], digests={})
    )
    for index, run in enumerate(proposal.runs):
        _store_run(folder.run(Run(variant=IMPORTED, index=index)), run, experiment, now)
    folder.write_experiment(experiment)


def _store_run(folder: RunFolder, run: ForeignRun, experiment: Experiment, now: datetime) -> None:
    folder.path.mkdir(parents=True)
    ids = {metric.name: index for index, metric in enumerate(experiment.metrics)}
    rows = [(ids[reading.metric], reading.iteration, reading.elapsed_s, reading.value) for reading in run.readings]
    write_whole(folder.path / f"records-{STEM}.bin", np.array(rows, dtype=RECORD).tobytes())
    ended = now.isoformat(timespec="seconds")
    if run.is_finished:
        folder.write_outcome(Completed(seconds=run.seconds, ended=ended))
        return
    source = experiment.imported.format if experiment.imported else "the source"
    reason = run.broken or f"{source} says that it is {run.status}"
    folder.write_outcome(Failed(seconds=run.seconds, ended=ended, reason=reason))
