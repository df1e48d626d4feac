"""The value of each kind of expression, from the values of its parts."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from deviate.lexicon.words import split_of, words_like, words_of
from deviate.source.flow.attributes import attribute_value
from deviate.source.flow.calls import call_value
from deviate.source.flow.program import Evaluator
from deviate.source.flow.starts import chosen_by_name
from deviate.source.flow.values import (
    METRIC_ORIGINS,
    External,
    From,
    Instance,
    Value,
    as_number,
    element_of,
    join,
    mixed,
    of,
    subtract,
)
from deviate.source.index import Binding, CallSite, ClassScope, Nesting, Scope, Unit, bindings_of, enclosing_branches
from deviate.source.syntax import called_name, dotted_text, passed_for, text_of, unpacked

#: Operations that texts do not have.
_OF_NUMBERS = (ast.Pow, ast.FloorDiv, ast.MatMult)
_A_TEXT, _A_CONSTANT = of(From.TEXT), of(From.CONSTANT)


def constant_value(node: ast.Constant) -> Value:
    """Evaluate a literal."""
    return _A_TEXT if isinstance(node.value, (str, bytes)) else _A_CONSTANT


def _text(flow: Evaluator, node: ast.JoinedStr, scope: Scope) -> Value:
    fields = [flow.value(part.value, scope) for part in node.values if isinstance(part, ast.FormattedValue)]
    return Value(mixed(fields).origins | {From.TEXT})


def _operation(flow: Evaluator, node: ast.BinOp, scope: Scope) -> Value:
    left, right = flow.value(node.left, scope), flow.value(node.right, scope)
    if isinstance(node.op, ast.Sub) and is_scaled_step(node.right):
        return Value(mixed((left, right)).origins | {From.LIVE})
    if isinstance(node.op, ast.Sub):
        difference = subtract(flow.resolve(left), flow.resolve(right))
        return difference if difference.has(From.DURATION) else as_number(mixed((left, right)))
    if isinstance(node.op, (ast.Add, ast.Mult)) and (left.element or right.element):
        elements = [side.element for side in (left, right) if side.element]
        return Value(left.origins | right.origins, element=join(elements))
    if isinstance(node.op, _OF_NUMBERS) or (isinstance(node.op, ast.Div) and not left.has(From.PATH)):
        return as_number(mixed((left, right)))
    return mixed((left, right))


def _parts(flow: Evaluator, node: ast.expr, scope: Scope) -> Value:
    children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return mixed([flow.value(child, scope) for child in children])


def _choice(flow: Evaluator, node: ast.IfExp | ast.BoolOp, scope: Scope) -> Value:
    choices = node.values if isinstance(node, ast.BoolOp) else (node.body, node.orelse)
    values = [flow.value(choice, scope) for choice in choices]
    if isinstance(node, ast.IfExp) and flow.program.is_decided and all(map(_is_defined, values)):
        taken = flow.program.choices.taken(node, scope)
        return flow.value(taken, scope) if taken is not None and taken is not node else join(values)
    return join(values)


def _is_defined(value: Value) -> bool:
    """Whether a value is a function, a class or an object of the project."""
    return any(isinstance(ref, (Unit, ClassScope, Instance)) for ref in value.refs)


def _sequence(flow: Evaluator, node: ast.Tuple | ast.List | ast.Set, scope: Scope) -> Value:
    items = tuple(flow.value(element, scope) for element in node.elts)
    exact = not any(isinstance(element, ast.Starred) for element in node.elts) and len(items) <= 40
    return Value(mixed(items).origins, (), items if exact else None, {}, join(items))


def _mapping(flow: Evaluator, node: ast.Dict, scope: Scope) -> Value:
    keys: dict[str, Value] = {}
    values = []
    for key, expr in zip(node.keys, node.values, strict=True):
        value = flow.value(expr, scope)
        values.append(value)
        if key is None:
            keys.update(value.keys)
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            keys[key.value] = value
    return Value(mixed(values).origins, keys=keys, element=join(values) if values else None)


def _comprehension(flow: Evaluator, node: ast.expr, scope: Scope) -> Value:
    assert isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp))
    value = flow.value(node.value if isinstance(node, ast.DictComp) else node.elt, scope.module.inner.get(node, scope))
    return Value(value.origins, element=value)


def _lambda(flow: Evaluator, node: ast.Lambda, scope: Scope) -> Value:
    return Value(flow.value(node.body, scope.module.inner.get(node, scope)).origins)


def _subscript(flow: Evaluator, node: ast.Subscript, scope: Scope) -> Value:
    base = flow.value(node.value, scope)
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if isinstance(key, str):
        if key in {"lr", "learning_rate"}:
            return of(From.SCHEDULE)
        if key in base.keys and not _is_only_its_own(base.keys[key]):
            return _with_stored(base.keys[key], base.element)
        if base.keys and not base.refs and base.plain() <= {From.CONSTANT, From.TEXT}:
            return of(From.UNKNOWN)  # put there by what is not seen: nothing that is written out is it
    if isinstance(key, int) and base.items is not None and -len(base.items) <= key < len(base.items):
        return join([base.items[key], *_set_later(flow, node.value, key, scope)])
    if isinstance(node.slice, ast.Slice):
        return base
    named = chosen_by_name(flow, node, scope) if key is None else None
    if named is not None:
        return named
    own = [unit for ref in base.refs if isinstance(ref, Instance)
           for unit in flow.program.method(flow, ref.cls, "__getitem__")]  # fmt: skip
    if own:
        return join([flow.returned(unit) for unit in own])
    if key is None and base.keys:
        return element_of(base)
    if base.element is not None:
        return base.element
    return Value(base.origins, base.refs if base.items is None else ())


def _with_stored(item: Value, stored: Value | None) -> Value:
    """Add what is stored under computed keys to an item that has no more than a first value: ``sums[phase]["x"]``."""
    is_first = item.origins <= {From.CONSTANT, From.SETTING, From.TOTAL} and not item.keys and not item.refs
    return join([item, Value(stored.origins)]) if is_first and stored is not None and stored.origins else item


def _is_only_its_own(item: Value) -> bool:
    """Whether all that is known of an item is that it is made of itself: ``out["loss"] = out["loss"].detach()``."""
    return not (item.origins or item.refs or item.keys) and item.items is None and item.element is None


def _set_later(flow: Evaluator, holder: ast.expr, key: int, scope: Scope) -> list[Value]:
    """Evaluate what one position of a list is given after it is written out: ``best = [0, 0]; best[0] = accuracy``."""
    bindings = bindings_of(holder.id, scope) if isinstance(holder, ast.Name) else []
    return [
        flow.value(binding.value, binding.scope)
        for binding in bindings
        if binding.kind == "element" and isinstance(binding.statement, ast.Assign)
        for target in binding.statement.targets
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and target.slice.value == key
    ]  # fmt: skip


def _inner(flow: Evaluator, node: ast.Starred | ast.Await | ast.NamedExpr | ast.FormattedValue, scope: Scope) -> Value:
    return flow.value(node.value, scope)


def _unary(flow: Evaluator, node: ast.UnaryOp, scope: Scope) -> Value:
    return flow.value(node.operand, scope)


#: How each kind of expression but a name and a literal is evaluated.
HANDLERS: dict[type, Callable[..., Value]] = {
    ast.JoinedStr: _text, ast.BinOp: _operation, ast.Compare: _parts, ast.IfExp: _choice, ast.BoolOp: _choice,
    ast.Tuple: _sequence, ast.List: _sequence, ast.Set: _sequence, ast.Dict: _mapping,
    ast.ListComp: _comprehension, ast.SetComp: _comprehension, ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension, ast.Lambda: _lambda, ast.Subscript: _subscript, ast.Starred: _inner,
    ast.Await: _inner, ast.NamedExpr: _inner, ast.FormattedValue: _inner, ast.UnaryOp: _unary,
    ast.Attribute: attribute_value, ast.Call: call_value,
}  # fmt: skip

_RATES = re.compile(r"(^|[._])(lr|learning_rate|eta|alpha|step_size|rate|grads?|gradients?|d[wb]|grad_\w+)\b",
                    re.IGNORECASE)  # fmt: skip


def is_scaled_step(node: ast.expr) -> bool:
    """Whether a product has a learning rate or a gradient in it."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Mult, ast.Div)):
        return False
    return any(
        _RATES.search(dotted_text(part)) for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Attribute))
    )


