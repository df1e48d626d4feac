"""Files to import that are damaged, huge or made to mislead: each is refused, or gives the numbers that it holds."""

from __future__ import annotations

import gzip
import io
import json
import os
import shlex
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from harness import Case, values

#: What ends a read of a file that a command must not wait for.
ANY = (0, 2)

#: What the experiment must hold where a file is imported: values by metric, in the order of the runs.
Truth = dict[str, list[float | None]]

TWO_RUNS: Truth = {"acc": [0.5, 0.25]}


def import_cases() -> Iterator[Case]:
    """Yield the cases of hostile files to import."""
    for name, (file, options, make, statuses, truth) in {**refused(), **odd_tables(), **stores()}.items():
        yield Case(
            "import", name, f"import {file} --name hostile {options}", lambda project, m=make, f=file: m(project / f),  # type: ignore[misc]
            statuses, check=lambda project, t=truth: differs(project, t),  # type: ignore[misc]
        )  # fmt: skip


Hostile = dict[str, tuple[str, str, Callable[[Path], object], tuple[int, ...], Truth | None]]


def differs(project: Path, truth: Truth | None) -> str:
    """Say how what was imported differs from what the file holds."""
    if truth is None:
        return "imported, and nothing is known of what it holds"
    stored = values(project, "hostile")
    stored.pop("time per run", None)
    return "" if stored == truth else f"WRONG NUMBER: {stored}, expected {truth}"


def refused() -> Hostile:
    """Return the files that hold no results: too deep, too large, not ended, nothing at all."""

    def pattern(text: str) -> str:
        return f"--pattern {shlex.quote(text)}"

    made: dict[str, tuple[str, str, Callable[[Path], object]]] = {
        "JSON of 100,000 lists": ("a.json", "", lambda p: p.write_bytes(b"[" * 10**5 + b"]" * 10**5)),
        "JSON of 100,000 objects": ("a.json", "", lambda p: p.write_bytes(b'{"a":' * 10**5 + b"1" + b"}" * 10**5)),
        "JSON 900 deep": ("a.json", "", lambda p: p.write_bytes(b'[{"a":' + b'{"a":' * 900 + b"1" + b"}" * 901 + b"]")),
        "JSON number of 5,000 digits": ("a.json", "", lambda p: p.write_bytes(b'[{"acc": ' + b"9" * 5000 + b"}]")),
        "JSON that ends early": ("a.json", "", lambda p: p.write_bytes(b'[{"seed": 1, "acc": 0.5}, {"seed"')),
        "JSON of one number": ("a.json", "", lambda p: p.write_bytes(b"17")),
        "JSON of strings": ("a.json", "", lambda p: p.write_bytes(b'["a", "b"]')),
        "line of 160 kB, repeated words": ("a.log", pattern("epoch {epoch} ... acc {acc} ... loss {loss}"),
                                           lambda p: p.write_bytes(b"epoch 1 acc " * 13_000)),
        "line of 160 kB, digits": ("a.log", pattern("{epoch} ... {acc} ... loss {loss}"),
                                   lambda p: p.write_bytes(b"1" * 160_000)),
        "line of 160 kB, blanks": ("a.log", pattern("a {x} b"), lambda p: p.write_bytes(b" " * 160_000)),
        "pattern of nested repeats": ("a.log", pattern("(?P<acc>(a+)+)b"), lambda p: p.write_bytes(b"a" * 40)),
        "log of 1 GiB without content": ("a.log", pattern("a {x}"), sparse),
        "table of 1 GiB without content": ("a.csv", "", sparse),
        "JSON of 1 GiB without content": ("a.json", "", sparse),
        "events of 1 GiB without content": ("events.out.tfevents.1", "", sparse),
        "wandb of 1 GiB without content": ("run-a.wandb", "", sparse),
        "2,000 columns": ("a.csv", "", lambda p: p.write_bytes(wide(2_000))),
        "20,000 columns": ("a.csv", "", lambda p: p.write_bytes(wide(20_000))),
        "quote that never ends": ("a.csv", "", lambda p: p.write_bytes(b'seed,acc\n1,"' + b"9" * 200_000 + b"\n2,1\n")),
        "zero bytes": ("a.csv", "", lambda p: p.write_bytes(b"\0" * 1000)),
        "empty JSON": ("a.json", "", lambda p: p.write_bytes(b"")),
        "empty table": ("a.csv", "", lambda p: p.write_bytes(b"")),
        "a head without rows": ("a.csv", "", lambda p: p.write_bytes(b"seed,acc\n")),
        "a folder": ("a.csv", "", lambda p: p.mkdir()),
        "a link to itself": ("a.csv", "", lambda p: p.symlink_to(p.name)),
        "a folder with a link to itself": ("runs", "", linked_folder),
        "a link to nothing": ("a.csv", "", lambda p: p.symlink_to("gone.csv")),
        "a named pipe": ("a.csv", "", os.mkfifo),
        "a named pipe as a log": ("a.log", pattern("acc {acc}"), os.mkfifo),
        "a named pipe as events": ("events.out.tfevents.1", "", os.mkfifo),
        "an endless device": ("a.csv", "", lambda p: p.symlink_to("/dev/zero")),
        "a full device": ("a.csv", "", lambda p: p.symlink_to("/dev/full")),
        "two columns of one name": ("a.csv", "", lambda p: p.write_bytes(b"seed,acc,acc\n1,0.5,0.6\n2,0.25,0.3\n")),
        "a gzip bomb named a table": ("a.csv", "", lambda p: p.write_bytes(gzip.compress(b"\0" * (64 << 20)))),
        "a zip bomb named a table": ("a.csv", "", zip_bomb),
        "a zip bomb named events": ("events.out.tfevents.1", "", zip_bomb),
        "UTF-32": ("a.csv", "", lambda p: p.write_bytes("seed,acc\n1,0.5\n2,0.25\n".encode("utf-32"))),
    }  # fmt: skip
    return {name: (*each, (2,), None) for name, each in made.items()}


