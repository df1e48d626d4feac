"""Options that a library derives from the fields of a dataclass, or from the parameters of a function."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from deviate.analyse.naming.words import is_settings_name
from deviate.analyse.settings.known import Known, literal
from deviate.analyse.settings.options import Option
from deviate.analyse.source.index import CallSite, ClassScope, Unit
from deviate.analyse.source.syntax import called_name, dotted_text, is_dataclass, text_of

#: Calls that make options of the dataclasses or functions they are given: those of Hugging Face, tyro, simple-parsing,
#: pyrallis, draccus, fire, typer, jsonargparse.
_DERIVING = {"HfArgumentParser", "cli", "CLI", "parse", "add_arguments", "Fire"}
#: Decorators that do so with the function below them.
_WRAPPING = {"wrap", "command", "callback", "main"}
#: A member of an enumeration, as a program names it.
_MEMBER = re.compile(r"[A-Z]\w*[a-z]\w*\.[A-Z][A-Z0-9_]*")
_SIMPLE_TYPES = {"str", "int", "float", "bool"}


def derived_options(
    sites: Iterable[CallSite], classes: Iterable[ClassScope], units: Iterable[Unit]
) -> Iterator[Option]:
    """Yield the options of the dataclasses and functions of a program that become its command line."""
    given = {name for site in sites if _derives(site.node) for name in _names(site.node)}
    commands = [unit for unit in units if is_command(unit, given)]
    for unit in commands:
        yield from _of_function(unit)
    given.update(name for unit in commands for name in _annotated(unit))
    for cls in classes:
        if cls.name in given and is_dataclass(cls.node):
            yield from _of_fields(cls)


def listed_by_classes(classes: Iterable[ClassScope]) -> Iterator[tuple[str, Known]]:
    """Yield the settings that classes list which are called so: ``class Args: mode = "plain"``, or in ``__init__``."""
    for cls in classes:
        if not is_settings_name(cls.name) or any(text_of(base) != "object" for base in cls.bases):
            continue
        own = ((name, binding) for held in (cls.bindings, cls.attributes) for name, bindings in held.items()
               for binding in bindings)  # fmt: skip
        for name, binding in own:
            value = constant_of(binding.value) if binding.kind == "assign" and not binding.path else None
            if value is not None:
                yield name, value


def constant_of(node: ast.expr | None) -> Known | None:
    """Return a constant, or the name of a member of an enumeration: ``Mode.PLAIN``."""
    return Known(dotted_text(node)) if node is not None and is_member(node) else literal(node)


def is_member(node: ast.expr) -> bool:
    """Whether an expression is written like a member of an enumeration."""
    return isinstance(node, ast.Attribute) and _MEMBER.fullmatch(dotted_text(node)) is not None


def _derives(call: ast.Call) -> bool:
    return called_name(call) in _DERIVING or dotted_text(call.func) == "typer.run"


def is_command(unit: Unit, given: set[str] | None = None) -> bool:
    """Whether the parameters of a function are options of the command."""
    decorated = any(
        isinstance(decorator, ast.Call) and called_name(decorator) in _WRAPPING for decorator in unit.decorators
    )
    return unit.owner is None and (decorated or (given is not None and unit.name in given))


def _names(call: ast.Call) -> Iterator[str]:
    values = [*call.args, *(key.value for key in call.keywords)]
    for value in values:
        for part in value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]:
            if isinstance(part, (ast.Name, ast.Attribute)):
                yield part.id if isinstance(part, ast.Name) else part.attr


def _annotated(unit: Unit) -> Iterator[str]:
    """Yield the names of the classes that annotate the parameters of a function."""
    args = getattr(unit.node, "args", None)
    for arg in (*args.args, *args.kwonlyargs) if isinstance(args, ast.arguments) else ():
        if arg.annotation is not None:
            yield text_of(arg.annotation).rpartition(".")[2]


def _of_fields(cls: ClassScope) -> Iterator[Option]:
    for statement in getattr(cls.node, "body", []):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield _option(statement.target.id, statement.annotation, _default(statement.value))


def _of_function(unit: Unit) -> Iterator[Option]:
    """Return the options of a function; click's have decorators of their own."""
    args = getattr(unit.node, "args", None)
    if not isinstance(args, ast.arguments) or any(
        isinstance(decorator, ast.Call) and called_name(decorator) in {"option", "argument"}
        for decorator in unit.decorators
    ):
        return
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        if arg.arg in unit.defaults:
            yield _option(arg.arg, arg.annotation, _default(unit.defaults[arg.arg]))


def _option(name: str, annotation: ast.expr | None, default: Known | None) -> Option:
    kind = text_of(annotation) if annotation is not None else type(default.value).__name__ if default else ""
    flags = (f"--{name}", f"--{name.replace('_', '-')}")
    return Option(name, flags, default, type=kind if kind in _SIMPLE_TYPES else "")


def _default(node: ast.expr | None) -> Known | None:
    """Return what a field is by default: ``3``, ``field(default=3)``, ``typer.Option(3)``."""
    if not isinstance(node, ast.Call):
        return literal(node)
    named = next((key.value for key in node.keywords if key.arg == "default"), None)
    return literal(named if named is not None else node.args[0] if node.args else None)