# Whether an expression holds a mapping: values under keys, reported whole.

#: Functions that return what functions return are followed this far.
MAX_DEPTH = 4
_MAPPING_MAKERS = {"dict", "defaultdict", "OrderedDict", "Counter", "asdict", "_asdict", "to_dict", "todict"}


def is_mapping(flow: Evaluator, expr: ast.expr, scope: Scope) -> bool:
    """Whether a name's items are read by constant keys, or what it was given makes a mapping."""
    return is_used_as_mapping(expr, scope) or makes_mapping(flow, expr, scope) or bool(flow.value(expr, scope).keys)


def is_used_as_mapping(expr: ast.expr, scope: Scope) -> bool:
    """Whether the function reads items of a name by constant keys."""
    unit = scope.unit
    if unit.keyed_names is None:
        unit.keyed_names = {
            dotted_text(node.value)
            for node in ast.walk(unit.node)
            if isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
        } - {""}
    return dotted_text(expr) in unit.keyed_names


def makes_mapping(flow: Evaluator, expr: ast.expr | None, scope: Scope, depth: int = 0) -> bool:
    """Whether an expression makes a mapping, by its own form or by that of what a function of the project returns."""
    if expr is None or depth > MAX_DEPTH:
        return False
    if isinstance(expr, (ast.Dict, ast.DictComp)):
        return True
    if isinstance(expr, ast.Name):
        return _is_always_assigned(expr, scope, lambda value, home: makes_mapping(flow, value, home, depth + 1))
    if not isinstance(expr, ast.Call):
        return False
    if called_name(expr) in _MAPPING_MAKERS and not _is_own_method(flow, expr, scope):
        return True
    if called_name(expr) == "evaluate" and _is_of_trainer(flow, expr, scope):
        return True
    returns = [result for ref in flow.value(expr.func, scope).refs if isinstance(ref, Unit) for result in ref.returns]
    return bool(returns) and all(makes_mapping(flow, value, home, depth + 1) for value, home in returns)


