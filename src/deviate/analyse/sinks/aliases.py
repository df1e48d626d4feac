"""Other names of reporting functions: ``say = logger.info``, ``log = partial(print, flush=True)``."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.values import Instance, Param
from deviate.analyse.source.index import Binding, Scope, Unit, bindings_of
from deviate.analyse.source.syntax import called_name, dotted_text

#: Names of names are followed this far.
MAX_DEPTH = 4


def original_calls(flow: Evaluator, call: ast.Call, scope: Scope) -> Iterator[ast.Call]:
    """Yield the calls that a call under another name stands for, with the arguments that this one gives."""
    yield from _originals(flow, call, scope, {dotted_text(call.func)}, 0)


def _originals(flow: Evaluator, call: ast.Call, scope: Scope, seen: set[str], depth: int) -> Iterator[ast.Call]:
    """Follow each name once: what many callers pass on under the same names has more ways than can be gone."""
    for value in _given(flow, call.func, scope) if depth <= MAX_DEPTH else ():
        name = dotted_text(value)
        original = _called_through(value, call) if name not in seen or not name else None
        if original is not None:
            seen.add(name)
            yield original
            yield from _originals(flow, original, scope, seen, depth + 1)


def _given(flow: Evaluator, func: ast.expr, scope: Scope) -> Iterator[ast.expr]:
    """Yield what the name of a called function was given: by assignment, as an argument or by default."""
    for binding in _bindings(flow, func, scope):
        values = [binding.value] if binding.kind == "assign" and not binding.path else []
        if binding.kind == "param" and isinstance(binding.scope, Unit):
            passed = flow.program.arguments(flow, Param(binding.scope, binding.key))
            values = [binding.value, *(expr for expr, _ in passed)]
        for value in values:
            yield from _choices(value)


def _bindings(flow: Evaluator, func: ast.expr, scope: Scope) -> list[Binding]:
    if isinstance(func, ast.Name):
        return bindings_of(func.id, scope)
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.attr in flow.program.attributes:
        refs = [ref for ref in flow.value(func.value, scope).refs if isinstance(ref, Instance)]
        return [binding for ref in refs for binding in ref.cls.attributes.get(func.attr, [])]
    return []


def _choices(value: ast.expr | None) -> Iterator[ast.expr]:
    """Yield the ends of a choice: ``print if verbose else nothing``, ``verbose and print or nothing``."""
    if isinstance(value, (ast.IfExp, ast.BoolOp)):
        for choice in (value.body, value.orelse) if isinstance(value, ast.IfExp) else value.values:
            yield from _choices(choice)
    elif value is not None:
        yield value


def _called_through(value: ast.expr, call: ast.Call) -> ast.Call | None:
    """Call what a name was given with the arguments of a call of the name."""
    if isinstance(value, (ast.Name, ast.Attribute)):
        return ast.copy_location(ast.Call(value, call.args, call.keywords), call)
    if isinstance(value, ast.Call) and called_name(value) == "partial" and value.args:
        args, keywords = [*value.args[1:], *call.args], [*value.keywords, *call.keywords]
        return ast.copy_location(ast.Call(value.args[0], args, keywords), call)
    if isinstance(value, ast.Lambda) and isinstance(value.body, ast.Call):
        return _through_lambda(value, value.body, call)
    return None


def _through_lambda(function: ast.Lambda, body: ast.Call, call: ast.Call) -> ast.Call | None:
    """Call what a lambda calls, with the arguments of the call in place of the lambda's parameters."""
    parameters = [arg.arg for arg in function.args.args]
    extra = function.args.vararg.arg if function.args.vararg is not None else ""
    arguments = dict(zip(parameters, call.args, strict=False))
    arguments |= {key.arg: key.value for key in call.keywords if key.arg in parameters}
    given: list[ast.expr] = []
    for arg in body.args:
        inner = arg.value if isinstance(arg, ast.Starred) else arg
        if isinstance(inner, ast.Name) and inner.id == extra and extra:
            given.extend(call.args[len(parameters) :])
        else:
            given.append(_Replaced(arguments).visit(copy.deepcopy(inner)))
    return ast.copy_location(ast.Call(body.func, given, []), call) if arguments or given else None


class _Replaced(ast.NodeTransformer):
    """Put arguments in the place of parameters; they stay the very nodes of the call."""

    def __init__(self, arguments: dict[str, ast.expr]) -> None:
        self.arguments = arguments

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.arguments.get(node.id, node)
