"""What models are called on: the first input of the training, and the examples that come back in pass after pass.

A program that cuts its batches itself shows its data nowhere else. What a model gets that comes back is the data; noise
and new states of an environment do not, so a set that still grows when half of the calls are over is none.
"""

import zlib

from .examples import SIZE, arrays_in, row_hashes

#: Calls in which examples are looked for, in training and in evaluation; as many again where none has come back yet.
CALLS = 1024
MOST_CALLS = 4096

#: Bytes of the first input that are read.
MAX_BYTES = 4 << 20

#: Share of the rows in the sketch that must be there in the first half of the calls, and come back.
RETURNED = 0.9


class Inputs:
    """The inputs of the outermost calls of models in one process.

    Attributes
    ----------
    wanted : bool
        False once enough was seen: calls need not be handed on any more.
    """

    def __init__(self, streams, examples, is_training, is_traced):
        self.streams = streams
        self.examples = examples
        self.is_training = is_training
        self.is_traced = is_traced
        streams.fingerprints.content_sources.append(self)
        self.forget()

    def forget(self):
        """Begin anew."""
        self.wanted = True
        self.has_first = False
        self.calls = 0
        self.passes = {}

    def take(self, module, args, kwargs):
        """Look at the arguments of a call; whatever goes wrong, the next calls are left alone."""
        try:
            if not self.is_traced():
                self.look(module, args, kwargs)
        except Exception as error:
            self.wanted = False
            self.streams.process.events.note("examples-unread", repr(error), "input")

    def look(self, module, args, kwargs):
        """Take the first input of the training down, and the rows of this one."""
        arrays = list(arrays_in((args, kwargs)))
        training = bool(self.is_training(module))
        if training and not self.has_first:
            self.has_first = True
            self.write_first(arrays)
        self.calls += 1
        if self.examples.parts:
            # A loader has shown its data set.
            self.passes = {}
            self.wanted = not self.has_first
        elif arrays and arrays[0].ndim:
            self.take_rows("training" if training else "evaluation", arrays[0])
            if self.calls >= MOST_CALLS or (self.has_first and all(e.is_complete for e in self.passes.values())):
                self.wanted = False
                self.finish()

    def take_rows(self, name, array):
        """Take the rows of one call."""
        if name not in self.passes:
            self.passes[name] = Pass()
            if len(self.passes) == 1:
                self.streams.fingerprints.at_end.append(self.finish)
        seen = self.passes[name]
        if not seen.is_complete:
            hashes = row_hashes(array)
            if hashes is not None:
                seen.take(hashes)

    def write_first(self, arrays):
        """Write the digest of the first input."""
        digest = 0
        for array in arrays:
            digest = zlib.crc32(repr((array.shape, str(array.dtype))).encode(), digest)
            digest = zlib.crc32(array.tobytes()[:MAX_BYTES], digest)
        if arrays:
            self.streams.fingerprints.write_content("input", digest, len(arrays), "first")

    def finish(self):
        """Write the examples that came back."""
        for name, seen in sorted(self.passes.items()):
            if seen.is_fixed():
                self.examples.add(name, sorted(seen.rows))
        self.passes = {}


class Pass:
    """A sketch of the rows of a series of calls: the call in which each row was first seen, and how often it was."""

    def __init__(self):
        self.rows = {}
        self.bound = 1 << 64
        self.calls = 0

    @property
    def is_complete(self):
        """Whether further calls would tell nothing."""
        return self.calls >= MOST_CALLS or (self.calls >= CALLS and any(hits > 1 for _, hits in self.rows.values()))

    def take(self, hashes):
        """Take the rows of one call."""
        self.calls += 1
        if self.bound < 1 << 64:
            hashes = hashes[hashes <= hashes.dtype.type(self.bound)]
        for row in set(hashes.tolist()):
            first, hits = self.rows.get(row, (self.calls, 0))
            self.rows[row] = first, hits + 1
        if len(self.rows) > SIZE:
            for row in sorted(self.rows)[SIZE:]:
                del self.rows[row]
            self.bound = max(self.rows)

    def is_fixed(self):
        """Tell whether the same rows come again and again, and hardly any new ones."""
        half = (self.calls + 1) // 2
        returned = sum(hits > 1 and first <= half for first, hits in self.rows.values())
        return bool(self.rows) and returned >= RETURNED * len(self.rows)
