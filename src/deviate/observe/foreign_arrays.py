"""Arrays in files that programs write: what a file claims is set against its bytes before anything is made."""

from __future__ import annotations

import math
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Deflate makes nothing smaller than by this; what claims more is no data. https://zlib.net/zlib_tech.html
MOST_PACKED = 1032

#: Bytes of a file's unpacked contents at most; what is not packed may be as large as the file.
MOST_UNPACKED = 2 << 30

#: What reading a file that was damaged, or made up, ends in.
UNREADABLE = (
    OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, ArithmeticError, MemoryError, RuntimeError,
    struct.error, zlib.error, zipfile.BadZipFile, pickle.UnpicklingError,
)  # fmt: skip


def require_fitting(claimed: int, stored: int, *, packed: bool = False) -> None:
    """Refuse an array that claims more bytes than a file can have stored of it.

    Raises ValueError with both sizes.
    """
    if claimed > (min(stored * MOST_PACKED, MOST_UNPACKED) if packed else stored):
        raise ValueError(f"an array of {claimed:,} bytes is larger than the {stored:,} bytes that the file has of it")


def read_npy(path: Path) -> Array:
    """Return the array of an ``.npy`` as a map of the file.

    Raises ValueError if it claims more than there is, or holds objects.
    """
    with path.open("rb") as file:
        _check_header(file, path.stat().st_size)
    array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


def read_npz(path: Path) -> dict[str, Array]:
    """Return the arrays of an ``.npz`` by name.

    Raises ValueError if one claims more than there is, or holds objects.
    """
    with zipfile.ZipFile(path) as archive:
        check_members(archive.infolist(), path.stat().st_size)
        for member in archive.infolist():
            with archive.open(member) as file:
                _check_header(file, member.file_size)
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def check_members(members: Iterable[zipfile.ZipInfo], size: int) -> None:
    """Refuse members of a zip that are larger than its `size` bytes can be unpacked to, each and all together.

    Raises ValueError with the sizes.
    """
    unpacked = 0
    for member in members:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{member.filename} is packed in a way that no training writes")
        require_fitting(member.file_size, member.compress_size, packed=member.compress_type != zipfile.ZIP_STORED)
        # Members that lie over one another, as in a bomb, have more bytes together than the file.
        size -= member.compress_size
        unpacked += member.file_size if member.compress_type != zipfile.ZIP_STORED else 0
        if size < 0 or unpacked > MOST_UNPACKED:
            raise ValueError("its members are larger than itself")


def _check_header(file: BinaryIO | Any, size: int) -> None:
    read: dict[tuple[int, int], Callable[..., tuple[tuple[int, ...], bool, np.dtype[Any]]]] = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    version = np.lib.format.read_magic(file)
    if version not in read:
        raise ValueError(f"its header is of version {version}")
    shape, _, dtype = read[version](file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are not read (allow_pickle=False)")
    if min(shape, default=0) < 0:
        raise ValueError(f"an array of shape {shape}")
    require_fitting(math.prod(shape) * dtype.itemsize, size - file.tell())
