"""Local folders of Weights & Biases: the ``.wandb`` file of each run, or its summary."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from deviate.importing.foreign import ForeignResults, ForeignRun, Reading, digest_of, in_order, seed_of, seeded_label
from deviate.importing.rows import flat
from deviate.paths import files_below
from deviate.trackers.wandb import FILE_HEAD, HISTORY, history, is_own, item, numbers_in, parsed, records, step_of
from deviate.trackers.wire import DamagedFileError, TornMessageError, Value, fields, inner, signed, text

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
    runs = [_or_broken(path, run) for path, run in read.items() if run.readings or path.parent not in kept]
    alone = [path for path in loose if not os.path.isfile(path.with_name(HISTORY_FILE))]
    notes = ["Of some runs only the summary is there: one value per metric, no learning curve."] if alone else []
    return ForeignResults(runs=in_order([*runs, *(_from_summary(path) for path in loose)]), notes=notes)


def _once(paths: Iterable[Path]) -> list[Path]:
    """Return files without copies, such as those below ``latest-run``; each holds the time that its run took."""
    ordered = sorted(paths, key=lambda path: (_folder(path).name == LATEST, path))
    first = {_identity(path): path for path in reversed(ordered)}
    return sorted(first.values())


def _identity(path: Path) -> str:
    """Return what only a copy of a file has in common with it: what it holds, if that has the time of its run."""
    data = path.read_bytes()
    # A file of a run that wrote nothing has a head alone, the same in all of them.
    is_timed = len(data) > FILE_HEAD and (path.name != SUMMARY or b"_runtime" in data or b"_timestamp" in data)
    return digest_of([path, *_configs(path)]) if is_timed else str(path)


def _configs(path: Path) -> list[Path]:
    return [file for file in (path.with_name(CONFIG),) if os.path.isfile(file)]


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


def _or_broken(path: Path, run: ForeignRun) -> ForeignRun:
    return run if run.readings or run.broken else msgspec.structs.replace(run, broken=f"no value in {path.name}")


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
                    readings += _readings(inner(value))
                elif number == 17:
                    facts.update(_run_facts(inner(value)))
                elif number == 18:
                    facts.update(_exit_facts(inner(value)))
        except TornMessageError:
            break
    summary = path.parent / "files" / SUMMARY
    if "exit_code" not in facts and os.path.isfile(summary):
        # The file was cut, or its program killed: what the summary has of later steps is not in it.
        later, seconds = _later(summary, readings)
        readings += later
        facts.update({} if seconds is None else {"runtime": seconds, "exit_code": None})
    name = facts.get("name") or facts.get("id") or path.stem.removeprefix("run-")
    # What a program sets after its start is in the file beside alone.
    settings = {**_config_of(path.parent), **facts.get("settings", {})}
    return ForeignRun(
        label=seeded_label(str(name), seed_of(settings)),
        readings=readings,
        settings=settings,
        group=str(facts.get("group", "")),
        seconds=facts.get("runtime"),
        # A run without an exit record was killed, or goes on.
        status=_status(facts),
    )


def _status(facts: dict[str, Any]) -> str:
    """Return how a run ended; empty where it did, and nothing says how."""
    if facts.get("exit_code", -1) is None:
        return ""
    return "finished" if facts.get("exit_code") == 0 else "crashed" if "exit_code" in facts else "not ended"


def _later(path: Path, readings: Sequence[Reading]) -> tuple[list[Reading], float | None]:
    """Return what a summary has of steps behind the last reading, and the time that the run took, if it tells it."""
    summary = _summary(path)
    step = step_of(summary, -1)
    last = {reading.metric: reading for reading in readings}
    is_later = step > max((reading.iteration for reading in readings), default=step)
    found = [
        Reading(name, step, value)
        for name, value in summary.items()
        if is_later and not is_own(name) and (name not in last or last[name].value != value)
    ]
    return found, summary.get("_wandb/runtime")


def _summary(path: Path) -> dict[str, float]:
    return numbers_in(path.read_text(encoding="utf-8", errors="replace"))


def _readings(message: bytes) -> Iterator[Reading]:
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
    facts: dict[str, Any] = {"exit_code": 0}
    for number, value in fields(message):
        facts.update(_exit_fact(number, value))
    return facts


def _exit_fact(number: int, value: Value) -> dict[str, Any]:
    names = {1: "exit_code", 2: "runtime"}
    return {names[number]: signed(value)} if number in names else {}


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
