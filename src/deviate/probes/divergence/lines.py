"""Which statement of the program made the host values differ that a step begins with, and what is known to help."""

from __future__ import annotations

import bisect
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from deviate.probes.divergence.operations import Kind
from deviate.probes.divergence.records import Process, Returned, Statement

#: A frame by what is the same in both runs: the frame around it, its function, and how many there were before it.
Path = tuple[object, ...]

#: ``statement``: it reads equal values, and leaves others. ``unseeded``: it draws from a generator that nothing seeded.
#: ``flow``: the runs go on with other statements. ``before``: what it reads was there before recording began.
OriginKind = Literal["statement", "unseeded", "flow", "before"]

#: Generators that everybody shares, by the digests of their states.
STATE = "state:"

#: Statements that are followed backwards at most.
DEPTH = 400


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """The statement at which host values of two runs first differ."""

    kind: OriginKind
    file: str
    line: int
    function: str
    #: The name that differs, with its two values where these are short; empty where none has a name.
    name: str = ""
    first: str = ""
    second: str = ""


class _Frame:
    """The statements of one function's call in one run."""

    def __init__(self, number: int, path: Path, parent: int | None, began: int, file: str, function: str) -> None:
        self.number, self.path, self.parent, self.began = number, path, parent, began
        self.file, self.function = file, function
        self.statements: list[Statement] = []
        self.returns: list[Returned] = []

    def at(self, number: int) -> int:
        """Return the position of the statement that was under way at a record."""
        ends = [each.n for each in self.statements]
        return bisect.bisect_left(ends, number)


def _frames(process: Process) -> dict[Path, _Frame]:
    paths: dict[int, Path] = {}
    counts: dict[tuple[Path, str, str], int] = defaultdict(int)
    frames: dict[int, _Frame] = {}
    for number, frame in sorted(process.frames.items()):
        around = paths.get(frame.parent, ()) if frame.parent is not None else ()
        key = around, frame.file, frame.function
        counts[key] += 1
        # By its position a path is short, however deep the frame.
        paths[number] = (hash(around), frame.file, frame.function, counts[key])
        frames[number] = _Frame(number, paths[number], frame.parent, frame.n, frame.file, frame.function)
    for statement in process.statements:
        if statement.f in frames:
            frames[statement.f].statements.append(statement)
    for returned in process.returns:
        if returned.f in frames:
            frames[returned.f].returns.append(returned)
    return {frame.path: frame for frame in frames.values()}


