"""Environments of Gymnasium and Gym, which make a generator from the seed that the program resets them with."""

import sys

from ..factors import INIT, LAYERS, OTHER
from ..patching import replaces
from .seeds import program_frame


def patch_seeding(seeding, streams):
    """Replace the seed of an environment or of a space by one of the factor that draws.

    It initializes no parameters and is no layer, also where a module makes it in its constructor: that is `other`.
    """
    plain = seeding.np_random
    if hasattr(plain, "_deviate"):
        return
    call = seeding.__name__ + ".np_random"

    @replaces(seeding, "np_random")
    def np_random(seed=None):
        frame = program_frame(streams, sys._getframe(1))
        if frame is None:
            return plain(seed)
        if seed is not None:
            streams.locate_seed(call, seed, frame)
        if not streams.controls:
            return plain(seed)
        # The second value is the seed that was used: the program gets the one that it gave.
        factor = OTHER if streams.current in (INIT, LAYERS) else streams.current
        generator, used = plain(streams.seed(factor, streams.key(seed, call)))
        return generator, used if seed is None else seed