def odd_tables() -> Hostile:
    """Return the tables that may be read: then with the numbers that they hold, else refused."""
    table = "seed,acc\n1,0.5\n2,0.25\n"
    texts: dict[str, tuple[bytes, tuple[int, ...], Truth]] = {
        "a byte-order mark": (table.encode("utf-8-sig"), (0,), TWO_RUNS),
        "UTF-16": (table.encode("utf-16"), ANY, TWO_RUNS),
        "UTF-16 without a mark": (table.encode("utf-16-le"), ANY, TWO_RUNS),
        "Latin-1 names": ("seed,gr\xf6\xdfe\n1,0.5\n2,0.25\n".encode("latin-1"), ANY, {"größe": [0.5, 0.25]}),
        "rows longer than the head": (b"seed,acc\n1,0.5,0.9,0.8\n2,0.25\n", ANY, TWO_RUNS),
        "rows shorter than the head": (b"seed,acc,loss\n1,0.5\n2,0.25\n", ANY, TWO_RUNS),
        "NaN and infinite values": (b"seed,acc\n1,NaN\n2,-Infinity\n3,0.5\n4,0.25\n", (0,), TWO_RUNS),
        "numbers of other scripts": ("seed,acc\n1,٠.٥\n2,0.25\n3,0.5\n".encode(), ANY, {"acc": [0.5, 0.25, 0.5]}),
        "underscores in numbers": (b"seed,acc\n1,1_0\n2,0.25\n3,0.5\n", ANY, {"acc": [0.25, 0.5]}),
        "decimal commas": (b"seed;acc\n1;0,5\n2;0,25\n", (2,), {}),
        "thousands": (b'seed,steps,acc\n1,"1,024",0.5\n2,"2,048",0.25\n', ANY, TWO_RUNS),
        "a number beyond all floats": (b"seed,acc\n1,1e999\n2,0.25\n3,0.5\n", ANY, {"acc": [0.25, 0.5]}),
        "lines ended by returns": (table.replace("\n", "\r").encode(), ANY, TWO_RUNS),
        "one seed twice": (b"seed,acc\n1,0.5\n1,0.25\n", (2,), {}),
        "iterations beyond 64 bits": (b"seed,epoch,acc\n1,99999999999999999999,0.5\n2,99999999999999999999,0.25\n",
                                      ANY, TWO_RUNS),
        "iterations that are infinite": (b"seed,epoch,acc\n1,inf,0.5\n2,inf,0.25\n", (2,), {}),
        "a cell of 200,000 digits": (b"seed,acc\n1," + b"9" * 200_000 + b"\n2,0.25\n3,0.5\n", ANY,
                                     {"acc": [0.25, 0.5]}),
        "a metric named as a path": (b"seed,../../../acc\n1,0.5\n2,0.25\n", ANY, {"../../../acc": [0.5, 0.25]}),
        "a zero byte in a name": (b"seed,a\0cc\n1,0.5\n2,0.25\n", (2,), {}),
    }  # fmt: skip
    made: Hostile = {
        name: ("a.csv", "", lambda p, d=data: p.write_bytes(d), statuses, truth)  # type: ignore[misc]
        for name, (data, statuses, truth) in texts.items()
    }
    made["900 columns"] = ("a.csv", "", lambda p: p.write_bytes(wide(900)), (0,),
                           {f"m{index}": [1.0] * 3 for index in range(900)})  # fmt: skip
    lines = json.dumps({"seed": 1, "acc": 0.5}) + "\n" + '{"seed": 2, "acc": 0.25}\n{"seed": 3, "ac'
    made["JSON lines with a torn end"] = ("a.jsonl", "", lambda p: p.write_text(lines), ANY, TWO_RUNS)
    tokens = (
        '[{"seed": 1, "acc": NaN}, {"seed": 2, "acc": Infinity}, {"seed": 3, "acc": 0.5}, {"seed": 4, "acc": 0.25}]'
    )
    made["JSON with NaN and Infinity"] = ("a.json", "", lambda p: p.write_text(tokens), (0,), TWO_RUNS)
    twice = '[{"seed": 1, "acc": 0.9, "acc": 0.5}, {"seed": 2, "acc": 0.25}]'
    made["JSON with a key twice"] = ("a.json", "", lambda p: p.write_text(twice), (2,), {})
    return made


