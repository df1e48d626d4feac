"""What a reporting call is given: values under tags, mappings, several values in a row."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from deviate.analyse.index import Scope
from deviate.analyse.texts import Part, Shown, tag_of, tagged, take_apart

if TYPE_CHECKING:
    from deviate.analyse.values import Flow


#: Sink and what is shown.
Told = tuple[str, list[Part]]
#: Names of objects that report.
LOGGER = re.compile(r"log|progress|wandb|mlflow|tracker|experiment|neptune|comet|swanlab|aim|accelerator|"
                     r"fabric|^run$|^self$|trainer|"
                     r"writer|recorder|\.run$|clearml|dvclive|^live$", re.IGNORECASE)  # fmt: skip
#: Arguments of reporting calls that are no values.
_IGNORED_KEYS = {"step", "global_step", "epoch", "commit", "file", "end", "flush", "sep", "prog_bar",
    "on_step", "on_epoch",
                 "sync_dist", "logger", "batch_size", "refresh", "ordered_dict", "iteration", "checkpoint",
                 "rank_zero_only"}  # fmt: skip


def spaced(flow: Flow, args: list[ast.expr], scope: Scope) -> list[Part]:
    """Several arguments of one print."""
    parts: list[Part] = []
    for one in args:
        parts.extend([*take_apart(flow, one, scope), " "])
    return parts


def argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    """Find an argument by its position or one of its names."""
    if position < len(call.args):
        found = call.args[position]
        return None if isinstance(found, ast.Starred) else found
    return next((key.value for key in call.keywords if key.arg in names), None)


def with_tag(flow: Flow, tag: ast.expr | None, value: ast.expr, scope: Scope) -> list[Part]:
    """Parts of a value shown under a tag."""
    if tag is None:
        return take_apart(flow, value, scope)
    text, label = tag_of(flow, tag, scope)
    parts = tagged(flow, text or None, value, scope) if text else take_apart(flow, value, scope)
    if label is None:
        return parts
    return [replace(one, label=one.label or label) if isinstance(one, Shown) else one for one in parts]


def mapping_parts(flow: Flow, call: ast.Call, scope: Scope, position: int) -> list[Part]:
    """Parts of the mapping and of the keywords that a call is given."""
    parts: list[Part] = []
    given = argument(call, position, "data", "dictionary", "ordered_dict", "metrics", "scalars", "values")
    if given is not None:
        parts.extend(as_mapping(take_apart(flow, given, scope)))
    for key in call.keywords:
        if key.arg is None or (key.arg not in _IGNORED_KEYS and key.value is not given):
            parts.extend([*tagged(flow, key.arg, key.value, scope), "\n"])
    return parts


def as_mapping(parts: list[Part]) -> list[Part]:
    """Take what is given where a mapping is expected for one, unless it was taken apart."""
    return [replace(one, mapping=True) if isinstance(one, Shown) and not one.tag else one for one in parts]
