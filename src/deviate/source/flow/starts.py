"""Functions and classes that a library starts, or that a decorator keeps for later, though nothing calls them.

Also tables that a program takes functions and classes from by a key: of those whose key is known, one entry runs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from deviate.source.flow.program import Evaluator, Program
from deviate.source.flow.values import MAX_REFS, Instance, Valuation, Value
from deviate.source.imports import LIBRARIES
from deviate.source.index import (
    Binding,
    CallSite,
    ClassScope,
    ModuleIndex,
    Nesting,
    Scope,
    Unit,
    bindings_of,
    only_binding,
)
from deviate.source.settings.constants import BESIDE
from deviate.source.syntax import (
    IMPORTERS,
    Parents,
    called_name,
    constant_start,
    dotted_text,
    imported_names,
    is_namespace,
    leading_text,
    written_items,
)


def started_by_name(site: CallSite) -> Iterator[str]:
    """Yield the names in a file that a call of a library starts without being given them.

    ``tf.app.run()`` starts ``main``, ``fire.Fire()`` any function that the command line names.
    """
    if site.node.args or site.node.keywords:
        return
    dotted = dotted_text(site.node.func)
    if dotted.endswith("app.run"):
        yield "main"
    elif dotted == "fire.Fire" or dotted == "Fire":
        bindings = site.scope.module.unit.bindings
        yield from (name for name, bound in bindings.items() if any(binding.kind == "def" for binding in bound))


def offered_methods(program: Program, flow: Valuation, site: CallSite) -> Iterator[tuple[ClassScope, str]]:
    """Yield the methods that the words of a command choose from: ``fire.Fire(Trainer)``, ``CLI(Trainer)``."""
    if called_name(site.node) not in {"Fire", "CLI"} or not site.node.args:
        return
    settings = program.choices.settings
    words = settings.arguments.leading if settings is not None else []
    for ref in flow.value(site.node.args[0], site.scope).refs:
        cls = ref.cls if isinstance(ref, Instance) else ref
        if isinstance(cls, ClassScope):
            names = [name for name in cls.methods if not name.startswith("_")]
            yield from ((cls, name) for name in ([word for word in words if word in names] or names))


def chained_names(program: Program, site: CallSite) -> list[str]:
    """Return the words of a command that fire asks of what the words before them give: ``new Model train``."""
    settings = program.choices.settings
    if called_name(site.node) != "Fire" or settings is None:
        return []
    return [word for word in settings.arguments.leading if word.isidentifier()]


def unchosen_commands(program: Program) -> set[Unit]:
    """Return the functions that are commands of a program of several, where the command line names another one.

    Where it names none, they are those that are called like what trains nothing.
    """
    commands: dict[Unit, str] = {}
    for unit in (unit for module in program.modules for unit in module.units):
        for decorator in unit.decorators:
            if isinstance(decorator, ast.Call) and called_name(decorator) == "command":
                commands[unit] = leading_text(decorator) or unit.name
    settings = program.choices.settings if program.is_decided else None
    words = {word.replace("-", "_") for word in settings.arguments.values} if settings is not None else set[str]()
    chosen = {unit for unit, name in commands.items() if name.replace("-", "_") in words}
    if chosen:
        return commands.keys() - chosen
    beside = {unit for unit in commands if BESIDE.search(unit.name) and "train" not in unit.name}
    is_left_out = program.is_decided and len(beside) < len(commands)
    return _beside_main(program, words) | (beside if is_left_out else set())


def _beside_main(program: Program, words: set[str]) -> set[Unit]:
    """Return the commands of Sacred's experiments that no word names: without one, the main function runs."""
    decorators = {unit: _of_experiments(unit) for module in program.modules for unit in module.units}
    if not any(names & {"main", "automain"} and unit.module is program.entry for unit, names in decorators.items()):
        return set()
    return {unit for unit, names in decorators.items() if "command" in names and unit.name not in words}


def _of_experiments(unit: Unit) -> set[str]:
    """Return the last words of decorators that are attributes: ``main`` of ``@experiment.main``."""
    return {decorator.attr for decorator in unit.decorators if isinstance(decorator, ast.Attribute)}