def stores() -> Hostile:
    """Return the damaged files of trackers: a run whose file was damaged fails, and has no other number."""
    events = event_file([0.5, 0.25, 0.125])
    log = wandb_file([0.5, 0.25, 0.125])
    beyond = wandb_file([0.5], step="1e400")
    made: Hostile = {}
    for where, at in (("the length of a record", 30), ("a record", len(events) - 6), ("a checksum", len(events) - 2)):
        made[f"events with a flipped bit in {where}"] = (
            "tb", "", lambda p, a=at: two_folders(p, "events.out.tfevents.1", events, a), (0,), {"acc": [0.125]}
        )  # type: ignore[misc]  # fmt: skip
    for where, at in (("a value", log.index(b"0.125") + 2), ("a head", 7 + 4), ("a checksum", 7)):
        made[f"wandb with a flipped bit in {where}"] = (
            "wb", "", lambda p, a=at: two_folders(p, "run-a.wandb", log, a), (0,), {"acc": [0.125]}
        )  # type: ignore[misc]  # fmt: skip
    made["events with a torn end"] = ("events.out.tfevents.1", "", lambda p: p.write_bytes(events[:-7]), (0,),
                                      {"acc": [0.25]})  # fmt: skip
    made["events of random bytes"] = ("events.out.tfevents.1", "", lambda p: p.write_bytes(noise(10_000)), (2,), None)
    made["wandb with a step beyond all numbers"] = ("run-a.wandb", "", lambda p: p.write_bytes(beyond), ANY,
                                                    {"acc": [0.5]})  # fmt: skip
    made["wandb summary of no encoding"] = ("wb", "", lambda p: summary(p, b'{"acc": "\xff\xfe"}'), (2,), None)
    made["wandb summary 100,000 deep"] = ("wb", "", lambda p: summary(p, b'{"a":' * 10**5 + b"1" + b"}" * 10**5), (2,),
                                          None)  # fmt: skip
    made["MLflow store that is no database"] = ("a.db", "", lambda p: p.write_bytes(noise(10_000)), (2,), None)
    made["MLflow store cut short"] = ("a.db", "", lambda p: database(p, cut=3000), (2,), None)
    made["MLflow store with words for numbers"] = ("a.db", "", lambda p: database(p, value="'high'"), (2,), None)
    made["MLflow store with a step of words"] = ("a.db", "", lambda p: database(p, step="'last'"), (2,), None)
    made["MLflow folder with seeds of no encoding"] = ("ml", "", mlflow_folder, ANY, {"acc": [0.5]})
    return made


def two_folders(folder: Path, file: str, data: bytes, flipped: int) -> None:
    """Write a whole file into one run's folder, and one with a flipped bit into another's."""
    for name, content in (
        ("whole", data),
        ("damaged", data[:flipped] + bytes([data[flipped] ^ 1]) + data[flipped + 1 :]),
    ):
        (folder / name).mkdir(parents=True)
        (folder / name / file).write_bytes(content)


