"""Where two runs of a command first part: step, operation and line, each by a replay of both."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import msgspec

from deviate.core.experiment import SCHEMA, Run
from deviate.core.factors import OBSERVED, find_variant
from deviate.core.secrets import mask_words
from deviate.observe.identity import first_difference as first_value
from deviate.observe.observation import repeatable_series
from deviate.probes.divergence.lines import BEYOND_SWITCHES, DETERMINISTIC, Lines, Origin, remedy_of
from deviate.probes.divergence.operations import FirstDifference, Kind, differing_numbers, first_difference, key_of
from deviate.probes.divergence.records import (
    Forward,
    Mark,
    Operation,
    Process,
    as_far_as_both,
    is_done,
    read_marks,
    read_processes,
)
from deviate.probes.divergence.steps import (
    Bracket,
    Of,
    Recorded,
    Unit,
    common_steps,
    compare_marks,
    compare_recorded,
    unit_of,
)
from deviate.probes.trial import Announce, Trial, Trials, check_limit, open_replays, open_trials, printed_series
from deviate.runs.executors.executor import DEFAULT_EXECUTOR, Executor, make_executor
from deviate.runs.prepared import prepare_request
from deviate.runs.request import Request
from deviate.source.files import deeply
from deviate.store.folders import ExperimentFolder, RunFolder
from deviate.store.run_files import Unfinished

#: Seconds after which each training is ended where the user does not say.
DEFAULT_LIMIT = 600.0

#: What the runtime reads, see `diverging` there.
VARIABLE = "DEVIATE_DIVERGE"

#: Why two runs were not compared.
NO_STEP = "neither an update of PyTorch, nor arrays in a main loop, nor a line of the program was seen"

#: How often something is put in place of what differs, and the search goes on.
MOST_PUT = 4

#: Up to this step everything is recorded from the start of the program.
FROM_START = 8

AS_IT_IS, CONTROL = OBSERVED.name, "control"

#: Of a first difference, what a statement of the program has made.
_FROM_HOST: frozenset[Kind] = frozenset({"draws", "value", "host", "flow", "shape"})

#: Of a first difference, that in whose place nothing can be put.
_NOT_PUT: frozenset[Kind] = frozenset({"memory", "shape", "flow"})

#: Phases in which an operation is given what modules and optimizers hold.
_IN_OBJECTS = frozenset({"forward", "backward", "optimiser"})

#: ``line``: a statement of the program, of which no operation of PyTorch tells. ``between``: neither.
CauseKind = Kind | Literal["line", "between"]


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """The first record whose inputs agree and whose output differs."""

    kind: CauseKind
    #: Relative to the project; empty where no line of the program is known.
    file: str = ""
    line: int = 0
    function: str = ""
    #: The text of the line.
    code: str = ""
    #: The operation of PyTorch that first shows it, the phase and the module it is called in.
    operation: str = ""
    phase: str = ""
    module: str = ""
    #: Where that operation is called, if a line before it is the cause.
    seen_file: str = ""
    seen_line: int = 0
    #: Of a backward pass, the operation of the forward pass that it belongs to.
    forward: Forward | None = None
    #: The last operation that is equal in both runs, where the cause lies behind it.
    after: str = ""
    after_file: str = ""
    after_line: int = 0
    #: How the line came to be the cause; null where it is that of the operation.
    origin: Origin | None = None
    #: What to do; empty where nothing is known.
    remedy: str = ""


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a search."""

    schema: int = SCHEMA
    command: list[str]
    variant: Literal["control", "as-is"]
    #: Null: they were not compared, for `reason`.
    parted: bool | None
    reason: str = ""
    unit: Unit = "update"
    #: How many steps both runs made that were compared.
    steps: int = 0
    #: The first step that differs, and the last one that is known to be equal.
    step: int | None = None
    equal: int | None = None
    #: What of it differs, in the order in which it comes about.
    parts: list[str] = []
    #: The steps are equal, and what the program ended with differs.
    at_end: bool = False
    cause: Cause | None = None
    #: Pairs of trainings that were made.
    replays: int = 0
    #: Operations and statements that were compared.
    operations: int = 0
    statements: int = 0
    #: Trainings that were ended before they had ended themselves, after `limit` seconds.
    limited: bool = False
    limit: float = DEFAULT_LIMIT
    notes: list[str] = []
    #: The experiment, and the names of two runs of it that were compared; empty where a command was trained twice.
    #: Of two experiments, runs have the names of both.
    name: str = ""
    runs: list[str] = []
    #: What the two recorded; null where a command was trained twice.
    recorded: Recorded | None = None
    #: What differs next, with what the first run had at each cause before put in place of what the second has.
    further: list[Cause] = []
    #: Whether nothing differs any more then, up to `step`; null where nothing was put in place.
    explained: bool | None = None
    #: It was trained once, and each operation called twice: causes are operations that do not repeat.
    alone: bool = False
    #: What a round of the main loop is called.
    word: str = "iteration"

    @property
    def status(self) -> int:
        """Return the exit status."""
        return 0 if self.parted is False else 1


