"""The members of a gzipped tar archive that somebody else may have made: read within bounds, and each name checked.

Only what an exported experiment needs is understood: files, folders and symbolic links, with long names in the two
ways in which they are written. Nothing is believed before it is counted: not the size of a header, not the number of
members, and not what a few compressed bytes unpack to.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

#: Bytes of a header, and what all is padded to.
BLOCK = 512

#: Bytes of long names and other settings: of one member, and with all names and where links lead of all.
MOST_SETTINGS, MOST_SAID = 1 << 16, 1 << 26

#: Members of an archive; bytes and parts of a name.
MOST_MEMBERS = 200_000
LONGEST_NAME, LONGEST_PART, DEEPEST = 2000, 255, 100

#: An archive unpacks to at most so many times its own bytes, unless that is little.
MOST_GROWTH, ALWAYS_ALLOWED = 60, 1 << 30

#: Bytes read at once.
CHUNK = 1 << 20

#: What reading a damaged file raises.
DAMAGE = (OSError, EOFError, zlib.error, tarfile.TarError)

_KINDS: dict[bytes, Literal["file", "folder", "link"]] = {
    tarfile.REGTYPE: "file", tarfile.AREGTYPE: "file", tarfile.DIRTYPE: "folder", tarfile.SYMTYPE: "link",
}  # fmt: skip


class RefusedMember(tarfile.TarError):
    """An archive holds what no exported experiment does; says what."""


@dataclass(frozen=True)
class Member:
    """A file, a folder or a symbolic link of an archive."""

    name: str
    kind: Literal["file", "folder", "link"]
    mode: int = 0o644
    mtime: float = 0.0
    #: Of a link: what it says.
    target: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The name, a folder at a time."""
        return tuple(self.name.split("/"))


