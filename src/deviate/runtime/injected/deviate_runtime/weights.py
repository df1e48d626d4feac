"""Final weights of what was trained, in files of the format safetensors.

A file begins with the length of its header in 8 bytes (little-endian), then the header, JSON padded with spaces:
``{name: {"dtype", "shape", "data_offsets"}}``; then the values of all tensors, one after the other.
See https://github.com/huggingface/safetensors.
"""

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


def keeps_weights(process):
    """Tell whether final weights are to be written."""
    return process.config.get("weights") == "final"


def write_weights(process, maker, tensors):
    """Write the tensors that `maker` (a framework and the number of an optimizer) leaves, aside and then in place."""
    path = own_path(process.config["records"], "weights-" + maker, process.events.stem, "safetensors")
    aside = path + ".tmp"
    try:
        with open(aside, "wb") as file:
            header = header_of(tensors)
            file.write(struct.pack("<Q", len(header)) + header)
            for tensor in tensors:
                file.write(tensor.read())
        os.replace(aside, path)
    except OSError as error:
        process.events.note("weights-unwritten", str(error), maker)


def header_of(tensors):
    """Return the header, in whose names no two are alike."""
    entries, offset = {}, 0
    for position, tensor in enumerate(tensors):
        name = tensor.name if tensor.name not in entries else "%s.%d" % (tensor.name, position)
        entries[name] = {
            "dtype": TYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + tensor.size],
        }
        offset += tensor.size
    text = json.dumps(entries).encode("ascii")
    return text + b" " * (-len(text) % 8)
