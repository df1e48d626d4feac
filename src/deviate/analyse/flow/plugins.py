"""Modules that are imported by a computed name: which of them surely run, and which the program may not choose."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from deviate.analyse.flow.program import Program
from deviate.analyse.source.dotted import imported_names
from deviate.analyse.source.index import ModuleIndex, Scope, bindings_of
from deviate.analyse.source.search_path import LIBRARIES
from deviate.analyse.source.syntax import IMPORTERS, called_name


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