def diverge(
    request: Request,
    limit: float = DEFAULT_LIMIT,
    executor: Executor | None = None,
    announce: Announce = lambda name: None,
    *,
    as_it_is: bool = False,
    alone: bool = False,
) -> Divergence:
    """Train twice and find the first place where the two trainings part.

    The command runs in copies of the project that are thrown away; no experiment is made. What the request says of runs
    does not matter.

    Parameters
    ----------
    limit : float, optional
        Seconds after which a training is ended.
    executor : Executor, optional
        By default on this machine.
    as_it_is : bool, optional
        Leave the program's random numbers and switches alone; by default everything is held fixed.
    alone : bool, optional
        Train once only, and call each operation of PyTorch twice.

    Raises
    ------
    BadInput
        As ``deviate run`` does, before anything is written; a program without metrics is compared as well.
    KeyboardInterrupt
        After Ctrl-C, once the command was ended and everything removed.
    """
    check_limit(limit)
    prepared = prepare_request(request, scripted=False)
    executor = executor or make_executor(DEFAULT_EXECUTOR, 1)
    variant = AS_IT_IS if as_it_is else CONTROL
    words = ["diverge", *(["--as-is"] if as_it_is else []), *(["--one"] if alone else [])]
    with open_trials(prepared, executor, words, [variant]) as trials:
        search = _Search(trials, variant, limit, announce)
        return search.alone() if alone else search.search()


def diverge_runs(
    folder: ExperimentFolder,
    runs: tuple[RunFolder, RunFolder],
    limit: float = DEFAULT_LIMIT,
    announce: Announce = lambda name: None,
) -> Divergence:
    """Find the first place where two runs of an experiment part.

    What they recorded tells it where they drew other numbers, or are equal; else both are made again, as `diverge`
    does, and thrown away.

    Raises BadOption, CommandNotFound, KeyboardInterrupt as `diverge`.
    """
    check_limit(limit)
    experiment = folder.read_experiment()
    recorded = compare_recorded((folder, runs[0]), (folder, runs[1]))
    variants = [find_variant(each.run.variant) for each in runs]
    is_controlled = all(variant is not None and variant.controlled for variant in variants)
    words = ["diverge", folder.name, *(each.run.folder for each in runs)]
    if recorded.draws or recorded.is_equal:
        found = Divergence(
            command=mask_words(experiment.command),
            variant="control" if is_controlled else "as-is",
            parted=not recorded.is_equal,
            limit=limit,
            word=experiment.word,
        )
    else:
        with open_replays(folder, make_executor(DEFAULT_EXECUTOR, 1), words) as trials:
            pair = [each.run for each in runs] if is_controlled else []
            search = _Search(trials, CONTROL if is_controlled else AS_IT_IS, limit, announce, pair)
            found = search.search(recorded.value.iteration if recorded.value is not None else None)
        if found.parted is False:
            notes = [*found.notes, "The runs were equal when they were made again: whatever differs does not each time"]
            found = msgspec.structs.replace(found, notes=notes)
    return msgspec.structs.replace(found, name=folder.name, runs=words[2:], recorded=recorded)


