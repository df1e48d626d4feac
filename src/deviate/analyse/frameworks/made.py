"""Objects that a library's class makes: their types, and the arguments of the calls that make them."""

from __future__ import annotations

import ast
from collections.abc import Collection

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.values import External, Instance
from deviate.analyse.source.index import Scope, bindings_of
from deviate.analyse.source.syntax import called_name


def types_of(flow: Evaluator, made: ast.expr, scope: Scope) -> list[str]:
    """Return the dotted names that an object may be of; of a class of the project, those that it derives from."""
    refs = flow.resolved(made, scope).refs
    dotted = [ref.dotted for ref in refs if isinstance(ref, External)]
    below = [ref.cls for ref in refs if isinstance(ref, Instance)]
    return [*dotted, *(base for cls in below for base in flow.program.external_bases(flow, cls))]


def given_to(made: ast.expr, classes: Collection[str], scope: Scope) -> list[dict[str | None, ast.expr]]:
    """Return the keywords of each call that makes an object of some classes, where a name is bound to it."""
    values = [each.value for each in bindings_of(made.id, scope)] if isinstance(made, ast.Name) else []
    calls = [value for value in values if isinstance(value, ast.Call) and called_name(value) in classes]
    return [{key.arg: key.value for key in call.keywords} for call in calls]


def is_nothing(given: ast.expr | None) -> bool:
    """Whether what is given is written as nothing: ``validation_data=None``, ``verbose=0``."""
    return isinstance(given, ast.Constant) and not given.value
