"""What skorch shows of each epoch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.frameworks.made import given_to, is_nothing, types_of
from deviate.analyse.source.index import CallSite

_CLASSIFIERS = {"NeuralNetClassifier", "NeuralNetBinaryClassifier"}
_NETS = {"NeuralNet", "NeuralNetRegressor", *_CLASSIFIERS}


def shown_epochs(flow: Evaluator, site: CallSite) -> Iterator[str]:
    """Yield the heads of the table that a call of ``fit`` or ``partial_fit`` shows, but for the epoch's number."""
    if not isinstance(site.node.func, ast.Attribute):
        return
    net = site.node.func.value
    nets = {name.rpartition(".")[2] for name in types_of(flow, net, site.scope) if name.startswith("skorch.")} & _NETS
    given = {key: value for keywords in given_to(net, nets, site.scope) for key, value in keywords.items()}
    if not nets or is_nothing(given.get("verbose")):
        return
    yield "train_loss"
    if not is_nothing(given.get("train_split")):
        yield "valid_loss"
        yield from ["valid_acc"] * bool(nets & _CLASSIFIERS)
    yield from _scored(flow)
    yield "dur"


def _scored(flow: Evaluator) -> Iterator[str]:
    """Yield the names of what callbacks score in each epoch: ``EpochScoring("roc_auc", name="auc")``."""
    for site in flow.program.calls.get("EpochScoring", []):
        named = next((key.value for key in site.node.keywords if key.arg == "name"), None)
        text = named if named is not None else next(iter(site.node.args), None)
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield text.value
