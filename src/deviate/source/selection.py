"""The metrics and main loop of a project: what is found, and what the user says of them and of draws."""

from __future__ import annotations

import ast
import functools
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from deviate.core.errors import BadConfig, BadInput, BadOption
from deviate.core.experiment import SET_BY_OPTION, Capture, Draw, Findings, MainLoop, Metric, Span
from deviate.core.factors import SEEDED
from deviate.lexicon.words import same_name
from deviate.source.analysis import analyse_project, join_findings
from deviate.source.config import FILE_NAME, Config, DrawEntry, LoopEntry, MetricEntry, bad_entry, read_config
from deviate.source.draws.classify import COMPILED
from deviate.source.entry import Started, import_folders
from deviate.source.files import console_scripts, deeply
from deviate.source.settings.lookup import words_after

# Where expressions stand in the files that a user names.


def squash(expression: str) -> str:
    """Return `expression` without white space and with one kind of quotes, to compare what users type."""
    return "".join(expression.split()).replace('"', "'")


def function_around(tree: ast.Module, node: ast.AST) -> str:
    """Return the name of the function that a node stands in."""
    around = [
        function
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(n is node for n in ast.walk(function))
    ]
    return around[-1].name if around else "<module>"


def span_of(node: ast.expr) -> Span:
    """Return where an expression stands."""
    return Span(node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)


def parse_file(path: Path, error: Callable[[str, str], BadInput]) -> ast.Module:
    """Parse a file; `error` makes the exception of a problem and a hint."""
    try:
        return ast.parse(path.read_bytes())
    except OSError as problem:
        raise error(f"cannot read {path}: {problem.strerror}", "paths are relative to the project") from problem
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise error(f"{path} does not parse: {problem}", "name a file of Python source") from problem


# Factors of draws that the user sets: ``[[draw]]`` in ``deviate.toml``, and ``--set factor=FILE:LINE=NAME``.

#: Makes the error of a problem and a hint.
Refuse = Callable[[str, str], BadInput]

_OPTION = re.compile(r"(?P<file>.+):(?P<line>\d+)=(?P<factor>[\w-]+)")


@dataclass(frozen=True)
class ByHand:
    """Entries that the user wrote in one way."""

    entries: Sequence[DrawEntry]
    why: str
    #: What an entry, by its place, is called in messages.
    name: Callable[[int], str]
    #: Makes the error of an entry, by its place, a problem and a hint.
    refuse: Callable[[int, str, str], BadInput]


def listed_factors(entries: Sequence[DrawEntry], project: Path) -> ByHand:
    """Return what ``deviate.toml`` says of draws."""
    return ByHand(
        entries,
        why=f"set in {FILE_NAME}",
        name=lambda index: f"draw[{index}]",
        refuse=lambda index, problem, hint: bad_entry(f"draw[{index}]", project, problem, hint),
    )


def parse_factors(options: Sequence[str], project: Path) -> ByHand:
    """Return what the values of ``--set factor`` say of draws.

    Raises BadOption if one is not FILE:LINE=NAME, or names no factor that is drawn for.
    """

    def refuse(index: int, problem: str, hint: str) -> BadInput:
        hint = f"{hint}, in {FILE_NAME} under [[draw]]" if hint.startswith("add") else hint
        return BadOption(f"--set factor={options[index]}: {problem}", hint=hint)

    entries = [_parsed(option, functools.partial(refuse, index)) for index, option in enumerate(options)]
    return ByHand(entries, SET_BY_OPTION, name=lambda index: f"--set factor={options[index]}", refuse=refuse)


def _parsed(option: str, refuse: Refuse) -> DrawEntry:
    matched = _OPTION.fullmatch(option)
    if matched is None:
        raise refuse("expected FILE:LINE=NAME", "for example --set factor=train.py:52=data")
    if matched["factor"] not in SEEDED:
        raise refuse(f"expected a factor that is drawn for, found {matched['factor']!r}", f"one of {', '.join(SEEDED)}")
    file = Path(matched["file"]).as_posix()
    return msgspec.convert({"file": file, "line": int(matched["line"]), "factor": matched["factor"]}, DrawEntry)


