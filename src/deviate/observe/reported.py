"""What runs printed, wrote and logged, and how each number was judged: measured, observed, or no metric."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from deviate.core.experiment import Direction, Kind, ObservedWish
from deviate.lexicon.words import UNNAMED
from deviate.observe.database import Table
from deviate.observe.derived import read_derived, stamp_of
from deviate.observe.iterations import NO_MARKS, STREAMS, by_passes, noted_lines, read_timeline
from deviate.observe.metrics import UNFORESEEN, MeasuredMetric
from deviate.observe.output.files import named_files, read_file, stable_names
from deviate.observe.output.joining import join, shows_several
from deviate.observe.output.judge import IN_LABEL, OF_LOAD, Judged, judge, meaning_of_slot
from deviate.observe.output.slots import Slot, SlotSeries, exact_precision, mine_log
from deviate.observe.processes import Process, run_processes
from deviate.observe.trackers import Tracker, goes_with_metrics, tracker_of
from deviate.observe.trackers.mlflow import metrics_folder, read_database, read_metric
from deviate.observe.trackers.tensorboard import DamagedFileError, Scalar, read_events
from deviate.observe.trackers.wandb import read_logged
from deviate.store.folders import LOG_SUFFIXES, RunFolder
from deviate.store.integrity import read_sealed, text_damage

# The scalars that a run logged with trackers, as series of slots: with the author's names and exact values.

#: Of MLflow and wandb, which store text, a step may have any number of digits.
LARGEST_STEP = 1 << 62


class LoggedSeries(NamedTuple):
    """The values of a slot, with the author's step and the Unix seconds of each; NaN where the tracker stored none."""

    series: SlotSeries
    steps: np.ndarray
    moments: np.ndarray


class _Log(NamedTuple):
    """What one writer of a tracker wrote: its place, which tells it from others of the run, and its scalars."""

    place: PurePath
    scalars: list[Scalar]

    @property
    def begun(self) -> float:
        return min((each.wall_time for each in self.scalars if math.isfinite(each.wall_time)), default=math.inf)


def logged_series(files: Mapping[Path, Tracker]) -> list[LoggedSeries]:
    """Return what is in the files of trackers, tracker by tracker; a damaged file has none.

    TensorBoard writes a series into a folder, which is part of its name as far as folders of the run differ: ``train``
    and ``validation`` of Keras. Runs of MLflow and wandb, of which one training mostly makes one, are numbered.
    """
    series = []
    for source, (trackers, read) in _READERS.items():
        own = [path for path, tracker in files.items() if tracker in trackers]
        logs = sorted((log for log in read(own) if log.scalars), key=lambda log: (log.begun, log.place))
        series += _series(source, logs)
    return series


def _series(source: str, logs: Sequence[_Log]) -> list[LoggedSeries]:
    points: dict[str, list[Scalar]] = {}
    for log, place in zip(logs, _names([log.place for log in logs]), strict=True):
        for scalar in log.scalars:
            points.setdefault(_name(place, scalar.tag), []).append(scalar)
    return [_one(source, name, scalars) for name, scalars in points.items()]


def _names(places: Sequence[PurePath]) -> list[str]:
    """Return places as far as they differ, under names that other runs have as well."""
    common = os.path.commonpath(places) if places else ""
    return stable_names(os.path.relpath(place, common or ".") for place in places)


def _name(place: str, tag: str) -> str:
    """Return the name of a series; `place` is ``.`` where there is one log, and ``. #2`` of a second one."""
    folder, number = place.partition(" #")[::2]
    # `add_scalars` of PyTorch makes a folder for each of its series, called by their common tag and their own name.
    if PurePath(folder).name.startswith(f"{tag.replace('/', '_')}_"):
        own = folder
    else:
        own = tag if folder == "." else f"{folder}/{tag}"
    return f"{own} #{number}" if number else own


