"""Detect the format of the files, and read them."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple, get_args

import msgspec

from deviate.core.errors import BadOption, NotImportable, NotRuns, some_of
from deviate.core.paths import files_below
from deviate.core.shell_words import typed_word
from deviate.imports.foreign import (
    ForeignResults,
    ForeignRun,
    digest_of,
    named_broken,
    natural,
    storable,
    without_unset,
)
from deviate.imports.logs import ITERATION, Found, evenly_counting, found_rows
from deviate.imports.named import CONFIGS, beside, ended, settings_in_names
from deviate.imports.objects import MLPERF, YAML, json_rows
from deviate.imports.patterns import NUMBER, LinePattern, log_rows
from deviate.imports.repeated import check_apart, check_recipes, check_whole
from deviate.imports.request import Format, ImportRequest, TableOptions
from deviate.imports.roles import CLOCKS, FILE, is_counter, refuse
from deviate.imports.rows import Row, csv_rows, is_table
from deviate.imports.tables import RUN, chosen_by, read_tables, shaped
from deviate.imports.trackers import MARK, SUMMARY, is_trackio, read_mlflow, read_tensorboard, read_trackio, read_wandb
from deviate.imports.trainings import Table, split_stored
from deviate.lexicon.words import is_in_settings, meaning_of, plain, split_of
from deviate.observe.trackers.mlflow import META
from deviate.observe.trackers.tensorboard import DamagedFileError, read_events

# Which files hold results, what each of them is, and what their names and places tell.

#: Bytes at the beginning of a file that show what it is.
HEAD = 1 << 16

#: Numbers without a name that a note speaks of.
MOST_LEFT_OUT = 4

#: What a number in the name of a file may count but runs, by the word beside it.
_COUNTED = {
    "iterations": "(?:global_?step|step|epoch|iter(?:ation)?|checkpoint|ckpt)s?",
    "folds": "k?folds?|cv",
    "parts": "rank|worker|env|gpu|proc(?:ess)?|actor|node|shard",
}


def text_kind(path: Path) -> Format | None:
    """Tell by its first bytes whether a file is JSON or a table; None where it is neither."""
    try:
        with path.open("rb") as file:
            text = file.read(HEAD).decode("utf-8-sig", "replace")
    except OSError:
        return None
    if _is_json(text):
        return "json"
    return "csv" if is_table(text) else None


def _is_json(text: str) -> bool:
    begun = text.lstrip()
    if not begun.startswith(("{", "[")):
        return f"{MLPERF}{{" in text
    try:
        whole, end = json.JSONDecoder().raw_decode(begun)
    except RecursionError:
        return True
    except ValueError:
        # The end of a large file is not there.
        return len(text) >= HEAD // 4 and re.match(r'[{[]\s*[{["]', begun) is not None
    # `[3] loss 0.5` is a line of a log.
    return isinstance(whole, dict) or not begun[end:].strip() or bool(whole and isinstance(whole[0], dict))


def recurring(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the files of one name that several folders below a folder have: those that count, and have the most rows.

    ``runs/1/metrics.json``, ``runs/2/metrics.json``: beside them may be other files of each run, with values of metrics
    (``train.csv``, ``test.csv``). Those of other parts of the data are taken with them; the names of the rest are
    returned.
    """
    by_name: dict[str, list[Path]] = {}
    for path in files_below(folder, "*"):
        if path.name not in CONFIGS:
            by_name.setdefault(path.name, []).append(path)
    # The first of a name may be of a run that stopped before it had a value.
    several = {name: map(_worth, paths[:MOST_TRIED]) for name, paths in by_name.items() if len(paths) > 1}
    worth = {name: first for name, each in several.items() if (first := next((one for one in each if one[2]), None))}
    best = max(worth, key=lambda name: worth[name], default="")
    if not best:
        return [], []
    of_metrics = [name for name, (_, knows, *_) in worth.items() if knows]
    counted = [name for name in of_metrics if worth[name][0] and name != best]
    # `result_1.txt`, `result_2.txt` in each folder are of a run each.
    numbered = [name for name in counted if re.sub(r"\d+", "", name) == re.sub(r"\d+", "", best)]
    taken = [best, *numbered, *(name for name in counted if _are_splits([best, name]))]
    rest = [name for name in of_metrics if name not in taken]
    return sorted(path for name in taken for path in by_name[name]), rest


