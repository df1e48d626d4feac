"""All draws of a project, each with its factor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deviate.analyse.callgraph import CallGraph
from deviate.analyse.draws.classify import Classifier
from deviate.analyse.draws.compiled import Compiled
from deviate.analyse.draws.find import Drawn, find_drawn
from deviate.analyse.draws.moments import Moments
from deviate.analyse.phases import Phases
from deviate.analyse.spans import span_of
from deviate.experiment import Draw, MainLoop

if TYPE_CHECKING:
    from deviate.analyse.values import Flow


def find_draws(flow: Flow, graph: CallGraph, phases: Phases | None, main_loop: MainLoop | None) -> list[Draw]:
    """Find the calls of the running code that draw random numbers, and say which factor each is of."""
    found = find_drawn(flow)
    if not found:
        return []
    classifier = Classifier(flow, graph, Moments(graph, phases, has_loop=main_loop is not None))
    compiled = Compiled(flow, graph)
    return [_draw(drawn, classifier, compiled) for drawn in found]


def _draw(drawn: Drawn, classifier: Classifier, compiled: Compiled) -> Draw:
    factor, why = classifier.factor(drawn)
    node, module = drawn.site.node, drawn.unit.module
    span = span_of(node.func, module)
    if drawn.unit in compiled.units:
        span, why = None, f"{why}; a compiler reads the code, so it is left as it is"
    elif factor == "other" and classifier.is_hot(drawn):
        span = None
    return Draw(
        file=module.file,
        line=node.lineno,
        function=drawn.unit.shown_name,
        call=re.sub(r"\s+", " ", drawn.call)[:120],
        factor=factor,
        why=why,
        span=span,
    )