def _one(source: str, name: str, scalars: Sequence[Scalar]) -> LoggedSeries:
    values = np.array([each.value for each in scalars], dtype=np.float64)
    words = name.partition(" #")[0]
    slot = Slot(source=source, template=name, position=0, name=name, words=words, exact=True)
    return LoggedSeries(
        SlotSeries(slot, values, np.arange(len(values)), exact_precision(values)),
        np.array([float(min(max(each.step, -LARGEST_STEP), LARGEST_STEP)) for each in scalars]),
        np.array([each.wall_time for each in scalars], dtype=np.float64),
    )


def _tensorboard(paths: Iterable[Path]) -> Iterator[_Log]:
    """Yield the logs of event files: one a folder, whose files go on after one another."""
    folders: dict[Path, list[Scalar]] = {}
    for path in sorted(paths):
        folders.setdefault(path.parent, []).extend(_undamaged(read_events, path))
    return (_Log(folder, scalars) for folder, scalars in folders.items())


def _wandb(paths: Iterable[Path]) -> Iterator[_Log]:
    return (_Log(PurePath(), _undamaged(read_logged, path)) for path in paths)


def _mlflow(paths: Iterable[Path]) -> Iterator[_Log]:
    """Yield the logs of MLflow: of the folder of each run, and of each run in a database."""
    runs: dict[Path, list[Scalar]] = {}
    for path in sorted(paths):
        folder = metrics_folder(path)
        if folder is None:
            yield from (_Log(PurePath(), run) for run in _stored(path))
        else:
            runs.setdefault(folder, []).extend(read_metric(path, path.relative_to(folder).as_posix()))
    yield from (_Log(PurePath(), scalars) for scalars in runs.values())


def _stored(path: Path) -> list[list[Scalar]]:
    try:
        return [run.scalars for run in read_database(path)]
    except DamagedFileError:
        return []


def _undamaged(read: Callable[[Path], Iterator[Scalar]], path: Path) -> list[Scalar]:
    try:
        return list(read(path))
    except DamagedFileError:
        return []


#: By what the slots are said to be of: whose files these are, and what reads them.
_READERS: dict[str, tuple[tuple[Tracker, ...], Callable[[Iterable[Path]], Iterator[_Log]]]] = {
    "TensorBoard": (("TensorBoard",), _tensorboard),
    "MLflow": (("MLflow", "MLflow database"), _mlflow),
    "wandb": (("wandb",), _wandb),
}


# The numbers that a run printed, wrote into files or logged with trackers, with the iteration each is of; kept.

#: Raised when mining finds other numbers in the same text, or the columns change: files of another version are remade.
VERSION = "9"

#: Keys of the table's notes: the slots, the number of lines that were left out, and the files.
SLOTS, LEFT_OUT, DAMAGED = b"deviate slots", b"deviate lines left out", b"deviate files damaged"


class RunSeries(NamedTuple):
    """The values of a slot in one run with their iterations, in seconds since the run's start.

    The seconds are those at which an iteration began, or a tracker was called.
    """

    series: SlotSeries
    iterations: np.ndarray
    seconds: np.ndarray


class MinedRun(NamedTuple):
    """What a run reported, slot by slot, and how many lines with numbers were left out."""

    series: list[RunSeries]
    left_out: int
    #: How files differ from what they were when the run ended; they are not searched.
    damaged: list[str]


def mined_run(folder: RunFolder) -> MinedRun:
    """Return what a run that has ended reported."""
    files = [*folder.text_files(), *folder.record_files(), *folder.event_files()]
    return _read(read_derived(folder.reported_file, stamp_of(files, VERSION), lambda: _as_table(_mined(folder))))


def _mined(folder: RunFolder) -> MinedRun:
    members = run_processes(folder)
    timeline = read_timeline(members)
    outcome = folder.read_outcome()
    damaged = text_damage(folder, outcome)
    printed = [path for path in (folder.stdout_file, folder.stderr_file) if path.is_file() and path not in damaged]
    trackers, texts = _written(folder, damaged)
    mined = [(mine_log(read_sealed(folder, path, outcome), path.stem), timeline.marks[path.stem]) for path in printed]
    # Damaged files are named, too: else one of the others might be called as they are in other runs.
    names = named_files({path: str(path.relative_to(folder.written)) for path in texts})
    mined += [(read_file(path, name), NO_MARKS) for path, name in names.items() if path not in damaged]
    series = [RunSeries(each, *marks.at(each.offsets)) for found, marks in mined for each in found.series]
    if all(marks is NO_MARKS for marks in timeline.marks.values()):
        series = _in_passes(series, members, folder)
    logged = [RunSeries(each.series, *timeline.clock.at(each.moments, each.steps)) for each in logged_series(trackers)]
    return MinedRun([*series, *logged], sum(found.left_out for found, _ in mined), list(damaged.values()))