def set_factors(by_hand: ByHand, known: Sequence[Draw], project: Path) -> list[Draw]:
    """Return the draws with the factors that the user set; one the analysis does not know is added."""
    draws, set_by = list(known), dict[int, int]()
    for index, entry in enumerate(_placed(by_hand.entries, project)):
        refuse = functools.partial(by_hand.refuse, index)
        positions = _matching(entry, draws, refuse)
        if not positions:
            positions = [len(draws)]
            draws.append(_added_draw(entry, project, refuse))
        for position in positions:
            if position in set_by:
                problem = f"{by_hand.name(set_by[position])} sets the factor of the same call"
                raise refuse(problem, "delete one of the two entries")
            set_by[position] = index
            draws[position] = _set_factor(entry, draws[position], project, by_hand.why, refuse)
    return draws


def _placed(entries: Sequence[DrawEntry], project: Path) -> list[DrawEntry]:
    """Return the entries with files as the analysis names them: outside the project by their absolute paths."""
    root = Path(os.path.abspath(project))
    files = [Path(os.path.normpath(root / entry.file)) for entry in entries]
    names = [(file.relative_to(root) if file.is_relative_to(root) else file).as_posix() for file in files]
    return [msgspec.structs.replace(entry, file=name) for entry, name in zip(entries, names, strict=True)]


def _matching(entry: DrawEntry, draws: Sequence[Draw], refuse: Refuse) -> list[int]:
    """Return the positions of the draws that an entry means; an edit above a draw moves its line."""
    in_file = [position for position, draw in enumerate(draws) if draw.file == entry.file]
    exact = [position for position in in_file if squash(draws[position].call) == squash(entry.call)]
    # `np.random.rand` as it is written is `numpy.random.rand`.
    ending = "." + (squash(entry.call).partition(".")[2] or squash(entry.call))
    alike = [position for position in in_file if not entry.call or f".{squash(draws[position].call)}".endswith(ending)]
    at_line = _on(entry.line, exact, draws) or _on(entry.line, alike, draws)
    calls = sorted({draws[position].call for position in at_line})
    if len(calls) > 1:
        problem = f"line {entry.line} of {entry.file} has several draws: {', '.join(calls)}"
        raise refuse(problem, f'add the one that is meant: call = "{calls[0]}"')
    return at_line or (exact if len(exact) == 1 else [])


def _on(line: int, positions: Sequence[int], draws: Sequence[Draw]) -> list[int]:
    return [position for position in positions if draws[position].line == line]


def _set_factor(entry: DrawEntry, draw: Draw, project: Path, why: str, refuse: Refuse) -> Draw:
    if draw.why.endswith(COMPILED):
        problem = f"the factor of {draw.call} on line {draw.line} of {draw.file} cannot be set: {COMPILED}"
        raise refuse(problem, "delete the entry, or draw outside of the compiled code")
    at_draw = msgspec.structs.replace(entry, line=draw.line, call=draw.call)
    span = draw.span or _added_draw(at_draw, project, refuse).span
    return msgspec.structs.replace(draw, factor=entry.factor, why=why, by_name=False, span=span, by_hand=True)


def _last_name(call: str) -> str:
    return squash(call).rpartition(".")[2]


def _added_draw(entry: DrawEntry, project: Path, refuse: Refuse) -> Draw:
    """Make a draw of the call that the user names by file and line."""
    tree = parse_file(project / entry.file, refuse)
    nodes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and node.lineno == entry.line
        and (not entry.call or _last_name(ast.unparse(node.func)) == _last_name(entry.call))
    ]
    if not nodes or (len(nodes) > 1 and not entry.call):
        which = f"no call of {entry.call!r}" if entry.call else "no draw"
        problem = f"{which} on line {entry.line} of {entry.file}"
        raise refuse(problem, "type `deviate extract ENTRY` to see the draws and their lines")
    callee = nodes[0].func
    return Draw(
        file=entry.file,
        line=entry.line,
        function=function_around(tree, callee),
        call=ast.unparse(callee),
        factor=entry.factor,
        why="",
        span=span_of(callee),
    )


