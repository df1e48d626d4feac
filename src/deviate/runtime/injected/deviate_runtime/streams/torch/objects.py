"""Generators that the program makes from ``torch.Generator``."""

import functools
import sys

from ...factors import OTHER, SHUFFLE
from ..generators import Made, bound_seed, is_switched, note_unseen, put_in_place, stand_for
from ..seeds import record_source
from .states import Switched, hand_back, token

#: Where torch seeds generators with numbers it has just drawn.
OF_TORCH = "/torch/utils/data/"

#: What torch gives a generator that is not seeded; the clock has no part in it.
DEFAULT_SEED = 67280421310721


#: How seeding is named in events.
MANUAL_SEED = "torch.Generator.manual_seed"


class MadeSwitched(Made, Switched):
    """A generator that the program made."""

    name = "torch.Generator"

    def __init__(self, streams, plain, item, key):
        super().__init__(streams, None, plain, item.device, key)
        self.watch(item)
        self.find = self.item


def replace_class(torch, streams, plain):
    """Replace the class by a subclass: the one of C takes no new methods."""

    class Generator(plain, metaclass=stand_for(plain)):
        """A generator whose seeds derive from the factors'."""

        def __init__(self, *args, **kwargs):
            frame = sys._getframe(1)
            if streams.callers.is_program(frame):
                seeded = dict(streams.callers.locate(frame) or {}, call="torch.Generator", given="None")
                adopt(streams, plain, self, seeded, DEFAULT_SEED)

        def manual_seed(self, seed):
            frame = sys._getframe(1)
            again = functools.partial(plain.manual_seed, self, seed)
            generator = streams.made.get(id(self))
            if generator is not None:
                streams.reseed(MANUAL_SEED, seed, [generator], again, frame)
                return self
            seeded = where_seeded(streams, seed, frame)
            if seeded is None:
                note_unseen(streams)
                return again()
            if not streams.controls:
                again()
            adopt(streams, plain, self, seeded, seed)
            return self

        def seed(self):
            generator = streams.made.get(id(self))
            if generator is None:
                return plain.seed(self)
            again, frame = functools.partial(plain.seed, self), sys._getframe(1)
            result = streams.reseed("torch.Generator.seed", None, [generator], again, frame)
            return generator.initial_seed() if result is None else result

        def initial_seed(self):
            generator = streams.made.get(id(self))
            planted = generator is not None and generator.planted
            return generator.initial_seed() if planted else plain.initial_seed(self)

        def get_state(self):
            state = plain.get_state(self)
            generator = streams.made.get(id(self))
            if generator is not None:
                generator.hand_out(token(state))
            return state

        def set_state(self, new_state):
            again = functools.partial(plain.set_state, self, new_state)
            hand_back(streams, streams.made.get(id(self)), new_state, again, sys._getframe(1))
            return self

    put_in_place(Generator, plain, torch)


def adopt(streams, plain, item, seeded, seed):
    """Begin to switch a generator, or have it draw for the factor that makes it."""
    key = streams.key(seed)
    if streams.current != OTHER:
        record_source(streams, streams.current, "torch.Generator", seeded)
    if is_switched(streams):
        generator = MadeSwitched(streams, plain, item, key)
        generator.seeded = seeded
        generator.start()
    elif streams.controls:
        plain.manual_seed(item, bound_seed(streams, key))
    else:
        note_unseen(streams)


def where_seeded(streams, seed, frame):
    """Return where a generator is seeded; None where a library seeds it for its own purposes, other than for a sampler.

    torch's samplers give what they have just drawn.
    """
    seeded = streams.locate_seed(MANUAL_SEED, seed, frame)
    of_torch = OF_TORCH in frame.f_code.co_filename.replace("\\", "/")
    if seeded is None and streams.current == SHUFFLE and not of_torch:
        return dict(streams.callers.locate_library(frame), call=MANUAL_SEED, given=repr(seed)[:100])
    return seeded