def diverge_experiments(first: Of, second: Of) -> Divergence:
    """Say of two runs of two experiments, which may come from two machines, what they recorded that differs first."""
    recorded = compare_recorded(first, second)
    is_known = recorded.is_equal or bool(recorded.draws) or recorded.value is not None
    reason = "what both recorded is equal; but it was no value, their weights differ, or one did not end"
    experiment = first[0].read_experiment()
    return Divergence(
        command=mask_words(experiment.command),
        variant="as-is",
        parted=not recorded.is_equal if is_known else None,
        reason="" if is_known else reason,
        runs=[f"{folder.name}/{run.run.folder}" for folder, run in (first, second)],
        recorded=recorded,
        word=experiment.word,
    )


@dataclass
class _Replay:
    """What one pair of trainings wrote."""

    first: Trial
    second: Trial
    #: One was ended after `limit` seconds: what it lacks shows nothing.
    cut: bool

    def marks(self) -> tuple[list[Mark], list[Mark]]:
        return read_marks(self.first.ready.folder), read_marks(self.second.ready.folder)

    @cached_property
    def processes(self) -> list[tuple[Process, Process]]:
        """The processes that both have, the program itself first, as far as both came."""
        ours, theirs = (read_processes(trial.ready.folder) for trial in (self.first, self.second))
        pairs = [(ours[lineage], theirs[lineage]) for lineage in ours if lineage in theirs]
        pairs = [as_far_as_both(*pair) for pair in pairs] if self.cut else pairs
        return sorted(pairs, key=lambda pair: (not pair[0].is_first, pair[0].lineage))

    def parts(self, unit: Unit) -> bool:
        """Whether a mark or an operation differs."""
        operations = ((ours.operations, theirs.operations) for ours, theirs in self.processes)
        return compare_marks(*self.marks(), unit) is not None or any(first_difference(*pair) for pair in operations)


