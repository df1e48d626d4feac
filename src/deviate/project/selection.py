"""The metrics and the main loop of a project: what the analysis finds, and the user's last word on it."""

from __future__ import annotations

import ast
import functools
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from deviate.analyse.findings import Findings
from deviate.analyse.joined import join_findings
from deviate.analyse.project import analyse_project
from deviate.analyse.settings.arguments import words_after
from deviate.analyse.source.console import console_scripts
from deviate.analyse.source.stack import deeply
from deviate.errors import BadConfig
from deviate.experiment import Capture, MainLoop, Metric
from deviate.project.by_hand import listed_factors, parse_factors, set_factors
from deviate.project.config import FILE_NAME, Config, LoopEntry, MetricEntry, bad_entry, read_config
from deviate.project.import_path import import_folders
from deviate.project.locations import function_around, parse_file, span_of, squash
from deviate.project.target import Started


def extract(
    project: Path, entry: str, factors: Sequence[str] = (), command: Sequence[str] = (), cwd: Path | None = None
) -> Findings:
    """Find what one script reports; see `extract_starts`."""
    return extract_starts(project, [Started(entry=entry, command=list(command))], factors, cwd)


@deeply
def extract_starts(
    project: Path, starts: Sequence[Started], factors: Sequence[str] = (), cwd: Path | None = None
) -> Findings:
    """Find main loop, metrics and draws, and let ``deviate.toml``, then `factors` (``--factor``) have the last word.

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

    Raises
    ------
    BadConfig
        If an entry names a file, line or expression that is not there, or a name is used twice.
    """
    if config.main_loop is not None:
        findings = msgspec.structs.replace(findings, main_loop=_loop(config.main_loop, project))
    if config.draw:
        by_hand = listed_factors(config.draw, project)
        findings = msgspec.structs.replace(findings, draws=set_factors(by_hand, findings.draws, project))
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
    metric = chosen[0] if chosen else _added(index, entry, project)
    return msgspec.structs.replace(
        metric,
        name=entry.name,
        aggregate=entry.aggregate,
        direction=entry.direction or metric.direction,
        kind=entry.kind or metric.kind,
        selected=True,
    )


def _added(index: int, entry: MetricEntry, project: Path) -> Metric:
    """Make a metric of an expression that the user names by file and line."""
    expression = _normal(entry.expression)
    tree = parse_file(project / entry.file, functools.partial(bad_entry, f"metric[{index}]", project))
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
        hint = f"type `deviate extract ENTRY` to see lines, or correct the entry in {FILE_NAME}"
        raise bad_entry(f"metric[{index}]", project, problem, hint)
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
