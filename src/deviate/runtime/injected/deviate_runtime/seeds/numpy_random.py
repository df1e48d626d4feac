"""`numpy.random`: the global state, and the generators made by name."""

import functools
import sys


def attend(numpy_random, seeds):
    """Seed the global state, and replace the seeds that the program gives."""
    if hasattr(numpy_random.seed, "__wrapped__"):
        return
    plain = numpy_random.seed

    @functools.wraps(plain)
    def seed(seed=None):
        return plain(seeds.replace("numpy.random.seed", seed, "numpy"))

    for module in (numpy_random, numpy_random.mtrand):
        module.seed = seed
    fix_entropy(numpy_random, seeds)
    if hasattr(numpy_random, "default_rng"):
        numpy_random.default_rng = wrap_default_rng(numpy_random.default_rng, seeds)
    numpy_random.RandomState = wrap_random_state(numpy_random.RandomState, seeds)
    plain(seeds.start)


def fix_entropy(numpy_random, seeds):
    """Derive what unseeded generators would draw from the system: all of them ask one function for it."""
    bits = sys.modules.get("numpy.random.bit_generator") or sys.modules.get("numpy.random._bit_generator")
    if bits is None or not hasattr(bits, "randbits"):
        seeds.process.events.note("generator-unseeded", "unseeded NumPy generators draw from the system", "numpy")
        return

    def randbits(count):
        words = -(-count // 32)
        number = 0
        for _ in range(words):
            number = number << 32 | seeds.next("numpy entropy")
        return number & (1 << count) - 1

    bits.randbits = randbits


def wrap_default_rng(plain, seeds):
    """Return `default_rng` with seeds of the program replaced; generators and sequences pass as they are."""

    @functools.wraps(plain)
    def default_rng(seed=None):
        if is_plain_seed(seed):
            seed = seeds.replace("numpy.random.default_rng", seed, "numpy.Generator")
        return plain(seed)

    return default_rng


def wrap_random_state(plain, seeds):
    """Return a class that stands for `RandomState` and makes instances of that very class."""

    class Stand(type):
        """Answers for `RandomState` wherever a class is asked for."""

        def __call__(cls, *args, **kwargs):
            if cls is not stand:
                return type.__call__(cls, *args, **kwargs)
            given = kwargs.pop("seed", None) if not args else args[0]
            if is_plain_seed(given):
                given = seeds.replace("numpy.random.RandomState", given, "numpy.RandomState")
            return plain(given, *args[1:], **kwargs)

        def __instancecheck__(cls, instance):
            return isinstance(instance, plain) if cls is stand else type.__instancecheck__(cls, instance)

        def __subclasscheck__(cls, other):
            return issubclass(other, plain) if cls is stand else type.__subclasscheck__(cls, other)

    stand = Stand("RandomState", (plain,), {"__module__": "numpy.random", "__doc__": plain.__doc__})
    return stand


def is_plain_seed(seed):
    """Tell whether `seed` is a number or some, and no generator, sequence of seeds or nothing."""
    return isinstance(seed, (int, list, tuple)) or hasattr(seed, "dtype")


def seed_again(seeds):
    """Seed the global state in a child process that did not inherit it."""
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None and "numpy" not in seeds.explicit:
        numpy_random.seed.__wrapped__(seeds.start)