def registered_classes(program: Program) -> Iterator[ClassScope]:
    """Yield the classes that decorators keep in tables; of a table that settings name classes of, those alone.

    Where settings name none, a text of the entry does: ``registry.get(config.get("runner", "epochs"))``.
    """
    tables: dict[str, list[tuple[ClassScope, set[str]]]] = {}
    for cls in program.classes:
        decorator = _registering(program, cls)
        if decorator is not None:
            func = decorator.func if isinstance(decorator, ast.Call) else decorator
            given = decorator.args if isinstance(decorator, ast.Call) else []
            keys = {str(arg.value) for arg in given if isinstance(arg, ast.Constant)}
            tables.setdefault(dotted_text(func), []).append((cls, {cls.name, *keys}))
    settings = program.choices.settings if program.is_decided else None
    named = settings.texts if settings is not None else set[str]()
    written = _texts_of_entry(program) if program.is_decided else set[str]()
    for members in tables.values():
        chosen = [cls for cls, names in members if not names.isdisjoint(named)]
        chosen = chosen or [cls for cls, names in members if not names.isdisjoint(written)]
        yield from chosen or (cls for cls, _ in members)


def _texts_of_entry(program: Program) -> set[str]:
    nodes = ast.walk(program.entry.tree) if program.entry is not None else ()
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _registering(program: Program, cls: ClassScope) -> ast.expr | None:
    """Find the decorator that keeps a class in a table that it is taken from by name."""
    for decorator in getattr(cls.node, "decorator_list", []):
        dotted = dotted_text(decorator.func if isinstance(decorator, ast.Call) else decorator)
        is_own = isinstance(decorator, ast.Call) and cls.parent is not None and _is_own(program, dotted, cls)
        if REGISTERING.search(dotted) or is_own:
            return decorator  # type: ignore[no-any-return]
    return None


def _is_own(program: Program, dotted: str, cls: ClassScope) -> bool:
    assert cls.parent is not None
    for binding in bindings_of(dotted.partition(".")[0], cls.parent):
        if binding.kind != "import":
            return binding.kind in {"def", "class", "assign"}
        resolved = program.resolve_dotted(binding.key, cls.module)
        return isinstance(resolved, tuple) or hasattr(resolved, "unit")
    return False


# Modules that are imported by a computed name: which of them surely run, and which the program may not choose.


def unchosen_modules(program: Program, loop_file: str) -> set[ModuleIndex]:
    """Find the modules that only a computed name leads to, where nothing says that one of them is the right one.

    A plug-in is chosen by a name that settings decide, and by the default of an option or parameter that is called like
    its file. What the entry, a chosen plug-in or the module of the main loop imports by statements is certain.
    """
    plugins = program.imports.plugins
    if len(plugins) < 2 or program.entry is None:
        return set()
    certain = _imported_from(program, [program.entry])
    names = {_plain(name) for module in certain for name in _defaults(module)}
    named = set(_named(program))
    chosen = [
        plugin
        for plugin in plugins
        if plugin not in certain and (plugin in named or _plain(plugin.dotted.rpartition(".")[2]) in names)
    ]
    training = [module for module in program.modules if module.file == loop_file]
    certain |= _imported_from(program, [*chosen, *training])
    others = _imported_from(program, plugins) - certain
    return others if len(others & set(plugins)) > 1 else set()


def library_copies(program: Program, loop_file: str) -> set[ModuleIndex]:
    """Find the modules of copies of libraries that lie in the project, unless the training stands in them."""
    packages = {
        module.file.removesuffix("__init__.py")
        for module in program.modules
        if module.file.endswith("/__init__.py") and "__version__" in module.unit.bindings
        and module.dotted.rpartition(".")[2] in LIBRARIES
    }  # fmt: skip
    entry = program.entry.file if program.entry is not None else ""
    copies = tuple(each for each in packages if not loop_file.startswith(each) and not entry.startswith(each))
    return {module for module in program.modules if copies and module.file.startswith(copies)}


def dynamic_imports(node: ast.expr, scope: Scope) -> Iterator[tuple[ast.Call, Scope]]:
    """Yield the calls of ``import_module`` that an expression is, or that its name is bound to."""
    bindings = bindings_of(node.id, scope) if isinstance(node, ast.Name) else []
    for value, home in [(node, scope), *((binding.value, binding.scope) for binding in bindings)]:
        if isinstance(value, ast.Call) and called_name(value) in IMPORTERS:
            yield value, home


