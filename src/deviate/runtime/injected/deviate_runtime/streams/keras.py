"""Keras 3, Keras 2 and `tf_keras`: seed generators, layers, the order of the data, optimizers.

Keras draws from states that begin with a seed: given by the program, or drawn from `random`. A seed belongs to the
purpose of what holds it: an initialiser, a layer, a layer that transforms data. Many layers make a generator and never
draw from it, as their rate is 0 or they are not trained; so a seed counts as drawn where its generator first is.
"""

import atexit
import functools
import random
import sys
import threading
import weakref
import zlib

from ..factors import ALL_BUT_DATA, AUGMENT, DATA, INIT, LAYERS, OTHER, SHUFFLE
from ..patching import replaces
from ..weights import Tensor
from .callers import bind, iterate
from .seeds import (
    Derived,
    derived,
    keeps_seed,
    located_seed,
    mix,
    number_of,
    program_frame,
    record_seed,
    record_source,
    replace_everywhere,
)

#: Frames between a seed and what holds it.
MAX_FRAMES = 12

#: Where Keras 2 has the generator that its seeds come from.
LEGACY = ("keras.backend", "keras.src.backend", "tf_keras.src.backend")

#: The generators that ``set_random_seed`` seeds; PyTorch where it is the backend.
SEEDED = ("random", "numpy", "tensorflow")


def patch_generators(module, streams):
    """Attend to ``keras.src.random.seed_generator``, before others import its functions by name."""
    if hasattr(module.SeedGenerator.__init__, "_deviate"):
        return
    defaults = Defaults(streams, module.make_default_seed)
    wrap_seed_generator(module.SeedGenerator, streams, defaults)
    replace_everywhere(defaults.plain, defaults.make_default_seed, "keras")
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
    for _ in range(MAX_FRAMES):
        if frame is None:
            break
        factor = purpose(frame.f_locals.get("self"))
        if factor is not None:
            return factor
        frame = frame.f_back
    return streams.current


class Defaults:
    """Seeds that the program does not give: drawn for the factor of their holder."""

    def __init__(self, streams, plain):
        self.streams = streams
        self.plain = plain
        #: None, or a list that takes the seeds that a generator is made with: they count once it is drawn from.
        self.waiting = None

    def make_default_seed(self):
        """Return a seed."""
        streams, waiting = self.streams, self.waiting
        if waiting is None:
            return Derived(streams.call(holder(sys._getframe(1), streams), self.plain))
        factor = streams.current
        streams.fingerprints.update(factor, streams.fingerprints.of(factor))
        seed = Derived(self.plain())
        generators = [generator for generator in streams.generators if generator.name == "random"]
        streams.fingerprints.rebase(generators)
        waiting.append((seed, generators[0].seeded if generators else None))
        return seed


class First:
    """What counts as drawn once a seed generator is drawn from."""

    __slots__ = ("factor", "name", "seeded", "number")

    def __init__(self, factor, name, seeded, number):
        self.factor = factor
        self.name = name
        self.seeded = seeded
        self.number = number

    def count(self, streams):
        """Count the draw, with who gave the seed."""
        record_source(streams, self.factor, self.name, self.seeded)
        streams.fingerprints.add_draw(self.factor, self.number)


def wrap_seed_generator(cls, streams, defaults):
    """Have each seed generator begin with a seed of its holder's factor."""
    plain, plain_next = cls.__init__, cls.next

    @replaces(cls, "__init__")
    def __init__(self, seed=None, *args, **kwargs):
        frame = sys._getframe(1)
        factor = holder(frame, streams)
        used = seed
        if type(seed) is int:
            seeded = located_seed(streams, factor, "seed of keras.random.SeedGenerator", seed, frame)
            self._deviate_first = First(factor, "keras", seeded, number_of(streams, factor, seed))
            used = Derived(seed) if keeps_seed(streams, factor) else derived(streams, factor, seed)
        before, outer, defaults.waiting = streams.enter(factor), defaults.waiting, []
        try:
            plain(self, used, *args, **kwargs)
            for drawn, seeded in defaults.waiting:
                self._deviate_first = First(factor, "random", seeded, mix(drawn))
        finally:
            defaults.waiting = outer
            streams.leave(before)
        self._initial_seed = seed

    @replaces(cls, "next")
    def next(self, *args, **kwargs):
        first = self.__dict__.pop("_deviate_first", None)
        if first is not None:
            first.count(streams)
        return plain_next(self, *args, **kwargs)


