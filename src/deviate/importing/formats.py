"""Detect the format of the files, and read them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from deviate.errors import BadOption, NotImportable
from deviate.importing.files import beside, of_one_training, recurring, text_kind
from deviate.importing.foreign import ForeignResults, ForeignRun, named_broken, storable, without_unset
from deviate.importing.logs import LinePattern, log_rows
from deviate.importing.mlflow import read_mlflow
from deviate.importing.objects import json_rows
from deviate.importing.parts import Table
from deviate.importing.printed import found_rows
from deviate.importing.request import FORMATS, Format, ImportRequest, TableOptions
from deviate.importing.rows import Row, csv_rows
from deviate.importing.shapes import RUN, shaped
from deviate.importing.tables import chosen_by, read_tables
from deviate.importing.tensorboard import MARK, read_tensorboard
from deviate.importing.texts import YAML
from deviate.importing.unit import is_counter
from deviate.importing.wandb import SUMMARY, read_wandb
from deviate.paths import files_below
from deviate.shell_words import typed_word
from deviate.trackers.mlflow import META

_PATTERN = "for a log type --pattern 'Epoch {epoch} ... acc: {val acc}'"

#: How a file begins that Git LFS left in the place of another one.
LFS_POINTER = b"version https://git-lfs.github.com/spec/"

_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".yaml": "json",
    ".yml": "json",
    ".wandb": "wandb",
    ".db": "mlflow",
    ".sqlite": "mlflow",
}


def read_results(request: ImportRequest, kind: Format) -> ForeignResults:
    """Read all that the request names, as `kind`.

    Raises
    ------
    NotImportable, NotRuns, BadOption
        If a file cannot be read, holds no runs, or options and format do not go together.
    """
    stores: dict[str, Callable[[list[Path]], ForeignResults]] = {
        "tensorboard": read_tensorboard,
        "mlflow": read_mlflow,
        "wandb": read_wandb,
    }
    read = stores.get(kind)
    found = _by_settings(read(request.paths), request.table) if read else _read_files(kind, request)
    results = without_unset(found)
    if not any(run.readings for run in results.runs):
        named = ", ".join(map(str, request.paths[:3]))
        raise NotImportable(f"no value of a metric was found in {named}", hint=_without_values(results, kind, request))
    return storable(named_broken(results))


def _without_values(results: ForeignResults, kind: Format, request: ImportRequest) -> str:
    files = [file for path in request.paths for file in ([path] if os.path.isfile(path) else files_below(path, "*"))]
    if any(_begins_with(file, LFS_POINTER) for file in files):
        return (
            "some files are pointers of Git LFS in the place of what they stand for: type git lfs pull, and this again"
        )
    runs = "its runs logged none, so name another; " if results.runs else ""
    return f"{runs}it was read as {kind}: --format names another format"


def _begins_with(path: Path, head: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(head)) == head


def _by_settings(results: ForeignResults, options: TableOptions) -> ForeignResults:
    """Take the runs with the settings that options name, and make a group of each value of one."""
    known = list(dict.fromkeys(name for run in results.runs for name in run.settings))
    named = (*filter(None, [options.experiment]), *(name for name, _ in options.where))
    if missing := next((name for name in named if name not in known), None):
        raise BadOption(f"no run tells a setting {missing!r}", hint=f"settings: {', '.join(known) or 'none'}")
    runs = [run for run in results.runs if chosen_by(run.settings, options)]
    if options.experiment:
        runs = [msgspec.structs.replace(run, group=run.settings.get(options.experiment, "")) for run in runs]
    return msgspec.structs.replace(results, runs=runs)


def format_of(request: ImportRequest) -> Format:
    """Return the requested format, or the format that names of files and content of folders show.

    Raises
    ------
    NotImportable
        If a path is not there, or does not show what it is.
    BadOption
        If the files are of several formats.
    """
    for path in request.paths:
        if not os.path.exists(path):
            raise NotImportable(f"{path} is not there", hint="name files or folders that exist")
    if request.format or request.patterns:
        return request.format or "log"
    kinds = {path: _kind(path) for path in _paths(request)}
    # Beside files that are known, one of their name that shows nothing may be of a run that failed.
    suffixes = {path.suffix for path, kind in kinds.items() if kind}
    unknown = [path for path, kind in kinds.items() if kind is None and path.suffix not in suffixes]
    if unknown:
        raise _not_known(unknown[0])
    formats = {kind for kind in kinds.values() if kind}
    if len(formats) > 1:
        raise BadOption(
            f"the files are of several formats: {', '.join(sorted(formats))}", hint="import one after another"
        )
    return formats.pop()


def _not_known(path: Path) -> NotImportable:
    if os.path.isdir(path) and (files := files_below(path, "*")):
        tables = [file for file in files if file.suffix.lower() in _SUFFIXES]
        return NotImportable(f"{path} is a folder of files", hint=_name_files(path, tables or files))
    template = "" if os.path.isdir(path) else found_rows(path)[1]
    return NotImportable(
        f"{path} does not show what it is",
        hint=_pattern(template) if template else f"type --format with one of {', '.join(FORMATS)}; {_PATTERN}",
    )


def _name_files(folder: Path, files: Sequence[Path]) -> str:
    """Say what to type for files of a folder: those of one name, or of the ending that most of them have."""
    ((suffix, _),) = Counter(file.suffix for file in files).most_common(1)
    first = next(file for file in files if file.suffix == suffix)
    name = first.name if len(files) > 1 and {file.name for file in files} == {first.name} else f"*{suffix}"
    pattern = "/".join([*["*"] * (len(first.relative_to(folder).parts) - 1), name])
    return f"name its files: deviate import {folder.as_posix().rstrip('/')}/{pattern}"


def _kind(path: Path) -> Format | None:
    if os.path.isfile(path):
        known = _SUFFIXES.get(path.suffix.lower())
        if MARK in path.name or known in ("wandb", "mlflow"):
            return "tensorboard" if MARK in path.name else known
        if path.suffix.lower() in YAML:
            return known
        return text_kind(path) or known or ("log" if found_rows(path)[0] else None)
    marks: tuple[tuple[str, Format], ...] = (
        ("*.wandb", "wandb"),
        (SUMMARY, "wandb"),
        (META, "mlflow"),
        (f"*{MARK}*", "tensorboard"),
    )
    return next((kind for pattern, kind in marks if files_below(path, pattern)), None)


def _paths(request: ImportRequest) -> list[Path]:
    """Return the files to read, each once; of a folder of folders those that are in each of them."""
    found = [file for path in request.paths for file in _files_of(path)]
    return list({path.resolve(): path for path in reversed(found)}.values())[::-1]


def _files_of(path: Path) -> Sequence[Path]:
    return (os.path.isdir(path) and _kind(path) is None and recurring(path)) or [path]


def _read_files(kind: Format, request: ImportRequest) -> ForeignResults:
    """Read tables and logs; of several files, those that cannot be read are runs that failed.

    Left out they would be forgotten, and what broke them may be the training.
    """
    patterns = [LinePattern(text) for text in request.patterns]
    tables: list[Table] = []
    broken: list[ForeignRun] = []
    notes: list[str] = []
    first: NotImportable | None = None
    paths = _paths(request)
    labels = _labels(paths)
    for path, label in zip(paths, labels, strict=True):
        try:
            rows = _rows(kind, path, patterns, notes)
        except NotImportable as error:
            if os.path.isdir(path):
                raise
            first = first or error
            broken.append(ForeignRun(label=label, readings=[], broken=error.message))
            continue
        facts = beside(path) if label != path.name else {}
        tables.append(Table(label, [{**facts, **row} for row in _shaped(rows, kind, path, request)]))
    if first is not None and not tables:
        raise first
    tables, said = of_one_training(tables, request.table)
    options = msgspec.structs.replace(request.table, in_time=kind == "log", wanted=request.metrics)
    results = read_tables(tables, options)
    results = msgspec.structs.replace(results, notes=[*dict.fromkeys(notes), *said, *results.notes])
    return _joined(results, broken, labels)


def _shaped(rows: list[Row], kind: Format, path: Path, request: ImportRequest) -> list[Row]:
    table = shaped(rows, path.stem, request.table.runs_of)
    # A log's lines follow one another in time, so what no field counts is counted by its lines.
    return _numbered(table) if kind == "log" else table


def _joined(results: ForeignResults, broken: list[ForeignRun], labels: list[str]) -> ForeignResults:
    """Add the files that could not be read: in the order of the files where each is a run, else after the others."""
    groups = {run.group for run in results.runs}
    if not broken:
        return results
    if len(groups) > 1:
        names = ", ".join(run.label for run in broken)
        note = f"Left out, as their experiment is unknown: {names} ({broken[0].broken})."
        return msgspec.structs.replace(results, notes=[*results.notes, note])
    runs = [*results.runs, *(msgspec.structs.replace(run, group=next(iter(groups))) for run in broken)]
    if all(run.label in labels for run in runs):
        runs.sort(key=lambda run: labels.index(run.label))
    return msgspec.structs.replace(results, runs=runs)


def _rows(kind: Format, path: Path, patterns: list[LinePattern], notes: list[str]) -> list[Row]:
    if os.path.isdir(path):
        files = recurring(path) or files_below(path, f"*.{kind}") or files_below(path, "*")
        hint = _name_files(path, files) if files else "name files or folders that exist"
        raise NotImportable(f"{path} is a folder", hint=hint)
    if kind != "log":
        return csv_rows(path) if kind == "csv" else json_rows(path)
    if patterns:
        return log_rows(path, patterns)
    rows, template = found_rows(path)
    if not rows:
        raise NotImportable(f"{path} has no line with a counter and named values", hint=_pattern(template))
    notes.append(
        f"Lines were read as --pattern {typed_word(template)}; type another to read them otherwise."
        if template
        else "Boxes with a name and a value in each line were read, a row each."
    )
    return rows


def _pattern(template: str) -> str:
    """Say what to type for a log in which nothing counts: the form of its lines, where they name values."""
    return f"type --pattern {typed_word(template)} to count such lines in their order" if template else _PATTERN


def _numbered(rows: list[Row]) -> list[Row]:
    if any(is_counter(name) for row in rows for name in row):
        return rows
    seen: dict[str, int] = {}
    numbered = []
    for row in rows:
        run = " ".join(row.get(name, "") for name in (RUN, "seed"))
        seen[run] = seen.get(run, -1) + 1
        numbered.append({**row, "iteration": str(seen[run])})
    return numbered


def _labels(paths: list[Path]) -> list[str]:
    """Name files by what tells them apart: their names, or where these are equal, their paths."""
    names = [path.name for path in paths]
    return names if len(set(names)) == len(names) else [path.as_posix() for path in paths]
