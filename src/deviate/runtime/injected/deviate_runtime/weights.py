"""Weights of what is trained, at the end and after every k-th iteration, in files of the format safetensors.

A file begins with the length of its header in 8 bytes (little-endian), then the header, JSON padded with spaces:
``{name: {"dtype", "shape", "data_offsets"}}``; then the values of all tensors, one after the other.
See https://github.com/huggingface/safetensors.

The file of an iteration holds what was not stored before by this process. ``__metadata__`` has ``elsewhere``, JSON in a
string: ``{name: [maker, iteration, name there]}`` of tensors that are equal to those of an earlier file.
"""

import hashlib
import json
import os
import struct

from .files import own_path

#: Names of types, by NumPy's and torch's.
TYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}


#: Bytes of the final weights of a run that are kept where nobody asks for them.
SMALL = 4 << 20


class Tensor:
    """A tensor that is to be written.

    Attributes
    ----------
    dtype : str
        NumPy's or torch's name of the type.
    size : int
        Bytes of its values.
    read : callable
        Returns these bytes, once its turn has come: no more than one tensor is copied at a time.
    """

    __slots__ = ("name", "dtype", "shape", "size", "read")

    def __init__(self, name, dtype, shape, size, read):
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.size = size
        self.read = read


class Weights:
    """What is kept of the weights of one process.

    Attributes
    ----------
    takes_digests, is_kept : bool
        Whether a digest is taken of the weights that the process ends with, and whether they are written.
    is_asked_for : bool
        Whether somebody has asked for them: where not, they are kept if they are small, else it is not said.
    at_iteration : list
        Functions that write the weights after an iteration, which they are called with.
    """

    def __init__(self, process):
        self.process = process
        kept = process.config.get("weights", "digest")
        self.takes_digests = kept != "none"
        self.every = int(kept.partition(":")[2]) if kept.startswith("every:") else 0
        self.is_kept = kept in ("final", "small") or self.every > 0
        self.is_asked_for = kept != "small"
        self.limit = process.config.get("weights_limit") if self.is_asked_for else SMALL
        self.forget()

    def forget(self):
        """Begin anew in a child process."""
        self.at_iteration = []
        self.stored = {}
        self.sizes = {}

    def tick(self, iteration):
        """Keep the weights after an iteration of the main loop, if it is one of those."""
        if self.every and iteration >= 0 and (iteration + 1) % self.every == 0:
            for keep in self.at_iteration:
                keep(iteration)

    def write(self, maker, tensors, iteration=None):
        """Write the tensors that `maker` (a framework and a number) has after an iteration, or leaves at the end."""
        if not self.is_kept:
            return
        self.sizes[maker] = sum(tensor.size for tensor in tensors)
        if iteration is None:
            if self.fits(self.sizes[maker], maker):
                self.write_file(maker, tensors, {})
        # What the process ends with comes first, so room is left for it.
        elif self.fits(2 * sum(self.sizes.values()), maker, iteration):
            new, elsewhere = self.apart(tensors, maker, iteration)
            text = json.dumps(elsewhere, sort_keys=True)
            self.write_file("%s-after%d" % (maker, iteration), new, {"elsewhere": text})

    def fits(self, size, maker, iteration=None):
        """Tell whether the run may keep as many bytes more; note where it may not."""
        folder = self.process.config["records"]
        names = [name for name in os.listdir(folder) if name.startswith("weights-")]
        kept = sum(os.path.getsize(os.path.join(folder, name)) for name in names)
        if self.limit is None or kept + size <= self.limit:
            return True
        if not self.is_asked_for:
            return False
        which = "after the last iteration" if iteration is None else "from iteration %d on" % iteration
        note = "the weights of %s %s are not kept: those of a run would take more than %d MiB"
        self.process.events.note("weights-left-out", note % (maker, which, self.limit >> 20), maker)
        return False

    def apart(self, tensors, maker, iteration):
        """Return the tensors that are not stored yet, and where the other ones are."""
        new, elsewhere = [], {}
        for name, tensor in named_apart(tensors):
            key = tensor.dtype, tuple(tensor.shape), hashlib.sha256(tensor.read()).digest()
            if key in self.stored:
                elsewhere[name] = self.stored[key]
            else:
                self.stored[key] = [maker, iteration, name]
                new.append(Tensor(name, tensor.dtype, tensor.shape, tensor.size, tensor.read))
        return new, elsewhere

    def write_file(self, kind, tensors, metadata):
        """Write tensors aside and then in place."""
        path = own_path(self.process.config["records"], "weights-" + kind, self.process.events.stem, "safetensors")
        aside = path + ".tmp"
        try:
            with open(aside, "wb") as file:
                header = header_of(tensors, metadata)
                file.write(struct.pack("<Q", len(header)) + header)
                for tensor in tensors:
                    file.write(tensor.read())
            os.replace(aside, path)
        except OSError as error:
            self.process.events.note("weights-unwritten", str(error), kind)


def named_apart(tensors):
    """Return tensors with their names, of which no two are alike."""
    names = {}
    for position, tensor in enumerate(tensors):
        names[tensor.name if tensor.name not in names else "%s.%d" % (tensor.name, position)] = tensor
    return list(names.items())


def header_of(tensors, metadata):
    """Return the header."""
    entries, offset = ({"__metadata__": metadata} if metadata else {}), 0
    for name, tensor in named_apart(tensors):
        entries[name] = {
            "dtype": TYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + tensor.size],
        }
        offset += tensor.size
    text = json.dumps(entries).encode("ascii")
    return text + b" " * (-len(text) % 8)
