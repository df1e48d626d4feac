"""Which expressions of a project are wrapped, and the code that Python is given in the place of the author's."""

from __future__ import annotations

import ast
import difflib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from keyword import iskeyword
from pathlib import Path

from deviate.core.experiment import (
    Capture,
    Comparison,
    Draw,
    Experiment,
    Findings,
    MainLoop,
    Metric,
    Span,
    further_loops,
)
from deviate.source.edits import (
    DRAW,
    LOOPS,
    SIDE,
    Change,
    Columns,
    Edit,
    FileCode,
    Instrumented,
    Site,
    Skipped,
    Source,
    Tree,
    apply_changes,
    changed_columns,
    index_tree,
    locate,
    read_source,
    skip,
    wrap,
)
from deviate.source.files import deeply, with_deep_stack

# Check that an instrumented source means what the source meant.

#: The argument that is the wrapped expression, of each wrap.
PLACES = {"__dv__": 1, "__dv_map__": 1, "__dv_beside__": 1, DRAW: 1, SIDE: 2, **dict.fromkeys(LOOPS, 0)}


class RemoveWraps(ast.NodeTransformer):
    """Remove the wraps from a tree."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace the call by the expression that it wraps."""
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id not in PLACES:
            return node
        return node.args[PLACES[node.func.id]]

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Join neighbouring literals, which a rewritten field may leave in two."""
        self.generic_visit(node)
        values: list[ast.expr] = []
        for value in node.values:
            last = values[-1] if values else None
            if isinstance(value, ast.Constant) and isinstance(last, ast.Constant):
                values[-1] = ast.Constant(value=str(last.value) + str(value.value))
            else:
                values.append(value)
        node.values = values
        return node


def parse(text: str) -> ast.Module:
    """Parse `text` without warnings about its escapes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text.removeprefix("\ufeff"))


