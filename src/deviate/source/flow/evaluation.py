"""Data flow: where the value of an expression comes from, across functions, classes and files."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable

from deviate.lexicon.words import is_settings_name
from deviate.source.flow.expressions import HANDLERS, constant_value, filled_by_others, is_scaled_step, is_set_back
from deviate.source.flow.program import Program
from deviate.source.flow.values import (
    NOTHING,
    External,
    From,
    Instance,
    Param,
    Ref,
    Value,
    element_of,
    item_of,
    join,
    of,
    subtract,
    trimmed,
)
from deviate.source.index import Binding, ClassScope, ModuleIndex, Nesting, Scope, Unit, lookup
from deviate.source.syntax import annotations_of, name_below, text_of

# Remember what was evaluated, also where values depend on each other in circles.

#: So many values inside circles may be evaluated anew before what is there is taken.
MAX_REPEATS = 2000
#: Deeper expressions are left unknown rather than run into Python's recursion limit.
MAX_DEPTH = 1500
_NOT_MET = 1 << 30


class Memory:
    """Evaluates each thing once."""

    def __init__(self) -> None:
        #: What is known for good.
        self.known: dict[object, Value] = {}
        #: What is being evaluated, with its depth.
        self._busy: dict[object, int] = {}
        #: What was computed within a circle that is not complete, with the depth at which the circle begins.
        self._partial: dict[object, tuple[Value, int]] = {}
        #: Depth of the outermost evaluation in progress that was met again.
        self._lowest = _NOT_MET
        self._budget = 0

    def once(self, key: object, compute: Callable[[], Value]) -> Value:
        """Evaluate something and remember it.

        What is met again while it is evaluated counts as nothing. A value computed from such a nothing is remembered
        for good only by the evaluation that was met again, for which it is complete. The values in between serve until
        that evaluation is done, and are evaluated anew when they are needed later.
        """
        remembered = self.known.get(key)
        if remembered is not None:
            return remembered
        partial = self._partial.get(key)
        if partial is not None:
            self._lowest = min(self._lowest, partial[1])
            return partial[0]
        met = self._busy.get(key)
        if met is not None:
            self._lowest = min(self._lowest, met)
            return NOTHING
        return self._first(key, compute)

    def _first(self, key: object, compute: Callable[[], Value]) -> Value:
        depth = len(self._busy)
        if depth >= MAX_DEPTH:
            return of(From.UNKNOWN)
        if depth == 0:
            self._budget = MAX_REPEATS
        self._busy[key] = depth
        outer, self._lowest = self._lowest, _NOT_MET
        try:
            value = compute()
        finally:
            del self._busy[key]
            lowest, self._lowest = self._lowest, min(outer, self._lowest if self._lowest < depth else _NOT_MET)
        if lowest < depth:
            self._partial[key] = value, lowest
            return value
        self.known[key] = value
        if lowest == depth:
            self._close_circle(depth)
            if value.keys:
                value = self.known[key] = self._again(key, compute, depth)
        return value

    def _again(self, key: object, compute: Callable[[], Value], depth: int) -> Value:
        """Evaluate a container once more with what is known of it: one item may be computed from another one."""
        self._busy[object()] = depth  # keeps the depths of what is evaluated below apart from those above
        outer, self._lowest = self._lowest, _NOT_MET
        try:
            return compute()
        finally:
            self._busy.popitem()
            self._lowest = min(outer, self._lowest if self._lowest < depth else _NOT_MET)

    def _close_circle(self, depth: int) -> None:
        """Forget what was computed within a circle that is complete; keep it once that was done too often."""
        done = [key for key, (_, lowest) in self._partial.items() if lowest >= depth]
        self._budget -= len(done)
        for key in done:
            value, _ = self._partial.pop(key)
            if self._budget <= 0:
                self.known[key] = value


#: Of what callers pass for parameters, so much is remembered.
MAX_RESOLVED_REFS = 8
#: Kinds of bindings that put something into a container, or call a method of an object that is named like that.
_FILLING = {"key", "element", "merge"}


class Flow:
    """Evaluates expressions to abstract values, each once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._memory = Memory()
        self.forwarded: dict[ast.AST, Param | None] = {}
        self.followed: set[tuple[int, str]] = set()

    def value(self, node: ast.expr | None, scope: Scope) -> Value:
        """Evaluate an expression; parameters stay symbolic."""
        if isinstance(node, ast.Name):
            return self._name(node, scope)  # remembered by the name, for all places that read it
        if node is None:
            return of(From.UNKNOWN)
        if isinstance(node, ast.Constant):
            return constant_value(node)
        remembered = self._memory.known.get(node)
        return remembered if remembered is not None else self.once(node, lambda: self._evaluate(node, scope))

    def _evaluate(self, node: ast.expr, scope: Scope) -> Value:
        handler = HANDLERS.get(type(node))
        return handler(self, node, scope) if handler else of(From.UNKNOWN)

    def once(self, key: object, compute: Callable[[], Value]) -> Value:
        """Evaluate something and remember it."""
        return self._memory.once(key, compute)

    def resolved(self, node: ast.expr, scope: Scope) -> Value:
        """Evaluate an expression with its parameters replaced by what callers pass."""
        return self.resolve(self.value(node, scope))

    def resolve(self, value: Value) -> Value:
        """Replace the parameters in a value by what callers pass."""
        params = value.params()
        if not params:
            return value
        passed = [self.param(param) for param in params]
        origins = value.plain().union(*(arg.plain() for arg in passed))
        # What is computed from an argument is not the argument.
        refs = value.refs if value.plain() else (*value.refs, *(ref for arg in passed for ref in arg.refs))
        if not value.plain() and value.items is None and value.element is None and not value.keys:
            given = join(passed)
            return Value(frozenset(origins), refs[:MAX_RESOLVED_REFS], given.items, given.keys, given.element)
        return Value(frozenset(origins), refs[:MAX_RESOLVED_REFS], value.items, value.keys, value.element)

    def param(self, param: Param) -> Value:
        """Join what callers pass for a parameter."""
        return self.once(param, lambda: self._from_callers(param))

    def _from_callers(self, param: Param) -> Value:
        passed = [self.resolved(expr, scope) for expr, scope in self.program.arguments(self, param)]
        if not passed and self._is_given_logs(param):
            return Value(frozenset({From.LIVE}), element=of(From.LIVE))
        default = param.unit.defaults.get(param.name)
        if default is not None:
            passed.append(self.default_value(default, param.unit))
        value = join(passed) if passed else of(From.UNKNOWN)
        declared = () if value.refs else self._annotated(param)
        return Value(value.origins, declared, value.items, value.keys, value.element) if declared else value

    def _is_given_logs(self, param: Param) -> bool:
        """Whether a framework gives a parameter what it logs, or what a step returned.

        ``def on_epoch_end(self, epoch, logs=None)`` of a callback of Keras, and ``outputs`` of one of Lightning.
        """
        owner = param.unit.owner
        is_hook = param.name in {"logs", "outputs"} and param.unit.name.startswith("on_") and owner is not None
        return is_hook and owner is not None and bool(self.program.external_bases(self, owner))

    def _annotated(self, param: Param) -> tuple[Ref, ...]:
        """Return an object of the project's class that a parameter is declared to be."""
        named = annotations_of(param.unit).get(param.name)
        refs = self.value(named, param.unit.parent or param.unit).refs if named is not None else ()
        return tuple(Instance(ref) for ref in refs if isinstance(ref, ClassScope))

    def default_value(self, default: ast.expr, unit: Unit) -> Value:
        """Value of a parameter that is not passed."""
        value = self.value(default, unit.parent or unit)
        is_of_functions = any(item.refs for item in value.items or ())
        return value if value.refs or is_of_functions else of(From.SETTING)

    def _name(self, node: ast.Name, scope: Scope) -> Value:
        definition = lookup(node.id, scope)
        if definition is None:
            return self.once((id(scope.module), "unbound", node.id), lambda: self._unbound(node.id, scope))
        home, bindings = definition
        remembered = self._memory.known.get(key := (id(home), node.id))
        return remembered if remembered is not None else self.once(key, lambda: self._bound(node.id, bindings, home))

    def _bound(self, name: str, bindings: list[Binding], home: Scope) -> Value:
        if len(bindings) > 1:
            live = [each for each in bindings if self.program.may_run(each.scope.unit, each.nesting)]
            bindings = live or bindings
        filled = filled_by_others(self, name, home, bindings)
        value = self.with_computed_keys(join([*(self.binding(binding) for binding in bindings), *filled]), bindings)
        is_weights = name == "params" and bool(bindings) and _is_functional(bindings[0].scope.module)
        is_table = any(isinstance(ref, (ClassScope, Unit)) for item in value.keys.values() for ref in item.refs)
        if is_settings_name(name) and not (is_weights or value.refs or is_table or value.has(From.LIVE)):
            return of(From.SETTING)
        return value

    def with_computed_keys(self, value: Value, bindings: list[Binding]) -> Value:
        """Add what is stored under computed keys to items that have no more than a first value: ``sums[key] += x``.

        What is put into an object that callers pass leaves it the object that it is: ``agent.update(batch)``.
        """
        if not value.refs and value.plain() and any(each.kind in _FILLING for each in bindings):
            value = Value(value.origins, self._objects_passed(bindings), value.items, value.keys, value.element)
        first = [key for key, item in value.keys.items() if item.origins <= {From.CONSTANT, From.SETTING, From.TOTAL}]
        stored = [self.value(each.value, each.scope) for each in bindings if first and _stores_by_key(each)]
        if not stored:
            return value
        items = {key: join([value.keys[key], *stored]) for key in first}
        return Value(value.origins, value.refs, value.items, value.keys | items, value.element)

    def _objects_passed(self, bindings: list[Binding]) -> tuple[Ref, ...]:
        """Return the objects of the project's classes that callers pass for what a name or an attribute is given."""
        given = join([self.binding(each) for each in bindings if each.kind not in _FILLING])
        passed = self.resolve(given).refs if given.params() and not given.plain() else ()
        return tuple(ref for ref in passed if isinstance(ref, Instance))

    def _unbound(self, name: str, scope: Scope) -> Value:
        starred = self._from_stars(name, scope.module)
        if starred is not None:
            return starred
        if name in _BUILTINS:
            return Value(refs=(External(f"builtins.{name}"),))
        return of(From.SETTING if name.isupper() else From.UNKNOWN)

    def value_of_name(self, name: str, module: ModuleIndex) -> Value:
        """Value of a module's global."""
        bindings = module.unit.bindings.get(name, [])
        if bindings:
            return self.once((id(module.unit), name), lambda: self._bound(name, bindings, module.unit))
        return self.once((id(module.unit), name), lambda: self._from_stars(name, module) or of(From.UNKNOWN))

    def _from_stars(self, name: str, module: ModuleIndex) -> Value | None:
        """Look for a name in what a module imports with ``*``."""
        for star in module.stars:
            ref = self.program.resolve_dotted(name_below(star, name), module)
            if isinstance(ref, tuple) and (ref[1] in ref[0].unit.bindings or ref[0].stars) and ref[0] is not module:
                value = self.value_of_name(ref[1], ref[0])
                if value.refs or not value.has(From.UNKNOWN):
                    return value
            if isinstance(ref, ModuleIndex):
                return Value(refs=(ref,))
        return None

    def binding(self, binding: Binding) -> Value:
        """Value one binding gives."""
        kind = binding.kind
        if kind in {"def", "class"} and binding.target is not None:
            return Value(refs=(binding.target,))
        if kind == "param":
            return self._parameter(binding)
        if kind == "import":
            ref = self.program.resolve_dotted(binding.key, binding.scope.module)
            return self.value_of_name(ref[1], ref[0]) if isinstance(ref, tuple) else Value(refs=(ref,))
        if kind == "opaque":
            return of(binding.key or From.UNKNOWN)
        value = self.value(binding.value, binding.scope)
        if kind == "for":
            return self._iterated(binding, value)
        if kind == "aug":
            return self._augmented(binding, value)
        value = _unpacked(value, binding)
        if kind in {"key", "element"} and isinstance(binding.statement, ast.AugAssign):
            value = self._augmented(binding, value)  # ``hits[name] += 1``
        if kind == "key":
            return Value(value.origins, keys={binding.key: value})
        if kind == "merge":
            return Value(value.origins, keys=value.keys, element=element_of(value))
        return Value(value.origins, element=value) if kind == "element" else value

    def _iterated(self, binding: Binding, value: Value) -> Value:
        """Evaluate a ``for`` target; parameters stay visible, so that a function that loops over one is known to."""
        params = frozenset(value.params())
        value = _unpacked(element_of(self.resolve(value) if params and not value.element else value), binding)
        is_key = value.origins == {From.TEXT}
        return value if is_key else value.with_origins(value.origins | params)

    def _parameter(self, binding: Binding) -> Value:
        unit = binding.scope
        if not isinstance(unit, Unit):
            return of(From.UNKNOWN)
        if unit.is_method and unit.parameters and binding.key == unit.parameters[0] and unit.owner is not None:
            return Value(refs=(Instance(unit.owner),))
        if binding.key == unit.vararg or binding.key == unit.kwarg:
            param = Param(unit, binding.key)
            return Value(frozenset({param}), element=of(param))
        if is_settings_name(binding.key):
            is_weights = binding.key == "params" and _is_functional(binding.scope.module)
            return of(From.WEIGHTS, Param(unit, binding.key)) if is_weights else of(From.SETTING)
        return of(Param(unit, binding.key))

    def _augmented(self, binding: Binding, value: Value) -> Value:
        """``n += 1`` counts, unless it counts something the training decides."""
        statement = binding.statement
        assert isinstance(statement, ast.AugAssign)
        if (
            value.plain() <= {From.CONSTANT, From.SETTING, From.COUNT, From.TOTAL}
            and not value.params()
            and isinstance(statement.op, (ast.Add, ast.Sub))
        ):
            is_chosen = self._decided_live(binding.nesting, binding.scope) or self._stands_at_live(binding)
            is_live = is_chosen and not is_set_back(binding)
            return of(From.LIVE) if is_live else of(From.COUNT)
        if isinstance(statement.op, ast.Sub) and is_scaled_step(statement.value):
            return Value(value.origins | {From.LIVE})
        if isinstance(statement.op, ast.Sub) and value.has(From.CLOCK):
            return subtract(of(From.CLOCK), value)
        return Value(value.origins, value.refs, None, value.keys, element_of(value) if value.element else None)

    def _stands_at_live(self, binding: Binding) -> bool:
        """Whether a count stands where the training decides: ``confusion[predicted, label] += 1``."""
        target = binding.statement.target if isinstance(binding.statement, ast.AugAssign) else None
        return isinstance(target, ast.Subscript) and self.resolved(target.slice, binding.scope).has(From.LIVE)

    def _decided_live(self, nesting: Nesting | None, scope: Scope) -> bool:
        """Whether the code runs only when a value of the training decides it."""
        while nesting is not None and not isinstance(nesting.node, (ast.For, ast.AsyncFor, ast.While)):
            if isinstance(nesting.node, ast.If) and _compares_values(nesting.node.test):
                test = self.resolved(nesting.node.test, scope)
                if test.has(From.LIVE):
                    return True
            nesting = nesting.outer
        return False

    def returned(self, unit: Unit) -> Value:
        """Join what a function returns or yields, its parameters symbolic."""
        if isinstance(unit.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            values = [self.value(expr, scope) for expr, scope in self.program.live_results(unit, unit.returns)]
            yields = [self.value(expr, scope) for expr, scope in unit.yields]
            if yields:
                element = join(yields)
                values.append(Value(element.origins, element=element))
            return trimmed(join(values)) if values else self._implemented(unit)
        return of(From.UNKNOWN)

    def _implemented(self, unit: Unit) -> Value:
        """Evaluate a function that returns nothing: of one that only raises, what others of its name return."""
        if not _is_abstract(unit):
            return of(From.CONSTANT)
        others = [each for each in self.program.methods.get(unit.name, ()) if each.returns or each.yields]
        return self.once(
            (id(unit), "returned"), lambda: join([of(From.UNKNOWN), *map(self.returned, others[:MAX_RESOLVED_REFS])])
        )


def _stores_by_key(binding: Binding) -> bool:
    """Whether an assignment stores a value in a container under a key that is no constant."""
    statement = binding.statement
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return binding.kind == "element" and any(
        isinstance(target, ast.Subscript) and not isinstance(target.slice, (ast.Constant, ast.Slice))
        for target in targets
    )


def _is_abstract(unit: Unit) -> bool:
    """Whether a method does nothing but raise: those of other classes stand for it."""
    last = unit.node.body[-1] if isinstance(unit.node, ast.FunctionDef) else None
    return unit.owner is not None and isinstance(last, ast.Raise) and _says_not_implemented(last.exc)


def _says_not_implemented(raised: ast.expr | None) -> bool:
    return raised is not None and "NotImplemented" in text_of(raised)


def _unpacked(value: Value, binding: Binding) -> Value:
    for position in binding.path:
        value = item_of(value, position)
    return value


def _is_functional(module: ModuleIndex) -> bool:
    """Whether a file keeps a model's parameters apart from the model, as programs for JAX do."""
    return any(
        alias.name.partition(".")[0] == "jax" or (isinstance(node, ast.ImportFrom) and node.module == "jax")
        for node, _, _ in module.imports
        for alias in node.names
    )


def _compares_values(test: ast.expr) -> bool:
    return any(
        isinstance(node, (ast.Compare, ast.Call, ast.Name, ast.Attribute))
        for node in (test, *ast.iter_child_nodes(test))
    )


_BUILTINS = frozenset(dir(builtins))