def imported_by_name(program: Program, node: ast.expr, scope: Scope) -> ModuleIndex | None:
    """Return the module that an expression imports by a name which is computed and known."""
    calls = list(dynamic_imports(node, scope))
    if len(calls) != 1 or not calls[0][0].args:
        return None
    call, home = calls[0]
    known = program.choices.value(call.args[0], home)
    text = known.value if known is not None else None
    module = program.resolve_dotted(text, home.module) if isinstance(text, str) and text else None
    return module if isinstance(module, ModuleIndex) and module in program.modules else None


def _named(program: Program) -> Iterator[ModuleIndex]:
    """Yield the modules that running functions import by a name which is computed and known."""
    for unit in program.reached if program.is_decided else ():
        for site in unit.calls:
            module = imported_by_name(program, site.node, site.scope)
            if module is not None:
                yield module


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def _imported_from(program: Program, first: Iterable[ModuleIndex]) -> set[ModuleIndex]:
    """Follow the import statements of modules."""
    found: set[ModuleIndex] = set()
    waiting = list(first)
    while waiting:
        module = waiting.pop()
        if module in found:
            continue
        found.add(module)
        for node, _, _ in module.imports:
            for dotted in imported_names(node):
                imported = program.imports.find(dotted, module)
                if imported is not None:
                    waiting.append(imported)
    return found


def _defaults(module: ModuleIndex) -> set[str]:
    """Texts that options and parameters have by default."""
    given: list[ast.expr] = []
    for unit in module.units:
        given.extend(unit.defaults.values())
        for site in unit.calls:
            given.extend(key.value for key in site.node.keywords if key.arg == "default")
            if called_name(site.node).startswith("DEFINE_"):
                given.extend(site.node.args[1:2])
    return {node.value for node in given if isinstance(node, ast.Constant) and isinstance(node.value, str)}


# What a program takes by a name that it computes, where settings decide the name.


def chosen_by_name(flow: Evaluator, node: ast.Call | ast.Subscript, scope: Scope) -> Value | None:
    """Evaluate ``import_module(name)``, ``getattr(module, name)``, ``module.__dict__[name]``, ``eval(name)``.

    None for any other expression, and where the name is not known.
    """
    if not flow.program.is_decided:
        return None
    if isinstance(node, ast.Call) and called_name(node) in IMPORTERS:
        module = imported_by_name(flow.program, node, scope)
        return Value(refs=(module,)) if module is not None else None
    holder, name = taken_from(node)
    module = _module(flow, holder, scope) if holder is not None else None
    known = flow.program.choices.value(name, scope) if module is not None and name is not None else None
    if module is None or known is None or not isinstance(known.value, str):
        return None
    value = flow.value_of_name(known.value, module)
    return value if value.refs else None


def methods_begun(flow: Evaluator, node: ast.Call, scope: Scope) -> Value | None:
    """Evaluate ``getattr(self, "sample_" + how)``: all methods of an own object that are called like that; or None."""
    holder, name = taken_from(node)
    start = constant_start(name) if name is not None else ""
    owners = [ref.cls for ref in flow.value(holder, scope).refs if isinstance(ref, Instance)] if start else []
    methods = [
        method
        for cls in dict.fromkeys(each for owner in owners for each in flow.program.ancestors(flow, owner))
        for called, method in cls.methods.items()
        if called.startswith(start)
    ]
    return Value(refs=tuple(methods[:MAX_REFS])) if methods else None


