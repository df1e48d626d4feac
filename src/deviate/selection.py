"""Join what the analysis found with what the user wrote into ``deviate.toml``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from deviate.analyse.findings import Findings
from deviate.config import FILE_NAME, Config, LoopEntry, MetricEntry, bad_metric
from deviate.errors import BadConfig, NoMetrics
from deviate.experiment import Capture, MainLoop, Metric, Span


def apply_config(findings: Findings, config: Config, project: Path) -> Findings:
    """Return `findings` with the user's main loop and metrics; found metrics the user did not list are deselected.

    Raises
    ------
    BadConfig
        If an entry names a file, line or expression that is not there, or a name is used twice.
    """
    if config.main_loop is not None:
        findings = msgspec.structs.replace(findings, main_loop=_loop(config.main_loop, project))
    if config.metric is None:
        return findings
    _refuse_equal_names(config.metric, project)
    listed = [_metric(index, entry, findings.metrics, project) for index, entry in enumerate(config.metric)]
    taken = {_place(metric) for metric in listed}
    others = [
        msgspec.structs.replace(metric, selected=False) for metric in findings.metrics if _place(metric) not in taken
    ]
    return msgspec.structs.replace(findings, metrics=[*listed, *others])


def require_metrics(findings: Findings) -> Findings:
    """Return `findings` if there is a metric to record.

    Raises
    ------
    NoMetrics
        Saying what was looked at.
    """
    if any(metric.selected for metric in findings.metrics):
        return findings
    looked = f"{len(findings.files)} file{'s' if len(findings.files) != 1 else ''} ({', '.join(findings.files[:5])}"
    more = ", …)" if len(findings.files) > 5 else ")"
    raise NoMetrics(
        f"no metric found in {findings.entry}: read {looked}{more}, "
        f"rejected {len(findings.rejected)} reported values that are settings, counters or the like",
        hint=f"`deviate extract {findings.entry} --all` lists them; add [[metric]] name, file, line, expression to "
        f"{FILE_NAME}",
    )


def _refuse_equal_names(entries: Sequence[MetricEntry], project: Path) -> None:
    seen: dict[str, int] = {}
    for index, entry in enumerate(entries):
        if entry.name in seen:
            raise bad_metric(
                index, project, f"two metrics are named {entry.name!r}; each needs a name of its own", "rename one"
            )
        seen[entry.name] = index


def _place(metric: Metric) -> tuple[str, int, str]:
    return metric.file, metric.line, squash(metric.expression)


def squash(expression: str) -> str:
    """Return `expression` without white space and with one kind of quotes, to compare what users type."""
    return "".join(expression.split()).replace('"', "'")


def _metric(index: int, entry: MetricEntry, found: Sequence[Metric], project: Path) -> Metric:
    same = [
        metric
        for metric in found
        if metric.file == entry.file and squash(metric.expression) == squash(entry.expression)
    ]
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
    tree = _parse(project / entry.file, lambda problem, hint: bad_metric(index, project, problem, hint))
    nodes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.expr)
        and not isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
        and node.lineno <= entry.line <= (node.end_lineno or node.lineno)
        and squash(ast.unparse(node)) == squash(_normal(entry.expression))
    ]
    if not nodes:
        raise bad_metric(
            index,
            project,
            f"metric {entry.name!r}: no expression {entry.expression!r} on line {entry.line} of {entry.file}",
            f"type `deviate extract ENTRY` to see lines, or correct the entry in {FILE_NAME}",
        )
    node = nodes[0]
    span = Span(node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)
    return Metric(
        name=entry.name,
        variable=entry.expression,
        expression=entry.expression,
        file=entry.file,
        line=span.line,
        end_line=span.end_line,
        function=_function_around(tree, node),
        sink="added",
        kind=entry.kind or "quality",
        direction=entry.direction,
        aggregate=entry.aggregate,
        confidence=1.0,
        why=f"added in {FILE_NAME}",
        capture=Capture(how="value", span=span),
    )


def _normal(expression: str) -> str:
    """Write `expression` as `ast` writes it, so that spaces and quotes of the user do not matter."""
    try:
        return ast.unparse(ast.parse(expression.strip(), mode="eval"))
    except SyntaxError:
        return expression


def _function_around(tree: ast.Module, node: ast.AST) -> str:
    around = [
        function
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(n is node for n in ast.walk(function))
    ]
    return around[-1].name if around else "<module>"


def _loop(entry: LoopEntry, project: Path) -> MainLoop:
    place = f"{project / FILE_NAME}: main_loop"
    tree = _parse(project / entry.file, lambda problem, hint: BadConfig(f"{place}: {problem}", hint))
    for node in _loops(tree):
        if node.lineno == entry.line:
            header = node.iter if isinstance(node, ast.For) else node.test
            span = Span(header.lineno, header.col_offset, header.end_lineno or 0, header.end_col_offset or 0)
            return MainLoop(
                file=entry.file,
                line=entry.line,
                variable=ast.unparse(node.target) if isinstance(node, ast.For) else "",
                kind="for" if isinstance(node, ast.For) else "while",
                why=f"named in {FILE_NAME}",
                span=span,
            )
    lines = ", ".join(str(node.lineno) for node in _loops(tree)) or "none"
    raise BadConfig(
        f"{place}: no for or while starts on line {entry.line} of {entry.file}",
        hint=f"loops of that file start on lines: {lines}",
    )


def _loops(tree: ast.Module) -> Iterator[ast.For | ast.While]:
    yield from (node for node in ast.walk(tree) if isinstance(node, (ast.For, ast.While)))


def _parse(path: Path, error: Callable[[str, str], BadConfig]) -> ast.Module:
    try:
        return ast.parse(path.read_bytes())
    except OSError as problem:
        raise error(f"cannot read {path}: {problem.strerror}", "paths are relative to the project") from problem
    except (SyntaxError, ValueError) as problem:
        raise error(f"{path} does not parse: {problem}", "name a file of Python source") from problem
