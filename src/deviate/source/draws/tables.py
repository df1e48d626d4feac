"""Calls of libraries that draw random numbers, by dotted name or by the name of the method."""

from __future__ import annotations

import ast
import re
from typing import Literal

from deviate.lexicon.words import words_like
from deviate.source.syntax import dotted_text

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
