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

#: A given seed this close to the clock's seconds, milliseconds, microseconds or nanoseconds was read off the clock.
CLOCK_SECONDS = 60
CLOCK_SCALES = (1, 1000, 1000000, 1000000000)


def mix(*parts):
    """Return a seed in ``[0, 2**32)``; equal parts give equal seeds."""
    digest = sha256("/".join(map(str, parts)).encode("utf-8", "backslashreplace")).digest()
    return int.from_bytes(digest[: SEED_BITS // 8], "little")


def text_of(given):
    """Return a text that is equal for equal seeds: 0, 0.0, True and an array's 0 aside, each type its own."""
    if hasattr(given, "tolist"):
        given = given.tolist()
    try:
        return str(operator.index(given))
    except TypeError:
        return repr(given)


def is_clock(given):
    """Tell whether `given` was read off the clock just now."""
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return False
    now = time.time()
    if any(abs(given - now * scale) < CLOCK_SECONDS * scale for scale in CLOCK_SCALES):
        return True
    milliseconds = int(now * 1000) % 2**SEED_BITS
    return abs(given - milliseconds) < CLOCK_SECONDS * 1000