class _Search:
    """The search for one command."""

    def __init__(
        self, trials: Trials, variant: str, limit: float, announce: Announce, pair: Sequence[Run] = ()
    ) -> None:
        self.trials = trials
        self.variant = variant
        #: What is made again; empty: any two runs of the variant.
        self.pair = pair
        self.limit = limit
        self.announce = announce
        self.made = 0
        self.replays = 0
        self.limited = False
        #: Whether `limit` ended a training of the replay that is being made.
        self.cut = False
        self.notes: list[str] = [*trials.skipped]
        self.reason = ""

    def search(self, near: int | None = None) -> Divergence:
        """Find step, operation and line; `near` is an iteration in which the runs are known to differ."""
        order = {} if near is None else {"marks": [max(near - 1, 0), near + 1]}
        replay = self._replay("steps 0, 1, 2, 4, 8, …", order, lambda ours, theirs: _differ(ours, theirs))
        marks = replay.marks()
        unit = unit_of(*marks)
        steps = common_steps(*marks, unit)
        bracket = compare_marks(*marks, unit)
        if not self.reason and not steps:
            return self._without_steps()
        if self.reason or bracket is None:
            return self._result(unit, steps, bracket)
        if not bracket.is_exact:
            bracket = self._narrowed(bracket)
        return self._explained(bracket, steps)

    def _without_steps(self) -> Divergence:
        """Compare the statements of a program in which no step was seen, from its start to its end."""
        replay = self._replay("the lines up to the end", {"record": ["iteration", None, None]}, None)
        pairs, end = replay.processes, Bracket(unit="iteration", equal=-1, differs=0, parts=[], at_end=True)
        compared = len(pairs[0][0].statements) if pairs else 0
        explanation = Explanation(pairs, end, self._code)
        is_found = bool(compared) and explanation.is_found
        # What is hidden in objects shows in what is reported alone.
        parted = is_found or (bool(compared) and self._report_differs(replay))
        cause = remedied(explanation.cause(), is_held=self.variant != AS_IT_IS) if parted else None
        self.reason = self.reason or ("" if compared else NO_STEP)
        if not all(process.has_all_statements for pair in pairs for process in pair):
            self.notes.append("There were more statements than are compared")
        found = self._result("iteration", 0, end if parted else None)
        return msgspec.structs.replace(found, cause=cause, statements=compared)

    def _report_differs(self, replay: _Replay) -> bool:
        """Tell whether two trainings reported other values."""
        experiment = self.trials.source.experiment
        folders = [each.ready.folder for each in (replay.first, replay.second)]
        ours, theirs = (
            {**printed_series(each, experiment), **repeatable_series(each, experiment.metrics)} for each in folders
        )
        return first_value("second", theirs, "first", ours, ended=not self.limited) is not None

    def alone(self) -> Divergence:
        """Find the operations that do not repeat, by one training that calls each of them twice."""
        self.announce("training: each operation twice")
        trial = self._train({"record": ["update", None, None], "alone": True}, None, 0)
        processes = read_processes(trial.ready.folder).values()
        operations = [each for process in processes for each in process.operations]
        causes = [
            cause_at(FirstDifference(kind="operation", first=each, second=each), self._code) for each in operations
        ]
        called = sum(process.records for process in processes)
        marks = read_marks(trial.ready.folder)
        self.reason = self.reason or ("" if called else "no operation of PyTorch was seen")
        return msgspec.structs.replace(
            self._result("update", common_steps(marks, marks, "update"), None),
            parted=bool(causes) if called else None,
            cause=causes[0] if causes else None,
            further=causes[1:],
            operations=called,
            alone=True,
        )

    def _narrowed(self, bracket: Bracket) -> Bracket:
        """Return the exact step, by a replay in which every step in between is marked."""
        low, high = bracket.equal + 1, bracket.differs
        order = {"marks": [low, high], "record": None}

        def is_over(ours: list[Mark], theirs: list[Mark]) -> bool:
            return _differ(ours, theirs) or bool(theirs and theirs[-1].step >= high and theirs[-1].unit == bracket.unit)

        replay = self._replay(f"steps {low} to {high}", order, is_over)
        found = compare_marks(*replay.marks(), bracket.unit)
        if found is None:
            if not replay.cut:
                self.notes.append(
                    "In a further replay the runs did not part: whatever makes them differ does not each time"
                )
            return bracket
        return found

    def _explained(self, bracket: Bracket, steps: int) -> Divergence:
        """Return the divergence with its cause, by a replay in which operations and statements are recorded."""
        start = None if bracket.differs <= FROM_START else bracket.equal
        last = None if bracket.at_end else bracket.differs
        order = {"marks": None, "record": [bracket.unit, start, last]}
        name = "the operations" if bracket.unit == "update" else "the lines"
        at = "the end" if bracket.at_end else f"{bracket.unit} {bracket.differs}"
        replay = self._replay(f"{name} up to {at}", order, None)
        if not replay.cut and not replay.parts(bracket.unit):
            # What differs in most pairs does so in one of two.
            self._begin(f"{name} up to {at} once more")
            replay = _Replay(replay.first, self._train(order, None, 1), self.cut)
        again = compare_marks(*replay.marks(), bracket.unit)
        if start is not None and again is not None and again.differs <= start:
            # What differs by chance may do so earlier.
            return self._explained(again, steps)
        pairs = replay.processes
        explanation, parted = Explanation(pairs, bracket, self._code), replay.parts(bracket.unit)
        if not parted:
            self.notes.append(
                f"Trainings that record {name} were ended before {at}: a longer timeout below [run] in deviate.toml "
                "takes them there"
                if replay.cut
                else "In the last replay the runs did not part: whatever makes them differ does not each time"
            )
        found = msgspec.structs.replace(
            self._result(bracket.unit, steps, bracket),
            cause=remedied(explanation.cause(), is_held=self.variant != AS_IT_IS) if parted else Cause(kind="between"),
            operations=sum(len(ours.operations) for ours, _ in pairs),
            statements=sum(len(ours.statements) for ours, _ in pairs),
        )
        return self._with_further(found, explanation, order)

    def _with_further(self, found: Divergence, explanation: Explanation, order: Mapping[str, object]) -> Divergence:
        """Return a divergence with what differs once what the first run had at each cause is put in its place."""
        assert found.cause is not None
        causes, places, explained = [found.cause], list[tuple[object, bool]](), None
        while (place := explanation.place()) is not None and place not in places and len(places) < MOST_PUT:
            places.append(place)
            replay = self._replay("the same with the first run's results in place", {**order, "put": places}, None)
            if replay.cut:
                explained = None
                break
            explanation = Explanation(replay.processes, explanation.bracket, self._code)
            explained = not replay.parts(found.unit)
            if explained or self.reason:
                break
            cause = remedied(explanation.cause(), is_held=self.variant != AS_IT_IS)
            if all((cause.file, cause.line) != (each.file, each.line) for each in causes):
                causes.append(cause)
        return msgspec.structs.replace(found, further=causes[1:], explained=explained, replays=self.replays)

    def _code(self, file: str, line: int) -> str:
        path = self.trials.source.folder.snapshot / file
        try:
            return path.read_text(encoding="utf-8").splitlines()[line - 1].strip()
        except (OSError, UnicodeDecodeError, IndexError):
            return ""

    def _result(self, unit: Unit, steps: int, bracket: Bracket | None) -> Divergence:
        return Divergence(
            command=mask_words(self.trials.source.experiment.command),
            variant="as-is" if self.variant == AS_IT_IS else "control",
            parted=bracket is not None if bracket is not None or not self.reason else None,
            reason=self.reason if bracket is None else "",
            unit=unit,
            steps=steps,
            step=bracket.differs if bracket else None,
            equal=bracket.equal if bracket and bracket.equal >= 0 else None,
            parts=bracket.parts if bracket else [],
            at_end=bool(bracket and bracket.at_end),
            replays=self.replays,
            limited=self.limited,
            limit=self.limit,
            notes=list(dict.fromkeys(self.notes)),
            word=self.trials.source.experiment.word,
        )

    # Replays

    def _replay(
        self, name: str, order: Mapping[str, object], is_over: Callable[[list[Mark], list[Mark]], bool] | None
    ) -> _Replay:
        """Train twice; the second training is ended once `is_over` says so of the marks of both."""
        self._begin(name)
        first = self._train(
            order, None if is_over is None or "marks" not in order else lambda marks: is_over([], marks), 0
        )
        known = read_marks(first.ready.folder)
        order = {**order, "put from": str(first.ready.folder.path)}
        second = self._train(order, None if is_over is None else lambda marks: is_over(known, marks), 1)
        return _Replay(first, second, self.cut)

    def _begin(self, name: str) -> None:
        self.replays += 1
        self.cut = False
        self.announce(f"replay {self.replays}: {name}; each training at most {self.limit:g} s")

    def _train(self, order: Mapping[str, object], is_over: Callable[[list[Mark]], bool] | None, place: int) -> Trial:
        """Train; in a pair of runs that is made again this is the first or the second."""
        run = self.pair[place] if self.pair else Run(variant=self.variant, index=self.made)
        trial = self.trials.prepare(run, {VARIABLE: json.dumps(order)})
        self.made += 1
        folder = trial.ready.folder

        def complete(_: float) -> bool:
            if is_over is not None and is_over(read_marks(folder)):
                return True
            # One that is recorded to its end has not printed all before.
            record = order.get("record")
            return isinstance(record, list) and record[2] is not None and is_done(folder)

        ended = trial.watch(self.limit, self.trials.stop, complete)
        self.cut = self.cut or trial.ending(ended) == "limit"
        self.limited = self.limited or self.cut
        outcome = trial.outcome(ended)
        if isinstance(outcome, Unfinished) and ended.cause is None:
            self.reason = self.reason or outcome.reason
        return trial