def replaced_seed(streams, factor, call, seed, frame):
    """Return the seed that takes the place of one the program gives."""
    if type(seed) is not int:
        return seed
    record_seed(streams, factor, "keras", call, seed, frame)
    return Derived(seed) if keeps_seed(streams, factor) else derived(streams, factor, seed)


def wrap_draw_seed(module, streams):
    """Replace constant seeds that the program gives to functions of ``keras.random``."""
    plain = module.draw_seed

    @functools.wraps(plain)
    def draw_seed(seed):
        if type(seed) is Derived:
            return plain(int(seed))
        return plain(replaced_seed(streams, streams.current, "seed of keras.random", seed, sys._getframe(1)))

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


def patch_initializers(module, streams):
    """Have initialisers, whose seeds stay as they are from one parameter to the next, begin with seeds of `init`."""
    cls = getattr(module, "RandomInitializer", None)
    if cls is None or hasattr(cls.__init__, "_deviate"):
        return
    plain = cls.__init__
    for_init = streams.within(INIT, plain)

    @replaces(cls, "__init__")
    def __init__(self, seed=None):
        for_init(self, seed)
        if type(self.seed) is int:
            self.seed = replaced_seed(streams, INIT, "seed of an initializer", self.seed, sys._getframe(1))
        elif streams.controls and hasattr(self.seed, "_initial_seed"):
            self.seed = generator_for_init(self.seed)


def generator_for_init(given):
    """Return a seed generator for parameters that stands for one the program gives; the same one each time."""
    if not hasattr(given, "_deviate"):
        # Made in the midst of an initialiser, so it draws for `init`.
        given._deviate = type(given)(given._initial_seed)
    return given._deviate


def patch_backend(module, streams):
    """Have the generators of Keras 2 begin with a seed of the factor of what holds them."""
    if hasattr(module, "__path__"):
        return  # A folder, as in Keras 3; in Keras 2 the backend is one file.
    cls = module.RandomGenerator
    if hasattr(cls.__init__, "_deviate"):
        return
    call = "seed of %s" % module.__name__.partition(".")[0]
    plain_init, plain_seed, plain_start = cls.__init__, cls._create_seed, cls._maybe_init

    @replaces(cls, "__init__")
    def __init__(self, seed=None, rng_type=None, **kwargs):
        frame = sys._getframe(1)
        factor = holder(frame, streams)
        plain_init(self, replaced_seed(streams, factor, call, seed, frame), rng_type, **kwargs)
        self._deviate_factor = factor

    @replaces(cls, "_create_seed")
    def _create_seed(self, user_specified_seed):
        return Derived(plain_seed(self, user_specified_seed))

    @replaces(cls, "_maybe_init")
    def _maybe_init(self):
        if not self._built:
            streams.call(getattr(self, "_deviate_factor", streams.current), plain_start, self)


def patch_seeding(module, streams):
    """Have ``keras.utils.set_random_seed`` seed the factors' streams, and record one call for all that it seeds."""
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
            caller = program_frame(streams, frame)
            if caller is not None:
                generators = seeded_generators(streams)
                streams.reseed("keras.utils.set_random_seed", seed, generators, None, caller)
        except Exception as error:
            streams.process.events.note("seed-not-replaced", "keras.utils.set_random_seed: %r" % (error,), "keras")
        return result

    set_random_seed._deviate = True
    replace_everywhere(plain, set_random_seed, module.__name__.partition(".")[0])


def seeded_generators(streams):
    """Return the generators that Keras seeds."""
    keras = sys.modules.get("keras.src.backend")
    with_torch = keras is not None and keras.backend() == "torch"
    names = [*SEEDED, "torch"] if with_torch else SEEDED
    return [generator for generator in streams.generators if generator.name in names]


def forget_globals():
    """Have the factors' global seed generators made anew, as Keras does with its own."""
    state = sys.modules.get("keras.src.backend.common.global_state")
    tracker = getattr(state, "GLOBAL_STATE_TRACKER", None)
    for name in list(vars(tracker)) if tracker is not None else ():
        if name.startswith("global_seed_generator"):
            state.set_global_attribute(name, None)
    for name in LEGACY:
        generator = getattr(sys.modules.get(name), "_SEED_GENERATOR", None)
        if generator is not None:
            # One for all factors; without it seeds are drawn from `random`.
            generator.generator = None


#: The module whose layers multiply by a matrix.
DENSE = "keras.src.layers.core.dense"


