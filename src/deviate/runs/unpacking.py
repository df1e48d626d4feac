"""Unpack an archive that somebody else may have made: nothing is written outside of one folder, through no link.

All members are checked before the first is written, and again while they are. Links are made last, and only where a
copy of a project has them: below the snapshot and the working folders of runs. One that leads within its copy leads
there; one that leads out of it leads to the same place of the project here, or is not made.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal

import psutil

from deviate.core.errors import WorkspaceUnusable
from deviate.core.interrupts import at_any_end
from deviate.runs.snapshot.manifest import read_snapshot
from deviate.runs.snapshot.working_copy import GIVEN, overlay_path
from deviate.store.folders import FOLDER, ExperimentFolder, Workspace

# The members of a gzipped tar archive that somebody else may have made: read within bounds, and each name checked.
#
# Only what an exported experiment needs is understood: files, folders and symbolic links, with long names in the two
# ways in which they are written. Nothing is believed before it is counted: not the size of a header, not the number of
# members, and not what a few compressed bytes unpack to.

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

        Raises RefusedMember at the first that no exported experiment has. Raises OSError, EOFError, zlib.error or
        tarfile.TarError if the file is damaged.
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

        Raises RefusedMember if it has more bytes than `most`.
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


#: Says what an archive is; all else lies below the folder, or those of several experiments each below a folder of its
#: name.
HEAD, BELOW, SEVERAL = "deviate-archive.json", "experiment", "experiments"

#: The file that every experiment has.
_DESCRIPTION = (ExperimentFolder(Path()).experiment_file.name,)

#: Bytes of the head, which names the cells of a grid.
MOST_HEAD = 1 << 22

#: Begins the names of folders that an archive is unpacked to, before the process's id.
_UNPACKING = ".unpacking-"


@dataclass
class Unpacked:
    """What was unpacked."""

    path: Path
    #: Links that were not made.
    left_out: list[str] = field(default_factory=list)


def divided(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the folder of an experiment in an archive that a member lies below, and what follows; empty: none."""
    parts = tuple(name.split("/"))
    depth = 2 if parts[0] == SEVERAL else 1
    return ("/".join(parts[:depth]), parts[depth:]) if parts[0] in (BELOW, SEVERAL) else ("", ())


def is_carried(parts: tuple[str, ...], *, work: bool = True) -> bool:
    """Tell whether an archive carries what lies so below the folder of an experiment.

    Not what clusters were handed, what workers of this machine left, or what a killed tool left half removed or
    written; nor working folders and their code unless there is to be `work`.
    """
    in_runs = parts[:1] == ("runs",)
    if parts[:1] == ("submissions",) or (in_runs and parts[2:3] == ("worker",)):
        return False
    if in_runs and parts[2:3] in (("work",), (GIVEN,)) and not work:
        return False
    if in_runs and parts[2:3] == (GIVEN,) and len(parts) > 3 and not parts[-1].endswith((".py", ".json")):
        # What Python makes of its code, where keys that are written in it cannot be told.
        return False
    return not any(part.startswith(".") for part in parts[: 3 if in_runs else 1])


def copy_depth(parts: tuple[str, ...]) -> int:
    """Return how many parts lead to the snapshot or a working folder that something lies below; 0: it does not."""
    if parts[:1] == ("snapshot",) and len(parts) > 1:
        return 1
    return 3 if parts[:1] == ("runs",) and parts[2:3] == ("work",) and len(parts) > 3 else 0


def read_head(path: Path) -> tuple[bytes, set[str]]:
    """Return what an archive says of itself, and the folders of experiments that are in it.

    All of it is looked at: names, sizes, kinds and checksum.

    Raises RefusedMember if it holds what no exported experiment does. Raises OSError, EOFError, zlib.error or
    tarfile.TarError if it is damaged.
    """
    head, found = b"", set()
    with Members(path) as members:
        for number, member in enumerate(members):
            if (number == 0) != (member.name == HEAD):
                raise RefusedMember(f"{HEAD} must come first in it")
            if number == 0:
                head = members.read(MOST_HEAD)
            else:
                _require_place(member)
                below, parts = divided(member.name)
                if parts == _DESCRIPTION:
                    found.add(below)
    return head, found


