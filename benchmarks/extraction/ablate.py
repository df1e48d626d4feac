"""Take the rules that read source out one at a time, and score labelled projects without each.

    python benchmarks/extraction/ablate.py trace CHECKOUTS RECORD [--labels FILE ...] [--commands]
    python benchmarks/extraction/ablate.py score CHECKOUTS RECORD [--labels FILE ...] [--budget SECONDS]
    python benchmarks/extraction/ablate.py table RECORD

A rule is a condition: the test of an ``if``, one operand of ``and`` or ``or``, a filter of a comprehension, a ``case``,
what a function of type ``bool`` or ``... | None`` answers, a row of the table of sinks, and a function as a whole.
`trace` analyses every project once and notes which rules held there, so that a rule that held in fewer than three
projects needs no scoring. `score` takes each other rule out (the test is never true, the operand is left out, the
function answers False or None) in a process of its own, and analyses the projects where it held, until three give
something else; what decides the factor of a draw is left alone. `table` writes what came out, the rules with most
lines first.

RECORD is a folder; what is there is not made again. CHECKOUTS holds the projects as `score.py` knows them. FILE is one
of ``labels/*.jsonl``, or a folder of labels with one JSON file a project. What is said of a project is its main loop,
its selected metrics with their names, kinds and directions, and the factors of its draws.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import importlib.machinery
import json
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LABELS = Path(__file__).parent / "labels" / "written_on.jsonl"
PACKAGE = Path(__file__).resolve().parents[2] / "src" / "deviate"
PARTS = ("metrics", "sinks", "settings", "flow", "frameworks", "draws")
FILES = ("main_loop", "loop_candidates", "texts", "text_parts", "cells", "unseen", "analysis")

#: Three projects keep a rule.
KEPT_BY = 3
#: At most so many projects are analysed without one rule.
MOST = 20


@dataclass(frozen=True)
class Rule:
    """One condition of the analysis, or a function."""

    file: str
    line: int
    #: What goes with the rule: the body of its ``if``, its function, its row.
    lines: int
    kind: str
    text: str
    #: What it answers once it is taken out.
    without: bool | None


RULES: list[Rule] = []
HELD = bytearray()
#: The rule that is taken out; -1: none.
OUT = -1


def asked(number: int, value: Any) -> Any:
    """Note that a rule held, or answer for one that is taken out."""
    if number == OUT:
        return RULES[number].without
    if value:
        HELD[number] = 1
    return value


class Asking(ast.NodeTransformer):
    """Put `asked` around every condition of a module."""

    def __init__(self, file: str) -> None:
        self.file = file

    def _rule(self, node: Any, kind: str, text: str, end: int, without: bool | None = False) -> int:
        RULES.append(Rule(self.file, node.lineno, end - node.lineno + 1, kind, text, without))
        return len(RULES) - 1

    def _of(self, node: Any, kind: str, without: bool = False) -> int:
        return self._rule(node, kind, ast.unparse(node), node.end_lineno, without)

    def _ask(self, number: int, node: ast.expr) -> ast.expr:
        call = ast.Call(ast.Name("__asked__", ast.Load()), [ast.Constant(number), node], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def visit_If(self, node: ast.If) -> ast.AST:  # noqa: D102
        number = self._rule(node, "if", ast.unparse(node.test), node.body[-1].end_lineno or 0)
        self.generic_visit(node)
        node.test = self._ask(number, node.test)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:  # noqa: D102
        number = self._of(node.test, "either")
        self.generic_visit(node)
        node.test = self._ask(number, node.test)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:  # noqa: D102
        is_or = isinstance(node.op, ast.Or)
        # The last operand of `and` may be the value that is used.
        asked = node.values if is_or else node.values[:-1]
        numbers = [self._of(each, "or" if is_or else "and", without=not is_or) for each in asked]
        self.generic_visit(node)
        for at, number in enumerate(numbers):
            node.values[at] = self._ask(number, node.values[at])
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:  # noqa: D102
        numbers = [self._of(each, "filter", without=True) for each in node.ifs]
        self.generic_visit(node)
        node.ifs = [self._ask(number, each) for number, each in zip(numbers, node.ifs, strict=True)]
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:  # noqa: D102
        pattern = node.pattern
        is_rest = isinstance(pattern, ast.MatchAs) and pattern.pattern is None
        number = self._rule(pattern, "case", ast.unparse(pattern), node.body[-1].end_lineno or 0) if not is_rest else -1
        self.generic_visit(node)
        if not is_rest:
            node.guard = self._ask(number, node.guard or ast.copy_location(ast.Constant(True), pattern))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: D102
        returns = ast.unparse(node.returns) if node.returns else ""
        end = node.end_lineno or 0
        number = self._rule(node, "function", node.name, end, None)
        is_bool = returns == "bool"
        has_answer = is_bool or returns.endswith("| None")
        answer = self._rule(node, "answer", node.name, end, False if is_bool else None) if has_answer else -1
        self.generic_visit(node)
        for each in _returns(node) if has_answer else ():
            if each.value is not None:
                each.value = self._ask(answer, each.value)
        first = ast.Expr(self._ask(number, ast.copy_location(ast.Constant(True), node.body[0])))
        at = 1 if ast.get_docstring(node, clean=False) is not None else 0
        node.body.insert(at, ast.copy_location(first, node.body[0]))
        return ast.fix_missing_locations(node)


def _returns(function: ast.FunctionDef) -> Iterator[ast.Return]:
    """Yield the ``return`` statements of a function, without those of functions in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return):
            yield node
        elif not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))