def _are_splits(names: Sequence[str]) -> bool:
    """Tell whether names of files differ by the part of the data alone: ``train.log``, ``test.log``."""
    words = [re.findall(r"[A-Za-z]+|\d+", name) for name in names]
    rests = {tuple(word for word in each if not split_of(word)) for each in words}
    return len(names) > 1 and len(rests) == 1 and len({split_of(name) for name in names} - {""}) == len(names)


def _by_splits(tables: Sequence[Table], notes: list[str]) -> list[Table]:
    """Make one training of the files of a folder that are of several parts of the data."""
    folders: dict[str, list[str]] = {}
    for table in tables:
        folder, _, name = table.source.rpartition("/")
        folders.setdefault(folder, []).append(name)
    if not all(map(_are_splits, folders.values())):
        return list(tables)
    notes.append(
        f"{tables[0].source} and {tables[1].source} were read as one training: their names are of parts of the data. "
        "If each is a training, type --run-column file."
    )
    return [
        Table(table.source, [{"split": split_of(name), **row} for row in table.rows], folder or "training")
        for table in tables
        for folder, _, name in [table.source.rpartition("/")]
    ]


#: What Sacred wrote of a run that returned nothing.
_NO_RESULT = re.compile(rb'"result": null|"status": "(?:FAILED|INTERRUPTED|RUNNING)"')


def _worth(path: Path) -> tuple[bool, bool, int, bool, tuple[str, ...]]:
    """Return whether a file counts iterations, names known metrics, its rows, whether it is JSON, and its names."""
    kind = text_kind(path) or ("csv" if _SUFFIXES.get(path.suffix.lower()) == "csv" else None)
    try:
        is_empty = path.name == "run.json" and _NO_RESULT.search(path.read_bytes())
        rows = [] if is_empty or not kind else json_rows(path) if kind == "json" else csv_rows(path)
    except NotImportable:
        rows = []
    names = {name for row in rows for name in row if not is_in_settings(name)}
    knows = any(meaning_of(name) is not None for name in names)
    return any(map(is_counter, names)), knows, len(rows), kind == "json", tuple(sorted(names))


def of_one_training(tables: Sequence[Table], options: TableOptions) -> tuple[list[Table], list[str]]:
    """Make one table of files whose names differ by a step alone: they are the checkpoints of one training.

    Raises NotRuns if they differ by a fold or the number of a worker alone, and no option says what they are.
    """
    if FILE in options.run or options.experiment == FILE:
        return list(tables), []
    notes: list[str] = []
    tables = _by_splits(tables, notes)
    for counted, word in _COUNTED.items():
        named = {table.source: _numbered(table.source, word) for table in tables}
        rests = [rest for rest, _ in filter(None, named.values())]
        together = {rest for rest in rests if rests.count(rest) > 1}
        members = [source for source, match in named.items() if match and match[0] in together]
        if not members:
            continue
        if counted == "iterations":
            if any(is_counter(name) and "/" not in name for table in tables for row in table.rows for name in row):
                continue
            notes.append(
                f"{members[0]} to {members[-1]} are checkpoints of one training: they differ by a step in the name. If "
                "each is a training, type --run-column file."
            )
            tables = [_checkpoint(table, named[table.source], together) for table in tables]
        elif FILE not in options.mean_over:
            raise _asked(counted, members)
        else:
            tables = [Table(table.source, table.rows, (named[table.source] or ("",))[0]) for table in tables]
    return list(tables), notes


def _asked(counted: str, members: Sequence[str]) -> NotRuns:
    names = f"{members[0]} to {members[-1]}"
    hint = "type --set mean_over=file for the mean of each training over them, --run-column file if each is a training"
    if counted == "folds":
        return refuse("folds", f"the names of {names} count folds", hint)
    return NotRuns(f"{names} may be trainings, or parallel parts of one, as their names say", hint=hint)


