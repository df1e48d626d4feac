"""The local stores of MLflow, TensorBoard and Weights & Biases, a run a folder."""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from deviate.core.errors import NotImportable
from deviate.core.paths import files_below
from deviate.imports.foreign import ForeignResults, ForeignRun, Reading, digest_of, in_order, seed_of, seeded_label
from deviate.imports.rows import flat
from deviate.observe.trackers.mlflow import (
    META,
    METRICS,
    MOST_VALUES,
    PARENT,
    open_database,
    read_database,
    read_metric,
    read_parents,
)
from deviate.observe.trackers.tensorboard import (
    DamagedFileError,
    Scalar,
    TornMessageError,
    fields,
    inner,
    read_events,
    read_hparams,
    signed,
    text,
)
from deviate.observe.trackers.tensorboard import records as events_of
from deviate.observe.trackers.wandb import (
    FILE_HEAD,
    HISTORY,
    history,
    is_own,
    item,
    numbers_in,
    parsed,
    records,
    step_of,
)

#: ``RunStatus`` of MLflow's protocol, as the folder store writes it.
_STATUS = {"1": "running", "2": "scheduled", "3": "finished", "4": "failed", "5": "killed"}

DELETED = "deleted"


def read_mlflow(roots: list[Path]) -> ForeignResults:
    """Read the runs of MLflow stores; each MLflow experiment is a group."""
    metas = [path for root in roots if os.path.isdir(root) for path in files_below(root, META)]
    # A copy of a store has the same moments in it, so that each run counts once.
    by_digest = {digest_of([path, *_metric_files(path.parent)]): path for path in reversed(metas)}
    once = set(by_digest.values())
    folders = [run for path in metas if path in once for run in _from_folder(path)]
    databases = [run for root in roots if os.path.isfile(root) for run in _from_database(root)]
    # What a parent has are values of its children, such as the best of them, unless they have a course.
    tags = [tag for path in metas if os.path.isfile(tag := path.parent / "tags" / PARENT)]
    parents = {path.read_text(encoding="utf-8", errors="replace").strip() for path in tags}
    parents |= {run for root in roots if os.path.isfile(root) for run in read_parents(root)}
    found = [*folders, *databases]
    none = [run for run in found if run.identity in parents and len({each.iteration for each in run.readings}) < 2]
    return ForeignResults(
        runs=in_order(run for run in found if run not in none),
        notes=[f"{run.label} is the parent of other runs, and counted as no training." for run in none],
    )


def _metric_files(folder: Path) -> list[Path]:
    return files_below(folder / METRICS, "*") if os.path.isdir(folder / METRICS) else []


def _from_folder(meta_file: Path) -> Iterator[ForeignRun]:
    folder, meta = meta_file.parent, _flat_yaml(meta_file)
    # A run that logged nothing lacks the folder of metrics in a copy made by Git.
    # A model that MLflow 3 logs has a folder of metrics, too, and a version of one in its registry names its run.
    is_run = {"model_id", "version"}.isdisjoint(meta) and (
        os.path.isdir(folder / METRICS) or not {"run_id", "run_uuid"}.isdisjoint(meta)
    )
    if is_run and meta.get("lifecycle_stage") != DELETED:
        start, settings = _milliseconds(meta.get("start_time")), _params(folder / "params")
        files = _metric_files(folder)
        scalars = [
            scalar for path in files for scalar in read_metric(path, path.relative_to(folder / METRICS).as_posix())
        ]
        yield ForeignRun(
            identity=folder.name,
            label=seeded_label(meta.get("run_name") or folder.name, seed_of(settings)),
            settings=settings,
            readings=_readings(scalars, start),
            group=_flat_yaml(folder.parent / META).get("name", ""),
            seconds=_seconds(start, _milliseconds(meta.get("end_time"))),
            status=_STATUS.get(meta.get("status", ""), meta.get("status", "")).lower(),
        )


