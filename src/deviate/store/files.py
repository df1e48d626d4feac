"""Whole files, written so that a reader never sees half of one, in folders that nothing leads out of."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from deviate.core.errors import UPDATE, WorkspaceUnusable
from deviate.core.experiment import SCHEMA
from deviate.core.interrupts import at_any_end

#: The last key of a JSON file: the checksum of what stands before it.
_CHECKSUM = re.compile(rb',\n "crc32": "([0-9a-f]{8})"\n\}\n\Z')

#: Bytes read at once for a checksum.
_CHUNK = 1 << 20

#: Lines of a log that are kept, of standard error with the outcome, and the longest one.
STDERR_LINES = 20
LINE_LENGTH = 500

#: Read from the end of the file: more than those lines.
_TAIL_BYTES = 64 * 1024


class _Versioned(msgspec.Struct):
    schema: int = 0


class FileSum(msgspec.Struct, frozen=True, kw_only=True):
    """What a file held when it was whole."""

    #: In bytes.
    size: int
    #: As eight hexadecimal digits.
    crc32: str


def file_sum(path: Path, size: int | None = None) -> FileSum:
    """Return size and checksum of the first `size` bytes of a file, of all by default."""
    checksum, length = 0, 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK if size is None else min(_CHUNK, size - length)):
            checksum, length = zlib.crc32(chunk, checksum), length + len(chunk)
    return FileSum(size=length, crc32=f"{checksum:08x}")


def content_digest(path: Path) -> str:
    """Return the SHA-256 of what a file holds."""
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_whole(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Write `data` aside and rename it onto `path`.

    The folder of `path` exists. `durable` waits until the disk has the data, so that not even a power cut takes it
    back.
    """
    write_parts(path, [data], durable=durable)


def write_parts(path: Path, parts: Iterable[bytes], *, durable: bool = False) -> None:
    """Write what may be too large for memory as `write_whole` writes."""

    def write(aside: Path) -> None:
        with aside.open("wb") as file:
            file.writelines(parts)
            if durable:
                file.flush()
                os.fsync(file.fileno())

    write_aside(path, write)
    if durable:
        sync_folder(path.parent)


def write_aside(path: Path, write: Callable[[Path], object]) -> None:
    """Have a file written beside `path` and renamed onto it; of one that was not written to its end nothing is left."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with at_any_end(partial(_discard, aside)):
        write(aside)
        aside.replace(path)


def _discard(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in `folder`."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Wait until the disk has the content of `path`."""
    sync_folder(path)


def write_json(path: Path, value: Any, *, durable: bool = False) -> None:
    """Write `value`, which has keys, as indented JSON with its checksum as the last key, aside and renamed."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=1).removesuffix(b"\n}")
    write_whole(path, text + b',\n "crc32": "%08x"\n}\n' % zlib.crc32(text), durable=durable)


def read_json(path: Path, kind: Any) -> Any:
    """Read what `write_json` wrote, as the type `kind`.

    Raises WorkspaceUnusable if the file is missing, was made by a newer Deviate, was changed since it was written, or
    is not what it should be.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise WorkspaceUnusable(
            f"{path} cannot be read: {error.strerror}", hint="restore the file; all others are as they were"
        ) from error
    checksum = _CHECKSUM.search(data)
    if checksum is not None:
        data = data[: checksum.start()]
        if zlib.crc32(data) != int(checksum[1], 16):
            raise WorkspaceUnusable(
                f"{path} was changed since it was written: its content does not fit its checksum",
                hint="restore the file; if you changed it yourself, take its last key, crc32, out",
            )
        data += b"\n}"
    try:
        if msgspec.json.decode(data, type=_Versioned).schema > SCHEMA:
            raise WorkspaceUnusable(
                f"{path} was made by a newer Deviate",
                hint=UPDATE,
            )
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WorkspaceUnusable(f"{path} cannot be read: {error}", hint="move the file away, or restore it") from error


# Nothing in a workspace leads out of it: no link where Deviate has files of its own, and no name in these files.
#
# An experiment may have come from somebody else. Whoever opens one passes here, so that nobody who reads, writes or
# removes below it has to look.

#: Folders below folders, at most: Deviate makes some ten.
DEEPEST = 100


def require_no_link(folder: Path, free: Callable[[tuple[str, ...]], bool]) -> None:
    """Make sure that an experiment's folder is none, and has none in it, but below the folders that are `free`.

    Those, by their parts from `folder` on, are copies of projects, which have links of their own. It costs a look at
    each folder, and none at a file.

    Raises WorkspaceUnusable with the first link.
    """
    if os.path.islink(folder):
        raise _refused(folder)
    try:
        _look(folder, (), free)
    except OSError as problem:
        raise WorkspaceUnusable(
            f"{problem.filename or folder} cannot be read: {problem.strerror}",
            hint="give yourself the right to read it",
        ) from problem


def _look(folder: Path | str, parts: tuple[str, ...], free: Callable[[tuple[str, ...]], bool]) -> None:
    if len(parts) > DEEPEST:
        raise WorkspaceUnusable(f"{folder} lies too deep", hint="restore the experiment, or remove its folder")
    for entry in _entries(folder):
        if entry.is_symlink():
            raise _refused(Path(entry.path))
        below = (*parts, entry.name)
        # Nobody reads what is half written or half removed.
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".") and not free(below):
            _look(entry.path, below, free)


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        # There is none yet, or a run that is made anew does away with it.
        return []


def _refused(path: Path) -> WorkspaceUnusable:
    return WorkspaceUnusable(
        f"{path} is a link, where Deviate has a file or folder of its own", hint=f"remove the link: rm {path}"
    )


def require_names(file: Path, names: Iterable[str], parts: int = DEEPEST) -> None:
    """Make sure that names in a file of an experiment lead below its folder: of at most so many `parts`, none upward.

    Raises WorkspaceUnusable with the first that does not.
    """
    for name in names:
        listed = name.split("/")
        if len(listed) > parts or "\0" in name or any(part in ("", ".", "..") for part in listed):
            raise WorkspaceUnusable(
                f"{file} names {name!r}, which is no name of a file or folder of this experiment",
                hint="restore the file, or remove the experiment's folder",
            )


def log_tail(path: Path) -> list[str]:
    """Return the last lines of a log, without the states a progress bar overwrote."""
    if not path.is_file():
        return []
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
        text = file.read().decode(errors="replace")
    lines = [line.rstrip().rpartition("\r")[2] for line in text.split("\n")]
    return [line[:LINE_LENGTH] for line in lines if line.strip()][-STDERR_LINES:]
