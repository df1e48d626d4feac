"""Libraries whose functions are given a seed: scikit-learn and boosted trees, data sets of Hugging Face, Gymnasium.

``random_state`` and ``seed`` count by what they are given to. Splits, generated data and shuffled copies of data are
`data`; what an estimator draws as it is fitted is `other`.

Boosted trees draw rows and columns by seeds among the parameters, as code of C++ does. Where the program gives none,
the library's own stands, which is the same in every run; it is replaced like one of the program's.

Data sets of Hugging Face: what is done before the training draws for ``data``, later orders for ``shuffle``.
`Dataset.map` and `filter` draw in functions of the program's: for ``data`` before the training's loop, for ``augment``
in it.

Environments of Gymnasium and Gym, which make a generator from the seed that the program resets them with.
"""

import functools
import sys

from ..factors import AUGMENT, DATA, INIT, LAYERS, OTHER, SHUFFLE
from ..patching import replaces
from .numpy import make
from .seeds import derived, keeps_seed, program_frame, record_seed, replace_everywhere, replaced

#: Modules whose draws make or split data.
OF_DATA = ("sklearn.model_selection._split", "sklearn.datasets")

#: Solvers of linear models that draw nothing of the generator that they are given.
DRAWLESS = ("lbfgs", "newton-cg", "newton-cholesky")


def patch_check(module, streams):
    """Replace the seeds that scikit-learn is given."""
    plain = module.check_random_state

    @functools.wraps(plain)
    def check_random_state(seed):
        frame = sys._getframe(1)
        try:
            if is_number(seed) and streams.callers.is_program(frame):
                item, numpy_random = plain(seed), sys.modules["numpy.random"]
                cls, call = numpy_random.RandomState.__base__, "sklearn.utils.check_random_state"
                make(streams, item, cls, numpy_random.MT19937, call, seed, seed, frame)
                return item
            factor = factor_at(streams, frame)
            generator = generator_of(streams, seed) if factor != streams.current else None
            if generator is not None:
                return sharing(streams, factor, generator)
            drawn = frame.f_locals.get("solver") not in DRAWLESS
            if drawn and is_number(seed) and not is_handed_on(streams, frame, seed):
                call = "random_state of " + given_to(streams, frame, seed)
                record_seed(streams, factor, "sklearn", call, int(seed), frame)
                if not keeps_seed(streams, factor):
                    seed = int(derived(streams, factor, int(seed)))
        except Exception as error:
            streams.process.events.note("draw-not-told-apart", "sklearn: %r" % (error,), "sklearn")
        return plain(seed)

    replace_everywhere(plain, check_random_state, "sklearn")


def given_to(streams, frame, seed):
    """Return what the program gave a seed to: the outermost estimator or function of the library that has it."""
    name = frame.f_code.co_name
    while frame is not None and not streams.callers.is_program(frame):
        owner = frame.f_locals.get("self")
        if is_equal(getattr(owner, "random_state", None), seed):
            name = type(owner).__name__
        elif owner is None and is_equal(frame.f_locals.get("random_state"), seed):
            name = frame.f_code.co_name
        frame = frame.f_back
    return name


def is_number(seed):
    """Tell whether a seed is a number, no generator."""
    return isinstance(seed, int) or type(seed).__name__ in ("int32", "int64", "uint32", "uint64")


def is_handed_on(streams, frame, seed):
    """Tell whether a seed is not the program's, but drawn by an estimator for what is within it.

    A further thread in which no function of the program runs is an estimator's, which fits its members in it.
    """
    owners = []
    while frame is not None and not streams.callers.is_program(frame):
        owner = frame.f_locals.get("self")
        if hasattr(owner, "random_state") and not any(owner is known for known in owners):
            owners.append(owner)
        frame = frame.f_back
    if frame is None and not streams.is_first_thread():
        return True
    return len(owners) > 1 or (len(owners) == 1 and not is_equal(owners[0].random_state, seed))


def is_equal(first, second):
    """Tell whether two seeds are the same number."""
    return is_number(first) and int(first) == int(second)


def factor_at(streams, frame):
    """Return the factor of draws that scikit-learn makes in `frame`, unless another one draws now."""
    if streams.current != OTHER:
        return streams.current
    return DATA if frame.f_globals.get("__name__", "").startswith(OF_DATA) else OTHER


def generator_of(streams, seed):
    """Return the generator that stands for a seed: one the program made, NumPy's global one for None; else None."""
    if not streams.controls:
        return None
    if seed is None:
        return next((known for known in streams.generators if known.name == "numpy"), None)
    return streams.made.get(id(seed)) if type(seed).__name__ == "RandomState" else None


def sharing(streams, factor, generator):
    """Return what draws from a generator for `factor`, which is not the one that draws now."""
    state = generator.state(factor)
    streams.fingerprints.of(factor).sources[generator.name] = generator.seeded
    # It need not draw: folds in their order are given a generator, too.
    streams.fingerprints.sample(factor)
    random_state = sys.modules["numpy.random"].RandomState
    # Not one of the program's: it shares the state of the factor.
    return random_state.__base__(state)


def patch_copies(module, streams):
    """Have copies of data shuffled for `data` before the training's loop, for `shuffle` in it."""
    for name in ("shuffle", "resample"):
        wrap_shuffle(module, name, streams)


def wrap_shuffle(module, name, streams):
    """Have a function that copies data draw for the factor of the moment."""
    plain = getattr(module, name)

    @replaces(module, name)
    def shuffled(*args, **kwargs):
        factor = streams.current
        if factor == OTHER:
            factor = SHUFFLE if streams.process.iteration >= 0 else DATA
        return streams.call(factor, plain, *args, **kwargs)