def _flat_yaml(path: Path) -> dict[str, str]:
    """Return the plain entries of a ``meta.yaml``: MLflow writes one word a line, none of them nested."""
    if not os.path.isfile(path):
        return {}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    pairs = (line.partition(": ") for line in lines if not line.startswith((" ", "-")))
    return {key: value.strip().strip("'\"") for key, sign, value in pairs if sign}


def _readings(scalars: Iterable[Scalar], start: float | None) -> list[Reading]:
    """Return scalars with the seconds since `start`, in Unix milliseconds; MLflow 3 writes those of a model twice."""
    return [
        Reading(each.tag, each.step, each.value, math.nan if start is None else round(each.wall_time - start / 1000, 3))
        for each in dict.fromkeys(scalars)
    ]


def _params(folder: Path) -> dict[str, str]:
    paths = sorted(files_below(folder, "*")) if os.path.isdir(folder) else []
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace").strip()
        for path in paths
    }


def _milliseconds(text: object) -> float | None:
    try:
        return float(str(text))
    except ValueError:
        return None


def _seconds(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else (end - start) / 1000


def _from_database(path: Path) -> Iterator[ForeignRun]:
    try:
        for run in read_database(path):
            yield ForeignRun(
                identity=run.identity,
                label=seeded_label(run.name, seed_of(run.params)),
                settings=run.params,
                readings=_readings(run.scalars, run.start),
                group=run.experiment,
                seconds=_seconds(run.start, run.end),
                status=run.status,
            )
    except (DamagedFileError, TypeError) as error:
        raise NotImportable(
            f"{path} is no SQLite store of MLflow: {error}",
            hint="export the table of it that holds the results to CSV, and import that; of MLflow name the folder "
            "mlruns, or a file that mlflow.set_tracking_uri('sqlite:///FILE') named",
        ) from error


# TensorBoard event files: scalars of ``tfevents`` files, a run a folder.

#: Part of the name of every event file.
MARK = "tfevents"

#: Names of folders that Keras makes in that of a run.
SPLITS = ("train", "validation", "val", "valid", "test", "eval")


def read_tensorboard(folders: list[Path]) -> ForeignResults:
    """Read the event files below `folders`.

    A folder with event files is a run, as TensorBoard has it, with two exceptions: ``train`` and ``validation`` folders
    (Keras) belong to the run that is the folder above, unless runs of other names are beside them, and so do the
    folders ``add_scalars`` makes. A folder without a scalar is a run that failed, unless other runs are above or below
    it. A folder whose files are copies of another one's counts once.
    """
    runs: dict[str, _RunEvents] = {}
    copies: dict[str, str] = {}
    seen: dict[str, Path] = {}
    for root in folders:
        below = [root] if os.path.isfile(root) else files_below(root, f"*{MARK}*")
        by_folder = {folder: [path for path in below if path.parent == folder] for folder in {p.parent for p in below}}
        for folder, files in sorted(by_folder.items()):
            # Event files hold the time of each value, so that no two of two runs are equal.
            first = seen.setdefault(digest_of(files), folder)
            if first != folder and any(path.stat().st_size for path in files):
                copies[_label(folder, root, folders)] = _label(first, root, folders)
                continue
            scalars, damage = _read_all(files)
            run, prefix = _owner(folder, {scalar.tag for scalar in scalars}, by_folder)
            events = runs.setdefault(_label(run, root, folders), _RunEvents(folder=run))
            events.files.extend(files)
            events.damage = events.damage or damage
            for path in files:
                events.settings.update(read_hparams(path))
            events.scalars.extend((prefix(scalar.tag), scalar) for scalar in scalars)
    around = {label: near for label, events in runs.items() if (near := _run_around(events, runs))}
    stored = [_run(label, events) for label, events in runs.items() if label not in around]
    return ForeignResults(
        runs=in_order(stored),
        notes=[
            "Times are counted from the first event of each run; TensorBoard stores values as 32-bit floats.",
            *(f"{copy} is a copy of {label}, and is counted once." for copy, label in copies.items()),
            *(f"{label} is not a separate run, but belongs to {near}: {_why_silent(runs[label].files)}."
              for label, near in around.items()),
        ],
    )  # fmt: skip


class _RunEvents(msgspec.Struct):
    """The event files of one run, and the scalars in them by name."""

    folder: Path
    files: list[Path] = []
    scalars: list[tuple[str, Scalar]] = []
    #: What is damaged; empty where nothing is.
    damage: str = ""
    #: What the plugin of hyperparameters says was set.
    settings: dict[str, str] = {}


def _read_all(files: list[Path]) -> tuple[list[Scalar], str]:
    """Return the scalars of event files, or what is damaged: then none of them counts."""
    try:
        return [scalar for path in files for scalar in read_events(path)], ""
    except DamagedFileError as error:
        return [], f"the event file is damaged: {error}"


def _run_around(events: _RunEvents, runs: dict[str, _RunEvents]) -> str:
    """Name the run that a folder without scalars is above or below; empty where it has some, or stands alone."""
    if events.scalars or events.damage:
        return ""
    others = ((label, other.folder) for label, other in runs.items() if other.scalars)
    near = (label for label, folder in others if folder in events.folder.parents or events.folder in folder.parents)
    return next(near, "")


def _why_silent(files: list[Path]) -> str:
    if all(path.stat().st_size == 0 for path in files):
        return "the event file is empty"
    if not any(True for path in files for _ in events_of(path.read_bytes())):
        return "the event file is corrupt"
    return "no scalar in the event file"


class _Prefix(msgspec.Struct, frozen=True):
    """How a tag is named in its run."""

    before: str = ""
    instead: str = ""

    def __call__(self, tag: str) -> str:
        return self.instead or f"{self.before}{tag}"


def _owner(folder: Path, tags: set[str], others: Iterable[Path]) -> tuple[Path, _Prefix]:
    """Return the folder that is the run, and the prefix of the tags of `folder` in it; `others` have events, too."""
    above = len(folder.parent.parts)
    beside = {path.parts[above] for path in others if folder.parent in path.parents}
    if folder.name.lower() in SPLITS and all(name.lower() in SPLITS or _is_tag(name, beside) for name in beside):
        return folder.parent, _Prefix(before=f"{folder.name}/")
    only = next(iter(tags)) if len(tags) == 1 else None
    if only is not None and folder.name.startswith(f"{only.replace('/', '_')}_"):
        return folder.parent, _Prefix(instead=folder.name)
    return folder, _Prefix()


def _is_tag(name: str, names: Iterable[str]) -> bool:
    """Tell whether a folder is one of several that ``add_scalars`` made: ``loss_train``, ``loss_val``."""
    stem, sign, last = name.rpartition("_")
    return (
        bool(sign) and last.lower() in SPLITS and any(other != name and other.startswith(f"{stem}_") for other in names)
    )


def _label(run: Path, root: Path, roots: list[Path]) -> str:
    base = root.parent if os.path.isfile(root) else root
    inside = run.relative_to(base).as_posix() if run.is_relative_to(base) else "."
    if len(roots) == 1:
        return inside if inside != "." else run.resolve().name
    return str(PurePosixPath(root.as_posix()) / inside)


def _run(label: str, events: _RunEvents) -> ForeignRun:
    if events.damage or not events.scalars:
        return ForeignRun(label=label, readings=[], broken=events.damage or _why_silent(events.files))
    ordered = sorted(events.scalars, key=lambda pair: pair[1].wall_time)
    start = ordered[0][1].wall_time
    readings = [Reading(name, scalar.step, scalar.value, scalar.wall_time - start) for name, scalar in ordered]
    return ForeignRun(label=label, readings=readings, settings=events.settings)


# Local folders of Weights & Biases: the ``.wandb`` file of each run, or its summary.

#: The link to the newest run, which a download makes a folder.
LATEST = "latest-run"

SUMMARY, CONFIG = "wandb-summary.json", "config.yaml"

#: Beside the summary, in folders of versions before 0.9.
HISTORY_FILE = "wandb-history.jsonl"


def read_wandb(roots: list[Path]) -> ForeignResults:
    """Read the runs below `roots`: a ``wandb`` folder, a run's folder, or a ``.wandb`` file."""
    files = _once({path for root in roots for path in _run_files(root)})
    read = {path: read_run(path) for path in files}
    summaries = _once({path for root in roots if os.path.isdir(root) for path in files_below(root, SUMMARY)})
    known = {path.parent for path, run in read.items() if run.readings}
    loose = [path for path in summaries if _folder(path) not in known]
    # Without values in either, a run failed before its first.
    kept = {_folder(path) for path in loose}
    runs = [
        run if run.readings or run.broken else msgspec.structs.replace(run, broken=f"no value in {path.name}")
        for path, run in read.items()
        if run.readings or path.parent not in kept
    ]
    told = {path: _from_summary(path) for path in loose}
    alone = [path for path in loose if told[path].readings and not os.path.isfile(path.with_name(HISTORY_FILE))]
    notes = ["Of some runs only the summary is there: one value per metric, no learning curve."] if alone else []
    return ForeignResults(runs=in_order([*_resumed(runs), *told.values()]), notes=notes)


def _resumed(runs: Sequence[ForeignRun]) -> list[ForeignRun]:
    """Join what a run wrote before and after it was resumed: its id is the same."""
    by_id: dict[str, list[ForeignRun]] = {}
    for run in runs:
        by_id.setdefault(run.identity if run.readings else f"{run.identity} {len(by_id)}", []).append(run)
    joined = []
    for several in by_id.values():
        # Its clock may begin again.
        readings = [
            msgspec.structs.replace(each, elapsed_s=math.nan) if len(several) > 1 else each
            for run in several
            for each in run.readings
        ]
        said = f"{several[0].label} was resumed, as its id says: the values of {len(several)} folders are of one run."
        notes = [said] if len(several) > 1 else []
        joined.append(msgspec.structs.replace(several[-1], readings=readings, notes=notes))
    return joined


def _once(paths: Iterable[Path]) -> list[Path]:
    """Return files without copies, such as those below ``latest-run``; each holds the time that its run took."""
    alone = (path for path in paths if not _is_named_beside(_folder(path)))
    ordered = sorted(alone, key=lambda path: (_folder(path).name == LATEST, path))
    first = {_identity(path): path for path in reversed(ordered)}
    return sorted(first.values())


def _is_named_beside(folder: Path) -> bool:
    """Tell whether a folder is the latest run's, and one beside it has the name of the same run."""
    names = {path.stem.rpartition("-")[2] for path in folder.glob("run-*.wandb")} if folder.name == LATEST else set()
    return not names.isdisjoint(path.name.rpartition("-")[2] for path in folder.parent.glob("*run-*"))


def _identity(path: Path) -> str:
    """Return what only a copy of a file has in common with it: what it holds, if that has the time of its run."""
    data = path.read_bytes()
    # A file of a run that wrote nothing has a head alone, the same in all of them.
    is_timed = len(data) > FILE_HEAD and (path.name != SUMMARY or b"_runtime" in data or b"_timestamp" in data)
    configs = [file for file in (path.with_name(CONFIG),) if os.path.isfile(file)]
    return digest_of([path, *configs]) if is_timed else str(path)


def _config_of(folder: Path) -> dict[str, str]:
    """Return what was set, as ``config.yaml`` has it: a name, and below it the line ``value: …``."""
    settings: dict[str, str] = {}
    name = ""
    for path in (folder / "files" / CONFIG, folder / CONFIG):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if os.path.isfile(path) else []
        for line in lines:
            key, sign, word = line.partition(":")
            if sign and not key.startswith((" ", "#")):
                name = key.strip("'\"")
            elif key.strip() == "value" and key.startswith(" ") and word.strip() and not is_own(name):
                settings.setdefault(name, word.strip().strip("'\""))
    return {key: word for key, word in settings.items() if key != "wandb_version"}


def _folder(summary: Path) -> Path:
    """Return the run's folder: wandb puts the summary into ``files`` in it, a download beside."""
    return summary.parent.parent if summary.parent.name == "files" else summary.parent


def _run_files(root: Path) -> list[Path]:
    if os.path.isfile(root):
        return [root]
    return [path for path in files_below(root, "*.wandb") if not path.parent.is_symlink()]


def read_run(path: Path) -> ForeignRun:
    """Read a ``.wandb`` file; a torn end is passed over, and of a damaged file nothing counts.

    ``Record``: history = 2, run = 17, exit = 18. ``RunRecord``: run_id = 1, config = 4, run_group = 6,
    display_name = 8. ``RunExitRecord``: exit_code = 1, runtime = 2.
    """
    facts: dict[str, Any] = {}
    readings: list[Reading] = []
    try:
        whole = list(records(path.read_bytes()))
    except DamagedFileError as error:
        return ForeignRun(label=path.stem.removeprefix("run-"), readings=[], broken=f"{path.name} is damaged: {error}")
    for record in whole:
        try:
            for number, value in fields(record):
                if number == HISTORY:
                    readings += _message_readings(inner(value))
                elif number == 17:
                    facts.update(_run_facts(inner(value)))
                elif number == 18:
                    facts.update(_exit_facts(inner(value)))
        except TornMessageError:
            break
    summary = path.parent / "files" / SUMMARY
    if os.path.isfile(summary):
        # What a program sets in the summary alone is not in the file, nor later steps where it was cut or killed.
        later, seconds = _later(summary, readings)
        readings += later
        facts = facts if "exit_code" in facts or seconds is None else {**facts, "runtime": seconds}
    name = facts.get("name") or facts.get("id") or path.stem.removeprefix("run-")
    # What a program sets after its start is in the file beside alone.
    settings = {**_config_of(path.parent), **facts.get("settings", {})}
    return ForeignRun(
        label=seeded_label(str(name), seed_of(settings)),
        identity=str(facts.get("id") or path),
        readings=readings,
        settings=settings,
        group=str(facts.get("group", "")),
        seconds=facts.get("runtime"),
        # A run without an exit record was killed, or goes on.
        status=_status(facts),
    )


def _status(facts: dict[str, Any]) -> str:
    """Return how a run ended, as its exit record says; the time in a summary tells no end."""
    return "finished" if facts.get("exit_code") == 0 else "crashed" if "exit_code" in facts else "not ended"


def _later(path: Path, readings: Sequence[Reading]) -> tuple[list[Reading], float | None]:
    """Return what a summary alone has, or of steps behind the last reading, and the time of the run, if it tells it."""
    summary = _summary(path)
    step = step_of(summary, -1)
    last = {reading.metric: reading for reading in readings}
    is_later = step > max((reading.iteration for reading in readings), default=step)
    found = [
        Reading(name, step, value)
        for name, value in summary.items()
        if last and not is_own(name) and (name not in last or (is_later and last[name].value != value))
    ]
    return found, summary.get("_wandb/runtime")


def _summary(path: Path) -> dict[str, float]:
    return numbers_in(path.read_text(encoding="utf-8", errors="replace"))


def _message_readings(message: bytes) -> Iterator[Reading]:
    values, step = history(message)
    elapsed = values.get("_runtime", math.nan)
    yield from (Reading(name, step, value, elapsed) for name, value in values.items() if not is_own(name))


def _run_facts(message: bytes) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for number, value in fields(message):
        if number in (1, 6, 8):
            facts[{1: "id", 6: "group", 8: "name"}[number]] = text(value)
        elif number == 4:
            facts["settings"] = {**facts.get("settings", {}), **dict(_settings(inner(value)))}
    return facts


def _settings(config: bytes) -> Iterator[tuple[str, str]]:
    for number, value in fields(config):
        key, text_value = item(inner(value)) if number == 1 else ("", "")
        if key and not is_own(key):
            yield from ((name, str(leaf)) for name, leaf in flat(parsed(text_value), key).items())


def _exit_facts(message: bytes) -> dict[str, Any]:
    names = {1: "exit_code", 2: "runtime"}
    return {"exit_code": 0, **{names[number]: signed(value) for number, value in fields(message) if number in names}}


def _from_summary(path: Path) -> ForeignRun:
    summary = _summary(path)
    history = path.with_name(HISTORY_FILE)
    lines = history.read_text(encoding="utf-8", errors="replace").splitlines() if os.path.isfile(history) else []
    rows = [numbers_in(line) for line in lines] or [summary]
    readings = [
        Reading(name, step_of(row, place if lines else -1), value, row.get("_runtime", math.nan))
        for place, row in enumerate(rows)
        for name, value in row.items()
        if not is_own(name)
    ]
    settings = _config_of(_folder(path))
    return ForeignRun(
        label=seeded_label(_folder(path).name, seed_of(settings)), readings=readings, settings=settings,
        seconds=summary.get("_wandb/runtime"),
    )  # fmt: skip


# The SQLite files of trackio, one for each project: a row of metrics is a JSON object.

_COLUMNS = {"run_name", "step", "timestamp", "metrics"}


def is_trackio(path: Path) -> bool:
    """Tell whether a file is a SQLite file with trackio's table."""
    with suppress(sqlite3.Error), closing(open_database(path)) as database:
        return _columns(database, "metrics") >= _COLUMNS
    return False


def read_trackio(roots: list[Path]) -> ForeignResults:
    """Read the runs of trackio's files; each project is a group."""
    files = [file for root in roots for file in ([root] if os.path.isfile(root) else files_below(root, "*.db"))]
    return ForeignResults(runs=in_order(run for file in files for run in _runs(file)))


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {str(name) for _, name, *_ in database.execute(f"PRAGMA table_info({table})")}


def _runs(path: Path) -> Iterator[ForeignRun]:
    try:
        with closing(open_database(path)) as database:
            # Runs had no id in early versions, and files of those no table of settings.
            own = "run_id" if "run_id" in _columns(database, "metrics") else "run_name"
            query = f"SELECT {own}, run_name, step, metrics FROM metrics ORDER BY id"
            readings: dict[tuple[str, str], list[Reading]] = {}
            rows = database.execute(query).fetchmany(MOST_VALUES + 1)
            if len(rows) > MOST_VALUES:
                raise NotImportable(
                    f"{path} has more than {MOST_VALUES:,} rows", hint="export the runs that matter as a table"
                )
            for run, name, step, metrics in rows:
                readings.setdefault((str(run), str(name)), []).extend(_numbers(int(step), json.loads(metrics)))
            query = f"SELECT {own}, config FROM configs"
            configs = dict(database.execute(query).fetchmany(MOST_VALUES)) if _columns(database, "configs") else {}
            for (run, name), each in readings.items():
                config = flat(json.loads(configs.get(run, "{}")))
                settings = {key: str(value) for key, value in config.items() if key and not key.startswith("_")}
                label = seeded_label(name, seed_of(settings))
                yield ForeignRun(identity=run, label=label, readings=each, group=path.stem, settings=settings)
    except (sqlite3.Error, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise NotImportable(f"{path} is no file of trackio: {error}", hint="name the file of a project") from error


def _numbers(step: int, metrics: object) -> Iterator[Reading]:
    """Yield the numbers of a row; what is not finite is a word in it."""
    for name, value in flat(metrics).items():
        if name and (isinstance(value, int | float) or value in ("NaN", "Infinity", "-Infinity")):
            yield Reading(name, step, float(value))