def is_read(path: str) -> bool:
    """Whether the rules of a module are taken out."""
    inside = Path(path)
    if PACKAGE / "source" not in inside.parents:
        return False
    return inside.parent.name in PARTS or inside.stem in FILES


def install() -> None:
    """Compile the modules of the rules so that each condition is asked."""
    builtins.__asked__ = asked  # type: ignore[attr-defined]
    original = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader: Any, name: str) -> Any:
        path = loader.get_filename(name)
        if not is_read(path):
            return original(loader, name)
        tree = Asking(str(Path(path).relative_to(PACKAGE))).visit(ast.parse(Path(path).read_text(encoding="utf-8")))
        HELD.extend(bytes(len(RULES) - len(HELD)))
        return compile(ast.fix_missing_locations(tree), path, "exec")

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]
    from deviate.source.sinks import rows

    first = len(RULES)
    for sink in rows.SINKS:
        RULES.append(Rule("source/sinks/rows.py", 0, 1, "row", f"{sink.name}: {sink.calls} {sink.receiver}", False))
    HELD.extend(bytes(len(RULES) - len(HELD)))
    numbers = {id(sink): first + at for at, sink in enumerate(rows.SINKS)}
    matches = rows.Sink.matches

    def matching(sink: Any, *given: Any) -> Any:
        value = matches(sink, *given)
        return asked(numbers[id(sink)], value) if id(sink) in numbers else value

    rows.Sink.matches = matching  # type: ignore[method-assign]


