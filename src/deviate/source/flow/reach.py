"""Which functions run when the entry runs: those that running code names or calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from deviate.source.flow.attributes import Objects, called_above, passes_self
from deviate.source.flow.program import COMMON_METHODS, MAX_SAME_NAMED, Evaluator, Program
from deviate.source.flow.starts import (
    Tables,
    chained_names,
    dynamic_imports,
    imported_by_name,
    offered_methods,
    registered_classes,
    started_by_name,
    taken_from,
    unchosen_commands,
)
from deviate.source.flow.values import External, Instance, Valuation
from deviate.source.index import (
    Binding,
    CallSite,
    ClassScope,
    ModuleIndex,
    Nesting,
    Scope,
    Unit,
    bindings_of,
    is_within,
)
from deviate.source.syntax import (
    SPACES,
    annotations_of,
    called_name,
    constant_start,
    dotted_text,
    last_part,
    name_below,
    text_of,
)

#: Decorators that make a function the one that a library starts.
_STARTERS = {"automain", "main", "command"}
#: Those that start it of a script alone.
_OF_SCRIPTS = {"hydra.main"}


def reached_units(program: Program, flow: Valuation) -> set[Unit]:
    """Follow names from the entry's module-level code."""
    return _Reach(program, Objects(program, flow)).run()


