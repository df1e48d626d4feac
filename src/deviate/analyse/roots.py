"""The variable that names a shown value, wrappers removed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from deviate.analyse.abstract import COUNT, DURATION, LIVE, MEMORY, METRIC_ORIGINS, TOTAL
from deviate.analyse.index import Scope, lookup
from deviate.analyse.program import called_name
from deviate.analyse.spans import text_of
from deviate.analyse.texts import Shown
from deviate.analyse.words import is_counting

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

#: Reading one of these off an object, or calling one, gives its number.
READ_ATTRIBUTES = {"avg", "val", "sum", "value", "global_avg", "data", "count", "median", "T", "mean",
    "average", "smoothed_value",
                   "latest", "last"}  # fmt: skip
READ_METHODS = {
    "item", "cpu", "numpy", "detach", "mean", "sum", "result", "get", "value", "compute", "tolist", "cuda",
    "to", "float",
    "double", "double_", "format", "total_seconds", "mean_", "norm", "max", "min", "squeeze", "avg", "average",
    "eval", "int",
    "long", "round", "median", "std", "asnumpy", "asscalar", "block_until_ready", "get_result", "global_avg",
    "abs", "sqrt",
    "exp", "astype", "get_value", "val", "items", "values", "clone", "reshape", "view", "flatten",
}  # fmt: skip
_READ_CALLS = {
    "float", "int", "round", "str", "abs", "sum", "len", "max", "min", "mean", "exp", "format", "reduce_mean", "array",
    "sqrt", "to_python_float", "log", "log10", "log2", "asarray", "average", "median", "std", "tensor",
    "timedelta", "nanmean",
    "enumerate", "zip", "list", "tuple", "sorted", "dict", "as_scalar", "device_get", "item", "get_metrics", "softmax",
    "norm", "reduce_sum", "pow", "percentile", "to_cpu", "isnan", "cast", "stack", "cat", "concatenate",
    "reduce_tensor",
    "format_time", "tree_map",
}  # fmt: skip


def root_of(flow: Flow, shown: Shown) -> str:
    """Name the variable of a shown value: ``100. * correct / total`` is ``correct``."""
    if shown.known_as:
        return shown.known_as
    return text_of(root_node(flow, shown.expr, shown.scope))[:200]


def root_node(flow: Flow, node: ast.expr, scope: Scope, depth: int = 0) -> ast.expr:
    """Take wrappers off an expression until the node that names its value is left."""
    if depth > 12:
        return node
    inner = _unwrapped(flow, node, scope)
    if inner is None:
        return _named_root(node)
    if isinstance(inner, ast.Name):
        iterated = _iterated(inner, scope)
        if iterated is not None:
            return root_node(flow, iterated[0], iterated[1], depth + 1)
    return root_node(flow, inner, scope, depth + 1) if inner is not node else _named_root(node)


def _named_root(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Call):
        return ast.Call(func=node.func, args=[], keywords=[])
    return node


def _unwrapped(flow: Flow, node: ast.expr, scope: Scope) -> ast.expr | None:
    """One wrapper less; None where the node itself names the value."""
    if isinstance(node, ast.BinOp):
        return _operand(flow, node, scope)
    if isinstance(node, ast.UnaryOp):
        return node.operand
    if isinstance(node, ast.Name):
        return node
    if isinstance(node, ast.Attribute):
        return node.value if node.attr in READ_ATTRIBUTES and not _is_self(node.value) else None
    if isinstance(node, ast.IfExp):
        return node.body if not isinstance(node.body, ast.Constant) else node.orelse
    if isinstance(node, ast.Starred):
        return node.value
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return node.generators[0].iter
    if isinstance(node, ast.DictComp):
        return node.generators[0].iter
    if isinstance(node, ast.Subscript) and isinstance(node.value, (ast.Call, ast.BinOp)):
        return node.value
    if isinstance(node, ast.Call):
        return _of_call(node)
    return None


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"self", "cls"}


def _of_call(node: ast.Call) -> ast.expr | None:
    name = called_name(node)
    if isinstance(node.func, ast.Attribute) and name in READ_METHODS and not _is_library(node.func.value):
        return node.func.value
    if name in _READ_CALLS and (node.args or node.keywords):
        first = node.args[0] if node.args else node.keywords[0].value
        return first.value if isinstance(first, ast.Starred) else first
    return None


def _is_library(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"np", "numpy", "torch", "tf", "jnp", "math", "K", "F", "jax"}


def _operand(flow: Flow, node: ast.BinOp, scope: Scope) -> ast.expr:
    """Choose the operand that makes the value vary: first one computed by the training, then a duration."""
    operands = _flatten(node)
    best: tuple[int, ast.expr] | None = None
    for one in operands:
        value = flow.resolved(one, scope)
        rank = 0 if value.has(LIVE) and not value.has(COUNT, TOTAL) else 1 if value.has(*METRIC_ORIGINS) else 2
        if isinstance(one, ast.Constant):
            rank = 9
        elif rank == 2 and value.has(COUNT, TOTAL):
            rank = 5
        elif rank == 2 and isinstance(one, ast.Call) and value.has("clock"):
            rank = 4
        if rank < 5 and not value.has(DURATION, MEMORY) and is_counting(text_of(one).rpartition(".")[2]):
            rank = 6
        if best is None or rank < best[0]:
            best = (rank, one)
    assert best is not None
    return best[1]


def _flatten(node: ast.BinOp) -> list[ast.expr]:
    found: list[ast.expr] = []
    waiting: list[ast.expr] = [node]
    while waiting and len(found) < 60:
        one = waiting.pop()
        if isinstance(one, ast.BinOp):
            waiting.extend((one.right, one.left))
        else:
            found.append(one)
    return found


def _iterated(node: ast.Name, scope: Scope) -> tuple[ast.expr, Scope] | None:
    """Find what a comprehension's variable runs over."""
    found = lookup(node.id, scope)
    if not found or found[0].kind != "comprehension":
        return None
    binding = found[1][0]
    if binding.value is None or binding.value is node or found[0].parent is None:
        return None
    value = binding.value
    if (
        isinstance(value, ast.Call)
        and called_name(value) == "zip"
        and binding.path
        and binding.path[0] < len(value.args)
    ):
        value = value.args[binding.path[0]]
    return value, found[0].parent