class Lines:
    """The statements of two runs in pairs."""

    def __init__(self, first: Process, second: Process) -> None:
        self.first, self.second = _frames(first), _frames(second)
        self.by_number = {frame.number: frame for frame in self.first.values()}
        self.children: dict[int | None, list[_Frame]] = defaultdict(list)
        #: The record of each origin that was found.
        self.made: dict[Origin, int] = {}
        #: Origins of statements: many ways lead back to one.
        self.known: dict[tuple[object, ...], Origin | None] = {}
        for frame in self.by_number.values():
            self.children[frame.parent].append(frame)

    def pair(self, frame: _Frame, position: int) -> tuple[Statement, Statement] | None:
        """Return a statement in both runs; None where the second goes on with another one."""
        other = self.second.get(frame.path)
        if other is None or position >= min(len(frame.statements), len(other.statements)):
            return None
        pair = frame.statements[position], other.statements[position]
        return pair if pair[0].line == pair[1].line else None

    # Where to begin

    def at_operation(self, frame: int | None, number: int) -> Origin | None:
        """Return the origin of what the statement reads that called an operation."""
        known = self.by_number.get(frame) if frame is not None else None
        if known is None or not known.statements:
            return None
        return self._at(known, min(known.at(number), len(known.statements) - 1), DEPTH)

    def of_states(self, first: str, second: str, number: int) -> Origin | None:
        """Return the origin of the states in which a generator is in both runs; None where no statement left them."""
        for frame, position in self._before(number):
            pair = self.pair(frame, position)
            states = [] if pair is None else _left(pair, first, second)
            if pair is None or not states:
                continue
            if pair[0].seeds or not any(pair[0].reads.get(each) != pair[1].reads.get(each) for each in states):
                return self._at(frame, position, DEPTH, without=states)
            found = self.of_states(pair[0].reads[states[0]] or "", pair[1].reads[states[0]] or "", pair[0].begin - 1)
            return found or self._unseeded(frame, pair[0], states[0])
        return None

    def of_numbers(self, numbers: Sequence[tuple[str, str]], number: int) -> Origin | None:
        """Return the origin of numbers that an operation is given out of an object, by where they were put into it."""
        for frame, position in self._before(number):
            pair = self.pair(frame, position)
            if pair is None:
                continue
            ours, theirs = pair
            same = any((value, theirs.writes.get(key)) in numbers for key, value in ours.writes.items())
            into = ours.stores and any(ours.reads[key] != theirs.reads.get(key) for key in ours.reads)
            if same or into:
                return self._at(frame, position, DEPTH)
        return None

    def of_names(self, names: Sequence[str]) -> Origin | None:
        """Return the first of the origins of the values that names were given last."""
        ends: dict[str, tuple[int, _Frame, int]] = {}
        for frame in self.by_number.values():
            for name in names:
                position = self._last(frame, name, len(frame.statements))
                if position is not None and frame.statements[position].n > ends.get(name, (-1,))[0]:
                    ends[name] = frame.statements[position].n, frame, position
        origins = (self._at(frame, position, DEPTH) for _, frame, position in ends.values())
        known = (each for each in origins if each is not None)
        return min(known, key=lambda each: (each.kind == "before", self.made[each]), default=None)

    def first_returned(self) -> Origin | None:
        """Return the origin of the first value that a function of the outermost frames returned and that differs."""
        outermost = [each for each in self.by_number.values() if each.parent not in self.by_number]
        for frame in sorted(outermost, key=lambda each: each.began):
            found = self._inside(frame, DEPTH)
            if found is not None:
                return found
        return None

    def parting(self) -> Origin | None:
        """Return the origin of what made the two runs go on with other statements, None where they do not."""
        parted = [
            (frame.statements[position].n, frame, position)
            for frame in self.by_number.values()
            for position in [self._parts_at(frame)]
            if position is not None
        ]
        if not parted:
            return None
        _, frame, position = min(parted, key=lambda each: each[0])
        if position == 0:
            return self._make("flow", frame, frame.statements[0])
        found = self._at(frame, position - 1, DEPTH)
        decided = frame.statements[position - 1]
        is_unexplained = found is None or (found.line == decided.line and not found.name)
        return self._make("flow", frame, decided) if is_unexplained else found

    def of_arrays(self) -> Origin | None:
        """Return the origin of the first array, or model, that a statement left another in the second run."""
        for frame, position in reversed([*self._before(sys.maxsize)]):
            pair = self.pair(frame, position)
            if pair is not None and _leaves_another_array(pair):
                return self._at(frame, position, DEPTH)
        return None

    def _parts_at(self, frame: _Frame) -> int | None:
        other = self.second.get(frame.path)
        if other is None:
            return None
        lines = ([each.line for each in run.statements] for run in (frame, other))
        return next((i for i, (a, b) in enumerate(zip(*lines, strict=False)) if a != b), None)

    # Backwards

    def _at(
        self, frame: _Frame, position: int, depth: int, without: Sequence[str] = (), given: str = ""
    ) -> Origin | None:
        """Return the origin of what differs in one statement, but for names that it gives a state of their own.

        Of a function of the program that it calls, what that returned is followed; what it is `given`, outwards.
        """
        key = (frame.number, position, *without, given)
        if key not in self.known:
            self.known[key] = None
            self.known[key] = self._made_at(frame, position, depth, without, given)
        return self.known[key]

    def _made_at(self, frame: _Frame, position: int, depth: int, without: Sequence[str], given: str) -> Origin | None:
        pair = self.pair(frame, position)
        if depth == 0:
            return None
        if pair is None:
            return self.parting()
        ours, theirs = pair
        differing = [
            key
            for key in ours.reads
            if key in theirs.reads and ours.reads[key] != theirs.reads[key] and key not in without
        ]
        values = [key for key in differing if not (ours.reads[key] or "").startswith(STATE)]
        # A module is read for its functions as well: its generator counts where the statement draws from it.
        states = [key for key in differing if key not in values and key in ours.writes]
        # Options may hold a time, or a folder, that decides nothing.
        inner = None if given else self._returned(frame, ours, depth - 1)
        if inner is not None and (inner.kind != "before" or not values):
            return inner
        values.sort(key=lambda key: "]:" not in (ours.reads[key] or ""))
        origins = [found for key in values if (found := self._of(frame, position, key, depth - 1)) is not None]
        if origins:
            # A value that was there before explains nothing where another one was made.
            return next((found for found in origins if found.kind != "before"), origins[0])
        if states and not ours.seeds:
            found = self.of_states(ours.reads[states[0]] or "", theirs.reads[states[0]] or "", ours.begin - 1)
            return found or self._unseeded(frame, ours, states[0])
        return self._make("before" if values or "." in given else "statement", frame, ours, theirs)

    def _returned(self, frame: _Frame, statement: Statement, depth: int) -> Origin | None:
        """Return the origin of what the first function that a statement calls returned, and that differs."""
        called = (each for each in self.children[frame.number] if statement.begin <= each.began <= statement.n)
        return next((found for each in called if (found := self._inside(each, depth, statement.n)) is not None), None)

    def _of(self, frame: _Frame, position: int, key: str, depth: int) -> Origin | None:
        """Return the origin of the value of a name at one statement."""
        last = self._last(frame, key, position)
        if last is not None:
            return self._at(frame, last, depth)
        if key.partition(".")[0] in self._parameters(frame) and frame.parent is not None:
            around = self.by_number[frame.parent]
            found = self._at(around, around.at(frame.began), depth, given=key)
            is_unknown = found is not None and found.kind == "before" and "." in key
            return (self._put(frame, position, key, depth) or found) if is_unknown else found
        changed = self._changed(frame, position, key)
        if changed is not None:
            return self._at(*changed, depth)
        began = frame.statements[position].begin
        for other in self._outer(frame):
            last = self._last(other, key, bisect.bisect_right([each.n for each in other.statements], began))
            if last is not None:
                return self._at(other, last, depth)
        return None

    def _changed(self, frame: _Frame, position: int, key: str) -> tuple[_Frame, int] | None:
        """Return the statement that changed an object by another name since it was last equal in both runs."""
        root = key.partition(".")[0]
        since = next((place for place in range(position - 1, -1, -1) if self._agrees(frame, place, root)), None)
        if since is None:
            return None
        for other, place in self._before(frame.statements[position].begin - 1):
            pair = self.pair(other, place)
            if other.statements[place].n <= frame.statements[since].n:
                return None
            if pair is not None and any(_is_changed(pair, name) for name in pair[0].reads):
                return other, place
        return None

    def _put(self, frame: _Frame, position: int, key: str, depth: int) -> Origin | None:
        """Return the origin of an attribute by the statement that, in each run, left the value that is read."""
        read = self.pair(frame, position)
        for other, place in self._before(frame.statements[position].begin - 1):
            put = self.pair(other, place)
            if read and put and all(put[run].writes.get(key) == read[run].reads[key] for run in (0, 1)):
                return self._at(other, place, depth)
        return None

    def _agrees(self, frame: _Frame, position: int, root: str) -> bool:
        """Tell whether a statement reads a name, or one of its attributes, that is equal in both runs."""
        pair = self.pair(frame, position)
        read = [key for key in frame.statements[position].reads if key.partition(".")[0] == root]
        return pair is not None and bool(read) and all(pair[0].reads[key] == pair[1].reads.get(key) for key in read)

    def _parameters(self, frame: _Frame) -> set[str]:
        """Return the names that a frame reads before it gives them a value."""
        written: set[str] = set()
        read: set[str] = set()
        for statement in frame.statements:
            read |= {key.partition(".")[0] for key in statement.reads} - written
            written |= set(statement.writes)
        return read if frame.function != "<module>" else set()

    def _outer(self, frame: _Frame) -> Iterator[_Frame]:
        """Yield the frames whose names a frame may read, and those that may change the same object."""
        yield from sorted(
            (each for each in self.by_number.values() if each is not frame), key=lambda each: each.file != frame.file
        )

    def _last(self, frame: _Frame, key: str, end: int) -> int | None:
        """Return the position of the last statement before `end` that leaves another value of a name in each run."""
        for position in range(end - 1, -1, -1):
            ours = frame.statements[position]
            name = next((each for each in ours.writes if _is_part(each, key) or _is_made(each, key, ours)), None)
            if name is None:
                continue
            pair = self.pair(frame, position)
            if pair is None or pair[1].writes.get(name) != ours.writes[name] or ours.writes[name] is None:
                return position
        return None

    def _inside(self, frame: _Frame, depth: int, until: int | None = None) -> Origin | None:
        """Return the origin of a value that differs and that a function returned, or yielded, until a record."""
        other = self.second.get(frame.path)
        if other is None or depth <= 0:
            return None
        for ours, theirs in zip(frame.returns, other.returns, strict=False):
            if (until is None or ours.n <= until) and ours.value != theirs.value and frame.statements:
                return self._at(frame, max(min(frame.at(ours.n), len(frame.statements)) - 1, 0), depth)
        for inner in self.children[frame.number]:
            found = self._inside(inner, depth - 1, until)
            if found is not None:
                return found
        return None

    def _unseeded(self, frame: _Frame, statement: Statement, key: str) -> Origin:
        origin = Origin(kind="unseeded", file=frame.file, line=statement.line, function=frame.function, name=key)
        return self._dated(origin, statement)

    def _dated(self, origin: Origin, statement: Statement) -> Origin:
        self.made[origin] = min(statement.n, self.made.get(origin, statement.n))
        return origin

    def _before(self, number: int) -> Iterator[tuple[_Frame, int]]:
        """Yield the statements that ended before a record, the last first."""
        ended = [
            (statement.n, frame, position)
            for frame in self.by_number.values()
            for position, statement in enumerate(frame.statements)
            if statement.n <= number
        ]
        ended.sort(key=lambda each: each[0], reverse=True)
        yield from ((frame, position) for _, frame, position in ended)

    def _make(self, kind: OriginKind, frame: _Frame, ours: Statement, theirs: Statement | None = None) -> Origin:
        names = [] if theirs is None else [key for key in ours.writes if ours.writes[key] != theirs.writes.get(key)]
        values = ("", "")
        if names and theirs is not None:
            values = _shown(ours.writes[names[0]]), _shown(theirs.writes.get(names[0]))
        origin = Origin(
            kind=kind,
            file=frame.file,
            line=ours.line,
            function=frame.function,
            name=names[0] if names else "",
            first=values[0],
            second=values[1],
        )
        return self._dated(origin, ours)


