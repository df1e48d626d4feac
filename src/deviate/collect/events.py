"""What the processes of runs said beside their records: seeds replaced, switches set, notes, environments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from deviate.collect.processes import Process, processes
from deviate.replicate.workspace import RunFolder


class ReplacedSeed(msgspec.Struct, frozen=True, kw_only=True):
    """A seed the program gave itself and the runtime replaced."""

    call: str
    file: str
    line: int
    #: What the program asked for, as text.
    given: str = ""
    #: Names of the runs in which it was replaced.
    runs: list[str] = []


class Switch(msgspec.Struct, frozen=True, kw_only=True):
    """A determinism switch that was set."""

    name: str
    value: str
    runs: list[str] = []


class RuntimeNote(msgspec.Struct, frozen=True, kw_only=True):
    """Something the runtime could not do."""

    slug: str
    message: str
    #: Names of the runs it was noted in; empty where it concerns all.
    runs: list[str] = []


class EnvironmentDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the environment in which runs of one variant differ."""

    name: str
    #: Names of the runs, by the value they saw, in JSON.
    values: dict[str, list[str]]
    variant: str = ""


#: Keys of the environment event that say which process it was, not what it ran in.
_IDENTITY = frozenset({"event", "pid", "ppid", "time", "elapsed", "rank"})

#: Set by Deviate itself to other values in other runs: a factor that varies, and which of equal GPUs a run was given.
_GIVEN = frozenset({"variables.PYTHONHASHSEED", "variables.CUDA_VISIBLE_DEVICES"})


def replaced_seeds(runs: Iterable[RunFolder]) -> list[ReplacedSeed]:
    """Return the places where the program's own seeds were replaced, by file and line."""
    merged = _merge(runs, "seed", ("file", "line", "call", "given"))
    return [
        ReplacedSeed(file=str(file), line=int(line or 0), call=str(call), given=str(given), runs=names)
        for (file, line, call, given), names in merged
    ]


def switches(runs: Iterable[RunFolder]) -> list[Switch]:
    """Return the determinism switches that were set."""
    merged = _merge(runs, "switch", ("name", "value"))
    return [Switch(name=str(name), value=str(value), runs=names) for (name, value), names in merged]


def notes(runs: Iterable[RunFolder]) -> list[RuntimeNote]:
    """Return what the runtime could not do."""
    merged = _merge(runs, "note", ("slug", "message"))
    return [RuntimeNote(slug=str(slug), message=str(message), runs=names) for (slug, message), names in merged]


def environment(run: RunFolder) -> dict[str, Any]:
    """Return the environment of a run: what its processes said, later ones filling in what earlier ones did not."""
    merged: dict[str, Any] = {}
    for process in processes(run):
        for event in process.events:
            if event["event"] == "environment":
                merged |= {key: value for key, value in event.items() if key not in _IDENTITY and key not in merged}
            elif event["event"] == "start" and "python" in event:
                merged.setdefault("python", event["python"])
    return merged


def environment_differences(runs: Iterable[RunFolder]) -> list[EnvironmentDifference]:
    """Return the parts of the environment in which runs of one variant differ, and so are not identical runs."""
    by_variant: dict[str, dict[str, dict[str, Any]]] = {}
    for run in runs:
        by_variant.setdefault(run.run.variant, {})[run.run.folder] = _flat(environment(run))
    return [
        difference for variant, environments in by_variant.items() for difference in _differences(variant, environments)
    ]


def _differences(variant: str, environments: dict[str, dict[str, Any]]) -> list[EnvironmentDifference]:
    known = {run: values for run, values in environments.items() if values}
    keys = sorted({key for values in known.values() for key in values} - _GIVEN)
    found = [(key, _by_value(key, known)) for key in keys]
    return [EnvironmentDifference(variant=variant, name=key, values=values) for key, values in found if len(values) > 1]


def _by_value(key: str, environments: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for run, found in environments.items():
        values.setdefault(msgspec.json.encode(found.get(key), order="sorted").decode(), []).append(run)
    return values


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        flat |= _flat(value, f"{name}.") if isinstance(value, dict) else {name: value}
    return flat


def _merge(runs: Iterable[RunFolder], kind: str, keys: tuple[str, ...]) -> list[tuple[tuple[Any, ...], list[str]]]:
    """Return the distinct events of one kind, each with the names of the runs it occurred in."""
    merged: dict[tuple[Any, ...], list[str]] = {}
    for run in runs:
        for event in _events(processes(run), kind):
            names = merged.setdefault(tuple(_plain(event.get(key)) for key in keys), [])
            if run.run.folder not in names:
                names.append(run.run.folder)
    return sorted(merged.items(), key=lambda item: [str(part).rjust(12) for part in item[0]])


def _plain(value: Any) -> Any:
    """Return `value` as something that can be a key; what is no plain value becomes its JSON."""
    return value if isinstance(value, str | int | float | None) else msgspec.json.encode(value).decode()


def _events(found: Iterable[Process], kind: str) -> Iterable[dict[str, Any]]:
    return (event for process in found for event in process.events if event["event"] == kind)
