"""What the processes of runs reported beside their records, and what none of them reported.

Seeds replaced, switches set, notes, environments; programs that were not reached, operations that frameworks warn of.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

import msgspec

from deviate.core.experiment import Draw
from deviate.core.factors import DATA, find_variant
from deviate.core.frameworks import FRAMEWORKS
from deviate.observe.fingerprints import SEEDS, DrawSource
from deviate.observe.records import RunFiles
from deviate.store.records import has_values
from deviate.store.run_files import ContainerInfo, Unfinished


class ReplacedSeed(msgspec.Struct, frozen=True, kw_only=True):
    """A seed the program gave itself and the runtime replaced."""

    call: str
    file: str
    line: int
    #: What the program asked for, as text.
    given: str = ""
    #: True: a library seeds, by its default or by what it was passed; `file` is then the library's.
    library: bool = False
    #: The line of the project that led there, ``train.py:15``; empty where it is the line itself.
    through: str = ""
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


class ReachedDraw(msgspec.Struct, frozen=True, kw_only=True):
    """A draw in the project's own files that was reached."""

    #: What it drew for.
    factor: str
    call: str
    file: str
    line: int
    why: str = ""
    #: Names of the runs that reached it.
    runs: list[str] = []
    #: Whether names in the source alone tell the factor.
    by_name: bool = False


#: Keys of the environment event that say which process it was, not what it ran in.
_IDENTITY = frozenset({"event", "pid", "ppid", "time", "elapsed", "rank"})

#: Set by Deviate itself to other values in other runs: a factor that varies, and which of equal GPUs a run was given.
#: The commit may be another although what is trained, the snapshot, is the same.
_GIVEN = frozenset({"variables.PYTHONHASHSEED", "variables.CUDA_VISIBLE_DEVICES", "variables.CUDA_DEVICE_ORDER", "git"})

#: In the environment of every process that came to its end.
_SAID_AT_THE_END = "threads"

#: A switch that programs set themselves, after Deviate.
_THREADS_SWITCH = "torch.set_num_threads"

#: Beginnings of keys that differ on purpose between runs on emulated platforms.
_EMULATED = ("variables.", "threads", "cpu_capability")


def replaced_seeds(runs: Sequence[RunFiles]) -> list[ReplacedSeed]:
    """Return the places where the program's own seeds were replaced, by file and line.

    Not those that were replaced for nothing, because all that was drawn from them is data (see `kept_seeds`) or seeds.
    Keys that may have made no draw are left out, too.
    """
    kept = {(seed.call, seed.file, seed.line) for seed in kept_seeds(runs)}
    passed_on, drawn = _drawn_from(runs, SEEDS, within=True), _drawn_from(runs, DATA, SEEDS, within=False)
    spared = (kept | passed_on | _drawn_from(runs, within=False, told=False)) - drawn
    return [seed for seed in _seeds(runs, replaced=True) if (seed.call, seed.file, seed.line) not in spared]


def _drawn_from(runs: Sequence[RunFiles], *names: str, within: bool, told: bool = True) -> set[tuple[str, str, int]]:
    """Return the places that seeded what was drawn under these names, or under all others; or that may have."""
    return {
        (source.call, source.file, source.line)
        for run in runs
        for name, fingerprint in run.fingerprints.items()
        if (name in names) == within
        for source in fingerprint.sources
        if ("?" not in source.generator) == told
    }


def kept_seeds(runs: Iterable[RunFiles]) -> list[ReplacedSeed]:
    """Return the places whose seeds hold the data fixed: there the program's own were left as given.

    One may be replaced for what else is drawn from the same generator.
    """
    merged: dict[DrawSource, list[str]] = {}
    for run in runs:
        variant = find_variant(run.variant)
        drawn = run.fingerprints.get(DATA)
        if variant is not None and variant.controlled and DATA not in variant.varying and drawn is not None:
            for source in drawn.sources:
                if source.call and "?" not in source.generator:
                    merged.setdefault(source, []).append(run.name)
    return [
        ReplacedSeed(call=source.call, file=source.file, line=source.line, given=source.given, runs=names)
        for source, names in sorted(merged.items())
    ]


def given_seeds(runs: Iterable[RunFiles]) -> list[ReplacedSeed]:
    """Return the places where the program seeds itself and nothing was replaced, because it was only looked at."""
    return _seeds(runs, replaced=False)


