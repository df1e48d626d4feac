"""Fingerprints of a run: digests of what each factor drew, of weights and of batches, over all its processes."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from deviate.collect.processes import Process, processes
from deviate.factors import SEEDED
from deviate.replicate.records import RECORD
from deviate.replicate.workspace import RunFolder

#: Fingerprints that are no factor's: of the final weights, and of the content of the first batches.
WEIGHTS = "weights"
BATCHES = "batches"

#: In this order they are told.
NAMES = (*SEEDED, BATCHES, WEIGHTS)


class DrawSource(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A generator that was drawn from, and who seeded it last."""

    generator: str
    #: Empty where nobody seeded it.
    call: str = ""
    file: str = ""
    line: int = 0
    given: str = ""


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """What the processes of one run said under one name."""

    name: str
    #: Over all processes, each with all that it drew where it came to its end, and else with its first draws.
    digest: str
    #: Over all processes, each with its first draws only.
    first: str
    #: How often it was seen that the factor was drawn for; of many draws not each is looked at.
    count: int
    processes: int
    #: Processes that came to their end.
    ended: int
    #: Values that the run reported, which tells how long it went on.
    length: int = 0
    sources: list[DrawSource] = []


def fingerprints(run: RunFolder) -> dict[str, Fingerprint]:
    """Return the fingerprints of a run by name; a factor that nothing was drawn for has none."""
    return joined_fingerprints(processes(run))


def joined_fingerprints(found: Iterable[Process], *, interrupted: bool = False) -> dict[str, Fingerprint]:
    """Return the fingerprints of several processes together, by name.

    Parameters
    ----------
    found : iterable of Process
        Of one run.
    interrupted : bool, optional
        The run was ended while it went on: what it drew last says when, and nothing else.
    """
    by_name: dict[str, list[_Said]] = {}
    length = 0
    for process in found:
        length += process.record_file.stat().st_size // RECORD.itemsize if process.record_file is not None else 0
        for name, said in _said(process, interrupted=interrupted).items():
            by_name.setdefault(name, []).append(said)
    order = {name: place for place, name in enumerate(NAMES)}
    names = sorted(by_name, key=lambda name: (order.get(name, len(order)), name))
    return {name: _joined(name, by_name[name], length) for name in names}


class _Said:
    """The events of one process under one name: at most one of the first draws and one of the end."""

    def __init__(self) -> None:
        self.moments: dict[str, dict[str, Any]] = {}

    def digest(self, *moments: str) -> str:
        return next(str(self.moments[moment]["digest"]) for moment in moments if moment in self.moments)

    @property
    def count(self) -> int:
        counts = [event.get("count") for event in self.moments.values()]
        return max((count for count in counts if isinstance(count, int)), default=0)

    @property
    def sources(self) -> list[DrawSource]:
        latest = self.moments.get("end") or self.moments.get("first") or {}
        return [_source(source) for source in latest.get("sources") or [] if isinstance(source, dict)]


def _said(process: Process, *, interrupted: bool) -> dict[str, _Said]:
    found: dict[str, _Said] = {}
    for event in process.events:
        name, moment = event.get("name"), event.get("moment")
        if event["event"] != "fingerprint" or not isinstance(name, str) or moment not in ("first", "end"):
            continue
        if isinstance(event.get("digest"), str):
            found.setdefault(name, _Said()).moments[moment] = event
    if interrupted:
        for said in found.values():
            if "first" in said.moments:
                said.moments.pop("end", None)
    return found


def _source(said: dict[str, Any]) -> DrawSource:
    line = said.get("line")
    texts = {key: str(said[key]) for key in ("generator", "call", "file", "given") if said.get(key) is not None}
    return DrawSource(**{"generator": "", **texts}, line=line if isinstance(line, int) else 0)


def _joined(name: str, said: Sequence[_Said], length: int) -> Fingerprint:
    return Fingerprint(
        name=name,
        digest=_crc([each.digest("end", "first") for each in said]),
        first=_crc([each.digest("first", "end") for each in said]),
        count=sum(each.count for each in said),
        processes=len(said),
        ended=sum("end" in each.moments for each in said),
        length=length,
        sources=sorted({source for each in said for source in each.sources}),
    )


def _crc(digests: Iterable[str]) -> str:
    """Return one digest for those of several processes, whatever the order in which they started."""
    return f"{zlib.crc32(' '.join(sorted(digests)).encode()):08x}"


def agree(one: Fingerprint | None, other: Fingerprint | None) -> bool | None:
    """Tell whether two runs drew the same.

    Returns
    -------
    bool or None
        Where one run went on for longer than the other, their first draws tell. None where nothing does: a run drew
        in other processes than the other, or did not draw at all.
    """
    if one is None or other is None:
        return None
    if one.digest == other.digest:
        return True
    if one.processes != other.processes:
        return None
    if (one.count, one.ended, one.length) == (other.count, other.ended, other.length):
        return False
    return one.first == other.first


def classes(
    runs: Sequence[str], found: Sequence[Fingerprint], same: Callable[[Fingerprint, Fingerprint], bool | None] = agree
) -> list[list[str]]:
    """Put the runs together that drew the same; those of which nothing can be told are together with the first."""
    groups: list[tuple[Fingerprint, list[str]]] = []
    for run, fingerprint in zip(runs, found, strict=True):
        group = next((names for first, names in groups if same(first, fingerprint) is not False), None)
        if group is None:
            groups.append((fingerprint, [run]))
        else:
            group.append(run)
    return [names for _, names in groups]
