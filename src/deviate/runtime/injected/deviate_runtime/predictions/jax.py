"""What compiled functions of JAX compare, and how models of Flax represent it: evaluated once more at the end.

A compiled function stays as it is: a further output may change what the compiler joins, and with it the last bits. So
the calls of the last evaluation are kept, and when the program is over each function is compiled apart, with what it
compares and what enters the last linear layer as further outputs, and called on the same arguments again. What it
returns then must be what it returned before.
"""

import atexit
import contextlib
import io
import os
import sys

from ..streams.examples import row_hashes
from ..streams.jax.trained import COMPARES, training_of
from .capture import columns_of
from .metrics import first_choices
from .outputs import flat
from .passes import Batch, Pass, Undrawn, features_of

#: Bytes of arguments that are kept for the end.
MAX_BYTES = 1 << 28

#: What is returned again may differ by the order in which another compilation adds.
TOLERANCE = {"rtol": 1e-3, "atol": 1e-5, "equal_nan": True}

AGAIN = (
    "%s: predictions are compared with their targets in a function that JAX compiles, and it is not evaluated again at "
    "the end: %s; `--predictions FILE` takes them from a file that the program writes"
)


def watch_evaluations(jax, process):
    """Have evaluations in compiled functions made again at the end."""
    if process.streams is not None:
        training_of(process.streams).again_of = again_of


def again_of(streams):
    """Return what is evaluated again in one process; None where representations are not kept."""
    predictions = streams.process.predictions
    if predictions is None or predictions.last_input is None:
        return None
    known = vars(predictions).get("predictions.jax")
    if known is None:
        known = vars(predictions)["predictions.jax"] = Again(predictions, streams)
    return known


class RefusedError(Exception):
    """A call cannot be evaluated again."""


class Call:
    """A call of a compiled function in an evaluation."""

    __slots__ = ("args", "function", "kwargs", "returned")

    def __init__(self, function, args, kwargs, returned):
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.returned = returned


class Calls:
    """The calls of one evaluation pass, in order."""

    def __init__(self, point, when, iteration):
        self.point = point
        self.when = when
        self.number = point.passes
        self.iteration = iteration
        #: None: their arguments take too much.
        self.calls = []
        self.held = set()
        self.size = 0

    def add(self, call, leaves):
        """Add a call with the arrays of its arguments."""
        for leaf in leaves:
            self.size += 0 if id(leaf) in self.held else getattr(leaf, "nbytes", 0)
            self.held.add(id(leaf))
        if self.size > MAX_BYTES:
            self.calls = None
        if self.calls is not None:
            self.calls.append(call)

    def begin(self):
        """Return the pass that they are evaluated as again, still empty."""
        again = Pass(self.point, None, self.iteration)
        again.number = self.number
        return again