def labelled(files: list[Path]) -> list[dict[str, Any]]:
    """Read labels of sets and of folders."""
    labels = []
    for file in files:
        if file.is_dir():
            labels += [{"name": each.stem, **json.loads(each.read_text())} for each in sorted(file.glob("*.json"))]
        else:
            labels += [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return labels


def look(label: dict[str, Any], folder: Path, scratch: Path, commands: bool) -> tuple[Any, Any]:
    """Analyse one project: its score, and what is said of it as one value that can be compared."""
    import score

    from deviate.source.analysis import analyse_project

    root = score.checkout(label["repo"], label["commit"], folder, scratch) / label["root"]
    try:
        found = analyse_project(root, Path(label["entry"]), arguments=score.arguments_of(label) if commands else None)
    except Exception as problem:
        core = sum(metric["level"] == "core" for metric in label["metrics"])
        return score.Score(label["name"], core=core, error=repr(problem), missed=["everything"] * core), repr(problem)
    chosen = sorted(
        (one.file, one.line, one.variable, one.expression, one.name, one.kind, str(one.direction), one.aggregate)
        for one in found.metrics
        if one.selected
    )
    draws = sorted((one.file, one.line, one.factor, str(getattr(one, "when", ""))) for one in found.draws)
    loop = (found.main_loop.file, found.main_loop.line) if found.main_loop else None
    return score.score(label["name"], score.anchored(label, root), found), (loop, chosen, draws)


def size(project: Path) -> int:
    """Return how many bytes of Python a project has."""
    return sum(each.stat().st_size for each in project.rglob("*.py"))


def trace(labels: list[dict[str, Any]], folder: Path, record: Path, commands: bool) -> None:
    """Analyse every project once, the small ones first; note which rules held."""
    labels = sorted(labels, key=lambda label: size(folder / label["repo"].replace("/", "+")))
    with tempfile.TemporaryDirectory() as scratch:
        for label in labels:
            target = record / f"{label['name']}.{int(commands)}"
            if target.exists():
                continue
            target.touch()
            HELD[:] = bytes(len(HELD))
            began = time.process_time()
            given, said = look(label, folder, Path(scratch), commands)
            spent = time.process_time() - began
            held = {at for at, each in enumerate(HELD) if each}
            target.write_bytes(pickle.dumps((label["name"], commands, spent, held, given, said)))


def traced(record: Path) -> list[Any]:
    """Return what `trace` wrote, the quickest projects first."""
    rows = [pickle.loads(each.read_bytes()) for each in record.glob("*.[01]") if each.stat().st_size]
    return sorted(rows, key=lambda row: row[2])


def in_child(work: Callable[[], Any]) -> Any:
    """Return what a function gives in a process of its own; None where that dies."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            with os.fdopen(writer, "wb") as out:
                pickle.dump(work(), out)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as source:
        data = source.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else None


def without(number: int, rows: list[Any], labels: dict[str, Any], folder: Path, scratch: Path) -> Any:
    """Analyse the projects where a rule held, without it."""
    global OUT
    OUT = number
    looked, changed, loop, missed, false = 0, [], 0, 0, 0
    for name, commands, _, _, given, said in rows[:MOST]:
        looked += 1
        other, said_now = look(labels[name], folder, scratch, commands)
        if said_now != said:
            changed.append(name)
            loop += other.loop - given.loop
            missed += len(other.missed) - len(given.missed)
            false += len(other.false) - len(given.false)
        if len(set(changed)) >= KEPT_BY:
            break
    return looked, changed, loop, missed, false


def take_out(labels: list[dict[str, Any]], folder: Path, record: Path, budget: float) -> None:
    """Score each rule that held in three projects, the longest first, until the budget is spent."""
    rows = traced(record)
    by_name = {label["name"]: label for label in labels}
    began = os.times()
    with tempfile.TemporaryDirectory() as scratch:
        for number in sorted(range(len(RULES)), key=lambda at: -RULES[at].lines):
            target = record / f"rule{number}"
            held = [row for row in rows if number in row[3]]
            is_few = len({row[0] for row in held}) < KEPT_BY
            if RULES[number].kind == "function" or is_few or target.exists() or "/draws/" in RULES[number].file:
                continue
            now = os.times()
            if now.user + now.children_user - began.user - began.children_user > budget:
                break
            target.touch()
            result = in_child(lambda: without(number, held, by_name, folder, Path(scratch)))  # noqa: B023
            target.write_text(json.dumps(result))


def table(record: Path) -> str:
    """Lay out what every rule that moves fewer than three projects moves."""
    rows = traced(record)
    lines = [f"{len({row[0] for row in rows})} projects, {len(RULES)} rules", ""]
    lines += ["| rule | kind | lines | held in | looked at | changed | loop, missed, false |", "|---" * 7 + "|"]
    for number in sorted(range(len(RULES)), key=lambda at: -RULES[at].lines):
        rule, held = RULES[number], len({row[0] for row in rows if number in row[3]})
        done = record / f"rule{number}"
        result = json.loads(done.read_text() or "null") if done.exists() else None
        if held >= KEPT_BY and (result is None or len(set(result[1])) >= KEPT_BY):
            continue
        looked, changed, *moved = result or (0, [], "", "", "")
        text = rule.text.replace("|", "\\|").replace("\n", " ")[:70]
        lines.append(
            f"| {rule.file}:{rule.line} `{text}` | {rule.kind} | {rule.lines} | {held} | {looked} | {len(changed)} | "
            f"{' '.join(map(str, moved))} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Trace, score or lay out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("trace", "score", "table"))
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--labels", type=Path, nargs="+", default=[LABELS])
    parser.add_argument("--commands", action="store_true", help="trace with the options of the labelled commands")
    parser.add_argument("--budget", type=float, default=900.0, help="seconds of processor time")
    options = parser.parse_args()
    sys.dont_write_bytecode = True
    install()
    import deviate.source.analysis  # noqa: F401  (so that every rule has its number)

    record = options.folders[-1]
    record.mkdir(exist_ok=True, parents=True)
    if options.step == "table":
        print(table(record))
        return 0
    labels = labelled(options.labels)
    if options.step == "trace":
        trace(labels, options.folders[0], record, options.commands)
    else:
        take_out(labels, options.folders[0], record, options.budget)
    return 0


if __name__ == "__main__":
    sys.exit(main())
