"""How far a run is, read from the ends of its record files while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from deviate.replicate.records import FIRST_DYNAMIC, TICK, rank_of, read_events, read_tail
from deviate.replicate.workspace import RunFolder

#: Records looked at, from the end: more than most programs report in one iteration.
TAIL = 1000


def read_progress(folder: RunFolder, metrics: Sequence[str]) -> tuple[int | None, dict[str, float]]:
    """Return the current iteration and the latest value of each metric.

    Parameters
    ----------
    folder : RunFolder
        A run that may go on.
    metrics : sequence of str
        Names of the experiment's metrics; the position is the id.
    """
    iteration: int | None = None
    values: dict[str, float] = {}
    for path in folder.record_files():
        events = _events(path)
        if rank_of(events) not in (None, 0):
            continue
        names = {event.get("id"): str(event.get("name")) for event in events if event["event"] == "name"}
        latest, found = _latest(path)
        values |= {_name(key, metrics, names): value for key, value in found.items()}
        iteration = latest if iteration is None else max(iteration, latest or 0)
    return iteration, values


def _events(record_file: Path) -> list[dict[str, object]]:
    path = record_file.with_name(record_file.name.replace("records-", "events-", 1)).with_suffix(".jsonl")
    return read_events(path) if path.is_file() else []


def _latest(path: Path) -> tuple[int | None, dict[int, float]]:
    records = read_tail(path, TAIL)
    if not len(records):
        return None, {}
    # The first of equal ids in reverse order is the last one written.
    ids, places = np.unique(records["id"][::-1], return_index=True)
    values = {int(key): float(records["value"][::-1][place]) for key, place in zip(ids, places, strict=True)}
    last = int(records["iteration"][-1])
    return (last if last >= 0 else None), {key: value for key, value in values.items() if key != TICK}


def _name(key: int, metrics: Sequence[str], names: dict[object, str]) -> str:
    if key >= FIRST_DYNAMIC:
        return names.get(key, f"unnamed {key}")
    return metrics[key] if 0 <= key < len(metrics) else f"unnamed {key}"
