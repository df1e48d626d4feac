"""Draws of JAX, and of Flax, Haiku and JAX's initialisers: keys that enter them get their factor's seed.

Flax draws by the names of streams of keys. A stream of ``nnx`` that another name falls back to draws for the name that
was looked up: ``rngs.params()`` for parameters, the stream that a dropout layer forks off for the layer.

Keys are the same in every run; a factor's seed is folded into the key with which it draws. A key does not show what it
is for. So a key that the program makes of a number stays as it is, and so do the keys that are split from it. Where a
function draws, the seed of the factor that draws then is folded in, and the draw differs from run to run if that factor
varies. Inside a function that is traced the seed becomes a constant of the compiled program.

Functions of JAX that compile, differentiate and update: what they are called with and return, for `trained`.
"""

import functools
import inspect
import sys
import threading
import types
import weakref
import zlib

from ...factors import AUGMENT, DATA, INIT, LAYERS, OTHER, SEED, SHUFFLE
from ...frameworks import every
from ...patching import replaces
from ..callers import bind
from ..seeds import MAX_LOCATIONS, SEED_LIMIT, is_clock, keeps_seed, location_of, mix, record_source
from .trained import CALLS, COMPARES, DIFFERENTIATES, Source, Traced, is_apart, names_of, training_of

#: The functions of ``jax.nn.initializers`` that make initialisers.
FACTORIES = (
    "delta_orthogonal glorot_normal glorot_uniform he_normal he_uniform kaiming_normal kaiming_uniform lecun_normal"
    " lecun_uniform normal orthogonal truncated_normal uniform variance_scaling xavier_normal xavier_uniform"
).split()

#: The stream of Flax that parameters are drawn from; without another one, layers draw from it too.
PARAMS = "params"

#: The stream of ``nnx`` that all names fall back to.
DEFAULT = "default"


def patch_initializers(module, streams):
    """Have ``jax.nn.initializers``, which Flax takes its own from, draw for `init`."""
    for name in FACTORIES:
        plain = getattr(module, name, None)
        if plain is not None and not hasattr(plain, "_deviate"):
            setattr(module, name, wrap_factory(plain, streams))


def wrap_factory(factory, streams):
    """Return `factory`; the initialisers it makes fold the seed of `init` into their keys."""

    @functools.wraps(factory)
    def make(*args, **kwargs):
        initializer = factory(*args, **kwargs)

        @functools.wraps(initializer)
        def init(key, *args, **kwargs):
            factor = DATA if streams.current == DATA else INIT
            return initializer(keys_of(streams).fold(key, factor), *args, **kwargs)

        return init

    make._deviate = True
    return make


def patch_haiku(module, streams):
    """Fold seeds into the key that a transformed function is initialised or applied with."""
    plain = getattr(module, "to_prng_sequence", None)
    if plain is None or hasattr(plain, "_deviate"):
        return
    init_message = getattr(module, "INIT_RNG_ERROR", None)

    @replaces(module, "to_prng_sequence")
    def to_prng_sequence(rng, err_msg):
        if hasattr(rng, "dtype"):
            rng = keys_of(streams).fold(rng, INIT if err_msg == init_message else LAYERS)
        return plain(rng, err_msg)


def factor_of(streams, name):
    """Return the factor that draws from the stream called `name`."""
    if streams.current in (AUGMENT, DATA):
        return streams.current
    return INIT if name == PARAMS and streams.current != LAYERS else LAYERS


def patch_scopes(module, streams):
    """Fold seeds into the keys that a module of ``linen`` is initialised or applied with; inside, they stay."""
    cls, lazy = module.Scope, getattr(module, "LazyRng", ())
    if hasattr(cls.__init__, "_deviate"):
        return
    plain = cls.__init__

    def folded(name, key):
        return key if isinstance(key, lazy) else keys_of(streams).fold(key, factor_of(streams, name))

    @replaces(cls, "__init__")
    def __init__(self, variables, rngs=None, *args, **kwargs):
        if rngs:
            rngs = {name: folded(name, key) for name, key in rngs.items()}
        plain(self, variables, rngs, *args, **kwargs)


def patch_nnx_modules(module, streams):
    """Have the construction of modules of ``nnx`` draw for `init`."""
    meta = type(module.Module)
    if vars(meta).get("__call__") is None:
        inherited = meta.__call__
        meta.__call__ = lambda cls, *args, **kwargs: inherited(cls, *args, **kwargs)
    bind(streams, meta, "__call__", INIT)


def patch_nnx_streams(module, streams):
    """Fold the factor's seed into each key that a stream of ``nnx`` gives, unless its purpose is unknown."""
    cls = module.RngStream
    if hasattr(cls.__call__, "_deviate"):
        return
    lookup = Lookup()
    wrap_lookup(module.Rngs, lookup)
    plain = cls.__call__

    @replaces(cls, "__call__")
    def __call__(self):
        key = plain(self)
        name = self.tag if self.tag != DEFAULT else lookup.take(self)
        if name is None or name == DEFAULT:
            # The draw that is made with the key decides.
            return key
        return keys_of(streams).fold(key, factor_of(streams, name))


class Lookup:
    """The name under which a stream was last looked up."""

    stream = None
    name = None

    def take(self, stream):
        """Return that name if it led to `stream`, which draws now."""
        name = self.name if self.stream == id(stream) else None
        self.stream = self.name = None
        return name


