"""Functions and classes that a library starts, or that a decorator keeps for later, though nothing calls them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from deviate.analyse.flow.program import Program
from deviate.analyse.flow.tables import REGISTERING
from deviate.analyse.flow.values import Instance, Valuation
from deviate.analyse.settings.alternatives import BESIDE
from deviate.analyse.source.index import CallSite, ClassScope, Unit, bindings_of
from deviate.analyse.source.syntax import called_name, dotted_text, leading_text


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
    """Whether a decorator is the project's own."""
    assert cls.parent is not None
    for binding in bindings_of(dotted.partition(".")[0], cls.parent):
        if binding.kind != "import":
            return binding.kind in {"def", "class", "assign"}
        resolved = program.resolve_dotted(binding.key, cls.module)
        return isinstance(resolved, tuple) or hasattr(resolved, "unit")
    return False
