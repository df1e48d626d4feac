"""``deviate.toml``: the user's last word on what is measured, what a run's folder holds and what is run in it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec
import tomlkit

from deviate.errors import BadConfig
from deviate.experiment import Direction, Kind, Metric, ObservedWish
from deviate.factors import SeededFactor
from deviate.project.cluster import SlurmEntry

FILE_NAME = "deviate.toml"

#: What is written of a metric, and of a number in the output.
METRIC_KEYS = ("name", "file", "line", "expression", "aggregate", "direction", "kind")
OBSERVED_KEYS = ("name", "rename", "metric", "aggregate", "direction", "kind")

T = TypeVar("T", bound=msgspec.Struct)


class MetricEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One ``[[metric]]`` table."""

    name: str
    file: str
    line: int
    expression: str
    aggregate: str = "last"
    direction: Direction | None = None
    kind: Kind | None = None


class DrawEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[draw]]`` table."""

    file: str
    line: int
    factor: SeededFactor
    #: What is called; tells several draws on a line apart, and finds one whose line has moved.
    call: str = ""


class LoopEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[main_loop]`` table."""

    file: str
    line: int


class SnapshotEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[snapshot]`` table: glob patterns relative to the project."""

    include: list[str] = []
    exclude: list[str] = []
    link: list[str] = []


class EvaluateEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[evaluate]]`` table: a command that is run in the folder of each run after its training."""

    command: str
    #: None: after the script.
    name: str | None = None
    #: How often it is run for each run.
    repeat: int = 1
    threads: int | None = None
    #: ``cpu``, or GPUs as CUDA_VISIBLE_DEVICES has them.
    device: str | None = None
    environment: dict[str, str] = {}
    #: The interpreter in place of the command's first word.
    python: str = ""


class CommandEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ``[setup]`` or ``[cleanup]`` table: a command before or after all else in the folder of each run."""

    command: str


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole ``deviate.toml``; everything in it is optional."""

    entry: str | None = None
    main_loop: LoopEntry | None = None
    #: None where the file lists no metric: then the analysis decides.
    metric: list[MetricEntry] | None = None
    draw: list[DrawEntry] = []
    observed: list[ObservedWish] = []
    snapshot: SnapshotEntry = SnapshotEntry()
    evaluate: list[EvaluateEntry] = []
    setup: CommandEntry | None = None
    cleanup: CommandEntry | None = None
    slurm: SlurmEntry = SlurmEntry()


#: Tables that may stand several times, and the others.
_LISTED: dict[str, type[msgspec.Struct]] = {
    "metric": MetricEntry,
    "draw": DrawEntry,
    "observed": ObservedWish,
    "evaluate": EvaluateEntry,
}
_STRUCTS: dict[str, type[Any]] = {
    **_LISTED,
    "main_loop": LoopEntry,
    "snapshot": SnapshotEntry,
    "setup": CommandEntry,
    "cleanup": CommandEntry,
    "slurm": SlurmEntry,
}


def read_config(project: Path) -> Config:
    """Read the project's ``deviate.toml``; a project without one has the default configuration.

    Raises
    ------
    BadConfig
        If the file is not TOML, or a key or value is not as it must be; the message has key and line.
    """
    path = project / FILE_NAME
    if not path.exists():
        return Config()
    try:
        text = path.read_text(encoding="utf-8")
        tables = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise BadConfig(f"{path}: {problem}", hint="mend the line, or delete the file to start anew") from problem
    # msgspec does not say which element of a list is wrong, so each is converted by itself, first.
    for key, entry in _LISTED.items():
        listed = tables.get(key, [])
        for index, table in enumerate(listed if isinstance(listed, list) else []):
            _convert(table, entry, path, text, f"{key}[{index}]")
    return _convert(tables, Config, path, text, "")


def _convert(value: Any, struct: type[T], path: Path, text: str, table: str) -> T:
    try:
        return msgspec.convert(value, struct)
    except msgspec.ValidationError as problem:
        raise _bad_value(path, text, str(problem), table) from problem


