"""Local folders of Weights & Biases: the ``.wandb`` file of each run, or its summary."""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from deviate.importing.foreign import ForeignResults, ForeignRun, Reading, in_order, seeded_label
from deviate.importing.wire import DamagedFileError, TornMessageError, Value, fields, inner, signed, text

#: A ``.wandb`` file is a LevelDB log after a header of seven bytes: blocks of 32 KiB, each a row of chunks with a head
#: of checksum (4 bytes), length (2) and type (1); a record may be spread over several chunks. The checksum is the
#: CRC-32 of type and data (LevelDB has CRC-32C there): ``wandb/sdk/internal/datastore.py``.
#: https://github.com/google/leveldb/blob/main/doc/log_format.md
FILE_HEAD, BLOCK, CHUNK_HEAD = 7, 32768, 7
FULL, FIRST, LAST = 1, 2, 4
MAGIC = b":W&B"

SUMMARY = "wandb-summary.json"


def read_wandb(roots: list[Path]) -> ForeignResults:
    """Read the runs below `roots`: a ``wandb`` folder, a run's folder, or a ``.wandb`` file."""
    files = sorted({path for root in roots for path in _run_files(root)})
    read = {path: read_run(path) for path in files}
    summaries = sorted({path for root in roots if root.is_dir() for path in root.rglob(SUMMARY)})
    known = {path.parent for path, run in read.items() if run.readings}
    loose = [path for path in summaries if _folder(path) not in known]
    # Without values in either, a run failed before its first.
    kept = {_folder(path) for path in loose}
    runs = [_or_broken(path, run) for path, run in read.items() if run.readings or path.parent not in kept]
    notes = ["Of some runs only the summary is there: one value a metric, no learning curve."] if loose else []
    return ForeignResults(runs=in_order([*runs, *(_from_summary(path) for path in loose)]), notes=notes)


def _folder(summary: Path) -> Path:
    """Return the run's folder: wandb puts the summary into ``files`` in it, a download beside."""
    return summary.parent.parent if summary.parent.name == "files" else summary.parent


def _or_broken(path: Path, run: ForeignRun) -> ForeignRun:
    return run if run.readings or run.broken else msgspec.structs.replace(run, broken=f"no value in {path.name}")


def _run_files(root: Path) -> list[Path]:
    if root.is_file():
        return [root]
    # `latest-run` is a link to a folder that is there under its own name.
    return [path for path in root.rglob("*.wandb") if not path.parent.is_symlink()]


def read_run(path: Path) -> ForeignRun:
    """Read a ``.wandb`` file; a torn end is passed over, and of a damaged file nothing counts.

    ``Record``: history = 2, run = 17, exit = 18. ``RunRecord``: run_id = 1, config = 4, run_group = 6,
    display_name = 8. ``RunExitRecord``: exit_code = 1, runtime = 2.
    """
    facts: dict[str, Any] = {}
    readings: list[Reading] = []
    try:
        records = list(_records(path.read_bytes()))
    except DamagedFileError as error:
        return ForeignRun(label=path.stem.removeprefix("run-"), readings=[], broken=f"{path.name} is damaged: {error}")
    for record in records:
        try:
            for number, value in fields(record):
                if number == 2:
                    readings += _history(inner(value))
                elif number == 17:
                    facts.update(_run_facts(inner(value)))
                elif number == 18:
                    facts.update(_exit_facts(inner(value)))
        except TornMessageError:
            break
    name = facts.get("name") or facts.get("id") or path.stem.removeprefix("run-")
    return ForeignRun(
        label=seeded_label(str(name), facts.get("seed")),
        readings=readings,
        group=str(facts.get("group", "")),
        seconds=facts.get("runtime"),
        # A run without an exit record was killed, or goes on.
        status="finished" if facts.get("exit_code") == 0 else "crashed" if "exit_code" in facts else "not ended",
    )


