"""How often a run went through its main loop: one training after the other, or several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from deviate.observe.processes import Process
from deviate.store.records import TICK


class Trainings(msgspec.Struct, frozen=True, kw_only=True):
    """Trainings, or stages of one, that a run was seen to have."""

    #: Times that the main loop was begun, but for those that went on where it had been left.
    count: int = 0
    #: Whether processes went through it at the same time.
    together: bool = False


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """The main loop was begun."""

    #: The how many-th time in its process, from 1.
    number: int
    #: The number that it began with; None where it goes over something else.
    item: int | None


@dataclass(frozen=True)
class Looped:
    """A process that went through the main loop."""

    process: Process
    entries: list[Entry]

    @property
    def began(self) -> float:
        """Unix seconds at which it started."""
        return self.process.started or 0.0

    @cached_property
    def records(self) -> NDArray[np.void]:
        """What it recorded."""
        return self.process.records()

    @property
    def ended(self) -> float:
        """Unix seconds of its last record."""
        return self.began + (float(self.records["elapsed"].max()) if len(self.records) else 0.0)

    @cached_property
    def ticks(self) -> NDArray[np.int32]:
        """The iterations that it counted."""
        iterations: NDArray[np.int32] = self.records["iteration"][self.records["id"] == TICK]
        return iterations

    def overlaps(self, other: Looped) -> bool:
        """Whether one started before the other had recorded its last value."""
        return self.began < other.ended and other.began < self.ended


def looped_processes(members: Sequence[Process]) -> list[Looped]:
    """Return those of `members` that entered the main loop, in the order in which they started."""
    looped = (Looped(each, entries) for each in members if (entries := _entries(each)))
    return sorted(looped, key=lambda each: each.began)


def _entries(process: Process) -> list[Entry]:
    return [
        Entry(number=event["number"], item=event.get("item"))
        for event in process.events
        if event["event"] == "loop" and isinstance(event.get("number"), int)
    ]


def trainings_of(members: Sequence[Process]) -> Trainings:
    """Return how often the processes that are a run trained, as far as they told."""
    looped = looped_processes(members)
    count, first = 0, None
    for each in looped:
        # Of very many entries only some were written.
        count += each.entries[-1].number - len(each.entries)
        for entry in each.entries:
            if _gone_on(entry.item, first) is None:
                count, first = count + 1, entry.item
    together = any(one.overlaps(other) for index, one in enumerate(looped) for other in looped[:index])
    return Trainings(count=count, together=together)


def _gone_on(item: int | None, first: int | None) -> int | None:
    """Return how far a loop that begins with a number is in the training that began with the `first`.

    None where it goes on with no training.
    """
    return item - first if item is not None and first is not None and item > first else None


def counted_before(looped: Sequence[Looped]) -> dict[str, int]:
    """Return how many iterations came before those of each process that began after others had ended, by its stem.

    A process that resumes a training goes on with the iteration that it begins with: what another one did after its
    checkpoint is done again.
    """
    before: dict[str, int] = {}
    first, start = None, 0
    for index, each in enumerate(looped):
        # A forked child goes on counting where its parent was.
        earlier = looped[:index] if len(each.ticks) and each.ticks[0] == 0 else []
        done = [one for one in earlier if one.ended <= each.began and len(one.ticks)]
        shift = max((before[one.process.stem] + int(one.ticks[-1]) + 1 for one in done), default=0)
        item = each.entries[0].item
        if (resumed := _gone_on(item, first)) is not None:
            shift = min(shift, start + resumed)
        else:
            first, start = item, shift
        before[each.process.stem] = shift
    return before
