"""What trial runs wrote of their steps, operations and statements."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from deviate.store.folders import RunFolder

#: Digests, in the order in which their values came; None: a value without content that could be read.
Digests = list[str | None]


class Header(msgspec.Struct, frozen=True, tag_field="e", tag="process"):
    """The process that wrote a file: its rank, and which child of which process it is."""

    n: int
    lineage: tuple[str, ...] = ()


class Mark(msgspec.Struct, frozen=True, tag_field="e", tag="mark"):
    """The digests before an update, or at the beginning of an iteration of the main loop."""

    n: int
    unit: str
    step: int
    parts: dict[str, str | None]
    #: The program ended there.
    end: bool = False


class Forward(msgspec.Struct, frozen=True, kw_only=True):
    """The operation of the forward pass that one of the backward pass belongs to."""

    op: str
    file: str = ""
    line: int = 0
    module: str = ""


class Operation(msgspec.Struct, frozen=True, tag_field="e", tag="operation"):
    """One operation of PyTorch, with what entered and left it."""

    n: int
    op: str
    scalars: str
    phase: str = "program"
    threads: int = 0
    file: str = ""
    line: int = 0
    function: str = ""
    module: str = ""
    frame: int | None = None
    #: None of views, which have the content of what they are views of.
    entered: Digests | None = msgspec.field(name="in", default=None)
    left: Digests | None = msgspec.field(name="out", default=None)
    #: The generators that it draws from; empty where it draws nothing.
    random: str = ""
    #: Shapes of memory that it allocated without filling it.
    empty: list[list[int]] | None = None
    #: Of each tensor that entered, the record that allocated its memory without filling it.
    unfilled: list[int | None] = []
    forward: Forward | None = None


class Frame(msgspec.Struct, frozen=True, tag_field="e", tag="frame"):
    """A function of the program was entered."""

    n: int
    f: int
    parent: int | None
    file: str
    function: str


class Statement(msgspec.Struct, frozen=True, tag_field="e", tag="line"):
    """A statement of the program: what it read before, and what was another value after it."""

    n: int
    f: int
    line: int
    reads: dict[str, str | None]
    writes: dict[str, str | None]
    begin: int
    #: It puts a generator into a state of its own.
    seeds: bool = False
    #: It writes into an object.
    stores: bool = False
    #: It changes an object where it lies: by ``+=``, or under a name that it does not set.
    alters: bool = False


class Returned(msgspec.Struct, frozen=True, tag_field="e", tag="return"):
    """A function of the program returned, or yielded, a value."""

    n: int
    f: int
    value: str | None = None


class LinesEnd(msgspec.Struct, frozen=True, tag_field="e", tag="lines end"):
    """There were too many statements to record further ones."""

    n: int


class Done(msgspec.Struct, frozen=True, tag_field="e", tag="done"):
    """All that was asked for is written."""

    n: int


#: How the lines of two kinds of records begin, and where the last one is looked for.
_MARK, _DONE, _TAIL = b'{"e": "mark"', b'{"e": "done"', 100

#: Lineages of the program itself.
_FIRST: tuple[tuple[str, ...], ...] = ((), ("0",))

_RECORD = msgspec.json.Decoder(Header | Mark | Operation | Frame | Statement | Returned | LinesEnd | Done)


@dataclass
class Process:
    """What one process wrote."""

    lineage: tuple[str, ...] = ()
    marks: list[Mark] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    frames: dict[int, Frame] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    returns: list[Returned] = field(default_factory=list)
    #: How many records it made, those that it did not write included.
    records: int = 0
    #: False: statements were left out, as there were too many.
    has_all_statements: bool = True

    def add(self, record: object) -> None:
        """Take a record."""
        match record:
            case Mark():
                self.marks.append(record)
                self.records = record.n
            case Operation():
                self.operations.append(record)
            case Frame():
                self.frames.setdefault(record.f, record)
            case Statement():
                self.statements.append(record)
            case Returned():
                self.returns.append(record)
            case Header():
                self.lineage = record.lineage
            case Done():
                self.records = record.n
            case _:
                self.has_all_statements = False

    @property
    def is_first(self) -> bool:
        """Whether it is the process of the program itself, and neither a child nor a further rank."""
        return self.lineage in _FIRST


def as_far_as_both(ours: Process, theirs: Process) -> tuple[Process, Process]:
    """Return what two processes called, as far as both came: one that was ended lacks what the other went on to."""
    operations = min(len(ours.operations), len(theirs.operations))
    statements = min(len(ours.statements), len(theirs.statements))
    first, second = (
        replace(each, operations=each.operations[:operations], statements=each.statements[:statements])
        for each in (ours, theirs)
    )
    return first, second


def read_processes(folder: RunFolder) -> Mapping[tuple[str, ...], Process]:
    """Return what the processes of a run wrote, by their lineage; the last line may be torn."""
    processes: dict[tuple[str, ...], Process] = {}
    for path in _files(folder):
        process = Process()
        for line in path.read_bytes().split(b"\n"):
            with suppress(msgspec.DecodeError):
                process.add(_RECORD.decode(line))
        processes.setdefault(process.lineage, process)
    return processes


def _files(folder: RunFolder) -> list[Path]:
    return sorted(folder.path.glob("diverge-*.jsonl"))


def read_marks(folder: RunFolder) -> list[Mark]:
    """Return the marks that the program itself wrote so far."""
    for path in _files(folder):
        with path.open("rb") as file:
            header = _decoded(file.readline())
            lines = [line for line in file if line.startswith(_MARK)] if _is_first(header) else []
        if lines:
            return [mark for mark in map(_decoded, lines) if isinstance(mark, Mark)]
    return []


def is_done(folder: RunFolder) -> bool:
    """Tell whether the program itself wrote all that was asked for."""
    for path in _files(folder):
        with path.open("rb") as file:
            if _is_first(_decoded(file.readline())):
                file.seek(max(path.stat().st_size - _TAIL, 0))
                return _DONE in file.read()
    return False


def _decoded(line: bytes) -> object:
    try:
        return _RECORD.decode(line)
    except msgspec.DecodeError:
        return None


def _is_first(header: object) -> bool:
    return isinstance(header, Header) and header.lineage in _FIRST