def _records(data: bytes) -> Iterator[bytes]:
    """Yield whole records of the log.

    Raises
    ------
    DamagedFileError
        If a checksum is not that of its bytes.
    """
    if not data.startswith(MAGIC):
        return
    offset, parts = FILE_HEAD, list[bytes]()
    while offset + CHUNK_HEAD <= len(data):
        left = BLOCK - offset % BLOCK
        if left < CHUNK_HEAD:
            offset += left
            continue
        checksum, length, kind = struct.unpack_from("<IHB", data, offset)
        start = offset + CHUNK_HEAD
        if checksum == length == kind == 0 or start + length > len(data):
            return
        if checksum != zlib.crc32(data[start : start + length], zlib.crc32(bytes([kind]))):
            raise DamagedFileError(f"bytes {offset:,} to {start + length:,} are not those that were written")
        if kind in (FULL, FIRST):
            parts = []
        parts.append(data[start : start + length])
        if kind in (FULL, LAST):
            yield b"".join(parts)
        offset = start + length


def _history(message: bytes) -> Iterator[Reading]:
    """Yield the numbers of one ``HistoryRecord``: item = 1 (key = 1, nested_key = 2, value_json = 16), step = 2."""
    values: dict[str, float] = {}
    step = None
    for number, value in fields(message):
        if number == 1:
            key, text_value = _item(inner(value))
            values.update(_numbers_in(text_value, key))
        elif number == 2:
            step = next((signed(inside) for field, inside in fields(inner(value)) if field == 1), 0)
    elapsed = values.get("_runtime", math.nan)
    iteration = _step(values, -1 if step is None else step)
    for name, readings in values.items():
        if not name.startswith("_"):
            yield Reading(name, iteration, readings, elapsed)


def _item(message: bytes) -> tuple[str, str]:
    key, nested, text_value = "", list[str](), ""
    for number, value in fields(message):
        if number == 1:
            key = text(value)
        elif number == 2:
            nested.append(text(value))
        elif number == 16:
            text_value = text(value)
    return "/".join(nested) or key, text_value


def _step(values: dict[str, float], otherwise: int) -> int:
    """Return the step that the values name, where it is a number."""
    named = values.get("_step", math.nan)
    return int(named) if math.isfinite(named) else otherwise


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _numbers_in(text: str, name: str = "") -> dict[str, float]:
    """Return the numbers in a JSON text by name; none where it is nested too deeply."""
    try:
        return numbers(name, _parsed(text))
    except RecursionError:
        return {}


def numbers(name: str, value: object) -> dict[str, float]:
    """Return the numbers in a value by name; those of a mapping are named ``outer/inner``."""
    if isinstance(value, dict):
        parts = (numbers(f"{name}/{key}" if name else str(key), inside) for key, inside in value.items())
        return {key: number for part in parts for key, number in part.items()}
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return {name: float(value)}
    return {name: float(value)} if isinstance(value, int | float) and not isinstance(value, bool) else {}


def _run_facts(message: bytes) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for number, value in fields(message):
        if number in (1, 6, 8):
            facts[{1: "id", 6: "group", 8: "name"}[number]] = text(value)
        elif number == 4:
            facts.update(("seed", seed) for seed in _seeds(inner(value)))
    return facts


def _seeds(config: bytes) -> Iterator[object]:
    for number, value in fields(config):
        key, text_value = _item(inner(value)) if number == 1 else ("", "")
        if key.lower() in ("seed", "random_seed", "random-seed"):
            yield _parsed(text_value)


def _exit_facts(message: bytes) -> dict[str, Any]:
    facts: dict[str, Any] = {"exit_code": 0}
    for number, value in fields(message):
        facts.update(_exit_fact(number, value))
    return facts


def _exit_fact(number: int, value: Value) -> dict[str, Any]:
    names = {1: "exit_code", 2: "runtime"}
    return {names[number]: signed(value)} if number in names else {}


def _from_summary(path: Path) -> ForeignRun:
    summary = _numbers_in(path.read_text(encoding="utf-8", errors="replace"))
    step = _step(summary, -1)
    readings = [Reading(name, step, value) for name, value in summary.items() if not name.startswith("_")]
    return ForeignRun(label=_folder(path).name, readings=readings, seconds=summary.get("_wandb/runtime"))
