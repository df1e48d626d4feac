"""Libraries of neural networks on JAX: Flax, Haiku, JAX's initialisers. Keys that enter them get their factor's seed.

Flax draws by the names of streams of keys. A stream of ``nnx`` that another name falls back to draws for the name that
was looked up: ``rngs.params()`` for parameters, the stream that a dropout layer forks off for the layer.
"""

import functools

from ...factors import AUGMENT, DATA, INIT, LAYERS
from ...patching import replaces
from ..boundaries import bind
from .random import keys_of

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
