"""The project as a whole: names across files, class families, who calls what; and the evaluator's interface."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from deviate.lexicon.words import TRAIN, word_lists
from deviate.source.configurations import root_configuration, unchosen_targets
from deviate.source.files import console_scripts
from deviate.source.flow.values import NOTHING, External, Instance, Param, Ref, Valuation, Value
from deviate.source.imports import Imports
from deviate.source.index import (
    Binding,
    CallSite,
    ClassScope,
    ModuleIndex,
    Nesting,
    Scope,
    Unit,
    bindings_of,
    under_main_guard,
)
from deviate.source.settings.constants import Constants
from deviate.source.settings.lookup import Arguments, Settings, documented_arguments
from deviate.source.syntax import called_name, last_part, passed_for

#: A method name that more classes define tells nothing about an unknown receiver.
MAX_SAME_NAMED = 3
#: What a receiver shares with the name of its class has so many letters at least; so many classes share it at most.
MIN_LIKENESS = 4
MAX_LIKE_NAMED = 8
#: Methods that so many things have that a shared name means nothing.
COMMON_METHODS = word_lists("program")["common methods"]


class CallsByName:
    """All calls by one name, by the functions they reach: each is looked at once, however many share the name."""

    def __init__(self, sites: list[CallSite]) -> None:
        self.order = {site: position for position, site in enumerate(sites)}
        self.reaching: dict[Unit, list[CallSite]] = {}
        #: Reach nothing that is known.
        self.open: list[CallSite] = []
        self._waiting = list(sites)
        #: Calls whose targets are being evaluated: that may ask for the callers of a function again.
        self._asked = 0

    @property
    def is_sorted_out(self) -> bool:
        """Whether no call is left to look at, nor being looked at."""
        return not self._waiting and not self._asked

    def sort_out(self, targets: Callable[[CallSite], list[Unit] | None]) -> None:
        """Look at the calls not looked at yet; again later at those whose targets are not known yet (None)."""
        later: list[CallSite] = []
        while self._waiting:
            site = self._waiting.pop()
            self._asked += 1
            units = targets(site)
            self._asked -= 1
            if units is None:
                later.append(site)
            elif not units:
                self.open.append(site)
            for unit in dict.fromkeys(units or ()):
                self.reaching.setdefault(unit, []).append(site)
        self._waiting = later


def _installed(root: Path, entry: Path, module: ModuleIndex | None) -> list[str]:
    """Return the functions of an entry that the project installs as programs: of several, those called a training.

    An entry that calls its functions itself is started as a script.
    """
    if module is None:
        return []
    called = {site.node.func.id for site in module.unit.calls if isinstance(site.node.func, ast.Name)}
    if any(binding.kind == "def" for name in called for binding in module.unit.bindings.get(name, ())):
        return []
    scripts = [each for each in console_scripts(root) if each.file == entry.resolve()]
    training = [each.function for each in scripts if re.search(TRAIN, f"{each.name} {each.function}")]
    return training or [each.function for each in scripts]


class Program:
    """All modules that the entry reaches.

    Where `is_wide`, those, too, that are taken to be reached though no import leads to them: it is assumed that what
    trains in the files that are read runs.
    """

    def __init__(
        self,
        root: Path,
        entry: Path,
        folders: Sequence[Path] = (),
        arguments: Sequence[str] | None = None,
        *,
        function: str = "",
        is_wide: bool = False,
    ) -> None:
        known = documented_arguments(root, entry) if arguments is None else Arguments(arguments)
        self.imports = Imports(root, entry, folders, frozenset(known.values), is_wide=is_wide)
        self.entry = self.imports.load_all(entry)
        self.modules: list[ModuleIndex] = list(self.imports.loaded())
        #: Whether the entry is imported for a function of its own, and not run as a script.
        self.is_imported = bool(function)
        #: Functions of the entry that are started, where its own code starts none.
        self.started = [function] if function else _installed(root, entry, self.entry)
        settings = Settings(self.modules, self.entry, root, known, is_usual=arguments is None)
        #: What of several things is chosen: an option that is not known to be given has its default.
        self.choices = Constants(self.modules, settings, self.resolve_dotted)
        #: Which branches are taken. Without a command, options only choose between alternatives.
        self.constants = self.choices
        if arguments is None:
            plain = Constants(self.modules, None, self.resolve_dotted)
            self.constants = Constants(self.modules, settings, self.resolve_dotted, plain)
        #: What configuration files ask for that are not chosen.
        root_name = root_configuration(self.entry, known.options | known.first)
        self.unchosen = unchosen_targets(self.imports.configurations, known.assigned, root_name)
        #: Whether settings decide which branches run.
        self.is_decided = True
        #: Modules that are assumed to run whole.
        self.assumed: list[ModuleIndex] = []
        self.calls: dict[str, list[CallSite]] = {}
        self.reached: set[Unit] = set()
        self.aliases = self._import_aliases()
        self.classes = [cls for module in self.modules for cls in module.classes]
        self.methods: dict[str, list[Unit]] = {}
        self.attributes: dict[str, list[ClassScope]] = {}
        for cls in self.classes:
            for name, unit in cls.methods.items():
                self.methods.setdefault(name, []).append(unit)
            for name in cls.attributes:
                self.attributes.setdefault(name, []).append(cls)
        self._bases: dict[ClassScope, list[Ref]] = {}
        self._subclasses: dict[ClassScope, list[ClassScope]] | None = None
        self._callers: dict[Unit, list[CallSite]] = {}
        #: Names of parameters by which a function is called that was passed for them.
        self._passed_as: dict[Unit, set[str]] = {}
        self._named: dict[str, CallsByName] = {}
        #: So many names are being sorted out, each because another one needs its callers.
        self._sorting = 0
        #: Names of all functions and classes of the project.
        self.defined = {scope.name for module in self.modules for scope in (*module.units, *module.classes)}

    def _import_aliases(self) -> dict[str, set[str]]:
        aliases: dict[str, set[str]] = {}
        for module in self.modules:
            for node, _, _ in module.imports:
                for alias in node.names:
                    if alias.asname and alias.asname != alias.name:
                        aliases.setdefault(alias.name.rpartition(".")[2], set()).add(alias.asname)
        return aliases

    def set_reached(self, units: set[Unit]) -> None:
        """Set the functions that run; only their calls count."""
        self.reached = units
        self.calls, self._named, self._callers = {}, {}, {}
        self._passed_as = {}
        for unit in self.running_units():
            for site in unit.calls:
                self.calls.setdefault(called_name(site.node), []).append(site)

    def may_run(self, unit: Unit, nesting: Nesting | None) -> bool:
        """Whether code of a running function may run: under no ``__main__`` test, and in no branch settings exclude."""
        if (unit.module is not self.entry or self.is_imported) and under_main_guard(nesting):
            return False
        return not self.is_decided or not self.constants.is_dead(nesting, unit)

    def live_results(self, unit: Unit, results: list[tuple[ast.expr, Scope]]) -> list[tuple[ast.expr, Scope]]:
        """Leave out what a function returns in branches that settings exclude; all of it where nothing else is left."""
        if len(results) < 2 or not unit.results_within:
            return results
        return [each for each in results if self.may_run(unit, unit.results_within.get(each[0]))] or results

    def running_units(self) -> list[Unit]:
        """List the functions that run, in the order of files and lines."""
        return [unit for module in self.modules for unit in module.units if unit in self.reached]

    def resolve_dotted(self, dotted: str, importer: ModuleIndex) -> Ref | tuple[ModuleIndex, str]:
        """Find what an imported dotted name is: a module, a name in a module, or something outside."""
        module = self.imports.find(dotted, importer)
        base, _, name = dotted.rpartition(".")
        if dotted.startswith(".") and not base.strip("."):
            base = dotted[: len(dotted) - len(dotted.lstrip("."))]
            name = dotted.lstrip(".")
        package = self.imports.find(base, importer) if base else None
        if module is not None:
            is_other = package is not None and (_binds(package, name) or self._star_binds(package, name))
            return (package, name) if package is not None and is_other else module
        return (package, name) if package is not None else External(dotted.lstrip("."))

    def _star_binds(self, package: ModuleIndex, name: str) -> bool:
        """Whether a package has a class by the name of its module: ``from .Trainer import *``."""
        starred = (self.imports.find(star, package) for star in package.stars)
        bindings = (each for module in starred if module is not None for each in module.unit.bindings.get(name, ()))
        return any(binding.kind in {"def", "class"} for binding in bindings)

    # Classes.

    def bases(self, flow: Valuation, cls: ClassScope) -> list[Ref]:
        """Resolve the base classes."""
        if cls not in self._bases:
            self._bases[cls] = []
            assert cls.parent is not None
            self._bases[cls] = [ref for base in cls.bases for ref in flow.value(base, cls.parent).refs]
        return self._bases[cls]

    def ancestors(self, flow: Valuation, cls: ClassScope) -> list[ClassScope]:
        """Return the class and its bases within the project, nearest first."""
        classes, known = [cls], {cls}
        for ancestor in classes:
            for ref in self.bases(flow, ancestor):
                if isinstance(ref, ClassScope) and ref not in known:
                    known.add(ref)
                    classes.append(ref)
        return classes

    def external_bases(self, flow: Valuation, cls: ClassScope) -> list[str]:
        """Return the dotted names of the base classes outside the project."""
        return [
            ref.dotted
            for base in self.ancestors(flow, cls)
            for ref in self.bases(flow, base)
            if isinstance(ref, External) and ref.dotted != "builtins.object"
        ]

    def family(self, flow: Valuation, cls: ClassScope) -> list[ClassScope]:
        """Return the class, its bases, then its subclasses."""
        if self._subclasses is None:
            self._subclasses = {}
            for descendant in self.classes:
                for base in self.ancestors(flow, descendant)[1:]:
                    self._subclasses.setdefault(base, []).append(descendant)
        return [*self.ancestors(flow, cls), *self._subclasses.get(cls, [])]

    def method(self, flow: Valuation, cls: ClassScope, name: str) -> list[Unit]:
        """Find the methods a call on an instance may reach."""
        return [relative.methods[name] for relative in self.family(flow, cls) if name in relative.methods][:4]

    # Calls.

    def callers(self, flow: Valuation, unit: Unit) -> list[CallSite]:
        """Find the calls that reach a function, by name first and by data flow where it can tell."""
        if unit in self._callers:
            return self._callers[unit]
        # What is called without a name may be taken from a table: ``MAKERS[kind](model)``.
        names = {unit.name, ""} | self.aliases.get(unit.name, set()) | self._passed_as.get(unit, set())
        if unit.owner is not None and unit.name in {"__init__", "__post_init__"}:
            for cls in self.family(flow, unit.owner):
                names |= {cls.name} | self.aliases.get(cls.name, set())
        sites = [site for name in sorted(names) for site in self._calling(flow, name, unit)]
        if all(self._named[name].is_sorted_out for name in names):
            self._callers[unit] = sites
        return sites

    def find_passed(self, flow: Valuation) -> None:
        """Find other names that functions are called by: ``fit(report)`` calls ``report`` as ``callback``."""
        for name, sites in self.calls.items():
            for site in sites:
                # By the name of a function of the project, only what is opened is called: ``with dump() as log``.
                if _is_given(site) if name not in self.defined else _is_opened(site):
                    for unit in self.targets(flow, site):
                        self._passed_as.setdefault(unit, set()).add(name)
        if self._passed_as:
            self._callers, self._named = {}, {}

    def _calling(self, flow: Valuation, name: str, unit: Unit) -> list[CallSite]:
        """Find the calls by a name that reach a function."""
        if name not in self._named:
            self._named[name] = CallsByName(self.calls.get(name, []))
        calls = self._named[name]
        self._sorting += 1
        calls.sort_out(lambda site: self._sure_targets(flow, site))
        self._sorting -= 1
        sites = calls.reaching.get(unit, [])
        by_name = unit.owner is not None and unit.name not in COMMON_METHODS
        if by_name and len(self.methods.get(unit.name, [])) <= MAX_SAME_NAMED:
            sites = [*sites, *(site for site in calls.open if self._may_be_method(flow, site))]
        return sorted(sites, key=lambda site: calls.order[site])

    def _sure_targets(self, flow: Valuation, site: CallSite) -> list[Unit] | None:
        """Targets of a call; None where what is called, or who passes the object it is called on, is not known yet."""
        units = self.targets(flow, site)
        if units:
            return units
        func = site.node.func
        receiver = flow.value(func.value, site.scope) if isinstance(func, ast.Attribute) else NOTHING
        is_passed = self._sorting > 1 and receiver.params()
        return None if is_passed or flow.value(func, site.scope) is NOTHING else []

    def _may_be_method(self, flow: Valuation, site: CallSite) -> bool:
        func = site.node.func
        return isinstance(func, ast.Attribute) and not flow.value(func.value, site.scope).refs

    def targets(self, flow: Valuation, site: CallSite) -> list[Unit]:
        """Find the functions of the project that a call may run."""
        units: list[Unit] = []
        func = flow.value(site.node.func, site.scope)
        refs = func.refs
        if not refs and func.params() and isinstance(site.node.func, ast.Name):
            refs = flow.resolved(site.node.func, site.scope).refs
        for ref in refs:
            if isinstance(ref, Unit):
                units.append(ref)
            elif isinstance(ref, ClassScope):
                # Of a data class Python writes the constructor, which calls the other one.
                made = self.method(flow, ref, "__init__") or self.method(flow, ref, "__post_init__")
                units.extend(made[:1])
            elif isinstance(ref, Instance):
                units.extend(self.method(flow, ref.cls, "__call__"))
        return units

    def called_like(self, call: ast.Call, scope: Scope | None = None) -> list[Unit]:
        """Find the methods that a call may run whose receiver is called like their class: ``trainer.train()``.

        In a `scope`, one that a loop takes from several is called like these: ``for c in clients``.
        """
        func = call.func
        word = _last_word(func.value) if isinstance(func, ast.Attribute) else ""
        if len(word) < MIN_LIKENESS and isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and scope:
            bindings = bindings_of(func.value.id, scope)
            several = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "for" else None
            word = _last_word(several) if several is not None and not bindings[0].path else ""
        if len(word) < MIN_LIKENESS or not isinstance(func, ast.Attribute):
            return []
        named = self.methods.get(func.attr, [])
        units = [each for each in named if each.owner and word in each.owner.name.lower() and each in self.reached]
        return units if len(units) <= MAX_LIKE_NAMED else []

    def arguments(self, flow: Valuation, param: Param) -> list[tuple[ast.expr, Scope]]:
        """Return every expression that callers pass for a parameter."""
        return [
            (expr, scope)
            for site in self.callers(flow, param.unit)
            for expr, scope in self._passed(flow, site, param.unit, param.name)
        ]

    def _passed(self, flow: Valuation, site: CallSite, unit: Unit, name: str) -> list[tuple[ast.expr, Scope]]:
        """Return what a call gives for a parameter: ``super().__init__(**kwargs)`` hands on what its callers give."""
        given = [(expr, site.scope) for expr in passed_for(site.node, unit, name)]
        caller = site.scope.unit
        spread = [key.value for key in site.node.keywords if key.arg is None]
        is_handed_on = any(isinstance(each, ast.Name) and each.id == caller.kwarg for each in spread)
        if given or not is_handed_on or name in caller.parameters or caller is unit:
            return given
        calls = self.callers(flow, caller)
        return [(key.value, call.scope) for call in calls for key in call.node.keywords if key.arg == name]


def _binds(package: ModuleIndex, name: str) -> bool:
    """Whether a package has something else by the name of one of its modules: ``from .Trainer import Trainer``."""
    own = {f".{name}", f"{package.dotted}.{name}"}
    bindings = package.unit.bindings.get(name, ())
    return any(binding.kind in {"def", "class", "import"} and binding.key not in own for binding in bindings)


def _last_word(node: ast.expr) -> str:
    """Last word of a receiver's name, without an ending: ``self.rl_agents[0]`` is an agent."""
    while isinstance(node, ast.Subscript):
        node = node.value
    name = last_part(node)
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
    return words[-1].lower().removesuffix("s") if words else ""


