"""Calls that draw random numbers: of libraries, by dotted name or the name of a method; where a project has them.

Which library calls may have made an object is found by following assignments, attributes, parameters and results. Also
code that a compiler reads.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from deviate.lexicon.words import words_like
from deviate.source.flow.evaluation import Flow
from deviate.source.flow.reach import CallGraph
from deviate.source.flow.values import External, Instance
from deviate.source.index import Binding, CallSite, ClassScope, ModuleIndex, Scope, Unit, lookup, under_main_guard
from deviate.source.syntax import SPACES, called_name, dotted_text, passed_for, text_of

#: What a draw gives: an order or a choice of things, whole numbers (which may be positions), values; or what only one
#: factor needs. Whether a site of a probabilistic model is drawn, replayed or observed, its library decides.
Gives = Literal["order", "integers", "values", "seed", "init", "data", "augment", "layers", "action", "batch", "site"]


def _table(gives: Gives, prefix: str, names: str) -> dict[str, Gives]:
    return {f"{prefix}.{name}": gives for name in names.split()}


_NUMPY_VALUES = (
    "rand randn random random_sample ranf sample normal uniform standard_normal beta binomial gamma exponential "
    "poisson laplace lognormal logistic gumbel dirichlet multinomial multivariate_normal standard_cauchy "
    "standard_exponential standard_gamma standard_t triangular vonmises weibull zipf chisquare f geometric "
    "hypergeometric negative_binomial pareto power rayleigh wald noncentral_chisquare noncentral_f logseries "
    "bytes"
)
_NUMPY_INTEGERS = "randint random_integers integers"
_NUMPY_ORDER = "permutation permuted shuffle choice"
_PYTHON_VALUES = (
    "random uniform gauss normalvariate betavariate expovariate triangular lognormvariate gammavariate vonmisesvariate "
    "paretovariate weibullvariate binomialvariate randbytes"
)
_PYTHON_INTEGERS = "randint randrange getrandbits"
_PYTHON_ORDER = "shuffle sample choice choices"

#: Draws by dotted name.
CALLS: dict[str, Gives] = {
    **_table("values", "numpy.random", _NUMPY_VALUES),
    **_table("integers", "numpy.random", _NUMPY_INTEGERS),
    **_table("order", "numpy.random", _NUMPY_ORDER),
    **_table("values", "cupy.random", _NUMPY_VALUES),
    **_table("integers", "cupy.random", _NUMPY_INTEGERS),
    **_table("order", "cupy.random", _NUMPY_ORDER),
    **_table("values", "random", _PYTHON_VALUES),
    **_table("integers", "random", _PYTHON_INTEGERS),
    **_table("order", "random", _PYTHON_ORDER),
    **_table("values", "torch", "rand randn rand_like randn_like normal bernoulli poisson binomial"),
    **_table("integers", "torch", "randint randint_like multinomial"),
    **_table("order", "torch", "randperm"),
    **_table(
        "layers", "torch.nn.functional",
        "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout gumbel_softmax"),
    **_table("layers", "torch", "dropout alpha_dropout feature_alpha_dropout"),
    **_table("data", "torch.utils.data", "random_split"),
    **_table("data", "torch.utils.data.dataset", "random_split"),
    **_table(
        "values", "jax.random",
        "normal uniform bernoulli beta binomial categorical cauchy dirichlet double_sided_maxwell exponential gamma "
        "gumbel laplace logistic loggamma lognormal maxwell multivariate_normal orthogonal pareto poisson rademacher "
        "rayleigh t truncated_normal wald weibull_min ball bits"),
    **_table("integers", "jax.random", "randint"),
    **_table("order", "jax.random", "permutation shuffle choice"),
    **_table(
        "values", "tensorflow.random",
        "normal uniform truncated_normal gamma poisson stateless_normal stateless_uniform stateless_truncated_normal "
        "stateless_gamma stateless_poisson stateless_binomial"),
    **_table("integers", "tensorflow.random", "categorical stateless_categorical"),
    **_table("order", "tensorflow.random", "shuffle"),
    **_table(
        "values", "tensorflow", "random_normal random_uniform truncated_normal random_gamma random_poisson"),
    **_table("integers", "tensorflow", "multinomial"),
    **_table("order", "tensorflow", "random_shuffle"),
    **_table("layers", "tensorflow.nn", "dropout experimental_stateless_dropout"),
    **_table("values", "keras.random", "normal uniform truncated_normal beta binomial gamma"),
    **_table("integers", "keras.random", "randint categorical"),
    **_table("order", "keras.random", "shuffle"),
    **_table("layers", "keras.random", "dropout"),
    **_table("values", "keras.backend", "random_normal random_uniform truncated_normal random_bernoulli"),
    **_table("layers", "keras.backend", "dropout"),
    **_table("data", "sklearn.model_selection", "train_test_split"),
    **_table("data", "sklearn.cross_validation", "train_test_split"),
    **_table("order", "sklearn.utils", "shuffle resample"),
    **_table("values", "scipy.sparse", "rand random"),
    **_table("site", "pyro", "sample"),
    **_table("site", "numpyro", "sample"),
}  # fmt: skip

#: Draws by the start of the dotted name.
CALLS_BY_START: tuple[tuple[re.Pattern[str], Gives], ...] = (
    (re.compile(r"^sklearn\.datasets\.(\w+\.)?make_\w+$"), "data"),
    (re.compile(r"^scipy\.stats\.\w+\.rvs$"), "values"),
    (re.compile(r"^tensorflow\.image\.((stateless_)?random_\w+|\w*sample_distorted_bounding_box\w*)$"), "augment"),
    (re.compile(r"^(torchvision\.transforms|albumentations|imgaug|kornia\.augmentation)\..*\bget_params$"), "augment"),
)

#: Kinds of cross-validation that draw only with ``shuffle=True``.
SHUFFLED_FOLDS = re.compile(r"^sklearn\.(model_selection|cross_validation)\.(Stratified|Group)*(KFold|GroupKFold)$")
DRAWN_FOLDS = re.compile(r"^sklearn\.(model_selection|cross_validation)\.\w*Shuffle\w*Split$")

#: Draws that give an order of everything, not a choice of some.
PERMUTATIONS = frozenset({"permutation", "permuted", "randperm", "shuffle"})

#: Methods of tensors that fill them with draws; nothing else is named so.
FILLS = frozenset([
    "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "cauchy_", "geometric_", "log_normal_",
    "trunc_normal_",
])  # fmt: skip

#: What makes a generator of random numbers, and the methods that draw from it.
NUMPY_METHODS: dict[str, Gives] = {
    **dict.fromkeys(_NUMPY_VALUES.split(), "values"),
    **dict.fromkeys(_NUMPY_INTEGERS.split(), "integers"),
    **dict.fromkeys(_NUMPY_ORDER.split(), "order"),
}
PYTHON_METHODS: dict[str, Gives] = {
    **dict.fromkeys(_PYTHON_VALUES.split(), "values"),
    **dict.fromkeys(_PYTHON_INTEGERS.split(), "integers"),
    **dict.fromkeys(_PYTHON_ORDER.split(), "order"),
}
DISTRIBUTION_METHODS: dict[str, Gives] = dict.fromkeys(("sample", "rsample", "sample_n"), "values")
KERAS_METHODS: dict[str, Gives] = {"normal": "values", "uniform": "values", "truncated_normal": "values"}
GENERATORS: tuple[tuple[re.Pattern[str], dict[str, Gives]], ...] = (
    (re.compile(r"^(numpy|cupy)\.random\.(default_rng|Generator|RandomState|mtrand\.RandomState)$"), NUMPY_METHODS),
    (re.compile(r"^sklearn\.utils(\.validation)?\.check_random_state$"), NUMPY_METHODS),
    (re.compile(r"^gym(nasium)?\.utils\.seeding\.np_random$"), NUMPY_METHODS),
    (re.compile(r"^random\.(Random|SystemRandom)$"), PYTHON_METHODS),
    (re.compile(r"^(torch|tensorflow_probability|tfp|numpyro|pyro|distrax)\.(\w+\.)*distributions\.(\w+\.)*[A-Z]\w*$"),
     DISTRIBUTION_METHODS),
    (re.compile(r"^distrax\.[A-Z]\w*$"), DISTRIBUTION_METHODS),
    (re.compile(r"^tensorflow\.random\.(experimental\.)?(Generator(\.from_\w+)?|get_global_generator)$"),
     KERAS_METHODS),
)  # fmt: skip

#: A name that says that a generator of random numbers is in it, where its making is not found.
GENERATOR_NAMES = re.compile(r"^_{0,2}(\w+_)?(rng|rnd|prng|np_random|random_state|rand_state|rs)_?$")
DISTRIBUTION_NAMES = re.compile(r"(^|_)(dist|dists|distribution|pi|probs|categorical|normal|prior|posterior|q_z|p_z)$")
#: Methods of numpy's and Python's generators together.
ANY_METHODS: dict[str, Gives] = {**PYTHON_METHODS, **NUMPY_METHODS}

#: Objects of libraries that augment what they are called with.
AUGMENTERS = re.compile(
    r"(^|\.)(Mixup|MixUp|CutMix|Cutmix|RandomErasing|RandomMixup|RandomCutmix|FastCollateMixup)$"
    r"|^(torchvision\.transforms|kornia\.augmentation|albumentations|imgaug\.augmenters|audiomentations"
    r"|monai\.transforms|torch_audiomentations|torchio\.transforms|keras_cv\.layers|keras\.layers|tensorflow\.keras\.layers|volumentations)"
    r"\.(\w+\.)*(Rand\w*|\w*Aug\w*|\w*Jitter|GaussianBlur|GaussNoise|AdditiveGaussianNoise|Fliplr|Flipud|\w*Flip|"
    r"Elastic\w*|OneOf|SomeOf|Sometimes|CoarseDropout|ShiftScaleRotate|TrivialAugmentWide)$"
)
#: Objects that run the ones they are made of.
SEQUENCES = re.compile(r"\.(Compose|Sequential|AugmentationSequential|ReplayCompose|ImageSequential)$")
#: Tables, whose methods and columns are tables again, and of which `sample` chooses rows.
TABLES = re.compile(r"^pandas\.")
#: Buffers of past transitions of libraries.
BUFFERS = re.compile(r"(^|\.)\w*(ReplayBuffer|ReplayMemory|PrioritizedBuffer)\w*$")
#: A name that says that a key of JAX is in it.
KEY_NAMES = re.compile(r"(^|_)(key|keys|rng|rngs|prng|subkey)\d*$|^k\d*$")

#: What a seed is given to.
SEEDING = re.compile(
    r"(^|\.)(manual_seed(_all)?|set_seed|set_random_seed|seed_everything|seed_all|PRNGKey|default_rng|RandomState|"
    r"SeedSequence|Random|seed|SeedGenerator|Rngs|set_all_seeds|fix_seed|setup_seed|enable_full_determinism)$"
    r"|^jax\.random\.key$"
)
SEED_NAME = re.compile(r"(^|_|\.)(manual)?seeds?(_|$|\d)|Seed$|^seed|_seed$|^random_state$", re.IGNORECASE)

#: What makes a parameter of what it is given, or is given parameters.
LEARNING = re.compile(
    r"^(Parameter|get_variable|add_weight|add_param|shared|UninitializedParameter|SGD|Adam\w*|RMSprop|Adagrad|Adadelta|"
    r"LBFGS|Lamb|Lion|NAdam|RAdam|\w*[oO]ptimi[sz]ers?\w*)$"
)

#: A name that says that an optimiser is in it.
OPTIMIZER = re.compile(words_like("opt|tx|solver", r"optim\w*") + "$")

#: Last parts of all names above: what is not called so is not looked at.
NAMES = frozenset(
    {call.rpartition(".")[2] for call in CALLS}
    | FILLS
    | ANY_METHODS.keys()
    | DISTRIBUTION_METHODS.keys()
    | KERAS_METHODS.keys()
    | {"rvs", "init", "init_with_output", "apply", "get_params", "KFold", "StratifiedKFold", "GroupKFold",
       "StratifiedGroupKFold", "bernoulli", "multinomial", "train_test_split", "frac"}
)  # fmt: skip


_COMPATIBLE = re.compile(r"^tensorflow\.compat\.v[12]\.")
#: Libraries that hand NumPy's functions on.
_NUMPY = re.compile(r"^(autograd|pennylane)\.numpy\.(?=random\.)")


def plain_name(dotted: str) -> str:
    """Return the dotted name that NumPy has for a function that another library hands on."""
    return _NUMPY.sub("numpy.", dotted)


def known_call(dotted: str) -> Gives | None:
    """Look a function up by its dotted name."""
    dotted = _COMPATIBLE.sub("tensorflow.", dotted).replace("tensorflow.keras.", "keras.")
    if dotted in CALLS:
        return CALLS[dotted]
    if DRAWN_FOLDS.search(dotted):
        return "data"
    return next((gives for pattern, gives in CALLS_BY_START if pattern.search(dotted)), None)


def methods_of(dotted: str) -> dict[str, Gives] | None:
    """Return the drawing methods of what a call makes, by the dotted name of what is called."""
    return next((methods for pattern, methods in GENERATORS if pattern.search(plain_name(dotted))), None)


def learns(call: ast.Call, name: str) -> bool:
    """Tell whether what is handed to a call becomes a parameter, or is one."""
    receiver = dotted_text(call.func.value).rpartition(".")[2] if isinstance(call.func, ast.Attribute) else ""
    if name == "Variable":
        return receiver in {"tf", "tensorflow"}
    return bool(LEARNING.match(name)) or (name == "init" and bool(OPTIMIZER.search(receiver)))


#: From an object to the call that made it, through so many names and calls.
MAX_DEPTH = 8
#: Callers, assignments and classes that are looked at for one name.
MAX_WAYS = 8
#: Parts of a list that are looked at.
MAX_PARTS = 20
#: Methods that give the object itself, or one like it.
_SAME = {"to", "cuda", "expand", "spawn", "manual_seed", "split", "get", "independent", "copy"}


class Makers:
    """Finds makers, for each expression once."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._known: dict[tuple[int, object], frozenset[str]] = {}
        #: Keys of `_known` are identities: what they are of has to stay.
        self._kept: list[object] = []

    def of(self, expr: ast.expr | None, scope: Scope, depth: int = 0) -> frozenset[str]:
        """Return the dotted names of the calls outside the project that may have made what `expr` is."""
        if expr is None or depth > MAX_DEPTH:
            return frozenset()
        key = (id(expr), None)
        if key not in self._known:
            self._known[key] = frozenset()
            self._kept.append(expr)
            self._known[key] = frozenset(self._of(expr, scope, depth))
        return self._known[key]

    def _of(self, expr: ast.expr, scope: Scope, depth: int) -> Iterator[str]:
        if isinstance(expr, ast.Call):
            yield from self._of_call(expr, scope, depth)
        elif isinstance(expr, ast.Name):
            definition = lookup(expr.id, scope)
            if definition is not None:
                home, bindings = definition
                yield from self._of_bindings(bindings, (id(home), expr.id), depth)
        elif isinstance(expr, ast.Attribute):
            yield from self._of_attribute(expr, scope, depth)
        elif isinstance(expr, (ast.Subscript, ast.NamedExpr, ast.Starred, ast.Await)):
            yield from self.of(expr.value, scope, depth + 1)
        elif isinstance(expr, ast.IfExp):
            yield from self.of(expr.body, scope, depth + 1) | self.of(expr.orelse, scope, depth + 1)
        elif isinstance(expr, (ast.BoolOp, ast.Tuple, ast.List)):
            for part in (expr.values if isinstance(expr, ast.BoolOp) else expr.elts)[:MAX_PARTS]:
                yield from self.of(part, scope, depth + 1)
        elif isinstance(expr, (ast.ListComp, ast.GeneratorExp)):
            yield from self.of(expr.elt, scope.module.inner.get(expr, scope), depth + 1)

    def _of_call(self, call: ast.Call, scope: Scope, depth: int) -> Iterator[str]:
        for ref in self.flow.value(call.func, scope).refs:
            if isinstance(ref, External) and not ref.made:
                yield ref.dotted
                if SEQUENCES.search(ref.dotted):
                    for argument in call.args[:MAX_WAYS]:
                        yield from self.of(argument, scope, depth + 1)
            elif isinstance(ref, Unit):
                for value, inner in (*ref.returns, *ref.yields)[:MAX_WAYS]:
                    yield from self.of(value, inner, depth + 1)
        if isinstance(call.func, ast.Attribute):
            makers = self.of(call.func.value, scope, depth + 1)
            yield from makers if call.func.attr in _SAME else filter(TABLES.match, makers)

    def _of_bindings(self, bindings: list[Binding], name: tuple[int, object], depth: int) -> frozenset[str]:
        if name not in self._known:
            self._known[name] = frozenset()
            self._kept.append(bindings)
            ways = [each for each in bindings if each.kind not in {"aug", "merge"}][:MAX_WAYS]
            self._known[name] = frozenset(maker for each in ways for maker in self._of_binding(each, depth + 1))
        return self._known[name]

    def _of_binding(self, binding: Binding, depth: int) -> Iterator[str]:
        if binding.kind == "param":
            yield from self._of_parameter(binding, depth)
        elif binding.kind == "import":
            ref = self.flow.program.resolve_dotted(binding.key, binding.scope.module)
            if isinstance(ref, tuple):
                inner = ref[0].unit.bindings.get(ref[1], [])
                yield from self._of_bindings(inner, (id(ref[0].unit), ref[1]), depth)
        elif binding.value is not None:
            yield from self.of(binding.value, binding.scope, depth)

    def _of_parameter(self, binding: Binding, depth: int) -> Iterator[str]:
        unit = binding.scope
        if not isinstance(unit, Unit) or depth > MAX_DEPTH:
            return
        for site in self.flow.program.callers(self.flow, unit)[:MAX_WAYS]:
            for argument in passed_for(site.node, unit, binding.key):
                yield from self.of(argument, site.scope, depth + 1)
        yield from self.of(binding.value, unit.parent or unit, depth + 1)

    def _of_attribute(self, expr: ast.Attribute, scope: Scope, depth: int) -> Iterator[str]:
        refs = self.flow.value(expr.value, scope).refs
        owners = [ref.cls for ref in refs if isinstance(ref, Instance)]
        for ref in refs:
            if isinstance(ref, ModuleIndex):
                yield from self._of_bindings(ref.unit.bindings.get(expr.attr, []), (id(ref.unit), expr.attr), depth)
        yield from filter(TABLES.match, self.of(expr.value, scope, depth + 1))
        if not refs:
            named = self.flow.program.attributes.get(expr.attr, [])
            owners = named if len(named) <= 2 else []
            bindings = scope.module.attribute_stores.get(expr.attr, [])
            yield from self._of_bindings(bindings, (id(scope.module), "." + expr.attr), depth)
        for owner in owners[:MAX_WAYS]:
            for cls in self.flow.program.family(self.flow, owner):
                bindings = [*cls.attributes.get(expr.attr, []), *cls.bindings.get(expr.attr, [])]
                yield from self._of_bindings(bindings, (id(cls), "." + expr.attr), depth)


