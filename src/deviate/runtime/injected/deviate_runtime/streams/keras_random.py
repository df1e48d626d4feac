"""Keras 3: seed generators and initialisers.

Keras draws from states that begin with a seed: given by the program, or drawn from `random`. A seed belongs to the
purpose of what holds it: an initialiser, a layer, a layer that transforms data.
"""

import functools
import sys

from .libraries import INIT, Derived, derived, keeps_given, replace_everywhere, tell_seed
from .streams import AUGMENT, LAYERS, OTHER

#: Frames between a seed and what holds it.
DEEPEST = 12


def attend(module, streams):
    """Attend to ``keras.src.random.seed_generator``, before others import its functions by name."""
    if hasattr(module.SeedGenerator.__init__, "_deviate"):
        return
    wrap_seed_generator(module.SeedGenerator, streams)
    wrap_default_seed(module, streams)
    wrap_draw_seed(module, streams)
    wrap_global(module, streams)


def purpose(item):
    """Return the factor of what `item`, of the program or of Keras, draws; None where it is no holder of seeds."""
    for cls in type(item).__mro__:
        module = cls.__module__
        if not module.startswith(("keras.", "tf_keras.")):
            continue
        if ".initializers" in module:
            return INIT
        if ".layers.preprocessing" in module or (module.endswith("legacy.layers") and "Random" in cls.__name__):
            return AUGMENT
        if cls.__name__ == "Layer":
            return LAYERS
    return None


def holder(frame, streams):
    """Return the factor for which a seed is drawn or given at `frame`."""
    for _ in range(DEEPEST):
        if frame is None:
            break
        factor = purpose(frame.f_locals.get("self"))
        if factor is not None:
            return factor
        frame = frame.f_back
    return streams.current


def wrap_seed_generator(cls, streams):
    """Have each seed generator begin with a seed of its holder's factor."""
    plain = cls.__init__

    @functools.wraps(plain)
    def __init__(self, seed=None, *args, **kwargs):
        frame = sys._getframe(1)
        factor = holder(frame, streams)
        used = replaced(streams, factor, "seed of keras.random.SeedGenerator", seed, frame)
        before = streams.enter(factor)
        try:
            plain(self, used, *args, **kwargs)
        finally:
            streams.leave(before)
        self._initial_seed = seed

    __init__._deviate = True
    cls.__init__ = __init__


def replaced(streams, factor, call, seed, frame):
    """Return the seed that takes the place of one the program gives."""
    if type(seed) is not int:
        return seed
    tell_seed(streams, factor, "keras", call, seed, frame)
    return Derived(seed) if keeps_given(streams, factor) else derived(streams, factor, seed)


def wrap_default_seed(module, streams):
    """Draw seeds that nobody gives for the factor of their holder."""
    plain = module.make_default_seed

    @functools.wraps(plain)
    def make_default_seed():
        before = streams.enter(holder(sys._getframe(1), streams))
        try:
            return Derived(plain())
        finally:
            streams.leave(before)

    replace_everywhere(plain, make_default_seed, "keras")


def wrap_draw_seed(module, streams):
    """Replace constant seeds that the program gives to functions of ``keras.random``."""
    plain = module.draw_seed

    @functools.wraps(plain)
    def draw_seed(seed):
        if type(seed) is Derived:
            return plain(int(seed))
        return plain(replaced(streams, streams.current, "seed of keras.random", seed, sys._getframe(1)))

    replace_everywhere(plain, draw_seed, "keras")


def wrap_global(module, streams):
    """Keep one global seed generator per factor, among the states that Keras resets as it is seeded."""
    plain = module.global_seed_generator
    name = module.GLOBAL_SEED_GENERATOR

    @functools.wraps(plain)
    def global_seed_generator():
        if streams.current == OTHER or not streams.controls:
            return plain()
        module.GLOBAL_SEED_GENERATOR = "%s_%s" % (name, streams.current)
        try:
            return plain()
        finally:
            module.GLOBAL_SEED_GENERATOR = name

    replace_everywhere(plain, global_seed_generator, "keras")