def _is_opened(site: CallSite) -> bool:
    func = site.node.func
    return isinstance(func, ast.Name) and any(each.kind == "with" for each in bindings_of(func.id, site.scope))


def _is_given(site: CallSite) -> bool:
    """Whether what is called is a parameter, a name or an attribute of the object that was given a function."""
    func = site.node.func
    if isinstance(func, ast.Name):
        kinds = {binding.kind for binding in bindings_of(func.id, site.scope)}
        return not kinds.isdisjoint({"param", "assign", "for", "with"})
    owner = site.scope.unit.enclosing_class
    if owner is None or not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
        return False
    return func.value.id == "self" and func.attr in owner.attributes


class Evaluator(Valuation, Protocol):
    """Evaluates expressions to abstract values, each once."""

    program: Program
    #: Answers of `parameters.forwarded_param`.
    forwarded: dict[ast.AST, Param | None]
    #: Functions and names that `texts.parts.take_apart` is following.
    followed: set[tuple[int, str]]

    def once(self, key: object, compute: Callable[[], Value]) -> Value:
        """Evaluate something and remember it."""

    def resolved(self, node: ast.expr, scope: Scope) -> Value:
        """Evaluate an expression with its parameters replaced by what callers pass."""

    def resolve(self, value: Value) -> Value:
        """Replace the parameters in a value by what callers pass."""

    def param(self, param: Param) -> Value:
        """Join what callers pass for a parameter."""

    def default_value(self, default: ast.expr, unit: Unit) -> Value:
        """Evaluate a parameter that is not passed."""

    def value_of_name(self, name: str, module: ModuleIndex) -> Value:
        """Evaluate a module's global."""

    def binding(self, binding: Binding) -> Value:
        """Evaluate one binding."""

    def with_computed_keys(self, value: Value, bindings: list[Binding]) -> Value:
        """Add what is stored under computed keys to items that have no more than a first value."""

    def returned(self, unit: Unit) -> Value:
        """Join what a function returns or yields, its parameters symbolic."""
