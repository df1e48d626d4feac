"""Which files hold results, what each of them is, and what their names and places tell."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from deviate.analyse.naming.words import is_in_settings, meaning_of
from deviate.errors import NotImportable, NotRuns
from deviate.importing.objects import json_rows
from deviate.importing.parts import Table
from deviate.importing.request import Format, TableOptions
from deviate.importing.roles import FILE
from deviate.importing.rows import Row, csv_rows, flat, is_table, present
from deviate.importing.unit import is_counter, refuse
from deviate.paths import files_below

#: Bytes at the beginning of a file that show what it is.
HEAD = 1 << 16

#: Files beside results that hold what was set.
CONFIGS = ("config.json", "args.json", "params.json", "hparams.json")

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
        return ":::MLLOG {" in text
    try:
        whole, end = json.JSONDecoder().raw_decode(begun)
    except RecursionError:
        return True
    except ValueError:
        # The end of a large file is not there.
        return len(text) >= HEAD // 4 and re.match(r'[{[]\s*[{["]', begun) is not None
    # `[3] loss 0.5` is a line of a log.
    return isinstance(whole, dict) or not begun[end:].strip() or bool(whole and isinstance(whole[0], dict))


def recurring(folder: Path) -> list[Path]:
    """Return the files of one name that several folders below a folder have: those that count, and have the most rows.

    ``runs/1/metrics.json``, ``runs/2/metrics.json``: beside them may be other files of each run.
    """
    by_name: dict[str, list[Path]] = {}
    for path in files_below(folder, "*"):
        if path.name not in CONFIGS:
            by_name.setdefault(path.name, []).append(path)
    worth = {name: _worth(paths[0]) for name, paths in by_name.items() if len(paths) > 1}
    best = max(worth, key=lambda name: worth[name], default="")
    return sorted(by_name[best]) if best and worth[best][2] else []


def _worth(path: Path) -> tuple[bool, bool, int, bool]:
    """Return whether a file counts iterations, names known metrics, its rows, and whether it is JSON."""
    kind = text_kind(path)
    try:
        rows = json_rows(path) if kind == "json" else csv_rows(path) if kind else []
    except NotImportable:
        rows = []
    names = {name for row in rows for name in row if not is_in_settings(name)}
    knows = any(meaning_of(name) is not None for name in names)
    return any(map(is_counter, names)), knows, len(rows), kind == "json"


def beside(path: Path) -> Row:
    """Return what was set, as a file beside results says; its names begin with ``config/``."""
    for name in CONFIGS:
        file = path.with_name(name)
        if name != path.name and os.path.isfile(file):
            try:
                whole = flat(json.loads(file.read_bytes()[: HEAD * 16]))
            except (ValueError, OSError, RecursionError):
                continue
            words = {key: value for key, value in whole.items() if isinstance(value, str | int | float)}
            return present((f"config/{key}", str(value)) for key, value in words.items())
    return {}


def of_one_training(tables: Sequence[Table], options: TableOptions) -> tuple[list[Table], list[str]]:
    """Make one table of files whose names differ by a step alone: they are the checkpoints of one training.

    Raises
    ------
    NotRuns
        If they differ by a fold or the number of a worker alone, and no option says what they are.
    """
    if FILE in options.run or options.experiment == FILE:
        return list(tables), []
    notes: list[str] = []
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
    hint = "type --mean-over file for the mean of each training over them, --run-column file if each is a training"
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