def _written(folder: RunFolder, damaged: dict[Path, str]) -> tuple[dict[Path, Tracker], list[Path]]:
    """Return the files of trackers among those that a run wrote, and the text files, `damaged` ones too.

    The names of what a tracker logged depend on all of its files: where one was damaged none is read, and `damaged`
    says so.
    """
    files = [path for path in (*folder.text_files(), *damaged) if path.is_relative_to(folder.written)]
    files = [path for path in sorted(set(files)) if not (goes_with_metrics(path) and path.is_file())]
    trackers = {path: tracker for path in files if path not in damaged and (tracker := tracker_of(path)) is not None}
    texts = [path for path in files if path.suffix.lower() in LOG_SUFFIXES and path not in trackers]
    harmed = [path for path in files if path in damaged and path not in texts]
    damaged |= {path: f"{damaged[path]}, so no file of a tracker is read" for path in harmed}
    return {} if harmed else trackers, texts


def _in_passes(series: list[RunSeries], members: list[Process], folder: RunFolder) -> list[RunSeries]:
    """Return the series with the passes of the loop that was seen to go round, as the source shows none."""
    outcome, paths = (
        folder.read_outcome(),
        [path for path in (folder.stdout_file, folder.stderr_file) if path.is_file()],
    )
    logs = {path.stem: read_sealed(folder, path, outcome) for path in paths}
    places = by_passes([each.series for each in series], noted_lines(members, folder.source, logs))
    return [RunSeries(each.series, *places[index]) if index in places else each for index, each in enumerate(series)]


def _as_table(run: MinedRun) -> Table:
    mined = run.series
    counts = [len(each.series.values) for each in mined]
    columns = {
        "slot": np.repeat(np.arange(len(mined), dtype=np.int32), counts),
        "value": _joined([each.series.values for each in mined], np.float64),
        "offset": _joined([each.series.offsets for each in mined], np.int64),
        "precision": _joined([each.series.precision for each in mined], np.int16),
        "iteration": _joined([each.iterations for each in mined], np.int64),
        "seconds": _joined([each.seconds for each in mined], np.float64),
    }
    slots, damaged = _encoded([each.series.slot for each in mined]), msgspec.json.encode(run.damaged)
    return Table(columns, notes={SLOTS: slots, LEFT_OUT: b"%d" % run.left_out, DAMAGED: damaged})


def _encoded(slots: list[Slot]) -> bytes:
    """Write slots with each template once: a line has hundreds of numbers, and its text is that of each."""
    templates = {template: str(number) for number, template in enumerate(dict.fromkeys(s.template for s in slots))}
    short = [msgspec.structs.replace(slot, template=templates[slot.template]) for slot in slots]
    # Keys and names of files may hold halves of pairs of surrogates, which UTF-8 cannot write.
    text = json.dumps(msgspec.to_builtins((list(templates), short)), ensure_ascii=False)
    return text.encode("utf-8", "replace")


def _decoded(data: bytes) -> list[Slot]:
    templates, slots = msgspec.json.decode(data, type=tuple[list[str], list[Slot]])
    return [msgspec.structs.replace(slot, template=templates[int(slot.template)]) for slot in slots]


def _joined(parts: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype, copy=False)


def _read(table: Table) -> MinedRun:
    slots, columns = _decoded(table.notes[SLOTS]), table.columns
    ends = np.searchsorted(columns["slot"], np.arange(len(slots) + 1))
    parts = [{name: column[start:end] for name, column in columns.items()} for start, end in pairwise(ends)]
    series = [
        RunSeries(
            SlotSeries(slot, part["value"], part["offset"], part["precision"]), part["iteration"], part["seconds"]
        )
        for slot, part in zip(slots, parts, strict=True)
    ]
    return MinedRun(series, int(table.notes[LEFT_OUT]), msgspec.json.decode(table.notes[DAMAGED], type=list[str]))