def _is_part(name: str, key: str) -> bool:
    return name == key or name.startswith(f"{key}.")


def _is_made(name: str, key: str, statement: Statement) -> bool:
    """Tell whether a statement gives a value, one of whose attributes is read, to a name."""
    return statement.writes[name] is not None and key.startswith(f"{name}.")


def _is_changed(pair: tuple[Statement, Statement], name: str) -> bool:
    """Tell whether a statement changed the object of a name that it reads, and in each run otherwise."""
    ours, theirs = (each.writes.get(name) for each in pair)
    return ours != theirs and (pair[0].stores or (pair[0].alters and "]:" in (ours or theirs or "")))


def _left(pair: tuple[Statement, Statement], first: str | None, second: str | None) -> list[str]:
    """Return the names under which a statement left the states of a generator that each run goes on with."""
    ours, theirs = pair
    return [key for key, value in ours.writes.items() if value == first and theirs.writes.get(key) == second]


def _leaves_another_array(pair: tuple[Statement, Statement]) -> bool:
    """Tell whether a statement left an array, or a model, that differs."""
    made = ((value or "", pair[1].writes.get(key) or "") for key, value in pair[0].writes.items())
    return any(ours != theirs and "]:" in ours and "]:" in theirs for ours, theirs in made)


def _shown(digest: str | None) -> str:
    """Return a digest if it is the value itself, else nothing."""
    return digest if digest is not None and ":" not in digest else ""


