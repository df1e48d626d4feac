"""Calls that run a whole training inside a library."""

from __future__ import annotations

import ast
import re

from deviate.analyse.flow.evaluator import Evaluator
from deviate.analyse.flow.objects import called_above
from deviate.analyse.flow.program import Program
from deviate.analyse.flow.values import External, Instance
from deviate.analyse.naming.words import word_lists
from deviate.analyse.source.index import CallSite, ClassScope, Unit
from deviate.analyse.source.syntax import called_name, dotted_text

_LISTS = word_lists(__file__)
_FITS = _LISTS["fitting methods"]
_RUNS = _LISTS["running methods"]
_KEYWORDS = _LISTS["training keywords"]
_FUNCTIONS = _LISTS["training functions"]
_COMPILED = _LISTS["compiled loops"]
_COMPILED_NAMES = {dotted.rpartition(".")[2] for dotted in _COMPILED}
_NAMES = {dotted.rpartition(".")[2] for dotted in _FUNCTIONS}
_TRAINERS = re.compile(r"(trainer|engine|runner|learner|learn|estimator|session|experiment)$", re.IGNORECASE)
_MODELS = re.compile(r"(model|net|network|trainer|learn|learner|gan|vae|autoencoder|classifier|agent|policy|"
                     r"ppo|engine)\d*$", re.IGNORECASE)  # fmt: skip
_NOT_MODELS = re.compile(r"(scaler|pca|(?<!auto)encoder|tokenizer|vectorizer|transformer|imputer|tsne|kmeans|binarizer|"
                         r"svd|enc|gmm|curve|regressor|lr|logreg|knn|svm|(^|[._])le)$", re.IGNORECASE)  # fmt: skip
#: What runs single steps of a graph.
_SESSION = re.compile(r"sess(ion)?$", re.IGNORECASE)
_LOOP_TYPES = "Trainer|Engine|Runner|Learner|Estimator|Fabric|PPO|A2C|DQN|SAC|TD3"
#: Types of objects, whatever these are called, whose ``train`` runs a loop; that of a model sets its mode.
_OWN_LOOP = re.compile(rf"({_LOOP_TYPES})$")
_TRAINER_TYPES = re.compile(rf"({_LOOP_TYPES}|Model|Sequential|NeuralNet\w*)$")


def is_fitting_call(flow: Evaluator, site: CallSite) -> bool:
    """Whether a call trains a model in a loop of a library."""
    name = called_name(site.node)
    if _is_function(flow, site) or any(map(_is_fit, site.node.args)):
        return True
    if (name not in _FITS and name not in _RUNS) or not isinstance(site.node.func, ast.Attribute):
        return False
    own = [unit for unit in flow.program.targets(flow, site) if unit in flow.program.reached]
    if called_above(site.node) == site.scope.unit.name or not all(_hands_up(unit, name) for unit in own):
        return False
    receiver = dotted_text(site.node.func.value)
    keywords = {key.arg for key in site.node.keywords}
    refs = flow.value(site.node.func.value, site.scope).refs
    types = [ref.dotted for ref in refs if isinstance(ref, External)]
    types.extend(
        base for ref in refs if isinstance(ref, Instance) for base in flow.program.external_bases(flow, ref.cls)
    )
    alike = flow.program.called_like(site.node) if not types else []
    if not types and (_is_own_loop(flow.program, name) or not all(_hands_up(unit, name) for unit in alike)):
        return False
    typed = any(_TRAINER_TYPES.search(dotted.rpartition(".")[2]) for dotted in types)
    if name in _FITS:
        if _NOT_MODELS.search(receiver):
            return False
        if any(dotted.startswith("sklearn.") for dotted in types):
            return bool(keywords & _KEYWORDS)  # what is cloned need not be of sklearn
        return bool(keywords & _KEYWORDS) or typed or (bool(_MODELS.search(receiver)) and bool(site.node.args))
    if name == "train" and not site.node.args and not site.node.keywords:
        return bool(_TRAINERS.search(receiver)) or any(map(_OWN_LOOP.search, types))
    if name == "train" and _MODELS.search(receiver) and not _TRAINERS.search(receiver):
        return bool(keywords & _KEYWORDS)
    return (
        bool(_TRAINERS.search(receiver) or (name == "train" and any(map(_OWN_LOOP.search, types))))
        and (name != "run" or typed or bool(site.node.args or keywords))
        and not _SESSION.search(receiver)
    )


def is_compiled_loop(flow: Evaluator, site: CallSite) -> bool:
    """Whether a call makes a loop that a compiler runs of a function: ``jax.lax.scan(step, state)``."""
    if called_name(site.node) not in _COMPILED_NAMES:
        return False
    refs = flow.value(site.node.func, site.scope).refs
    return any(isinstance(ref, External) and ref.dotted in _COMPILED for ref in refs)


def _is_fit(arg: ast.expr) -> bool:
    """Whether an argument is the training of a library, handed on to be called: ``quietly(trainer.fit, model=net)``."""
    is_method = isinstance(arg, ast.Attribute) and arg.attr == "fit"
    return is_method and bool(_TRAINERS.search(dotted_text(arg.value)))  # type: ignore[attr-defined]


def _hands_up(unit: Unit, name: str) -> bool:
    """Whether a method leaves its work to the one above it, of a library's class: ``super().train(data)``."""
    return any(called_above(site.node) == name for site in unit.calls)


def _is_function(flow: Evaluator, site: CallSite) -> bool:
    """Whether a call is of a library's function that trains, whatever it is imported as."""
    name, aliases = called_name(site.node), flow.program.aliases
    if name == "LightningCLI" or _is_own_cli(flow, site):
        return not any(key.arg == "run" and isinstance(key.value, ast.Constant) for key in site.node.keywords)
    if name not in _NAMES and not any(name in aliases.get(one, ()) for one in _NAMES):
        return False
    refs = flow.value(site.node.func, site.scope).refs
    return any(isinstance(ref, External) and not ref.made and ref.dotted in _FUNCTIONS for ref in refs)


def _is_own_cli(flow: Evaluator, site: CallSite) -> bool:
    """Whether a class of the project that derives from Lightning's command line is called."""
    if "cli" not in called_name(site.node).lower():
        return False
    classes = [ref for ref in flow.value(site.node.func, site.scope).refs if isinstance(ref, ClassScope)]
    bases = (base for cls in classes for base in flow.program.external_bases(flow, cls))
    return any(base.rpartition(".")[2] == "LightningCLI" for base in bases)


def _is_own_loop(program: Program, name: str) -> bool:
    """Whether a call of unknown object may run a loop of the project: one that a configuration makes, say."""
    return any(unit in program.reached and unit.loops for unit in program.methods.get(name, []))
