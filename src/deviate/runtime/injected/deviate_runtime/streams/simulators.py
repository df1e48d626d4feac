"""Environments of Gymnasium and Gym, which make a generator from the seed that the program resets them with."""

import functools
import sys


def attend(seeding, streams):
    """Replace the seed of an environment or of a space by one of the factor that draws."""
    plain = seeding.np_random
    if hasattr(plain, "_deviate"):
        return
    call = seeding.__name__ + ".np_random"

    @functools.wraps(plain)
    def np_random(seed=None):
        frame = sys._getframe(1)
        while frame is not None and not streams.callers.is_program(frame):
            frame = frame.f_back
        if frame is None:
            return plain(seed)
        if seed is not None:
            streams.place(call, seed, frame)
        if not streams.controls:
            return plain(seed)
        # What comes back is the seed that was used; the program is told the one it gave.
        generator, used = plain(streams.seed(streams.current, streams.key(seed, call)))
        return generator, used if seed is None else seed

    np_random._deviate = True
    seeding.np_random = np_random