class _Reach:
    def __init__(self, program: Program, objects: Objects) -> None:
        self.program = program
        self.objects = objects
        self.units: set[Unit] = set()
        self.waiting: list[Unit] = []
        self.bases = {id(node) for module in program.modules for node in _bases_named(module)}
        self.tests = {id(node) for module in program.modules for node in _types_tested(module)}
        tables = Tables(program)
        self.parents = tables.parents
        #: Names in entries of tables that are not taken out.
        self.unused = tables.unused() if program.is_decided else set[int]()
        #: Whether the name that is followed stands among the bases of a class.
        self.is_base = False
        #: Whether it stands in a test of an object's class.
        self.is_tested = False
        #: What is asked of the name that is followed, itself: ``epsilon`` in ``Agent.epsilon(step)``.
        self.asked = ""
        self.whole: set[ModuleIndex] = set()

    def run(self) -> set[Unit]:
        left_out = unchosen_commands(self.program)
        for module in self.program.modules:
            self._reach(module.unit)
            for unit in module.units:
                if unit.owner is None and unit not in left_out and self._registered(unit):
                    self._reach(unit)
        for module in self.program.assumed:
            self._assume(module)
        for cls in registered_classes(self.program):
            self._use(cls)
        if self.program.entry is not None:
            for name in self.program.started:
                self._reach_target((self.program.entry, name), 0)
            unchosen = self.program.unchosen if self.program.is_decided else set[str]()
            for dotted in (each for each in self.program.imports.targets if each not in unchosen):
                self._reach_target(self.program.resolve_dotted(dotted, self.program.entry), 0)
        while self.waiting:
            self._follow(self.waiting.pop())
            if not self.waiting:
                self._reach_all(self.objects.make_tested())
        return self.units

    def _assume(self, module: ModuleIndex) -> None:
        """Reach all functions and methods of a module, tests of its own aside."""
        for cls in module.classes:
            self._use(cls)
        for unit in module.units:
            if unit.nesting is None or self.program.may_run(module.unit, unit.nesting):
                self._reach(unit)

    def _reach_all(self, units: Iterable[Unit]) -> None:
        for unit in units:
            self._reach(unit)

    def _registered(self, unit: Unit) -> bool:
        """Whether a decorator registers the function for later: one that is called, or one that makes it an entry."""
        is_entry = unit.module is self.program.entry
        registers = any(
            (isinstance(decorator, ast.Call) and (is_entry or dotted_text(decorator.func) not in _OF_SCRIPTS))
            or dotted_text(decorator).rpartition(".")[2] in _STARTERS
            for decorator in unit.decorators
        )
        return registers and self.program.may_run(unit.module.unit, unit.nesting)

    def _reach(self, unit: Unit) -> None:
        if unit not in self.units:
            self.units.add(unit)
            self.waiting.append(unit)

    def _follow(self, unit: Unit) -> None:
        self.is_tested = True
        for declared in annotations_of(unit).values():
            if isinstance(declared, ast.Name):
                self._name(declared.id, unit.parent or unit)
        asked = {id(node.value): node.attr for node, _, _ in unit.loads if isinstance(node, ast.Attribute)}
        for node, scope, nesting in unit.loads:
            if id(node) in self.unused or not self.program.may_run(unit, nesting):
                continue
            self.is_base, self.is_tested = id(node) in self.bases, id(node) in self.tests
            self.asked = asked.get(id(node), "")
            if isinstance(node, ast.Name):
                self._name(node.id, scope)
            else:
                self._attribute(node, scope)
            self.is_base, self.is_tested, self.asked = False, False, ""
        for site in unit.calls:
            if self.program.may_run(unit, site.nesting):
                for name in started_by_name(site):
                    self._reach_target((unit.module, name), 0)
                for cls, name in offered_methods(self.program, self.objects.flow, site):
                    self._reach_all((*self.objects.make(cls), *self.objects.ask_of(cls, name)))
                for name in chained_names(self.program, site):
                    self._reach_all(self.objects.ask(name))
                self._computed(site)
                if name_above := called_above(site.node):
                    self._reach_all(self.objects.ask_above(unit.enclosing_class, name_above))

    def _computed(self, site: CallSite) -> None:
        """Reach what a name that is computed may stand for: ``getattr(models, name)``, ``eval(name)``."""
        name, args = called_name(site.node), site.node.args
        if name in {"getattr", "vars", "dir"} and args:
            module = self._module_of(args[0], site.scope)
            is_own = text_of(args[0]) == "sys.modules[__name__]"
            if isinstance(module, ModuleIndex) or is_own:
                home = module if isinstance(module, ModuleIndex) else site.scope.module
                self._one_of(home, args[1] if name == "getattr" and len(args) > 1 else None, site.scope)
            elif module is None and _is_imported_by_name(args[0], site.scope):
                self._all_plugins()
            elif module is None and name == "getattr" and len(args) > 1:
                self._methods_called_like(site, args[1])
        elif _evaluates(site) and args and (text := self._named_by(args[0], site.scope)):
            self._name(text, site.scope)
        elif _evaluates(site) and args and not isinstance(args[0], ast.Constant):
            package = constant_start(args[0]).rpartition(".")[0]
            named = self._module_of(ast.parse(package, mode="eval").body, site.scope) if package else site.scope.module
            if isinstance(named, ModuleIndex):
                self._all_of(named)
            if not package and (site.scope.module.stars or _executes(site.scope.module)):
                self._all_plugins()
        elif name in {"globals", "locals"} and not args:
            parent = self.parents.of(site.node, site.scope.module)
            self._one_of(site.scope.module, parent.slice if isinstance(parent, ast.Subscript) else None, site.scope)

    def _named_by(self, text: ast.expr, scope: Scope) -> str:
        """Return the name that a text which settings decide stands for: ``eval(args.runner)``."""
        known = self.program.choices.value(text, scope) if self.program.is_decided else None
        name = known.value if known is not None else ""
        return name if isinstance(name, str) and name.isidentifier() else ""

    def _methods_called_like(self, site: CallSite, name: ast.expr) -> None:
        """Reach own methods that a computed name may stand for: ``getattr(self, "fit_" + how)``."""
        method, named, start = site.scope.unit.enclosing_method, self._named_by(name, site.scope), constant_start(name)
        is_own = method is not None and method.is_method and text_of(site.node.args[0]) == method.parameters[0]
        if method is None or method.owner is None or not is_own or not (named or start or self._is_called(site)):
            return
        for owner in self.program.ancestors(self.objects.flow, method.owner):
            begun = [each for each in owner.methods if each.startswith(start) and (start or each[0] != "_")]
            for called in [named] if named else begun:
                self._reach_all(self.objects.ask_of(method.owner, called))

    def _is_called(self, site: CallSite) -> bool:
        """Whether what a call gives is called at once: ``getattr(self, args.mode)()``."""
        parent = self.parents.of(site.node, site.scope.module)
        return isinstance(parent, ast.Call) and parent.func is site.node

    def _all_plugins(self) -> None:
        for plugin in self.program.imports.plugins:
            self._all_of(plugin)

    def _name(self, name: str, scope: Scope) -> None:
        bindings = bindings_of(name, scope)
        for binding in bindings:
            if binding.nesting is None or self.program.may_run(binding.scope.unit, binding.nesting):
                self._binding(binding, 0)
        for star in () if bindings else scope.module.stars:
            self._reach_target(self.program.resolve_dotted(name_below(star, name), scope.module), 0)

    def _binding(self, binding: Binding, depth: int) -> None:
        if binding.kind == "def" and isinstance(binding.target, Unit):
            self._reach(binding.target)
        elif binding.kind == "class" and isinstance(binding.target, ClassScope):
            self._use(binding.target)
        elif binding.kind == "import" and depth < 6:
            self._reach_target(self.program.resolve_dotted(binding.key, binding.scope.module), depth + 1)

    def _reach_target(self, ref: object, depth: int) -> None:
        if not isinstance(ref, tuple):
            return
        module, name = ref
        bindings = module.unit.bindings.get(name)
        if bindings:
            for binding in bindings:
                self._binding(binding, depth)
        elif depth < 6:
            for star in module.stars:
                self._reach_target(self.program.resolve_dotted(name_below(star, name), module), depth + 1)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> None:
        for alternative in self._imported_in_turn(node.value, scope):
            self._reach_target((alternative, node.attr), 0)
        module = self._module_of(node.value, scope)
        if node.attr == "__dict__" and module is None and _is_imported_by_name(node.value, scope):
            self._all_plugins()
        if node.attr == "__dict__":
            parent = self.parents.of(node, scope.module)
            key = parent.slice if isinstance(parent, ast.Subscript) else None
            for home in [module] if module is not None else self._any_of(node.value, scope):
                if isinstance(home, ModuleIndex):
                    self._one_of(home, key, scope)
        if isinstance(module, ModuleIndex):
            self._reach_target((module, node.attr), 0)
        if module is not None and not _is_rebound(node.value, scope):
            return
        if module is None and node.attr not in COMMON_METHODS:
            for plugin in self.program.imports.plugins:
                self._reach_target((plugin, node.attr), 0)
        method = scope.unit.enclosing_method
        is_own = isinstance(node.value, ast.Name) and method is not None and method.parameters[:1] == (node.value.id,)
        owner = method.owner if method is not None and is_own and method.is_method else None
        self._reach_all(self.objects.ask(node.attr) if owner is None else self.objects.ask_of(owner, node.attr))

    def _module_of(self, node: ast.expr, scope: Scope) -> ModuleIndex | str | None:
        """Find the module an expression names; ``outside`` for one that is not the project's."""
        if isinstance(node, ast.Attribute):
            base = self._module_of(node.value, scope)
            if isinstance(base, ModuleIndex):
                if node.attr in base.unit.bindings:
                    return self._imported_module(base.unit.bindings[node.attr])
                module = self.program.resolve_dotted(name_below(base.dotted, node.attr), base)
                return module if isinstance(module, ModuleIndex) else None
            below = self.program.imports.below(dotted_text(node.value), node.attr) if base is not None else None
            return below or base
        taken = self._taken_by_name(node, scope) if self.program.is_decided else None
        if taken is not None:
            return taken
        if not isinstance(node, ast.Name):
            return None
        return self._imported_module(bindings_of(node.id, scope) or self._starred(node.id, scope.module))

    def _starred(self, name: str, module: ModuleIndex) -> list[Binding]:
        """Return what a name is bound to that another module gives with ``*``."""
        modules = [self.program.resolve_dotted(star, module) for star in module.stars]
        bound = (home.unit.bindings.get(name) for home in modules if isinstance(home, ModuleIndex))
        return next(filter(None, bound), [])

    def _taken_by_name(self, node: ast.expr, scope: Scope) -> ModuleIndex | None:
        """Return the module that a known name stands for: ``import_module(name)``, ``models.__dict__[name]``."""
        package, name = self._package_of(node, scope)
        known = self.program.choices.value(name, scope) if package is not None and name is not None else None
        if package is None or known is None or not isinstance(known.value, str):
            return imported_by_name(self.program, node, scope)
        found = self._imported_module(package.unit.bindings.get(known.value, []))
        return found if isinstance(found, ModuleIndex) else None

    def _any_of(self, node: ast.expr, scope: Scope) -> list[ModuleIndex]:
        """Return the modules that one of is taken by a name which is not known: ``models.__dict__[args.kind]``."""
        package, _ = self._package_of(node, scope)
        imported = map(self._imported_module, package.unit.bindings.values() if package is not None else ())
        return [module for module in imported if isinstance(module, ModuleIndex)]

    def _package_of(self, node: ast.expr, scope: Scope) -> tuple[ModuleIndex | None, ast.expr | None]:
        """Return the module that something is taken from by a name, and the name."""
        holder, name = taken_from(node) if isinstance(node, (ast.Call, ast.Subscript)) else (None, None)
        module = self._module_of(holder, scope) if holder is not None and name is not None else None
        return (module, name) if isinstance(module, ModuleIndex) else (None, None)

    def _imported_module(self, bindings: list[Binding]) -> ModuleIndex | str | None:
        for binding in bindings:
            if binding.kind == "import" and self.program.may_run(binding.scope.unit, binding.nesting):
                ref = self.program.resolve_dotted(binding.key, binding.scope.module)
                if isinstance(ref, ModuleIndex):
                    return ref
                if not isinstance(ref, tuple):
                    return "outside"
                defined = ref[0].unit.bindings.get(ref[1])
                return self._imported_module(defined) if defined and defined is not bindings else None
        return None

    def _imported_in_turn(self, node: ast.expr, scope: Scope) -> list[ModuleIndex]:
        """Return the modules that a name may be, where several imports bind it: ``if small: import mlp as models``."""
        bindings = bindings_of(node.id, scope) if isinstance(node, ast.Name) else []
        live = [each for each in bindings if self.program.may_run(each.scope.unit, each.nesting)]
        modules = [self._imported_module([each]) for each in live[1:]]
        return [module for module in modules if isinstance(module, ModuleIndex)]

    def _one_of(self, module: ModuleIndex, name: ast.expr | None, scope: Scope) -> None:
        """Reach what a name that is computed stands for in a module; where it is not known, all that is there."""
        known = self.program.choices.value(name, scope) if name is not None and self.program.is_decided else None
        if known is not None and isinstance(known.value, str):
            self._reach_target((module, known.value), 0)
        else:
            self._all_of(module)

    def _all_of(self, module: ModuleIndex) -> None:
        """Reach all that a module defines, imports or imports with ``*``."""
        if module in self.whole:
            return
        self.whole.add(module)
        for name in module.unit.bindings:
            self._reach_target((module, name), 0)
        for star in module.stars:
            starred = self.program.resolve_dotted(star, module)
            if isinstance(starred, ModuleIndex):
                self._all_of(starred)

    def _use(self, cls: ClassScope) -> None:
        asked = cls.methods.get(self.asked)
        if asked is not None and asked.has_decorator("staticmethod"):
            self._reach(asked)  # a static method needs no object
        elif self.is_tested:
            self.objects.tested.append(cls)
        elif not self.is_base:
            self._reach_all(self.objects.make(cls))


