"""What one file defines: scopes, the bindings of each name, calls, loops, returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

BindingKind = Literal[
    "assign", "for", "aug", "with", "import", "def", "class", "param", "element", "merge", "key", "opaque"
]


#: Bindings of one name that are looked at: what reads the name follows each of them. A program that binds a name more
#: often was written by another.
MOST_BINDINGS = 200


@dataclass(eq=False, slots=True, repr=False)
class Nesting:
    """The compound statement around a piece of code, linked to the next one outwards."""

    node: ast.AST
    #: Field of the statement that holds the code: ``body``, ``orelse``, ``handlers``, ...
    branch: str
    outer: Nesting | None
    #: Whether it is under ``if __name__ == "__main__"``.
    guarded: bool = field(init=False)

    def __post_init__(self) -> None:
        own = isinstance(self.node, ast.If) and self.branch == "body" and _is_main_test(self.node.test)
        self.guarded = own or (self.outer is not None and self.outer.guarded)


@dataclass(eq=False, slots=True, repr=False)
class Binding:
    """One way a name gets its value."""

    kind: BindingKind
    value: ast.expr | None
    #: Positions to take when the value is unpacked: ``a, (b, c) = value`` gives c the path (1, 1).
    path: tuple[int, ...]
    scope: Scope
    nesting: Nesting | None
    line: int
    #: Constant key of ``d["k"] = v``; dotted name of an import.
    key: str = ""
    target: Unit | ClassScope | None = None
    statement: ast.AST | None = None


def keep(bindings: list[Binding], binding: Binding) -> None:
    """Add a binding to those of its name, unless they are `MOST_BINDINGS`."""
    if len(bindings) < MOST_BINDINGS:
        bindings.append(binding)


@dataclass(eq=False, slots=True, repr=False)
class CallSite:
    """A call, with its scope, nesting and statement."""

    node: ast.Call
    scope: Scope
    nesting: Nesting | None
    statement: ast.stmt | None

    @property
    def is_used(self) -> bool:
        """Whether the program does something with the value of the call."""
        return not (isinstance(self.statement, ast.Expr) and self.statement.value is self.node)


@dataclass(eq=False, slots=True, repr=False)
class Store:
    """An assignment to an attribute or an item."""

    target: ast.Attribute | ast.Subscript
    value: ast.expr
    scope: Scope
    nesting: Nesting | None
    statement: ast.stmt


@dataclass(eq=False, slots=True, repr=False)
class Loop:
    """A ``for`` or ``while`` statement."""

    node: ast.For | ast.AsyncFor | ast.While
    scope: Scope
    nesting: Nesting | None


@dataclass(eq=False, repr=False)
class Scope:
    """A module, class, function, lambda or comprehension."""

    kind: str
    name: str
    node: ast.AST
    parent: Scope | None
    module: ModuleIndex
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    outer_names: set[str] = field(default_factory=set)

    @property
    def unit(self) -> Unit:
        """The module or function whose code this is part of."""
        scope: Scope = self
        while not isinstance(scope, Unit):
            assert scope.parent is not None
            scope = scope.parent
        return scope

    @property
    def lambda_around(self) -> Scope | None:
        """The lambda that this is, or stands in: its code runs when that is called."""
        if self.kind == "lambda" or isinstance(self, Unit) or self.parent is None:
            return self if self.kind == "lambda" else None
        return self.parent.lambda_around

    def bind(self, name: str, binding: Binding) -> None:
        """Add a binding, in the scope that ``global`` or ``nonlocal`` names."""
        home = self._declared_home(name) if name in self.outer_names else self
        keep(home.bindings.setdefault(name, []), binding)

    def _declared_home(self, name: str) -> Scope:
        scope = self.parent
        while scope is not None and scope.parent is not None and name not in scope.bindings:
            scope = scope.parent
        return scope or self


@dataclass(eq=False, repr=False)
class Unit(Scope):
    """A module's or a function's own code."""

    calls: list[CallSite] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    returns: list[tuple[ast.expr, Scope]] = field(default_factory=list)
    yields: list[tuple[ast.expr, Scope]] = field(default_factory=list)
    #: Where those of them stand that are within compound statements.
    results_within: dict[ast.expr, Nesting] = field(default_factory=dict)
    loads: list[tuple[ast.Name | ast.Attribute, Scope, Nesting | None]] = field(default_factory=list)
    #: Assignments to attributes and subscripts: targets a report can hide in (``bar.suffix = text``).
    stores: list[Store] = field(default_factory=list)
    #: ``left == right``, with the statement it is part of.
    equalities: list[tuple[ast.Compare, ast.stmt | None]] = field(default_factory=list)
    owner: ClassScope | None = None
    parameters: tuple[str, ...] = ()
    #: So many of them can be given by position.
    positional: int = 0
    defaults: dict[str, ast.expr] = field(default_factory=dict)
    vararg: str = ""
    kwarg: str = ""
    nesting: Nesting | None = None
    #: Names whose items are read by constant keys; None until they are needed.
    keyed_names: set[str] | None = None

    @property
    def display_name(self) -> str:
        """Bare name of the function, ``<module>`` for module-level code."""
        return self.name if isinstance(self.node, (ast.FunctionDef, ast.AsyncFunctionDef)) else "<module>"

    @cached_property
    def loads_by_name(self) -> dict[tuple[str, bool], list[tuple[ast.expr, Scope]]]:
        """Names and attributes that are read, by what they are called and whether they are attributes."""
        found: dict[tuple[str, bool], list[tuple[ast.expr, Scope]]] = {}
        for node, scope, _ in self.loads:
            key = (node.attr, True) if isinstance(node, ast.Attribute) else (node.id, False)
            found.setdefault(key, []).append((node, scope))
        return found

    @property
    def position(self) -> tuple[str, int]:
        """File and line, to put functions in a stable order."""
        return self.module.file, getattr(self.node, "lineno", 0)

    @property
    def enclosing_method(self) -> Unit | None:
        """The method that this is, or stands in."""
        at: Scope | None = self
        while at is not None and not (isinstance(at, Unit) and at.owner is not None):
            at = at.parent
        return at

    @property
    def enclosing_class(self) -> ClassScope | None:
        """The class whose method this is, or stands in."""
        return method.owner if (method := self.enclosing_method) is not None else None

    @property
    def decorators(self) -> list[ast.expr]:
        """Decorators of the function."""
        return getattr(self.node, "decorator_list", [])

    def has_decorator(self, name: str) -> bool:
        """Whether a plain name decorates the function."""
        return any(isinstance(decorator, ast.Name) and decorator.id == name for decorator in self.decorators)

    @property
    def is_method(self) -> bool:
        """Whether the first parameter is the instance."""
        return self.owner is not None and not self.has_decorator("staticmethod")


@dataclass(eq=False, repr=False)
class ClassScope(Scope):
    """A class: its methods and what its methods assign to the instance."""

    bases: list[ast.expr] = field(default_factory=list)
    methods: dict[str, Unit] = field(default_factory=dict)
    attributes: dict[str, list[Binding]] = field(default_factory=dict)


@dataclass(eq=False, repr=False)
class ModuleIndex:
    """Everything that one file defines."""

    file: str
    dotted: str
    lines: list[str]
    tree: ast.Module
    unit: Unit = field(init=False)
    units: list[Unit] = field(default_factory=list)
    classes: list[ClassScope] = field(default_factory=list)
    #: Scope of each comprehension and lambda.
    inner: dict[ast.AST, Scope] = field(default_factory=dict)
    #: ``anything.name = value`` anywhere in the file.
    attribute_stores: dict[str, list[Binding]] = field(default_factory=dict)
    #: (name, level, dotted, names): import statements as written.
    imports: list[tuple[ast.Import | ast.ImportFrom, Scope, Nesting | None]] = field(default_factory=list)
    stars: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.unit = Unit("module", "<module>", self.tree, None, self)
        self.units.append(self.unit)


def lookup(name: str, scope: Scope) -> tuple[Scope, list[Binding]] | None:
    """Find the bindings a name refers to, by Python's scope rules."""
    at: Scope | None = scope
    while at is not None:
        bindings = at.bindings.get(name)
        if bindings and name not in at.outer_names and (at is scope or not isinstance(at, ClassScope)):
            return at, bindings
        at = at.parent
    return None


