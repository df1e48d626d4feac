"""Read the weights that runs ended with, were kept on the way, or are in checkpoints; nothing in them is executed."""

from __future__ import annotations

import io
import itertools
import math
import pickle
import re
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
import numpy as np

from deviate.observe.foreign_arrays import UNREADABLE, Array, check_members, read_npy, read_npz, require_fitting
from deviate.observe.records import RunFiles
from deviate.store.folders import CHECKPOINT
from deviate.store.integrity import DamagedError, require_whole

# Numbers of the type bfloat16, which NumPy lacks.


def widened(words: Array) -> Array:
    """Return numbers of bfloat16, each the upper half of one of 32 bits, as such.

    >>> widened(np.array([0x3F80, 0xC040], np.uint16)).tolist()
    [1.0, -3.0]
    """
    wide: Array = (words.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return wide


# Read the weights in checkpoints that programs write. Nothing in them is executed.
#
# The first bytes decide the format, whatever the name is. Arrays of floating-point numbers are taken; states of
# optimizers, schedules and generators are left out.

#: Entries of a checkpoint that are no weights, by their first name.
OTHER = re.compile(r"(?<![a-z])(opt|optim\w*|\w*sched\w*|rng\w*|scaler\w*|callbacks|loops)(?![a-z])", re.IGNORECASE)

#: Nested mappings and lists are followed this far.
DEEPEST = 12

#: Entries of the nest that are looked at: lists that hold one another have any number, and few bytes.
MOST_ENTRIES = 1_000_000

#: How often a file's bytes may be named: weights that layers share are stored once and count for each.
MOST_SHARED = 16

#: NumPy's types of torch's storages; bfloat16 is the upper half of a 32-bit number. Integers are no weights.
STORAGES = {"DoubleStorage": "<f8", "FloatStorage": "<f4", "HalfStorage": "<f2", "BFloat16Storage": "<u2"}

OLD = "it is a pickle, which can only be read by executing it (torch.save wrote such files before 1.6)"


class NoCheckpointError(ValueError):
    """A file that no weights can be read of."""


def read_checkpoint(path: Path, read_safetensors: Callable[[Path], dict[str, Array]]) -> dict[str, Array]:
    """Return the weights in a checkpoint by name.

    Raises NoCheckpointError with the reason.
    """
    try:
        arrays = dict(_named(_tree(path, read_safetensors), itertools.count()))
        made = sum({id(array): array.nbytes for array in arrays.values()}.values())
        if sum(array.nbytes for array in arrays.values()) > MOST_SHARED * made:
            raise ValueError(f"its arrays are named {MOST_SHARED} times and more")
    except NoCheckpointError:
        raise
    except DamagedError as error:
        raise NoCheckpointError(f"{path.name} is no checkpoint that can be read: {error}") from error
    except UNREADABLE as error:
        raise NoCheckpointError(f"{path.name} cannot be read: {error or type(error).__name__}") from error
    if not arrays:
        raise NoCheckpointError(f"{path.name} holds no arrays of floating-point numbers")
    return arrays


def _tree(path: Path, read_safetensors: Callable[[Path], dict[str, Array]]) -> Any:
    with path.open("rb") as file:
        begins = file.read(8)
    if begins.startswith(b"PK"):
        return _archive(path)
    if begins.startswith(b"\x93NUMPY"):
        return {"array": read_npy(path)}
    if begins.startswith(b"\x89HDF"):
        return _hdf5(path)
    if begins.startswith(b"\x80"):
        raise NoCheckpointError(f"{path.name} cannot be read: {OLD}")
    return read_safetensors(path)


def _archive(path: Path) -> Any:
    """Return what a zip holds: of PyTorch, of Keras or of NumPy."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        pickled = next((name for name in names if name.rpartition("/")[2] == "data.pkl"), None)
        if pickled is not None:
            return _Unpickler(path, archive, pickled).load()
        if "model.weights.h5" in names:
            check_members([archive.getinfo("model.weights.h5")], path.stat().st_size)
            return _hdf5(io.BytesIO(archive.read("model.weights.h5")))
    return read_npz(path)


def _hdf5(file: Path | io.BytesIO) -> dict[str, Array]:
    try:
        import h5py  # type: ignore[import-untyped]
    except ImportError as error:
        raise NoCheckpointError("files of HDF5 and Keras are read by h5py, which is not installed") from error
    arrays: dict[str, Array] = {}

    def take(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            # Their numbers lie in other files, whichever the file names.
            if item.external or item.is_virtual:
                raise ValueError(f"{name} lies in another file")
            require_fitting(item.nbytes, item.id.get_storage_size(), packed=item.compression is not None)
            arrays[name] = np.asarray(item)

    with h5py.File(file, "r") as opened:
        # It follows no link to another file.
        opened.visititems(take)
    return arrays


def _named(tree: Any, entries: Iterator[int], path: tuple[str, ...] = ()) -> Iterator[tuple[str, Array]]:
    """Yield arrays of floating-point numbers by their place in a nest of mappings and lists."""
    if next(entries) >= MOST_ENTRIES:
        raise ValueError(f"it nests more than {MOST_ENTRIES:,} entries")
    if isinstance(tree, np.ndarray):
        if tree.dtype.kind == "f":
            yield "/".join(path), tree
        return
    items = tree.items() if isinstance(tree, Mapping) else enumerate(tree) if isinstance(tree, list | tuple) else ()
    for key, value in items if len(path) < DEEPEST else ():
        if path or not OTHER.search(str(key).partition("/")[0]):
            yield from _named(value, entries, (*path, str(key)))


# PyTorch


class _Storage(msgspec.Struct, frozen=True):
    """Numbers in a file of the archive, as a map of memory."""

    values: Array
    is_bfloat16: bool


class _Placeholder:
    """Stands for every class and function that a file names: it does nothing, whatever it is called with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __setstate__(self, state: Any) -> None: ...

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def __call__(self, *args: Any, **kwargs: Any) -> _Placeholder:
        return self

    def append(self, item: Any) -> None: ...

    def extend(self, items: Any) -> None: ...


class _Mapping(dict[Any, Any]):
    """Stands for an ordered dictionary, which may have attributes of its own."""

    def __setstate__(self, state: Any) -> None: ...


class _Unpickler(pickle.Unpickler):
    """Reads what `torch.save` writes. A file can name functions; only those here are ever called."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, pickled: str) -> None:
        check_members([archive.getinfo(pickled)], path.stat().st_size)
        data = archive.read(pickled)
        _check_pickle(data)
        super().__init__(io.BytesIO(data))
        self.path = path
        #: Bytes that tensors may have together.
        self.room = MOST_SHARED * path.stat().st_size
        self.archive = archive
        self.folder = pickled.removesuffix("data.pkl")

    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for a class or function."""
        if module == "torch" and name in STORAGES:
            return name
        known: dict[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): _Mapping,
            ("torch._utils", "_rebuild_tensor_v2"): self._tensor,
            ("torch._utils", "_rebuild_parameter"): _parameter,
        }
        return known.get((module, name), _Placeholder)

    def persistent_load(self, pid: Any) -> Any:
        """Return the numbers of a storage; those that are no weights are not read."""
        kind, storage, key = pid[:3]
        if kind != "storage" or storage not in STORAGES:
            return None
        return _Storage(self._map(f"{self.folder}data/{key}", np.dtype(STORAGES[storage])), storage.startswith("BF"))

    def _map(self, name: str, dtype: np.dtype[Any]) -> Array:
        member = self.archive.getinfo(name)
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{name} is compressed")
        if not member.file_size:
            return np.empty(0, dtype)
        require_fitting(member.file_size, self.path.stat().st_size)
        with self.path.open("rb") as file:
            file.seek(member.header_offset + 26)
            lengths = struct.unpack("<HH", file.read(4))
        start = member.header_offset + 30 + sum(lengths)
        return np.memmap(self.path, dtype, "r", start, (member.file_size // dtype.itemsize,))

    def _tensor(
        self, storage: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *rest: Any
    ) -> Array | None:
        """Return a tensor; None where it holds no weights."""
        if not isinstance(storage, _Storage):
            return None
        array = _view(storage.values, offset, size, stride)
        # One that was expanded shows a number in many places.
        require_fitting(array.nbytes, storage.values.nbytes)
        self.room -= array.nbytes
        if self.room < 0:
            raise ValueError("its tensors are larger than itself")
        return widened(array) if storage.is_bfloat16 else array


def _check_pickle(data: bytes) -> None:
    """Refuse a pickle whose instructions ask for more memory than they have bytes, before any is done."""
    import pickletools

    for opcode, argument, _ in pickletools.genops(data):
        # Each of the objects that are remembered takes a byte at least.
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and argument is not None and int(argument) >= len(data):
            raise ValueError(f"its pickle of {len(data):,} bytes names a place {argument}")


def _view(values: Array, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Array:
    """Return a tensor as a view of its storage, checked to lie in it."""
    last = offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    if min((offset, *size, *stride)) < 0 or (0 not in size and last >= values.size):
        raise ValueError("a tensor lies outside of its storage")
    steps = tuple(step * values.itemsize for step in stride)
    return np.lib.stride_tricks.as_strided(values[offset:], size, steps, writeable=False)


def _parameter(data: Any, *rest: Any) -> Any:
    return data


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

    Raises DamagedError if a file is not what it was when the run ended. Raises NoCheckpointError if a file that the run
    wrote is no checkpoint.
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

    Raises DamagedError if it does not hold what its header says.
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
