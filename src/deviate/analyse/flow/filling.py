"""What functions put into a container that they are given: ``evaluate(batch, results)`` fills ``results``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.values import From, Instance, Value
from deviate.analyse.source.index import Binding, CallSite, Scope, Unit
from deviate.analyse.source.syntax import called_name, passed_for

#: So many functions that hand a container on are followed.
MAX_FUNCTIONS = 16
_FILLING = {"key", "element", "merge"}
#: What containers hold before anything is put into them.
_FIRST = frozenset({From.CONSTANT, From.SETTING, From.TEXT, From.OBJECT, From.TOTAL})
_MAKERS = {"dict", "list", "defaultdict", "OrderedDict", "deque"}


def filled_by_others(flow: Evaluator, name: str, home: Scope, bindings: list[Binding]) -> list[Value]:
    """Evaluate what called functions put into a container that starts empty and that its own function does not fill."""
    if not isinstance(home, Unit) or not all(
        binding.kind == "assign" and (_is_empty(binding) or _is_made_empty(flow, binding)) for binding in bindings
    ):
        return []
    return [flow.binding(binding) for binding in _fillings(flow, name, home, set())]


def _is_empty(binding: Binding) -> bool:
    value = binding.value
    if binding.path:
        return False
    if isinstance(value, ast.Call):
        return called_name(value) in _MAKERS and not value.keywords and len(value.args) <= 1
    if isinstance(value, ast.Dict):
        return all(isinstance(item, ast.Constant) or _is_empty_list(item) for item in value.values)
    return _is_empty_list(value)


def _is_made_empty(flow: Evaluator, binding: Binding) -> bool:
    """Whether a function of the project makes a container of no more than first values: ``log = new_log(names)``."""
    value = binding.value
    if binding.path or not isinstance(value, ast.Call):
        return False
    if not any(isinstance(ref, Unit) for ref in flow.value(value.func, binding.scope).refs):
        return False
    made = flow.binding(binding)
    return made.element is not None and made.plain() <= _FIRST


def _is_empty_list(value: ast.expr | None) -> bool:
    return isinstance(value, ast.List) and not value.elts


def _fillings(flow: Evaluator, name: str, unit: Unit, seen: set[tuple[int, str]]) -> Iterator[Binding]:
    if (id(unit), name) in seen or len(seen) >= MAX_FUNCTIONS:
        return
    seen.add((id(unit), name))
    for site in unit.calls:
        if not any(isinstance(arg, ast.Name) and arg.id == name for arg in _given(site.node)):
            continue
        for target in _targets(flow, site):
            for param in target.parameters:
                if any(isinstance(arg, ast.Name) and arg.id == name for arg in passed_for(site.node, target, param)):
                    yield from (one for one in target.bindings.get(param, ()) if one.kind in _FILLING)
                    yield from _fillings(flow, param, target, seen)


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(key.value for key in call.keywords)]


def _targets(flow: Evaluator, site: CallSite) -> list[Unit]:
    """Return the functions that a call may run, also those of an object that callers pass."""
    targets = flow.program.targets(flow, site)
    if targets:
        return targets
    refs = flow.resolved(site.node.func, site.scope).refs
    return [
        unit for ref in refs if isinstance(ref, Instance) for unit in flow.program.method(flow, ref.cls, "__call__")
    ]
