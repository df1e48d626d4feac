"""The factor that a function draws for, by its class and its name, and arrays that only give a model its shapes."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from deviate.source.draws import handling
from deviate.source.draws.calls import Gives
from deviate.source.draws.handling import Reads
from deviate.source.flow.evaluation import Flow
from deviate.source.flow.values import Instance
from deviate.source.index import ClassScope, ModuleIndex, Scope, Unit, lookup
from deviate.source.syntax import Parents, called_name, dotted_text


class Role(NamedTuple):
    """The factor of a function's draws, and why."""

    factor: str
    why: str
    #: True: no rule tells the factor.
    undecided: bool = False
    #: True: names tell it, and nothing that is done with the value.
    by_name: bool = False


#: What a class is, by the dotted names of its bases outside the project. The first that fits counts.
_BASES = (
    ("transform", re.compile(r"^(torchvision\.transforms|albumentations|imgaug|kornia\.augmentation)\.|Transform$")),
    ("sampler", re.compile(r"Sampler$")),
    ("dataset", re.compile(r"(Dataset|DataSet|PyDataset|utils\.Sequence|Folder|DataPipe|GeneratorBasedBuilder)$"
                           r"|^torchvision\.datasets\.")),
    ("module", re.compile(r"(^|\.)(Module|Layer|Model|LightningModule|Sequential|ModuleList|PreTrainedModel|"
                          r"MessagePassing|Chain|Block|Cell)$"
                          r"|^(torch\.nn|keras\.layers|tensorflow\.keras\.layers|flax|haiku|equinox)\.")),
    ("environment", re.compile(r"(^|\.)(Env|Wrapper|\w+Env|\w+Wrapper|ParallelEnv)$")),
)  # fmt: skip

#: What a class without such a base is, by its own name, and the methods that it then has.
_CLASS_NAMES = (
    ("transform", re.compile(r"^Random|Collat|Transform(s|er)?$|Augment|Jitter|Cutout|Cut[Mm]ix|Mix[Uu]p|Crop$|Flip$|"
                             r"Blur$"), {"__call__", "forward", "apply"}),
    ("sampler", re.compile(r"Sampler$"), {"__iter__"}),
    ("buffer", re.compile(r"Replay|Buffer|Memory|Rollout"), set[str]()),
)  # fmt: skip

#: A class with both kinds of methods is a layer or a model written by hand.
_FORWARD = re.compile(r"^(forward(_pass|_prop\w*)?|feed_?forward)$")
_BACKWARD = re.compile(r"^(backward(_pass|_prop\w*)?|back_?prop\w*)$")

#: What the methods of a class draw for: kind of class, names of methods, what they draw, factor.
_METHODS: tuple[tuple[str, re.Pattern[str], set[Gives], str, str], ...] = (
    ("transform", re.compile(r""), set(), "augment", "transforms the data"),
    ("sampler", re.compile(r""), set(), "shuffle", "orders the data"),
    ("environment", re.compile(r"^(?!__init__$)"), set(), "other", "acts"),
    ("buffer", re.compile(r""), {"order", "integers"}, "shuffle", "chooses what is learned from"),
    ("dataset", re.compile(r"^__getitems?__$|^__call__$|collate|augment"), set(), "augment",
     "draws while data are fetched"),
    ("dataset", re.compile(r"^(__init__|setup|prepare_data)$"), set(), "data", "makes the data set"),
    ("module", re.compile(r"^(forward|call|__call__)$|reparam|^forward_(pass|prop\w*)$"), set(), "layers",
     "is part of the model's forward pass"),
    ("module", re.compile(r"^(__init__|build|setup|initiali[sz]e|_*init_\w+|_?reset_parameters)$"),
     {"values", "integers", "order"}, "init", "makes parameters"),
)  # fmt: skip

#: What a function is for by its name, in lower case with underscores. The first that fits counts.
_NAMES = (
    ("other", re.compile(r"(^|_)(sample|select|choose|get|pick|take)_(\w+_)?actions?(_|$)|^act$")),
    ("other", re.compile(r"^_*(plot|show|display|visuali[sz]e|imshow|render)(_|$)|_(plot|figure)s?$")),
    ("augment", re.compile(r"(^|_)aug(_|$|ment)|jitter|random_?(crop|eras)|(^|_)(h|v)?flip|mix_?up|cut_?mix|cut_?out|"
                           r"collat(e|er|or)(?![a-z])")),
    ("layers", re.compile(r"drop_?(out|path|connect|block)")),
    ("init", re.compile(r"(^|_)init(iali[sz]e)?_(\w+_)?(weight|param|bias|layer)|(weight|param|bias)s?_init|"
                        r"^(xavier|glorot|kaiming|he)(_|$)")),
    ("shuffle", re.compile(r"(get|next|sample|make|draw|load|fetch|iter|iterate|generate|create|random)_?(mini_?)?"
                           r"batch(?!_?norm)|shuffle(?!_?net)|^(mini_?)?batch(es)?$|"
                           r"(data|batch)_?(iter|iterator|generator)$|"
                           r"random_(train(ing)?_(set|pair|example|sample)|chunk|example)s?$")),
    ("data", re.compile(r"(^|_)(re|data|train|test)?split|(^|_)(data|data_?sets?|corpus|mnist|cifar\w*)$|"
                        r"(make|build|create|prepare|load|get|read)_(\w+_)?"
                        r"((\w*data_?|sub|train|test|val|valid)?sets?|\w*data)$")),
)  # fmt: skip