def _seeds(runs: Iterable[RunFiles], *, replaced: bool) -> list[ReplacedSeed]:
    merged = _merge(runs, "seed", ("file", "line", "call", "given", "library", "replaced", "through"))
    return [
        ReplacedSeed(
            file=str(file),
            line=int(line or 0),
            call=str(call),
            given=str(given),
            library=bool(library),
            through=str(through or ""),
            runs=names,
        )
        for (file, line, call, given, library, was, through), names in merged
        if (was is not False) == replaced
    ]


def reached_draws(runs: Iterable[RunFiles], draws: Sequence[Draw]) -> list[ReachedDraw]:
    """Return the experiment's draws that at least one of `runs` reached, by file and line.

    A draw that is not known to serve a factor counts for each that it drew for.
    """
    reached: dict[tuple[str, int, str, str], ReachedDraw] = {}
    for (site, drawn_for), names in _merge(runs, "draw", ("site", "factor")):
        if not isinstance(site, int) or not 0 <= site < len(draws):
            continue
        draw = draws[site]
        factor = str(drawn_for or draw.factor)
        key = draw.file, draw.line, draw.call, factor
        before = reached[key].runs if key in reached else []
        reached[key] = ReachedDraw(
            factor=factor,
            call=draw.call,
            file=draw.file,
            line=draw.line,
            why=draw.why,
            runs=list(dict.fromkeys([*before, *names])),
            by_name=draw.by_name,
        )
    return [reached[key] for key in sorted(reached)]


def switches(runs: Sequence[RunFiles]) -> list[Switch]:
    """Return the determinism switches that were set, and that the program left as they were."""
    taken_back = {run.name for run in runs if run.info is not None and threads(run) != run.info.threads}
    merged = _merge(runs, "switch", ("name", "value"))
    kept = [
        Switch(
            name=str(name),
            value=str(value),
            runs=[run for run in names if name != _THREADS_SWITCH or run not in taken_back],
        )
        for (name, value), names in merged
    ]
    return [switch for switch in kept if switch.runs]


def notes(runs: Iterable[RunFiles]) -> list[RuntimeNote]:
    """Return what the runtime could not do."""
    merged = _merge(runs, "note", ("slug", "message"))
    return [RuntimeNote(slug=str(slug), message=str(message), runs=names) for (slug, message), names in merged]


def notes_left_out(runs: Iterable[RunFiles]) -> dict[str, int]:
    """Return how many notes one process left out at least, by slug, where any did."""
    most: dict[str, int] = {}
    for (slug, count), _ in _merge(runs, "notes-left-out", ("slug", "count")):
        most[str(slug)] = max(most.get(str(slug), 0), int(count or 0))
    return most


def environment(run: RunFiles) -> dict[str, Any]:
    """Return the environment of a run as its processes recorded it; later ones fill in what earlier ones did not.

    What the tool knows of the machine is added. Empty where no process recorded anything.
    """
    merged = _process_environment(run)
    info = run.info
    if not merged or info is None:
        return merged
    known = {
        **{"host": info.host, "system": info.system, "git": info.git, "installed_gpus": info.installed_gpus},
        "container": _container_text(info.container) if info.container else "",
    }
    variables = {**info.variables, **merged.get("variables", {})}
    return {**merged, **{key: value for key, value in known.items() if value}, "variables": variables}


def _container_text(container: ContainerInfo) -> str:
    return " ".join(part for part in (container.engine, container.image, container.identity) if part)


def threads(run: RunFiles) -> int | None:
    """Return the number of threads of a run: what the program set itself, else what it was given.

    None where it was given none, and may have taken another number in each run.
    """
    if run.info is None or run.info.threads is None:
        return None
    recorded = _process_environment(run).get("threads")
    return recorded if isinstance(recorded, int) else run.info.threads


#: Packages that take every GPU they find; the runtime learns of GPUs from torch only.
_TAKING = frozenset(package for framework in FRAMEWORKS if framework.takes_gpus for package in framework.packages)


def used_gpu(run: RunFiles) -> bool:
    """Tell whether a run used a GPU, as far as is known; one that may have used one counts as having done so."""
    surroundings, info = environment(run), run.info
    if surroundings.get("gpu"):
        return True
    visible = surroundings.get("variables", {}).get("CUDA_VISIBLE_DEVICES") not in ("", "-1")
    libraries = set(surroundings.get("libraries", {}))
    return bool(info is not None and info.installed_gpus and visible and _TAKING & libraries)


class TurnedBit(msgspec.Struct, frozen=True, kw_only=True):
    """The weight of a run that was moved by one unit in the last place."""

    tensor: str
    index: str
    before: str
    after: str