def extract(
    project: Path, entry: str, factors: Sequence[str] = (), command: Sequence[str] = (), cwd: Path | None = None
) -> Findings:
    """Find what one script reports; see `extract_starts`."""
    return extract_starts(project, [Started(entry=entry, command=list(command))], factors, cwd)


@deeply
def extract_starts(
    project: Path, starts: Sequence[Started], factors: Sequence[str] = (), cwd: Path | None = None
) -> Findings:
    """Find main loop, metrics and draws, and let ``deviate.toml``, then `factors` (``--set``) have the last word.

    The scripts that are started are analysed one by one, and what they report is joined.
    """
    set_by_option = parse_factors(factors, project)
    found = join_findings([analyse_start(project, start, cwd or Path.cwd()) for start in starts])
    findings = apply_config(found, read_config(project), project)
    if not set_by_option.entries:
        return findings
    return msgspec.structs.replace(findings, draws=set_factors(set_by_option, findings.draws, project))


def analyse_start(project: Path, start: Started, cwd: Path) -> Findings:
    """Analyse a script.

    Where the imports of its command, started in the folder `cwd`, lead out of the project, they are followed; its
    arguments decide what runs. Without a command that names the script, any arguments may be given.
    """
    folders = import_folders(start.command, cwd, os.environ)
    # What a shell script leaves to a variable is not known.
    is_known = bool(start.command) and not any("$" in word or "`" in word for word in start.command)
    words = list(start.command) if is_known else []
    entry = project / start.entry
    installed = next(
        (each for each in console_scripts(project) if each.name in words and each.file == entry.resolve()), None
    )
    if installed is not None:
        arguments = words[words.index(installed.name) + 1 :]
        return analyse_project(project, entry, folders, arguments, function=installed.function)
    return analyse_project(project, entry, folders, words_after(words, start.entry) if is_known else None)


def apply_config(findings: Findings, config: Config, project: Path) -> Findings:
    """Return `findings` with the user's main loop, factors of draws and metrics.

    Metrics that were found and that the user did not list are deselected.

    Raises BadConfig if an entry names a file, line or expression that is not there, or a name is used twice.
    """
    if config.main_loop is not None:
        findings = msgspec.structs.replace(findings, main_loop=_loop(config.main_loop, project))
    if config.draw:
        by_hand = listed_factors(config.draw, project)
        findings = msgspec.structs.replace(findings, draws=set_factors(by_hand, findings.draws, project))
    findings = _with_metrics(findings, config, project)
    main = same_name(config.statistics.main, [metric.name for metric in findings.metrics if metric.selected])
    metrics = [msgspec.structs.replace(each, main=True) if each.name == main else each for each in findings.metrics]
    return msgspec.structs.replace(findings, metrics=metrics)


def _with_metrics(findings: Findings, config: Config, project: Path) -> Findings:
    if config.metric is None:
        return findings
    _refuse_equal_names(config.metric, project)
    listed = [_metric(index, entry, findings.metrics, project) for index, entry in enumerate(config.metric)]
    taken = {_key(metric) for metric in listed}
    others = [
        msgspec.structs.replace(metric, selected=False) for metric in findings.metrics if _key(metric) not in taken
    ]
    return msgspec.structs.replace(findings, metrics=[*listed, *others])


def _refuse_equal_names(entries: Sequence[MetricEntry], project: Path) -> None:
    seen: dict[str, int] = {}
    for index, entry in enumerate(entries):
        if entry.name in seen:
            problem = f"two metrics are named {entry.name!r}; each needs a name of its own"
            raise bad_entry(f"metric[{index}]", project, problem, "rename one")
        seen[entry.name] = index