_STARTS = ("make_", "random_", "stateless_", "sample_distorted")
_AUGMENTERS = re.compile(r"mix_?up|cut_?mix|aug|transform|erasing", re.IGNORECASE)
#: What a library's own boundary covers.
_FETCHES = {"__getitem__", "__getitems__", "__call__"}


@dataclass(frozen=True, eq=False)
class Drawn:
    """A call that draws."""

    site: CallSite
    #: Dotted name of what is called where it is known, else as it is written.
    call: str
    gives: Gives
    #: What the draw is put into, where it does not return it: ``idx`` of ``shuffle(idx)``, ``w`` of ``w.normal_()``.
    into: ast.expr | None = None

    @property
    def unit(self) -> Unit:
        """The function it stands in."""
        return self.site.scope.unit


def find_drawn(flow: Flow) -> list[Drawn]:
    """Return the calls of the running code that draw, in the order of files and lines."""
    finder = _Finder(flow)
    program = flow.program
    draws = [
        drawn
        for module in program.modules
        for unit in module.units
        if unit in program.reached
        for site in unit.calls
        if finder.may_draw(site) and (drawn := finder.look(site)) is not None
    ]
    return sorted(draws, key=lambda draw: (draw.unit.module.file, draw.site.node.lineno, draw.site.node.col_offset))


