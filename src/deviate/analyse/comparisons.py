"""Find where a program compares what it predicted with what it should have: ``(predicted == target).sum()``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from deviate.analyse.flow.program import Program
from deviate.analyse.naming.words import words_like
from deviate.analyse.source.index import ModuleIndex, Unit
from deviate.analyse.source.syntax import called_name, span_of, text_of
from deviate.experiment import Comparison

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
        target_first, target_second = (_is_target(text) for text in texts)
        yield Comparison(
            file=module.file, line=left_span.line, function=function,
            left=left_span, right=right_span, target_first=target_first and not target_second,
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
