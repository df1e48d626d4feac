"""TensorFlow's generator objects and initialisers. Each draws for the factor that makes it."""

import functools
import sys

from ...factors import INIT
from ...patching import replaces
from ..seeds import Derived, derived, record_seed, replaced


def patch_objects(tensorflow, streams):
    """Replace the seeds of generator objects and initialisers."""
    objects = sys.modules.get("tensorflow.python.ops.stateful_random_ops")
    if objects is not None:
        wrap_from_seed(objects.Generator, streams)
        wrap_reset(objects.Generator, streams)
        wrap_unseeded(objects.Generator, streams)
        if streams.controls:
            wrap_global(tensorflow, objects)
    initializers = sys.modules.get("tensorflow.python.ops.init_ops_v2")
    if initializers is not None:
        wrap_initializer(initializers._RandomGenerator, streams)


def object_seed(streams, method, seed, frame):
    """Return the seed that a generator object gets in place of the one given to `method`."""
    if type(seed) is Derived or not isinstance(seed, int):
        return seed
    name = "tensorflow.random.Generator"
    used = replaced(streams, streams.current, name, "%s.%s" % (name, method), seed, frame)
    return used if used is seed else int(used)


def wrap_from_seed(cls, streams):
    """Replace the seed of a generator."""
    plain = vars(cls)["from_seed"].__func__

    @functools.wraps(plain)
    def from_seed(cls, seed, alg=None):
        return plain(cls, object_seed(streams, "from_seed", seed, sys._getframe(1)), alg)

    cls.from_seed = classmethod(from_seed)


def wrap_reset(cls, streams):
    """Replace the seed that a generator is given later on."""
    plain = cls.reset_from_seed

    @replaces(cls, "reset_from_seed")
    def reset_from_seed(self, seed):
        return plain(self, object_seed(streams, "reset_from_seed", seed, sys._getframe(1)))


def wrap_unseeded(cls, streams):
    """Derive the state that a generator would get from the system."""
    plain = vars(cls)["from_non_deterministic_state"].__func__

    @functools.wraps(plain)
    def from_non_deterministic_state(cls, alg=None):
        if not streams.controls:
            return plain(cls, alg)
        factor = streams.current
        seed = derived(streams, factor, None, "tensorflow.random.Generator")
        streams.fingerprints.add_draw(factor, seed)
        return cls.from_seed(seed, alg)

    cls.from_non_deterministic_state = classmethod(from_non_deterministic_state)


def wrap_global(tensorflow, objects):
    """Make the global generator where deterministic operations would have the program make it."""
    plain = objects.get_global_generator

    @functools.wraps(plain)
    def get_global_generator():
        if getattr(objects, "global_generator", None) is None:
            objects.set_global_generator(objects.Generator.from_non_deterministic_state())
        return plain()

    for module in (objects, tensorflow.random, tensorflow.random.experimental):
        module.get_global_generator = get_global_generator


def wrap_initializer(cls, streams):
    """Replace the seed that the program gives to an initialiser."""
    plain = cls.__init__

    @replaces(cls, "__init__")
    def __init__(self, seed=None):
        plain(self, seed)
        if isinstance(seed, int):
            record_seed(streams, INIT, "tensorflow.initializers", "seed of an initializer", seed, sys._getframe(1))
            if streams.controls:
                self.seed = [int(derived(streams, INIT, seed)), 0]