def bindings_of(name: str, scope: Scope) -> list[Binding]:
    """Return the bindings a name refers to; none where it is not bound."""
    definition = lookup(name, scope)
    return definition[1] if definition is not None else []


def local_bindings(name: str, scope: Scope) -> list[Binding]:
    """Return the bindings a name refers to, where they are those of the same function."""
    definition = lookup(name, scope)
    return definition[1] if definition is not None and definition[0].unit is scope.unit else []


def only_binding(name: str, scope: Scope) -> Binding | None:
    """Return the binding of a name that is bound once."""
    bindings = bindings_of(name, scope)
    return bindings[0] if len(bindings) == 1 else None


def in_force(node: ast.Name, bindings: list[Binding]) -> list[Binding]:
    """Leave out what a name was bound to before a statement that surely runs just before the name is read."""
    sure = surely_bound(node, bindings)
    last = sure.line if sure is not None else 0
    return [binding for binding in bindings if binding.line >= last or binding.kind not in {"assign", "param"}]


def surely_bound(node: ast.Name, bindings: list[Binding]) -> Binding | None:
    """Find the last assignment to a name above the place where it is read that surely runs before."""
    assigned = [binding for binding in bindings if binding.kind == "assign" and binding.line < node.lineno]
    around = [binding for binding in assigned if _is_around(binding.nesting, node)]
    return max(around, key=lambda binding: binding.line, default=None)


