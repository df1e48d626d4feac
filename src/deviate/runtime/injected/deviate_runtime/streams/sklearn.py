"""scikit-learn, XGBoost and LightGBM: ``random_state`` and ``seed``, by what they are given to.

Splits, generated data and shuffled copies of data are `data`; what an estimator draws as it is fitted is `other`.

Boosted trees draw rows and columns by seeds among the parameters, as code of C++ does. Where the program gives none,
the library's own stands, which is the same in every run; it is replaced like one of the program's.
"""

import functools
import sys

from ..factors import DATA, OTHER, SHUFFLE
from ..patching import replaces
from .seeds import derived, keeps_seed, record_seed, replace_everywhere

#: Modules whose draws make or split data.
OF_DATA = ("sklearn.model_selection._split", "sklearn.datasets")


def patch_check(module, streams):
    """Replace the seeds that scikit-learn is given."""
    plain = module.check_random_state

    @functools.wraps(plain)
    def check_random_state(seed):
        frame = sys._getframe(1)
        try:
            factor = factor_at(streams, frame)
            if seed is None and factor != streams.current:
                return unseeded(streams, factor, plain)
            if is_number(seed) and not is_handed_on(streams, frame, seed):
                owner = frame.f_locals.get("self")
                name = frame.f_code.co_name if owner is None else type(owner).__name__
                record_seed(streams, factor, "sklearn", "random_state of " + name, int(seed), frame)
                if not keeps_seed(streams, factor):
                    seed = int(derived(streams, factor, int(seed)))
        except Exception as error:
            streams.process.events.note("draw-not-told-apart", "sklearn: %r" % (error,), "sklearn")
        return plain(seed)

    replace_everywhere(plain, check_random_state, "sklearn")


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


def unseeded(streams, factor, plain):
    """Return what draws from NumPy's global generator for `factor`."""
    generator = next((known for known in streams.generators if known.name == "numpy"), None)
    if generator is None or not streams.controls:
        return plain(None)
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
