"""Read the weights that runs ended with, and those that were kept on the way; nothing in their files is executed."""

from __future__ import annotations

import math
import re
import struct
from pathlib import Path
from urllib.parse import unquote

import msgspec
import numpy as np

from deviate.collect.bfloat16 import widened
from deviate.collect.checkpoints import read_checkpoint
from deviate.collect.foreign_arrays import UNREADABLE, Array, require_fitting
from deviate.collect.runs import RunFiles
from deviate.replicate.checkpoints import CHECKPOINT
from deviate.replicate.workspace.integrity import DamagedError, require_whole

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


#: Names of files that the runtime writes.
CAPTURED = re.compile(r"weights-(?P<maker>.+-\d+?)(-after(?P<iteration>\d+))?-(?P<process>\d+-\d+)\.safetensors")

#: After an iteration of the main loop, or in a file that the run wrote.
Moment = int | str


class KeptWeights(msgspec.Struct, frozen=True, kw_only=True):
    """The weights of a run, by name; of several optimizers or models, names begin with the maker of each."""

    final: dict[str, Array]
    #: In their order in time.
    moments: dict[Moment, dict[str, Array]]


def read_weights(run: RunFiles) -> KeptWeights:
    """Read the weights of a run.

    Raises
    ------
    DamagedError
        If a file is not what it was when the run ended.
    NoCheckpointError
        If a file that the run wrote is no checkpoint.
    """
    files = run.folder.weight_files()
    for path in files:
        require_whole(run.folder, run.outcome, path.name)
    checkpoints = [path for path in files if path.name.startswith(CHECKPOINT)]
    if checkpoints:
        read: dict[Moment, dict[str, Array]] = {
            unquote(path.name.split("-", 3)[3]): read_checkpoint(path, read_tensors) for path in checkpoints
        }
        return KeptWeights(final=list(read.values())[-1], moments=read if len(read) > 1 else {})
    named = [(match, path) for path in files if (match := CAPTURED.fullmatch(path.name))]
    iterations = sorted({int(match["iteration"]) for match, _ in named if match["iteration"]})
    return KeptWeights(
        final=_joined([(match, read_tensors(path)) for match, path in named if not match["iteration"]]),
        moments=_moments(named, iterations),
    )


def _moments(named: list[tuple[re.Match[str], Path]], iterations: list[int]) -> dict[Moment, dict[str, Array]]:
    """Return the weights after each iteration; what did not change since an earlier one is stored there."""
    stored: dict[tuple[str, str, int], dict[str, Array]] = {}
    moments: dict[Moment, dict[str, Array]] = {}
    for iteration in iterations:
        now = [(match, path) for match, path in named if match["iteration"] == str(iteration)]
        for match, path in now:
            stored[match["process"], match["maker"], iteration] = read_tensors(path)
        whole = []
        for match, path in now:
            layers = dict(stored[match["process"], match["maker"], iteration])
            for name, (maker, at, there) in _elsewhere(path).items():
                if there not in (earlier := stored.get((match["process"], maker, at), {})):
                    raise DamagedError(f"weights of {maker} after iteration {at} are missing")
                layers[name] = earlier[there]
            whole.append((match, layers))
        moments[iteration] = _joined(whole)
    return moments


def _joined(parts: list[tuple[re.Match[str], dict[str, Array]]]) -> dict[str, Array]:
    several = len(parts) > 1
    return {
        f"{match['maker']}/{name}" if several else name: array
        for match, layers in parts
        for name, array in layers.items()
    }


def _elsewhere(path: Path) -> dict[str, tuple[str, int, str]]:
    """Return where tensors of an iteration are stored that an earlier file has: maker, iteration and name there."""
    described = _header(path)[0]
    if METADATA not in described:
        return {}
    metadata = msgspec.json.decode(described[METADATA], type=dict[str, str])
    return msgspec.json.decode(metadata.get("elsewhere", "{}"), type=dict[str, tuple[str, int, str]])


def _header(path: Path) -> tuple[dict[str, msgspec.Raw], int]:
    """Return the header of a file, and where the values begin."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > MAX_HEADER:
            raise ValueError(f"a header of {length} bytes")
        return msgspec.json.decode(file.read(length), type=dict[str, msgspec.Raw]), 8 + length


def read_tensors(path: Path) -> dict[str, Array]:
    """Return the tensors of a file, as maps of its memory where NumPy has their type.

    Raises
    ------
    DamagedError
        If it does not hold what its header says.
    """
    try:
        described, start = _header(path)
        described.pop(METADATA, None)
        tensors = {name: msgspec.json.decode(each, type=Stored) for name, each in described.items()}
        data = np.memmap(path, np.uint8, "r", offset=start) if tensors else np.empty(0, np.uint8)
        # Each byte is of one tensor.
        require_fitting(sum(end - start for start, end in (each.data_offsets for each in tensors.values())), len(data))
        return {name: _array(data, each) for name, each in tensors.items()}
    except (*UNREADABLE, msgspec.MsgspecError) as error:
        raise DamagedError(f"{path.name} is damaged: {error}") from error


def _array(data: Array, stored: Stored) -> Array:
    start, end = stored.data_offsets
    dtype = np.dtype(TYPES[stored.dtype])
    if not 0 <= start <= end <= len(data) or end - start != math.prod(stored.shape) * dtype.itemsize:
        raise ValueError(f"a tensor from {start} to {end} of {len(data)} bytes")
    array = data[start:end].view(dtype).reshape(stored.shape)
    return widened(array) if stored.dtype == "BF16" else array
