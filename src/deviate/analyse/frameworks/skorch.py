"""What skorch shows of each epoch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.values import External, Instance
from deviate.analyse.source.index import CallSite, bindings_of
from deviate.analyse.source.syntax import called_name

_CLASSIFIERS = {"NeuralNetClassifier", "NeuralNetBinaryClassifier"}
_NETS = {"NeuralNet", "NeuralNetRegressor", *_CLASSIFIERS}


def shown_epochs(flow: Evaluator, site: CallSite) -> Iterator[str]:
    """Yield the heads of the table that a call of ``fit`` or ``partial_fit`` shows, but for the epoch's number."""
    if not isinstance(site.node.func, ast.Attribute):
        return
    nets = _nets(flow, site.node.func.value, site)
    if not nets:
        return
    given = {key.arg: key.value for call in _made(site.node.func.value, nets, site) for key in call.keywords}
    if _is_nothing(given.get("verbose")):
        return
    yield "train_loss"
    if "train_split" not in given or not _is_nothing(given["train_split"]):
        yield "valid_loss"
        yield from ["valid_acc"] * bool(nets & _CLASSIFIERS)
    yield from _scored(flow)
    yield "dur"


def _nets(flow: Evaluator, net: ast.expr, site: CallSite) -> set[str]:
    """Return what an object is of skorch, or derives from."""
    refs = flow.resolved(net, site.scope).refs
    dotted = [ref.dotted for ref in refs if isinstance(ref, External)]
    dotted += [base for ref in refs if isinstance(ref, Instance) for base in flow.program.external_bases(flow, ref.cls)]
    return {name.rpartition(".")[2] for name in dotted if name.startswith("skorch.")} & _NETS


def _made(net: ast.expr, nets: set[str], site: CallSite) -> list[ast.Call]:
    """Return the calls that make a net which a name is bound to."""
    values = [each.value for each in bindings_of(net.id, site.scope)] if isinstance(net, ast.Name) else []
    return [value for value in values if isinstance(value, ast.Call) and called_name(value) in nets]


def _scored(flow: Evaluator) -> Iterator[str]:
    """Yield the names of what callbacks score in each epoch: ``EpochScoring("roc_auc", name="auc")``."""
    for site in flow.program.calls.get("EpochScoring", []):
        named = next((key.value for key in site.node.keywords if key.arg == "name"), None)
        text = named if named is not None else next(iter(site.node.args), None)
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield text.value


def _is_nothing(given: ast.expr | None) -> bool:
    return isinstance(given, ast.Constant) and not given.value
