"""Arrays that only give a model its shapes: it is built, traced or summarised with them, and learns nothing of them."""

from __future__ import annotations

import ast
import re

from deviate.analyse.draws import handling
from deviate.analyse.draws.reads import Reads
from deviate.analyse.source.index import ModuleIndex, Scope, lookup
from deviate.analyse.source.parents import Parents
from deviate.analyse.source.syntax import called_name, dotted_text

#: Calls that make parameters, a graph or a table of a model; the model or a key comes first, then the input.
_BUILDING = frozenset(
    {"add_graph", "eval_shape", "export", "init", "init_with_output", "profile", "summary", "tabulate", "trace"}
)
_MODEL = re.compile(r"(^|_)(model|net|network|module|encoder|decoder)\d*$")


def gives_shapes(name: str, scope: Scope, reads: Reads, parents: Parents) -> bool:
    """Tell whether a model is built with what a name holds, and nothing else is done with it."""
    definition = lookup(name, scope)
    if definition is None:
        return False
    loads = [
        load
        for load in reads.of_name(scope.module, name)
        if (found := lookup(name, load.scope)) is not None and found[0] is definition[0]
    ]
    uses = [
        builds_model(load.node, scope.module, parents) for load in loads if not _tells_about(load.node, scope, parents)
    ]
    return bool(uses) and all(uses)


def _tells_about(node: ast.AST, scope: Scope, parents: Parents) -> bool:
    """Whether only the form of an array is read: ``x.shape``."""
    parent = parents.of(node, scope.module)
    return isinstance(parent, ast.Attribute) and parent.attr in handling.ABOUT


def builds_model(node: ast.AST, module: ModuleIndex, parents: Parents) -> bool:
    """Whether a model is built with a value, or called with it for nothing but that."""
    parent = parents.of(node, module)
    match parent:
        case ast.Tuple() | ast.List() | ast.keyword():
            return builds_model(parent, module, parents)
        case ast.Attribute(attr=attr) if handling.FORMS.search(attr):
            call = parents.of(parent, module)
            return isinstance(call, ast.Call) and call.func is parent and builds_model(call, module, parents)
        case ast.Call() if parent.func is not node:
            if called_name(parent) in _BUILDING:
                return node not in parent.args[:1]
            is_model = _MODEL.search(dotted_text(parent.func).rpartition(".")[2]) is not None
            return is_model and isinstance(parents.of(parent, module), ast.Expr)
    return False
