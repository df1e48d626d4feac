"""What further calls of a model may draw is put back."""

import random
import sys


class Undrawn:
    """Puts back the states of generators, and what was counted of draws."""

    def __init__(self, streams):
        self.streams = streams

    def __enter__(self):
        self.counts = dict(self.streams.counts)
        self.states = random.getstate(), sys.modules["numpy"].random.get_state()

    def __exit__(self, *raised):
        self.streams.counts = self.counts
        if random.getstate() != self.states[0]:
            random.setstate(self.states[0])
        sys.modules["numpy"].random.set_state(self.states[1])