def _numbered(source: str, word: str) -> tuple[str, int] | None:
    """Return the name of a file without the number beside a word, and that number; None where there is none."""
    beside = rf"[._-]?(?<![a-z])(?:(?:{word})[._=-]?(\d+)([km]?)|(?<!\d)(\d+)([km]?)[._-]?(?:{word}))(?![a-z\d])"
    match = re.search(beside, source, re.IGNORECASE)
    if match is None:
        return None
    times = {"": 1, "k": 1_000, "m": 1_000_000}[(match[2] or match[4] or "").lower()]
    rest = (source[: match.start()] + source[match.end() :]).strip("/")
    return rest if rest and not rest.startswith(".") else f"training{rest}", int(match[1] or match[3]) * times


def _checkpoint(table: Table, match: tuple[str, int] | None, together: set[str]) -> Table:
    if match is None or match[0] not in together:
        return table
    return Table(match[0], [{"step": str(match[1]), **row} for row in table.rows])


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


#: What reads all that is below some paths.
STORES: dict[str, Callable[[list[Path]], ForeignResults]] = {
    "tensorboard": read_tensorboard,
    "mlflow": read_mlflow,
    "wandb": read_wandb,
    "trackio": read_trackio,
}


class Sources(NamedTuple):
    """What an import reads."""

    kind: Format
    #: Each once; of a folder of folders the files that are in each of them.
    paths: list[Path]
    #: Names of other files that are in several of these, and left out.
    rest: list[str]


def read_results(request: ImportRequest, sources: Sources) -> ForeignResults:
    """Read all that the request names.

    Raises NotImportable, NotRuns, BadOption if a file cannot be read, holds no runs, or options and format do not go
    together.
    """
    kind, read = sources.kind, STORES.get(sources.kind)
    found = _of_store(read(request.paths), request.table) if read else _read_files(sources, request)
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
    return f"{runs}it was read as {kind}: --set format=NAME reads another format"


def _begins_with(path: Path, words: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(words)) == words


def _of_store(results: ForeignResults, options: TableOptions) -> ForeignResults:
    """Divide the runs of a store into trainings, and take those with the settings that options name."""
    runs = [training for run in results.runs for training in split_stored(run, "step", options)]
    return _by_settings(_with_names(msgspec.structs.replace(results, runs=runs)), options)


def _with_names(results: ForeignResults) -> ForeignResults:
    """Add to the settings of runs what their names say was set."""
    named = settings_in_names([run.label for run in results.runs])
    runs = [
        msgspec.structs.replace(run, settings=(settings := {**in_name, **run.settings}), held=list(settings))
        for run, in_name in zip(results.runs, named, strict=True)
    ]
    return msgspec.structs.replace(results, runs=runs)


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


def sources_of(request: ImportRequest) -> Sources:
    """Return what to read, in the requested format, or in that which names of files and content of folders show.

    Raises NotImportable if a path is not there, or does not show what it is. Raises BadOption if the files are of
    several formats.
    """
    for path in request.paths:
        if not os.path.exists(path):
            raise NotImportable(f"{path} is not there", hint="name files or folders that exist")
    if request.format in STORES:
        return Sources(request.format, request.paths, [])
    listed = [_files_of(path, request.format or ("log" if request.patterns else None)) for path in request.paths]
    kinds = _kinds(request, {file: kind for files, _ in listed for file, kind in files.items()})
    rest = [name for _, names in listed for name in names]
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
    return Sources(formats.pop(), list(kinds), rest)


def _not_known(path: Path) -> NotImportable:
    files = [file for file in files_below(path, "*") if file.name not in CONFIGS] if os.path.isdir(path) else []
    if files:
        return NotImportable(f"{path} is a folder of files", hint=_name_files(path, files))
    formats = f"type --set format=NAME with one of {', '.join(get_args(Format))}; "
    hint = f"{formats}{_PATTERN}" if os.path.isdir(path) else _pattern(found_rows(path), formats)
    return NotImportable(f"{path} does not show what it is", hint=hint)


