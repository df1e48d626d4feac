"""The results that a reader of foreign files returns: runs with their records, not yet an experiment."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from deviate.imports.roles import is_run_name

#: Words by which stores say that a run ended well.
FINISHED = frozenset({"finished", "completed", "complete", "success", "succeeded", "done", "ok"})

#: A longer word is no setting, but content; a longer one that is called a seed is none.
LONGEST_SETTING = 6_000
LONGEST_SEED = 100


class Reading(msgspec.Struct, frozen=True):
    """One value that a run reported."""

    metric: str
    #: Of the main loop or of whatever the source counts in; -1 where it has no iterations.
    iteration: int
    value: float
    #: Seconds since the run started; NaN where not known.
    elapsed_s: float = math.nan


class ForeignRun(msgspec.Struct, frozen=True, kw_only=True):
    """One training, as far as the source tells."""

    #: How the source calls it: ``seed 17``, a file, the name of a folder.
    label: str
    #: In the order the source has them.
    readings: list[Reading]
    #: Experiment it belongs to by the source's own grouping; empty where there is none.
    group: str = ""
    #: Its id in its store.
    identity: str = ""
    #: The file that it alone is in, if it is in one.
    source: str = ""
    #: Wall time of the whole run; None where nothing tells it. The time of the last record is none: what comes before
    #: the first record and after the last one is missing from it.
    seconds: float | None = None
    #: How it ended, in the source's own word; empty where the source does not say.
    status: str = ""
    #: What was set in it, by name, as far as the source tells.
    settings: dict[str, str] = {}
    #: Those of them that were set as their values show, whatever their names.
    held: list[str] = []
    #: Why nothing could be read of it; empty where something was.
    broken: str = ""
    #: What is to be said of it where it is imported.
    notes: list[str] = []

    @property
    def is_finished(self) -> bool:
        """Whether nothing speaks against its having ended well."""
        return not self.broken and (not self.status or self.status.lower() in FINISHED)


class ForeignResults(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of an import, and what a reader of the results has to know about how they were read."""

    runs: list[ForeignRun]
    notes: list[str] = []


def encodable(text: str) -> str:
    r"""Write half a pair of surrogates, which is no character and cannot be stored, as its number.

    >>> encodable("lo\ud800ss") == r"lo\ud800ss"
    True
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def storable(results: ForeignResults) -> ForeignResults:
    """Return the results with names and sentences that can be stored."""
    runs = [
        msgspec.structs.replace(
            run, label=encodable(run.label), group=encodable(run.group), status=encodable(run.status),
            broken=encodable(run.broken), notes=[encodable(note) for note in run.notes],
            settings={
                encodable(name): encodable(word)
                for name, word in run.settings.items()
                if len(name) + len(word) <= LONGEST_SETTING
            },
            readings=[
                each if each.metric.isascii() else msgspec.structs.replace(each, metric=encodable(each.metric))
                for each in run.readings
            ],
        )
        for run in results.runs
    ]  # fmt: skip
    return ForeignResults(runs=runs, notes=[encodable(note) for note in results.notes])


def without_unset(results: ForeignResults) -> ForeignResults:
    """Leave out ``hp_metric`` of -1, which Lightning writes where a program gives no such metric, and addresses."""
    runs = [
        msgspec.structs.replace(
            run, readings=[each for each in run.readings if each.value != -1 or not each.metric.endswith("hp_metric")],
            settings={_ADDRESS.sub("", name): _ADDRESS.sub("", word) for name, word in run.settings.items()},
            held=[_ADDRESS.sub("", name) for name in run.held],
        )
        for run in results.runs
    ]  # fmt: skip
    return msgspec.structs.replace(results, runs=runs)


#: Where an object lay in memory, `<Logger object at 0x7f01>`, and what it had open, `<_io.TextIOWrapper name='a.txt'>`.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+|(?<=TextIOWrapper) [^>]*")


def named_broken(results: ForeignResults) -> ForeignResults:
    """Call runs without any value broken, so that they are counted among the runs, and among those that failed."""
    runs = [
        run
        if run.readings or not run.is_finished
        else msgspec.structs.replace(run, broken=f"no value of a metric was found in {run.label}")
        for run in results.runs
    ]
    return msgspec.structs.replace(results, runs=runs)


def seed_of(settings: Mapping[str, str]) -> str | None:
    """Return the seed among what was set."""
    seeds = (word for name, word in settings.items() if is_run_name(name) and "seed" in name.lower())
    return next((word for word in seeds if len(word) <= LONGEST_SEED), None)


def seeded_label(name: str, seed: object) -> str:
    """Return how a run is called whose store knows its seed."""
    return name if seed is None or str(seed) in name else f"{name} (seed {seed})"


def digest_of(files: Iterable[Path]) -> str:
    """Digest what files hold."""
    return hashlib.sha256(b"".join(sorted(hashlib.sha256(path.read_bytes()).digest() for path in files))).hexdigest()


def in_order(runs: Iterable[ForeignRun]) -> list[ForeignRun]:
    """Sort runs by label, numbers in it by size: ``seed 2`` before ``seed 10``."""
    return sorted(runs, key=lambda run: natural(run.label))


def natural(label: str) -> list[tuple[int, int, str]]:
    """Return the key by which numbers in a name go by size."""
    # Numbers of thousands of digits are compared as text: Python makes no integer of them.
    parts = re.findall(r"0*(\d+)|(\D+)", label)
    return [(0, len(digits), digits) if digits else (1, 0, word) for digits, word in parts]
