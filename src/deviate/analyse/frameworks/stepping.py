"""What Keras shows of a model with steps of its own: the keys of the mapping that ``train_step`` returns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.objects import called_above
from deviate.analyse.flow.values import External, Instance
from deviate.analyse.source.index import CallSite, ClassScope, Unit
from deviate.analyse.source.syntax import called_name, dotted_text

_MODEL = re.compile(r"\bkeras\.(.*\.)?(Model|Sequential|Functional)$")
_METRIC = re.compile(r"\bkeras\.metrics\.")


def steps_of(flow: Evaluator, site: CallSite) -> dict[str, Unit]:
    """Return by name the steps that the model of a fitting call, an object of a class of the project, has itself."""
    assert isinstance(site.node.func, ast.Attribute)
    refs = flow.resolved(site.node.func.value, site.scope).refs
    classes = next((flow.program.ancestors(flow, ref.cls) for ref in refs if isinstance(ref, Instance)), [])
    if not classes or not any(map(_MODEL.search, flow.program.external_bases(flow, classes[0]))):
        return {}
    return {name: unit for each in reversed(classes) for name, unit in each.methods.items() if name.endswith("_step")}


def shown_names(flow: Evaluator, step: Unit, standard: list[str]) -> list[str]:
    """Name what Keras shows after a step; `standard` are the names that its own step gives."""
    names = list(flow.returned(step).keys)
    if any(called_above(site.node) == step.name for site in step.calls):
        names = [*standard, *names]
    if any(map(_gives_all, (result for result, _ in step.returns))) and step.owner is not None:
        added = [name for each in flow.program.ancestors(flow, step.owner) for name in _held(flow, each)]
        names = [*names, *(added or standard)]
    return list(dict.fromkeys(names)) or standard


def _gives_all(result: ast.expr) -> bool:
    """Whether the metrics of the model are returned: ``{each.name: each.result() for each in self.metrics[:-1]}``."""
    if not isinstance(result, ast.DictComp):
        return False
    given = result.generators[0].iter
    return dotted_text(given.value if isinstance(given, ast.Subscript) else given) == "self.metrics"


def _held(flow: Evaluator, cls: ClassScope) -> Iterator[str]:
    """Yield the names of the metrics of Keras that a model holds."""
    for binding in (each for given in cls.attributes.values() for each in given):
        call = binding.value
        refs = flow.value(call.func, binding.scope).refs if isinstance(call, ast.Call) else ()
        if any(isinstance(ref, External) and _METRIC.search(ref.dotted) for ref in refs):
            yield metric_name(call)


def metric_name(node: ast.expr | None) -> str:
    """Name under which Keras logs a metric."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Call):
        name = next((key.value for key in node.keywords if key.arg == "name"), None)
        if isinstance(name, ast.Constant):
            return str(name.value)
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", called_name(node)).lower()
    return dotted_text(node).rpartition(".")[2] if node is not None else ""
