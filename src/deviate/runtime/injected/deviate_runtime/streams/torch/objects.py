"""The state of a generator of PyTorch, and states that the program reads and restores.

Generators that the program makes from ``torch.Generator``.
"""

import ctypes
import functools
import sys
import zlib

from ...factors import OTHER, SHUFFLE
from ..generators import Generator, Made, bound_seed, is_switched, note_unseen, put_in_place, stand_for
from ..seeds import record_source

#: States up to this long identify themselves.
SHORT = 64


class Switched(Generator):
    """A generator of torch. A state is what ``get_state`` returns: a tensor of bytes on the CPU."""

    def __init__(self, streams, item, cls, device=None, key=None):
        super().__init__(streams, key)
        self.cls = cls
        self.get, self.set = cls.get_state, cls.set_state
        self.device = device
        self.is_on_device = device is not None and "cpu" not in str(device)
        self.find = lambda: item

    def switch(self, factor):
        try:
            super().switch(factor)
        except RuntimeError:
            torch = sys.modules["torch"]
            if not (self.is_on_device and is_recorded(torch)):
                raise
            self.streams.process.events.note(
                "graph-not-switched",
                "what a captured CUDA graph draws counts as other draws, whatever draws it",
                "graph",
            )

    def live(self):
        return self.get(self.find())

    def put(self, state):
        item = self.find()
        if item is not None:
            self.set(item, state)

    def fresh(self, seed):
        generator = self.cls() if self.device is None else self.cls(device=self.device)
        self.cls.manual_seed(generator, int(seed))
        return self.cls.get_state(generator)

    def alone(self, state):
        generator = self.cls() if self.device is None else self.cls(device=self.device)
        self.cls.set_state(generator, state)
        return generator

    def mark(self, state):
        return zlib.crc32(content(state))


def is_recorded(torch):
    """Tell whether a graph of CUDA's is being captured: what ran now would run again with it."""
    capturing = getattr(torch.cuda, "is_current_stream_capturing", None)
    return capturing is not None and torch.cuda.is_initialized() and capturing()


def content(state):
    """Return the bytes of a state; NumPy may not be there."""
    return ctypes.string_at(state.data_ptr(), state.numel())


def token(state):
    """Return what identifies a state that was handed out."""
    data = content(state)
    return data if len(data) <= SHORT else (zlib.crc32(data), zlib.adler32(data))


def hand_back(streams, generator, state, plain, frame):
    """Restore the states that `state` stands for; within ``fork_rng``, which ends it, for the factor that drew then."""
    if generator is not None:
        streams.repeats.drop(generator)
    if generator is not None and streams.controls:
        jump = streams.forks > 0 or not streams.callers.is_program(frame)
        if generator.hand_back(token(state), jump):
            return
        if streams.forks:
            # What is computed again must start from this state, whatever it was drawn for.
            streams.suspended = True
    plain()


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