class Members:
    """The members of an archive, one after the other; `copy` writes the content of the latest."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._allowed = max(ALWAYS_ALLOWED, MOST_GROWTH * path.stat().st_size)
        self._size = self._left = 0
        self._read = self._said = 0
        self._file: gzip.GzipFile

    def __enter__(self) -> Members:
        self._file = gzip.open(self._path)
        return self

    def __exit__(self, *problem: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Member]:
        """Yield each member, with its name checked; the end of the file is read, too, which holds a checksum.

        Raises
        ------
        RefusedMember
            At the first that no exported experiment has.
        OSError, EOFError, zlib.error, tarfile.TarError
            If the file is damaged.
        """
        kinds: dict[str, str] = {}
        while (member := self._next()) is not None:
            _require_new(member, kinds)
            if len(kinds) > MOST_MEMBERS:
                raise RefusedMember(f"it has more than {MOST_MEMBERS:,} files and folders")
            yield member
            self._skip(self._left)
        while self._take(CHUNK, exact=False):
            pass

    def read(self, most: int) -> bytes:
        """Return the content of the latest member.

        Raises
        ------
        RefusedMember
            If it has more bytes than `most`.
        """
        if self._size > most:
            raise RefusedMember(f"its head has {self._size:,} bytes")
        self._left -= self._size
        return self._take(self._size)

    def copy(self, file: BinaryIO) -> None:
        """Write the content of the latest member."""
        self._left -= self._size
        for start in range(0, self._size, CHUNK):
            file.write(self._take(min(CHUNK, self._size - start)))

    def _take(self, size: int, *, exact: bool = True) -> bytes:
        data = self._file.read(size)
        self._read += len(data)
        if self._read > self._allowed:
            raise RefusedMember(f"it unpacks to more than {self._allowed:,} bytes")
        if exact and len(data) < size:
            raise EOFError("it ends in the middle of a file")
        return data

    def _skip(self, size: int) -> None:
        for start in range(0, size, CHUNK):
            self._take(min(CHUNK, size - start))

    def _count(self, said: int) -> None:
        self._said += said
        if self._said > MOST_SAID:
            raise RefusedMember(f"its names and settings have more than {MOST_SAID:,} bytes")

    def _next(self) -> Member | None:
        """Read the next header, with the settings that stand before it; None at the end."""
        settings: dict[str, str] = {}
        for _ in range(4):
            block = self._take(BLOCK)
            if not block.strip(b"\0"):
                return None
            _require_checksum(block)
            size, kind = _number(block[124:136]), block[156:157]
            if kind not in (tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
                return self._member(block, kind, settings)
            if size > MOST_SETTINGS:
                raise RefusedMember(f"it has a name or settings of {size:,} bytes")
            data = self._take(size)
            self._count(size)
            self._skip(-size % BLOCK)
            settings |= _settings(data) if kind == tarfile.XHDTYPE else {_LONG[kind]: _text(data.rstrip(b"\0"))}
        raise RefusedMember("settings stand where a file should")

    def _member(self, block: bytes, kind: bytes, settings: dict[str, str]) -> Member:
        prefix = _field(block[345:500]) if block[257:263] == b"ustar\0" else ""
        plain = "/".join(filter(None, (prefix, _field(block[:100]))))
        name = settings.get("path", plain)
        if kind not in _KINDS or any(key.startswith("GNU.sparse") for key in settings):
            raise RefusedMember(f"{name!r} is no file, folder or symbolic link")
        size = _whole(settings["size"]) if "size" in settings else _number(block[124:136])
        is_file = _KINDS[kind] == "file"
        if size and not is_file:
            raise RefusedMember(f"{name!r} has content, and is no file")
        self._size, self._left = size, size + -size % BLOCK
        self._count(len(name))
        return Member(
            name=_checked(name.removesuffix("/") if not is_file else name),
            kind=_KINDS[kind],
            mode=_number(block[100:108]) & 0o777,
            mtime=_time(settings.get("mtime", ""), block[136:148]),
            target=settings.get("linkpath", _field(block[157:257])) if _KINDS[kind] == "link" else "",
        )


_LONG = {tarfile.GNUTYPE_LONGNAME: "path", tarfile.GNUTYPE_LONGLINK: "linkpath"}


def _require_new(member: Member, kinds: dict[str, str]) -> None:
    """Refuse a name that was there, and one below what is no folder."""
    # A folder may come after what is in it.
    if kinds.get(member.name, "") not in ("", "above" if member.kind == "folder" else ""):
        raise RefusedMember(f"{member.name!r} is in it twice")
    kinds[member.name] = member.kind
    above = member.name
    while above := above.rpartition("/")[0]:
        if (kind := kinds.setdefault(above, "above")) == "folder":
            return
        if kind != "above":
            raise RefusedMember(f"{member.name!r} lies below what is no folder")


def _checked(name: str) -> str:
    """Return a name that leads below the folder that an archive is unpacked to, and nowhere else."""
    parts = name.split("/")
    odd = "\0" in name or not {"", ".", ".."}.isdisjoint(parts)
    # Most names are short, and need no look at each part.
    if not odd and len(name) * 4 > LONGEST_PART:
        odd = len(os.fsencode(name)) > LONGEST_NAME or any(len(os.fsencode(part)) > LONGEST_PART for part in parts)
    if odd or len(parts) > DEEPEST:
        raise RefusedMember(f"{name[:LONGEST_PART]!r} is no name of a file")
    return name


def _require_checksum(block: bytes) -> None:
    # That of the header counts its own eight bytes as blanks.
    if _number(block[148:156]) != sum(block) - sum(block[148:156]) + 8 * ord(" "):
        raise tarfile.ReadError("a header of it is damaged")


def _number(field: bytes) -> int:
    """Return a number of a header: octal digits, or binary where its first bit is set."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:])
    try:
        value = int(field.split(b"\0", 1)[0].strip() or b"0", 8)
    except ValueError as problem:
        raise tarfile.ReadError(f"{field!r} stands where a number should") from problem
    if value < 0:
        raise tarfile.ReadError(f"{value} stands where a size should")
    return value


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise tarfile.ReadError(f"{text[:20]!r} stands where a number should")
    return int(text)


def _time(text: str, field: bytes) -> float:
    """Return when a file was changed; a time that no file system has is none."""
    try:
        value = float(text) if text else float(_number(field))
    except ValueError:
        return 0.0
    return value if 0 <= value < 2**33 else 0.0


def _field(field: bytes) -> str:
    return _text(field.split(b"\0", 1)[0])


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _settings(data: bytes) -> dict[str, str]:
    """Return the settings of an extended header: lines of a length, a key and a value."""
    settings: dict[str, str] = {}
    start = 0
    while start < len(data):
        digits, blank, _ = data[start : start + 20].partition(b" ")
        length = _whole(digits.decode("ascii", "replace")) if blank else 0
        line = data[start + len(digits) + 1 : start + length]
        key, equals, value = line.partition(b"=")
        if not equals or not value.endswith(b"\n") or start + length > len(data):
            raise tarfile.ReadError("the settings of a file are damaged")
        settings[_text(key)] = _text(value[:-1])
        start += length
    return settings
