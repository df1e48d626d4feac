"""Analyse a project: the one way into this package."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TypeVar

import msgspec

from deviate.core.errors import EntrySyntax
from deviate.core.experiment import Comparison, Draw, Findings, MainLoop, Metric, Rejected, Script
from deviate.lexicon.words import words_like
from deviate.source.draws.classify import find_draws
from deviate.source.entry import find_entry
from deviate.source.files import UnreadableSourceError, read_source, with_deep_stack
from deviate.source.flow.evaluation import Flow
from deviate.source.flow.program import Program
from deviate.source.flow.reach import CallGraph, reached_units
from deviate.source.flow.starts import library_copies, unchosen_modules
from deviate.source.framework_metrics import framework_metrics
from deviate.source.imports import relative
from deviate.source.index import ModuleIndex, Unit
from deviate.source.loop_candidates import assumed_loop, assumed_metric, may_train, training_modules
from deviate.source.main_loop import LoopFinder, Phases, loop_at
from deviate.source.metrics.finder import MetricFinder, not_taken, unreached
from deviate.source.sinks.reports import Reports
from deviate.source.syntax import called_name, last_part, span_of, text_of

# Find where a program compares what it predicted with what it should have: ``(predicted == target).sum()``.

#: Functions and methods that compare element by element.
_EQUAL = {"eq", "equal", "eq_"}

#: Names in what is predicted, and in what is to be predicted.
_PREDICTED = re.compile(
    words_like("(y|net)?outs?|hyps?|probs?|round")
    + r"|(?i:pred(?!ica|ece|at)|output|logit|arg_?max|topk|hypoth|guess|probab|score|choice|hat\b|\bmax\b|\bpr?\b)"
)
_TARGET = re.compile(
    words_like("class(es)?|refs?|y?true|gold", "answer|reference")
    + r"|(?i:target|tgt|label|truth|\bgt|\by|\bcls\b|\bt\b)"
)

#: Functions whose source is compiled where their class is, by ``torch.jit.script``.
_COMPILED = {"forward", "__call__", "call"}

#: Where the truth of a comparison decides what runs next, it is none of many examples.
_DECISIONS = (ast.If, ast.While, ast.Assert, ast.IfExp, ast.BoolOp, ast.comprehension, ast.Match)

#: What is the same for all examples.
_CONSTANTS = (ast.Constant, ast.JoinedStr, ast.Tuple, ast.List, ast.Starred)


def find_comparisons(program: Program) -> list[Comparison]:
    """Return the comparisons of the running code whose result may hold one entry an example, by file and line."""
    comparisons = [
        comparison
        for module in program.modules
        if not any("jit.script" in line for line in module.lines)
        for unit in module.units
        if unit is module.unit or (unit in program.reached and unit.name not in _COMPILED)
        for comparison in _in_unit(unit)
    ]
    return sorted(comparisons, key=lambda each: (each.file, each.line, each.left.column))


def _in_unit(unit: Unit) -> Iterator[Comparison]:
    calls = ((site.node, site.statement) for site in unit.calls if called_name(site.node) in _EQUAL)
    for node, statement in (*unit.equalities, *calls):
        for comparison in _at(node, unit.module, unit.display_name):
            if statement is None or not _decides(node, statement):
                yield comparison


def _decides(node: ast.expr, statement: ast.stmt) -> bool:
    """Whether the truth of an expression decides what runs next, alone or under `not` and `and`."""
    waiting: list[tuple[ast.AST, ast.AST]] = [(statement, statement)]
    while waiting:
        at, parent = waiting.pop()
        if at is node:
            return isinstance(parent, _DECISIONS)
        # The operands of `not` and `and` decide what these decide.
        holder = parent if isinstance(at, (ast.UnaryOp, ast.BoolOp)) and isinstance(parent, _DECISIONS) else at
        waiting += [(child, holder) for child in ast.iter_child_nodes(at) if not isinstance(child, ast.stmt)]
    return False


def _at(node: ast.expr, module: ModuleIndex, function: str) -> Iterator[Comparison]:
    sides = _sides(node)
    if sides is None or any(isinstance(side, _CONSTANTS) for side in sides):
        return
    left, right = sides
    texts = [text_of(side) for side in sides]
    if not any(pattern.search(text) for pattern in (_PREDICTED, _TARGET) for text in texts):
        return  # of arrays that have nothing to do with predictions
    left_span, right_span = span_of(left, module), span_of(right, module)
    if left_span is not None and right_span is not None:
        # ``y.argmax(1) == y_pred``: targets have a largest entry, too.
        first, second = (re.sub(r"(?i)arg_?max", "", text) for text in texts)
        hot = _is_target(first) and _PREDICTED.search(second) is not None
        yield Comparison(
            file=module.file, line=left_span.line, function=function,
            left=left_span, right=right_span, target_first=hot or (_is_target(texts[0]) and not _is_target(texts[1])),
        )  # fmt: skip


def _sides(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return what a comparison element by element has on its two sides; None for anything else."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return left, right
        case ast.Call(func=ast.Attribute(attr=name), args=[left, right], keywords=[]) if name in _EQUAL:
            return left, right
        case ast.Call(func=ast.Attribute(value=left, attr=name), args=[right], keywords=[]) if name in _EQUAL:
            return left, right
    return None


def _is_target(text: str) -> bool:
    return bool(_TARGET.search(text)) and not _PREDICTED.search(text)


#: Metrics, rejected values, the main loop, draws, and whether the loop is known to train.
Results = tuple[list[Metric], list[Rejected], MainLoop | None, list[Draw], bool]

#: Alternatives that are left out, one after the other, until one trains.
MAX_PASSED_OVER = 3


def analyse_project(
    root: Path,
    entry: Path,
    folders: Sequence[Path] = (),
    arguments: Sequence[str] | None = None,
    *,
    function: str = "",
) -> Findings:
    """Find main loop and metrics of the training that an entry script runs.

    Parameters
    ----------
    root : Path
        Folder of the project.
    entry : Path
        The script that is started, absolute or relative to `root`.
    folders : sequence of Path, optional
        What else is on the module search path. What is imported from there, or from where the program itself leads
        `sys.path`, is read wherever it lies; installed libraries are not.
    arguments : sequence of str, optional
        Words of the command after the script. Options, and the configuration files they name, decide which branches
        and which of several classes run. Without them, any option may be given.
    function : str, optional
        The function of the entry that is started, as a program that the project installs starts one.

    Raises
    ------
    EntryNotFound, EntryNotPython, EntrySyntax
        When the entry is missing, is not Python by name, or does not parse.
    """
    root = root.resolve()
    entry = find_entry((), root, str(entry))
    with _without_collection():
        program = Program(root, entry, folders, arguments, function=function)
        if program.entry is None:
            _refuse(program, relative(entry, root))
        results = with_deep_stack(lambda: read_program(program))
        if results[2] is None:
            wide = Program(root, entry, folders, arguments, function=function, is_wide=True)
            results = with_deep_stack(lambda: _read_widely(wide, program)) or results
            program = wide if results[2] is not None else program
    metrics, rejected, main_loop, draws, trains = results
    return Findings(
        entry=relative(entry, root), main_loop=main_loop, metrics=metrics, rejected=rejected, draws=draws,
        unreadable=sorted(program.imports.unreadable, key=lambda file: file.file),
        files=[module.file for module in program.modules], outside=sorted(program.imports.outside),
        comparisons=find_comparisons(program), trains=trains,
    )  # fmt: skip


@contextmanager
def _without_collection() -> Iterator[None]:
    """Keep the garbage collector from walking the growing trees again and again: a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # The trees join the old objects, or the next allocation would walk all of them as young ones.
        gc.freeze()
        gc.unfreeze()
        if was_on:
            gc.enable()