def _is_of_trainer(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    """Whether a method of a library's trainer is called, as Hugging Face's."""
    refs = flow.resolved(call.func.value, scope).refs if isinstance(call.func, ast.Attribute) else ()
    return any(isinstance(ref, External) and ref.dotted.endswith("Trainer") for ref in refs)


def _is_always_assigned(name: ast.Name, scope: Scope, test: Callable[[ast.expr, Scope], bool]) -> bool:
    """Whether everything a name is bound to is assigned and passes a test."""
    kinds = {"assign", "param", "for", "with", "opaque"}
    bindings = [binding for binding in bindings_of(name.id, scope) if binding.kind in kinds and not _is_none(binding)]
    return bool(bindings) and all(
        binding.kind == "assign" and (value := unpacked(binding)) is not None and test(value, binding.scope)
        for binding in bindings
    )


def _is_own_method(flow: Evaluator, call: ast.Call, scope: Scope) -> bool:
    """Whether a method of the project's own object is called: what it returns is followed instead."""
    return any(isinstance(ref, (Unit, Instance)) for ref in flow.value(call.func, scope).refs)


def _is_none(binding: Binding) -> bool:
    """Whether a name is only declared: ``metrics = None``."""
    value = unpacked(binding) if binding.kind == "assign" else binding
    return isinstance(value, ast.Constant) and value.value is None


# What functions put into a container that they are given: ``evaluate(batch, results)`` fills ``results``.

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


# Counts of how long nothing better has come: ``if better: waited = 0 else: waited += 1``.


def is_set_back(counted: Binding) -> bool:
    """Whether a condition around a count sets it back to a constant in another branch."""
    statement = counted.statement
    assert isinstance(statement, ast.AugAssign)
    name = text_of(statement.target)
    return any(
        isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and name in map(text_of, node.targets)
        for around, branch in enclosing_branches(counted.nesting)
        for other in (around.orelse if branch == "body" else around.body)
        for node in ast.walk(other)
    )


# The conditions around a report: whether a setting switches it on, whether it is an alarm, its part of the data.

#: The process that reports for all; its condition holds in every run.
_MAIN_PROCESS = re.compile(
    words_like(
        "ranks?|main|primary|n?gpu|multigpu",
        "rank_?(zero|id)|(is_?)?master|(is_?)?main_?proc|is_?(chief|main|primary)|process_?index|"
        "multiprocessing|distributed",
    )
    + "|(?i:rank)(?![a-z])"
)
_PHASE = re.compile(r"(^|[._])(is_?)?(train|training|eval|val|test)(ing)?(_mode|_phase)?$")
_EXITS = {"sys.exit", "exit", "quit", "os._exit"}
_NOT_FINITE = re.compile(words_like("(is_?|has_?|any_?)?nans?", "(is_?)?inf|(is_?|not_?|non_?|all_?)?finite|overflow"))
#: What is not named in the other branch of a condition.
_OTHER = {"train": "val", "val": "train", "test": "train", "eval": "train"}


def switches(flow: Evaluator, nesting: Nesting | None, scope: Scope) -> int:
    """Count the settings that must be chosen for code to run: ``if args.tensorboard``."""
    return sum(_is_switch(flow, node.test, scope) for node, _ in enclosing_branches(nesting))


def _is_switch(flow: Evaluator, test: ast.expr, scope: Scope) -> bool:
    if _MAIN_PROCESS.search(text_of(test)):
        return False
    value = flow.resolved(test, scope)
    is_fixed = not any(isinstance(node, (ast.Name, ast.Attribute)) for node in ast.walk(test))
    if is_fixed or value.has(From.COUNT, *METRIC_ORIGINS):
        return False
    return value.has(From.SETTING) or (
        value.plain() <= {From.CONSTANT, From.OBJECT, From.TEXT} and value.has(From.CONSTANT)
    )


def is_alarm(nesting: Nesting | None) -> bool:
    """Whether code is in a branch that ends the program because something went wrong: ``if not isfinite(loss)``."""
    node, branch = next(enclosing_branches(nesting), (None, ""))
    return node is not None and _aborts(getattr(node, branch)[-1], text_of(node.test))


def _aborts(last: ast.stmt, test: str) -> bool:
    if isinstance(last, (ast.Raise, ast.Assert)):
        return True
    if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Call):
        return False
    if text_of(last.value.func) not in _EXITS:
        return False
    status = last.value.args[0] if last.value.args else None
    if status is None:
        return _NOT_FINITE.search(test) is not None
    return not (isinstance(status, ast.Constant) and status.value == 0)


def split_at(nesting: Nesting | None) -> str:
    """Find which part of the data the branches around code are for: ``if self.is_train: ... else: ...``."""
    splits = ((_tested_split(node.test), branch) for node, branch in enclosing_branches(nesting))
    return next((split if branch == "body" else _OTHER[split] for split, branch in splits if split), "")


def _tested_split(test: ast.expr) -> str:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _OTHER.get(_tested_split(test.operand), "")
    if isinstance(test, ast.Compare):
        return _compared_split(test)
    if not isinstance(test, (ast.Name, ast.Attribute)):
        return ""
    name = text_of(test)
    # ``args.do_eval`` asks whether to evaluate at all, ``self.training`` in which phase the code is.
    return split_of(name) if _PHASE.search(name) else ""


def _compared_split(test: ast.Compare) -> str:
    """``phase == "val"``."""
    other = test.comparators[0]
    if len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
        return ""
    if not isinstance(other, ast.Constant) or not isinstance(other.value, str) or len(words_of(other.value)) != 1:
        return ""
    split = split_of(other.value)
    return split if isinstance(test.ops[0], ast.Eq) else _OTHER.get(split, "")
