"""Tables that a program takes functions and classes from by a key: of those whose key is known, one entry runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from deviate.source.flow.program import Program
from deviate.source.index import Binding, ClassScope, Nesting, Scope, bindings_of, only_binding
from deviate.source.syntax import Parents, called_name, dotted_text, leading_text, written_items

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