def _differ(ours: list[Mark], theirs: list[Mark]) -> bool:
    """Tell whether a mark of the second training differs from that of the first."""
    return bool(ours) and compare_marks(ours, theirs, unit_of(ours, ours)) is not None


class Explanation:
    """What the records of one replay say."""

    def __init__(self, pairs: list[tuple[Process, Process]], bracket: Bracket, code: Callable[[str, int], str]) -> None:
        self.pairs = pairs
        self.bracket = bracket
        self.code = code
        first = ((ours.operations, theirs.operations) for ours, theirs in pairs[:1])
        self.found = next((first_difference(*each) for each in first), None)

    def place(self) -> tuple[object, bool] | None:
        """Return the operation in whose place another result can be put, and whether what it is given is meant."""
        found = self.found
        if found is None or found.first is None or found.kind in _NOT_PUT:
            return None
        other = found.second.entered if found.second is not None else None
        return key_of(found.first), found.kind == "host" and found.first.entered != other

    @property
    @deeply
    def is_found(self) -> bool:
        """Whether an operation, an array or the way through the program differs."""
        lines = self.lines()
        return self.found is not None or lines.of_arrays() is not None or lines.parting() is not None

    def lines(self) -> Lines:
        """Return the statements of the program itself."""
        return Lines(*self.pairs[0])

    @deeply
    def cause(self) -> Cause:
        """Return the cause: of the operations, else of the statements."""
        if not self.pairs:
            return Cause(kind="between")
        found, lines = self.found, self.lines()
        if found is None:
            named = lines.of_names(self.bracket.parts) if self.bracket.parts else lines.of_arrays()
            return self._of_line(named or lines.parting() or self._of_children())
        origin = self._origin(lines, found) if found.kind in _FROM_HOST else None
        return cause_at(found, self.code, origin)

    def _origin(self, lines: Lines, found: FirstDifference) -> Origin | None:
        if found.kind == "flow":
            return lines.parting()
        operation, other = found.first, found.second
        if found.kind == "draws" and operation is not None and other is not None:
            drawn = lines.of_states(operation.random, other.random, operation.n)
            if drawn is not None:
                return drawn
        if operation is None or other is None:
            return None
        origin = lines.at_operation(operation.frame, operation.n)
        if origin is not None and origin.kind == "statement" and _is_own(origin, operation):
            if operation.phase in _IN_OBJECTS:
                numbers = differing_numbers(operation, other)
                return lines.of_numbers(numbers, operation.n) if found.kind == "value" else None
            return self._of_children() or origin
        return origin or self._of_children()

    def _of_children(self) -> Origin | None:
        """Return the origin of what a worker returned."""
        for ours, theirs in self.pairs[1:]:
            found = Lines(ours, theirs).first_returned()
            if found is not None:
                return found
        return None

    def _of_line(self, origin: Origin | None) -> Cause:
        if origin is None or origin.kind == "before":
            return Cause(kind="between")
        cause = Cause(kind="line", file=origin.file, line=origin.line, function=origin.function, origin=origin)
        return _completed(cause, self.code)


