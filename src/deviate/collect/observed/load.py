"""Numbers that depend on the clock, the process or the load of the machine, told by how they behave."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from deviate.analyse.naming.words import is_metric_word, meaning_of
from deviate.collect.measured import MACHINES
from deviate.collect.observed.slots import SlotSeries

#: Why such a number is no metric.
OF_LOAD = "runs that agree in all else that they computed differ in it: clock, process or load"

Floats = NDArray[np.float64]


def load_slots(
    by_run: Mapping[str, Sequence[SlotSeries]],
    recorded: Mapping[str, Mapping[str, Floats]],
    machines: Collection[str],
) -> set[tuple[str, str, int]]:
    """Return the keys of slots without a metric's name in which runs differ that are equal in all that they computed.

    What they computed are the recorded metrics but `machines`, which measure time or memory, and the printed numbers
    with the name of a loss or a quality. Numbers that never change prove nothing.
    """
    alike: dict[bytes, list[str]] = {}
    for run, series in by_run.items():
        computed = [*_recorded(recorded.get(run, {}), machines), *_printed(series)]
        if not all(np.array_equal(values[1:], values[:-1], equal_nan=True) for _, values in computed):
            alike.setdefault(_digest(computed), []).append(run)
    return {key for runs in alike.values() for key in _differing([by_run[run] for run in runs])}


def _recorded(values: Mapping[str, Floats], machines: Collection[str]) -> Iterator[tuple[str, Floats]]:
    return ((name, values[name]) for name in sorted(values) if name not in machines)


def _printed(series: Sequence[SlotSeries]) -> Iterator[tuple[str, Floats]]:
    named = {repr(each.slot.key): each.values for each in series if _is_quality(each)}
    return ((key, named[key]) for key in sorted(named))


def _is_quality(series: SlotSeries) -> bool:
    meaning = meaning_of(series.slot.words)
    return meaning is not None and meaning.kind not in MACHINES and is_metric_word(series.slot.words)


def _digest(computed: Sequence[tuple[str, Floats]]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name, values in computed:
        digest.update(name.encode() + b"\0" + values.tobytes())
    return digest.digest()


def _differing(runs: Sequence[Sequence[SlotSeries]]) -> set[tuple[str, str, int]]:
    values: dict[tuple[str, str, int], set[bytes]] = {}
    for series in runs:
        for each in series:
            if meaning_of(each.slot.words) is None:
                values.setdefault(each.slot.key, set()).add(each.values.tobytes())
    return {key for key, seen in values.items() if len(seen) > 1}