def read_program(program: Program) -> Results:
    """Run the steps of the analysis, each on the results of those before.

    Where the first of several alternatives trains nothing, the next ones are tried. Where settings exclude every
    training, what they are was misread, and they decide nothing.
    """
    results = _read(program, *_reach(program))
    if not results[4] and program.constants.alternatives.has_chosen:
        chosen = _choose_one_that_trains(program)
        results = _read(program, *chosen) if chosen is not None else results
    has_decided = program.constants.has_decided or program.choices.has_decided or bool(program.unchosen)
    if results[2] is None and has_decided:
        program.is_decided = False
        return _read(program, *_reach(program))
    return results


def _read_widely(program: Program, known: Program) -> Results | None:
    """Look for the main loop in what the entry is assumed to reach, beyond the modules that are `known`.

    First by names that Python would not find a module by, or that texts give; then in all functions of the entry; then
    in those of the modules that train.
    """
    assert program.entry is not None
    results = read_program(program)
    for assumed in ([program.entry], training_modules(program)) if may_train(program.entry) else ():
        if results[2] is None and assumed:
            program.assumed = assumed
            results = read_program(program)
    metrics, rejected, loop, draws, trains = results
    if loop is None:
        return None
    files = {module.file for module in known.modules} - {module.file for module in program.assumed}
    metrics = [metric if metric.file in files else assumed_metric(metric) for metric in metrics]
    return metrics, rejected, assumed_loop(loop), draws, trains and not program.assumed


