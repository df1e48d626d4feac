"""`numpy.random`: the global generator, and those the program makes.

A generator of NumPy draws from a bit generator that its constructor is given; called again on the same object, the
constructor gives it another one. That is a switch, in a fifth of a microsecond.
"""

import functools
import sys
import zlib

from ..patching import replaces
from .generators import Generator, Made, bound_seed, is_switched, made_at, note_unseen, put_in_place, stand_for
from .seeds import mix


def patch_random(numpy_random, streams):
    """Have the global generator, and those made by name, draw from the factors' streams."""
    if hasattr(numpy_random.seed, "_deviate"):
        return
    if not hasattr(numpy_random, "MT19937"):
        note = "NumPy before 1.17 has one stream for all factors"
        streams.process.events.note("numpy-one-stream", note, "numpy")
        return
    fix_entropy(numpy_random, streams)
    generator = Switched(streams, numpy_random.mtrand._rand, numpy_random.RandomState, numpy_random.MT19937)
    wrap_functions(numpy_random, streams, generator)
    pickling = sys.modules.get("numpy.random._pickle")
    legacy, plain = numpy_random.RandomState, numpy_random.Generator
    put_in_place(legacy_class(numpy_random, streams), legacy, numpy_random, pickling)
    made = generator_class(plain, streams)
    put_in_place(made, plain, numpy_random, pickling)
    wrap_default_rng(numpy_random, plain, made, streams)
    generator.start()


class Switched(Generator):
    """A generator of NumPy. A state is a bit generator."""

    name = "numpy"

    def __init__(self, streams, item, cls, bits, key=None):
        super().__init__(streams, key)
        self.cls = cls
        self.bits = bits
        self.find = lambda: item

    def live(self):
        return self.find()._bit_generator

    def put(self, state):
        item = self.find()
        if item is not None:
            self.cls.__init__(item, state)

    def fresh(self, seed):
        if isinstance(seed, self.bits):
            return self.copy(seed)
        bits = self.bits(0)
        if hasattr(bits, "_legacy_seeding"):
            # What `numpy.random.seed` does: other than the constructor with the same number.
            bits._legacy_seeding(seed)
            return bits
        return self.bits(seed)

    def copy(self, state):
        copied = type(state)(0)
        copied.state = state.state
        return copied

    def mark(self, state):
        return mark(state)

    def owns(self, owner, function):
        return owner is not None and owner is self.find()

    def alone(self, state):
        return self.cls(state)


class MadeSwitched(Made, Switched):
    """A generator that the program made."""

    def __init__(self, streams, item, cls, bits, key):
        super().__init__(streams, None, cls, bits, key)
        self.watch(item)
        self.find = self.item
        self.name = "numpy." + cls.__name__
        self.sequence = sequence_of(item._bit_generator)

    def fresh(self, seed):
        return self.descending(super().fresh(seed))

    def copy(self, state):
        return self.descending(super().copy(state))

    def descending(self, state):
        """Return a state whose `spawn` makes what the author's generator would make, whichever factor draws."""
        if self.sequence is None:
            return state
        heir = type(state)(self.sequence)
        heir.state = state.state
        return heir


def mark(bits):
    """Return a number that identifies the state of a bit generator."""
    state = bits.state
    inner = state["state"]
    if "pos" in inner:  # a Mersenne twister, whose array is too long for its text to show it whole
        return zlib.crc32(b"%d" % inner["pos"], zlib.crc32(inner["key"].tobytes()))
    return zlib.crc32(repr(state).encode())