def taken_from(node: ast.Call | ast.Subscript) -> tuple[ast.expr | None, ast.expr | None]:
    """Return what holds a name, and the name: the scope of a file stands for itself as ``globals()``."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "eval" and node.args:
            return node.func, node.args[0]
        is_getattr = called_name(node) == "getattr" and len(node.args) > 1
        return (node.args[0], node.args[1]) if is_getattr else (None, None)
    held = node.value
    if isinstance(held, ast.Attribute) and held.attr == "__dict__":
        return held.value, node.slice
    if isinstance(held, ast.Call) and called_name(held) == "vars" and len(held.args) == 1:
        return held.args[0], node.slice
    return (held, node.slice) if is_namespace(held) else (None, None)


def _module(flow: Evaluator, holder: ast.expr, scope: Scope) -> ModuleIndex | None:
    if is_namespace(holder) or (isinstance(holder, ast.Name) and holder.id == "eval"):
        return scope.module
    modules = [ref for ref in flow.value(holder, scope).refs if isinstance(ref, ModuleIndex)]
    return modules[0] if len(modules) == 1 else None


#: Functions and methods that take nothing out of a table.
_HARMLESS_CALLS = {"len", "list", "sorted", "print", "str", "tuple", "set", "join", "iter"}
_HARMLESS_METHODS = {"keys", "update", "setdefault", "__contains__"}
#: What keeps something in a table is called so.
REGISTERING = re.compile(r"regist|plugin", re.IGNORECASE)
_Entries = dict[str, list[ast.expr]]


class Tables:
    """The tables of a program, and the names in them that are not taken out."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.parents = Parents()
        #: Entries by the bindings of the table's name, which are one list for all who read it.
        self._entries: dict[int, _Entries] = {}
        #: Names of tables; those of a file or a class, which other code can read, with the table.
        self._names: set[str] = set()
        self._shared: dict[str, list[int]] = {}
        self._find()

    def unused(self) -> set[int]:
        """Return the ids of the names that stand in entries whose keys are never asked for."""
        asked: dict[int, set[str] | None] = {key: set() for key in self._entries}
        if asked:
            for key, chosen in self._readings():
                known = asked[key]
                asked[key] = None if chosen is None or known is None else known | {chosen}
        return (
            self._not_named()
            | self._not_taken()
            | {
                id(name)
                for key, chosen in asked.items()
                if chosen and chosen <= self._entries[key].keys()
                for entry, values in self._entries[key].items()
                if entry not in chosen
                for value in values
                for name in ast.walk(value)
            }
        )

    def _not_named(self) -> set[int]:
        """Return the ids of the names in calls that register something by a key, where settings name another key.

        ``factory.register("ppo", PPO)`` is left out where the settings name ``"sac"``, which is registered so, too, and
        ``parser.set_defaults(func=export)`` where they name the parser of another command.
        """
        tables: dict[str, dict[str, list[ast.expr]]] = {}
        for site in (site for module in self.program.modules for unit in module.units for site in unit.calls):
            call = site.node
            if REGISTERING.search(called_name(call)) and len(call.args) == 2:
                key, value = call.args
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    tables.setdefault(dotted_text(call.func), {}).setdefault(key.value, []).append(value)
            if called_name(call) == "set_defaults" and (command := _command_of(call, site.scope)):
                values = [keyword.value for keyword in call.keywords]
                tables.setdefault("add_parser", {}).setdefault(command, []).extend(values)
        settings = self.program.choices.settings
        named = settings.texts if settings is not None and any(map(_is_choice, tables.values())) else set[str]()
        return {
            id(name)
            for entries in tables.values()
            if _is_choice(entries) and not named.isdisjoint(entries)
            for key, values in entries.items()
            if key not in named
            for value in values
            for name in ast.walk(value)
        }

    def _not_taken(self) -> set[int]:
        """Return the ids of the names that settings leave out of ``made = Small if args.small else Large``."""
        units = (unit for module in self.program.modules for unit in module.units)
        bindings = (each for unit in units for bound in unit.bindings.values() for each in bound)
        left: list[ast.expr] = []
        for value, scope in [(each.value, each.scope) for each in bindings if each.kind == "assign"]:
            parts = (value.body, value.orelse) if isinstance(value, ast.IfExp) else ()
            if parts and all(_is_defined(part.func if isinstance(part, ast.Call) else part, scope) for part in parts):
                taken = self.program.choices.taken(value, scope)
                left.extend(part for part in parts if taken is not value and part is not taken)
        return {id(name) for part in left for name in ast.walk(part)}

    def _find(self) -> None:
        for module in self.program.modules:
            for scope in (*module.units, *module.classes):
                for name, bindings in scope.bindings.items():
                    entries = _entries_of(bindings)
                    if entries:
                        self._entries[id(bindings)] = entries
                        self._names |= {name} | self.program.aliases.get(name, set())
                        if scope is module.unit or isinstance(scope, ClassScope):
                            self._shared.setdefault(name, []).append(id(bindings))

    def _readings(self) -> Iterator[tuple[int, str | None]]:
        """Yield each place that reads a table, with the key that is asked for, None where all may be taken."""
        for module in self.program.modules:
            for unit in module.units:
                for node, scope, nesting in unit.loads:
                    name = node.id if isinstance(node, ast.Name) else node.attr
                    if name in self._names:
                        yield from self._reading(node, name, scope, nesting)

    def _reading(
        self, node: ast.Name | ast.Attribute, name: str, scope: Scope, nesting: Nesting | None
    ) -> Iterator[tuple[int, str | None]]:
        bindings = bindings_of(name, scope) if isinstance(node, ast.Name) else self._of_module(node, scope)
        own = self._table(bindings)
        tables = self._shared.get(name, []) if not bindings else [own] if own is not None else []
        if not tables or self.program.choices.is_dead(nesting, scope):
            return
        parent = self.parents.of(node, scope.module)
        key = self._asked(node, parent, scope)
        if key is not None:
            known = self.program.choices.value(key, scope)
            text = str(known.value) if known is not None and isinstance(known.value, str) else None
            yield from ((table, text) for table in tables)
        elif not self._is_harmless(node, parent, scope):
            yield from ((table, None) for table in tables)

    def _of_module(self, node: ast.Attribute, scope: Scope) -> list[Binding]:
        """Return what the name of an imported module is bound to: ``agents.NAMES``."""
        bound = bindings_of(node.value.id, scope) if isinstance(node.value, ast.Name) else []
        dotted = next((binding.key for binding in bound if binding.kind == "import"), "")
        found = self.program.resolve_dotted(f"{dotted}.{node.attr}", scope.module) if dotted else None
        return found[0].unit.bindings.get(found[1], []) if isinstance(found, tuple) else []

    def _table(self, bindings: list[Binding], depth: int = 0) -> int | None:
        """Return the table that a name is bound to, here or where it is imported from by name."""
        if id(bindings) in self._entries:
            return id(bindings)
        for binding in bindings if depth < 6 else ():
            if binding.kind == "import":
                found = self.program.resolve_dotted(binding.key, binding.scope.module)
                if isinstance(found, tuple):
                    return self._table(found[0].unit.bindings.get(found[1], []), depth + 1)
        return None

    def _asked(self, node: ast.expr, parent: ast.AST | None, scope: Scope) -> ast.expr | None:
        """Return the key of ``TABLE[key]`` and ``TABLE.get(key)``."""
        if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load):
            return parent.slice
        if isinstance(parent, ast.Attribute) and parent.attr in {"get", "pop"}:
            call = self.parents.of(parent, scope.module)
            if isinstance(call, ast.Call) and call.func is parent and len(call.args) == 1:
                return call.args[0]
        return None

    def _is_harmless(self, node: ast.expr, parent: ast.AST | None, scope: Scope) -> bool:
        if isinstance(parent, ast.Subscript):
            return not isinstance(parent.ctx, ast.Load)
        if isinstance(parent, ast.Compare):
            return node is not parent.left
        if isinstance(parent, ast.Call):
            return called_name(parent) in _HARMLESS_CALLS
        return isinstance(parent, ast.Attribute) and parent.attr in _HARMLESS_METHODS


