"""Archives that a stranger may have made: variants of a good one, by a seeded generator of random numbers.

A variant is what one to three changes make of the members of an exported experiment. Standard library only.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import random
import re
import tarfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = "experiment"


class Item(NamedTuple):
    """A member with its content."""

    info: tarfile.TarInfo
    data: bytes = b""


def read(path: Path) -> list[Item]:
    """Return the members of an archive."""
    with tarfile.open(path) as archive:
        return [
            Item(info, (archive.extractfile(info) or io.BytesIO()).read() if info.isreg() else b"") for info in archive
        ]


def write(items: Sequence[Item], form: int = tarfile.PAX_FORMAT) -> bytes:
    """Return the bytes of a tar file; a member that says another size than it has keeps that."""
    out = io.BytesIO()
    for info, data in items:
        out.write(info.tobuf(form, "utf-8", "surrogateescape"))
        out.write(data + bytes(-len(data) % tarfile.BLOCKSIZE))
    return out.getvalue() + bytes(2 * tarfile.BLOCKSIZE)


def item(name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, to: str = "", **pax: str) -> Item:
    """Make a member."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.pax_headers = kind, to, len(data), pax
    return Item(info, data)


LINKS = (tarfile.SYMTYPE, tarfile.LNKTYPE)
ODD_KINDS = (
    tarfile.CHRTYPE,
    tarfile.BLKTYPE,
    tarfile.FIFOTYPE,
    tarfile.CONTTYPE,
    tarfile.GNUTYPE_SPARSE,
    b"Z",
    b"g",
    b"\xff",
)

#: Places of an experiment that a link or an odd file may stand in.
PLACES = (
    "experiment", "experiment/runs", "experiment/runs/{run}", "experiment/runs/{run}/outcome.json",
    "experiment/runs/{run}/run.json", "experiment/runs/{run}/stdout.log", "experiment/runs/{run}/records.parquet",
    "experiment/runs/{run}/records-0-0.bin", "experiment/runs/{run}/written", "experiment/runs/{run}/written/a.txt",
    "experiment/runs/{run}/steps", "experiment/runs/{run}/work", "experiment/runs/{run}/work/project/data",
    "experiment/runs/{run}/work/x", "experiment/runs/{run}/worker", "experiment/runs/{run}/worker/job.json",
    "experiment/snapshot", "experiment/snapshot/data", "experiment/snapshot/deep/er/data", "experiment/experiment.json",
    "experiment/snapshot.json", "experiment/hardware.json", "experiment/submissions",
    "experiment/submissions/a/order.json",
    "experiment/steps/evaluate", "experiment/new", "experiments/a@b", "experiments", "deviate-archive.json",
)  # fmt: skip


def targets(outside: Path) -> list[str]:
    """Return where a link may lead."""
    return [
        str(outside), str(outside / "notes.txt"), str(outside / "run"), str(outside / "new.txt"), "/etc/passwd", "/",
        "/dev/zero",
        *("../" * depth + "outside" + end for depth in range(1, 8) for end in ("", "/notes.txt", "/run")),
        "..", ".", "../..", "a/../..", "a/../../../outside", "./", "", "/proc/self/environ", "//x", "snapshot",
        "data", "x" * 5000,
        "\0/a", "experiment.json", "../runs",
    ]  # fmt: skip


def names(outside: Path) -> list[str]:
    """Return names that no member may have, or that are odd."""
    return [
        str(outside / "notes.txt"), "/tmp/x", "../x", "experiment/../../x",
        "experiment/snapshot/../../../../outside/notes.txt",
        "experiment//x", "experiment/./x", "./experiment/x", "experiment/..", "..", ".", "", "/", "experiment/x/", "x",
        "experiment/\0x", "experiment/a\nb", "experiment/\x1b[31m", "experiment/snapshot/\udcff",
        "experiment/" + "a" * 300,
        "experiment/" + "a/" * 500 + "a", "experiment/snapshot/" + "b/" * 90 + "b", "experiment/" + "é" * 200,
        "\\..\\x", "C:\\x",
        "experiment/.hidden", "experiment/runs/.x", "experiment/runs/x", "experiment/runs/-1",
        "experiment/runs/a-99999999999999999999",
        "experiment/runs/../../x", "experiments/../x", "experiments/a/../../x", "experiment/snapshot/" + "c" * 1990,
    ]  # fmt: skip


