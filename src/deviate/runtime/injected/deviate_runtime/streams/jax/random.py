"""JAX: keys are the same in every run; a factor's seed is folded into the key with which it draws.

A key does not show what it is for. So a key that the program makes of a number stays as it is, and so do the keys that
are split from it. Where a function draws, the seed of the factor that draws then is folded in, and the draw
differs from run to run if that factor varies. Inside a function that is traced the seed becomes a constant of the
compiled program.
"""

import sys
import zlib

from ...factors import OTHER, SEED, SHUFFLE
from ...frameworks import every
from ...patching import replaces
from ..derive import is_clock, mix
from ..seeds import MAX_LOCATIONS, SEED_LIMIT, keeps_seed, location_of, record_source

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
