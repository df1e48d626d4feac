"""TensorFlow: the seeds of operations, generator objects, initialisers, `tf.data`.

A random operation is made with two numbers: the graph's seed and its own. Under control both derive from the factor
that draws as the operation is made; kernels go on from there by themselves.

A random operation with seeds of its own draws the same in each pass over a data set of `tf.data`. In a program that
seeds nothing it draws anew in each pass, and has to go on doing so under control: such operations get their seeds from
a data set of random numbers beside the mapped one, which goes on from pass to pass.
"""

import functools
import os
import sys
import time
import types
import zlib

from ..factors import AUGMENT, DATA, INIT, LAYERS, OTHER, SHUFFLE
from ..patching import replaces
from .callers import drawing
from .generators import Generator
from .seeds import Derived, derived, mix, program_frame, record_seed, record_source, replaced

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
    patch_objects(tensorflow, streams)
    wrap_subclasses(tensorflow.Module, streams)
    patch_datasets(tensorflow, streams, generator)


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


#: Operations that can be given seeds as tensors, and what takes their place: the arguments before the seeds.
STATELESS = {
    "random_uniform": lambda ops, seed, shape, dtype: ops.stateless_random_uniform(shape, seed, dtype=dtype),
    "random_standard_normal": lambda ops, seed, shape, dtype: ops.stateless_random_normal(shape, seed, dtype=dtype),
    "truncated_normal": lambda ops, seed, shape, dtype: ops.stateless_truncated_normal(shape, seed, dtype=dtype),
    "random_uniform_int": lambda ops, seed, shape, low, high: ops.stateless_random_uniform(
        shape, seed, minval=low, maxval=high, dtype=low.dtype
    ),
    "random_shuffle": lambda ops, seed, value: shuffle(ops, seed, value),
}

#: Modules of Keras that shuffle data sets for the program.
KERAS = ("keras.utils.", "keras.src.utils.", "tf_keras.src.utils.")

#: Graphs within that of a mapped function which may use its tensors.
BRANCHES = ("CondBranchFuncGraph", "WhileCondFuncGraph", "WhileBodyFuncGraph")


def patch_datasets(tensorflow, streams, generator):
    """Have data sets shuffle and map for their factors."""
    dataset = sys.modules["tensorflow.python.data.ops.dataset_ops"].DatasetV2
    wrap_shuffle(dataset, streams)
    passes = Passes(tensorflow, streams, generator)
    if streams.controls:
        passes.wrap_operations()
    wrap_map(dataset, streams, passes)
    for name in ("flat_map", "interleave", "filter"):
        setattr(dataset, name, drawing(streams, AUGMENT, passes.repeating(getattr(dataset, name))))


def wrap_shuffle(dataset, streams):
    """Have `Dataset.shuffle` draw for `shuffle`; an order that is drawn once, to be split, is the data's."""
    plain = dataset.shuffle

    @replaces(dataset, "shuffle")
    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=None, name=None):
        by_keras = sys._getframe(1).f_globals.get("__name__", "").startswith(KERAS)
        factor = DATA if reshuffle_each_iteration is False else SHUFFLE
        if streams.current != OTHER and not by_keras:
            factor = streams.current
        options = {} if reshuffle_each_iteration is None else {"reshuffle_each_iteration": reshuffle_each_iteration}
        return streams.call(factor, plain, self, buffer_size, seed=seed, name=name, **options)


def wrap_map(dataset, streams, passes):
    """Have the functions that data sets map draw for `augment`."""
    plain = dataset.map

    @replaces(dataset, "map")
    def map(self, map_func, *args, **kwargs):
        def mapped():
            return passes.map(plain, self, map_func, args, kwargs)

        return drawing(streams, AUGMENT, mapped)()


