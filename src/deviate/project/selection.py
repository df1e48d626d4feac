"""The metrics and the main loop of a project: what the analysis finds, and the user's last word on it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from deviate.analyse.draws import COMPILED
from deviate.analyse.findings import Findings
from deviate.analyse.project import analyse_project
from deviate.errors import BadConfig, NoMetrics
from deviate.experiment import Capture, Draw, MainLoop, Metric, Span
from deviate.project.config import FILE_NAME, Config, DrawEntry, LoopEntry, MetricEntry, bad_entry, read_config


def extract(project: Path, entry: str) -> Findings:
    """Find main loop and metrics, and let ``deviate.toml`` have the last word."""
    return apply_config(analyse_project(project, project / entry), read_config(project), project)


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
        findings = msgspec.structs.replace(findings, draws=_draws(config.draw, findings.draws, project))
    if config.metric is None:
        return findings
    _refuse_equal_names(config.metric, project)
    listed = [_metric(index, entry, findings.metrics, project) for index, entry in enumerate(config.metric)]
    taken = {_key(metric) for metric in listed}
    others = [
        msgspec.structs.replace(metric, selected=False) for metric in findings.metrics if _key(metric) not in taken
    ]
    return msgspec.structs.replace(findings, metrics=[*listed, *others])


def require_metrics(findings: Findings) -> Findings:
    """Return `findings` if there is a metric to record; else `NoMetrics` says what was looked at."""
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
            problem = f"two metrics are named {entry.name!r}; each needs a name of its own"
            raise bad_entry(f"metric[{index}]", project, problem, "rename one")
        seen[entry.name] = index


def _key(metric: Metric) -> tuple[str, int, str]:
    return metric.file, metric.line, squash(metric.expression)


def squash(expression: str) -> str:
    """Return `expression` without white space and with one kind of quotes, to compare what users type."""
    return "".join(expression.split()).replace('"', "'")


def _metric(index: int, entry: MetricEntry, metrics: Sequence[Metric], project: Path) -> Metric:
    key = entry.file, squash(entry.expression)
    same = [metric for metric in metrics if (metric.file, squash(metric.expression)) == key]
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
    tree = _parse(project / entry.file, functools.partial(bad_entry, f"metric[{index}]", project))
    nodes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.expr)
        and not isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
        and node.lineno <= entry.line <= (node.end_lineno or node.lineno)
        and squash(ast.unparse(node)) == squash(_normal(entry.expression))
    ]
    if not nodes:
        problem = f"metric {entry.name!r}: no expression {entry.expression!r} on line {entry.line} of {entry.file}"
        hint = f"type `deviate extract ENTRY` to see lines, or correct the entry in {FILE_NAME}"
        raise bad_entry(f"metric[{index}]", project, problem, hint)
    node = nodes[0]
    span = _span(node)
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


def _draws(entries: Sequence[DrawEntry], known: Sequence[Draw], project: Path) -> list[Draw]:
    """Return the draws with the factors that the user set; one the analysis does not know is added."""
    draws, set_by = list(known), dict[int, int]()
    for index, entry in enumerate(entries):
        positions = _matching(index, entry, draws, project)
        if not positions:
            positions = [len(draws)]
            draws.append(_added_draw(index, entry, project))
        for position in positions:
            if position in set_by:
                problem = f"draw[{set_by[position]}] sets the factor of the same call"
                raise bad_entry(f"draw[{index}]", project, problem, "delete one of the two entries")
            set_by[position] = index
            draws[position] = _set_factor(index, entry, draws[position], project)
    return draws


def _matching(index: int, entry: DrawEntry, draws: Sequence[Draw], project: Path) -> list[int]:
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
        raise bad_entry(f"draw[{index}]", project, problem, f'add the one that is meant: call = "{calls[0]}"')
    return at_line or (exact if len(exact) == 1 else [])


def _on(line: int, positions: Sequence[int], draws: Sequence[Draw]) -> list[int]:
    return [position for position in positions if draws[position].line == line]


def _set_factor(index: int, entry: DrawEntry, draw: Draw, project: Path) -> Draw:
    if draw.why.endswith(COMPILED):
        problem = f"the factor of {draw.call} on line {draw.line} of {draw.file} cannot be set: {COMPILED}"
        raise bad_entry(f"draw[{index}]", project, problem, "delete the entry, or draw outside of the compiled code")
    exact_entry = msgspec.structs.replace(entry, line=draw.line, call=draw.call)
    span = draw.span or _added_draw(index, exact_entry, project).span
    return msgspec.structs.replace(draw, factor=entry.factor, why=f"set in {FILE_NAME}", span=span, by_hand=True)


def _last_name(call: str) -> str:
    return squash(call).rpartition(".")[2]


def _added_draw(index: int, entry: DrawEntry, project: Path) -> Draw:
    """Make a draw of the call that the user names by file and line."""
    tree = _parse(project / entry.file, functools.partial(bad_entry, f"draw[{index}]", project))
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
        raise bad_entry(
            f"draw[{index}]", project, problem, "type `deviate extract ENTRY` to see the draws and their lines"
        )
    callee = nodes[0].func
    return Draw(
        file=entry.file,
        line=entry.line,
        function=_function_around(tree, callee),
        call=ast.unparse(callee),
        factor=entry.factor,
        why="",
        span=_span(callee),
    )


def _loop(entry: LoopEntry, project: Path) -> MainLoop:
    where = f"{project / FILE_NAME}: main_loop"
    tree = _parse(project / entry.file, lambda problem, hint: BadConfig(f"{where}: {problem}", hint))
    loops = [node for node in ast.walk(tree) if isinstance(node, (ast.For, ast.While))]
    for node in loops:
        if node.lineno == entry.line:
            return MainLoop(
                file=entry.file,
                line=entry.line,
                variable=ast.unparse(node.target) if isinstance(node, ast.For) else "",
                kind="for" if isinstance(node, ast.For) else "while",
                why=f"named in {FILE_NAME}",
                span=_span(node.iter if isinstance(node, ast.For) else node.test),
            )
    lines = ", ".join(str(node.lineno) for node in loops) or "none"
    raise BadConfig(
        f"{where}: no for or while starts on line {entry.line} of {entry.file}",
        hint=f"loops of that file start on lines: {lines}",
    )


def _span(node: ast.expr) -> Span:
    return Span(node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)


def _parse(path: Path, error: Callable[[str, str], BadConfig]) -> ast.Module:
    try:
        return ast.parse(path.read_bytes())
    except OSError as problem:
        raise error(f"cannot read {path}: {problem.strerror}", "paths are relative to the project") from problem
    except (SyntaxError, ValueError) as problem:
        raise error(f"{path} does not parse: {problem}", "name a file of Python source") from problem
