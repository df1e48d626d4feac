"""Seeds that the program gives to a library: replaced by the factor's, and recorded where they are given.

Seeds: mixed from what they stand for, so that equal ones stand for equal things on every machine.
"""

import operator
import sys
import time

from ..factors import DATA

# What `hashlib` falls back to is built in; importing that loads OpenSSL, which takes milliseconds.
try:
    from _sha2 import sha256  # Python 3.12
except ImportError:
    try:
        from _sha256 import sha256
    except ImportError:
        from hashlib import sha256

#: NumPy's legacy seeding takes no more.
SEED_BITS = 32

#: A seed this close to the clock's seconds, milliseconds, microseconds or nanoseconds was read off the clock.
CLOCK_SECONDS = 60
CLOCK_SCALES = (1, 1000, 1000000, 1000000000)


def mix(*parts):
    """Return a seed in ``[0, 2**32)``; equal parts give equal seeds."""
    digest = sha256("/".join(map(str, parts)).encode("utf-8", "backslashreplace")).digest()
    return int.from_bytes(digest[: SEED_BITS // 8], "little")


class Given(tuple):
    """Identifies a generator by the seed that the program gives, and keeps that in its own form.

    Parameters
    ----------
    seed : object
        A number, some, text, or whatever else the library takes.
    form : object, optional
        What a generator in the author's own state is made from, where that is not `seed`.
    """

    def __new__(cls, seed, form=None):
        """Make the key; the program may change its list or array later."""
        key = super().__new__(cls, ("given", text_of(seed)))
        plain = seed if form is None else form
        key.seed = int(key[1]) if is_whole(key[1]) else plain.copy() if hasattr(plain, "copy") else plain
        return key


def is_whole(text):
    """Tell whether a text is a whole number."""
    return text.lstrip("-").isdigit()


def text_of(seed):
    """Return a text that is equal for equal seeds: 0, 0.0, True and an array's 0 aside, each type its own."""
    if hasattr(seed, "tolist"):
        seed = seed.tolist()
    try:
        return str(operator.index(seed))
    except TypeError:
        return repr(seed)


def is_clock(seed):
    """Tell whether `seed` was read off the clock just now."""
    if isinstance(seed, bool) or not isinstance(seed, (int, float)):
        return False
    now = time.time()
    if any(abs(seed - now * scale) < CLOCK_SECONDS * scale for scale in CLOCK_SCALES):
        return True
    milliseconds = int(now * 1000) % 2**SEED_BITS
    return abs(seed - milliseconds) < CLOCK_SECONDS * 1000


#: Locations that are recorded for one library.
MAX_LOCATIONS = 16

#: Seeds of 31 bits fit whatever a library keeps them in.
SEED_LIMIT = 2**31


class Derived(int):
    """A seed that was derived already."""


def derived(streams, factor, seed, unseeded="clock"):
    """Return the seed of `factor` that replaces `seed`, which the program gives."""
    return Derived(streams.seed(factor, streams.key(seed, unseeded)) % SEED_LIMIT)


def keeps_seed(streams, factor):
    """Tell whether seeds for `factor` stay as they are: the author's own seeds hold the data fixed."""
    return not streams.controls or (factor == DATA and DATA not in streams.varying)


def replaced(streams, factor, library, call, seed, frame):
    """Record a seed that the program gives, and return its replacement; only integers are replaced."""
    record_seed(streams, factor, library, call, seed, frame)
    return seed if keeps_seed(streams, factor) else derived(streams, factor, seed)


def record_seed(streams, factor, generator, call, seed, frame):
    """Record that a seed at a line of the program decides draws of `factor`, however many libraries passed it on."""
    record_source(streams, factor, generator, located_seed(streams, factor, call, seed, frame))
    streams.fingerprints.add_draw(factor, number_of(streams, factor, seed))


def located_seed(streams, factor, call, seed, frame):
    """Return where the program gives a seed that decides draws of `factor`, None where a library does."""
    caller = program_frame(streams, frame)
    return streams.locate_seed(call, seed, caller, not keeps_seed(streams, factor)) if caller is not None else None


def number_of(streams, factor, seed):
    """Return what stands for the draws that a seed of the program decides."""
    return mix(text_of(seed), *seed_parts(streams, factor))


def seed_parts(streams, factor):
    """Return what a draw of `factor` depends on beside the program's own seed."""
    return () if keeps_seed(streams, factor) else (streams.seeds[factor],)


def record_source(streams, factor, generator, seeded):
    """Record where draws of `factor` were seeded: each location has an entry of its own, up to a few."""
    sources = streams.fingerprints.of(factor).sources
    for number in range(1, MAX_LOCATIONS + 1):
        name = generator if number == 1 else "%s %d" % (generator, number)
        if name not in sources or location_of(sources[name]) == location_of(seeded):
            sources[name] = seeded
            return


def location_of(seeded):
    """Return what identifies a location that seeds."""
    return None if seeded is None else (seeded.get("call"), seeded["file"], seeded["line"])


def program_frame(streams, frame):
    """Return the first frame of the program's, None where there is none."""
    while frame is not None and not streams.callers.is_program(frame):
        frame = frame.f_back
    return frame


def replace_everywhere(plain, function, library):
    """Replace `plain` by `function` in the modules of `library` that have imported it by name."""
    name = plain.__name__
    # No pairs: thousands of tuples bring the next full garbage collection nearer, which takes a tenth of a second.
    for known in list(sys.modules):
        if known == library or known.startswith(library + "."):
            module = sys.modules.get(known)
            if module is not None and vars(module).get(name) is plain:
                setattr(module, name, function)