Change = Callable[[list[Item], random.Random, Path], list[Item]]


def _run(items: Sequence[Item], rng: random.Random) -> str:
    runs = sorted({each.info.name.split("/")[2] for each in items if each.info.name.startswith("experiment/runs/")})
    return rng.choice(runs or ["control-0"])


def _place(items: Sequence[Item], rng: random.Random) -> str:
    return rng.choice(PLACES).format(run=_run(items, rng))


def _insert(items: list[Item], rng: random.Random, *more: Item) -> list[Item]:
    at = rng.choice([len(items), rng.randrange(1, len(items) + 1), 1])
    return [*items[:at], *more, *items[at:]]


def link(items: list[Item], rng: random.Random, outside: Path) -> list[Item]:
    """Add a link, alone, before or after a file of its name or below it, or in the place of what is there."""
    place, kind = _place(items, rng), rng.choice(LINKS)
    made = item(place, kind=kind, to=rng.choice(targets(outside)))
    if rng.random() < 0.5:
        items = [each for each in items if not (each.info.name + "/").startswith(place + "/")]
    beside = [
        [],
        [item(place, b"mine\n")],
        [item(place + "/notes.txt", b"mine\n")],
        [item(place, kind=tarfile.DIRTYPE)],
    ]
    both = [made, *rng.choice(beside)]
    if rng.random() < 0.3:
        both.reverse()
    return _insert(items, rng, *both)


def chain(items: list[Item], rng: random.Random, outside: Path) -> list[Item]:
    """Add links that lead out together, though none does alone."""
    below = rng.choice(["experiment/snapshot/", f"experiment/runs/{_run(items, rng)}/work/p/"])
    first, second = rng.choice([("a/b", "."), ("a", "deep/er"), ("c", "a/../.."), ("a", "..")])
    return _insert(
        items, rng, item(below + first, kind=tarfile.SYMTYPE, to=second),
        item(below + "z", kind=tarfile.SYMTYPE, to=f"{first}/../../../../{rng.choice(['outside', 'x'])}"),
        *rng.choice([[], [item(below + "z/notes.txt", b"mine\n")]]),
    )  # fmt: skip


def odd_kind(items: list[Item], rng: random.Random, outside: Path) -> list[Item]:
    """Add a device, a pipe, a sparse file, or a kind that nobody knows."""
    data = rng.choice([b"", b"abc", bytes(2000)])
    return _insert(items, rng, item(_place(items, rng), data, rng.choice(ODD_KINDS), rng.choice(targets(outside))))


def odd_name(items: list[Item], rng: random.Random, outside: Path) -> list[Item]:
    """Add a name that leads elsewhere, or that nothing has, as it is or by an extended header."""
    name = rng.choice(names(outside))
    made = rng.choice(
        [item(name, b"mine\n"), item(ROOT + "/a", b"mine\n", path=name), item(name, kind=tarfile.DIRTYPE)]
    )
    if rng.random() < 0.3 and len(items) > 2:
        at = rng.randrange(len(items))
        renamed = copy.copy(items[at].info)
        renamed.name = name
        return [*items[:at], Item(renamed, items[at].data), *items[at + 1 :]]
    return _insert(items, rng, made)


def twice(items: list[Item], rng: random.Random, outside: Path) -> list[Item]:
    """Add a member again, as it was or as another kind."""
    again = rng.choice(items)
    other = copy.copy(again.info)
    other.type = rng.choice([again.info.type, *LINKS, tarfile.DIRTYPE])
    if other.type != again.info.type:
        other.size, other.linkname = 0, str(outside / "notes.txt")
        return _insert(items, rng, Item(other))
    return _insert(items, rng, Item(other, again.data))