class Again:
    """The evaluations in compiled functions of one process.

    Attributes
    ----------
    trained : int
        Calls of compiled functions that compute a gradient.
    is_again : bool
        Whether a function is being evaluated again: what it compiles in turn is a part of it.
    """

    def __init__(self, predictions, streams):
        self.predictions = predictions
        self.streams = streams
        self.trained = 0
        self.is_again = False
        self.latest = {}
        #: The process whose calls they are: a forked one begins anew.
        self.pid = None
        self.compiled = {}
        self.sides, self.first, self.last = [], None, None
        # JAX, which is imported by now, lets go of its devices at the end; what is registered later runs before that.
        atexit.register(self.finish)

    # As the program runs

    def see(self, sides):
        """Take down that functions which are being traced compare; as they are evaluated again, what they compare."""
        if self.is_again:
            self.sides.append(sides)
        for each in training_of(self.streams).traced:
            each.marks.add(COMPARES)

    def called(self, function, args, kwargs, returned, frame):
        """Keep a call of an evaluation, and let go of those of the one before at this point."""
        predictions = self.predictions
        if not predictions.wanted:
            return
        point = predictions.point_of(frame, "")
        if point is None:
            return
        if self.pid != os.getpid():
            self.pid, self.latest = os.getpid(), {}
        when = self.trained, predictions.process.iteration
        known = self.latest.get(point.number)
        if known is None or known.when != when:
            known = self.latest[point.number] = Calls(point, when, predictions.process.iteration)
            point.passes += 1
        leaves = sys.modules["jax"].tree_util.tree_leaves((args, kwargs))
        known.add(Call(function, args, kwargs, returned), leaves)

    # At the end

    def finish(self):
        """Evaluate the last pass of each point again."""
        if os.getpid() != self.pid or not self.predictions.wanted:
            return
        latest, self.latest = self.latest, {}
        for known in latest.values():
            try:
                self.add(known)
            except RefusedError as refused:
                self.miss(known, str(refused))
            except Exception as error:
                self.miss(known, "that raised %s" % type(error).__name__)

    def miss(self, known, reason):
        """Take down why an evaluation is not captured."""
        self.predictions.unseen["compiled"] = AGAIN % (known.point.chain[0][2], reason)

    def add(self, known):
        """Evaluate a pass again, and keep what it predicts."""
        if known.calls is None:
            raise RefusedError("its arguments take more than %d MiB" % (MAX_BYTES >> 20))
        numpy = sys.modules["numpy"]
        again = known.begin()
        for call in known.calls:
            label, target, inputs, representation = self.evaluated(numpy, call)
            batch = Batch(len(target), target=target, label=label)
            batch.is_confirmed = True
            batch.digest = None if inputs is None or len(inputs) != len(target) else row_hashes(inputs)
            batch.features = features_of(representation, len(target))
            if again.ends_before(batch, None):
                again = known.begin()
            again.add(batch)
        columns, classes = columns_of(numpy, again)
        if columns is None:
            raise RefusedError("it does not compare classes")
        self.predictions.keep(again, columns, classes)

    def evaluated(self, numpy, call):
        """Return labels, targets, inputs and what entered the last linear layer, as arrays; None where unknown."""
        jax = sys.modules["jax"]
        leaves, tree = jax.tree_util.tree_flatten((call.args, call.kwargs))
        arrays = [isinstance(leaf, (jax.Array, numpy.ndarray)) for leaf in leaves]
        values = [leaf for leaf, is_array in zip(leaves, arrays) if is_array]  # noqa: B905
        others = [None if is_array else leaf for leaf, is_array in zip(leaves, arrays)]  # noqa: B905
        if any(isinstance(value, jax.Array) and value.is_deleted() for value in values):
            raise RefusedError("its arguments were given away")
        # As long as the functions are the same objects, one compilation serves all calls of one shape.
        shapes = tuple((value.shape, str(value.dtype)) for value in values)
        key = id(call.function), tree, shapes, repr(others)
        with Undrawn(self.streams), silence():
            if key not in self.compiled:
                self.compiled[key] = self.compile(jax, call.function, tree, others, arrays, values)
            returned, sides, inputs, representation = self.compiled[key](values)
        self.check(numpy, jax, call.returned, returned)
        inputs, representation = (None if each is None else numpy.asarray(each) for each in (inputs, representation))
        for label, target in sides:
            label, target = first_choices(numpy.asarray(label), numpy.asarray(target))
            if label is not None and label.ndim == 1:
                return flat(label), flat(target), inputs, representation
        raise RefusedError("what it compares is not one label an example")

    def compile(self, jax, function, tree, others, arrays, values):
        """Compile a function with what it compares, what its model is called on and represents as further outputs."""

        def again(values):
            left = iter(values)
            leaves = [next(left) if is_array else other for other, is_array in zip(others, arrays)]  # noqa: B905
            args, kwargs = jax.tree_util.tree_unflatten(tree, leaves)
            self.sides, self.first, self.last = [], None, None
            with self.watched_layers(function):
                returned = function(*args, **kwargs)
            return returned, self.sides, self.first, self.last

        plain = getattr(jax.jit, "__wrapped__", jax.jit)
        self.is_again = True
        try:
            if not hasattr(plain(again), "trace"):
                raise RefusedError("this version of JAX cannot show what it has traced")
            traced = plain(again).trace(values)
        finally:
            self.is_again = False
        if traced.jaxpr.effects:
            raise RefusedError("it prints or calls back")
        return traced.lower().compile()

    def check(self, numpy, jax, before, after):
        """Refuse a call that returns something else when it is evaluated again."""
        before, after = map(jax.tree_util.tree_leaves, (before, after))
        numbers = [[numpy.asarray(leaf) for leaf in leaves if not is_key(leaf)] for leaves in (before, after)]
        if len(before) != len(after) or not all(alike(numpy, *pair) for pair in zip(*numbers)):  # noqa: B905
            raise RefusedError("it returned other values")

    @contextlib.contextmanager
    def watched_layers(self, function):
        """Take down what a model of Flax and its last linear layer are called on."""
        with contextlib.ExitStack() as stack:
            linen, nnx = sys.modules.get("flax.linen"), sys.modules.get("flax.nnx")
            if linen is not None:
                stack.enter_context(linen.intercept_methods(self.intercept(linen.Dense)))
            if nnx is not None:
                for cls in (nnx.Linear, nnx.Conv, nnx.Embed):
                    stack.enter_context(self.watched_layer(cls, cls is nnx.Linear))
                if hasattr(function, "ctxtag"):
                    # What `nnx.jit` compiles takes its objects apart and joins them in a context around the call.
                    stack.enter_context(nnx.update_context(function.ctxtag))
            yield

    def intercept(self, dense):
        """Return what methods of modules of ``linen`` go through."""

        def intercept(method, args, kwargs, context):
            if context.method_name == "__call__" and args:
                self.first = args[0] if self.first is None else self.first
                self.last = args[0] if isinstance(context.module, dense) else self.last
            return method(*args, **kwargs)

        return intercept

    @contextlib.contextmanager
    def watched_layer(self, cls, is_linear):
        """Look at calls of layers of ``nnx``, the first of which is called on the inputs of the model."""
        plain = cls.__call__

        def call(layer, inputs, *args, **kwargs):
            self.first = inputs if self.first is None else self.first
            self.last = inputs if is_linear else self.last
            return plain(layer, inputs, *args, **kwargs)

        cls.__call__ = call
        try:
            yield
        finally:
            cls.__call__ = plain


@contextlib.contextmanager
def silence():
    """Keep what a function prints as it is traced from being printed again."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def is_key(leaf):
    """Tell whether an array holds keys of generators, which have no numbers."""
    return str(getattr(leaf, "dtype", "")).startswith("key<")


def alike(numpy, array, other):
    """Tell whether two arrays hold the same but for the order in which numbers were added."""
    return array.shape == other.shape and numpy.allclose(array, other, **TOLERANCE)
