"""Weights that programs on JAX train: arrays that they differentiate by, and that come back from an update.

Nothing in JAX holds what is trained. It is recognised by identity: gradients are computed by the arguments of a
compiled function, or by arrays, and these arrays are what a compiled function, a scan or `apply_updates` of Optax
returned just before. From then on what that one returned last is kept for the end.

Parameters that an optimizer of Optax is initialised with: the weights before the first update.
"""

import functools
import operator
import sys
import weakref
import zlib

from ...patching import replaces
from ...weights import Tensor

#: Calls of a function in which is looked for what it returned.
CALLS = 1000

#: Functions that weights are taken of.
SOURCES = 64

#: What is done in a function: predictions are compared with targets, a gradient is computed.
COMPARES, DIFFERENTIATES = "compares", "differentiates"

#: Modules that compile for their own purposes; Keras shows its weights itself.
APART = ("jax.", "jaxlib.", "keras.", "tf_keras.", "optax.")

UNSEEN = (
    "jax: gradients were computed by arrays that no compiled function and no optax.apply_updates returned: "
    "final weights are not known"
)


def training_of(streams):
    """Return what is known of the training in this process."""
    known = vars(streams).get("jax_training")
    if known is None:
        known = streams.jax_training = Training(sys.modules["jax"], streams)
    return known


def is_apart(frame):
    """Tell whether a library compiles or differentiates for its own purposes."""
    return frame.f_globals.get("__name__", "").startswith(APART)


class Training:
    """What one process differentiates by, and what returns it.

    Attributes
    ----------
    traced : list
        The functions that are being traced, innermost last.
    made : dict
        What was returned, by identity: a weak reference, the source and the position.
    waiting : set
        What differentiates by arrays whose source is not known yet.
    sources : list
        What returns weights, in the order in which it was recognised.
    """

    def __init__(self, jax, streams):
        self.jax = jax
        self.streams = streams
        core = sys.modules.get("jax._src.core", jax.core)
        #: Tells whether nothing is being traced; newer versions keep it in a context that can be asked at once.
        self.clean = getattr(getattr(core, "trace_ctx", None), "is_top_level", core.trace_state_clean)
        self.traced = []
        self.made = {}
        self.waiting = set()
        self.sources = []
        self.ends = []
        #: Makes what evaluates functions again at the end; by default nothing does.
        self.again_of = lambda streams: None
        #: What is traced in the place of a function, by the function.
        self.bodies = weakref.WeakKeyDictionary()
        streams.fingerprints.at_end.append(self.finish)
        streams.process.weights.at_iteration.append(self.keep_iteration)

    def watches(self):
        """Tell whether the current thread is the one that trains."""
        return self.streams.is_first_thread()

    def failed(self, error):
        """Note what could not be looked at."""
        self.streams.process.events.note("weights-unseen", "jax: %r" % (error,), "jax")

    def leaves(self, tree):
        """Return the arrays of a tree."""
        return self.jax.tree_util.tree_leaves(tree)

    def differentiate(self, differentiating, leaves, names):
        """Take down that a gradient is computed by `leaves`: arguments of what is traced, or arrays."""
        known = True
        for leaf, name in zip(leaves, names):  # noqa: B905
            inner = next((each for each in reversed(self.traced) if id(leaf) in each.places), None)
            if inner is not None:
                inner.positions.add(inner.places[id(leaf)])
            elif hasattr(leaf, "dtype") and not isinstance(leaf, self.jax.core.Tracer):
                known = self.is_returned(leaf, name) and known
        (self.waiting.discard if known else self.waiting.add)(differentiating)
        return known

    def is_returned(self, leaf, name):
        """Take down what returned an array that is trained; tell whether that is known."""
        reference, source, position = self.made.get(id(leaf), (None, None, None))
        if reference is None or reference() is not leaf:
            return False
        if source not in self.sources:
            if len(self.sources) >= SOURCES:
                return True
            self.sources.append(source)
        if position not in source.names:
            source.names[position], source.parts = name, None
        return True

    def returned(self, source, tree):
        """Take down what a source returned, as long as the source of weights is looked for."""
        source.calls += 1
        if self.waiting and source.calls <= CALLS:
            if len(self.made) > CALLS:
                self.made = {key: each for key, each in self.made.items() if each[0]() is not None}
            for position, leaf in enumerate(self.leaves(tree)):
                if hasattr(leaf, "addressable_shards") or hasattr(leaf, "device_buffer"):
                    self.made[id(leaf)] = weakref.ref(leaf), source, position
        if source.names:
            source.keep(tree)

    def keep_iteration(self, iteration):
        """Write the weights as they are after an iteration."""
        try:
            for number, source in enumerate(self.sources):
                if source.latest is not None:
                    self.streams.process.weights.write("jax-%d" % number, source.tensors(), iteration)
        except Exception as error:
            self.failed(error)

    def leave(self, source):
        """Take the digest of the weights that a source returned last, and write them where they are wanted."""
        weights = self.streams.process.weights
        if not weights.takes_digests or source.latest is None:
            return
        try:
            tensors = source.tensors()
            weights.write("jax-%d" % self.sources.index(source), tensors)
            digest = 0
            for tensor in tensors:
                digest = zlib.crc32(tensor.read(), digest)
            self.ends.append(b"%08x" % digest)
        except Exception as error:
            self.failed(error)
        source.latest = None

    def finish(self):
        """Write the digest of what the process ends with."""
        for source in self.sources:
            self.leave(source)
        if self.ends:
            digest = zlib.crc32(b"".join(sorted(self.ends)))
            self.streams.fingerprints.write_content("weights", digest, len(self.ends), "end")
        elif self.waiting and not self.sources:
            self.streams.process.events.note("weights-unseen", UNSEEN, "jax")