def _name_files(folder: Path, files: Sequence[Path]) -> str:
    """Say what to type for files of a folder: those with values of metrics, else those of the commonest ending."""
    files = [file for file in files if file.name not in CONFIGS] or files
    found = _without_copies({file: form for file in files[:MOST_TRIED] if (form := _form(file))})
    forms = {file: (form[0], any(map(is_counter, form[1:]))) for file, form in found.items()}
    known = list(forms)
    if 1 < len(set(forms.values())) < MOST_LEFT_OUT:
        each = (" ".join(typed_word(file.as_posix()) for file in known if forms[file] == form) for form in
                dict.fromkeys(forms.values()))  # fmt: skip
        return f"name its files of one kind: deviate import {'; or deviate import '.join(each)}"
    tables = [file for file in files if _SUFFIXES.get(file.suffix.lower()) == "csv"]
    if not known and not tables:
        return f"name a file of results: none of the first {MOST_TRIED} shows counted values or a known metric"
    ((suffix, _),) = Counter(file.suffix for file in known or tables).most_common(1)
    alike = [file for file in files if file.suffix == suffix]
    wanted = [file for file in known if file in alike] if known and len(alike) <= MOST_TRIED else alike
    # The shortest pattern that names these files and no others, else each of them.
    first, begin = wanted[0], os.path.commonprefix([file.name for file in wanted])  # noqa: RUF071 (names, no paths)
    stars = "*/" * (len(first.relative_to(folder).parts) - 1)
    for name in (f"*{suffix}", first.name, f"{begin}*{suffix}"):
        named = [file for file in folder.glob(f"{stars}{name}") if file in files]
        if set(named) == set(wanted) or (wanted is alike and name == f"*{suffix}"):
            return f"name its files: deviate import {_typed_pattern(folder, stars + name)}"
    return f"name its files: deviate import {' '.join(typed_word(file.as_posix()) for file in wanted)}"


def _typed_pattern(folder: Path, pattern: str) -> str:
    """Write a pattern of paths for the shell: all of it but its stars is quoted where it must be."""
    parts = re.split(r"(\*/?)", f"{folder.as_posix().rstrip('/')}/{pattern}")
    return "".join(part if part.startswith("*") else typed_word(part) for part in parts if part)


#: Files of a folder that are looked into.
MOST_TRIED = 40


def _form(path: Path) -> tuple[str, ...]:
    """Return the form of a file with several rows that are counted, or a value of a known metric; nothing of others."""
    if path.name in CONFIGS:
        return ()
    if text_kind(path) is None and path.suffix.lower() not in _SUFFIXES:
        with suppress(NotImportable):
            found = found_rows(path)
            return (path.suffix, found.template) if found.rows else ()
    counts, knows, rows, _, names = _worth(path)
    return (path.suffix, *names) if knows or (counts and rows > 1) else ()


def _kind(path: Path) -> Format | None:
    if os.path.isfile(path):
        known = _SUFFIXES.get(path.suffix.lower())
        if MARK in path.name or known in ("wandb", "mlflow"):
            return "tensorboard" if MARK in path.name else "trackio" if is_trackio(path) else known
        if path.suffix.lower() in YAML:
            return known
        return text_kind(path) or known or ("log" if found_rows(path).rows else None)
    marks: tuple[tuple[str, Format], ...] = (
        ("*.wandb", "wandb"),
        (SUMMARY, "wandb"),
        (META, "mlflow"),
        (f"*{MARK}*", "tensorboard"),
    )
    kind = next((kind for pattern, kind in marks if files_below(path, pattern)), None)
    if kind is None and any(map(is_trackio, files_below(path, "*.db"))):
        return "trackio"
    tables = recurring(path)[0] if kind == "tensorboard" else []
    _check_one_kind(path)
    # Sacred and others may have event files without a value beside their own.
    return None if tables and not _has_scalars(path) else kind


def _check_one_kind(folder: Path) -> None:
    """Refuse a folder where some runs have event files and others have tables alone."""
    events = {path.parent for path in files_below(folder, f"*{MARK}*")}
    places = {each.parent for each in events - {folder}}
    files = [path for path in (files_below(folder, "*") if places else []) if path.suffix.lower() in _SUFFIXES]
    beside = [path for path in files if path.parent not in events and path.parent.parent in places]
    others = [path for path in beside[:MOST_TRIED] if _worth(path)[0] and _worth(path)[2] > 1]
    if others:
        stars = "*/" * (len(others[0].relative_to(folder).parts) - 1)
        raise NotRuns(
            f"some runs of {folder} have event files, and others {others[0].name}",
            hint=f"type --set format=tensorboard for the first; for the others "
            f"deviate import {_typed_pattern(folder, stars + others[0].name)}",
        )


