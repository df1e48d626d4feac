"""``keras.utils.set_random_seed``, which seeds `random`, NumPy and the backend."""

import functools
import sys

from .libraries import outside, replace_everywhere

#: What the function seeds; PyTorch where it is the backend.
SEEDED = ("random", "numpy", "tensorflow")


def attend(module, streams):
    """Attend to ``keras.src.utils.rng_utils``, or its like in ``tf_keras``: one call, told as one."""
    plain = getattr(module, "set_random_seed", None)
    if plain is None or hasattr(plain, "_deviate"):
        return

    @functools.wraps(plain)
    def set_random_seed(seed):
        frame = sys._getframe(1)
        result = plain(seed)
        try:
            if streams.controls:
                forget_globals()
            place = outside(streams, frame)
            if place is not None:
                generators = seeded_generators(streams)
                streams.reseed("keras.utils.set_random_seed", seed, generators, empty, place)
        except Exception as error:
            streams.process.events.note("seed-not-replaced", "keras.utils.set_random_seed: %r" % (error,), "keras")
        return result

    set_random_seed._deviate = True
    replace_everywhere(plain, set_random_seed, module.__name__.partition(".")[0])


def seeded_generators(streams):
    """Return the generators that Keras seeds."""
    keras = sys.modules.get("keras.src.backend")
    with_torch = keras is not None and keras.backend() == "torch"
    return [one for one in streams.generators if one.name in SEEDED or (with_torch and one.name.startswith("torch"))]


def forget_globals():
    """Have the factors' global seed generators made anew, as Keras does with its own."""
    state = sys.modules.get("keras.src.backend.common.global_state")
    names = vars(getattr(state, "GLOBAL_STATE_TRACKER", None) or empty)
    for name in [name for name in names if name.startswith("global_seed_generator")]:
        state.set_global_attribute(name, None)
    legacy = sys.modules.get("tf_keras.src.backend")
    if legacy is not None:
        # A generator of its own, the same for all factors; without it seeds are drawn from `random`.
        legacy._SEED_GENERATOR.generator = None


def empty():
    """Do nothing."""