def _is_around(nesting: Nesting | None, node: ast.Name) -> bool:
    """Whether the branch that holds a statement holds a later expression too."""
    if nesting is None:
        return True
    branch = getattr(nesting.node, nesting.branch, None)
    if not isinstance(branch, list) or not branch or not isinstance(branch[-1], ast.stmt):
        return False
    return node.lineno <= (branch[-1].end_lineno or 0)


def enclosing_branches(nesting: Nesting | None) -> Iterator[tuple[ast.If, str]]:
    """Yield the ``if`` statements around a piece of code and the branch it is in, innermost first."""
    while nesting is not None:
        if isinstance(nesting.node, ast.If) and nesting.branch in {"body", "orelse"}:
            yield nesting.node, nesting.branch
        nesting = nesting.outer


def under_main_guard(nesting: Nesting | None) -> bool:
    """Whether code is under ``if __name__ == "__main__"``."""
    return nesting is not None and nesting.guarded


def _is_main_test(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare):
        return False
    names = [node.id for node in (test.left, *test.comparators) if isinstance(node, ast.Name)]
    return "__name__" in names and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)


def enclosing_loops(nesting: Nesting | None) -> list[ast.AST]:
    """Loops around a piece of code within its unit, innermost first."""
    loops: list[ast.AST] = []
    while nesting is not None:
        if isinstance(nesting.node, (ast.For, ast.AsyncFor, ast.While)) and nesting.branch == "body":
            loops.append(nesting.node)
        nesting = nesting.outer
    return loops


def is_within(nesting: Nesting | None, node: ast.AST) -> bool:
    """Whether code is within a compound statement."""
    while nesting is not None:
        if nesting.node is node:
            return True
        nesting = nesting.outer
    return False


# Bindings of names and attributes: by assignment to targets, by method calls that fill an object.

_MUTATORS: dict[str, BindingKind] = {
    "append": "element", "add": "element", "appendleft": "element", "insert": "element", "push": "element",
    "extend": "merge", "update": "merge", "put": "element", "update_state": "merge",
}  # fmt: skip