def wrap_lookup(cls, lookup):
    """Remember the name that a stream was looked up under."""
    plain = getattr(cls, "_get_stream", None)
    if plain is None:
        return

    @replaces(cls, "_get_stream")
    def _get_stream(self, name, error_type):
        stream = plain(self, name, error_type)
        lookup.stream, lookup.name = id(stream), name
        return stream


MAKERS = ("PRNGKey", "key")

DRAWS = (
    "ball bernoulli beta binomial bits categorical cauchy chisquare choice dirichlet double_sided_maxwell exponential f"
    " gamma generalized_normal geometric gumbel laplace loggamma logistic lognormal maxwell multinomial"
    " multivariate_normal normal orthogonal pareto permutation poisson rademacher randint rayleigh shuffle t triangular"
    " truncated_normal uniform wald weibull_min"
).split()

#: Draws with a purpose of their own, where no other is known.
PURPOSES = {"permutation": SHUFFLE, "shuffle": SHUFFLE}

#: Beginnings of modules whose keys have a factor's seed in them before they draw.
KEYED = every("keyed")

#: Draws of a factor whose keys are read; to read waits for the device.
READ_KEYS = 32


def patch_random(jax_random, streams):
    """Watch keys being made, and fold factors' seeds in where the program draws."""
    if hasattr(jax_random.PRNGKey, "_deviate"):
        return
    keys = Keys(jax_random, streams)
    streams.jax_keys = keys
    for name in MAKERS:
        wrap_maker(jax_random, name, keys)
    for name in DRAWS:
        if hasattr(jax_random, name):
            wrap_draw(jax_random, name, keys)


class Keys:
    """Keys of the program, and what they are folded with."""

    def __init__(self, jax_random, streams):
        self.streams = streams
        self.fold_in = jax_random.fold_in
        self.key_data = getattr(jax_random, "key_data", None)
        #: Locations at which the program made keys of numbers.
        self.made = []
        #: Digest of these numbers.
        self.seed_digest = 0
        self.reads = {}

    def make(self, call, seed, frame):
        """Return the number that a key is made of; a number read off the clock is replaced."""
        seeded = self.streams.locate_seed(call, seed, frame)
        if seeded is None:
            return seed
        location = location_of(seeded)
        if len(self.made) < MAX_LOCATIONS and not any(location_of(known) == location for known in self.made):
            self.made.append(seeded)
        if self.streams.controls and is_clock(seed):
            seed = mix(*self.streams.next_key("jax")) % SEED_LIMIT
        self.seed_digest = zlib.crc32(b"%d" % int(seed), self.seed_digest)
        return seed

    def fold(self, key, factor):
        """Return `key` with the seed of `factor` in it."""
        try:
            self.record(key, factor)
            if factor == SEED or keeps_seed(self.streams, factor):
                return key
            return self.fold_in(key, self.streams.seed(factor, ("jax",)) % SEED_LIMIT)
        except Exception as error:
            self.streams.process.events.note("draw-not-told-apart", "jax: %r" % (error,), "jax")
            return key

    def record(self, key, factor):
        """Take a draw into the fingerprint: its key where that has a value, else all that keys were made of."""
        streams = self.streams
        for seeded in self.made or [None]:
            # Of which of several keys this one was split, nothing shows.
            record_source(streams, factor, "jax" if len(self.made) < 2 else "jax ?", seeded)
        number = self.number(key, factor)
        seed = 0 if keeps_seed(streams, factor) else streams.seeds.get(factor, 0)
        streams.fingerprints.add_draw(factor, mix(number, seed))

    def number(self, key, factor):
        """Return what identifies a key."""
        reads = self.reads[factor] = self.reads.get(factor, 0) + 1
        jax = sys.modules["jax"]
        if reads > READ_KEYS or isinstance(key, jax.core.Tracer):
            return self.seed_digest
        data = self.key_data(key) if self.key_data is not None else key
        return zlib.crc32(sys.modules["numpy"].asarray(data).tobytes())


def wrap_maker(jax_random, name, keys):
    """Watch a function that makes keys of numbers; a traced value passes as it is."""
    plain = getattr(jax_random, name)

    @replaces(jax_random, name)
    def make_key(seed, *args, **kwargs):
        if isinstance(seed, int) or type(seed).__module__ == "numpy":
            seed = keys.make("jax.random." + name, seed, sys._getframe(1))
        return plain(seed, *args, **kwargs)


def wrap_draw(jax_random, name, keys):
    """Fold the seed of the factor that draws into the key."""
    plain = getattr(jax_random, name)
    purpose = PURPOSES.get(name)

    @replaces(jax_random, name)
    def draw(*args, **kwargs):
        if sys._getframe(1).f_globals.get("__name__", "").startswith(KEYED):
            return plain(*args, **kwargs)
        current = keys.streams.current
        factor = purpose if purpose is not None and current == OTHER else current
        if args:
            args = (keys.fold(args[0], factor),) + args[1:]
        elif "key" in kwargs:
            kwargs["key"] = keys.fold(kwargs["key"], factor)
        return plain(*args, **kwargs)


def keys_of(streams):
    """Return the keys of the program; JAX is imported by then."""
    return streams.jax_keys


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