def _command_of(call: ast.Call, scope: Scope) -> str:
    """Name the command whose parser a method is called of: ``parser = parsers.add_parser("train")``."""
    made = call.func.value if isinstance(call.func, ast.Attribute) else call
    binding = only_binding(made.id, scope) if isinstance(made, ast.Name) else None
    parser = binding.value if binding is not None else made
    return leading_text(parser) if isinstance(parser, ast.Call) and called_name(parser) == "add_parser" else ""


def _is_choice(entries: _Entries) -> bool:
    return len(entries) > 1


def _entries_of(bindings: list[Binding]) -> _Entries:
    """Return what a name's entries are made of: ``{"a": A, "b": B}`` and ``TABLE["c"] = C``."""
    if not any(binding.kind == "assign" and isinstance(binding.value, (ast.Dict, ast.Call)) for binding in bindings):
        return {}
    entries: _Entries = {}
    for binding in bindings:
        if binding.kind == "key" and binding.value is not None:
            entries.setdefault(binding.key, []).append(binding.value)
        elif binding.kind == "assign" and isinstance(binding.value, ast.Dict):
            for key, value in written_items(binding.value):
                entries.setdefault(key, []).append(value)
        elif binding.kind != "assign":
            return {}
    named = sum(any(_is_defined(value, bindings[0].scope) for value in values) for values in entries.values())
    return entries if named > 1 else {}


def _is_defined(value: ast.expr, scope: Scope) -> bool:
    """Whether a value is a function or class by name, or something of a module."""
    name = value
    while isinstance(name, ast.Attribute):
        name = name.value
    kinds = {binding.kind for binding in bindings_of(name.id, scope)} if isinstance(name, ast.Name) else set[str]()
    return not kinds.isdisjoint({"import", "def", "class"} if name is value else {"import"})