def _choose_one_that_trains(program: Program) -> tuple[Flow, CallGraph] | None:
    """Pass alternatives over until one trains, and return what it reaches; where none does, reach the first again."""
    for count in range(1, MAX_PASSED_OVER + 1):
        program.constants.pass_over(count)
        reached = _reach(program)
        if LoopFinder(*reached).find() is not None:
            return reached
        if not program.constants.alternatives.has_chosen:
            break
    program.constants.pass_over(0)
    _reach(program)
    return None


def _reach(program: Program) -> tuple[Flow, CallGraph]:
    flow = Flow(program)
    program.set_reached(reached_units(program, flow))
    program.find_passed(flow)
    return flow, CallGraph(flow)


def _read(program: Program, flow: Flow, graph: CallGraph) -> Results:
    loops = LoopFinder(flow, graph)
    reports = Reports(flow)
    reports.collect()
    finder = MetricFinder(flow, reports)
    finder.classify_all()
    trained = loops.find()
    main_loop = trained or loops.find_reporting(finder.reporting(), finder.counted)
    training, phases = _weights(program, graph, loops, main_loop)
    main_loop = _sized(program, main_loop)
    loop_file = main_loop.file if main_loop is not None else ""
    finder.weigh(training, phases, unchosen_modules(program, loop_file) | library_copies(program, loop_file))
    rejected = [*finder.rejections(), *unreached(flow, reports)]
    metrics = finder.metrics(framework_metrics(flow, loops.fitting))
    draws = find_draws(flow, graph, _phases_of_draws(program, graph, loops, main_loop), main_loop)
    # Last of all: it looks at branches that are not taken, which nothing else should see.
    rejected += not_taken(flow, reports, metrics)
    return metrics, rejected, main_loop, draws, trained is not None


def _sized(program: Program, main_loop: MainLoop | None) -> MainLoop | None:
    """Return the main loop with the rounds that it has, where nothing in it may end it earlier."""
    own = loop_at(program.reached, main_loop.file, main_loop.line) if main_loop and main_loop.kind == "for" else None
    if main_loop is None or own is None or isinstance(own[1].node, ast.While) or _may_break(own[1].node):
        return main_loop
    return msgspec.structs.replace(main_loop, rounds=program.choices.rounds(own[1].node.iter, own[0]))


def _may_break(loop: ast.For | ast.AsyncFor) -> bool:
    inner = {id(node) for other in ast.walk(loop) if other is not loop and isinstance(other, (ast.For, ast.While))
             for node in ast.walk(other) if isinstance(node, ast.Break)}  # fmt: skip
    return any(isinstance(node, ast.Break | ast.Return) and id(node) not in inner for node in ast.walk(loop))


def _weights(
    program: Program, graph: CallGraph, loops: LoopFinder, main_loop: MainLoop | None
) -> tuple[set[Unit], Phases | None]:
    """Functions that train, and, where the main loop is the project's own, what runs when."""
    if main_loop is None:
        return set(), None
    own = loop_at(program.reached, main_loop.file, main_loop.line) if main_loop.kind != "call" else None
    if own is None:
        return {unit for unit in program.reached if unit.owner is not None}, None
    unit, loop = own
    phases = Phases(program, graph, unit, loop, loops.training_loops(), loops.repeating)
    return {unit} | graph.inside(unit, loop.node), phases


def _phases_of_draws(
    program: Program, graph: CallGraph, loops: LoopFinder, main_loop: MainLoop | None
) -> Phases | None:
    """Separate what runs before the training from the training, also where that is a library's loop.

    Arithmetic that looks like an update of weights makes no loop a training loop here: data are made by such loops.
    """
    if main_loop is None:
        return None
    if main_loop.kind != "call":
        own = loop_at(program.reached, main_loop.file, main_loop.line)
        training = loops.training_loops(by_arithmetic=False)
        return Phases(program, graph, *own, training) if own is not None else None
    for site in (*loops.fitting, *loops.compiled):
        unit = site.scope.unit
        if (unit.module.file, site.node.lineno) == (main_loop.file, main_loop.line):
            return Phases(program, graph, unit, site, ())
    return None


def _refuse(program: Program, entry: str) -> None:
    problem = program.imports.unreadable[0]
    raise EntrySyntax(
        f"{entry}, line {problem.line}: expected Python 3 source, found: {problem.error}",
        hint="correct the line, or run the script with Python 3 once to see the same error",
    )