#: Observed metrics of a variant; of more, those that differ between runs come first.
MOST_OBSERVED = 200

#: Stands for what a user says who says nothing.
_SILENT = ObservedWish(name="", aggregate=UNFORESEEN)

#: Values of a metric in one run, in the order in which they were recorded.
Values = NDArray[np.float64]

#: What a slot has in common with that of another run.
Key = tuple[str, str, int]

#: Why a number is no metric though it varies.
UNNAMED_NUMBER = "nothing names it"

#: Why a number is no metric that the user refused.
REFUSED = "refused in deviate.toml"

#: Digits of numbers that are printed as they are; what a tracker stored has more than any text.
ALL_DIGITS, EXACT = 17, 18


class ReportedNumber(msgspec.Struct, frozen=True, kw_only=True):
    """A number that a program reported: in text at one place of a template, or to a tracker under one name."""

    #: ``stdout``, ``stderr``, a file or a tracker.
    source: str
    template: str
    #: Which number of the template, from 0.
    position: int
    name: str
    #: As printed behind the number; empty where there is none.
    unit: str = ""
    #: Digits behind the point; None where they differ, and of what a tracker stored.
    decimals: int | None = None
    #: Whether runs reported other values.
    varies: bool
    #: The metric whose values these are, or most of them where they are of several; empty where it is none.
    metric: str = ""
    #: Whether that metric was seen in what was reported alone, not in the source.
    observed: bool = False
    #: Why it is no metric; empty where it is one.
    reason: str = ""
    #: Whether a tracker stored it, with the name the author gave and as exactly as it was computed.
    logged: bool = False
    #: Of an observed metric, by the name and the unit of the number or by what the user says.
    kind: Kind | None = None
    direction: Direction | None = None
    aggregate: str = ""

    @property
    def key(self) -> Key:
        """What it has in common with the same number of another run."""
        return self.source, self.template, self.position


def reported_numbers(
    mined: Mapping[str, Sequence[RunSeries]],
    recorded: Mapping[str, Mapping[str, Values]],
    wishes: Sequence[ObservedWish] = (),
    loads: Collection[Key] = (),
    judged: Sequence[Judged] | None = None,
) -> list[ReportedNumber]:
    """Return what became of each number, in the order in which the first run reported them.

    Parameters
    ----------
    mined : mapping of str to sequence of RunSeries
        By run, what it reported.
    recorded : mapping of str to mapping
        By run and name, the values of the metrics that the source shows.
    wishes : sequence of ObservedWish
        What the user says of numbers by their names.
    loads : collection of tuple
        Keys of the numbers that depend on the clock, the process or the load.
    judged : sequence of Judged, optional
        What the numbers are, where that is known already.
    """
    by_run = {run: [each.series for each in series] for run, series in mined.items()}
    judged = [_without_load(each, loads) for each in (judge(by_run) if judged is None else judged)]
    sourced = _measured(by_run, recorded)
    if any(recorded.values()):
        judged = [each if each.slot.key in sourced else _with_name(each) for each in judged]
    judged = [_outside_labels(each, by_run, sourced) for each in judged]
    said = {wish.name: wish for wish in wishes}
    wanted = {name for name, wish in said.items() if wish.metric}
    candidates = [
        each for each in judged if (each.kind == "metric" or each.slot.name in wanted) and each.slot.key not in sourced
    ]
    taken = {name for each in recorded.values() for name in each}
    names = _observed(candidates, by_run, taken)
    called = {
        name: _free(said[name].rename, taken)
        for name in dict.fromkeys(names.values())
        if said.get(name, _SILENT).rename
    }
    return [
        _number(each, sourced.get(each.slot.key, ""), names.get(each.slot.key, ""), said, called) for each in judged
    ]