def header(items: list[Item], rng: random.Random, outside: Path) -> list[Item]:
    """Add an extended header, a long name or a size that is not as it should be."""
    size = rng.choice([0, 1, 1 << 20, 1 << 31, -1, -512, (1 << 63) - 1, 10**18])
    kind = rng.choice(
        [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, b"S", b"0", b"X"]
    )
    text = rng.choice([
        b"", b"abc", b"99999999999 path=x\n", b"0 a=b\n", b"-5 a=b\n", b"11 path=/x\n",
        b"30 size=99999999999999999999\n\n",
        b"21 GNU.sparse.major=1\n", b"12 path=../x\n", b"6 a=b\n" * 10_000, b"experiment/../../x\0", b"/x\0" * 5000,
        b"1e309",
        b"18 mtime=nan\n12345", b"17 mtime=1e308\nx", b"14 size=-512\n\n",
    ])  # fmt: skip
    made = item("././@PaxHeader", text, kind)
    if rng.random() < 0.4:
        made.info.size = size
    raw = rng.choice(items)
    return _insert(items, rng, made, *rng.choice([[], [made], [made] * 5, [raw]]))


def said_size(items: list[Item], rng: random.Random, outside: Path) -> list[Item]:
    """Have a member say a size that is not that of its content."""
    at = rng.randrange(len(items))
    info = copy.copy(items[at].info)
    info.size = rng.choice([0, 1, 511, 513, 1 << 31, 1 << 40, (1 << 62)])
    return [*items[:at], Item(info, items[at].data), *items[at + 1 :]]


def head(items: list[Item], rng: random.Random, outside: Path) -> list[Item]:
    """Have the head say something else, stand elsewhere, or be missing."""
    said = rng.choice([
        {"schema": 1, "name": rng.choice(["../../x", "", "/etc", ".x", "a\nb", "x" * 5000, "y"]), "work": True},
        {"schema": 1, "name": "y", "work": True, "cells": [rng.choice(["../../../outside@a", "a@b", "/x@y",
        "y@a/b"])] * 2},
        {"schema": 1, "name": "y", "work": True, "cells": [f"y@{number}" for number in range(200_000)]},
        {"schema": 99, "name": "y", "work": False}, {"schema": "x"}, [], "a", {"name": 1},
    ])  # fmt: skip
    data = rng.choice([json.dumps(said).encode(), b"", b"{", b"[" * 100_000, bytes(5 << 20), json.dumps(said).encode()])
    rest = items[1:]
    return rng.choice([[item("deviate-archive.json", data), *rest], [*rest, items[0]], rest, [items[0], *items]])


def hostile_json(items: list[Item], rng: random.Random, outside: Path) -> list[Item]:
    """Have a file of Deviate's own name what lies elsewhere."""
    far = rng.choice(
        ["../../../../../../outside/notes.txt", str(outside / "notes.txt"), "../../../outside", "a/../../b", ""]
    )
    wanted, change = rng.choice([
        ("experiment.json", lambda j: {**j, "planned": {far: 2}}),
        ("experiment.json", lambda j: {**j, "steps": [{"name": far, "command": ["true"]}]}),
        ("experiment.json", lambda j: {**j, "name": far, "folder": far, "entry": far, "outside": {far: "0"}}),
        ("experiment.json", lambda j: {**j, "planned": {"control": 10**9}}),
        ("outcome.json", lambda j: {**j, "files": {far: {"size": 1, "crc32": "00000000"}}}),
        ("outcome.json", lambda j: {}), ("outcome.json", lambda j: {**j, "status": "cancelled", "reason": "x"}),
        ("run.json", lambda j: {**j, "scratch": str(outside / "run"), "pid": 1, "created": 0.0, "job": far}),
        ("run.json", lambda j: {**j, "same_as": far, "variant": far}),
        ("snapshot.json", lambda j: {**j, "project": far, "levels": 50, "digests": {far: "0"}}),
        ("snapshot.json", lambda j: {**j, "project": str(outside), "outside": [{"path": far, "target": far}]}),
    ])  # fmt: skip
    result = []
    for each in items:
        if each.info.name.endswith("/" + wanted) or each.info.name == f"{ROOT}/{wanted}":
            text = re.sub(rb',\n "crc32": "[0-9a-f]{8}"\n\}\n\Z', b"\n}", each.data)
            each = item(each.info.name, json.dumps(change(json.loads(text))).encode())
        result.append(each)
    return result


