"""The state of a generator of PyTorch, and states that the program reads and restores."""

import ctypes
import zlib

from ..generators import Generator

#: States up to this long identify themselves.
SHORT = 64


class Switched(Generator):
    """A generator of torch. A state is what ``get_state`` returns: a tensor of bytes on the CPU."""

    def __init__(self, streams, item, cls, device=None, key=None):
        super().__init__(streams, key)
        self.cls = cls
        self.get, self.set = cls.get_state, cls.set_state
        self.device = device
        self.find = lambda: item

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