def compiles(text: str) -> bool:
    """Tell whether the interpreter compiles `text` as a module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text.removeprefix("\ufeff"), "<instrumented>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True


def means_the_same(before: str, after: str) -> bool:
    """Tell whether `after` is `before` with wraps, on the same number of lines.

    Expressions nested so deep that they can't be compared either way count as changed.
    """
    try:
        return _is_same(before, after)
    except RecursionError:
        pass
    try:
        return with_deep_stack(lambda: _is_same(before, after))
    except RecursionError:
        return False


def _is_same(before: str, after: str) -> bool:
    if not compiles(after):
        return False
    original, stripped = RemoveWraps().visit(parse(before)), RemoveWraps().visit(parse(after))
    return ast.dump(original) == ast.dump(stripped) and len(before.splitlines()) == len(after.splitlines())


# Wrap reported values on their lines: the text that Python is given in the place of the author's.


@deeply
def instrument_source(source: bytes | str, edits: Sequence[Edit]) -> Instrumented:
    """Return `source` with `edits` made: no line moves, and all else stays byte by byte as it was.

    The later of two edits at one span becomes the outer call. Every edit is either done or skipped for a stated reason.
    """
    try:
        decoded = read_source(source)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        return unchanged(source, edits, "unreadable", str(error))
    try:
        parsed = parse(decoded.text)
        tree = index_tree(parsed)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return unchanged(source, edits, "unparsable", str(error))
    sites, not_located = locate_all(edits, decoded, tree)
    written = write(sites, decoded, tree)
    return Instrumented(
        text=written.text,
        encoding=decoded.encoding,
        source=source if isinstance(source, bytes) else source.encode(decoded.encoding),
        done=[site.edit for site in sites if site.edit not in {each.edit for each in written.skipped}],
        skipped=[*not_located, *written.skipped],
        columns=written.columns,
        imports=first_imports(parsed),
    )


def first_imports(tree: ast.Module) -> list[str]:
    """Return the modules that a file imports before it does anything else, each after the packages that it lies in.

    A relative import ends them.
    """
    modules: list[str] = []
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            modules += [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            modules.append(statement.module)
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            break
    names = (name for module in modules for name in accumulate(module.split("."), "{}.{}".format))
    return list(dict.fromkeys(names))


def unchanged(source: bytes | str, edits: Iterable[Edit], reason: str, detail: str) -> Instrumented:
    """Return `source` as it is, with all edits skipped."""
    # Latin-1 decodes every byte, so even a file in an unknown encoding is returned as it was.
    text, encoding = (source, "utf-8") if isinstance(source, str) else (source.decode("latin-1"), "latin-1")
    skipped = [skip(edit, reason, detail) for edit in edits]
    return Instrumented(text=text, encoding=encoding, done=[], skipped=skipped)


def locate_all(edits: Iterable[Edit], source: Source, tree: Tree) -> tuple[list[Site], list[Skipped]]:
    """Return the site of each edit, and the edits without one."""
    sites: list[Site] = []
    skipped: list[Skipped] = []
    for edit in edits:
        site = locate(edit, source, tree)
        if isinstance(site, Site):
            sites.append(site)
        else:
            skipped.append(skip(edit, site))
    return sites, skipped


@dataclass(frozen=True)
class Written:
    """A text with wraps in it, and the edits that are not."""

    text: str
    columns: Columns
    skipped: list[Skipped]


def write(sites: list[Site], source: Source, tree: Tree) -> Written:
    """Return the text with every site wrapped that can be."""
    written = compose(sites, source, tree)
    return written if means_the_same(source.text, written.text) else write_singly(sites, source, tree)


def write_singly(sites: list[Site], source: Source, tree: Tree) -> Written:
    """Wrap one site after the other; skip each site whose wrap changes the meaning of the text."""
    written, wrapped, skipped = compose([], source, tree), list[Site](), list[Skipped]()
    for site in sites:
        candidate = compose([*wrapped, site], source, tree)
        if candidate.skipped:
            skipped += candidate.skipped
        elif means_the_same(source.text, candidate.text):
            written, wrapped = candidate, [*wrapped, site]
        else:
            skipped.append(skip(site.edit, "changes-meaning"))
    return Written(written.text, written.columns, skipped)


def compose(sites: list[Site], source: Source, tree: Tree) -> Written:
    """Return the text with `sites` wrapped, but for those that cannot be."""
    changes: set[Change] = set()
    skipped: list[Skipped] = []
    for index, site in enumerate(sites):
        wrapping = wrap(site, index, source, tree.parents)
        if isinstance(wrapping, str):
            skipped.append(skip(site.edit, wrapping))
        else:
            changes.update(wrapping)
    return Written(apply_changes(source.text, changes), changed_columns(source, changes), skipped)


# Plan the edits of each file from the findings.

LOOP_FUNCTIONS = {"for": "__dv_loop__", "while": "__dv_while__"}


def plan_edits(
    metrics: Sequence[Metric],
    main_loop: MainLoop | None,
    draws: Sequence[Draw] = (),
    comparisons: Sequence[Comparison] = (),
    further_loops: Sequence[MainLoop] = (),
) -> dict[str, list[Edit]]:
    """Return the edits of each file; an id is the index among the metrics, the draws or the comparisons.

    Parameters
    ----------
    metrics : sequence of Metric
        All metrics of the experiment. Metrics that are not selected or that a framework reports are not wrapped.
    main_loop : MainLoop or None
        A framework's own loop (``call``) is not wrapped.
    draws : sequence of Draw
        All draws of the experiment.
    comparisons : sequence of Comparison
        Each of its two sides is wrapped.
    further_loops : sequence of MainLoop
        Those of other scripts that the command starts.
    """
    edits: dict[str, list[Edit]] = {}
    for index, metric in enumerate(metrics):
        for capture in (metric.capture, *metric.further) if metric.selected else ():
            edit = capture_edit(index, capture)
            if edit is not None:
                edits.setdefault(metric.file, []).append(edit)
    for loop in (main_loop, *further_loops):
        if loop is not None and loop.span is not None and loop.kind in LOOP_FUNCTIONS:
            edits.setdefault(loop.file, []).append(_header_edit(loop, loop.span))
    for index, draw in enumerate(draws):
        if draw.span is not None:
            edits.setdefault(draw.file, []).append(Edit(span=draw.span, before=f"__dv_draw__({index}, "))
    for index, comparison in enumerate(comparisons):
        edits.setdefault(comparison.file, []).extend(
            Edit(span=span, before=f"{SIDE}({index}, {number}, ")
            for number, span in enumerate((comparison.left, comparison.right))
        )
    return edits


def _header_edit(loop: MainLoop, span: Span) -> Edit:
    """Return the wrap of a header; a ``while`` loop that counts by hand shows what it counts."""
    counts = loop.kind == "while" and loop.variable.isidentifier() and not iskeyword(loop.variable)
    return Edit(
        span=span,
        before=f"{LOOP_FUNCTIONS[loop.kind]}(",
        after=f", lambda: {loop.variable})" if counts else ")",
    )


def capture_edit(index: int, capture: Capture) -> Edit | None:
    """Return the wrap that records a value of the metric with the id `index`, None where nothing is to be wrapped."""
    if capture.span is None:
        return None
    # A name is passed as a lambda: should it be unbound after all, the runtime meets the error, not the training.
    label = f", lambda: {capture.label}" if capture.label else ""
    match capture.how:
        case "value":
            return Edit(span=capture.span, before=f"__dv__({index}, ", after=f"{label})")
        case "mapping":
            return Edit(span=capture.span, before=f"__dv_map__({index}, ", after=f"{label})")
        case "beside":
            after = f", lambda: {capture.beside}{label})"
            return Edit(span=capture.span, before=f"__dv_beside__({index}, ", after=after)
        case "framework":
            return None


METRIC_SKIPPED = "not recorded"
DRAW_SKIPPED = "draws with the code around it"


def instrument_project(
    root: Path,
    metrics: Sequence[Metric],
    main_loop: MainLoop | None,
    draws: Sequence[Draw] = (),
    comparisons: Sequence[Comparison] = (),
    further_loops: Sequence[MainLoop] = (),
) -> dict[str, Instrumented]:
    """Return the instrumented text of each file with a metric, the main loop, a draw or a comparison in it.

    Nothing is written.

    Parameters
    ----------
    root : Path
        The project, or a copy of it.
    metrics : sequence of Metric
        The id of a metric is its index.
    main_loop : MainLoop or None
        Its header is wrapped too.
    draws : sequence of Draw
        Calls that draw random numbers; the id of a draw is its index.
    comparisons : sequence of Comparison
        Comparisons of predictions with targets; the id of one is its index.
    further_loops : sequence of MainLoop
        Those of other scripts that the command starts; their headers are wrapped too.
    """
    edits = plan_edits(metrics, main_loop, draws, comparisons, further_loops)
    return {
        file: instrument_source((root / file).read_bytes(), file_edits) for file, file_edits in sorted(edits.items())
    }


def instrument_experiment(root: Path, experiment: Experiment) -> dict[str, Instrumented]:
    """Return the instrumented files of the copy of the project in `root` that an experiment was made with."""
    found = experiment.metrics, experiment.main_loop, experiment.draws, experiment.comparisons
    return instrument_project(root, *found, experiment.further_loops)


def file_codes(instrumented: Mapping[str, Instrumented]) -> dict[str, FileCode]:
    """Return the files in whose place Python is given another text."""
    return {file: result.code for file, result in instrumented.items() if result.done}


def skipped_edits(instrumented: Mapping[str, Instrumented]) -> list[str]:
    """List the values that are not recorded and the draws that are not separated, each with the reason."""
    lines: dict[tuple[str, str, str], list[int]] = {}
    for file, result in instrumented.items():
        for skipped in result.skipped:
            if skipped.edit.function == SIDE:
                continue  # where no comparison is seen, the report of predictions says so
            effect = DRAW_SKIPPED if skipped.edit.function == DRAW else METRIC_SKIPPED
            lines.setdefault((effect, file, skipped.message), []).append(skipped.edit.span.line)
    return [
        f"{effect}: {file}, line {', '.join(map(str, sorted(set(numbers))))}: {message}"
        for (effect, file, message), numbers in lines.items()
    ]


def project_diff(root: Path, instrumented: Mapping[str, Instrumented]) -> Iterable[str]:
    """Yield the difference that instrumenting makes to each file, in unified form."""
    for file, result in instrumented.items():
        before = (root / file).read_bytes().decode(result.encoding)
        yield unified_diff(file, before, result.text)


def show_edits(project: Path, findings: Findings) -> Iterable[str]:
    """Yield the difference that instrumenting makes to each file of the project."""
    selected = [metric for metric in findings.metrics if metric.selected]
    found = selected, findings.main_loop, findings.draws, findings.comparisons
    loops = further_loops(findings.main_loop, findings.scripts)
    return project_diff(project, instrument_project(project, *found, loops))


def unified_diff(path: str, before: str, after: str) -> str:
    """Return the difference between two texts of the file `path`, in unified form; empty where there is none."""
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Split at newlines only: a form feed stays within its line."""
    return [line + "\n" for line in text.split("\n")[:-1]] + ([tail] if (tail := text.split("\n")[-1]) else [])