# What is known to help against a cause.

#: What a line of source contains, and what helps; the first that fits counts.
_LINES = (
    (r"\bhash\(", "use hashlib, or set PYTHONHASHSEED in the environment: hash() of a text differs from run to run"),
    (r"\btime(_ns)?\(|perf_counter|monotonic|datetime\.|\bnow\(", "take no number of the training from the clock"),
    (
        r"listdir|scandir|iterdir|\bglob\(|\brglob\(|os\.walk",
        "sort the names: file systems list them in their own order",
    ),
    (r"\bset\(|\{[^:{}]+\}|frozenset|\.keys\(\)", "sort the set before its order counts"),
    (r"urandom|secrets\.|uuid|getpid|\bid\(|SystemRandom", "take no number of the training from the system"),
    (r"\b(np|numpy)\.empty|\.empty\(|empty_like|new_empty", "fill the memory: use zeros in place of empty"),
    (r"default_rng\(\s*\)|RandomState\(\s*\)|Random\(\s*\)|Generator\(\s*\)", "give the generator a seed"),
    (r"train_test_split|KFold\(|ShuffleSplit\(", "give it a random_state, or seed NumPy: numpy.random.seed"),
    (r"\benvs?\.reset\(\s*\)", "seed the environment at its first reset: env.reset(seed=0)"),
    (r"\.get\(|as_completed|imap_unordered|wait\(", "take results in the order of their tasks, not of their arrival"),
)

