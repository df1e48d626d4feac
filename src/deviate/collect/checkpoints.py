"""Read the weights in checkpoints that programs write. Nothing in them is executed.

The first bytes decide the format, whatever the name is. Arrays of floating-point numbers are taken; states of
optimizers, schedules and generators are left out.
"""

from __future__ import annotations

import io
import itertools
import pickle
import re
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from deviate.collect.bfloat16 import widened
from deviate.collect.foreign_arrays import (
    UNREADABLE,
    Array,
    check_members,
    read_npy,
    read_npz,
    require_fitting,
)
from deviate.replicate.workspace.integrity import DamagedError

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

    Raises
    ------
    NoCheckpointError
        With the reason.
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