def turned_bit(run: RunFiles) -> TurnedBit | None:
    """Return the weight of a run that was changed; None where none was."""
    for event in _events(run, "bit"):
        parts = {key: _plain(event.get(key)) for key in ("tensor", "index", "before", "after")}
        return TurnedBit(**{key: "" if value is None else str(value) for key, value in parts.items()})
    return None


def _process_environment(run: RunFiles) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for process in run.processes:
        for event in process.events:
            if event["event"] == "environment":
                merged |= {key: value for key, value in event.items() if key not in _IDENTITY and key not in merged}
            elif event["event"] == "start" and "python" in event:
                merged.setdefault("python", event["python"])
    return merged


def environment_differences(runs: Iterable[RunFiles]) -> list[EnvironmentDifference]:
    """Return the parts of the environment in which runs of one variant differ, and so are not identical runs.

    A run that was proven equal to one of another variant, and so not made, has that one's: it is left out.
    """
    runs = [run for run in runs if run.info is None or not run.info.same_as]
    by_variant: dict[str, dict[str, dict[str, Any]]] = {}
    for run in runs:
        by_variant.setdefault(run.variant, {})[run.name] = {**_flat(environment(run)), **interpreter(run)}
    # One that was interrupted or crashed may not yet have imported what the others did.
    cut = frozenset(run.name for run in runs if isinstance(run.outcome, Unfinished))
    return [
        difference
        for variant, environments in by_variant.items()
        for difference in _differences(variant, environments, cut)
    ]


def interpreter(run: RunFiles) -> dict[str, str]:
    """Return the Python that a run began with, under its name; nothing where none told."""
    path = next((str(event["executable"]) for event in _events(run, "start") if event.get("executable")), "")
    return {"interpreter": path.replace(f"{run.folder.path}/", "")} if path else {}


def surroundings(run: RunFiles) -> dict[str, Any]:
    """Return the environment of a run with each part under a name of its own, such as ``libraries.torch``."""
    return {name: value for name, value in _flat(environment(run)).items() if name not in _GIVEN}


def _differences(
    variant: str, environments: dict[str, dict[str, Any]], cut: frozenset[str]
) -> list[EnvironmentDifference]:
    known = {run: values for run, values in environments.items() if values}
    named = find_variant(variant)
    meant = _EMULATED if named is not None and named.disturbed == "platform" else ()
    keys = sorted({key for values in known.values() for key in values if not key.startswith(meant)} - _GIVEN)
    by_key = [(key, _by_value(key, known, cut)) for key in keys]
    return [
        EnvironmentDifference(variant=variant, name=key, values=values) for key, values in by_key if len(values) > 1
    ]


