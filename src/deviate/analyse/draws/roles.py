"""What a function is for, as far as its draws go: by its class, its name and what it is handed to."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from deviate.analyse.abstract import Instance
from deviate.analyse.draws.tables import Gives
from deviate.analyse.index import ClassScope, Unit
from deviate.analyse.program import called_name

if TYPE_CHECKING:
    from deviate.analyse.values import Flow

Category = Literal[
    "sampler", "dataset", "loader", "transform", "module", "network", "buffer", "environment", "agent", ""
]

_SAMPLER_BASES = re.compile(r"Sampler$")
_DATASET_BASES = re.compile(
    r"(Dataset|DataSet|PyDataset|utils\.Sequence|Folder|DataPipe|GeneratorBasedBuilder)$|^torchvision\.datasets\."
)
_TRANSFORM_BASES = re.compile(r"^(torchvision\.transforms|albumentations|imgaug|kornia\.augmentation)\.|Transform$")
_MODULE_BASES = re.compile(
    r"(^|\.)(Module|Layer|Model|LightningModule|Sequential|ModuleList|PreTrainedModel|MessagePassing|Chain|Block|Cell)$"
    r"|^(torch\.nn|keras\.layers|tensorflow\.keras\.layers|flax|haiku|equinox)\."
)
_ENVIRONMENT_BASES = re.compile(r"(^|\.)(Env|Wrapper|\w+Env|\w+Wrapper|ParallelEnv)$")

_DATASET_NAMES = re.compile(r"(Dataset|DataSet|DataGenerator|Datagen|ImageFolder)$")
_LOADER_NAMES = re.compile(r"(Loader|Batcher|BatchGenerator|BatchIterator|DataIterator|Batches|Feeder|DataStream)$")
_TRANSFORM_NAMES = re.compile(
    r"^Random|Collat|Transform(s|er)?$|Augment|Jitter|Cutout|Cut(Mix|mix)|Mix(Up|up)|Erasing|RandomCrop|Flip$|Lighting|Rotat"
    r"|GaussianBlur|Noise(Adder)?$|Crop$|^Add\w*Noise|Mosaic|Perspective|Solarize"
)
_BUFFER_NAMES = re.compile(r"(Replay|Buffer|Memory|Rollout|Storage)")
_ENVIRONMENT_NAMES = re.compile(r"(Env|Environment|World|Simulator|Game)$")
_AGENT_NAMES = re.compile(r"(Agent|Policy|Actor|Bandit|Player|Explor\w+|Noise|Strategy)$")
_NEXT_BATCH = re.compile(r"^(get_)?next_(train_)?(mini)?batch$|^get_(mini|train)?_?batch$")
_SAMPLES = re.compile(r"sample|batch|generator|feed_forward|^get$|__iter__")
_FORWARD = {"forward", "call", "__call__", "reparameterize", "reparametrize", "reparameterise"}
_CALLED = {"__call__", "forward", "call", "apply"}
_NETWORK_METHODS = {"forward", "backward", "feedforward", "feed_forward", "backprop", "predict", "train_step", "fit"}
_ORDERED = {"__iter__", "__next__", "next", "next_batch", "get_batch", "shuffle", "on_epoch_end", "reset", "batches",
            "_shuffle", "iterate", "get_next", "epoch", "new_epoch", "sample", "sample_batch", "train_next_batch",
            "on_epoch_begin", "next_train_batch", "shuffle_data", "__call__"}  # fmt: skip
_FETCHES = {"__getitem__", "__getitems__", "__call__", "collate", "collate_fn", "get_item", "pull_item", "load_item"}
_BUILDS = {"__init__", "build", "setup", "reset_parameters", "_reset_parameters", "__post_init__", "setup_model"}

_INIT = re.compile(
    r"^_*(init|initiali[sz]e|re_?init)(_|$|[A-Z])|(^|_)(weights?|params?|parameters?|bias|kernel)_?init|init_?(weights?|"
    r"params?|fn|func)|^(xavier|glorot|kaiming|he|lecun|orthogonal|trunc(ated)?_normal)(_\w+)?$|_?reset_parameters$"
    r"|^(make|create|build)_(params|parameters|weights|layer|network|model)|^_?no_grad_trunc_normal_?$|^new_weights"
    r"|^(random|rand)_(weights?|params?|layer)|^(weight|bias)_variable$|_initiali[sz]er$"
)
_NOT_PARAMETERS = re.compile(r"seed|data|loader|dist|env|process|log|centroid|center|state|hidden|buffer|delta|noise",
                             re.IGNORECASE)  # fmt: skip
_AUGMENT = re.compile(
    r"augment|jitter|(^|_)(random_?)?crop|(^|_)h?v?flip|mix_?up|cut_?mix|cut_?out|mosaic|random_?(erase|erasing|affine|"
    r"perspective|rotat|resize|scale|shift|translat|brightness|contrast|hue|horizontal|vertical|mask|hsv|blur|noise)|"
    r"^(bulk_)?transforms?(_\w+)?$|(^|_)distort|spec_?aug|time_mask|freq_mask|rand_bbox|color_?jitter|collate|"
    r"add_noise_to_(image|input|data)|rand_?aug|mask_tokens|(^|_)aug(_|$)",
    re.IGNORECASE,
)
_LAYERS = re.compile(
    r"(reset|resample|redraw)_?noise|drop_?out|drop_?path|drop_?connect|drop_?block|stochastic_depth|reparam|"
    r"gumbel_softmax|weight_?drop|variational",
    re.IGNORECASE,
)
_BATCHES = re.compile(
    r"(get|next|sample|make|draw|load|fetch|iter|iterate|generate|create|random)_?(mini_?)?batch(es)?|^(mini_?)?batch(es)?"
    r"(_?(iter|iterator|generator|loader|gen))?$|(data|batch)_?(iter|iterator|generator|loader|gen|stream|feeder)$|"
    r"iterate_minibatches|epoch_(order|indices)|shuffle|_data_loader|^data_generator|random_training_(example|pair)|"
    r"get_random_(chunk|sample)|random_chunk",
    re.IGNORECASE,
)
_DATA = re.compile(
    r"split|(make|build|create|prepare|load|get|generate|gen|read|synth\w*|toy|fake|simulate)_?(\w+_)?(data|dataset|"
    r"datasets|samples|dataloaders?|loaders?|examples|corpus|points|set|folds|target|cifar\w*|mnist)s?($|_)|make_(moons|"
    r"circles|blobs|spiral\w*|regression|classification)|train_?val|_data$|^(data|dataset)$|subset|imbalance|noisy_label"
    r"|label_noise|corrupt_labels|poison|spirals?$|two_moons",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"(select|sample|choose|get|predict|random|take|pick)_?(\w+_)?actions?|^act$|epsilon_?greedy|explor|negative_?sampl|"
    r"neg_?sampl|sample_neg|(sample|get|make|generate)_?(\w+_)?(noise|latent|z|prior)s?$|rollout|q_sample|p_sample|"
    r"^generate$|^generate_(text|samples?|images?|sequences?|sentences?|tokens?)|corruption|^evaluate|^eval|^test|^plot|^visuali[sz]e|^sample_images?|get_action|gradient_penalty|attack|pgd|fgsm|"
    r"perturb|mutat|crossover|interpolat",
    re.IGNORECASE,
)

#: Keywords that functions are handed over by, and what these are for.
_HANDED = {"collate_fn": "augment", "transform": "augment", "transforms": "augment", "target_transform": "augment",
           "train_transform": "augment", "preprocessing_function": "augment", "augment": "augment",
           "kernel_initializer": "init", "weight_init": "init", "bias_initializer": "init",
           "kernel_init": "init", "bias_init": "init", "initializer": "init"}  # fmt: skip


@dataclass(frozen=True)
class Role:
    """The factor of a function's draws, and why."""

    factor: str
    why: str