class Traced:
    """A function while it is traced.

    Attributes
    ----------
    places : dict
        Place of each of its arguments by identity, counted from the last one back: methods have one more at first.
    positions : set
        Places that a gradient is computed by.
    marks : set
        What else is done in it: `COMPARES`, `DIFFERENTIATES`.
    """

    def __init__(self, leaves, positions, marks):
        self.leaves = leaves
        self.places = {id(leaf): place - len(leaves) for place, leaf in enumerate(leaves)}
        self.positions = positions
        self.marks = marks


class Source:
    """What returns weights.

    Attributes
    ----------
    names : dict
        Name of each array that is trained, by its position among all that are returned.
    latest : object
        What was returned last, or the parts of it that hold weights; None until it is known that any do.
    """

    def __init__(self, training):
        self.training = training
        self.names = {}
        self.calls = 0
        self.latest = self.parts = self.places = self.structure = None

    def keep(self, tree):
        """Keep what was returned last, and nothing of what was returned before."""
        if self.parts is None:
            self.look(tree)
        try:
            self.latest = self.parts(tree)
        except (IndexError, TypeError, KeyError):
            self.latest = None  # it was called for something else

    def look(self, tree):
        """Take down which parts of what is returned hold weights."""
        self.parts, self.places, start = (lambda returned: returned), self.names, 0
        if type(tree) is tuple:
            sizes = [len(self.training.leaves(part)) for part in tree]
            ends = [sum(sizes[: index + 1]) for index in range(len(sizes))]
            first = next(index for index, end in enumerate(ends) if end > min(self.names))
            last = next(index for index, end in enumerate(ends) if end > max(self.names))
            start = ends[first] - sizes[first]
            self.parts = operator.itemgetter(slice(first, last + 1))
        self.places = {position - start: name for position, name in self.names.items()}
        self.structure = self.training.jax.tree_util.tree_structure(self.parts(tree))

    def tensors(self):
        """Return the weights as tensors that are to be written."""
        leaves, structure = self.training.jax.tree_util.tree_flatten(self.latest)
        if structure != self.structure:
            raise ValueError("what returned weights returned something else in the end")
        names = without_common(self.places)
        return [as_tensor(names[place], leaves[place]) for place in sorted(names)]


def without_common(names):
    """Return names by place, without the parts that all of them begin with."""
    parts = {place: name.split("/") for place, name in names.items()}
    rows = list(parts.values())
    common = 0
    while all(len(row) > common + 1 and row[common] == rows[0][common] for row in rows):
        common += 1
    return {place: "/".join(row[common:]) for place, row in parts.items()}


def as_tensor(name, leaf):
    """Return an array as a tensor that is to be written."""
    numpy = sys.modules["numpy"]
    size = leaf.size * leaf.dtype.itemsize
    return Tensor(name, str(leaf.dtype), leaf.shape, size, lambda: numpy.ascontiguousarray(leaf).tobytes())


def names_of(jax, tree):
    """Return the names of the arrays of a tree, in their order."""
    if not hasattr(jax.tree_util, "tree_flatten_with_path"):
        return [str(place) for place in range(len(jax.tree_util.tree_leaves(tree)))]
    return ["/".join(map(word_of, path)) for path, _ in jax.tree_util.tree_flatten_with_path(tree)[0]]


def word_of(key):
    """Return one part of the place of an array in a tree."""
    found = (getattr(key, name) for name in ("key", "name", "idx") if hasattr(key, name))
    return str(next(found, key))


def watch_optimizers(module, streams):
    """Look at what each optimizer of Optax is initialised with."""
    for name in ("GradientTransformation", "GradientTransformationExtraArgs"):
        cls = getattr(module, name, None)
        if cls is not None and not hasattr(cls.__new__, "_deviate"):
            wrap_new(cls, Initial(streams))


def wrap_new(cls, initial):
    """Look at what the optimizers of a class are initialised with."""
    plain = cls.__new__

    @replaces(cls, "__new__")
    def __new__(cls, init, *args, **kwargs):
        return plain(cls, initial.watched(init), *args, **kwargs)


class Initial:
    """The fingerprint of initial weights."""

    digest = 0
    count = 0
    #: True within an optimizer that is made of others.
    inside = False

    def __init__(self, streams):
        self.streams = streams

    def watched(self, init):
        """Return `init`, seen from outside."""
        if hasattr(init, "_deviate"):
            return init

        @functools.wraps(init)
        def watched(params, *args, **kwargs):
            if Initial.inside:
                return init(params, *args, **kwargs)
            Initial.inside = True
            try:
                self.add(params)
                return init(params, *args, **kwargs)
            finally:
                Initial.inside = False

        watched._deviate = True
        return watched

    def add(self, params):
        """Take the parameters into the digest, unless they are only traced."""
        try:
            jax = sys.modules["jax"]
            leaves = jax.tree_util.tree_leaves(params)
            if not leaves or any(not hasattr(x, "dtype") or isinstance(x, jax.core.Tracer) for x in leaves):
                return
            numpy = sys.modules["numpy"]
            for leaf in leaves:
                array = numpy.ascontiguousarray(numpy.asarray(leaf)).reshape(-1)
                Initial.digest = zlib.crc32(memoryview(array.view(numpy.uint8)), Initial.digest)
            Initial.count += len(leaves)
            self.streams.fingerprints.write_content("init", Initial.digest, Initial.count, "first")
        except Exception as error:
            self.streams.process.events.note("weights-unseen", "optax: %r" % (error,), "optax")
