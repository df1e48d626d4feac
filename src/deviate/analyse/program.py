"""The project as a whole: names across files, class families, who calls what."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from deviate.analyse.abstract import NOTHING, External, Instance, Param, Ref
from deviate.analyse.imports import Imports
from deviate.analyse.index import CallSite, ClassScope, ModuleIndex, Scope, Unit

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

#: A method name that more classes define tells nothing about an unknown receiver.
MAX_SAME_NAMED = 3
#: Methods that so many things have that a shared name says nothing.
COMMON_METHODS = {"get", "items", "append", "keys", "values", "format", "join", "split", "to", "size", "step",
    "train", "eval",
                  "update", "run", "close", "write", "add", "log", "cuda", "forward", "fit", "pop", "copy",
                  "item", "extend",
                  "insert", "read", "open", "reset", "sum", "mean", "max", "min", "index", "count", "sort"}  # fmt: skip


class CallsByName:
    """All calls by one name, by the functions they reach: each is looked at once, however many share the name."""

    def __init__(self, sites: list[CallSite]) -> None:
        self.order = {site: position for position, site in enumerate(sites)}
        self.reaching: dict[Unit, list[CallSite]] = {}
        #: Reach nothing that is known.
        self.open: list[CallSite] = []
        self._waiting = list(sites)

    def sort_out(self, targets: Callable[[CallSite], list[Unit] | None]) -> None:
        """Look at the calls not looked at yet; again later at those whose targets are not known yet (None)."""
        later: list[CallSite] = []
        while self._waiting:
            site = self._waiting.pop()
            found = targets(site)
            if found is None:
                later.append(site)
            elif not found:
                self.open.append(site)
            for unit in dict.fromkeys(found or ()):
                self.reaching.setdefault(unit, []).append(site)
        self._waiting = later


class Program:
    """All modules that the entry reaches."""

    def __init__(self, root: Path, entry: Path) -> None:
        self.imports = Imports(root, entry)
        self.entry = self.imports.load_all(entry)
        self.modules: list[ModuleIndex] = list(self.imports.loaded())
        self.calls: dict[str, list[CallSite]] = {}
        self.reached: set[Unit] = set()
        self.aliases = self._import_aliases()
        self.classes = [cls for module in self.modules for cls in module.classes]
        self.methods: dict[str, list[Unit]] = {}
        for cls in self.classes:
            for name, unit in cls.methods.items():
                self.methods.setdefault(name, []).append(unit)
        self.attributes: dict[str, list[ClassScope]] = {}
        for cls in self.classes:
            for name in cls.attributes:
                self.attributes.setdefault(name, []).append(cls)
        self._bases: dict[ClassScope, list[Ref]] = {}
        self._subclasses: dict[ClassScope, list[ClassScope]] | None = None
        self._callers: dict[Unit, list[CallSite]] = {}
        self._named: dict[str, CallsByName] = {}

    def _import_aliases(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for module in self.modules:
            for node, _, _ in module.imports:
                for alias in node.names:
                    if alias.asname and alias.asname != alias.name:
                        found.setdefault(alias.name.rpartition(".")[2], set()).add(alias.asname)
        return found

    def set_reached(self, units: set[Unit]) -> None:
        """Tell which code runs: only its calls count."""
        self.reached = units
        self.calls, self._named = {}, {}
        for module in self.modules:
            for unit in module.units:
                if unit in units:
                    for site in unit.calls:
                        self.calls.setdefault(called_name(site.node), []).append(site)

    def resolve_dotted(self, dotted: str, importer: ModuleIndex) -> Ref | tuple[ModuleIndex, str] | None:
        """Find what an imported dotted name is: a module, a name in a module, or something outside."""
        found = self.imports.find(dotted, importer)
        if found is not None:
            return found
        base, _, name = dotted.rpartition(".")
        if dotted.startswith(".") and not base.strip("."):
            base = dotted[: len(dotted) - len(dotted.lstrip("."))]
            name = dotted.lstrip(".")
        if base:
            module = self.imports.find(base, importer)
            if module is not None:
                return module, name
        return External(dotted.lstrip("."))

    # Classes.

    def bases(self, flow: Flow, cls: ClassScope) -> list[Ref]:
        """Resolve the base classes."""
        if cls not in self._bases:
            self._bases[cls] = []
            assert cls.parent is not None
            self._bases[cls] = [ref for base in cls.bases for ref in flow.value(base, cls.parent).refs]
        return self._bases[cls]

    def ancestors(self, flow: Flow, cls: ClassScope) -> list[ClassScope]:
        """Return the class and its bases within the project, nearest first."""
        found = [cls]
        for one in found:
            for ref in self.bases(flow, one):
                if isinstance(ref, ClassScope) and ref not in found:
                    found.append(ref)
        return found

    def external_bases(self, flow: Flow, cls: ClassScope) -> list[str]:
        """Return the dotted names of the base classes outside the project."""
        return [
            ref.dotted
            for one in self.ancestors(flow, cls)
            for ref in self.bases(flow, one)
            if isinstance(ref, External) and ref.dotted != "builtins.object"
        ]

    def family(self, flow: Flow, cls: ClassScope) -> list[ClassScope]:
        """Return the class, its bases, then its subclasses."""
        if self._subclasses is None:
            self._subclasses = {}
            for one in self.classes:
                for base in self.ancestors(flow, one)[1:]:
                    self._subclasses.setdefault(base, []).append(one)
        return [*self.ancestors(flow, cls), *self._subclasses.get(cls, [])]

    def method(self, flow: Flow, cls: ClassScope, name: str) -> list[Unit]:
        """Find the methods a call on an instance may reach."""
        found = [one.methods[name] for one in self.family(flow, cls) if name in one.methods]
        return found[:4]

    # Calls.

    def callers(self, flow: Flow, unit: Unit) -> list[CallSite]:
        """Find the calls that reach a function, by name first and by data flow where it can tell."""
        if unit in self._callers:
            return self._callers[unit]
        names = {unit.name} | self.aliases.get(unit.name, set())
        if unit.owner is not None and unit.name == "__init__":
            for cls in self.family(flow, unit.owner):
                names |= {cls.name} | self.aliases.get(cls.name, set())
        found = [site for name in sorted(names) for site in self._calling(flow, name, unit)]
        self._callers[unit] = found
        return found

    def _calling(self, flow: Flow, name: str, unit: Unit) -> list[CallSite]:
        """Find the calls by a name that reach a function."""
        if name not in self._named:
            self._named[name] = CallsByName(self.calls.get(name, []))
        named = self._named[name]
        named.sort_out(lambda site: self._sure_targets(flow, site))
        found = named.reaching.get(unit, [])
        by_name = unit.owner is not None and unit.name not in COMMON_METHODS
        if by_name and len(self.methods.get(unit.name, [])) <= MAX_SAME_NAMED:
            found = [*found, *(site for site in named.open if self._may_be_method(flow, site))]
        return sorted(found, key=lambda site: named.order[site])

    def _sure_targets(self, flow: Flow, site: CallSite) -> list[Unit] | None:
        """Targets of a call; None where what is called is only being evaluated."""
        found = self.targets(flow, site)
        return found if found or flow.value(site.node.func, site.scope) is not NOTHING else None

    def _may_be_method(self, flow: Flow, site: CallSite) -> bool:
        func = site.node.func
        return isinstance(func, ast.Attribute) and not flow.value(func.value, site.scope).refs

    def targets(self, flow: Flow, site: CallSite) -> list[Unit]:
        """Find the functions of the project that a call may run."""
        found: list[Unit] = []
        for ref in flow.value(site.node.func, site.scope).refs:
            if isinstance(ref, Unit):
                found.append(ref)
            elif isinstance(ref, ClassScope):
                found.extend(self.method(flow, ref, "__init__")[:1])
            elif isinstance(ref, Instance):
                found.extend(self.method(flow, ref.cls, "__call__"))
        return found

    def arguments(self, flow: Flow, param: Param) -> list[tuple[ast.expr, Scope]]:
        """Return every expression that callers pass for a parameter."""
        found: list[tuple[ast.expr, Scope]] = []
        for site in self.callers(flow, param.unit):
            found.extend((expr, site.scope) for expr in passed_for(site.node, param.unit, param.name))
        return found


def called_name(call: ast.Call) -> str:
    """Last part of the name that is called."""
    func = call.func
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def passed_for(call: ast.Call, unit: Unit, name: str) -> list[ast.expr]:
    """Return the arguments a call gives for one parameter of a function."""
    skipped = 1 if unit.is_method and not _through_class(call, unit) else 0
    positional = list(unit.parameters[skipped : unit.positional])
    if name == unit.kwarg:
        return [one.value for one in call.keywords if one.arg is None or one.arg not in unit.parameters]
    if name == unit.vararg:
        return [*call.args[len(positional) :]]
    found = [one.value for one in call.keywords if one.arg == name]
    if not found and name in positional:
        at = positional.index(name)
        if at < len(call.args) and not any(isinstance(one, ast.Starred) for one in call.args[: at + 1]):
            found = [call.args[at]]
    return found


def _through_class(call: ast.Call, unit: Unit) -> bool:
    """``Base.method(self, x)`` passes the instance itself."""
    func = call.func
    return (
        isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)
        and unit.owner is not None and func.value.id == unit.owner.name and bool(call.args)
        and isinstance(call.args[0], ast.Name) and call.args[0].id == "self"
    )  # fmt: skip