def _key(metric: Metric) -> tuple[str, int, str]:
    return metric.file, metric.line, _normal(metric.expression)


def _metric(index: int, entry: MetricEntry, metrics: Sequence[Metric], project: Path) -> Metric:
    key = entry.file, _normal(entry.expression)
    same = [metric for metric in metrics if (metric.file, _normal(metric.expression)) == key]
    at_line = [metric for metric in same if metric.line <= entry.line <= metric.end_line]
    # An edit above a metric moves its line; where the expression stands only once in the file, it is still the one.
    chosen = at_line or (same if len(same) == 1 else [])
    refuse = functools.partial(bad_entry, f"metric[{index}]", project)
    metric = chosen[0] if chosen else metric_at(entry, project, refuse)
    return msgspec.structs.replace(
        metric,
        name=entry.name,
        aggregate=entry.aggregate,
        direction=entry.direction or metric.direction,
        kind=entry.kind or metric.kind,
        selected=True,
    )


def metric_at(entry: MetricEntry, project: Path, refuse: Refuse) -> Metric:
    """Make a metric of an expression, or of what is assigned, that the user names by file and line.

    What is not there is an error, which `refuse` makes.
    """
    expression = _normal(entry.expression)
    tree = parse_file(project / entry.file, refuse)
    nodes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.expr)
        and not isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
        and node.lineno <= entry.line <= (node.end_lineno or node.lineno)
        and squash(ast.unparse(node)) == expression
    ] or _assigned(tree, expression, entry.line)
    if not nodes:
        problem = f"metric {entry.name!r}: no expression {entry.expression!r} on line {entry.line} of {entry.file}"
        hint = "type `deviate extract ENTRY` to see lines; name one that reads the value, or the right-hand side"
        raise refuse(problem, hint)
    node = nodes[0]
    span = span_of(node)
    return Metric(
        name=entry.name,
        variable=entry.expression,
        expression=entry.expression,
        file=entry.file,
        line=span.line,
        end_line=span.end_line,
        function=function_around(tree, node),
        sink="added",
        kind=entry.kind or "quality",
        direction=entry.direction,
        aggregate=entry.aggregate,
        confidence=1.0,
        why=f"added in {FILE_NAME}",
        capture=Capture(how="value", span=span),
    )


def _assigned(tree: ast.AST, target: str, line: int) -> list[ast.expr]:
    """Return the values that are assigned on a line to what the user names."""
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        and node.value is not None
        and node.lineno <= line <= (node.end_lineno or node.lineno)
        and any(
            squash(ast.unparse(each)) == target for each in getattr(node, "targets", [getattr(node, "target", None)])
        )
    ]


def _normal(expression: str) -> str:
    """Write `expression` as `ast` writes it, without white space, so that it matches however it is spelled."""
    try:
        return squash(ast.unparse(ast.parse(expression.strip(), mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return squash(expression)


def _loop(entry: LoopEntry, project: Path) -> MainLoop:
    where = f"{project / FILE_NAME}: main_loop"
    tree = parse_file(project / entry.file, lambda problem, hint: BadConfig(f"{where}: {problem}", hint))
    loops = [node for node in ast.walk(tree) if isinstance(node, (ast.For, ast.While))]
    for node in loops:
        if node.lineno == entry.line:
            return MainLoop(
                file=entry.file,
                line=entry.line,
                variable=ast.unparse(node.target) if isinstance(node, ast.For) else "",
                kind="for" if isinstance(node, ast.For) else "while",
                why=f"named in {FILE_NAME}",
                span=span_of(node.iter if isinstance(node, ast.For) else node.test),
            )
    lines = ", ".join(str(node.lineno) for node in loops) or "none"
    raise BadConfig(
        f"{where}: no for or while starts on line {entry.line} of {entry.file}",
        hint=f"loops of that file start on lines: {lines}",
    )