class Passes:
    """Makes random operations in mapped functions draw anew in each pass."""

    def __init__(self, tensorflow, streams, generator):
        self.tensorflow = tensorflow
        self.streams = streams
        self.generator = generator
        self.ops = sys.modules["tensorflow.python.ops.stateless_random_ops"]
        #: Graph of the function that is traced, and the element's seed in it.
        self.graph = None
        self.seed = None
        #: Operations of that function so far which were given seeds.
        self.count = 0
        #: True while the data sets are made that another one's elements are turned into.
        self.inside = False

    def map(self, plain, dataset, function, args, kwargs):
        """Map `function`; once more, beside random numbers, if it turns out to draw without a seed."""
        if not self.streams.controls or self.generator.seeded is not None or self.graph is not None or self.inside:
            return plain(dataset, function, *args, **kwargs)
        made = self.generator.live()[1]
        mapped = self.probe(plain, dataset, function, args, kwargs)
        if self.generator.live()[1] - made > self.count:
            self.note_repeats("Dataset.map")
        if not self.count:
            return mapped
        try:
            return self.map_beside(plain, dataset, function, args, kwargs)
        except Exception as error:
            self.note_repeats(repr(error))
            return mapped
        finally:
            self.graph = self.seed = None

    def repeating(self, plain):
        """Return `plain`, a method in whose functions random operations draw the same in each pass."""

        @functools.wraps(plain)
        def method(*args, **kwargs):
            made, inside, self.inside = self.generator.live()[1], self.inside, True
            try:
                return plain(*args, **kwargs)
            finally:
                self.inside = inside
                if self.generator.live()[1] > made and self.generator.seeded is None:
                    self.note_repeats("Dataset." + plain.__name__)

        return method

    def note_repeats(self, where):
        """Note that random operations repeat their draws, as they do in a program that seeds TensorFlow."""
        if self.streams.controls:
            message = "random operations draw the same in each pass over a data set: %s" % where
            self.streams.process.events.note("passes-repeat", message, "tf.data")

    def probe(self, plain, dataset, function, args, kwargs):
        """Map `function` as it is, counting operations that could be given seeds."""
        self.count = 0
        traced = self.traced(function)

        def entered(*elements):
            self.graph = self.default_graph()
            return traced(*elements)

        try:
            return plain(dataset, self.untouched(entered, function), *args, **kwargs)
        finally:
            self.graph = None

    def traced(self, function):
        """Return `function` with its control flow turned into operations, as `plain` would have it."""
        autograph = sys.modules["tensorflow.python.autograph.impl.api"]
        context = sys.modules["tensorflow.python.autograph.core.ag_ctx"]
        return autograph.tf_convert(function, context.control_status_ctx())

    def untouched(self, wrapper, function):
        """Return `wrapper` under the name of `function`, its own control flow left alone."""
        wrapper.__name__ = getattr(function, "__name__", type(function).__name__)
        return self.tensorflow.autograph.experimental.do_not_convert(wrapper)

    def map_beside(self, plain, dataset, function, args, kwargs):
        """Map `function` with a seed beside each element."""
        data = self.tensorflow.data.Dataset
        state = self.generator.live()
        state[1] += 1
        numbers = data.random(seed=Derived(state[0] + state[1]), rerandomize_each_iteration=True)
        single = type(dataset.element_spec) is not tuple
        traced = self.traced(function)

        def seeded(elements, seed):
            self.graph, self.seed, self.count = self.default_graph(), seed, 0
            return traced(elements) if single else traced(*elements)

        beside = data.zip((dataset, numbers.batch(2, drop_remainder=True)))
        return plain(beside, self.untouched(seeded, function), *args, **kwargs)

    def default_graph(self):
        """Return the graph that operations are added to."""
        return sys.modules["tensorflow.python.framework.ops"].get_default_graph()

    def is_within(self):
        """Tell whether an operation made now may use the element's seed."""
        graph = self.default_graph()
        while graph is not self.graph and type(graph).__name__ in BRANCHES:
            graph = graph.outer_graph
        return graph is self.graph

    def wrap_operations(self):
        """Let random operations be given seeds in mapped functions."""
        module = sys.modules["tensorflow.python.ops.gen_random_ops"]
        for name, stateless in STATELESS.items():
            plain = getattr(module, name, None)
            if plain is not None:
                setattr(module, name, self.seedable(plain, stateless))

    def seedable(self, plain, stateless):
        """Return `plain`, an operation, with the element's seed in a function that is mapped."""

        @functools.wraps(plain)
        def operation(*args, **kwargs):
            # Where the program gives the operation a seed, the graph's is another one.
            unseeded = self.graph is not None and kwargs.get("seed") == self.generator.live()[0]
            if not unseeded or set(kwargs) - {"seed", "seed2", "name"} or not self.is_within():
                return plain(*args, **kwargs)
            self.count += 1
            if self.seed is None:
                return plain(*args, **kwargs)
            cast = self.tensorflow.cast(self.seed, self.tensorflow.int32)
            return stateless(self.ops, cast + [0, self.count], *args)

        return operation


def shuffle(ops, seed, value):
    """Shuffle along the first dimension: in the order of random numbers."""
    tensorflow = sys.modules["tensorflow"]
    value = tensorflow.convert_to_tensor(value)
    numbers = ops.stateless_random_uniform(tensorflow.shape(value)[:1], seed)
    shuffled = tensorflow.gather(value, tensorflow.argsort(numbers, stable=True))
    shuffled.set_shape(value.shape)
    return shuffled


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