#: The switch that has PyTorch choose kernels that repeat, where it has any.
DETERMINISTIC = "torch.use_deterministic_algorithms(True)"

#: Where all switches are set, and an operation differs nevertheless.
BEYOND_SWITCHES = f"another operation in its place: {DETERMINISTIC} was set and did not help"

#: Operations of PyTorch, and what helps.
_OPERATIONS = (
    (r"scatter|index_add|index_put|index_copy|bincount|histc|put_|attention", DETERMINISTIC),
    (r"upsample|interpolate|grid_sampl|pool|cumsum|embedding", DETERMINISTIC),
    (r"conv", f"{DETERMINISTIC} and torch.backends.cudnn.benchmark = False"),
    (r"^aten\.", f"{DETERMINISTIC}; torch.set_num_threads(1) tells whether threads decide"),
)

_KINDS: dict[str, str] = {
    "threads": "set one number of threads: OMP_NUM_THREADS or torch.set_num_threads",
    "unfilled": "fill the memory: use torch.zeros in place of torch.empty",
    "memory": "look for what shares the memory: a thread, an array of NumPy, a kernel of your own",
    "draws": "seed the generator it draws from",
}


def remedy_of(kind: Kind | str, operation: str, code: str, origin: Origin | None) -> str:
    """Return what to do about a cause; empty where nothing is known.

    >>> remedy_of("unfilled", "aten.empty.memory_format", "x = torch.empty(3)", None)
    'fill the memory: use torch.zeros in place of torch.empty'
    """
    if origin is not None and origin.kind == "unseeded":
        return f"seed the generator of `{origin.name}` before the first draw"
    if origin is not None:
        known = _first(_LINES, code)
        if known:
            return known
    if kind in _KINDS:
        return _KINDS[kind]
    if kind == "operation":
        return _first(_OPERATIONS, operation) or "make the operation repeat: what enters it is equal"
    return ""


def _first(table: tuple[tuple[str, str], ...], text: str) -> str:
    return next((remedy for pattern, remedy in table if re.search(pattern, text)), "")