# The findings of several scripts that one command starts, as those of one.

Found = TypeVar("Found")


def join_findings(each: Sequence[Findings]) -> Findings:
    """Return what several scripts report and draw, each thing once.

    The script that trains comes first: its main loop is that of the whole. A metric that two scripts report at
    different places under one name gets the script before its name.
    """
    if len(each) == 1:
        return each[0]
    ranked = sorted(each, key=lambda found: (not found.trains, found.main_loop is None))
    first = ranked[0]
    return Findings(
        entry=first.entry,
        main_loop=first.main_loop,
        trains=first.trains,
        metrics=_metrics(ranked),
        rejected=_once((one for found in ranked for one in found.rejected), lambda one: one),
        draws=_once((draw for found in ranked for draw in found.draws), lambda draw: (draw.file, draw.span, draw.line)),
        unreadable=_once((one for found in ranked for one in found.unreadable), lambda one: one),
        files=_once((file for found in ranked for file in found.files), lambda file: file),
        outside=_once((file for found in ranked for file in found.outside), lambda file: file),
        comparisons=_once(
            (one for found in ranked for one in found.comparisons), lambda one: (one.file, one.left, one.right)
        ),
        scripts=[Script(entry=found.entry, main_loop=_own_loop(found, each)) for found in each],
    )


def _own_loop(found: Findings, each: Sequence[Findings]) -> MainLoop | None:
    """Return the main loop of a script, unless another reads its file: there, it may be any loop."""
    loop = found.main_loop
    others = [other for other in each if other is not found and loop is not None and loop.file in other.files]
    return loop if all(other.main_loop == loop for other in others) else None


def _metrics(ranked: Sequence[Findings]) -> list[Metric]:
    owners: dict[tuple[object, ...], str] = {}
    metrics: dict[tuple[object, ...], Metric] = {}
    for found in ranked:
        for metric in found.metrics:
            key: tuple[object, ...] = metric.file, metric.line, metric.expression, metric.capture
            if key not in metrics or (metric.selected and not metrics[key].selected):
                owners[key], metrics[key] = found.entry, metric
    owners_of: dict[str, set[str]] = {}
    for key, metric in metrics.items():
        owners_of.setdefault(metric.name, set()).add(owners[key])
    stems = _stems({found.entry for found in ranked})
    return [
        msgspec.structs.replace(metric, name=f"{stems[owners[key]]}: {metric.name}")
        if len(owners_of[metric.name]) > 1
        else metric
        for key, metric in metrics.items()
    ]


def _stems(entries: set[str]) -> dict[str, str]:
    """Return what tells scripts apart: the name of the file, or the path where two files have one name."""
    paths = {entry: PurePosixPath(entry).with_suffix("") for entry in entries}
    names = [path.name for path in paths.values()]
    return {entry: path.name if names.count(path.name) == 1 else path.as_posix() for entry, path in paths.items()}


def _once(things: Iterable[Found], key: Callable[[Found], object]) -> list[Found]:
    known: dict[object, Found] = {}
    for thing in things:
        known.setdefault(key(thing), thing)
    return list(known.values())


# Names of files that a program writes, as its source says them.

#: What writes a file that it is given the name of, or is a method of.
_WRITERS = {
    *("save", "savez", "savez_compressed", "savetxt", "dump", "write_text", "write_bytes", "imwrite"),
    *("to_csv", "to_json", "to_pickle", "to_parquet", "save_weights", "save_model", "save_file"),
}

_WRITING = frozenset("wax+")


def written_names(root: Path, files: Sequence[str]) -> set[str]:
    """Return the names, without folders, that files of a project give to what they write."""
    names: set[str] = set()
    for file in files:
        try:
            names.update(_names(read_source(root / file).tree))
        except UnreadableSourceError:
            continue
    return names


def _names(tree: ast.Module) -> Iterator[str]:
    assigned: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                assigned.setdefault(last_part(target), []).append(node.value)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _writes(node)):
        for part in (call.func, *call.args, *(keyword.value for keyword in call.keywords)):
            for node in ast.walk(part):
                for value in (node, *assigned.get(last_part(node), ())):
                    yield from _file_names(value)


def _writes(call: ast.Call) -> bool:
    name = last_part(call.func)
    if name != "open":
        return name in _WRITERS
    given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    modes = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return any(len(mode) < 4 and not _WRITING.isdisjoint(mode) for mode in modes)


def _file_names(value: ast.AST) -> Iterator[str]:
    for node in ast.walk(value):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and PurePosixPath(node.value).suffix:
            yield PurePosixPath(node.value).name