def nothing(items: list[Item], rng: random.Random, outside: Path) -> list[Item]:
    """Return the members as they were."""
    return items


CHANGES: tuple[Change, ...] = (
    link,
    link,
    chain,
    odd_kind,
    odd_name,
    twice,
    header,
    said_size,
    head,
    hostile_json,
    nothing,
)


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _flipped(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _bomb(data: bytes, rng: random.Random) -> bytes:
    """Zeros at the end of a member, of the head, of a name or of the file: gigabytes in some megabytes."""
    zeros, count = gzip.compress(bytes(1 << 26), 1), rng.choice([40, 80, 160])
    big = count << 26
    info = tarfile.TarInfo(
        rng.choice(["experiment/snapshot/zeros", "deviate-archive.json", "././@LongLink", ROOT + "/runs/x"])
    )
    info.size, info.type = big, rng.choice([b"0", b"0", b"L", b"x", b"S"])
    start = write([item("deviate-archive.json", b'{"schema":1,"name":"y","work":true}')])[: -2 * tarfile.BLOCKSIZE]
    first = b"" if info.name == "deviate-archive.json" else start
    return gzip.compress(first + info.tobuf(tarfile.GNU_FORMAT)) + zeros * count


def _many(data: bytes, rng: random.Random) -> bytes:
    """So many members that counting them is all that can be done."""
    block = bytearray(tarfile.TarInfo("experiment/snapshot/000000000").tobuf(tarfile.USTAR_FORMAT))
    kind = rng.choice([b"0", b"5"])
    packer, out = zlib.compressobj(1, wbits=31), []
    out.append(packer.compress(write([item("deviate-archive.json", b'{"schema":1,"name":"y","work":true}')])[:-1024]))
    for number in range(rng.choice([3_000, 20_000, 600_000])):
        block[20:29], block[156:157], block[148:156] = b"%09d" % number, kind, b" " * 8
        block[148:156] = b"%06o\0 " % sum(block)
        out.append(packer.compress(bytes(block)))
    return b"".join([*out, packer.compress(bytes(1024)), packer.flush()])


def variant(good: Sequence[Item], number: int, outside: Path) -> tuple[str, bytes]:
    """Return what the variant of that number is, and its bytes."""
    rng = random.Random(number)
    if number % 100 in (1, 51):
        return "bomb", _bomb(b"", rng)
    if number % 100 == 2:
        return "members beyond number", _many(b"", rng)
    items, said = list(good), []
    for change in rng.sample(CHANGES, k=rng.choice([1, 1, 1, 2, 3])):
        items, said = change(items, rng, outside), [*said, change.__name__.replace("_", " ")]
    try:
        plain = write(items, rng.choice([tarfile.PAX_FORMAT, tarfile.PAX_FORMAT, tarfile.GNU_FORMAT]))
    except (ValueError, UnicodeError):
        plain = write(items, tarfile.PAX_FORMAT)
    if rng.random() < 0.1:
        plain, said = rng.choice([_cut, _flipped])(plain, rng), [*said, "damaged"]
    packed = gzip.compress(plain, 1)
    if rng.random() < 0.05:
        packed, said = rng.choice([_cut, _flipped])(packed, rng), [*said, "damaged"]
    return said[0] if len(said) == 1 else f"{len(said)} changes", packed
