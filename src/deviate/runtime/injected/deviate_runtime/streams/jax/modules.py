"""Draws of JAX, and of Flax, Haiku and JAX's initialisers: keys that enter them get their factor's seed.

Flax draws by the names of streams of keys. A stream of ``nnx`` that another name falls back to draws for the name that
was looked up: ``rngs.params()`` for parameters, the stream that a dropout layer forks off for the layer.

Keys are the same in every run; a factor's seed is folded into the key with which it draws. A key does not show what it
is for. So a key that the program makes of a number stays as it is, and so do the keys that are split from it. Where a
function draws, the seed of the factor that draws then is folded in, and the draw differs from run to run if that factor
varies. Inside a function that is traced the seed becomes a constant of the compiled program.
"""

import functools
import sys
import zlib

from ...factors import AUGMENT, DATA, INIT, LAYERS, OTHER, SEED, SHUFFLE
from ...frameworks import every
from ...patching import replaces
from ..boundaries import bind
from ..seeds import MAX_LOCATIONS, SEED_LIMIT, is_clock, keeps_seed, location_of, mix, record_source

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
        for seeded in self.made:
            record_source(streams, factor, "jax", seeded)
        if not self.made:
            record_source(streams, factor, "jax", None)
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
