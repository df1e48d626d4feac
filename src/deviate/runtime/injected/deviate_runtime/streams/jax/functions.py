"""Functions of JAX that compile, differentiate and update: what they are called with and return, for `trained`."""

import functools
import inspect
import sys
import threading
import types
import weakref

from ...patching import replaces
from .trained import CALLS, COMPARES, DIFFERENTIATES, Source, Traced, is_apart, names_of, training_of


def watch_training(jax, streams):
    """Watch what is differentiated, compiled and scanned over."""
    training = training_of(streams)
    for name in ("grad", "value_and_grad"):
        wrap_gradient(jax, name, training)
    for name in ("jit", "pmap"):
        wrap_compiler(jax, name, training)
    wrap_scan(jax.lax, training)


def watch_updates(module, streams):
    """Watch the updates of Optax outside of compiled functions: each kind of tree is a source."""
    training, sources = training_of(streams), {}
    plain = module.apply_updates

    @replaces(module, "apply_updates")
    def apply_updates(params, updates):
        returned = plain(params, updates)
        if training.watches() and training.clean():
            try:
                key = training.jax.tree_util.tree_structure(returned)
                if key not in sources:
                    sources[key] = Source(training)
                training.returned(sources[key], returned)
            except Exception as error:
                training.failed(error)
        return returned


def wrap_gradient(jax, name, training):
    """Look at the arguments that gradients are computed by."""
    plain = getattr(jax, name)

    @replaces(jax, name)
    def gradient(fun, argnums=0, *args, **kwargs):
        compute = plain(fun, argnums, *args, **kwargs)
        if is_apart(sys._getframe(1)):
            return compute

        @functools.wraps(compute)
        def observed(*args, **kwargs):
            if training.watches():
                for each in training.traced:
                    each.marks.add(DIFFERENTIATES)
                try:
                    numbers = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
                    trees = [args[number] for number in numbers]
                    training.differentiate(name, training.leaves(trees), names_of(jax, trees))
                except Exception as error:
                    training.failed(error)
            return compute(*args, **kwargs)

        return observed


def wrap_compiler(jax, name, training):
    """Look at what compiled functions are called with and return."""
    plain = getattr(jax, name)

    @replaces(jax, name)
    def compiler(*args, **kwargs):
        if is_apart(sys._getframe(1)):
            return plain(*args, **kwargs)
        if not args:
            return functools.partial(compiler, **kwargs) if "fun" not in kwargs else plain(**kwargs)
        function = args[0]
        try:
            body = body_of(function, training)
            if body is not None:
                compiled = plain(body, *args[1:], **kwargs)
                compiled._deviate_function = function
                return Observed(compiled, function, body, training)
        except Exception as error:
            training.failed(error)
        return plain(*args, **kwargs)


class Observed:
    """A compiled function that shows what it is called with and returns; all else is that function's."""

    __slots__ = ("__weakref__", "_compiled", "_function", "_state")

    def __init__(self, compiled, function, body, training):
        # Two objects may share a method, and each is trained by its own.
        is_method = isinstance(function, types.MethodType)
        self._compiled = compiled
        self._function = function
        self._state = (
            State(training, body._deviate_positions, body._deviate_marks) if is_method else body._deviate_state
        )
        if is_method:
            self._state.end_with(self)

    def __call__(self, *args, **kwargs):
        state = self._state
        again = state.again
        if again is not None and again.is_again and threading.get_ident() == state.streams.thread:
            return self._function(*args, **kwargs)
        returned = self._compiled(*args, **kwargs)
        if not state.is_over and threading.get_ident() == state.streams.thread:
            state.called(args, kwargs, returned)
        if again is not None:
            state.evaluated(self._function, args, kwargs, returned, sys._getframe(1))
        return returned

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name):
        return self._function if name == "__wrapped__" else getattr(self._compiled, name)

    def __repr__(self):
        return repr(self._compiled)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