def event_file(numbers: list[float]) -> bytes:
    """Return an event file of TensorBoard with one scalar a step."""

    def record(data: bytes) -> bytes:
        length = struct.pack("<Q", len(data))
        return length + masked(length) + data + masked(data)

    clock = 1.7e9
    head = field(1, clock) + field(3, b"brain.Event:2")
    scalars = [
        field(1, clock + 1 + step)
        + field(2, step)
        + field(5, field(1, field(1, b"acc") + b"\x15" + struct.pack("<f", number)))
        for step, number in enumerate(numbers)
    ]
    return b"".join(map(record, [head, *scalars]))


def masked(data: bytes) -> bytes:
    """Return the masked CRC-32C that TensorFlow writes, computed bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def wandb_file(numbers: list[float], step: str | None = None) -> bytes:
    """Return a ``.wandb`` file with one value a step, and an exit record."""

    def item(name: str, text: str) -> bytes:
        return field(1, field(2, name.encode()) + field(16, text.encode()))

    records = [field(2, item("acc", str(number)) + item("_step", step or str(index)))
               for index, number in enumerate(numbers)]  # fmt: skip
    chunks = b""
    for data in [field(17, field(8, b"happy")), *records, field(18, field(2, 9))]:
        chunks += struct.pack("<IHB", zlib.crc32(b"\x01" + data), len(data), 1) + data
    return b":W&B\xe1\xbe\x00" + chunks


def field(number: int, value: float | bytes) -> bytes:
    """Return a field of a protocol buffer."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(number: int) -> bytes:
    """Return an integer of a protocol buffer."""
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def summary(folder: Path, data: bytes) -> None:
    """Write a run of wandb of which only the summary stayed."""
    (folder / "run-1" / "files").mkdir(parents=True)
    (folder / "run-1" / "files" / "wandb-summary.json").write_bytes(data)


def database(path: Path, value: str = "0.5", step: str = "0", cut: int | None = None) -> None:
    """Write MLflow's database with one value."""
    with sqlite3.connect(path) as connection:
        connection.executescript(
            f"""
            CREATE TABLE experiments (experiment_id INTEGER, name TEXT);
            CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, start_time INTEGER, end_time INTEGER,
                               lifecycle_stage TEXT, experiment_id INTEGER);
            CREATE TABLE metrics (key TEXT, value, timestamp INTEGER, run_uuid TEXT, step, is_nan INTEGER);
            CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
            INSERT INTO experiments VALUES (1, 'digits');
            INSERT INTO runs VALUES ('u1', 'owl', 'FINISHED', 1000, 3000, 'active', 1);
            INSERT INTO metrics VALUES ('acc', {value}, 2000, 'u1', {step}, 0);
            """
        )
    connection.close()
    if cut:
        path.write_bytes(path.read_bytes()[:cut])


def mlflow_folder(folder: Path) -> None:
    """Write MLflow's folder with a seed in bytes of no encoding."""
    run = folder / "1" / "u1"
    (run / "metrics").mkdir(parents=True)
    (run / "params").mkdir()
    (run / "meta.yaml").write_text("run_name: owl\nstatus: 3\nstart_time: 1000\nend_time: 3000\n")
    (run / "metrics" / "acc").write_text("2000 0.5 0\n")
    (run / "params" / "seed").write_bytes(b"\xff\xfe")


def linked_folder(folder: Path) -> None:
    """Make a folder of nothing but links to itself and up."""
    folder.mkdir()
    (folder / "loop").symlink_to(".")
    (folder / "up").symlink_to("..")


def zip_bomb(path: Path) -> None:
    """Write an archive of a few kilobytes that holds 64 MiB."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", b"\0" * (64 << 20))
    path.write_bytes(data.getvalue())


def noise(size: int) -> bytes:
    """Return bytes without any order, the same each time."""
    return b"".join(zlib.crc32(str(index).encode()).to_bytes(4, "little") for index in range(size // 4))


def sparse(path: Path) -> None:
    """Make a file of 1 GiB that takes no space."""
    with path.open("wb") as file:
        file.truncate(1 << 30)


def wide(columns: int) -> bytes:
    """Return a table of that many metrics."""
    head = ",".join(["seed", *(f"m{index}" for index in range(columns))])
    return "\n".join([head, *(",".join([str(row)] + ["1"] * columns) for row in range(3))]).encode()
