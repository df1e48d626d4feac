"""What trackers store, with odd values in it: files of TensorBoard and wandb, and both stores of MLflow."""

from __future__ import annotations

import json
import random
import sqlite3
import struct
import tempfile
from pathlib import Path

from deviate.observe.trackers.tensorboard import masked_crc32c

TAGS = ["loss", "val/acc", "é", "a" * 500, "", "\u202ex", "../x", "_step", "acc|<b>", "a/b/c"]
STEPS = [0, 1, 2, 3, 2**31, 2**63 - 1, 2**64 - 1]
VALUES = [0.5, 0.25, float("nan"), float("inf"), -1e38, 1e-45]

Store = tuple[str, dict[str, bytes], list[str]]


def varint(number: int) -> bytes:
    """Return a whole number as messages hold it."""
    out = b""
    while number > 0x7F:
        out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
    return out + bytes([number])


def field(number: int, value: int | float | bytes) -> bytes:
    """Return a field of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def record(data: bytes) -> bytes:
    """Return a record of an event file."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc32c(length)) + data + struct.pack("<I", masked_crc32c(data))


def events(draw: random.Random, odd: float) -> bytes:
    """Return an event file of a training."""
    out = record(field(1, 1.7e9) + field(3, b"brain.Event:2"))
    tags = ["loss", *draw.sample(TAGS, draw.choice([0, 1, 2]))]
    for step in range(draw.choice([0, 1, 3, 20, 2000])):
        for tag in tags:
            number = draw.choice(VALUES) if draw.random() < odd else draw.random()
            value = varint(2 << 3 | 5) + struct.pack("<f", number)
            if draw.random() < odd:
                value = draw.choice(
                    [field(8, field(1, 1) + field(4, struct.pack("<f", 0.5))), field(8, b"\xff"), field(2, 3), b""]
                )
            summary = field(1, field(1, tag.encode()) + value)
            at = draw.choice(STEPS) if draw.random() < odd else step
            out += record(field(1, 1.7e9 + step) + field(2, at) + field(5, summary))
    return out


def tensorboard(draw: random.Random, odd: float) -> Store:
    """Return the folder of some runs."""
    folder = draw.choice(["{}", "{}", "{}/train", "{}/validation", "deep/{}", "loss_{}"])
    names = {f"runs/{folder.format(number)}/events.out.tfevents.{number}" for number in range(draw.choice([1, 2, 5]))}
    files = {name: events(draw, odd) for name in sorted(names)}
    if draw.random() < odd:
        files["runs/empty/events.out.tfevents.9"] = draw.choice([b"", bytes(3000), record(b""), record(bytes(70_000))])
    return "tensorboard", files, ["runs"]


def mlruns(draw: random.Random, odd: float) -> Store:
    """Return a folder ``mlruns``."""
    files = {"mlruns/0/meta.yaml": f"name: {draw.choice(['Default', 'é', '', '[', 'a' * 300])}\n".encode()}
    for run in range(draw.choice([1, 2, 5])):
        times = [
            draw.choice(["x", "", "1e400", "nan", "-5"]) if draw.random() < odd else "1700000000000" for _ in range(2)
        ]
        status = draw.choice([3, 3, 3, 4, 9, "x"])
        meta = f"run_name: r{run}\nstatus: {status}\nstart_time: {times[0]}\nend_time: {times[1]}\n"
        files[f"mlruns/0/{run}/meta.yaml"] = meta.encode("utf-8")
        files[f"mlruns/0/{run}/params/seed"] = draw.choice([b"0", b"x", b"\xff", b"1" * 5000])
        for tag in ["loss", *draw.sample(["val/acc", "é", "a b", "a" * 200], draw.choice([0, 1]))]:
            lines = [f"1700000000000 {draw.random()} {step}" for step in range(draw.choice([1, 3, 500]))]
            if draw.random() < odd:
                lines += draw.sample(
                    ["x y z", "1", "", "1e400 inf 1", "0 nan " + "9" * 30, "0 1 -1", "0 1 " + "9" * 5000], 3
                )
            files[f"mlruns/0/{run}/metrics/{tag}"] = "\n".join(lines).encode()
    return "mlflow", files, ["mlruns"]


#: What stands in the place of a table of MLflow's: of other columns, or one that has no end.
ODD_TABLES = (
    "CREATE TABLE metrics (key, value)",
    "CREATE VIEW metrics AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) "
    "SELECT 'loss' AS key, i AS step, 0.5 AS value, 0 AS is_nan, 0 AS timestamp, 'r0' AS run_uuid FROM n",
    "CREATE VIEW metrics AS SELECT hex(zeroblob(400000000)) AS key, 1 AS step, 0.5 AS value, 0 AS is_nan, "
    "0 AS timestamp, 'r0' AS run_uuid",
)


def database(draw: random.Random, odd: float) -> Store:
    """Return a file of SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mlflow.db")
        with sqlite3.connect(path) as base:
            base.execute(
                "CREATE TABLE runs (run_uuid, name, status, start_time, end_time, experiment_id, lifecycle_stage)"
            )
            base.execute("CREATE TABLE experiments (experiment_id, name)")
            base.execute("CREATE TABLE params (run_uuid, key, value)")
            is_odd = draw.random() < odd
            base.execute(
                draw.choice(ODD_TABLES)
                if is_odd
                else "CREATE TABLE metrics (run_uuid, key, step, value, is_nan, timestamp)"
            )
            for run in range(draw.choice([1, 3])):
                start = draw.choice([None, "x", 1e400, b"\xff"]) if draw.random() < odd else 1_700_000_000_000
                row = (f"r{run}", draw.choice(["a", None, 3, "é"]), "FINISHED", start, 1_700_000_100_000, 0, "active")
                base.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                for step in range(0 if is_odd else draw.choice([1, 20])):
                    at = draw.choice([None, "x", 1e400, -1, 2**62, b"1"]) if draw.random() < odd / 4 else step
                    value = draw.choice([None, "x", 1e400, b"\xff"]) if draw.random() < odd / 4 else draw.random()
                    base.execute(
                        "INSERT INTO metrics VALUES (?, 'loss', ?, ?, 0, 1700000000000)", (f"r{run}", at, value)
                    )
        base.close()
        return "mlflow", {"mlflow.db": path.read_bytes()}, ["mlflow.db"]


def wandb(draw: random.Random, odd: float) -> Store:
    """Return a folder ``wandb`` with the summaries of runs."""
    files = {}
    for run in range(draw.choice([1, 2, 5])):
        summary: dict[str, object] = {"loss": draw.random(), "_step": 9, "_wandb": {"runtime": 5}, "_runtime": 4.5}
        if draw.random() < odd:
            key = draw.choice([*TAGS, "lo\ud800ss"])
            summary |= {key: draw.choice(["x", None, 1e308, 10**400, [1], {"a": {"b": 1}}, True])}
        text = (
            json.dumps(summary)
            if draw.random() > odd / 3
            else draw.choice(["[", "[" * 200_000, "[]", "3", '{"a": NaN}'])
        )
        files[f"wandb/run-{run}/files/wandb-summary.json"] = text.encode()
    if draw.random() < odd:
        files["wandb/run-9/run-9.wandb"] = draw.choice(
            [b"", b":W&B", b":W&B\x05\x25\x00", bytes(100_000), draw.randbytes(5000)]
        )
    return "wandb", files, ["wandb"]


def store(draw: random.Random) -> Store:
    """Return a store of a tracker."""
    return draw.choice([tensorboard, mlruns, database, wandb])(draw, draw.choice([0, 0, 0.05, 0.4]))
