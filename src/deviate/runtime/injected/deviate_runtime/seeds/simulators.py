"""Environments of Gymnasium and Gym, which make a generator from the seed that the program resets them with."""

import functools
import sys


def attend(seeding, seeds):
    """Replace the seed of an environment or of a space."""
    plain = seeding.np_random
    if hasattr(plain, "_deviate"):
        return

    @functools.wraps(plain)
    def np_random(seed=None):
        if seed is not None:
            frame = sys._getframe(1)
            while frame is not None and not seeds.callers.is_program(frame):
                frame = frame.f_back
            used = seeds.replace(seeding.__name__ + ".np_random", seed, "simulator", frame) if frame else seed
            # What comes back is the seed that was used; the program is told the one it gave.
            return (plain(used)[0], seed)
        return plain(seed)

    np_random._deviate = True
    seeding.np_random = np_random
