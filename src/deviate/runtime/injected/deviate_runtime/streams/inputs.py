"""What models are called on: the first input of the training, and the examples that come back in pass after pass.

A program that cuts its batches itself shows its data nowhere else. What a model gets that comes back is the data; noise
and new states of an environment do not, so a set that still grows when half of the calls are over is none.
"""

import weakref
import zlib

from .examples import SIZE, arrays_in, row_hashes

#: Calls in which examples are looked for, in training and in evaluation; more where none has come back yet.
CALLS = 1024
MOST_CALLS = 4096

#: Once most rows came back, after this many calls at the earliest, only every n-th call is looked at: each look costs
#: some 25 microseconds.
THIN_AFTER, EVERY = 64, 8

#: Models that are known for their names of weights.
MODELS = 64

#: Bytes of the first input that are read.
MAX_BYTES = 4 << 20

#: How the names of parts begin whose rows have several shapes: batches that are padded to their longest row.
PADDED = "padded, "

#: Share of the rows in the sketch that must be there in the first half of the calls, and come back.
RETURNED = 0.9


class Inputs:
    """The inputs of the outermost calls of models in one process.

    Attributes
    ----------
    wanted : bool
        False once enough was seen: calls need not be handed on any more.
    """

    def __init__(self, streams, examples, mode, is_traced):
        self.streams = streams
        self.examples = examples
        self.mode = mode
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
        self.calls += 1
        mode = self.mode(module)
        if mode is not None and len(self.streams.models) < MODELS:
            self.streams.models.setdefault(id(module), weakref.ref(module))
        if mode is not None:
            rows = self.rows_of(type(module).__name__, mode)
            is_first = mode == "training" and not self.has_first
            if rows.is_due() or is_first:
                self.take_arrays(list(arrays_in((args, kwargs))), rows, is_first)
        if self.has_first and self.examples.parts:
            # A loader has shown its data set.
            self.wanted = False
        elif self.calls >= MOST_CALLS or (self.has_first and all(each.is_complete for each in self.passes.values())):
            self.wanted = False
            self.finish()

    def take_arrays(self, arrays, rows, is_first):
        """Take the arrays of one call."""
        if is_first and arrays:
            self.has_first = True
            self.write_first(arrays)
        if arrays and arrays[0].ndim and not self.examples.parts:
            rows.take(row_hashes(arrays[0]), arrays[0].shape[1:])

    def rows_of(self, model, mode):
        """Return the rows that models of a class were called on, in training or in evaluation."""
        if (model, mode) not in self.passes:
            if not self.passes:
                self.streams.fingerprints.at_end.append(self.finish)
            self.passes[model, mode] = Pass()
        return self.passes[model, mode]

    def write_first(self, arrays):
        """Write the digest of the first input."""
        digest = 0
        for array in arrays:
            digest = zlib.crc32(repr((array.shape, str(array.dtype))).encode(), digest)
            digest = zlib.crc32(array.tobytes()[:MAX_BYTES], digest)
        if arrays:
            self.streams.fingerprints.write_content("input", digest, len(arrays), "first")

    def finish(self):
        """Write the examples that came back, unless a loader has shown its data set.

        What a model is evaluated on counts where it was trained on examples as well: a generator may be shown the same
        noise again and again.
        """
        fixed = {} if self.examples.parts else {name: seen for name, seen in self.passes.items() if seen.is_fixed()}
        for (model, mode), seen in sorted(fixed.items()):
            if (model, "training") in fixed:
                name = "%s%s, %s" % (PADDED if len(seen.shapes) > 1 else "", mode, model)
                self.examples.add(name, sorted(seen.rows))
        self.passes = {}


class Pass:
    """A sketch of the rows of a series of calls: the call in which each row was first seen, and how often it was."""

    def __init__(self):
        self.rows = {}
        self.shapes = set()
        self.bound = 1 << 64
        self.calls = 0
        self.is_thin = False

    @property
    def is_complete(self):
        """Whether further calls would tell nothing."""
        return self.calls >= MOST_CALLS or (self.calls >= CALLS and any(hits > 1 for _, hits in self.rows.values()))

    def is_due(self):
        """Count a call; tell whether its rows are to be taken."""
        self.calls += 1
        if self.calls >= THIN_AFTER and not self.calls & (self.calls - 1):
            self.is_thin = self.is_thin or self.share_returned(self.calls) >= RETURNED
        return not (self.is_complete or (self.is_thin and self.calls % EVERY))

    def take(self, hashes, shape):
        """Take the rows of one call, each of one shape; None where they cannot be read."""
        if hashes is None:
            return
        if len(self.shapes) < 2:
            self.shapes.add(tuple(shape))
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
        return self.share_returned((self.calls + 1) // 2) >= RETURNED

    def share_returned(self, latest):
        """Return the share of the rows that were first seen in the `latest` calls or before, and came back."""
        returned = sum(hits > 1 and first <= latest for first, hits in self.rows.values())
        return returned / len(self.rows) if self.rows else 0.0
