"""Options that a program declares: the words by which a command gives them, and defaults that are known."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import yaml

from deviate.lexicon.words import is_settings_name
from deviate.source.configurations import load_yaml
from deviate.source.index import CallSite, ClassScope, Scope, Unit, only_binding
from deviate.source.syntax import called_name, dotted_text, is_dataclass, last_part, text_of


@dataclass(frozen=True)
class Known:
    """A value that is known; None itself stands for one that is not."""

    value: object


def literal(node: ast.expr | None) -> Known | None:
    """Return what an expression of constants alone is."""
    if node is None:
        return None
    if isinstance(node, ast.Constant):
        return Known(node.value)
    try:
        return Known(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def agreed(values: list[Known | None]) -> Known | None:
    """Return the value that all of several are; None where one is not known, or they differ."""
    first = values[0] if values else None
    return first if all(value == first for value in values) else None


_SWITCHES = {"store_true": True, "store_false": False}
#: What the arguments of a Hugging Face training switch on.
_PHASES = ("do_train", "do_eval", "do_predict")
_TRUTHS = {"true": True, "yes": True, "t": True, "y": True, "1": True, "on": True}
_FALSEHOODS = {"false": False, "no": False, "f": False, "n": False, "0": False, "off": False}


@dataclass(frozen=True)
class Option:
    """An option of a command."""

    #: Name that the program reads it by.
    name: str
    #: How a command may write it: ``--learning-rate``, ``-l``; its own name where it is given by position.
    flags: tuple[str, ...]
    default: Known | None
    #: Whether its mere presence gives it a value, and which.
    switch: bool | None = None
    #: What a given word is converted to: ``str``, ``int``, ``float`` or ``bool``; empty where that is not known.
    type: str = "str"
    #: Words that it can be, where these are listed.
    choices: tuple[str, ...] = ()

    def given(self, words: list[str]) -> Known | None:
        """Return what words of a command after the option make of it."""
        if self.switch is not None:
            return Known(self.switch)
        if self.type == "bool" and not words:
            return Known(True)
        return _converted(words[0], self.type) if len(words) == 1 else None


def declared_options(sites: Iterable[CallSite]) -> Iterator[Option]:
    """Yield the options that calls declare: to argparse, optparse, absl, TensorFlow, or Hugging Face."""
    for site in sites:
        name = called_name(site.node)
        option = None
        if name == "HfArgumentParser":
            yield from (Option(phase, (f"--{phase}",), Known(False), type="bool") for phase in _PHASES)
            yield Option("eval_strategy", ("--eval_strategy", "--evaluation_strategy"), Known(None))
        if name in {"add_argument", "add_arg", "add_option"} or (name == "add" and _is_flag(site.node)):
            option = _of_parser(site.node, site.scope)
        elif name == "option":
            option = _of_click(site.node)
        elif name.startswith("DEFINE_"):
            option = _of_flags(site.node, name.removeprefix("DEFINE_"))
        if option is not None:
            yield option


def _is_flag(call: ast.Call) -> bool:
    """Whether what is added is an option, as ConfigArgParse adds them, and no item of a set."""
    first = literal(call.args[0]) if call.args else None
    return first is not None and isinstance(first.value, str) and first.value.startswith("-")


def _of_parser(call: ast.Call, scope: Scope) -> Option | None:
    flags = tuple(
        arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str) and arg.value
    )
    if not flags or len(flags) != len(call.args):
        return None
    keywords = {key.arg: key.value for key in call.keywords if key.arg is not None}
    is_open = len(keywords) != len(call.keywords)
    named = literal(keywords.get("dest"))
    long = next((flag for flag in flags if flag.startswith("--")), flags[0])
    name = str(named.value) if named is not None else long.lstrip("-").replace("-", "_")
    action = literal(keywords.get("action"))
    switch = _SWITCHES.get(str(action.value)) if action is not None else None
    kind = "" if "nargs" in keywords or ("action" in keywords and switch is None) else _type_of(keywords.get("type"))
    default = None if is_open else _default(keywords, switch, kind, is_positional=not flags[0].startswith("-"))
    return Option(name, flags, default, switch, kind, _listed(keywords.get("choices"), scope))


def _listed(node: ast.expr | None, scope: Scope) -> tuple[str, ...]:
    """Return the texts of a list or tuple, or of one that a name is bound to; of a mapping, its keys."""
    binding = only_binding(node.id, scope) if isinstance(node, ast.Name) else None
    node = binding.value if binding is not None else node
    parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    return tuple(part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def _default(keywords: dict[str, ast.expr], switch: bool | None, kind: str, is_positional: bool) -> Known | None:
    if "default" in keywords:
        default = literal(keywords["default"])
        is_read = default is not None and isinstance(default.value, str) and kind not in {"str", ""}
        return _converted(str(default.value), kind) if is_read and default is not None else default
    if switch is not None:
        return Known(not switch)
    required = literal(keywords.get("required"))
    return None if is_positional or (required is not None and required.value) else Known(None)


def _type_of(node: ast.expr | None) -> str:
    if node is None:
        return "str"
    if isinstance(node, ast.Constant):  # as optparse takes it
        return {"string": "str", "choice": "str", "int": "int", "float": "float"}.get(str(node.value), "")
    name = last_part(node)
    if name in {"str", "int", "float"}:
        return name
    return "bool" if "bool" in name and name != "bool" else ""


def _of_click(call: ast.Call) -> Option | None:
    """``@click.option("--probe/--no-probe", default=False)``."""
    flags = tuple(arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))
    long = next((flag for flag in flags if flag.startswith("--")), "")
    if not long or len(flags) != len(call.args):
        return None
    keywords = {key.arg: key.value for key in call.keywords}
    plain = next((flag for flag in flags if not flag.startswith("-")), long.partition("/")[0].lstrip("-"))
    is_flag = "/" in long or (known.value is True if (known := literal(keywords.get("is_flag"))) else False)
    default = literal(keywords.get("default")) if "default" in keywords else Known(False if is_flag else None)
    kind = "bool" if is_flag else _type_of(keywords.get("type")) if "type" in keywords else _type_like(default)
    parts = tuple(part for flag in flags for part in flag.split("/")[:1])
    return Option(plain.replace("-", "_"), parts, default, type=kind)


def _type_like(default: Known | None) -> str:
    name = type(default.value).__name__ if default is not None else ""
    return name if name in {"int", "float"} else "str"


def _of_flags(call: ast.Call, kind: str) -> Option | None:
    name = literal(call.args[0]) if call.args else None
    if name is None or not isinstance(name.value, str):
        return None
    keyword = next((key.value for key in call.keywords if key.arg == "default"), None)
    default = literal(call.args[1] if len(call.args) > 1 else keyword)
    types = {"string": "str", "enum": "str", "integer": "int", "float": "float", "bool": "bool", "boolean": "bool",
             "config_file": "str"}  # fmt: skip
    flags = (f"--{name.value}", f"-{name.value}")
    return Option(name.value, flags, default, type=types.get(kind, ""))


def _converted(word: str, kind: str) -> Known | None:
    if kind == "str":
        return Known(word)
    if kind == "bool":
        truth = (_TRUTHS | _FALSEHOODS).get(word.lower())
        return Known(truth) if truth is not None else None
    try:
        return Known(int(word)) if kind == "int" else Known(float(word)) if kind == "float" else None
    except ValueError:
        return None


# Options that a library derives from the fields of a dataclass, or from the parameters of a function.

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
            yield _option(statement.target.id, statement.annotation, _field_default(statement.value))


def _of_function(unit: Unit) -> Iterator[Option]:
    args = getattr(unit.node, "args", None)
    if not isinstance(args, ast.arguments) or any(
        isinstance(decorator, ast.Call) and called_name(decorator) in {"option", "argument"}
        for decorator in unit.decorators
    ):
        return
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        if arg.arg in unit.defaults:
            yield _option(arg.arg, arg.annotation, _field_default(unit.defaults[arg.arg]))


def _option(name: str, annotation: ast.expr | None, default: Known | None) -> Option:
    kind = text_of(annotation) if annotation is not None else type(default.value).__name__ if default else ""
    flags = (f"--{name}", f"--{name.replace('_', '-')}")
    return Option(name, flags, default, type=kind if kind in _SIMPLE_TYPES else "")


def _field_default(node: ast.expr | None) -> Known | None:
    """Return what a field is by default: ``3``, ``field(default=3)``, ``typer.Option(3)``."""
    if not isinstance(node, ast.Call):
        return literal(node)
    named = next((key.value for key in node.keywords if key.arg == "default"), None)
    return literal(named if named is not None else node.args[0] if node.args else None)


# Settings that stand in configuration files: YAML, JSON, or Python that assigns them.

#: Larger files hold data.
MAX_BYTES = 1_000_000
#: As many settings are read: mappings of YAML that hold one another by aliases have any number, in few bytes.
MAX_ENTRIES = 100_000
SUFFIXES = {".yaml", ".yml", ".json", ".py"}

#: Values by the keys that lead to them.
Listed = dict[tuple[str, ...], Known]


def read_settings(path: Path) -> Listed:
    """Return the settings of a file; none where it cannot be read as one."""
    try:
        # A pipe would be waited for, and a device has no end.
        if not os.path.isfile(path) or path.stat().st_size > MAX_BYTES:
            return {}
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            return _assigned(ast.parse(text))
        loaded = json.loads(text) if path.suffix == ".json" else load_yaml(text)
        return dict(_flat(loaded, (), count()))
    except (OSError, ValueError, SyntaxError, RecursionError, yaml.YAMLError):
        return {}


def _flat(value: object, keys: tuple[str, ...], entries: Iterator[int]) -> Iterator[tuple[tuple[str, ...], Known]]:
    if next(entries) > MAX_ENTRIES:
        raise ValueError(f"more than {MAX_ENTRIES:,} settings")
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, (*keys, str(key)), entries)
    elif keys:
        yield keys, Known(value)


def _assigned(tree: ast.Module) -> Listed:
    """Read ``config.model.name = "small"`` and ``name = "small"``; what is assigned twice is not known."""
    listed: Listed = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        parts = tuple(dotted_text(node.targets[0]).split("."))
        keys, value = parts[1:] or parts, literal(node.value)
        if value is not None and keys != ("",) and keys not in listed:
            listed[keys] = value
        else:
            listed.pop(keys, None)
    return listed


# Settings that Hydra composes of several files, by the list of ``defaults`` in each.

#: Files that compose files that compose files are followed this far.
MAX_DEPTH = 4
#: A value that is another setting's.
_REFERENCE = re.compile(r"\$\{([\w.]+)\}")
#: What a file that is chosen of a group is merged into the whole for, and not below the group's name.
_GLOBAL = re.compile(r"^#\s*@package\s+_global_", re.MULTILINE)


def composed_settings(root: Path, assigned: Mapping[str, str]) -> Listed:
    """Return the settings that Hydra composes, starting from the file `root`.

    `assigned` is what a command assigns: of a group of files, the choice. A setting that two of the files give
    different values is left out: which of them wins differs from version to version.
    """
    own = {keys: value.value for keys, value in read_settings(root).items() if isinstance(value.value, str)}
    words = {**{".".join(keys): str(value) for keys, value in own.items()}, **assigned}
    listed: Listed = {}
    differing: set[tuple[str, ...]] = set()
    for group, path in _composing(root, words, 0):
        for keys, value in read_settings(path).items():
            if keys[0] != "defaults" and value.value != "???" and listed.setdefault((*group, *keys), value) != value:
                differing.add((*group, *keys))
    return {keys: _resolved(value, listed) for keys, value in listed.items() if keys not in differing}


def _composing(path: Path, words: Mapping[str, str], depth: int) -> Iterator[tuple[tuple[str, ...], Path]]:
    """Yield the files that a file composes, itself first, each with the keys below which its settings are merged."""
    yield (), path
    defaults = read_settings(path).get(("defaults",), Known(None)).value
    for item in defaults if isinstance(defaults, list) and depth < MAX_DEPTH else ():
        for group, name, package in _chosen(item, words):
            found = path.parent / group / f"{name.removesuffix(path.suffix)}{path.suffix}"
            if not os.path.isfile(found):
                continue
            above = (
                () if _is_global(found) or package == "_global_" else tuple((package or group.strip("/")).split("/"))
            )
            for below, each in _composing(found, words, depth + 1):
                yield tuple(key for key in (*above, *below) if key), each


def _chosen(item: object, words: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield group, name and package of the files that an item of a list of defaults asks for."""
    if isinstance(item, str) and item != "_self_":
        yield "", _filled(item, words), ""
    for key, choice in item.items() if isinstance(item, dict) else ():
        group, _, package = str(key).removeprefix("optional ").partition("@")
        if not group.startswith("override ") and isinstance(choice, str):
            yield group, words.get(group, _filled(choice, words)), package


def _filled(text: str, words: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda found: words.get(found[1], found[0]), text)


def _is_global(path: Path) -> bool:
    return os.path.isfile(path) and _GLOBAL.search(path.read_text(encoding="utf-8", errors="replace")) is not None


def _resolved(value: Known, listed: Listed) -> Known:
    """Return the setting that a value refers to as a whole (``${model.name}``), any other value as it is."""
    found = _REFERENCE.fullmatch(value.value) if isinstance(value.value, str) else None
    return listed.get(tuple(found[1].split(".")), value) if found is not None else value