class _Finder:
    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.makers = Makers(flow)
        aliases = flow.program.aliases
        self.names = NAMES.union(*(aliases.get(name, ()) for name in NAMES))

    def may_draw(self, site: CallSite) -> bool:
        """Tell by the name alone whether a call is worth a look."""
        name = called_name(site.node)
        if name not in self.names and not name.startswith(_STARTS) and not name.endswith("Split"):
            return bool(_AUGMENTERS.search(name))
        return True

    def look(self, site: CallSite) -> Drawn | None:
        """Return the draw that a call is."""
        if site.scope.module is not self.flow.program.entry and under_main_guard(site.nesting):
            return None
        refs = self.flow.value(site.node.func, site.scope).refs
        if any(isinstance(ref, (Unit, ClassScope)) for ref in refs):
            return None
        for ref in refs:
            if isinstance(ref, External) and not ref.made and (source := self._by_dotted(site, ref.dotted)):
                return source
        if any(isinstance(ref, External) and not ref.made for ref in refs):
            return None
        if isinstance(site.node.func, ast.Attribute):
            return self._method(site, site.node.func)
        return self._augmenter(site)

    def _by_dotted(self, site: CallSite, dotted: str) -> Drawn | None:
        dotted = plain_name(dotted)
        gives = known_call(dotted)
        if SHUFFLED_FOLDS.search(dotted) and _says_true(site.node, "shuffle"):
            gives = "data"
        if gives is None:
            return None
        into = site.node.args[0] if dotted.endswith((".shuffle", ".random_shuffle")) and site.node.args else None
        return Drawn(site, dotted, gives, into)

    def _method(self, site: CallSite, func: ast.Attribute) -> Drawn | None:
        name, text = func.attr, text_of(func)
        if name in FILLS:
            return Drawn(site, f"Tensor.{name}", "values", func.value)
        if self._is_own(site, func):
            return None
        for maker in self.makers.of(func.value, site.scope):
            if name == "sample" and TABLES.match(maker):
                return Drawn(site, text, "order")
            methods = methods_of(maker)
            if methods is not None and name in methods:
                into = site.node.args[0] if name == "shuffle" and site.node.args else None
                return Drawn(site, text, methods[name], into)
            if name == "sample" and BUFFERS.search(maker):
                return Drawn(site, text, "batch")
        return self._named_method(site, func, text) or self._augmenter(site)

    def _is_own(self, site: CallSite, func: ast.Attribute) -> bool:
        refs = self.flow.value(func.value, site.scope).refs
        return any(
            isinstance(ref, Instance) and self.flow.program.method(self.flow, ref.cls, func.attr) for ref in refs
        )

    def _named_method(self, site: CallSite, func: ast.Attribute, text: str) -> Drawn | None:
        """Tell a method by its name and what it is called on, where the making of that is not found."""
        name, call = func.attr, site.node
        receiver = dotted_text(func.value).rpartition(".")[2]
        if name in ANY_METHODS and GENERATOR_NAMES.match(receiver):
            into = call.args[0] if name == "shuffle" and call.args else None
            return Drawn(site, text, ANY_METHODS[name], into)
        if name == "sample" and receiver in SPACES:
            return Drawn(site, text, "action")
        if name == "rsample" or (name == "sample" and DISTRIBUTION_NAMES.search(receiver)):
            return Drawn(site, text, "values")
        if name == "sample" and {"frac", "random_state"} & {key.arg for key in call.keywords}:
            return Drawn(site, text, "order")
        if name == "rvs":
            return Drawn(site, text, "values")
        if name in {"multinomial", "bernoulli"}:
            return Drawn(site, f"Tensor.{name}", "integers" if name == "multinomial" else "values")
        if name == "train_test_split":
            return Drawn(site, text, "data")
        return self._keyed(site, func, text)

    def _keyed(self, site: CallSite, func: ast.Attribute, text: str) -> Drawn | None:
        """Find the parameters, and the stochastic layers, of a model that is handed its keys."""
        call = site.node
        if func.attr in {"init", "init_with_output"} and call.args:
            first = call.args[0]
            key = dotted_text(first.func if isinstance(first, ast.Call) else first).rpartition(".")[2]
            if KEY_NAMES.search(key) or key in {"PRNGKey", "key", "next_rng_key"}:
                return Drawn(site, text, "init")
        if func.attr == "apply" and any(key.arg == "rngs" for key in call.keywords):
            return Drawn(site, text, "layers")
        return None

    def _augmenter(self, site: CallSite) -> Drawn | None:
        """Find the call of an object of a library that augments."""
        func = site.node.func
        fetches = site.scope.unit.owner is not None and site.scope.unit.name in _FETCHES
        if fetches or not site.node.args or not _AUGMENTERS.search(called_name(site.node)):
            return None
        if any(AUGMENTERS.search(maker) for maker in self.makers.of(func, site.scope)):
            return Drawn(site, text_of(func), "augment")
        return None


