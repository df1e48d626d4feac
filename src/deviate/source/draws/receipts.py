"""Examples that the training receives, made anew each time, from a function, a lambda or a generator of the project.

Whether such a function makes examples or noise, its own name need not tell. The name under which the training receives
the value does, if the value is made out of nothing: a function that is given examples changes them.
"""

from __future__ import annotations

import ast
import re

from deviate.source.draws import handling
from deviate.source.draws.find import Drawn
from deviate.source.draws.uses import DestinationFinder, Walk
from deviate.source.index import Binding, Scope, lookup
from deviate.source.syntax import called_name

#: Names of what a step learns from.
_EXAMPLES = re.compile(
    r"(^|_)([xXyY]s?|data|inputs?|targets?|labels?|images?|examples|src|tgt|tokens|sequences?|batch|real\w*)\d*(_|$)"
)
#: Names of what only looks like examples: what a generator is given or makes, and what yields examples.
_UNLIKE = re.compile(
    r"(^|_)(g|gen\w*|noise\w*|noisy|fakes?|z|latents?|samples?|neg\w*|init|iter\w*|\w*loader|sampler|fn|func)\d*(_|$)"
)
#: Names of numbers about examples.
_ABOUT = re.compile(r"(size|dim|len|length|num|count|shape|range|rate|mean|std\w*)s?$", re.IGNORECASE)


def received_as(finder: DestinationFinder, drawn: Drawn) -> str:
    """Return the name under which the training, and nothing before it, receives what a function draws anew."""
    if drawn.call.endswith("_like") or (
        drawn.site.scope.lambda_around is None and not _serves_only_steps(finder, drawn)
    ):
        return ""
    walk = _Walk(finder, drawn)
    walk.run(drawn)
    return "" if walk.is_refuted else walk.name


def _serves_only_steps(finder: DestinationFinder, drawn: Drawn) -> bool:
    """Whether a function makes something out of nothing, and not before the training: a generator runs later."""
    sites = finder.flow.program.callers(finder.flow, drawn.unit)
    is_early = not drawn.unit.yields and any(finder.moments.moment(site) == "before" for site in sites)
    return not is_early and not any(is_given_examples(site.node) for site in sites)


class _Walk(Walk):
    """Follows a value out of the code that draws it."""

    def __init__(self, finder: DestinationFinder, drawn: Drawn) -> None:
        super().__init__(finder)
        self.drawn = drawn
        self.name = ""
        #: Whether code that does not train receives examples, too, or the function is given some.
        self.is_refuted = False

    def _called(self, call: ast.Call, scope: Scope) -> None:
        self.is_refuted |= is_given_examples(call)
        super()._called(call, scope)

    def _assigned(self, target: ast.expr, scope: Scope) -> None:
        has_left = self.drawn.site.scope.lambda_around is not None or scope.unit is not self.drawn.unit
        named = [store for store in handling.stores(target) if isinstance(store, ast.Name) and _is_example(store.id)]
        if self.state.is_function or not has_left or not named:
            super()._assigned(target, scope)
            return
        for name in named:
            _, bindings = lookup(name.id, scope) or (scope, [])
            if any(self._is_step(each) for each in bindings if each.line == name.lineno):
                self.name = self.name or name.id
            else:
                self.is_refuted = True

    def _is_step(self, binding: Binding) -> bool:
        """Whether code that learns receives a value anew in each iteration."""
        unit = binding.scope.unit
        steps = self.moments.leads_to_loop(unit) or any(
            called_name(site.node) in handling.STEPPING for site in unit.calls
        )
        return steps and self.moments.is_made_anew(binding)


def _is_example(name: str) -> bool:
    return bool(_EXAMPLES.search(name)) and not _UNLIKE.search(name)


def is_given_examples(call: ast.Call) -> bool:
    """Whether a call is given examples, by the names of its arguments."""
    names = [
        part.attr if isinstance(part, ast.Attribute) else part.id
        for argument in (*call.args, *(key.value for key in call.keywords))
        for part in ast.walk(argument)
        if isinstance(part, (ast.Name, ast.Attribute))
    ]
    return any(_EXAMPLES.search(name) for name in names if not _ABOUT.search(name))