class State:
    """What is known of a function that is compiled or scanned with.

    Attributes
    ----------
    positions : set
        Places of the arguments that a gradient is computed by, counted from the last one back.
    marks : set
        What else is done in it: `COMPARES`, `DIFFERENTIATES`.
    again : Again, optional
        What evaluates functions again at the end.
    """

    def __init__(self, training, positions, marks):
        self.training = training
        self.streams = training.streams
        self.positions = positions
        self.marks = marks
        self.again = training.again_of(training.streams)
        self.source = Source(training)
        self.settled = 0
        #: True: nothing of the function is of interest any more.
        self.is_over = False

    def end_with(self, function):
        """Let go of weights as soon as the function is gone that returned them."""
        weakref.finalize(function, self.training.leave, self.source).atexit = False

    def called(self, args, kwargs, returned):
        """Take down what the function was called with and returned."""
        training, source = self.training, self.source
        try:
            clean, settled = training.clean(), self.settled == len(self.positions)
            if clean and settled and source.parts is not None and not training.waiting:
                source.keep(returned)
                return
            if not (clean and settled):
                self.hand_on((args, kwargs), self.positions, clean)
            if clean:
                training.returned(source, returned)
                self.is_over = source.calls > CALLS and not source.names
        except Exception as error:
            training.failed(error)

    def evaluated(self, function, args, kwargs, returned, frame):
        """Take down a call in which predictions are compared with targets, or one that trains."""
        again = self.again
        try:
            if not self.training.clean():
                return
            if self.positions or DIFFERENTIATES in self.marks:
                again.trained += 1
            elif COMPARES in self.marks:
                again.called(function, args, kwargs, returned, frame)
        except Exception as error:
            again.predictions.failed(error)

    def hand_on(self, arguments, positions, clean):
        """Have what is traced around it know by which of its arguments it computes a gradient, or look for sources."""
        leaves = self.training.leaves(arguments)
        names = names_of(self.training.jax, arguments)
        known = self.training.differentiate(
            self, [leaves[position] for position in positions], [names[position] for position in positions]
        )
        if known and clean:
            self.settled = len(positions)


def wrap_scan(lax, training):
    """Look at what scans carry and return."""
    plain = lax.scan

    @replaces(lax, "scan")
    def scan(f, init, xs=None, *args, **kwargs):
        body = None if is_apart(sys._getframe(1)) or not training.watches() else body_of(f, training)
        if body is None:
            return plain(f, init, xs, *args, **kwargs)
        returned = plain(body, init, xs, *args, **kwargs)
        body._deviate_state.called((init, xs), {}, returned)
        return returned


def body_of(function, training):
    """Return a function that is traced in the place of another one, always the same one; None where there is none.

    JAX knows functions by their identity, and compiles again what it does not know.
    """
    if isinstance(function, types.MethodType):
        inner = body_of(function.__func__, training)
        return None if inner is None else types.MethodType(inner, function.__self__)
    if isinstance(function, type) or type(function).__eq__ is not object.__eq__:
        return None
    try:
        body = training.bodies.get(function)
        if body is None:
            body = training.bodies[function] = make_body(function, training)
        return body
    except (TypeError, ValueError):
        return None  # it has no signature, or takes no weak reference


def make_body(function, training):
    """Return a function that does the same and shows its arguments as it is traced.

    It keeps neither the function nor what that holds alive: what is compiled of it does.
    """
    reference, positions, marks = weakref.ref(function), set(), set()
    inner = getattr(function, "func", function)

    @functools.wraps(inner, updated=())
    def body(*args, **kwargs):
        if not training.watches():
            return reference()(*args, **kwargs)
        training.traced.append(Traced(arguments_of(training, args, kwargs), positions, marks))
        try:
            return reference()(*args, **kwargs)
        finally:
            training.traced.pop()

    body.__signature__ = inspect.signature(function)
    del body.__wrapped__
    body._deviate_positions = positions
    body._deviate_marks = marks
    body._deviate_state = State(training, positions, marks)
    body._deviate_state.end_with(body)
    return body


def arguments_of(training, args, kwargs):
    """Return the arguments of a function that is traced, none where they cannot be read."""
    try:
        return training.leaves((args, kwargs))
    except Exception as error:
        training.failed(error)
        return []