def _has_scalars(folder: Path) -> bool:
    try:
        return any(True for path in files_below(folder, f"*{MARK}*") for _ in read_events(path))
    except DamagedFileError:
        return True


def _kinds(request: ImportRequest, named: dict[Path, Format | None]) -> dict[Path, Format | None]:
    """Return the files of results, each once, with what each is."""
    found = [file for file in named if file.name not in CONFIGS]
    if not found and not request.format:
        first = next(iter(named))
        raise NotImportable(
            f"{first} holds what was set, by its name, and no results",
            hint=f"name the files of results beside it; if it is one, type --set format={_SUFFIXES[first.suffix]}",
        )
    once = {path.resolve(): path for path in reversed(found or list(named))}
    return {path: named[path] for path in reversed(once.values())}


def _files_of(path: Path, known: Format | None) -> tuple[dict[Path, Format | None], list[str]]:
    """Return the files that a path stands for, each with what it is, and the names of those that are left out."""
    if not os.path.isdir(path):
        return {path: known or _kind(path)}, []
    if (kind := _kind(path)) is not None:
        return {path: known or kind}, []
    files, rest = recurring(path)
    files = files or ([] if known else _of_one_form(path))
    return {file: known or _kind(file) for file in files} or {path: known}, rest


def _of_one_form(folder: Path) -> list[Path]:
    """Return the files with values of metrics in a folder, where all are of one form: no other reading is possible."""
    every = files_below(folder, "*")
    forms = {path: form for path in every if len(every) <= MOST_TRIED and (form := _form(path))}
    if len(set(forms.values())) != 1:
        return []
    return sorted(_without_copies(forms), key=lambda path: natural(path.as_posix()))


def _without_copies(forms: Mapping[Path, tuple[str, ...]]) -> dict[Path, tuple[str, ...]]:
    """Return each file once, with its form: of two trainings no times are the same."""
    timed = {path for path, form in forms.items() if any(plain(name) in CLOCKS for name in form)}
    once = {digest_of([path]) if path in timed else path: path for path in forms}
    return {path: form for path, form in forms.items() if path in once.values()}


def _read_files(sources: Sources, request: ImportRequest) -> ForeignResults:
    """Read tables and logs; of several files, those that cannot be read are runs that failed."""
    patterns = [LinePattern(text) for text in request.patterns]
    tables: list[Table] = []
    broken: list[ForeignRun] = []
    first: NotImportable | None = None
    kind, paths, rest = sources
    set_in = [path.name for path in request.paths if path.name in CONFIGS and path not in paths]
    notes = [f"{some_of(set_in, MOST_LEFT_OUT)} holds settings, and is no run."] if set_in else []
    if rest:
        notes.append(
            f"Left out, though several folders have them: {some_of(rest, MOST_LEFT_OUT)}. Name such files to read them."
        )
    # Files are named by what tells them apart: their names, or where these are equal, their paths.
    are_other = len({path.name for path in paths}) == len(paths)
    labels = [path.name if are_other else path.as_posix() for path in paths]
    folders = {path.parent for path in paths}
    are_apart = len(folders) > 1 and len(folders) * len({path.name for path in paths}) == len(paths)
    named = settings_in_names(labels) if len(labels) > 1 else [{}]
    for path, label, in_name in zip(paths, labels, named, strict=True):
        try:
            rows = _rows(kind, path, patterns, notes, request.table)
        except NotImportable as error:
            if os.path.isdir(path):
                raise
            first = first or error
            broken.append(ForeignRun(label=label, readings=[], broken=error.message))
            continue
        facts = {**in_name, **(beside(path) if are_apart else {}), **ended(path)}
        rows = shaped(rows, path.stem, request.table.runs_of)
        # A log's lines follow one another in time, so what no field counts is counted by its lines.
        rows = _numbered_rows(rows) if kind == "log" and request.table.rows != "runs" else rows
        tables.append(Table(label, [{**facts, **row} for row in rows]))
    if first is not None and not tables:
        raise first
    tables, said = of_one_training(tables, request.table)
    options = msgspec.structs.replace(request.table, in_time=kind == "log", wanted=request.metrics)
    results = read_tables(tables, options)
    check_whole(results.runs, options)
    check_apart(results.runs, options)
    check_recipes(results.runs, options)
    results = msgspec.structs.replace(results, notes=[*dict.fromkeys(notes), *said, *results.notes])
    return _joined(results, broken, labels)


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