class Roles:
    """Tells roles, for each class once."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._categories: dict[ClassScope, Category] = {}
        self._handed: dict[Unit, Role] | None = None
        self._transforms: set[ClassScope] = set()

    def role(self, unit: Unit, gives: Gives) -> Role | None:
        """Return what the draws of a function are for, None where it alone does not tell."""
        return self.by_class(unit, gives) or self.by_hand(unit) or self._by_name(unit)

    # By class

    def category(self, cls: ClassScope) -> Category:
        """Say what kind of thing a class makes."""
        if cls not in self._categories:
            self._categories[cls] = ""
            self._categories[cls] = self._category(cls)
        return self._categories[cls]

    def _category(self, cls: ClassScope) -> Category:
        self._find_handed()
        bases = self.flow.program.external_bases(self.flow, cls)
        named = [one.name for one in self.flow.program.ancestors(self.flow, cls)]
        methods = {name for one in self.flow.program.ancestors(self.flow, cls) for name in one.methods}
        module = any(_MODULE_BASES.search(one) for one in bases)
        if cls in self._transforms or any(_TRANSFORM_BASES.search(one) for one in bases):
            return "transform"
        # A layer may be named after its noise.
        of_layer = module and ("Noise" in cls.name or not _TRANSFORM_NAMES.search(cls.name))
        if _CALLED & methods and not of_layer and any(_TRANSFORM_NAMES.search(one) for one in named):
            return "transform"
        if any(_SAMPLER_BASES.search(one) for one in bases) or (cls.name.endswith("Sampler") and "__iter__" in methods):
            return "sampler"
        if any(_DATASET_BASES.search(one) for one in bases):
            return "dataset"
        if module:
            return "module"
        return self._by_habit(cls, bases, methods)

    def _by_habit(self, cls: ClassScope, bases: list[str], methods: set[str]) -> Category:
        """Tell a class without a telling base by its name and methods."""
        if any(_ENVIRONMENT_BASES.search(one) for one in bases) or (
            _ENVIRONMENT_NAMES.search(cls.name) and {"step", "reset"} <= methods
        ):
            return "environment"
        if _BUFFER_NAMES.search(cls.name):
            return "buffer"
        if _LOADER_NAMES.search(cls.name) or any(_NEXT_BATCH.search(one) for one in methods):
            return "loader"
        if _DATASET_NAMES.search(cls.name) or {"__getitem__", "__len__"} <= methods:
            return "dataset"
        if _AGENT_NAMES.search(cls.name):
            return "agent"
        return "network" if len(_NETWORK_METHODS & methods) >= 2 or "forward" in methods else ""

    def by_class(self, unit: Unit, gives: Gives) -> Role | None:
        """Return what the class of a method says."""
        owner = unit.enclosing_class
        if owner is None:
            return None
        category, name = self.category(owner), _outermost(unit).name
        said = f"{owner.name}.{name}"
        match category:
            case "sampler":
                return Role("shuffle", f"{said}: a sampler orders the data")
            case "transform":
                return Role("augment", f"{said} transforms the data")
            case "environment" | "agent":
                return Role("other", f"{said} acts") if name != "__init__" else None
            case "dataset" | "loader":
                return _of_data(category, _snake(name), said, gives)
            case "module" | "network":
                return _of_model(_snake(name), said, gives)
            case "buffer":
                if _SAMPLES.search(name):
                    return Role("shuffle", f"{said} chooses what is learned from")
                return Role("other", f"{said} keeps what was seen")
        return None

    # By what it is handed to

    def by_hand(self, unit: Unit) -> Role | None:
        """Return what a function is handed over as."""
        return self._find_handed().get(unit)

    def _find_handed(self) -> dict[Unit, Role]:
        if self._handed is None:
            self._handed = {}
            for unit in self.flow.program.reached:
                for site in unit.calls:
                    name = called_name(site.node)
                    for key in site.node.keywords:
                        if key.arg in _HANDED:
                            self._hand(key.value, site.scope, _HANDED[key.arg], f"handed over as {key.arg}")
                    if name in {"Compose", "Lambda", "RandomApply", "RandomChoice", "RandomOrder"} and site.node.args:
                        for one in _elements(site.node.args[0]):
                            self._hand(one, site.scope, "augment", f"part of {name}")
                    if name == "apply" and len(site.node.args) == 1 and not site.node.keywords:
                        self._hand(site.node.args[0], site.scope, "init", "applied to each module of the model")
        return self._handed

    def _hand(self, node: ast.expr, scope: object, factor: str, why: str) -> None:
        assert self._handed is not None
        for ref in self.flow.value(node, scope).refs:  # type: ignore[arg-type]
            if isinstance(ref, Unit):
                self._handed.setdefault(ref, Role(factor, f"{ref.shown_name} is {why}"))
            elif isinstance(ref, Instance) and factor == "augment":
                self._transforms.add(ref.cls)

    # By name

    def _by_name(self, unit: Unit) -> Role | None:
        at: Unit | None = unit
        while at is not None and at.shown_name != "<module>":
            found = _named(at.name)
            if found is not None:
                return found
            at = at.parent.unit if at.parent is not None else None
        return None


def _of_data(category: str, name: str, said: str, gives: Gives) -> Role | None:
    if name in _ORDERED or _BATCHES.search(name):
        if gives in {"order", "integers"}:
            return Role("shuffle", f"{said} orders the data")
        return Role("augment", f"{said} draws while data are fetched")
    if name in _FETCHES or _AUGMENT.search(name):
        return Role("augment", f"{said} draws while data are fetched")
    if category == "dataset" and (name in {"__init__", "setup", "prepare_data"} or _DATA.search(name)):
        return Role("data", f"{said} makes the data set")
    if category == "loader" and name == "__init__" and gives == "order":
        return Role("shuffle", f"{said} orders the data")
    return None


def _of_model(name: str, said: str, gives: Gives) -> Role | None:
    if name in _FORWARD or _LAYERS.search(name):
        return Role("layers", f"{said} is part of the model's forward pass")
    if (name in _BUILDS or _INIT.search(name)) and gives in {"values", "integers", "order"}:
        return Role("init", f"{said} makes parameters")
    return None


def _snake(name: str) -> str:
    """Write ``randomChoice`` as ``random_choice``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _named(shown: str) -> Role | None:
    """Tell a function by its name."""
    name = _snake(shown)
    if _AUGMENT.search(name):
        return Role("augment", f"{shown} changes the data")
    if _LAYERS.search(name):
        return Role("layers", f"{shown} is a stochastic layer")
    if _INIT.search(name) and not _NOT_PARAMETERS.search(name) and name != "__init__":
        return Role("init", f"{shown} makes parameters")
    if _BATCHES.search(name):
        return Role("shuffle", f"{shown} chooses the training examples")
    if _OTHER.search(name):
        return Role("other", f"in {shown}")
    if _DATA.search(name):
        return Role("data", f"{shown} makes or splits data")
    return None


def _outermost(unit: Unit) -> Unit:
    """Return the method that a nested function stands in."""
    at = unit
    while at.owner is None and at.parent is not None and at.parent.unit.shown_name != "<module>":
        at = at.parent.unit
    return at


def _elements(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, (ast.List, ast.Tuple)) else [node]