def fix_entropy(numpy_random, streams):
    """Derive what unseeded generators would draw from the system: all of them call one function for it.

    The number is the same for every factor. The states of the generators made of it differ by factor.
    """
    bits = sys.modules.get("numpy.random.bit_generator") or sys.modules.get("numpy.random._bit_generator")
    plain = getattr(bits, "randbits", None)
    if plain is None:
        if streams.controls:
            streams.process.events.note("generator-unseeded", "unseeded NumPy generators draw from the system", "numpy")
        return

    def randbits(count):
        number = derived(count) if streams.controls else plain(count)
        streams.fresh.append(number)
        return number

    def derived(count):
        number = 0
        for _ in range(-(-count // 32)):
            number = number << 32 | mix(*streams.next_key("numpy entropy"))
        return number & (1 << count) - 1

    bits.randbits = randbits


def wrap_functions(numpy_random, streams, generator):
    """Replace the functions of the module that seed, or hand out the state."""
    plain_seed, plain_get, plain_set = numpy_random.seed, numpy_random.get_state, numpy_random.set_state

    @replaces(numpy_random, "seed", numpy_random.mtrand)
    def seed(seed=None):
        return streams.reseed("numpy.random.seed", seed, [generator], lambda: plain_seed(seed), sys._getframe(1))

    @replaces(numpy_random, "get_state", numpy_random.mtrand)
    def get_state(*args, **kwargs):
        state = plain_get(*args, **kwargs)
        generator.hand_out(token(state))
        return state

    @replaces(numpy_random, "set_state", numpy_random.mtrand)
    def set_state(state):
        if not generator.hand_back(token(state)):
            streams.put_back(generator, lambda: plain_set(state))


def token(state):
    """Return what identifies a state that was handed out, as the old tuple or as a dictionary."""
    if isinstance(state, dict):
        state = (state.get("bit_generator"), state["state"]["key"], state["state"]["pos"])
    return zlib.crc32(b"%d" % state[2], zlib.crc32(state[1]))


def legacy_class(numpy_random, streams):
    """Return what replaces methods of ``RandomState``."""
    plain = numpy_random.RandomState

    class RandomState(plain, metaclass=stand_for(plain)):
        """A legacy generator whose seeds derive from the factors'."""

        def __init__(self, seed=None):
            plain.__init__(self, seed)
            if seed is None or is_plain_seed(seed):
                frame = sys._getframe(1)
                make(streams, self, plain, numpy_random.MT19937, "numpy.random.RandomState", seed, seed, frame)

        def seed(self, seed=None):
            generator = streams.made.get(id(self))
            again = functools.partial(plain.seed, self, seed)
            if generator is None:
                return again()
            return streams.reseed("numpy.random.RandomState.seed", seed, [generator], again, sys._getframe(1))

    return RandomState


def generator_class(plain, streams):
    """Return what replaces methods of ``Generator``."""

    class Generator(plain, metaclass=stand_for(plain)):
        """A generator whose seeds derive from the factors'."""

        def __init__(self, bit_generator):
            plain.__init__(self, bit_generator)
            make_of_bits(streams, self, plain, bit_generator, "numpy.random.Generator", sys._getframe(1))

    return Generator


def wrap_default_rng(numpy_random, cls, made, streams):
    """Have `default_rng` return generators of the program's that are switched; those it has pass as they are."""
    plain = numpy_random.default_rng

    @replaces(numpy_random, "default_rng")
    def default_rng(seed=None):
        generator, call, frame = plain(seed), "numpy.random.default_rng", sys._getframe(1)
        is_known = seed is None or is_plain_seed(seed) or hasattr(seed, "entropy")
        if not is_known and not isinstance(seed, numpy_random.BitGenerator):
            return generator
        bits = generator.bit_generator
        item = made.__new__(made)
        cls.__init__(item, bits)
        if is_known:
            given = (seed.entropy, seed.spawn_key) if hasattr(seed, "entropy") else seed
            make(streams, item, cls, type(bits), call, given, seed, frame)
        else:
            make_of_bits(streams, item, cls, bits, call, frame)
        return item


class State(tuple):
    """The state of a bit generator in place of a seed: nothing else shows what it was seeded with."""

    def __repr__(self):
        return "%s in state %d" % self


def make_of_bits(streams, item, cls, bits, call, frame):
    """Begin to switch a generator that the program made of a bit generator."""
    if is_fresh(streams, bits, frame):
        return make(streams, item, cls, type(bits), call, None, None, frame)
    form = type(bits)(0)
    form.state = bits.state
    return make(streams, item, cls, type(bits), call, State((type(bits).__name__, mark(bits))), form, frame)


def make(streams, item, cls, bits, call, seed, form, frame):
    """Begin to switch a generator the program made, or let it draw for the factor that makes it.

    `form` is what the author's own state is made from: `seed`, or what it stands for.
    """
    seeded = streams.locate_seed(call, seed, frame) if seed is not None else None
    if seeded is None and seed is not None:
        note_unseen(streams)
        return  # a library's own, by a seed of its own
    key = streams.key(seed, call, form)
    if is_switched(streams):
        generator = MadeSwitched(streams, item, cls, bits, key)
        generator.seeded = seeded
        generator.made = made_at(streams, frame) if seed is None else None
        generator.start()
    elif streams.controls:
        bound = Switched(streams, item, cls, bits, key)
        bound.put(bound.fresh(bound_seed(streams, key)))
    else:
        note_unseen(streams)


def is_fresh(streams, bit_generator, frame):
    """Tell whether a bit generator was made a moment ago with what the system made up: nobody gave it a seed.

    NumPy makes one for a copy, whose state comes later, and for what `jumped` returns; a library may make one of its
    own as it is imported.
    """
    if frame.f_globals.get("__name__", "").startswith("numpy.") or made_at(streams, frame) is None:
        return False
    sequence = sequence_of(bit_generator)
    if getattr(sequence, "entropy", None) not in streams.fresh:
        return False
    return mark(type(bit_generator)(sequence)) == mark(bit_generator)


def sequence_of(bit_generator):
    """Return the sequence of seeds that a bit generator was made of, from which it spawns others; None without one."""
    return getattr(bit_generator, "seed_seq", None) or getattr(bit_generator, "_seed_seq", None)


def is_plain_seed(seed):
    """Tell whether `seed` is a number or some, and no generator, sequence of seeds or nothing."""
    return isinstance(seed, (int, list, tuple)) or hasattr(seed, "dtype")