def _evaluates(site: CallSite) -> bool:
    """Whether a call is of Python's own ``eval``: no ``model.eval(data)``, no function of the project."""
    return isinstance(site.node.func, ast.Name) and site.node.func.id == "eval" and not bindings_of("eval", site.scope)


def _executes(module: ModuleIndex) -> bool:
    """Whether a module executes texts, which may import by a computed name."""
    return any(called_name(site.node) == "exec" for unit in module.units for site in unit.calls)


def _is_rebound(node: ast.expr, scope: Scope) -> bool:
    """Whether a name is imported, and assigned something else: ``framework = framework.Trainer()``."""
    kinds = {binding.kind for binding in bindings_of(node.id, scope)} if isinstance(node, ast.Name) else set[str]()
    return {"import", "assign"} <= kinds


def _is_imported_by_name(node: ast.expr, scope: Scope) -> bool:
    """Whether an expression is a module that a computed name was imported by."""
    return any(True for _ in dynamic_imports(node, scope))


def _bases_named(module: ModuleIndex) -> Iterator[ast.AST]:
    """Yield the names of classes that objects derive from: bases, ``super(Base, self)``, ``Base.step(self)``."""
    for cls in module.classes:
        for base in cls.bases:
            generic = base.value if isinstance(base, ast.Subscript) else base
            if isinstance(generic, (ast.Name, ast.Attribute)):  # what a base is computed from may be made
                yield from ast.walk(base)
    for unit in module.units:
        for site in unit.calls:
            call = site.node
            if not call.args:
                continue
            if isinstance(call.func, ast.Name):
                if call.func.id == "super":
                    yield from ast.walk(call.args[0])
            elif isinstance(call.func, ast.Attribute) and passes_self(call):
                yield from ast.walk(call.func.value)


