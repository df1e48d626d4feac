"""Read the weights that runs ended with, from files of the format safetensors; nothing in them is executed."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import msgspec
import numpy as np

from deviate.collect.integrity import DamagedError, require_whole
from deviate.collect.predictions import Array
from deviate.collect.runs import RunFiles

#: Bytes of the header at most, as the format says.
MAX_HEADER = 100_000_000

#: The entry of the header that is no tensor.
METADATA = "__metadata__"

#: NumPy's types; bfloat16 is the upper half of a 32-bit number.
TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U8": "u1", "BOOL": "?",
}  # fmt: skip


class Stored(msgspec.Struct, frozen=True):
    """A tensor as the header describes it."""

    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


def read_weights(run: RunFiles) -> dict[str, Array]:
    """Return the final weights of a run by name; of several files, names begin with the maker of each.

    Raises
    ------
    DamagedError
        If a file is not what it was when the run ended.
    """
    files = run.folder.weight_files()
    weights: dict[str, Array] = {}
    for path in files:
        require_whole(run.folder, run.outcome, path.name)
        maker = "-".join(path.name.split("-")[1:3])
        prefix = f"{maker}/" if len(files) > 1 else ""
        weights.update({f"{prefix}{name}": array for name, array in read_tensors(path).items()})
    return weights


def read_tensors(path: Path) -> dict[str, Array]:
    """Return the tensors of a file, as maps of its memory where NumPy has their type.

    Raises
    ------
    DamagedError
        If it does not hold what its header says.
    """
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > MAX_HEADER:
                raise ValueError(f"a header of {length} bytes")
            described = msgspec.json.decode(file.read(length), type=dict[str, msgspec.Raw])
        described.pop(METADATA, None)
        tensors = {name: msgspec.json.decode(each, type=Stored) for name, each in described.items()}
        data = np.memmap(path, np.uint8, "r", offset=8 + length) if tensors else np.empty(0, np.uint8)
        return {name: _array(data, each) for name, each in tensors.items()}
    except (OSError, ValueError, KeyError, struct.error, msgspec.MsgspecError) as error:
        raise DamagedError(f"{path.name} is damaged: {error}") from error


def _array(data: Array, stored: Stored) -> Array:
    start, end = stored.data_offsets
    dtype = np.dtype(TYPES[stored.dtype])
    if not 0 <= start <= end <= len(data) or end - start != math.prod(stored.shape) * dtype.itemsize:
        raise ValueError(f"a tensor from {start} to {end} of {len(data)} bytes")
    array = data[start:end].view(dtype).reshape(stored.shape)
    if stored.dtype == "BF16":
        return (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return array