def _by_value(key: str, environments: dict[str, dict[str, Any]], cut: frozenset[str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for run, recorded in environments.items():
        # A run that was ended while it went on did not say all: what it did not say is not known to differ.
        if key in recorded or (_SAID_AT_THE_END in recorded and run not in cut):
            values.setdefault(msgspec.json.encode(recorded.get(key), order="sorted").decode(), []).append(run)
    return values


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        flat |= _flat(value, f"{name}.") if isinstance(value, dict) else {name: value}
    return flat


def _merge(runs: Iterable[RunFiles], kind: str, keys: tuple[str, ...]) -> list[tuple[tuple[Any, ...], list[str]]]:
    """Return the distinct events of one kind, each with the names of the runs it occurred in."""
    merged: dict[tuple[Any, ...], list[str]] = {}
    for run in runs:
        for event in _events(run, kind):
            names = merged.setdefault(tuple(_plain(event.get(key)) for key in keys), [])
            if run.name not in names:
                names.append(run.name)
    return sorted(merged.items(), key=lambda item: [str(part).rjust(12) for part in item[0]])


def _plain(value: Any) -> Any:
    """Return `value` as something that can be a key; what is no plain value becomes its JSON."""
    return value if isinstance(value, str | int | float | None) else msgspec.json.encode(value).decode()


def _events(run: RunFiles, kind: str) -> Iterable[dict[str, Any]]:
    return (event for process in run.processes for event in process.events if event["event"] == kind)


class UnseenPrograms(msgspec.Struct, frozen=True, kw_only=True):
    """Python programs of one run in which the runtime was not started."""

    #: Commands up to their program, ``python -I train.py``.
    commands: list[str] = []
    #: The training may be among them: what the run drew is not known.
    trains: bool = False


def unseen_programs(run: RunFiles, entries: Sequence[str]) -> UnseenPrograms:
    """Return the Python programs that a run started and that never reported.

    `entries` are the scripts that the command was seen to start. Where no process of a completed run recorded or drew
    anything and none of them reported, it ran where nobody saw it.
    """
    starts = [event for process in run.processes for event in process.events if event["event"] == "start"]
    children = [event for process in run.processes for event in process.events if event["event"] == "child"]
    unseen = [each for index, each in enumerate(children) if not _has_reported(each, children[:index], starts)]
    commands = list(dict.fromkeys(_command(each) for each in unseen))
    named = run.completed and any(_words(start)[-1] for start in starts)
    missed = [entry for entry in entries if not _is_among(entry, starts)] if named and not commands else []
    if (commands or missed) and not _did_anything(run):
        return UnseenPrograms(commands=[*commands, *missed], trains=True)
    return UnseenPrograms(commands=commands, trains=any(_is_own(each, run) for each in unseen))


def _did_anything(run: RunFiles) -> bool:
    """Tell whether a process that reported recorded a value or drew a random number."""
    return has_values(run.folder) or any(not each.is_undrawn for each in run.fingerprints.values())


def _has_reported(child: dict[str, Any], before: Iterable[dict[str, Any]], starts: Sequence[dict[str, Any]]) -> bool:
    pid = child.get("pid")
    if child.get("how") == "replace":
        # A process that became another program is the same process: each time it starts once more.
        becomes = [each for each in before if each.get("how") == "replace" and each.get("pid") == pid]
        return len([start for start in starts if start.get("pid") == pid]) > len(becomes) + 1
    if pid is not None and any(pid in (start.get("pid"), start.get("ppid")) for start in starts):
        return True
    return bool(pid is None or child.get("through")) and _is_among(_words(child)[-1], starts)


def _is_among(program: str, starts: Iterable[dict[str, Any]]) -> bool:
    """Tell whether a program reported, by its name: others may have started it from elsewhere."""
    names = {PurePath(words[-1]).stem for start in starts if (words := _words(start))}
    stem: str = PurePath(program).stem
    return stem in names or any(name.rpartition(".")[2] == stem for name in names)


def _words(event: dict[str, Any]) -> list[str]:
    words = event.get("argv")
    return [str(word) for word in words] if isinstance(words, list) and words else [""]


def _command(child: dict[str, Any]) -> str:
    first, *others = _words(child)
    return " ".join([os.path.basename(first), *(os.path.basename(word) for word in others)])


def _is_own(child: dict[str, Any], run: RunFiles) -> bool:
    """Tell whether a program is code of the project."""
    words = _words(child)
    if len(words) < 2 or words[-1] == "-c":
        return False
    snapshot = run.folder.path.parents[1] / "snapshot"
    if words[-2] == "-m":
        path = words[-1].replace(".", "/")
        return any((snapshot / name).exists() for name in (f"{path}.py", path, f"src/{path}.py", f"src/{path}"))
    script = Path(words[-1])
    return not script.is_absolute() or script.is_relative_to(run.folder.path)


# Operations without a deterministic form, as frameworks warn of them: to the runtime, or on standard error.


class WarnedOperation(msgspec.Struct, frozen=True, kw_only=True):
    """An operation whose result may differ although the implementation is held fixed."""

    operation: str
    #: Names of the runs that warned of it.
    runs: list[str] = []


_WARNINGS = tuple(re.compile(pattern) for framework in FRAMEWORKS for pattern in framework.warnings)

#: In every one of them; most lines are passed over by it.
_MARK = "eterministic"


def warned_operations(runs: Iterable[RunFiles]) -> list[WarnedOperation]:
    """Return the operations that runs warned of, by name."""
    by_operation: dict[str, list[str]] = {}
    for run in runs:
        for operation in sorted({*_recorded_operations(run), *operations_in(run.folder.stderr_file)}):
            by_operation.setdefault(operation, []).append(run.name)
    return [WarnedOperation(operation=name, runs=by_operation[name]) for name in sorted(by_operation)]


def _recorded_operations(run: RunFiles) -> Iterator[str]:
    """Yield the operations that the runtime recorded, whose warnings it does not show (torch)."""
    for process in run.processes:
        for event in process.events:
            if event["event"] == "nondeterministic":
                yield str(event["operation"])


def operations_in(path: Path) -> Iterator[str]:
    """Yield the operations that a log names, each time it does."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if _MARK in line:
                yield from (match[1].strip("'\"`") for pattern in _WARNINGS for match in pattern.finditer(line))