def patch_layer(module, streams):
    """Have layers called for their purpose and, in Keras 3, built for `init`."""
    if not hasattr(module.Layer.__call__, "_deviate"):
        wrap_call(module.Layer, streams)
        if module.__name__ == "keras.src.layers.layer":
            wrap_new(module.Layer, streams)


def wrap_call(cls, streams):
    """Have a layer's call draw for `layers`, or for `augment` where it transforms data."""
    plain = cls.__call__
    factors = {}
    called, see_input = streams.process.after_layers()

    @replaces(cls, "__call__")
    def __call__(self, *args, **kwargs):
        if see_input is not None and type(self).__module__ == DENSE:
            see_input(args)
        factor = factors.get(type(self)) or factors.setdefault(type(self), purpose(self) or LAYERS)
        current = streams.current
        if current == factor or current in (AUGMENT, DATA) or in_thread(streams):
            return plain(self, *args, **kwargs)
        before = streams.enter(factor)
        try:
            returned = plain(self, *args, **kwargs)
        finally:
            streams.leave(before)
        if called is not None and before == OTHER:
            called(self, args, kwargs, returned)
        return returned


def in_thread(streams):
    """Tell whether another thread than the program's first one runs."""
    return threading.get_ident() != streams.thread


def wrap_new(cls, streams):
    """Have the method `build` of each layer draw for `init`."""
    plain = cls.__new__

    @functools.wraps(plain)
    def __new__(cls, *args, **kwargs):
        layer = plain(cls, *args, **kwargs)
        build = layer.build

        @replaces(layer, "build")
        def build_for_init(*args, **kwargs):
            before = streams.enter(INIT if streams.current in ALL_BUT_DATA else streams.current)
            try:
                return build(*args, **kwargs)
            finally:
                streams.leave(before)

        return layer

    cls.__new__ = staticmethod(__new__)


def patch_arrays(module, streams):
    """Have arrays given to `fit` shuffled for `shuffle`, and take down what they hold."""
    cls = module.ArrayDataAdapter
    name = "_get_iterator" if hasattr(cls, "_get_iterator") else "get_numpy_iterator"  # up to Keras 3.0
    plain, plain_init = getattr(cls, name), cls.__init__

    @replaces(cls, "__init__")
    def __init__(self, *args, **kwargs):
        streams.examples.add_arrays((args[:2], kwargs.get("x"), kwargs.get("y")))
        plain_init(self, *args, **kwargs)

    @replaces(cls, name)
    def batches(self, *args, **kwargs):
        once = getattr(self, "_shuffle", "batch") != "batch"
        return iterate(streams, SHUFFLE, plain(self, *args, **kwargs), once)


def patch_sequences(module, streams):
    """Have the batches of a `PyDataset` ordered for `shuffle` and made for `augment`."""
    cls = module.PyDataset
    plain = cls.__init_subclass__

    def __init_subclass__(cls, **kwargs):
        plain(**kwargs)
        bind(streams, cls, "__getitem__", AUGMENT)
        bind(streams, cls, "on_epoch_end", SHUFFLE)

    cls.__init_subclass__ = classmethod(__init_subclass__)
    module.random = Random(streams)


class Random:
    """Stands for the module `random` where Keras orders batches, sometimes in a thread."""

    def __init__(self, streams):
        self.streams = streams

    def __getattr__(self, name):
        return getattr(random, name)

    def shuffle(self, items):
        """Shuffle for `shuffle`; draws of a thread meet no other's."""
        streams = self.streams
        if in_thread(streams) and streams.controls:
            seed = streams.seed(SHUFFLE, streams.next_key("keras.utils.PyDataset"))
            streams.fingerprints.add_draw(SHUFFLE, seed)
            plain = getattr(random.Random.seed, "__wrapped__", random.Random.seed)
            generator = random.Random.__new__(random.Random)
            plain(generator, seed)
            return generator.shuffle(items)
        return streams.call(SHUFFLE if streams.current == OTHER else streams.current, random.shuffle, items)


def watch_optimizers(module, streams):
    """Look at the weights of each optimizer as it is built, and at the end."""
    cls = getattr(module, "BaseOptimizer", None) or getattr(module, "_BaseOptimizer", None)
    if cls is None or hasattr(cls.build, "_deviate"):
        return
    weights = Weights(streams)
    plain = cls.build

    @replaces(cls, "build")
    def build(self, variables):
        result = plain(self, variables)
        weights.begin(self, list(variables))
        return result


