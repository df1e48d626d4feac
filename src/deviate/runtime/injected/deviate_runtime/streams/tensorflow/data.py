"""``tf.data``: its shuffling, and random operations in the functions that it maps.

A random operation with seeds of its own draws the same in each pass over a data set. In a program that seeds nothing it
draws anew in each pass, and has to go on doing so under control: such operations get their seeds from a data set of
random numbers beside the mapped one, which goes on from pass to pass.
"""

import functools
import sys

from ...factors import AUGMENT, DATA, OTHER, SHUFFLE
from ...patching import replaces
from ..boundaries import drawing
from ..seeds import Derived

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