def judged_together(mined: Mapping[str, Mapping[str, Sequence[RunSeries]]]) -> dict[str, list[Judged]]:
    """Say by variant what its numbers are: what is a metric since the runs of one differ in it is one in all."""
    judged = {
        variant: judge({run: [each.series for each in series] for run, series in runs.items()})
        for variant, runs in mined.items()
    }
    differing = {
        each.slot.key for several in judged.values() for each in several if each.kind == "metric" and each.varies
    }
    return {variant: [_with_metrics(each, differing) for each in several] for variant, several in judged.items()}


def _with_metrics(judged: Judged, metrics: Collection[Key]) -> Judged:
    if judged.kind == "metric" or judged.slot.key not in metrics:
        return judged
    reason, meaning = "runs of another variant differ in it", meaning_of_slot(judged.slot)
    return msgspec.structs.replace(judged, kind="metric", reason=reason, meaning=meaning)


def _without_load(judged: Judged, loads: Collection[Key]) -> Judged:
    if judged.kind != "metric" or judged.slot.key not in loads:
        return judged
    return msgspec.structs.replace(judged, kind="load", reason=OF_LOAD, meaning=None)


def _with_name(judged: Judged) -> Judged:
    """Return a number that nothing names as none of the metrics: where the source shows metrics, it shows theirs."""
    if judged.kind != "metric" or judged.slot.words:
        return judged
    return msgspec.structs.replace(judged, kind="unnamed", reason=UNNAMED_NUMBER, meaning=None)


def _outside_labels(judged: Judged, by_run: Mapping[str, Sequence[SlotSeries]], sourced: Mapping[Key, str]) -> Judged:
    """Return a number that stands in the name of a metric behind it as none: ``Precision at 0.75 IoU 0.43``."""
    if judged.kind != "metric" or judged.varies or judged.varies_within:
        return judged
    *line, position = key = judged.slot.key
    behind = [metric for own, metric in sourced.items() if [*own[:2]] == line and own[2] > position]
    within = {float(number) for metric in behind for number in re.findall(r"\d+(?:\.\d+)?", metric)}
    values = (each.values[0] for series in by_run.values() for each in series if each.slot.key == key)
    if not within or abs(next(values)) not in within:
        return judged
    return msgspec.structs.replace(judged, kind="constant", reason=IN_LABEL, meaning=None)


def observed_metric(number: ReportedNumber) -> MeasuredMetric:
    """Return what is known of the observed metric that a number shows."""
    return MeasuredMetric(
        name=number.metric,
        aggregate=number.aggregate,
        direction=number.direction,
        kind=number.kind or UNNAMED.kind,
        unit=number.unit,
        decimals=number.decimals,
        observed=True,
    )


def _number(
    judged: Judged, sourced: str, observed: str, said: Mapping[str, ObservedWish], called: Mapping[str, str]
) -> ReportedNumber:
    """Return what became of a number that shows the metric `sourced` of the source, or the one named `observed`."""
    slot = judged.slot
    wish = None if sourced else said.get(observed) or said.get(slot.name)
    refused = wish is not None and not wish.metric
    if observed and not refused:
        return _observed_number(judged, called.get(observed, observed), wish or _SILENT)
    left_out = f"more than {MOST_OBSERVED} numbers are metrics by what is reported" if judged.kind == "metric" else ""
    reason = REFUSED if refused else left_out or judged.reason
    return _as_reported(judged, metric=sourced, reason="" if sourced else reason)


def _observed_number(judged: Judged, name: str, wish: ObservedWish) -> ReportedNumber:
    meaning = judged.meaning or UNNAMED
    return _as_reported(
        judged,
        metric=name,
        observed=True,
        kind=wish.kind or meaning.kind,
        direction=wish.direction or meaning.direction,
        aggregate=wish.aggregate,
    )


def _as_reported(judged: Judged, **became: Any) -> ReportedNumber:
    slot = judged.slot
    return ReportedNumber(
        source=slot.source,
        template=slot.template,
        position=slot.position,
        name=slot.name,
        unit=slot.unit,
        decimals=slot.decimals,
        varies=judged.varies,
        logged=slot.exact,
        **became,
    )


