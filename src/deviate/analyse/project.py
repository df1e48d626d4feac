"""Analyse a project: the one way into this package."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deviate.analyse.comparisons import find_comparisons
from deviate.analyse.draws import find_draws
from deviate.analyse.entry import find_entry
from deviate.analyse.findings import Findings, Rejected
from deviate.analyse.flow.callgraph import CallGraph
from deviate.analyse.flow.evaluation import Flow
from deviate.analyse.flow.plugins import library_copies, unchosen_modules
from deviate.analyse.flow.program import Program
from deviate.analyse.flow.reach import reached_units
from deviate.analyse.frameworks.reported import framework_metrics
from deviate.analyse.loops.assumed import assumed_loop, assumed_metric, may_train, training_modules
from deviate.analyse.loops.finder import LoopFinder
from deviate.analyse.loops.phases import Phases, loop_at
from deviate.analyse.metrics.finder import MetricFinder, unreached
from deviate.analyse.sinks.reports import Reports
from deviate.analyse.source.index import Unit
from deviate.analyse.source.search_path import relative
from deviate.analyse.source.stack import with_deep_stack
from deviate.errors import EntrySyntax
from deviate.experiment import Draw, MainLoop, Metric

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
    main_loop = trained or loops.find_reporting(finder.reporting(), finder.counted())
    training, phases = _weights(program, graph, loops, main_loop)
    loop_file = main_loop.file if main_loop is not None else ""
    finder.weigh(training, phases, unchosen_modules(program, loop_file) | library_copies(program, loop_file))
    rejected = [*finder.rejections(), *unreached(flow, reports)]
    metrics = finder.metrics(framework_metrics(flow, loops.fitting))
    return (
        metrics,
        rejected,
        main_loop,
        find_draws(flow, graph, _phases_of_draws(program, graph, loops, main_loop), main_loop),
        trained is not None,
    )


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