class Weights:
    """Fingerprints of initial and final weights.

    The weights themselves are kept no longer than their optimizer keeps them.
    """

    def __init__(self, streams):
        self.streams = streams
        self.initial = 0
        self.optimizers = 0
        #: What takes the final weights of each optimizer that is still there, by number; and the digests of those gone.
        self.ends = {}
        self.final = {}
        self.count = 0
        atexit.register(self.end)
        streams.process.weights.at_iteration.append(self.keep_iteration)

    def begin(self, optimizer, variables):
        """Take the initial weights down, before the first update."""
        try:
            if any(set(map(id, variables)) == known for known in self.known()):
                return
            number = self.optimizers
            self.optimizers += 1
            finalizer = weakref.finalize(optimizer, self.take, number, variables)
            finalizer.atexit = False
            self.ends[number] = finalizer
            if have_values(variables):
                self.initial = digest(variables, self.initial)
                self.count += len(variables)
                self.streams.fingerprints.write_content("init", self.initial, self.count, "first")
        except Exception as error:
            self.streams.process.events.note("weights-unseen", "keras: %r" % (error,), "keras")

    def known(self):
        """Yield the identities of the variables of each optimizer that is still there."""
        for finalizer in self.ends.values():
            kept = finalizer.peek()
            if kept is not None:
                yield set(map(id, kept[2][1]))

    def take(self, number, variables):
        """Take the final weights of one optimizer down."""
        self.ends.pop(number, None)
        weights = self.streams.process.weights
        try:
            if weights.takes_digests:
                self.final[number] = digest(variables, 0)
            if weights.is_kept:
                weights.write("keras-%d" % number, [as_tensor(variable) for variable in variables])
        except Exception as error:
            self.streams.process.events.note("weights-unseen", "keras: %r" % (error,), "keras end")

    def keep_iteration(self, iteration):
        """Write the weights as they are after an iteration."""
        for number, finalizer in list(self.ends.items()):
            kept = finalizer.peek()
            try:
                if kept is not None:
                    tensors = [as_tensor(variable) for variable in kept[2][1]]
                    self.streams.process.weights.write("keras-%d" % number, tensors, iteration)
            except Exception as error:
                self.streams.process.events.note("weights-unseen", "keras: %r" % (error,), "keras iteration")

    def end(self):
        """Write the digest of the final weights."""
        for finalizer in list(self.ends.values()):
            kept = finalizer.detach()
            if kept is not None:
                self.take(*kept[2])
        if self.final:
            digests = b"".join(b"%08x" % self.final[number] for number in sorted(self.final))
            self.streams.fingerprints.write_content("weights", zlib.crc32(digests), len(self.final), "end")


def have_values(variables):
    """Tell whether all variables have values: TensorFlow's get them after the function is traced that makes them."""
    tensorflow = sys.modules.get("tensorflow")
    values = [value_of(variable) for variable in variables]
    if tensorflow is None or not all(hasattr(value, "is_initialized") for value in values):
        return True
    with tensorflow.init_scope():
        return all(bool(value.is_initialized()) for value in values)


def value_of(variable):
    """Return what holds the value of a variable of Keras 3; one of TensorFlow's does so itself."""
    return variable if hasattr(variable, "read_value") else variable.value


def digest(variables, start):
    """Return the CRC of the values of `variables`."""
    for variable in variables:
        start = zlib.crc32(memoryview(read(variable)).cast("B"), start)
    return start


def as_tensor(variable):
    """Return a variable as a tensor that is to be written."""
    values = array_of(variable)
    name = getattr(variable, "path", None) or variable.name
    return Tensor(name, str(values.dtype), values.shape, values.nbytes, values.tobytes)


def read(variable):
    """Return the value of a variable as a contiguous array of bytes."""
    return array_of(variable).reshape(-1).view(sys.modules["numpy"].uint8)


def array_of(variable):
    """Return the value of a variable as a contiguous array."""
    numpy = sys.modules["numpy"]
    tensorflow = sys.modules.get("tensorflow")
    value = value_of(variable)
    if tensorflow is not None and hasattr(value, "read_value"):
        with tensorflow.init_scope():
            value = value.numpy()
    elif hasattr(value, "detach"):
        value = value.detach().cpu()
        value = (value.float() if "bfloat16" in str(value.dtype) else value).numpy()
    return numpy.ascontiguousarray(numpy.asarray(value))