def _require_place(member: Member) -> None:
    below, parts = divided(member.name)
    if not below and member.name != SEVERAL:
        raise RefusedMember(f"{member.name!r} is no part of an experiment")
    if member.kind == "link" and not copy_depth(parts):
        raise RefusedMember(f"{member.name!r} is a link, where an experiment has none")


@contextmanager
def unpacked(path: Path, workspace: Workspace) -> Iterator[Unpacked]:
    """Unpack an archive beside the experiments; it goes when the caller has taken what it wants."""
    beside = workspace.path / "experiments"
    for left in beside.glob(f"{_UNPACKING}*"):
        maker = left.name.removeprefix(_UNPACKING)
        if not (maker.isdigit() and psutil.pid_exists(int(maker))):
            shutil.rmtree(left, ignore_errors=True)
    place = Unpacked(beside / f"{_UNPACKING}{os.getpid()}")
    with at_any_end(partial(shutil.rmtree, place.path, ignore_errors=True)):
        place.path.mkdir()
        _unpack(path, place, workspace.project)
        yield place


def _unpack(path: Path, place: Unpacked, project: Path) -> None:
    links, folders = [], []
    with Members(path) as members:
        for member in members:
            if member.name == HEAD:
                continue
            _require_place(member)
            below, parts = divided(member.name)
            if not below or not is_carried(parts):
                continue
            target = place.path / member.name
            if member.kind == "link":
                links.append(member)
            elif member.kind == "folder":
                target.mkdir(parents=True, exist_ok=True)
                folders.append((target, member))
            else:
                _write(members, member, target)
    for member in links:
        _link(member, place, project)
    # A file that is made in a folder gives it another time.
    for target, member in reversed(folders):
        target.chmod(member.mode | 0o700)
        os.utime(target, (member.mtime, member.mtime))


def _write(members: Members, member: Member, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Never through a link, and over nothing.
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        members.copy(file)
    target.chmod(member.mode | 0o600)
    os.utime(target, (member.mtime, member.mtime))


def _link(member: Member, place: Unpacked, project: Path) -> None:
    below, parts = divided(member.name)
    depth = copy_depth(parts)
    path = place.path / member.name
    target = (
        member.target if _stays(parts[depth:-1], member.target) else _here(path, place.path / below, parts, project)
    )
    if target is None:
        place.left_out.append(member.name)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def _stays(folder: tuple[str, ...], target: str) -> bool:
    """Tell whether a link in a folder of a copy leads within the copy, whatever other links there are.

    It may go up before it goes down: what it passes on its way up are folders, and not links.
    """
    parts = target.split("/")
    down = [part for part in parts if part not in ("..", ".")]
    ups = parts.count("..")
    if not target or "" in parts or "\0" in target or len(os.fsencode(target)) > 4000:
        return False
    return ups <= len(folder) and [part for part in parts if part != "."] == [".."] * ups + down


def _here(path: Path, experiment: Path, parts: tuple[str, ...], project: Path) -> str | None:
    """Return the place of the project here that stands where a link of a copy does; None where there is none."""
    copy = experiment / "snapshot"
    if parts[0] == "runs":
        folder = ExperimentFolder(experiment)
        run = next((run for run in folder.runs() if run.path.name == parts[1]), None)
        with suppress(WorkspaceUnusable, ValueError, IndexError):
            copy = overlay_path(run, read_snapshot(folder)) if run else copy
    inside = path.relative_to(copy).parts if path.is_relative_to(copy) else ()
    place = project.joinpath(*inside)
    return str(place) if inside and inside[0] != FOLDER and os.path.lexists(place) else None
