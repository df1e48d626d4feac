"""A drawn value that is followed through the code: what it is called, what is done with it, where it is read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from deviate.lexicon.words import words_like
from deviate.source.flow.evaluation import Flow
from deviate.source.index import ModuleIndex, Nesting, Scope, Unit
from deviate.source.syntax import called_name, passed_for

#: Attributes and functions that tell of an array, not what is in it.
ABOUT = {"shape", "size", "ndim", "dtype", "device", "requires_grad", "__len__"}
ABOUT_CALLS = {"len", "range", "print", "type", "isinstance", "id", "format", "repr", "hash"}
DRAWINGS = re.compile(r"^(matplotlib|seaborn|plotly|PIL|logging|wandb)\b")
LAYERS = re.compile(r"(^|\.)(torch\.nn|keras|flax|haiku|equinox|optax)\.|^torch\.optim\b")
#: Methods that put what they are given into the object.
PUTTING = {"append", "extend", "add", "insert", "update", "appendleft", "put", "push", "setdefault"}
#: Keywords of what an optimiser or a parameter is given to learn; others are settings, such as a rate.
LEARNED = {"params", "data", "initial_value", "value"}
FITTING = {"fit", "fit_generator", "partial_fit", "train_on_batch", "train"}
#: Calls of libraries that give what they are given, in another form; objects that hold examples.
FORMS = re.compile(
    r"(^|_)(array|asarray|tensor|as_tensor|from_numpy|constant|convert_to_tensor|Variable|stack|hstack|vstack|"
    r"concat\w*|cat|next|reshape|ravel|squeeze|unsqueeze|expand_dims|transpose|copy|clone|detach|to|cuda|cpu|float|double|long|int|bool|"
    r"astype|type|requires_grad_|view|list|tuple|dict|zip|enumerate|reversed|items|values|"
    r"device_put|Tensor|FloatTensor|sqrt|normali[sz]e\w*|orth\w*|qr|svd)$"
)
HOLDERS = re.compile(
    r"(?i:(data_?(set|loader|frame)?|tensor|array|variable|batch|sampler|matrix)$)|"
    + words_like("(train|val|test)?loader|frame|series|sequence")
    + "$"
)
#: Calls that fill parameters with what they are given.
FILLING = {"copy_", "load_state_dict", "set_weights", "from_pretrained", "set_value"}
#: Calls by which code learns from what it has.
STEPPING = {"backward", "step", "apply_gradients", "minimize", "train_on_batch", "gradient", "grad", "value_and_grad"}
#: Of these, calls that take a gradient: an environment has a `step`, too.
TAKING_GRADIENT = STEPPING - {"step"}
PRODUCTS = {"dot", "matmul", "mm", "mv", "bmm", "einsum", "inner", "tensordot"}
GRADIENTS = {"grad", "value_and_grad"}
#: Methods of a class that learns or acts: what it draws as it is made may be what it learns.
MODEL_METHODS = re.compile(
    r"^(forward|backward|backprop\w*|feed_?forward|predict\w*|learn|act|step|update\w*|propagate|optimi[sz]e|sample)$"
)
#: Names of what is learned from, whoever is given it.
TRAINED_ON = re.compile(
    r"^(x|X|y|Y|inputs?|targets?|data|images|labels|points)_?train(ing)?$|^train(ing)?_\w*(x|y|data|set|inputs?|"
    r"targets?|images|labels|points|examples|samples)$"
)
#: Names of noise.
NOISE = re.compile(r"(^|_)(noises?|z|eps|epsilon|latents?)\d*(_|$)")
#: Names of what is no example to learn from, and no target.
NO_DATA = re.compile(
    r"(^|_)(noises?|z|eps|epsilon|latents?|dummy|fakes?|hidden|h\d*|states?|obs|keys?|rngs?|nets?|models?|params?|"
    r"parameters|weights?|bias(es)?|theta|layers?|embed\w*|polic(y|ies)|agents?|actor|critic|population|config|cfg|"
    r"args|opt|hparams|lr|(learning_)?rates?|alphas?|gammas?|betas?|momentum|decay|temperature|dropout|seeds?|probs?|env|envs|name|port|uid|run_id)[\d_]*$|^id$|^fixed|^init|^[WwbUV]\d*$",
)


def drops(name: str, dotted: Sequence[str]) -> bool:
    """Tell whether a call, by its name and dotted names, makes neither examples nor parameters of what it is given."""
    if name in ABOUT_CALLS or any(DRAWINGS.search(path) or LAYERS.search(path) for path in dotted):
        return True
    return name[:1].isupper() and not HOLDERS.search(name)


def given_as(unit: Unit, call: ast.Call, node: ast.AST) -> Iterator[str]:
    """Yield the parameters of a function that a call gives an argument for."""
    for name in unit.parameters:
        if any(each is node or getattr(each, "value", None) is node for each in passed_for(call, unit, name)):
            yield name


def is_gradient(call: ast.Call, node: ast.AST) -> bool:
    """Tell whether the value is what ``grad(f)(value)`` differentiates by."""
    maker = call.func
    return isinstance(maker, ast.Call) and called_name(maker) in GRADIENTS and call.args[:1] == [node]


def keeps(parent: ast.expr, node: ast.AST) -> bool:
    """Tell whether an expression is still the value: a part of it, it among others, or scaled."""
    match parent:
        case ast.Subscript():
            return parent.value is node
        case ast.IfExp():
            return parent.test is not node
        case ast.Compare():
            return False
    return True


def targets_of(assign: ast.Assign, values: ast.Tuple, value: ast.AST) -> Iterator[ast.expr]:
    """Yield what one of the `values` that are assigned together is assigned to; everything where that is not clear."""
    index = next(at for at, each in enumerate(values.elts) if each is value)
    for target in assign.targets:
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        is_clear = index < len(parts) and not any(isinstance(part, ast.Starred) for part in parts)
        yield parts[index] if is_clear else target


def stores(target: ast.expr) -> Iterator[ast.expr]:
    """Yield what holds an assigned value: each of several targets; for an element, what it is an element of."""
    match target:
        case ast.Tuple() | ast.List():
            for part in target.elts:
                yield from stores(part)
        case ast.Subscript() | ast.Starred() | ast.Attribute(attr="data"):
            yield from stores(target.value)
        case _:
            yield target


# What is known of a drawn value that is followed through the code.


@dataclass
class Destination:
    """What becomes of a value; empty where that was not seen."""

    #: How it becomes a parameter.
    learned: str = ""
    #: How it is handed to the training.
    handed: str = ""
    #: Whether the training adds to it or takes from it, as it does with no data.
    changed: bool = False


class State(NamedTuple):
    """What an expression is, seen from the draw."""

    #: It is what was drawn, in whatever form; False: it was made of that.
    is_itself: bool = True
    #: The training computes with it.
    is_trained: bool = False
    #: It is a function that gives the value when it is called.
    is_function: bool = False
    #: The training reads it under a name of noise, so what is made of it is no example either.
    is_noise: bool = False
    #: It is in a function that was called before the training: what that function reads is not read by the training,
    #: although the training may call the same function.
    is_early: bool = False


# What a drawn value is called where it is assigned to a name.

#: What a generative model makes examples of; noise, unlike it, may be a part of targets.
_LATENT = re.compile(r"(^|_)(z|latents?)\d*$")
#: What an agent does.
_ACTION = re.compile(r"(^|_)actions?\d*$")
#: What is chosen to be looked at by people.
SHOWN = re.compile(r"(^|_)(vis|viz|plot(ted)?|show[ns]?|display(ed)?|preview)\d*(_|$)")


def targets(statement: ast.stmt | None) -> Iterator[str]:
    """Yield the names that a statement assigns to, also those among others."""
    for target in statement.targets if isinstance(statement, ast.Assign) else []:
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        yield from (part.id for part in parts if isinstance(part, ast.Name))


def is_action(statement: ast.stmt | None) -> bool:
    """Whether what is drawn is called an action, and nothing else."""
    names = list(targets(statement))
    return bool(names) and all(map(_ACTION.search, names))


def is_latent(statement: ast.stmt | None) -> bool:
    """Whether what is drawn is called a latent vector; a sum, whatever it is called, is made of more."""
    named = any(map(_LATENT.search, targets(statement)))
    return named and not any(isinstance(part, ast.Add) for part in ast.walk(statement or ast.Pass()))


# Where names and attributes are read, by name.


@dataclass(frozen=True, eq=False)
class Read:
    """A name or an attribute that code reads."""

    node: ast.Name | ast.Attribute
    scope: Scope
    nesting: Nesting | None


class Reads:
    """Finds reads, for each file once."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._names: dict[ModuleIndex, dict[str, list[Read]]] = {}
        self._attributes: dict[str, list[Read]] | None = None

    def of_name(self, module: ModuleIndex, name: str) -> list[Read]:
        """Return where the code of a file reads a plain name."""
        if module not in self._names:
            by_name = self._names[module] = {}
            for load in _reads_in(module):
                if isinstance(load.node, ast.Name):
                    by_name.setdefault(load.node.id, []).append(load)
        return self._names[module].get(name, [])

    def of_attribute(self, name: str) -> list[Read]:
        """Return where the running code reads an attribute of any object."""
        if self._attributes is None:
            self._attributes = {}
            for module in self.flow.program.modules:
                for load in _reads_in(module):
                    if isinstance(load.node, ast.Attribute):
                        self._attributes.setdefault(load.node.attr, []).append(load)
        return self._attributes.get(name, [])


def _reads_in(module: ModuleIndex) -> Iterator[Read]:
    return (Read(*load) for unit in module.units for load in unit.loads)