def _says_true(call: ast.Call, name: str) -> bool:
    return any(
        key.arg == name and not (isinstance(key.value, ast.Constant) and not key.value.value) for key in call.keywords
    )


#: How many arguments stand before the size, where a function of NumPy draws one number without it.
_BEFORE_SIZE = {
    **dict.fromkeys(("rand", "randn", "random", "random_sample", "ranf", "standard_normal", "standard_cauchy"), 0),
    **dict.fromkeys(("standard_exponential", "bytes"), 0),
    **dict.fromkeys(("permutation", "permuted"), 0),
    **dict.fromkeys(
        ("choice", "poisson", "exponential", "chisquare", "geometric", "rayleigh", "standard_t", "pareto"), 1
    ),
    **dict.fromkeys(("pareto", "weibull", "zipf", "power", "logseries", "standard_gamma"), 1),
    **dict.fromkeys(("triangular", "hypergeometric", "noncentral_f"), 3),
}
_OF_TENSORS = re.compile(r"^(torch|jax|tensorflow|keras|Tensor)\.")
_OF_ONE_NUMBER = re.compile(r"^random\.|(^|\.)(rvs|random_integers)$")


def gives_array(drawn: Drawn) -> bool:
    """Tell whether a draw gives an array or fills one, not one number."""
    name, call = drawn.call.rpartition(".")[2], drawn.site.node
    if drawn.into is not None or {"size", "shape"} & {key.arg for key in call.keywords}:
        return True
    if name in {"multinomial", "dirichlet", "multivariate_normal"} or _OF_TENSORS.match(drawn.call):
        return True
    if drawn.call.startswith(("numpy.", "cupy.")) or name in NUMPY_METHODS:
        return not _OF_ONE_NUMBER.search(drawn.call) and len(call.args) > _BEFORE_SIZE.get(name, 2)
    return not _OF_ONE_NUMBER.search(drawn.call)


