"""TensorFlow: the seeds of its operations, which one function hands out.

A random operation is made with two numbers: the graph's seed and its own. Under control both derive from the factor
that draws as the operation is made; kernels go on from there by themselves.
"""

import os
import sys
import time
import types
import zlib

from ...factors import DATA, INIT, LAYERS
from ...patching import replaces
from ..boundaries import drawing
from ..derive import mix
from ..generators import Generator
from ..seeds import Derived, program_frame, record_source
from . import data, objects

#: Seeds of operations lie below.
LIMIT = 2**31 - 1

#: Operations made here run in kernels that are kept by their seeds, and go on drawing each time.
KEPT_KERNELS = "tensorflow.python.ops.random_ops"


def patch_tensorflow(tensorflow, streams):
    """Have operations, generator objects, modules and data sets draw from the factors' streams."""
    random_seed = sys.modules["tensorflow.python.framework.random_seed"]
    if hasattr(random_seed.get_seed, "_deviate"):
        return
    generator = Operations(streams)
    generator.start()
    wrap_get_seed(random_seed, streams, generator)
    wrap_set_seed(tensorflow, random_seed, streams, generator)
    watch_kernels(generator)
    objects.patch_objects(tensorflow, streams)
    wrap_subclasses(tensorflow.Module, streams)
    data.patch_datasets(tensorflow, streams, generator)


class Operations(Generator):
    """Hands out the seeds of operations. A state is the graph's seed and the number of operations so far."""

    name = "tensorflow"
    restarts_in_child = False

    def __init__(self, streams):
        super().__init__(streams)
        self.now = [0, 0]
        #: How often kernels that were kept started anew.
        self.generation = 0

    def live(self):
        return self.now

    def put(self, state):
        self.now = state

    def fresh(self, seed):
        return [int(seed) % LIMIT, 0]

    def copy(self, state):
        return list(state)

    def mark(self, state):
        # Each operation enters the fingerprint by itself, with its seeds.
        return 0

    def reset(self, key):
        self.generation = 0
        super().reset(key)

    def record(self, seeds, seeded=None):
        """Take an operation into the fingerprint of the factor that draws."""
        factor = self.streams.current
        sources = self.streams.fingerprints.of(factor).sources
        sources[self.name] = self.seeded
        if seeded is not None:
            record_source(self.streams, factor, "tensorflow operation", seeded)
        if None in seeds:
            # The system seeds: other draws in each run.
            seeds = (os.getpid(), time.time())
        self.streams.fingerprints.add_draw(factor, mix(*seeds))


def wrap_get_seed(random_seed, streams, generator):
    """Replace the function that hands out the seeds of operations."""
    plain = random_seed.get_seed

    @replaces(random_seed, "get_seed")
    def get_seed(op_seed):
        if type(op_seed) is Derived:
            return int(op_seed) % LIMIT, LIMIT
        frame = sys._getframe(1)
        seeded = None
        try:
            if op_seed is not None and not hasattr(op_seed, "dtype"):
                seeded = locate_operation_seed(streams, op_seed, frame)
            if not is_derived(streams, generator, op_seed):
                seeds = plain(op_seed)
            else:
                seeds = derive(streams, generator, op_seed, frame)
            generator.record(seeds, seeded)
        except Exception as error:
            streams.process.events.note("draw-not-told-apart", "tensorflow: %r" % (error,), "tensorflow")
            return plain(op_seed)
        return seeds


def locate_operation_seed(streams, op_seed, frame):
    """Return the location at which the program seeds an operation; seeds that Keras passes on are recorded already."""
    while frame is not None and frame.f_globals.get("__name__", "").startswith("tensorflow."):
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__", "").startswith(("keras.", "tf_keras.")):
        return None
    caller = program_frame(streams, frame)
    return None if caller is None else streams.locate_seed("seed of an operation", op_seed, caller)


def is_derived(streams, generator, op_seed):
    """Tell whether an operation's seeds derive from its factor's; data that the author's seeds fix stay as they are."""
    if not streams.controls or hasattr(op_seed, "dtype"):
        return False
    by_author = op_seed is not None or generator.key[0] == "given"
    return not (streams.current == DATA and DATA not in streams.varying and by_author)


def derive(streams, generator, op_seed, frame):
    """Return the two seeds of an operation."""
    state = generator.live()
    if op_seed is not None:
        return mix(state[0], "operation") % LIMIT, int(op_seed) % LIMIT or LIMIT
    state[1] += 1
    if frame.f_globals.get("__name__") == KEPT_KERNELS and executes_eagerly():
        # The kernel is kept and goes on; seeds of its own for each call would make, and keep, a kernel for each.
        return state[0], zlib.crc32(b"%s %d" % (frame.f_code.co_name.encode(), generator.generation)) % LIMIT
    return state[0], state[1] % LIMIT


def executes_eagerly():
    """Tell whether operations run as they are called."""
    return sys.modules["tensorflow.python.eager.context"].executing_eagerly()


def wrap_set_seed(tensorflow, random_seed, streams, generator):
    """Replace the functions that set the global seed."""
    plain = random_seed.set_seed

    @replaces(tensorflow.random, "set_seed", random_seed)
    def set_seed(seed):
        # Kept as the author gives it: nothing but `get_seed` makes draws of it.
        plain(seed)
        return streams.reseed("tensorflow.random.set_seed", seed, [generator], None, sys._getframe(1))

    old, plain_old = tensorflow.compat.v1, random_seed.set_random_seed

    @replaces(random_seed, "set_random_seed", old, old.random)
    def set_random_seed(seed):
        plain_old(seed)
        call = "tensorflow.compat.v1.set_random_seed"
        return streams.reseed(call, seed, [generator], None, sys._getframe(1))


def watch_kernels(generator):
    """Give operations other seeds once the kernels were dropped that kept where the draws stood."""
    context = sys.modules["tensorflow.python.eager.context"].Context
    plain = getattr(context, "clear_kernel_cache", None)
    if plain is None:
        return

    @replaces(context, "clear_kernel_cache")
    def clear_kernel_cache(self):
        generator.generation += 1
        return plain(self)


def wrap_subclasses(cls, streams):
    """Have the construction of the program's modules draw for `init`, their calls for `layers`."""
    plain = cls.__init_subclass__

    def __init_subclass__(cls, **kwargs):
        # That of `object` is bound already.
        getattr(plain, "__func__", lambda cls, **kwargs: plain(**kwargs))(cls, **kwargs)
        if not cls.__module__.startswith(("keras.", "tf_keras.", "tensorflow.")):
            for name, factor in (("__init__", INIT), ("__call__", LAYERS)):
                own = vars(cls).get(name)
                if isinstance(own, types.FunctionType):
                    setattr(cls, name, drawing(streams, factor, own))

    cls.__init_subclass__ = classmethod(__init_subclass__)