def bad_entry(table: str, project: Path, problem: str, hint: str) -> BadConfig:
    """Return the error for an entry such as ``metric[0]``, naming its line in the file."""
    path = project / FILE_NAME
    line = _line_of(path.read_text(encoding="utf-8"), table, "")
    return BadConfig(f"{path}:{line}: {problem}", hint=hint)


def write_metrics(project: Path, entry: str, metrics: Sequence[Metric]) -> Path:
    """Put `entry` and the selected `metrics` into ``deviate.toml``, whose path is returned; what else it says stays."""
    tables = tomlkit.aot()
    for metric in metrics:
        if metric.selected:
            tables.append(_table(metric, METRIC_KEYS))
    return _write(project, {"entry": entry, "metric": tables})


def write_observed(project: Path, wishes: Sequence[ObservedWish]) -> Path:
    """Put what is said of numbers in the output into ``deviate.toml``, whose path is returned; what else it says stays.

    What the file says of other numbers stays, too.
    """
    own = read_config(project).observed
    known = {name for wish in own for name in (wish.name, wish.rename)}
    tables = tomlkit.aot()
    for wish in [*own, *(wish for wish in wishes if wish.name not in known)]:
        tables.append(_table(wish, OBSERVED_KEYS))
    return _write(project, {"observed": tables})


def _write(project: Path, values: Mapping[str, Any]) -> Path:
    path = project / FILE_NAME
    document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
    document.update(values)
    aside = path.with_suffix(".toml.new")
    aside.write_text(tomlkit.dumps(document), encoding="utf-8")
    aside.replace(path)
    return path


def _table(entry: Metric | ObservedWish, keys: Sequence[str]) -> tomlkit.items.Table:
    table = tomlkit.table()
    for key in keys:
        value = getattr(entry, key)
        if value not in (None, ""):
            table[key] = value
    return table


def _bad_value(path: Path, text: str, problem: str, table: str) -> BadConfig:
    """Turn msgspec's message (``Expected `int`, got `str` - at `$.line```) into key and line."""
    message, _, path_in_file = problem.partition(" - at ")
    *inner, key = [part for part in path_in_file.strip("`").removeprefix("$").split(".") if part] or [""]
    table = ".".join([part for part in (table, *inner) if part])
    unknown = re.search(r"unknown field `(\w+)`", message)
    if unknown:
        table, key = table or key, unknown.group(1)
    line = _line_of(text, table, key)
    name = ".".join(part for part in (table, key) if part)
    fields = {field.name: field.type for field in msgspec.structs.fields(_STRUCTS.get(table.partition("[")[0], Config))}
    values = _values(fields.get(key)) if message.startswith("Invalid enum value") else []
    allowed = f"values allowed there: {', '.join(values)}" if values else f"keys allowed there: {', '.join(fields)}"
    return BadConfig(f"{path}:{line}: {name}: {message}", hint=allowed)


def _values(kind: Any) -> list[str]:
    """Return the words that a type allows, of ``Literal["a", "b"] | None`` a and b."""
    return [word for part in get_args(kind) for word in (get_args(part) or (part,)) if isinstance(word, str)]


def _line_of(text: str, table: str, key: str) -> int:
    """Return the line (from 1) of `key` in `table` (``metric[1]``, ``snapshot``, or empty for the top)."""
    name, _, index = table.rstrip("]").partition("[")
    header = re.compile(rf"^\s*\[\[?\s*{re.escape(name)}\s*\]\]?") if name else None
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if header and header.match(line)] or [0]
    start = starts[min(int(index or 0), len(starts) - 1)]
    pattern = re.compile(rf"^\s*\"?{re.escape(key)}\"?\s*=") if key else None
    for number in range(start, len(lines)):
        if pattern and pattern.match(lines[number]):
            return number + 1
    return start + 1
