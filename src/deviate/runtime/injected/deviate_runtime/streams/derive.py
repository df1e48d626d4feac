"""Seeds: mixed from what they stand for, so that equal ones stand for equal things on every machine."""

import operator
import time

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
