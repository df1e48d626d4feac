"""Reports that are texts: prints, log messages, progress bars."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from deviate.analyse.abstract import External
from deviate.analyse.index import Scope
from deviate.analyse.sinks.parts import LOGGER, Told, spaced
from deviate.analyse.texts import Part, take_apart

if TYPE_CHECKING:
    from deviate.analyse.values import Flow


_LEVELS = {"debug", "info", "warning", "warn", "error", "critical", "exception", "success", "fatal", "notice"}
_PRINTS = {"print", "echo", "secho", "pprint", "master_print", "print_rank_0", "print_once", "print_on_master",
           "rprint"}  # fmt: skip
_BAR_TEXTS = {"set_description", "set_description_str", "set_postfix_str"}


def text_sink(flow: Flow, call: ast.Call, scope: Scope, name: str, said: str) -> Told | None:
    """Recognise a print, a log message or the text of a progress bar."""
    if name in _PRINTS and not (
        name == "print" and said and not re.search(r"console|accel|rich|fabric|self|tqdm|xm|dist", said)
    ):
        return "print", spaced(flow, call.args, scope)
    if name in _BAR_TEXTS:
        return "tqdm", spaced(flow, call.args[:1], scope)
    if name in _LEVELS and (LOGGER.search(said) or _is_logger(flow, call, scope)):
        return "logging", logged(flow, call.args, scope)
    if name == "write" and said.endswith(("stdout", "stderr")):
        return "print", spaced(flow, call.args[:1], scope)
    if name == "write" and ("tqdm" in said or "bar" in said):
        return "tqdm", spaced(flow, call.args[:1], scope)
    return None


def _is_logger(flow: Flow, call: ast.Call, scope: Scope) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    refs = flow.value(call.func.value, scope).refs
    return any(isinstance(ref, External) and "log" in ref.dotted.lower() for ref in refs)


def logged(flow: Flow, args: list[ast.expr], scope: Scope) -> list[Part]:
    """``info(message, *values)``: the message is formatted by ``%`` with the values."""
    if not args:
        return []
    if len(args) == 1:
        return take_apart(flow, args[0], scope)
    return take_apart(flow, _percent_of(args), scope)


def _percent_of(args: list[ast.expr]) -> ast.expr:
    right = args[1] if len(args) == 2 and isinstance(args[1], ast.Dict) else ast.Tuple(list(args[1:]), ast.Load())
    return ast.copy_location(ast.BinOp(args[0], ast.Mod(), ast.copy_location(right, args[1])), args[0])
