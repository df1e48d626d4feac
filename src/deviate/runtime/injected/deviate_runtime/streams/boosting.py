"""XGBoost and LightGBM: trees draw rows and columns by seeds among the parameters, as code of C++ does.

Where the program gives none, the library's own stands, which is the same in every run; it is replaced like one of the
program's.
"""

import functools
import sys

from .seeds import derived, keeps_seed, record_seed, replace_everywhere
from .sklearn import is_handed_on, is_number

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