def _rows(
    kind: Format, path: Path, patterns: list[LinePattern], notes: list[str], options: TableOptions
) -> list[Row]:  # fmt: skip
    if os.path.isdir(path):
        files = recurring(path)[0] or files_below(path, f"*.{kind}") or files_below(path, "*")
        hint = _name_files(path, files) if files else "name files or folders that exist"
        raise NotImportable(f"{path} is a folder", hint=hint)
    if kind != "log":
        return csv_rows(path) if kind == "csv" else json_rows(path)
    if patterns:
        return log_rows(path, patterns)
    found = found_rows(path)
    rows, template, left_out, *_ = found
    if not rows:
        raise NotImportable(f"{path} has no line with a counter and named values", hint=_pattern(found))
    if found.unclear:
        # Source that a log holds has braces of its own, and would be no pattern.
        forms = [form for form in found.forms if not re.search(r"{[^}]*{", form)]
        shown = some_of([f"--pattern {typed_word(form)}" for form in forms], 2 * MOST_LEFT_OUT)
        raise NotRuns(f"{path}: {found.unclear}", hint=f"type what is meant, with the name that it shall have: {shown}")
    counter, heads = found.again
    if counter and not (options.iteration or options.rows):
        raise NotRuns(
            f"{path}: {counter!r} begins again behind other lines each time, {some_of(list(map(repr, heads)), 2)}: "
            "trainings of several recipes, tasks or folds, or repeats",
            hint=f"type --set iteration_column={typed_word(counter)} if they are repeats, --set rows=iterations if all "
            "are one training; write those of each recipe into a file of its own",
        )
    notes.append(
        f"Lines were read as --pattern {typed_word(template)}; type another to read them otherwise."
        if template
        else "Boxes with a name and a value in each line were read, a row each."
    )
    if left_out:
        rest = some_of([repr(text) for text in left_out], MOST_LEFT_OUT)
        notes.append(
            f"Left out of these lines: the numbers behind {rest}. A --pattern with fields for them reads them."
        )
    return rows


def _pattern(found: Found, formats: str = "") -> str:
    """Say what to type for a log in which nothing counts: the form of its lines, where they name values."""
    if found.template:
        forms = [f"--pattern {typed_word(form)}" for form in found.forms or [found.template]]
        behind = some_of([repr(text) for text in found.left_out], MOST_LEFT_OUT)
        rest = f"; it leaves out the numbers behind {behind}" if behind else ""
        typed = " or ".join(forms[:MOST_LEFT_OUT])
        return f"type {typed} to count such lines in their order, with --set rows=runs if each is of a training{rest}"
    if found.forms:
        return f"type {' '.join(f'--pattern {typed_word(form)}' for form in found.forms)} to read all such lines"
    places, line = count(1), " ".join(found.sample.split()[:-1])
    form = re.sub(rf"(?<![\w.]){NUMBER}", lambda _: f"{{value {next(places)}}}", line)
    if "{value 6}" in form:
        return f"{formats}for a log type --pattern {typed_word(form)}, with names in the place of its values"
    sample = f", with names in the place of the values of lines such as {found.sample!r}" if found.sample else ""
    return f"{formats}{_PATTERN}{sample}"


def _numbered_rows(rows: list[Row]) -> list[Row]:
    if any(is_counter(name) for row in rows for name in row):
        return rows
    if name := evenly_counting(rows):
        return [{ITERATION if key == name else key: word for key, word in row.items()} for row in rows]
    seen: dict[str, int] = {}
    numbered = []
    for row in rows:
        run = " ".join(row.get(name, "") for name in (RUN, "seed"))
        seen[run] = seen.get(run, -1) + 1
        numbered.append({**row, ITERATION: str(seen[run])})
    return numbered
