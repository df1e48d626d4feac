"""Random numbers that come again within a run: in later iterations, in passes of a loader, in several processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from deviate.core.factors import ALGORITHMIC
from deviate.lexicon.words import split_of
from deviate.observe.events import ReplacedSeed
from deviate.observe.fingerprints import DrawSource, Fingerprint, joined_fingerprints
from deviate.observe.processes import Process
from deviate.observe.records import RunFiles

#: What workers draw for; trainings make weights as well.
_OF_WORKERS, _OF_TRAININGS = ALGORITHMIC[1:], ALGORITHMIC


class RepeatedSeed(msgspec.Struct, frozen=True, kw_only=True):
    """Lines that set the same seeds again, after which the same numbers were drawn."""

    seeds: list[ReplacedSeed]
    #: The first two iterations, from 0, that drew the same.
    iterations: list[int]
    #: In the how many-th training of the run each of them was, from 1.
    trainings: list[int]

    @property
    def in_one_training(self) -> bool:
        """Whether numbers come again within a training, and not from one training to the next."""
        return len(set(self.trainings)) == 1


class RepeatedOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A loader that draws the order of its examples, and had the same in several passes one after the other."""

    #: Class of what draws the order.
    sampler: str
    #: Where the program goes through it.
    file: str
    line: int
    passes: int


class RepeatedDraws(msgspec.Struct, frozen=True, kw_only=True):
    """Processes of one run that draw the very same numbers."""

    processes: int
    digest: str
    sources: list[DrawSource] = []
    #: Whether each of them was seeded by itself; else what seeded them was done before they were started.
    seeded_each: bool = False
    #: Whether each is a training: it went through the main loop.
    trainings: bool = False


class Repetitions(msgspec.Struct, frozen=True, kw_only=True):
    """What comes again in runs, each once."""

    seeds: list[RepeatedSeed] = []
    orders: list[RepeatedOrder] = []
    workers: list[RepeatedDraws] = []


def repetitions(runs: Iterable[RunFiles]) -> Repetitions:
    """Return what comes again within any of some runs of one program."""
    seeds: dict[tuple[str, ...], RepeatedSeed] = {}
    orders: dict[tuple[str, int], RepeatedOrder] = {}
    workers: dict[tuple[object, ...], RepeatedDraws] = {}
    for run in runs:
        for process in run.processes:
            again = repeated_seeds(process)
            for each in again:
                seeds.setdefault(tuple(f"{seed.file}:{seed.line}" for seed in each.seeds), each)
            # What sets a seed again explains the order of its loaders.
            if not any(each.in_one_training for each in again):
                orders |= {(each.file, each.line): each for each in _orders(process)}
        for group in repeated_draws(run.processes):
            # Its digest is another one in each run.
            workers.setdefault((group.processes, group.trainings, *group.sources), group)
    return Repetitions(seeds=list(seeds.values()), orders=list(orders.values()), workers=list(workers.values()))


def repeated_seeds(process: Process) -> list[RepeatedSeed]:
    """Return the seeds that a process set again, those together after which the same iterations drew the same."""
    together: dict[tuple[tuple[int, ...], tuple[int, ...]], list[ReplacedSeed]] = {}
    events = _again(process, "seed")
    after = [_seed(event) for event in events if not event.get("within")]
    # That iterations after it draw the same says more than that those do in which it is set.
    for event in (each for each in events if not (each.get("within") and _seed(each) in after)):
        iterations, entries = (tuple(event.get(key) or ()) for key in ("iterations", "entries"))
        if len(iterations) == len(entries) == 2 and not _evaluates(event):
            together.setdefault((iterations, entries), []).append(_seed(event))
    return [
        RepeatedSeed(seeds=sorted(seeds, key=lambda seed: (seed.file, seed.line)), iterations=[*its], trainings=[*ins])
        for (its, ins), seeds in together.items()
    ]


def _evaluates(event: dict[str, Any]) -> bool:
    """Tell whether a seed is set for an evaluation, which may well be of the same examples each time.

    Functions are named where nothing else tells what is a training.
    """
    return any(split_of(str(name)) not in ("", "train") for name in event.get("functions") or ())


def _seed(event: dict[str, Any]) -> ReplacedSeed:
    call, file, given, through = (str(event.get(key) or "") for key in ("call", "file", "given", "through"))
    line, library = int(event.get("line") or 0), bool(event.get("library"))
    return ReplacedSeed(call=call, file=file, line=line, given=given, through=through, library=library)


def _orders(process: Process) -> list[RepeatedOrder]:
    return [
        RepeatedOrder(sampler=str(e["call"]), file=str(e["file"]), line=int(e["line"]), passes=int(e["passes"]))
        for e in _again(process, "order")
    ]


def _again(process: Process, kind: str) -> list[dict[str, Any]]:
    return [event for event in process.events if event["event"] == "again" and event.get("kind") == kind]


def repeated_draws(listed: Sequence[Process]) -> list[RepeatedDraws]:
    """Return the groups of processes of a run that drew the same: workers, and trainings of their own.

    Ranks of a distributed training draw the same on purpose.
    """
    starts = {_start(process).get("pid"): _start(process) for process in listed}
    alike: dict[tuple[object, ...], list[tuple[Process, Fingerprint]]] = {}
    for process in (each for each in listed if each.rank is None):
        trains = any(event["event"] == "loop" for event in process.events)
        if trains or _is_worker(_start(process), starts):
            prints = joined_fingerprints([process])
            drew = [prints[name] for name in (_OF_TRAININGS if trains else _OF_WORKERS) if name in prints]
            if any(each.count and not each.is_undrawn for each in drew):
                alike.setdefault((trains, *(each.first for each in drew)), []).append((process, drew[-1]))
    return [_group(bool(trains), group) for (trains, *_), group in alike.items() if len(group) > 1]


def _group(trains: bool, group: Sequence[tuple[Process, Fingerprint]]) -> RepeatedDraws:
    sources = group[0][1].sources
    seeded = [{(e.get("file"), e.get("line")) for e in each.events if e["event"] == "seed"} for each, _ in group]
    lines = {(source.file, source.line) for source in sources if source.call}
    return RepeatedDraws(
        processes=len(group),
        digest=group[0][1].first,
        sources=sources,
        seeded_each=bool(lines) and all(lines & each for each in seeded),
        trainings=trains,
    )


def _is_worker(start: dict[str, Any], starts: dict[Any, dict[str, Any]]) -> bool:
    """Tell whether a process was started to work for another one, and not by a command of its own."""
    parent, words = starts.get(start.get("ppid")), start.get("argv") or []
    return parent is not None and (words == (parent.get("argv") or []) or words[-1:] == ["-c"])


def _start(process: Process) -> dict[str, Any]:
    return next((event for event in process.events if event["event"] == "start"), {})