# Code that a compiler reads: a call to an unknown function would break it, or cut it into other pieces.

_READERS = re.compile(r"^torch\.(compile|jit\.script(_if_tracing)?)$|^torch\._dynamo\.optimize$")
_FUNCTION_READERS = re.compile(
    r"^(numba|nb)\.\w+$|^tensorflow\.(function|autograph\.\w+)$|^torch\.(compile|jit\.script)$"
)
_KERAS = re.compile(r"(^|\.)keras(\.\w+)*\.(Model|Layer|Sequential)$|^tensorflow\.(Module|keras)\b")
_MODULES = re.compile(r"(^|\.)(nn\.Module|\w*LightningModule|PreTrainedModel)$|^torch\.nn\.")


class Compiled:
    """Tells which functions compilers read, as far as calls say so; decorators are seen when a file is written."""

    def __init__(self, flow: Flow, graph: CallGraph) -> None:
        self.flow = flow
        self.graph = graph
        self.units = graph.closure(list(self._roots()), constructors=False)

    def _roots(self) -> set[Unit]:
        units: set[Unit] = set()
        modules = False
        for unit in self.flow.program.reached:
            for site in unit.calls:
                name = called_name(site.node)
                if name in {"compile", "script", "optimize", "njit", "jit", "function", "vectorize", "map"}:
                    dotted = [
                        ref.dotted for ref in self.flow.value(site.node.func, site.scope).refs
                        if isinstance(ref, External) and not ref.made
                    ]  # fmt: skip
                    modules = modules or any(_READERS.search(path) for path in dotted) or _compiles_itself(site.node)
                    if any(_FUNCTION_READERS.search(path) for path in dotted) or _maps_dataset(site.node, dotted):
                        units |= self._functions(site.node, site.scope)
        for cls in self.flow.program.classes:
            if self._is_read(cls, modules):
                units |= {unit for name, unit in cls.methods.items() if name not in {"__init__", "build"}}
        return units & self.flow.program.reached

    def _functions(self, call: ast.Call, scope: object) -> set[Unit]:
        refs = [ref for argument in call.args for ref in self.flow.value(argument, scope).refs]  # type: ignore[arg-type]
        return {ref for ref in refs if isinstance(ref, Unit)} | {
            unit for ref in refs if isinstance(ref, Instance) for unit in ref.cls.methods.values()
        }

    def _is_read(self, cls: ClassScope, modules: bool) -> bool:
        bases = self.flow.program.external_bases(self.flow, cls)
        if any(_KERAS.search(name) for name in bases):
            return True
        return modules and any(_MODULES.search(name) for name in bases)


def _compiles_itself(call: ast.Call) -> bool:
    """Whether it is ``model.compile()`` of PyTorch, not that of Keras."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "compile" or call.args:
        return False
    return {key.arg for key in call.keywords} <= {"mode", "fullgraph", "dynamic", "backend", "options", "disable"}


def _maps_dataset(call: ast.Call, dotted: list[str]) -> bool:
    """Whether a function is given to ``Dataset.map`` of TensorFlow, which reads its source."""
    keywords = {key.arg for key in call.keywords}
    return called_name(call) == "map" and (
        "num_parallel_calls" in keywords or any(name.startswith("tensorflow.") for name in dotted)
    )