def _measured(
    by_run: Mapping[str, Sequence[SlotSeries]], recorded: Mapping[str, Mapping[str, Values]]
) -> dict[Key, str]:
    """Return the metric whose recorded values a slot shows in every run that has the slot."""
    agreed: dict[Key, str] = {}
    for run, series in by_run.items():
        explained = {slot.key: metric for slot, metric in join(series, recorded.get(run, {})).items()}
        for each in series:
            key, metric = each.slot.key, explained.get(each.slot.key, "")
            agreed[key] = metric if agreed.get(key, metric) == metric else ""
    mixed = _mixed({key for key, metric in agreed.items() if not metric}, by_run, recorded)
    return {key: metric for key, metric in agreed.items() if metric} | mixed


def _mixed(
    keys: set[Key], by_run: Mapping[str, Sequence[SlotSeries]], recorded: Mapping[str, Mapping[str, Values]]
) -> dict[Key, str]:
    """Return, of slots that show several metrics in every run, the metric that most values are of.

    Two loops, one after the other, may print their losses in one form.
    """
    slots: dict[Key, dict[str, SlotSeries]] = {}
    for run, series in by_run.items():
        for each in series:
            if each.slot.key in keys:
                slots.setdefault(each.slot.key, {})[run] = each
    found = {key: _most_shown(own, recorded) for key, own in slots.items()}
    return {key: metric for key, metric in found.items() if metric}


def _most_shown(own: Mapping[str, SlotSeries], recorded: Mapping[str, Mapping[str, Values]]) -> str:
    """Return the metric that most values of a slot are of in the first run; empty where many are of none in any run.

    Whole numbers that are equal in all runs may be of none: they count.
    """
    shortest = min(len(each.values) for each in own.values())
    shared = np.stack([each.values[:shortest] for each in own.values()])
    differ = np.any(shared != shared[0], axis=0)
    metrics = []
    for run, each in own.items():
        checked = np.floor(each.values) != each.values
        checked[:shortest] |= differ
        checked[shortest:] = True
        metrics.append(shows_several(each, checked, recorded.get(run, {})))
    return metrics[0] if all(metrics) else ""


def _observed(
    candidates: Sequence[Judged], by_run: Mapping[str, Sequence[SlotSeries]], taken: set[str]
) -> dict[Key, str]:
    """Return the names of observed metrics; what is reported twice is one, that with most digits.

    Of metrics with one name, that with most digits has it, whether or not it differs between the runs that are left.
    """
    crowded = len(candidates) > MOST_OBSERVED
    ordered = sorted(candidates, key=lambda each: (crowded and not each.varies, -digits(each.slot)))
    names: dict[Key, str] = {}
    values: dict[str, dict[str, Values]] = {run: {} for run in by_run}
    series = {run: {each.slot.key: each for each in every} for run, every in by_run.items()}
    for judged in ordered:
        key = judged.slot.key
        own = {run: each[key] for run, each in series.items() if key in each}
        same = {next(iter(join([each], values[run]).values()), "") for run, each in own.items()}
        if len(same) == 1 and "" not in same:
            names[key] = same.pop()
        elif len(set(names.values())) < MOST_OBSERVED:
            name = _free(judged.slot.name, taken, _how(judged.slot))
            names[key] = name
            taken.add(name)
            for run, each in own.items():
                values[run][name] = each.values
    return names


def _how(slot: Slot) -> str:
    if slot.exact:
        return "logged"
    return "printed" if slot.source in STREAMS else "written"


def digits(shown: Slot | ReportedNumber) -> int:
    """Return how many digits behind the point a number shows, to compare with those of others."""
    if shown.exact if isinstance(shown, Slot) else shown.logged:
        return EXACT
    return ALL_DIGITS if shown.decimals is None else shown.decimals


def _free(name: str, taken: Collection[str], how: str = "printed") -> str:
    """Return the name, told apart from those of other metrics."""
    numbered = (f"{name} ({how}) {number}" for number in itertools.count(2))
    return next(each for each in itertools.chain([name, f"{name} ({how})"], numbered) if each not in taken)
