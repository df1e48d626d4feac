"""Options that a program declares: by which words a command gives them, and what they are where it does not."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from deviate.analyse.settings.known import Known, literal
from deviate.analyse.source.index import CallSite, Scope, only_binding
from deviate.analyse.source.syntax import called_name, last_part

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
