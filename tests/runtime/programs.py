"""What a small program leaves behind that ran in a process of its own with the runtime in it."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INJECTED = Path(__file__).parents[2] / "src" / "deviate" / "runtime" / "injected"
RECORD = struct.Struct("<iidd")

#: Id of the first record of a file: slots of it without a time are unused.
HEAD = -4

FACTORS = ("init", "shuffle", "augment", "layers", "other", "data")

#: Metrics that the test programs refer to by their index.
METRICS = [
    {"name": "loss", "how": "value", "reads": "", "label": ""},
    {"name": "meter", "how": "value", "reads": "avg", "label": ""},
    {"name": "{split} acc", "how": "value", "reads": "", "label": "split"},
    {"name": "stats", "how": "mapping", "reads": "", "label": ""},
    {"name": "fit:val_loss", "how": "framework", "reads": "", "label": ""},
]

LOSS, METER, LABELLED, MAPPING, FRAMEWORK = range(5)


@dataclass(frozen=True)
class Record:
    metric: int
    iteration: int
    elapsed: float
    value: float


@dataclass(frozen=True)
class Outcome:
    """What a program left behind."""

    stdout: str
    stderr: str
    status: int
    #: The records of each process, by process id.
    records_of: dict[int, list[Record]]
    #: The events of each process, by process id.
    events_of: dict[int, list[dict[str, Any]]]
    #: How many records could not be written, by what their files say.
    lost: int

    @property
    def records(self) -> list[Record]:
        return [record for records in self.records_of.values() for record in records]

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for events in self.events_of.values() for event in events]

    @property
    def sizes(self) -> list[tuple[int, int, int]]:
        """Stream (-2 or -3), iteration and how many bytes of it there were when the iteration began."""
        return [(record.metric, record.iteration, int(record.value)) for record in self.records if record.metric < -1]

    def values(self, metric: int = LOSS) -> list[float]:
        return [record.value for record in self.records if record.metric == metric]

    def named(self, name: str) -> list[float]:
        ids = [event["id"] for event in self.of("name") if event["name"] == name]
        return [record.value for record in self.records if record.metric in ids]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == kind]

    def notes(self, slug: str) -> list[str]:
        return [event["message"] for event in self.of("note") if event["slug"] == slug]


def process_id(path: Path) -> int:
    return int(path.name.split("-")[1])


def read_records(path: Path) -> list[Record]:
    data = path.read_bytes()
    whole = len(data) - len(data) % RECORD.size
    slots = [Record(*fields) for fields in RECORD.iter_unpack(data[:whole])]
    return [slot for slot in slots if slot.elapsed]


def read_outcome(folder: Path, status: int, printed: list[str]) -> Outcome:
    records_of: dict[int, list[Record]] = {}
    events_of: dict[int, list[dict[str, Any]]] = {}
    lost = 0
    for path in sorted(folder.glob("records-*.bin")):
        head, *records = read_records(path)
        assert head.metric == HEAD, path
        lost += int(head.value)
        records_of.setdefault(process_id(path), []).extend(records)
    for path in sorted(folder.glob("events-*.jsonl")):
        events_of.setdefault(process_id(path), []).extend(map(json.loads, path.read_text().splitlines()))
    return Outcome(*printed, status, records_of, events_of, lost)


Run = Callable[..., Outcome]

#: Runs a program bare and with code given for its files, which must look the same.
Both = Callable[..., Outcome]


def clean_environment() -> dict[str, str]:
    unwanted = ("PYTHON", "DEVIATE", "RANK", "SLURM", "OMPI", "PMI", "LOCAL_RANK")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return {**kept, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "CUDA_VISIBLE_DEVICES": ""}


def other_pythons() -> Iterator[str]:
    """The oldest Python the runtime promises to run on, and a newer one than the tool's, where they are installed."""
    for version in ("3.7", "3.13"):
        installed = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
        python = shutil.which(f"python{version}") or (str(installed[-1]) if installed else None)
        if python is not None and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            yield python
