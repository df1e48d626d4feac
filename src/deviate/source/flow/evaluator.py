"""The interface of the evaluator that the rules of data flow use."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Protocol

from deviate.source.flow.program import Program
from deviate.source.flow.values import Param, Valuation, Value
from deviate.source.index import Binding, ModuleIndex, Scope, Unit


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