def cause_at(found: FirstDifference, code: Callable[[str, int], str], origin: Origin | None = None) -> Cause:
    """Return the cause that an operation shows, and `origin` of what it is given where that is known."""
    operation = found.first or found.second
    assert operation is not None
    place = origin if origin is not None and origin.kind != "before" else operation
    cause = Cause(
        kind=found.kind,
        file=place.file,
        line=place.line,
        function=place.function,
        operation=operation.op,
        phase=operation.phase,
        module=operation.module,
        seen_file=operation.file,
        seen_line=operation.line,
        forward=operation.forward,
        after=found.before.op if found.before else "",
        after_file=found.before.file if found.before else "",
        after_line=found.before.line if found.before else 0,
        origin=origin,
    )
    return _completed(cause, code)


def _completed(cause: Cause, code_at: Callable[[str, int], str]) -> Cause:
    """Add the text of the line and the remedy."""
    code = code_at(cause.file, cause.line)
    remedy = remedy_of(cause.kind, cause.operation, code, cause.origin)
    return msgspec.structs.replace(cause, code=code, remedy=remedy)


def remedied(cause: Cause, *, is_held: bool) -> Cause:
    """Return a cause whose remedy is no switch that is set already, as under control."""
    is_set = is_held and cause.kind == "operation" and DETERMINISTIC in cause.remedy
    return msgspec.structs.replace(cause, remedy=BEYOND_SWITCHES) if is_set else cause


def _is_own(origin: Origin, operation: Operation) -> bool:
    """Tell whether a statement is the one that calls the operation: it reads what is equal, as far as can be seen."""
    return (origin.file, origin.line) == (operation.file, operation.line)
