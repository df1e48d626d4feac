"""Objects that are records: named tuples and data classes, and what each field of one is given."""

from __future__ import annotations

import ast

from deviate.source.flow.program import Program
from deviate.source.flow.values import Instance, Valuation
from deviate.source.index import ClassScope
from deviate.source.syntax import is_dataclass


def given_fields(program: Program, flow: Valuation, instance: Instance) -> dict[str, ast.expr]:
    """Return the arguments that make a record, by the names of its fields; nothing of any other object."""
    made = instance.made
    if made is None or not _is_record(program, flow, instance.cls):
        return {}
    if any(isinstance(arg, ast.Starred) for arg in made.args):
        return {}
    given = dict(zip(_fields(instance.cls), made.args, strict=False))
    return given | {key.arg: key.value for key in made.keywords if key.arg is not None}


def _is_record(program: Program, flow: Valuation, cls: ClassScope) -> bool:
    if is_dataclass(cls.node):
        return True
    return any(base.endswith("NamedTuple") for base in program.external_bases(flow, cls))


def _fields(cls: ClassScope) -> list[str]:
    statements = cls.node.body if isinstance(cls.node, ast.ClassDef) else []
    declared = (each.target for each in statements if isinstance(each, ast.AnnAssign))
    return [target.id for target in declared if isinstance(target, ast.Name)]