class Binder:
    """Adds bindings to the scopes, classes and attributes of one file."""

    def __init__(self, module: ModuleIndex) -> None:
        self.module = module
        #: What fills a name that may be bound further below.
        self._late: list[tuple[str, Binding, Scope]] = []
        #: ``stats.update(loss=x)``: of a mapping these are items, of a meter or a bar they are not.
        self._by_keyword: list[tuple[ast.expr, list[Binding]]] = []

    def finish(self) -> None:
        """Add the bindings that need the whole file."""
        for name, binding, scope in self._late:
            self._attach(name, binding, scope)
        for base, bindings in self._by_keyword:
            self._fill(base, bindings)

    def bind_argument(self, func: ast.Attribute, call: ast.Call, scope: Scope, nesting: Nesting | None) -> None:
        """Bind what a method call puts into the object: ``losses.append(x)``."""
        if func.attr == "update" and call.keywords:
            items = [Binding("key", key.value, (), scope, nesting, call.lineno, key=key.arg, statement=call)
                     for key in call.keywords if key.arg]  # fmt: skip
            if items:
                self._by_keyword.append((func.value, items))
        if func.attr in _MUTATORS and call.args:
            value = call.args[1] if func.attr == "insert" and len(call.args) > 1 else call.args[0]
            self._mutate(
                func.value, Binding(_MUTATORS[func.attr], value, (), scope, nesting, call.lineno, statement=call)
            )

    def _fill(self, base: ast.expr, bindings: list[Binding]) -> None:
        scope = bindings[0].scope
        filled: list[Binding] = []
        if isinstance(base, ast.Name):
            filled = bindings_of(base.id, scope)
        elif isinstance(base, ast.Attribute):
            filled = self._attributes_at(base, scope).get(base.attr, [])
        if any(_makes_mapping(binding.value) for binding in filled):
            filled.extend(bindings)

    def _attach(self, name: str, binding: Binding, scope: Scope) -> None:
        at: Scope | None = scope
        while at is not None:
            if name in at.bindings and name not in at.outer_names:
                keep(at.bindings[name], binding)
                return
            at = at.parent
        keep(scope.module.unit.bindings.setdefault(name, []), binding)

    def _mutate(self, base: ast.expr, binding: Binding) -> None:
        """Bind what is put into an object; what is put into an item of a container is in the container."""
        if isinstance(base, ast.Name):
            self._late.append((base.id, binding, binding.scope))
        elif isinstance(base, ast.Attribute):
            self._store_attribute(base, binding)
        elif isinstance(base, ast.Subscript):
            key = base.slice.value if isinstance(base.slice, ast.Constant) else None
            self._mutate_item(base.value, key, binding)
        elif isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute) and base.func.attr == "setdefault":
            key = base.args[0].value if base.args and isinstance(base.args[0], ast.Constant) else None
            self._mutate_item(base.func.value, key, binding)

    def _mutate_item(self, container: ast.expr, key: object, binding: Binding) -> None:
        if isinstance(key, str):
            binding.kind, binding.key = "key", key
        elif binding.kind == "key":
            binding.kind, binding.key = "element", ""
        self._mutate(container, binding)

    def _store_attribute(self, target: ast.Attribute, binding: Binding) -> None:
        keep(self._attributes_at(target, binding.scope).setdefault(target.attr, []), binding)

    def _attributes_at(self, target: ast.Attribute, scope: Scope) -> dict[str, list[Binding]]:
        owner = scope.unit.enclosing_class
        is_own = isinstance(target.value, ast.Name) and target.value.id == _self_name(scope.unit)
        return owner.attributes if owner is not None and is_own else self.module.attribute_stores

    def bind(self, target: ast.expr, binding: Binding, path: tuple[int, ...] = ()) -> None:
        """Bind a target of an assignment, and each one within a tuple of targets."""
        bound = Binding(binding.kind, binding.value, path, binding.scope, binding.nesting, binding.line,
                       binding.key, binding.target, binding.statement)  # fmt: skip
        if isinstance(target, ast.Name):
            binding.scope.bind(target.id, bound)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for position, element in enumerate(target.elts):
                self.bind(element, binding, (*path, position))
        elif isinstance(target, ast.Starred):
            self.bind(target.value, binding, path[:-1])
        elif isinstance(target, ast.Attribute):
            self._store_attribute(target, bound)
        elif isinstance(target, ast.Subscript):
            key = target.slice.value if isinstance(target.slice, ast.Constant) else None
            bound.kind, bound.key = ("key", key) if isinstance(key, str) else ("element", "")
            self._mutate(target.value, bound)


def _makes_mapping(value: ast.expr | None) -> bool:
    """``{}``, ``dict()`` and the like."""
    if isinstance(value, ast.Call) and isinstance(value.func, (ast.Name, ast.Attribute)):
        name = value.func.attr if isinstance(value.func, ast.Attribute) else value.func.id
        return name in {"dict", "OrderedDict", "defaultdict"}
    return isinstance(value, (ast.Dict, ast.DictComp))


def _self_name(unit: Unit) -> str:
    method = unit.enclosing_method
    return method.parameters[0] if method is not None and method.parameters else ""