def _types_tested(module: ModuleIndex) -> Iterator[ast.AST]:
    """Yield the names of classes in ``isinstance(made, Base)``, ``issubclass(chosen, Base)`` and ``model: Base``."""
    for scope in (*module.units, *module.classes):
        attributes = scope.attributes if isinstance(scope, ClassScope) else {}
        for bindings in (*scope.bindings.values(), *attributes.values()):
            for binding in bindings:
                if isinstance(binding.statement, ast.AnnAssign):
                    yield from ast.walk(binding.statement.annotation)
    for unit in module.units:
        for site in unit.calls:
            if called_name(site.node) in {"isinstance", "issubclass"} and len(site.node.args) == 2:
                yield from ast.walk(site.node.args[1])


# Which function runs or names which, with the nesting of each call and reference.


@dataclass(frozen=True, eq=False)
class Edge:
    """A function that code runs or names, with the nesting of that code."""

    nesting: Nesting | None
    target: Unit
    line: int
    #: False where it is only named.
    called: bool = True
    #: Called within a lambda, which runs when that is called.
    deferred: bool = False


class CallGraph:
    """Edges between the functions of the running code."""

    def __init__(self, flow: Evaluator) -> None:
        self.flow = flow
        self.program = flow.program
        self._edges: dict[Unit, list[Edge]] = {}
        self._inside: dict[ast.AST, set[Unit]] = {}

    def edges(self, unit: Unit) -> list[Edge]:
        """Return what a function runs directly."""
        if unit not in self._edges:
            self._edges[unit] = [*self._called(unit), *self._mentioned(unit)]
        return self._edges[unit]

    def _called(self, unit: Unit) -> list[Edge]:
        edges: list[Edge] = []
        for site in unit.calls:
            if self.program.may_run(unit, site.nesting):
                targets = self.program.targets(self.flow, site) or self._by_method_name(site.node, unit)
                targets = targets or self._forwards(site)
                deferred = site.scope.lambda_around is not None
                edges.extend(Edge(site.nesting, each, site.node.lineno, deferred=deferred) for each in targets)
        return edges

    def _forwards(self, site: CallSite) -> list[Unit]:
        """Find what a call of a module of PyTorch's runs: its ``forward``, which may train, as meta-learners do."""
        refs = self.flow.value(site.node.func, site.scope).refs
        made = [ref.cls for ref in refs if isinstance(ref, Instance)]
        return [unit for cls in made for unit in self.program.method(self.flow, cls, "forward")]

    def _by_method_name(self, call: ast.Call, unit: Unit) -> list[Unit]:
        func = call.func
        if isinstance(func, ast.Name):
            return self._taken_by_name(func.id, unit)
        if not isinstance(func, ast.Attribute):
            return []
        if func.attr not in self.program.methods:
            return self._kept_under(func.attr)
        if last_part(func.value) in SPACES:
            return []
        if func.attr in COMMON_METHODS:
            is_known = bool(self.flow.value(func.value, unit).refs)
            return [] if is_known else self.program.called_like(call, unit)
        units = [unit for unit in self.program.methods[func.attr] if unit in self.program.reached]
        if len(units) > MAX_SAME_NAMED:
            return []
        if isinstance(func.value, ast.Name):
            refs = self.flow.value(func.value, unit).refs
            if any(isinstance(ref, External) and not ref.made for ref in refs):
                return []
        return units

    def _kept_under(self, name: str) -> list[Unit]:
        """Find the functions that mappings hold under the name that one is called by: ``{"step": fit_batch}``."""
        units = self._keyed.get(name, [])
        return units if len(units) <= MAX_SAME_NAMED else []

    @cached_property
    def _keyed(self) -> dict[str, list[Unit]]:
        """Functions that mappings are written with, by their keys."""
        keyed: dict[str, list[Unit]] = {}
        for value, scope in _written(self.program.running_units()):
            for key, name in _entries(value):
                refs = self.flow.value(name, scope).refs
                own = [ref for ref in refs if isinstance(ref, Unit) and ref in self.program.reached]
                keyed.setdefault(key, []).extend(each for each in own if each not in keyed.get(key, ()))
        return keyed

    def _taken_by_name(self, name: str, unit: Unit) -> list[Unit]:
        """Find a function of the name that a variable has which takes one: ``work = getattr(module, args.work)``."""
        taken = (each.value for each in bindings_of(name, unit) if each.kind == "assign")
        holders = [call.args[0] for call in taken if isinstance(call, ast.Call) and called_name(call) == "getattr"]
        refs = [ref for holder in holders for ref in self.flow.value(holder, unit).refs]
        modules = [ref for ref in refs if isinstance(ref, ModuleIndex)] or (
            self.program.imports.plugins if holders else []
        )
        bound = [each.target for module in modules for each in module.unit.bindings.get(name, ())]
        return [each for each in bound if isinstance(each, Unit) and each in self.program.reached]

    def _mentioned(self, unit: Unit) -> list[Edge]:
        edges: list[Edge] = []
        for node, scope, nesting in unit.loads:
            named = isinstance(node, ast.Name) or node.attr in self.program.methods
            if named and self.program.may_run(unit, nesting):
                refs = self.flow.value(node, scope).refs
                edges.extend(
                    Edge(nesting, ref, node.lineno, called=False)
                    for ref in refs
                    if isinstance(ref, Unit) and ref is not unit
                )
        return edges

    def closure(self, roots: list[Unit], constructors: bool = True) -> set[Unit]:
        """Return everything that functions run, directly or not; without `constructors`, not what those run."""
        units: set[Unit] = set()
        waiting = list(roots)
        while waiting:
            unit = waiting.pop()
            if unit not in units and (constructors or unit.name != "__init__"):
                units.add(unit)
                waiting.extend(edge.target for edge in self.edges(unit))
        return units

    def inside(self, unit: Unit, node: ast.AST) -> set[Unit]:
        """Return everything that runs within a statement of a function."""
        if node not in self._inside:
            roots = [edge.target for edge in self.edges(unit) if is_within(edge.nesting, node)]
            self._inside[node] = self.closure(roots)
        return self._inside[node]


def _written(units: list[Unit]) -> Iterator[tuple[ast.expr | None, Scope]]:
    """Yield what functions assign to names and return."""
    for unit in units:
        yield from ((each.value, each.scope) for bindings in unit.bindings.values() for each in bindings)
        yield from unit.returns


def _entries(node: ast.expr | None) -> Iterator[tuple[str, ast.Name]]:
    """Yield the keys and names in a mapping, and in those that it holds."""
    for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and isinstance(value, ast.Name):
            yield key.value, value
        yield from _entries(value)