#: What the seed is called among the parameters of a library; the first name is the one that is set.
GENERAL = {"xgboost": ("seed", "random_state"), "lightgbm": ("seed", "random_seed", "random_state")}

#: Seeds of one purpose each; those that are not given follow from the general one.
FURTHER = {
    "lightgbm": (
        *("bagging_seed", "bagging_fraction_seed", "feature_fraction_seed", "extra_seed", "drop_seed"),
        *("objective_seed", "data_random_seed", "data_seed"),
    )
}

#: What stands in the record for the seed of a library that is given none.
DEFAULT = 0


def patch_training(module, streams):
    """Replace the seeds among the parameters that trees are grown with."""
    plain, library = module.train, module.__name__.partition(".")[0]
    if hasattr(plain, "_deviate"):
        return

    @functools.wraps(plain)
    def train(*args, **kwargs):
        try:
            if args:
                args = (with_seeds(streams, library, args[0], sys._getframe(1)), *args[1:])
            elif "params" in kwargs:
                kwargs["params"] = with_seeds(streams, library, kwargs["params"], sys._getframe(1))
        except Exception as error:
            streams.process.events.note("draw-not-told-apart", "%s: %r" % (library, error), library)
        return plain(*args, **kwargs)

    train._deviate = True
    replace_everywhere(plain, train, library)


def with_seeds(streams, library, params, frame):
    """Return parameters with the seeds of the factor that draws."""
    if not isinstance(params, dict):
        return params
    factor = streams.current
    own = dict(params)

    def take(name, call, seed):
        record_seed(streams, factor, library, "%s of %s.train" % (call, library), seed, frame)
        if not keeps_seed(streams, factor):
            own[name] = int(derived(streams, factor, seed))

    for name in (*GENERAL[library], *FURTHER.get(library, ())):
        seed = params.get(name)
        if is_number(seed) and not is_handed_on(streams, frame, seed):
            take(name, name, int(seed))
    if all(params.get(name) is None for name in GENERAL[library]):
        take(GENERAL[library][0], "default seed", DEFAULT)
    return own


#: What a pickled function of the program's contains that draws.
DRAWING = b"__dv_draw__"


def patch_fingerprints(module, streams):
    """Have no run read cached results of functions that drew in another one.

    Names of such results that are drawn at random are drawn by the system; those made of a function that draws have the
    process in them.
    """
    from random import SystemRandom

    if hasattr(module, "fingerprint_rng"):
        module.fingerprint_rng = SystemRandom()
    if not streams.controls or not hasattr(module.Hasher, "hash_bytes"):
        return
    plain, salt = module.Hasher.hash_bytes, b"%x" % SystemRandom().getrandbits(64)

    @functools.wraps(plain)
    def hash_bytes(cls, value):
        parts = [value] if isinstance(value, bytes) else list(value)
        return plain([*parts, salt] if any(DRAWING in part for part in parts) else value)

    module.Hasher.hash_bytes = classmethod(hash_bytes)


def patch_datasets(module, streams):
    """Have the methods of data sets draw for their factors."""
    wrap(module.Dataset, "train_test_split", streams, DATA, DATA)
    wrap(module.Dataset, "shuffle", streams, DATA, SHUFFLE)
    for name in ("map", "filter"):
        wrap(module.Dataset, name, streams, DATA, AUGMENT)


def patch_iterables(module, streams):
    """Have data sets that are read as they come be shuffled for ``shuffle``."""
    wrap(module.IterableDataset, "shuffle", streams, SHUFFLE, SHUFFLE)


def wrap(cls, name, streams, before, within):
    """Have a method draw for `before` or `within` the training's loop, unless another factor draws."""
    plain = vars(cls).get(name)
    if plain is None or hasattr(plain, "_deviate"):
        return
    call = "%s.%s" % (cls.__name__, name)

    @replaces(cls, name)
    def method(self, *args, **kwargs):
        factor = streams.current
        if factor == OTHER:
            factor = before if streams.process.iteration < 0 else within
        if is_number(kwargs.get("seed")):
            seed = int(kwargs["seed"])
            kwargs["seed"] = int(replaced(streams, factor, "datasets", call, seed, sys._getframe(1)))
        elif name == "shuffle" and args and is_number(args[0]):
            seed = int(args[0])
            args = (int(replaced(streams, factor, "datasets", call, seed, sys._getframe(1))), *args[1:])
        return streams.call(factor, plain, self, *args, **kwargs)


def patch_seeding(seeding, streams):
    """Replace the seed of an environment or of a space by one of the factor that draws.

    It initializes no parameters and is no layer, also where a module makes it in its constructor: that is `other`.
    """
    plain = seeding.np_random
    if hasattr(plain, "_deviate"):
        return
    call = seeding.__name__ + ".np_random"

    @replaces(seeding, "np_random")
    def np_random(seed=None):
        frame = program_frame(streams, sys._getframe(1))
        if frame is None:
            return plain(seed)
        factor = OTHER if streams.current in (INIT, LAYERS) else streams.current
        if seed is not None:
            record_seed(streams, factor, "environment", call, seed, frame)
        if not streams.controls:
            return plain(seed)
        # The second value is the seed that was used: the program gets the one that it gave.
        generator, used = plain(streams.seed(factor, streams.key(seed, call)))
        return generator, used if seed is None else seed