class Roles:
    """Tells roles, for each class once."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        #: What each class is, and whether its own name says so.
        self._kinds: dict[ClassScope, tuple[str, bool]] = {}
        self._composed: set[ClassScope] | None = None

    def by_class(self, unit: Unit, gives: Gives) -> Role | None:
        """Return what the class of a method says."""
        owner = unit.enclosing_class
        if owner is None:
            return None
        name, (kind, named) = unit.name, self._kind(owner)
        for class_kind, methods, drawn, factor, why in _METHODS:
            if class_kind == kind and methods.search(name) and (not drawn or gives in drawn):
                return Role(factor, f"{owner.name}.{name} {why}", by_name=named)
        return None

    def by_name(self, unit: Unit) -> Role | None:
        """Return what the name of a function says, or of one that it stands in."""
        at: Unit | None = unit
        while at is not None and at.display_name != "<module>":
            name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", at.name).lower()
            for factor, pattern in _NAMES:
                if pattern.search(name):
                    return Role(factor, at.name, by_name=True)
            at = at.parent.unit if at.parent is not None else None
        return None

    def _kind(self, cls: ClassScope) -> tuple[str, bool]:
        if cls not in self._kinds:
            bases = self.flow.program.external_bases(self.flow, cls)
            kind = next((kind for kind, pattern in _BASES if any(map(pattern.search, bases))), "")
            kind = "transform" if cls in self._composed_classes() else kind
            self._kinds[cls] = (kind, False) if kind else self._by_own(cls)
        return self._kinds[cls]

    def _by_own(self, cls: ClassScope) -> tuple[str, bool]:
        """Return what a class is by its own name, or by its methods, and whether it is by its name."""
        ancestors = self.flow.program.ancestors(self.flow, cls)
        methods = {name for each in ancestors for name in each.methods}
        for kind, pattern, needed in _CLASS_NAMES:
            if any(pattern.search(each.name) for each in ancestors) and (not needed or needed & methods):
                return kind, True
        is_module = any(map(_FORWARD.match, methods)) and any(map(_BACKWARD.match, methods))
        return "module" if is_module else "", False

    def _composed_classes(self) -> set[ClassScope]:
        """Return the classes whose objects are composed into a transform, as in ``Compose([Rotate(), Crop()])``."""
        if self._composed is None:
            self._composed = set()
            for unit in self.flow.program.reached:
                for site in unit.calls:
                    if called_name(site.node) == "Compose" and site.node.args:
                        parts = site.node.args[0]
                        elements = parts.elts if isinstance(parts, (ast.List, ast.Tuple)) else [parts]
                        refs = [ref for element in elements for ref in self.flow.value(element, site.scope).refs]
                        self._composed |= {ref.cls for ref in refs if isinstance(ref, Instance)}
        return self._composed


# Arrays that only give a model its shapes: it is built, traced or summarised with them, and learns nothing of them.

#: Calls that make parameters, a graph or a table of a model; the model or a key comes first, then the input.
_BUILDING = frozenset(
    {"add_graph", "eval_shape", "export", "init", "init_with_output", "profile", "summary", "tabulate", "trace"}
)
_MODEL = re.compile(r"(^|_)(model|net|network|module|encoder|decoder)\d*$")


def gives_shapes(name: str, scope: Scope, reads: Reads, parents: Parents) -> bool:
    """Tell whether a model is built with what a name holds, and nothing else is done with it."""
    definition = lookup(name, scope)
    if definition is None:
        return False
    loads = [
        load
        for load in reads.of_name(scope.module, name)
        if (found := lookup(name, load.scope)) is not None and found[0] is definition[0]
    ]
    uses = [
        builds_model(load.node, scope.module, parents) for load in loads if not _tells_about(load.node, scope, parents)
    ]
    return bool(uses) and all(uses)


def _tells_about(node: ast.AST, scope: Scope, parents: Parents) -> bool:
    """Whether only the form of an array is read: ``x.shape``."""
    parent = parents.of(node, scope.module)
    return isinstance(parent, ast.Attribute) and parent.attr in handling.ABOUT


def builds_model(node: ast.AST, module: ModuleIndex, parents: Parents) -> bool:
    """Whether a model is built with a value, or called with it for nothing but that."""
    parent = parents.of(node, module)
    match parent:
        case ast.Tuple() | ast.List() | ast.keyword():
            return builds_model(parent, module, parents)
        case ast.Attribute(attr=attr) if handling.FORMS.search(attr):
            call = parents.of(parent, module)
            return isinstance(call, ast.Call) and call.func is parent and builds_model(call, module, parents)
        case ast.Call() if parent.func is not node:
            if called_name(parent) in _BUILDING:
                return node not in parent.args[:1]
            is_model = _MODEL.search(dotted_text(parent.func).rpartition(".")[2]) is not None
            return is_model and isinstance(parents.of(parent, module), ast.Expr)
    return False
